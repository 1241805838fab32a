"""Statements in the folder of a bundle: an addendum beside the release's own files, which stay as they are."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import warnings
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from sfumato.bounded import is_file
from sfumato.errors import (
    BundleError,
    KeptElsewhereError,
    MissingEntryError,
    ModelError,
    SfumatoError,
    UnmarkedBundleWarning,
)
from sfumato.privacy.accounting.event import Event
from sfumato.quality.document import AboutRelease, QualityDocument
from sfumato.quality.public import Public
from sfumato.quality.result import Quality
from sfumato.quality.together import together
from sfumato.registry import OFFERED, found
from sfumato.release.outcome import lost_on_failure, spent_words
from sfumato.rows.atomic import whole_file
from sfumato.rows.space import refuse_full_disks, shelters

RELEASE = "release.json"
STATEMENT = 100_000
"""Bytes of a statement, at most."""
NAME = re.compile(r"quality(-[1-9][0-9]*)?\.json")
"""How files are called that hold statements: quality.json, then quality-2.json and so on."""
AGAIN = "a second look is charged like the first and does not replace it; say so with --again (again=True)"


def statements(folder: str | Path) -> tuple[Path, ...]:
    """Return the statements in a bundle, the first one first."""
    place = Path(folder)
    return tuple(sorted((p for p in place.iterdir() if NAME.fullmatch(p.name)), key=lambda p: (len(p.name), p.name)))


def events_of(paths: Iterable[Path]) -> tuple[Event, ...]:
    """Return what statements were charged for, in their order."""
    said = (QualityDocument.from_json(path.read_text(encoding="utf-8")) for path in paths)
    return tuple(event for each in said for event in each.events)


def prepare_statement(folder: str | Path, again: bool = False) -> Path:
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
    known = statements(place)
    if known and not again:
        raise BundleError(f"the bundle {str(folder)!r} has a quality statement, {known[-1].name}", next_step=AGAIN)
    taken = {path.name for path in known}
    names = ("quality.json", *(f"quality-{i}.json" for i in range(2, len(known) + 3)))
    return place / next(name for name in names if name not in taken)


def save_statement(made: Quality, folder: str | Path, again: bool = False) -> Path:
    """Write a statement into its bundle; the ledger is told what became of the spend."""
    target = _target(folder, again)
    document = _document(made, Path(folder))
    text = document.to_json()
    digest, kept = hashlib.sha256(text.encode()).hexdigest(), None
    with lost_on_failure(made.ledger, made.entries):
        try:
            with whole_file(target) as fresh:
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
        spent = f"{spent_words(made.entries)}; " if made.entries else ""
        kept.add_note(f"{spent}the statement is kept in {str(place)!r}, and nothing is lost")
        return kept
    raise error


def _document(made: Quality, folder: Path) -> QualityDocument:
    """Return what is written, with the guarantee of all that then lies in the folder.

    A folder that holds another release than the one that was measured is refused.
    """
    opened = found(OFFERED["bundle"])(folder)
    known, said = Public.of(opened.rows, opened.schema).fingerprint, opened.document
    if (made.release or said.seal) != said.seal or made.rows_sha256 != known:
        step = "save the statement into the bundle of the release that was measured"
        raise BundleError(f"{str(folder)!r} holds another release than the one that was measured", next_step=step)
    digest = hashlib.sha256((folder / RELEASE).read_bytes()).hexdigest()
    released, earlier = (said.guarantee, said.events), events_of(statements(folder))
    # it is paid for: a sum that meanwhile became too weak is stated as it is
    promise = together(made.events, opened.schema, released, earlier, made.guarantee.recorded, allow_weak=True)
    about = AboutRelease(seal=said.seal, sha256=digest, rows_sha256=known)
    return QualityDocument.of(replace(made, guarantee=promise), about)
