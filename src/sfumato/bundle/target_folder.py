"""Check the folder of a bundle before the spend; finish or remove bundles that a killed process left behind.

A bundle is written beside its place as ``.NAME.xxxxxxxx.partial``. Where the process was killed after the last file
was written, the folder is a complete bundle under a wrong name and can be finished; otherwise it is of no use.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from pydantic import BaseModel, ConfigDict

from sfumato.atomic_files import PARTIAL, check_target, locked_folder, temporary_folder
from sfumato.bounded_reads import is_folder
from sfumato.bundle.layout import DOCUMENT, file_record
from sfumato.bundle.read import read_document
from sfumato.bundle.verify import verify_bundle
from sfumato.core.plan import Plan, memory_limit
from sfumato.errors import BundleError, NoSpaceError, SfumatoError
from sfumato.privacy.ledger import Entry, Ledger
from sfumato.schema.column import Column
from sfumato.system import write_owner_only
from sfumato.table.writing.formats import copy_suffixes

NEW_FOLDER = "give a folder that does not exist yet, for example --out release-1"
PAGES, PAGES_PER_COLUMN = 300_000, 30_000
"""Bytes of pages, documents and script, at most (measured: 310,000 for 6 columns)."""
MODEL_PER_CELL = 32
"""Bytes of a saved model for each cell that was measured (measured: 19)."""
UNSAID_ROWS = 100_000
"""Synthetic rows that are reckoned with where no number is public or said: the table's own number decides nothing."""
REAL_NUMBER, MARKS = 24, 10
"""Characters of a real number, at most; those between thousands, around a value and between values."""
TEMPORARY, SHEET_CELL = 1_000_000, 64


def prepare_output(
    directory: str | Path,
    private_report: str | Path | None = None,
    plan: Plan | None = None,
    ledger: Ledger | str | Path | bool | None = None,
    also: Sequence[str] = (),
) -> None:
    """Refuse an output folder that cannot take a bundle; leaves nothing behind. Call it before anything is spent.

    With the ``plan`` of a release, also refuse where the disks of the folder, the ledger and the temporary files have
    too little free space for what the release may write; ``also`` names the formats of copies.
    """
    target = place_of(directory, "the folder of a bundle")
    with named_failure(target, NEW_FOLDER):
        _refuse_occupied(target)
        refuse_read_only(target if target.exists() else target.parent)
        _refuse_unmovable(target)
        if private_report is not None:
            _refuse_private_place(place_of(private_report, "the custodian's copy"), target)
        with temporary_folder(target, keep_parents=False) as folder:
            (folder / "probe").write_bytes(b"sfumato")
        if plan is not None:
            needs = [
                ("the bundle", target, bundle_bytes(plan, also)),
                ("temporary files", temporary(), _temporary_bytes(plan, also)),
            ]
            if ledger is not None and not isinstance(ledger, bool) and (file := Ledger.of(ledger).path):
                needs.append(("the ledger", file, LEDGER))
            refuse_full_disks(needs)


def bundle_bytes(plan: Plan, also: Sequence[str] = ()) -> int:
    """Return how many bytes a bundle may take at most, from public facts: rows, widths, formats, pages and model."""
    schema, method, _ = plan.foreseen
    pages = PAGES + PAGES_PER_COLUMN * len(schema.releasable)
    if method.makes != "rows":
        width = sum(map(_width, map(schema.__getitem__, schema.releasable)))
        return 2 * pages + 2 * min(plan.memory_bytes, plan.cells * (width + REAL_NUMBER))
    copies = len(copy_suffixes(schema, also))
    data = sum(_width(schema[name]) * (2 + copies) + (len(name) + MARKS) * copies for name in schema.releasable)
    # pages are there twice for a moment: a bundle is replaced whole when expected errors are known
    return 2 * pages + MODEL_PER_CELL * plan.cells + data * _rows(plan)


def _rows(plan: Plan) -> int:
    """Return how many synthetic rows may come: as asked for, or as the table has by public word, with some more."""
    schema, method, about = plan.foreseen
    rows = plan.rows or schema.rows or about or UNSAID_ROWS
    return int(1.1 * rows + 1_000) * int(getattr(method, "copies", 1))


def _width(column: Column) -> int:
    """Return how many bytes one value takes as text, at most; Parquet needs no more."""
    values = (column.bounds or ()) if column.is_ordered else column.levels
    texts = [str(each) for each in (*values, column.true, column.false, column.missing_text) if each is not None]
    longest = max((len(text.encode()) for text in texts), default=0)
    number = REAL_NUMBER if column.kind == "number" else 0
    return max(longest, number) + len(f"{column.prefix or ''}{column.suffix or ''}".encode()) + MARKS


def _temporary_bytes(plan: Plan, also: Sequence[str]) -> int:
    """Return the bytes of temporary files: rows that do not fit into memory, and the parts of a workbook."""
    schema, method, about = plan.foreseen
    read = 8 * len(schema.columns) * (schema.rows or about or 0)
    sheets = method.makes == "rows" and ".xlsx" in copy_suffixes(schema, also)
    workbook = SHEET_CELL * len(schema.releasable) * _rows(plan) if sheets else 0
    return TEMPORARY + workbook + (read if read > memory_limit() else 0)


def place_of(path: Any, what: str) -> Path:
    """Return an absolute path; refuse what is no path, or one that no system can hold."""
    if not isinstance(path, str | os.PathLike) or not (text := os.fspath(path)):
        raise BundleError(f"{what} must be a path, found {path!r}", next_step=NEW_FOLDER)
    if not isinstance(text, str) or not _can_be_written(text):
        raise BundleError(f"{what} cannot be called {path!r}", next_step=NEW_FOLDER)
    return Path(text).absolute()


