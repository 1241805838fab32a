"""Finish or remove bundles that a killed process left behind, and mark them in the ledger.

A bundle is written beside its place as ``.NAME.xxxxxxxx.partial``. Where the process was killed after the last file
was written, the folder is a complete bundle under a wrong name and can be finished; otherwise it is of no use.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from sfumato.atomic_files import PARTIAL, locked_folder
from sfumato.bounded_reads import is_folder
from sfumato.bundle.layout import DOCUMENT, file_record
from sfumato.bundle.read import read_document
from sfumato.bundle.verify import verify_bundle
from sfumato.errors import BundleError, SfumatoError
from sfumato.privacy.ledger import Entry, Ledger

State = Literal["being written", "finished", "incomplete", "removed", "complete", "marked", "unmarked"]
NAME = re.compile(rf"^\.(?P<name>.+)\.[0-9a-f]{{8}}{re.escape(PARTIAL)}$", re.DOTALL)


class IncompleteBundle(BaseModel):
    """One thing that was found, and what was done about it."""

    model_config = ConfigDict(frozen=True)

    path: str
    state: State
    detail: str = ""


def clean_up(
    folder: str | Path, ledger: Ledger | str | Path | None = None, clean: bool = False
) -> tuple[IncompleteBundle, ...]:
    """Finish the complete partial folders in a folder, remove the others if ``clean``, and mark bundles in a ledger.

    A partial folder that is still being written is left alone. Nothing is overwritten.
    """
    place = Path(folder)
    if not is_folder(place):
        raise BundleError(f"{str(place)!r} is not a folder", next_step="give the folder in which bundles are written")
    book = None if ledger is None else Ledger.of(ledger)
    partial = [_finish_or_report(path, clean) for path in sorted(place.iterdir()) if _is_partial(path)]
    return (*partial, *(_marks(place, book) if book is not None else ()))


def _is_partial(path: Path) -> bool:
    return NAME.match(path.name) is not None and path.is_dir() and not path.is_symlink()


def _finish_or_report(path: Path, clean: bool) -> IncompleteBundle:
    with locked_folder(path) as free:
        if not free:
            return IncompleteBundle(path=str(path), state="being written", detail="another process works on it")
        fault = _fault(path)
        if fault is None:
            return _finished(path)
        if not clean:
            detail = f"{fault}; no bundle came of it, and what it cost is spent; --clean removes it"
            return IncompleteBundle(path=str(path), state="incomplete", detail=detail)
        shutil.rmtree(path)
        return IncompleteBundle(path=str(path), state="removed", detail=fault)


def _fault(path: Path) -> str | None:
    """Return why a partial folder is no bundle; None where it is one."""
    try:
        problems = verify_bundle(path).problems
    except SfumatoError as error:
        return error.headline
    return problems[0] if problems else None


def _finished(path: Path) -> IncompleteBundle:
    match = NAME.match(path.name)
    target = path.with_name(match["name"] if match else f"{path.name}.bundle")
    if target.exists() or target.is_symlink():
        detail = f"a whole bundle, but {str(target)!r} is taken; move it by hand"
        return IncompleteBundle(path=str(path), state="complete", detail=detail)
    path.rename(target)
    return IncompleteBundle(path=str(target), state="finished", detail=f"every file was there; it was {path.name}")


def _marks(place: Path, ledger: Ledger) -> Iterator[IncompleteBundle]:
    """Mark the bundles in a folder, or the folder itself, of which the ledger does not know that they exist."""
    for folder in (place, *sorted(path for path in place.iterdir() if not path.is_symlink() and path.is_dir())):
        if (folder / DOCUMENT).is_file() and NAME.match(folder.name) is None:
            yield from _marked(folder, ledger)


def _marked(folder: Path, ledger: Ledger) -> Iterator[IncompleteBundle]:
    entries = _unknown_entries(folder, ledger)
    if not entries:
        return
    # a mark of loss does not count against it: the bundle lies here, whole
    problems = verify_bundle(folder).problems
    if problems:
        yield IncompleteBundle(path=str(folder), state="unmarked", detail=f"it does not verify: {problems[0]}")
        return
    ledger.mark_saved(entries, file_record(folder / DOCUMENT).sha256)
    numbers = ", ".join(str(entry.sequence) for entry in entries)
    yield IncompleteBundle(
        path=str(folder), state="marked", detail=f"the ledger now knows that entry {numbers} came to it"
    )


def _unknown_entries(folder: Path, ledger: Ledger) -> list[Entry]:
    """Return the entries behind a bundle that the ledger holds and has not marked as saved."""
    try:
        document = read_document(folder)[1]
    except BundleError:
        return []
    named = {entry.sequence: entry.hash for entry in document.recorded.entries} if document.recorded else {}
    outcomes, accounts = ledger.outcomes(), {account.name for account in ledger.accounts()}
    held_entries = ledger.history(document.table) if document.table in accounts else ()
    known = {sequence for sequence, outcome in outcomes.items() if outcome.kind == "saved"}
    return [entry for entry in held_entries if named.get(entry.sequence) == entry.hash and entry.sequence not in known]
