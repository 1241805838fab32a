"""Read, write and seal quality.json, the quality statement beside a release."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import warnings
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Literal

from sfumato.atomic_files import atomic_file
from sfumato.bounded_reads import is_file
from sfumato.bundle.ledger_record import DocumentPart, LedgerCost, RandomnessRecord
from sfumato.core.outcome import mark_lost_on_failure, spend_summary
from sfumato.disk_space import refuse_full_disks, shelters
from sfumato.errors import (
    BundleError,
    KeptElsewhereError,
    MissingEntryError,
    ModelError,
    SfumatoError,
    UnmarkedBundleWarning,
)
from sfumato.evaluate.quality.questions import PublicFacts
from sfumato.evaluate.quality.result import NoisyMetric, Quality
from sfumato.evaluate.quality.together import together
from sfumato.lazy import HOOKS, load_object
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.accounting.guarantee import Guarantee, WithGuaranteeAndEvents
from sfumato.privacy.canonical_json import SealedDocument
from sfumato.version import __version__

LAYOUT = SealedDocument(indent=2, empty="")


class StatementSubject(DocumentPart):
    """Which release a statement is about: nothing else may lie beside it."""

    seal: str
    sha256: str
    """Of the release.json."""
    rows_sha256: str
    """Of the released counts, by which the rows are known."""


class QualityStatement(WithGuaranteeAndEvents, DocumentPart):
    """The content of quality.json. It holds nothing that depends on private rows but through its noisy numbers."""

    format: Literal[1] = 1
    created_at: str
    table: str
    about: StatementSubject
    target: str | None
    why: str
    correlations: tuple[str, ...] = ()
    level: float
    measures: tuple[NoisyMetric, ...]
    words: tuple[str, ...]
    noisy: tuple[tuple[int, ...], ...]
    """The noisy whole numbers that the measures follow from, part by part of the event."""
    guarantee: Guarantee
    statement: str
    events: tuple[Event, ...]
    randomness: RandomnessRecord
    recorded: LedgerCost | None = None
    version: str = __version__
    seal: str = ""

    @classmethod
    def of(cls, made: Quality, about: StatementSubject) -> QualityStatement:
        """Return the sealed document of a statement."""
        recorded = LedgerCost.of(made.entries, made.account) if made.entries and made.account else None
        return cls(
            created_at=made.created_at,
            table=made.table,
            about=about,
            target=made.target,
            why=made.why,
            correlations=made.correlations,
            level=made.level,
            measures=made.measures,
            words=made.words,
            noisy=made.noisy,
            guarantee=made.guarantee,
            statement=made.guarantee.statement(),
            events=made.events,
            randomness=RandomnessRecord.of(made.randomness),
            recorded=recorded,
        ).sealed()

    def sealed(self) -> QualityStatement:
        """Return the document with the seal that its content has."""
        return self.model_copy(update={"seal": LAYOUT.seal(self.model_dump(mode="json"))})

    def to_json(self) -> str:
        """Return canonical JSON: sorted keys, two spaces, UTF-8, one newline at the end."""
        return LAYOUT.text(self.model_dump(mode="json"))

    @classmethod
    def from_json(cls, data: str) -> QualityStatement:
        """Read a document back; unknown fields and other formats are refused."""
        return cls.model_validate_json(data)


RELEASE = "release.json"

STATEMENT = 100_000

"""Bytes of a statement, at most."""

NAME = re.compile(r"quality(-[1-9][0-9]*)?\.json")

"""How files are called that hold statements: quality.json, then quality-2.json and so on."""

AGAIN = "a second look is charged like the first and does not replace it; say so with --again (again=True)"


def statement_files(folder: str | Path) -> tuple[Path, ...]:
    """Return the statements in a bundle, the first one first."""
    place = Path(folder)
    return tuple(sorted((p for p in place.iterdir() if NAME.fullmatch(p.name)), key=lambda p: (len(p.name), p.name)))


def events_of(paths: Iterable[Path]) -> tuple[Event, ...]:
    """Return what statements were charged for, in their order."""
    said = (QualityStatement.from_json(path.read_text(encoding="utf-8")) for path in paths)
    return tuple(event for each in said for event in each.events)


def next_statement_path(folder: str | Path, again: bool = False) -> Path:
    """Return where the next statement goes; refuse a place that cannot take one. Call it before anything is spent."""
    target = _target(folder, again)
    refuse_full_disks([("the statement", target, STATEMENT)])
    return target


def _target(folder: str | Path, again: bool) -> Path:
    place = Path(folder)
    if not is_file(place / RELEASE):
        step = "give the folder that 'sfumato release --out DIR' wrote"
        raise BundleError(f"{str(folder)!r} is not a bundle: it has no {RELEASE}", next_step=step)
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


def write_statement(made: Quality, folder: str | Path, again: bool = False) -> Path:
    """Write a statement into its bundle; the ledger is told what became of the spend."""
    target = _target(folder, again)
    document = _document(made, Path(folder))
    text = document.to_json()
    digest, kept = hashlib.sha256(text.encode()).hexdigest(), None
    with mark_lost_on_failure(made.ledger, made.entries):
        try:
            with atomic_file(target) as fresh:
                fresh.write_text(text, encoding="utf-8")
        except ModelError as error:
            kept = _kept(made, text, target.name, error)
    if made.ledger is not None and made.entries:
        try:
            made.ledger.mark_saved(made.entries, digest)
        except MissingEntryError as error:
            error.add_note(f"{target} is complete, but do not publish it")
            raise
        except SfumatoError as error:
            told = f"{target} is complete, but the ledger could not be told: {error.headline}"
            warnings.warn(UnmarkedBundleWarning(told), stacklevel=3)
    if kept is not None:
        raise kept
    return target


def _kept(made: Quality, text: str, name: str, error: ModelError) -> KeptElsewhereError:
    """Write a statement that is paid for to a private folder; the error itself comes back where none takes it."""
    for parent in shelters(None if made.ledger is None else made.ledger.path):
        try:
            place = Path(tempfile.mkdtemp(prefix="sfumato-kept-", dir=parent)) / name  # readable by its owner alone
            place.write_text(text, encoding="utf-8")
        except OSError:
            continue
        step = "make room and move it into the folder of the bundle: nothing more is spent"
        kept = KeptElsewhereError(error.headline, (f"the statement is kept in {str(place)!r}",), step)
        kept.folder = place.parent
        spent = f"{spend_summary(made.entries)}; " if made.entries else ""
        kept.add_note(f"{spent}the statement is kept in {str(place)!r}, and nothing is lost")
        return kept
    raise error


def _document(made: Quality, folder: Path) -> QualityStatement:
    """Return what is written, with the guarantee of all that then lies in the folder.

    A folder that holds another release than the one that was measured is refused.
    """
    opened = load_object(HOOKS["bundle"])(folder)
    known, said = PublicFacts.of(opened.rows, opened.schema).fingerprint, opened.document
    if (made.release or said.seal) != said.seal or made.rows_sha256 != known:
        step = "save the statement into the bundle of the release that was measured"
        raise BundleError(f"{str(folder)!r} holds another release than the one that was measured", next_step=step)
    digest = hashlib.sha256((folder / RELEASE).read_bytes()).hexdigest()
    released, earlier = (said.guarantee, said.events), events_of(statement_files(folder))
    # it is paid for: a sum that meanwhile became too weak is stated as it is
    promise = together(made.events, opened.schema, released, earlier, made.guarantee.recorded, allow_weak=True)
    about = StatementSubject(seal=said.seal, sha256=digest, rows_sha256=known)
    return QualityStatement.of(replace(made, guarantee=promise), about)
