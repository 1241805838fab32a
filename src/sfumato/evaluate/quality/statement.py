"""Save quality statements into their bundles, and compute their measures again from the noisy numbers."""

from __future__ import annotations

import hashlib
import math
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.atomic_files import atomic_file
from sfumato.bounded_reads import is_file
from sfumato.bundle.document import ReleaseDocument
from sfumato.bundle.layout import DOCUMENT, file_record, statement_files
from sfumato.bundle.ledger_record import LedgerCost, RandomnessRecord
from sfumato.bundle.quality_statement import (
    QualityStatement,
    StatementSubject,
    combined_guarantee,
    events_of,
    statement_note,
)
from sfumato.bundle.read import open_bundle
from sfumato.bundle.target_folder import refuse_full_disks, shelters
from sfumato.core.outcome import mark_lost_on_failure, mark_saved, spend_summary
from sfumato.errors import (
    BundleError,
    KeptElsewhereError,
    ModelError,
)
from sfumato.evaluate.quality.noisy_metrics import metrics_of
from sfumato.evaluate.quality.questions import PublicFacts, Questions
from sfumato.evaluate.quality.result import Quality, statement_text
from sfumato.privacy.accounting.accountant import basic_composition
from sfumato.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

STATEMENT_BYTES = 100_000
"""Bytes of a statement, at most."""
CLOSE = 1e-5
"""How far a recomputed share may lie from the stated one: machines add up in different orders."""
AGAIN = "a second look is charged like the first and does not replace it; say so with --again (again=True)"


def next_statement_path(folder: str | Path, again: bool = False) -> Path:
    """Return where the next statement goes; refuse a place that cannot take one. Call it before anything is spent."""
    target = _target(folder, again)
    refuse_full_disks([("the statement", target, STATEMENT_BYTES)])
    return target


def _target(folder: str | Path, again: bool) -> Path:
    place = Path(folder)
    if not is_file(place / DOCUMENT):
        step = "give the folder that 'sfumato release --out DIR' wrote"
        raise BundleError(f"{str(folder)!r} is not a bundle: it has no {DOCUMENT}", next_step=step)
    # the superuser may write where the mode says that nobody should
    if place.stat().st_mode & 0o222 == 0 or not os.access(place, os.W_OK | os.X_OK):
        step = "change its permissions; nothing was spent"
        raise BundleError(f"the bundle {str(folder)!r} is read-only and takes no statement", next_step=step)
    known = statement_files(place)
    if known and not again:
        raise BundleError(f"the bundle {str(folder)!r} has a quality statement, {known[-1].name}", next_step=AGAIN)
    taken = {path.name for path in known}
    names = ("quality.json", *(f"quality-{i}.json" for i in range(2, len(known) + 3)))
    return place / next(name for name in names if name not in taken)


def write_statement(quality: Quality, folder: str | Path, again: bool = False) -> Path:
    """Write a statement into its bundle; the ledger is told what became of the spend."""
    target = _target(folder, again)
    text = _document(quality, Path(folder)).to_json()
    digest, kept = hashlib.sha256(text.encode()).hexdigest(), None
    with mark_lost_on_failure(quality.ledger, quality.entries):
        try:
            with atomic_file(target) as fresh:
                fresh.write_text(text, encoding="utf-8")
        except ModelError as error:
            kept = _kept(quality, text, target.name, error)
    if quality.ledger is not None and quality.entries:
        mark_saved(quality.ledger, quality.entries, digest, f"{target} is complete")
    if kept is not None:
        raise kept
    return target


def _kept(quality: Quality, text: str, name: str, error: ModelError) -> KeptElsewhereError:
    """Write a statement that is paid for to a private folder; the error itself comes back where none takes it."""
    for parent in shelters(None if quality.ledger is None else quality.ledger.path):
        try:
            place = Path(tempfile.mkdtemp(prefix="sfumato-kept-", dir=parent)) / name  # readable by its owner alone
            place.write_text(text, encoding="utf-8")
        except OSError:
            continue
        step = "make room and move it into the folder of the bundle: nothing more is spent"
        kept = KeptElsewhereError(error.headline, (f"the statement is kept in {str(place)!r}",), step)
        kept.folder = place.parent
        spent = f"{spend_summary(quality.entries)}; " if quality.entries else ""
        kept.add_note(f"{spent}the statement is kept in {str(place)!r}, and nothing is lost")
        return kept
    raise error


def _document(quality: Quality, folder: Path) -> QualityStatement:
    """Return what is written, with the guarantee of all that then lies in the folder.

    A folder that holds another release than the one that was measured is refused.
    """
    bundle = open_bundle(folder)
    known, document = PublicFacts.of(bundle.rows, bundle.schema).fingerprint, bundle.document
    if (quality.release or document.seal) != document.seal or quality.rows_sha256 != known:
        step = "save the statement into the bundle of the release that was measured"
        raise BundleError(f"{str(folder)!r} holds another release than the one that was measured", next_step=step)
    about = StatementSubject(seal=document.seal, sha256=file_record(folder / DOCUMENT).sha256, rows_sha256=known)
    released, earlier = (document.guarantee, document.events), events_of(statement_files(folder))
    recorded = quality.guarantee.recorded
    # it is paid for: a sum that meanwhile became too weak is stated as it is
    guarantee = combined_guarantee(quality.events, bundle.schema, released, earlier, recorded, allow_weak=True)
    return QualityStatement(
        created_at=quality.created_at,
        table=quality.table,
        about=about,
        target=quality.target,
        why=quality.why,
        correlations=quality.correlations,
        level=quality.level,
        measures=quality.measures,
        words=quality.words,
        noisy=quality.noisy,
        guarantee=guarantee,
        statement=guarantee.statement(),
        events=quality.events,
        randomness=RandomnessRecord.of(quality.randomness),
        recorded=LedgerCost.of(quality.entries, quality.account) if quality.entries and quality.account else None,
    ).sealed()


def measure_problems(
    statement: QualityStatement, document: ReleaseDocument, schema: Schema, rows: pa.Table
) -> Iterator[str]:
    """Ask again from public facts: the same events must come out, and the same shares from the noisy numbers.

    A hook of the verification of bundles: it sees the released rows alone.
    """
    public = PublicFacts.of(rows, schema, statement.target, statement.correlations)
    if public.fingerprint != statement.about.rows_sha256:
        yield "it is about other rows than those of the release"
    questions = Questions(schema, public.target, basic_composition(statement.events)[0], statement.correlations)
    if statement.events != (questions.event(statement.randomness.mode, statement_note(document.created_at)),):
        yield "what it says that it asked is not what such a statement asks"
        return
    again, stated = metrics_of(questions, public, statement.noisy, statement.level), statement.measures
    if [each.name for each in again] != [each.name for each in stated]:
        yield "it does not state what it measured"
    for one, other in zip(again, stated, strict=False):
        pairs = ((one.value, other.value), (one.low, other.low), (one.high, other.high))
        pairs += ((one.yardstick or 0.0, other.yardstick or 0.0),)
        if one.words != other.words or not all(math.isclose(a, b, abs_tol=CLOSE) for a, b in pairs):
            yield f"{other.name} does not follow from its noisy numbers"
    if statement.words != statement_text(stated, statement.level, statement.randomness.stamp):
        yield "its words are not those of its measures"
