"""Result of a quality measurement: noisy metrics, intervals and cost; saved into its bundle, and computed again."""

from __future__ import annotations

import datetime as dt
import hashlib
import math
import os
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.atomic_files import atomic_file
from sfumato.bounded_reads import is_file
from sfumato.bundle.document import ReleaseDocument
from sfumato.bundle.layout import DOCUMENT, file_record, statement_files
from sfumato.bundle.ledger_record import LedgerCost, RandomnessRecord
from sfumato.bundle.quality_statement import (
    NoisyMetric,
    QualityStatement,
    StatementSubject,
    combined_guarantee,
    events_of,
    statement_note,
)
from sfumato.bundle.read import open_bundle
from sfumato.bundle.target_folder import refuse_full_disks, shelters
from sfumato.core.outcome import mark_lost_on_failure, mark_saved, spend_summary
from sfumato.errors import BundleError, KeptElsewhereError, ModelError
from sfumato.evaluate.quality.noisy_metrics import metrics_of
from sfumato.evaluate.quality.questions import PublicFacts, Questions
from sfumato.formatting import percent
from sfumato.privacy.accounting.accountant import basic_composition
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.accounting.guarantee import Guarantee
from sfumato.privacy.ledger import Account, Entry, Ledger
from sfumato.privacy.randomness import STAMP, Randomness
from sfumato.reprs import ReprMixin
from sfumato.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

STATEMENT_BYTES = 100_000
"""Bytes of a statement, at most."""
CLOSE = 1e-5
"""How far a recomputed share may lie from the stated one: machines add up in different orders."""
AGAIN = "a second look is charged like the first and does not replace it; say so with --again (again=True)"


@dataclass(frozen=True, repr=False)
class Quality(ReprMixin):
    """What a release's readers may be told: paid for, so public."""

    table: str
    release: str
    """Seal of the release.json that it is about; empty where the release was not saved yet."""
    measures: tuple[NoisyMetric, ...]
    guarantee: Guarantee
    events: tuple[Event, ...]
    level: float = 0.95
    target: str | None = None
    """The column that is predicted; None where none can be."""
    why: str = ""
    """Why this column is predicted, or none."""
    correlations: tuple[str, ...] = ()
    """Columns whose correlations were bought."""
    noisy: tuple[tuple[int, ...], ...] = ()
    """The noisy whole numbers that everything here is computed from, part by part of the event."""
    rows_sha256: str = ""
    """What tells the released rows from others (:class:`~sfumato.evaluate.quality.questions.PublicFacts`)."""
    randomness: Randomness = field(default_factory=Randomness)
    entries: tuple[Entry, ...] = ()
    account: Account | None = None
    ledger: Ledger | None = field(default=None, repr=False)
    """Where the cost was recorded; ``save`` marks there what became of it."""
    created_at: str = field(default_factory=lambda: dt.datetime.now(dt.UTC).isoformat(timespec="seconds"))

    _headers = ("measure", "value", "95 % interval", "yardstick")

    def __getitem__(self, name: str) -> NoisyMetric:
        return next(each for each in self.measures if each.name == name)

    @property
    def stamp(self) -> str | None:
        """ "not for release" on every artefact of a seeded run."""
        return self.randomness.stamp

    def _line(self) -> str:
        stamp = "NOT FOR RELEASE; " if self.stamp else ""
        return f"{stamp}{self.table!r}: " + ", ".join(f"{m.name} {m.value:.3g}" for m in self.measures)

    def _lines(self) -> list[tuple[str, ...]]:
        yardstick = ("" if m.yardstick is None else f"{m.yardstick:.3g}" for m in self.measures)
        return [
            (m.name, f"{m.value:.3g}", f"{m.low:.3g} to {m.high:.3g}", beside)
            for m, beside in zip(self.measures, yardstick, strict=True)
        ]

    @property
    def words(self) -> tuple[str, ...]:
        """The statement in plain sentences."""
        return statement_text(self.measures, self.level, self.stamp)

    def statement(self) -> str:
        """Return the measures and what is promised, in plain words."""
        return "\n".join((*self.words, self.guarantee.statement()))

    def to_dict(self) -> dict[str, Any]:
        """Return everything that may be public as plain values."""
        return {
            "table": self.table,
            "release": self.release,
            "target": self.target,
            "why": self.why,
            "correlations": list(self.correlations),
            "level": self.level,
            "measures": [asdict(each) for each in self.measures],
            "words": list(self.words),
            "guarantee": self.guarantee.model_dump(mode="json"),
            "statement": self.guarantee.statement(),
            "events": [event.model_dump(mode="json") for event in self.events],
            "noisy": [list(part) for part in self.noisy],
            "stamp": self.stamp,
        }

    def save(self, directory: str | Path, again: bool = False) -> Path:
        """Write the statement into the bundle that it is about, beside the release's own files; return its path.

        A bundle that has a statement takes another only with ``again``: it was paid for again, and both stay.
        """
        return write_statement(self, directory, again)


def statement_text(measures: tuple[NoisyMetric, ...], level: float, stamp: str | None) -> tuple[str, ...]:
    """Return measures in sentences: the stamp first, what the intervals mean last."""
    stamped = (f"{stamp.replace(STAMP, STAMP.upper())}: whoever knows the seed can remove the noise.",) if stamp else ()
    meaning = (
        "Measured on the confidential table with noise, which is paid for. All intervals hold together with "
        f"probability {percent(level, 6)}; 0 is the best distance."
    )
    return (*stamped, *(each.sentence for each in measures), meaning)


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