def _can_be_written(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


@contextmanager
def named_failure(target: Path, next_step: str) -> Generator[None]:
    """Turn failures of the system into errors that name the bundle."""
    try:
        yield
    except SfumatoError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise BundleError(f"cannot write the bundle {str(target)!r}: {reason}", next_step=next_step) from error
    except pa.ArrowException as error:
        raise BundleError(f"cannot write the bundle {str(target)!r}: {error}", next_step=next_step) from error


def _refuse_occupied(target: Path) -> None:
    if target.is_symlink() and not target.exists():
        raise BundleError(f"{str(target)!r} is a link to nowhere", next_step=NEW_FOLDER)
    blocking = next((p for p in (target, *target.parents) if p.exists() and not p.is_dir()), None)
    if blocking is not None:
        raise BundleError(f"{str(blocking)!r} is a file, so no folder can be made there", next_step=NEW_FOLDER)
    if target.is_dir() and os.access(target, os.R_OK) and any(target.iterdir()):
        raise BundleError(
            f"the folder {str(target)!r} is not empty, and a bundle is never overwritten", next_step=NEW_FOLDER
        )


def refuse_read_only(folder: Path) -> None:
    """Look at the mode as well: the superuser may write where the mode says that nobody should."""
    there = standing(folder)
    if not there.is_dir():
        raise BundleError(f"{str(there)!r} is a file, not a folder", next_step=NEW_FOLDER)
    if there.stat().st_mode & 0o222 == 0 or not os.access(there, os.W_OK | os.X_OK):
        raise BundleError(
            f"the folder {str(there)!r} is read-only",
            next_step="give a folder that you may write to, or change its permissions",
        )


def _refuse_unmovable(target: Path) -> None:
    """An existing folder is replaced by the finished bundle, which some folders cannot be."""
    if not target.exists():
        return
    if target.is_symlink() or target.is_mount() or target.resolve() == Path.cwd():
        raise BundleError(
            f"{str(target)!r} is a link, a mount point or the current folder: the bundle cannot take its place",
            next_step=f"give a folder inside it, for example --out {target.name or 'bundle'}/release-1",
        )
    refuse_read_only(target.parent)


def _refuse_private_place(private: Path, target: Path) -> None:
    if private.resolve().is_relative_to(target.resolve()):
        raise BundleError(
            "the custodian's copy must not lie inside the bundle: it holds confidential values",
            next_step="give --private-report a path outside the bundle",
        )
    if private.exists():
        raise BundleError(f"{str(private)!r} exists already", next_step="give --private-report a new path")
    if target.resolve().is_relative_to(private.resolve()):
        raise BundleError(f"{str(private)!r} is a folder above the bundle", next_step="give --private-report a file")
    refuse_read_only(private.parent)


OTHER_PLACE = "give a new file outside every bundle, for example private.html"
CONFIDENTIAL = "holds confidential values"


def require_free_path(path: str | Path, what: str, why: str = CONFIDENTIAL) -> Path:
    """Return where the page goes; refuse a place that is taken, that is none, or that lies in a bundle."""
    place = place_of(path, what)
    bundle = next((folder for folder in place.resolve().parents if (folder / DOCUMENT).exists()), None)
    if bundle is not None:
        raise BundleError(
            f"{str(place)!r} lies inside the bundle {str(bundle)!r}: {what} {why}",
            next_step=OTHER_PLACE,
        )
    check_target(place, error=BundleError, instead=OTHER_PLACE)
    refuse_read_only(place.parent)
    return place


def save_private_file(place: Path, text: str) -> Path:
    """Write a page with mode 600 and return where it stands."""
    try:
        write_owner_only(place, text)
    except OSError as error:
        raise BundleError(f"cannot write {str(place)!r}: {error.strerror}", next_step=OTHER_PLACE) from error
    return place


LEDGER = 200_000
"""Bytes that a ledger may grow by for one release."""


def temporary() -> Path:
    """Return the folder of temporary files."""
    return Path(tempfile.gettempdir())


def standing(place: Path) -> Path:
    """Return the place itself, or the first folder above it that is there."""
    return next(p for p in (place, *place.absolute().parents) if p.exists())


def refuse_full_disks(needs: Sequence[tuple[str, Path, int]]) -> None:
    """Refuse where a disk has less free space than all that may be written to it; each need has a name and a place."""
    by_disk: dict[int, list[tuple[str, Path, int]]] = {}
    for what, place, size in needs:
        there = standing(place)
        by_disk.setdefault(there.stat().st_dev, []).append((what, there, size))
    problems: list[str] = []
    for here in by_disk.values():
        needed, free = sum(size for _, _, size in here), shutil.disk_usage(here[0][1]).free
        if needed > free:
            parts = ", ".join(f"{what} in {str(place)!r}" for what, place, _ in here)
            problems.append(f"{parts}: up to {_megabytes(needed)} MB may be needed, and {free / 1e6:.2f} MB are free")
    if problems:
        step = "make room, or choose another disk: --out for the bundle, TMPDIR for temporary files; "
        step += "--about-rows tells the number of rows where it is not known"
        raise NoSpaceError("there may not be enough space for this release; nothing was spent", problems, step)


def _megabytes(size: int) -> str:
    return f"{-(-size // 10_000) / 100:.2f}"


def shelters(ledger: Path | None) -> list[Path]:
    """Return the folders for a bundle that its own folder has no room for: beside a ledger, temporary, home."""
    return [*([] if ledger is None else [ledger.absolute().parent]), temporary(), Path("~").expanduser()]


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
