"""Compare a bundle with its ledger: events, SHA-256 of the document, quality statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from sfumato.bundle.document import ReleaseDocument
from sfumato.bundle.layout import DOCUMENT, file_record, statement_files
from sfumato.bundle.ledger_record import LedgerCost
from sfumato.bundle.quality_statement import QualityStatement, statement_note
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.ledger import Ledger

DOCTOR_COMMAND = "'sfumato doctor FOLDER --ledger LEDGER'"


def release_problems(document: ReleaseDocument, planned: Sequence[Event], ledger: Ledger) -> Iterator[str]:
    """Compare the entries that a release names with those of the ledger; ``planned`` holds events never run, too."""
    recorded = document.recorded
    # an account with tight composition is charged for all candidates of a selection before the first is run
    at_once = recorded is not None and len(recorded.entries) > len(document.events)
    yield from _entry_problems("the bundle", document.table, recorded, planned if at_once else document.events, ledger)
    if recorded is not None:
        yield from ledger.verify(recorded.head).problems


def statement_problems(path: Path, statement: QualityStatement, ledger: Ledger) -> Iterator[str]:
    """Compare the entries that a quality statement names with those of the ledger, and its file with their marks."""
    yield from _entry_problems(path.name, statement.table, statement.recorded, statement.events, ledger)
    yield from mark_problems(path, statement.table, statement.recorded, ledger)


def _entry_problems(
    name: str, table: str, recorded: LedgerCost | None, events: Sequence[Event], ledger: Ledger
) -> Iterator[str]:
    if recorded is None:
        yield f"{name} says that its cost was not recorded, so the ledger cannot hold it"
        return
    held = {entry.sequence: entry for entry in ledger.history(table)}
    for place, event in zip(recorded.entries, events, strict=False):
        entry = held.get(place.sequence)
        if entry is None or entry.hash != place.hash:
            yield f"entry {place.sequence} of the ledger is not the one that {name} names"
        elif entry.event != event:
            yield f"entry {place.sequence} of the ledger records another event than {name}"
    if len(recorded.entries) != len(events):
        yield f"{len(events)} events, but {len(recorded.entries)} entries of the ledger are named in {name}"


def mark_problems(path: Path, table: str, recorded: LedgerCost | None, ledger: Ledger) -> Iterator[str]:
    """Compare what the ledger says became of the spend with the file that lies here."""
    outcomes, here = ledger.outcomes(table), file_record(path).sha256
    for place in recorded.entries if recorded else ():
        outcome = outcomes.get(place.sequence)
        if outcome is not None and outcome.kind == "lost":
            yield f"the ledger says that nothing came of entry {place.sequence} ({outcome.reason})"
        elif outcome is not None and here not in outcome.bundles:
            yield f"the ledger knows another {path.name} for entry {place.sequence}: SHA-256 {outcome.sha256}"


def ledger_notes(folder: Path, document: ReleaseDocument, ledger: Ledger) -> Iterator[str]:
    """Name what the ledger knows of this release beyond the folder, and what it does not know of it."""
    outcomes, here = ledger.outcomes(document.table), file_record(folder / DOCUMENT).sha256
    for recorded in document.recorded.entries if document.recorded else ():
        outcome = outcomes.get(recorded.sequence)
        if outcome is None:
            unknown = f"the ledger does not know what became of entry {recorded.sequence}"
            yield f"{unknown}; {DOCTOR_COMMAND} tells it"
        elif here in outcome.bundles and (later := outcome.bundles[outcome.bundles.index(here) + 1 :]):
            also = f"the release of entry {recorded.sequence} was saved again after this {DOCUMENT}"
            yield f"{also}: SHA-256 {', '.join(later)}"
    yield from _missing_statements(folder, document, ledger)


def _missing_statements(folder: Path, document: ReleaseDocument, ledger: Ledger) -> Iterator[str]:
    """Name the statements on this release that the ledger knows and the folder lacks."""
    here = {file_record(path).sha256 for path in statement_files(folder)}
    outcomes, note = ledger.outcomes(document.table), statement_note(document.created_at)
    for entry in ledger.history(document.table):
        outcome = outcomes.get(entry.sequence)
        lacking = [] if outcome is None else [each for each in outcome.bundles if each not in here]
        if entry.event.note == note and lacking:
            yield (
                f"the ledger knows a quality statement on this release that the folder lacks: entry {entry.sequence}, "
                f"SHA-256 {', '.join(lacking)}"
            )
