"""Check the guarantee of a bundle: its events compose to it, and plan, noise and ledger agree with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sfumato.bundle.document import ProvenanceRecord, ReleaseDocument
from sfumato.bundle.layout import DOCUMENT, SCHEMA, file_record, statement_files
from sfumato.bundle.ledger_record import LedgerCost
from sfumato.bundle.quality_statement import QualityStatement, statement_note
from sfumato.core.method import registered_home, with_parameter
from sfumato.core.purchases import purchased
from sfumato.core.schema_assumptions import schema_assumptions
from sfumato.privacy.accounting.accountant import basic_composition, composed_totals
from sfumato.privacy.accounting.event import Event, event_kind
from sfumato.privacy.accounting.event_kinds import understated_cost
from sfumato.privacy.accounting.strength import is_refused
from sfumato.privacy.exact import format_fraction, to_fraction
from sfumato.privacy.ledger import Ledger
from sfumato.schema import Schema


def guarantee_problems(document: ReleaseDocument) -> Iterator[str]:
    """Compose the events again and compare the result with what is stated."""
    guarantee, events = document.guarantee, document.events
    if not events:
        yield f"{DOCUMENT} has no events"
        return
    formal = all(event_kind(event.kind).formal for event in events)
    if formal != guarantee.formal or guarantee.formal != document.method.formal:
        yield f"the guarantee is stated as {guarantee.kind}, which is not the kind of its events and method"
    elif guarantee.formal and composed_totals(guarantee, events) != (guarantee.exact_epsilon, guarantee.exact_delta):
        yield (
            f"the events compose to epsilon {format_fraction(composed_totals(guarantee, events)[0])}, "
            f"the guarantee says {format_fraction(guarantee.exact_epsilon)}"
        )
    if guarantee.allowed_weak != is_refused(guarantee.exact_epsilon, guarantee.exact_delta):
        yield "the guarantee does not say truly whether the custodian allowed so weak a promise"
    yield from _selection_cost_problems(document)
    if guarantee.recorded != (document.recorded is not None):
        yield "the guarantee and the record disagree on whether the cost was recorded"
    subjects = {
        (document.table, document.adjacency, document.unit),
        (guarantee.table, guarantee.adjacency, guarantee.unit),
        *((event.table, event.adjacency, event.unit) for event in guarantee.counted(events)),
    }
    if len(subjects) > 1:
        yield "document, guarantee and events do not speak of the same table, adjacency and unit"


def _selection_cost_problems(document: ReleaseDocument) -> Iterator[str]:
    chosen = document.guarantee.selection
    if chosen is None:
        return
    if not 1 <= chosen.climbed <= len(chosen.values):
        yield f"the selection stopped at candidate {chosen.climbed} of {len(chosen.values)}"
    if basic_composition(document.events) != (to_fraction(chosen.spent_epsilon), to_fraction(chosen.spent_delta)):
        yield "the events do not compose to what the selection says that its candidates and scores cost"


def wording_problems(document: ReleaseDocument) -> Iterator[str]:
    """Word the guarantee again and compare."""
    if document.statement != document.guarantee.statement():
        yield "the statement in plain words is not the one that the guarantee makes"


def account_problems(document: ReleaseDocument) -> Iterator[str]:
    """Look whether an account that was charged for the release can stand as the bundle says."""
    if document.recorded is not None:
        yield from (f"{DOCUMENT}: {problem}" for problem in document.recorded.problems(document.events))


def noise_problems(document: ReleaseDocument) -> Iterator[str]:
    """Look whether the noise of each event is as large as its cost demands."""
    problems = (understated_cost(event) for event in document.guarantee.counted(document.events))
    yield from (problem for problem in problems if problem is not None)


def purchase_problems(document: ReleaseDocument, schema: Schema) -> Iterator[str]:
    """Look whether the guarantee counts what the bought facts of the schema cost."""
    if document.guarantee.beside != (purchased(schema) if document.guarantee.formal else ()):
        yield f"the guarantee does not count the purchases that {SCHEMA} lists, or counts others"


def origin_problems(document: ReleaseDocument, schema: Schema) -> Iterator[str]:
    """Look whether the guarantee says where the facts of the schema come from; that of an older sfumato did not."""
    complete = set(document.guarantee.assumptions) >= set(schema_assumptions(schema, document.guarantee.formal))
    if not complete or document.facts != ProvenanceRecord.of(schema):
        yield f"{DOCUMENT} does not say where the facts in {SCHEMA} come from, as {SCHEMA} says it"


def plan_problems(
    document: ReleaseDocument, schema: Schema, selection_events: Callable[..., Any] | None = None
) -> Iterator[str]:
    """Plan again from public facts alone: cells, sensitivities, scales and shares must come out the same.

    ``selection_events`` plans the candidates of a selection; releases without one do not need it.
    """
    if registered_home(document.method.name) is None:
        return  # which is a problem by itself
    method, plan = document.replan(schema)
    candidates = None if selection_events is None else _selection_events(document, schema, method, selection_events)
    events = plan.events if candidates is None else candidates
    if events != document.planned_events or plan.stages != document.stages:
        yield "the method and its parameters do not lead to the events and stages that the bundle states"


def _selection_events(
    document: ReleaseDocument, schema: Schema, method: Any, selection_events: Callable[..., Any]
) -> tuple[Event, ...]:
    """Plan every candidate of a selection again; none where the kept release is not that at which it stopped."""
    chosen = document.guarantee.selection
    assert chosen is not None  # asked only of releases that a selection kept
    candidates = selection_events(chosen, method, schema, document.method.rows, document.randomness.mode)
    climbed = sum(len(events) for events in candidates[: chosen.climbed])
    kept = with_parameter(method, chosen.parameter, chosen.values[chosen.climbed - 1])
    if kept != method or climbed != len(document.events):
        return ()
    return tuple(event for events in candidates for event in events)


DOCTOR_COMMAND = "'sfumato doctor FOLDER --ledger LEDGER'"


def recorded_release_problems(document: ReleaseDocument, ledger: Ledger) -> Iterator[str]:
    """Compare the entries that a release names with those of the ledger."""
    recorded = document.recorded
    yield from _entry_problems("the bundle", document.table, recorded, document.charged_events, ledger)
    if recorded is not None:
        yield from ledger.verify(recorded.head).problems


def recorded_statement_problems(path: Path, statement: QualityStatement, ledger: Ledger) -> Iterator[str]:
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
