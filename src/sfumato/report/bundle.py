"""A release on disk: written beside its place and moved there whole, so that a bundle is complete or absent."""

from __future__ import annotations

import hashlib
import os
import re
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from sfumato.errors import (
    BundleError,
    MissingEntryError,
    SfumatoError,
    TableError,
    UndrawnPageWarning,
    UnmarkedBundleWarning,
    UnwrittenCopyWarning,
)
from sfumato.privacy.ledger import Entry, Ledger
from sfumato.progress import tell, unheard
from sfumato.release.method import Makes
from sfumato.release.outcome import lost_on_failure
from sfumato.release.stamp import parquet_metadata, warning
from sfumato.report.custodian import write_copy
from sfumato.report.document import ExpectedErrors, FileRecord, ReleaseDocument, ReleasedTable
from sfumato.report.expected import expected_errors
from sfumato.report.script import reproduction_script
from sfumato.report.signature import SigningKey
from sfumato.rows.atomic import settle, workshop
from sfumato.schema import Schema
from sfumato.table.writing.formats import asked_suffixes, copy_suffixes
from sfumato.table.writing.formats import write_copy as write_rows

if TYPE_CHECKING:
    from sfumato.release.release import Release
    from sfumato.table import Table

DOCUMENT = "release.json"
SCHEMA = "schema.toml"
REPORT = "report.html"
SCRIPT = "reproduce.py"
MODEL = "model.sfumato"
WARNING = "NOT-FOR-RELEASE.txt"
TABLES = "tables"
LONGEST_STEM = 100
MARK_IT = "mark it with 'sfumato doctor FOLDER --ledger LEDGER'"
NEW_FOLDER = "give a folder that does not exist yet, for example --out release-1"
AGAIN = "nothing more is spent by saving again: call release.save() with another folder"


def prepare_output(directory: str | Path, private_report: str | Path | None = None) -> None:
    """Refuse an output folder that cannot take a bundle; leaves nothing behind. Call it before anything is spent."""
    target = place_of(directory, "the folder of a bundle")
    with _named_failure(target, NEW_FOLDER):
        _refuse_occupied(target)
        refuse_read_only(target if target.exists() else target.parent)
        _refuse_unmovable(target)
        if private_report is not None:
            _refuse_private_place(place_of(private_report, "the custodian's copy"), target)
        with workshop(target, keep_parents=False) as folder:
            (folder / "probe").write_bytes(b"sfumato")


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


def save_bundle(
    release: Release,
    directory: str | Path,
    private_report: str | Path | None = None,
    table: Table | None = None,
    reruns: int = 0,
    also: Sequence[str] = (),
    sign: SigningKey | str | Path | None = None,
) -> Path:
    """Write a release as a bundle and return its folder; the ledger is told what became of the spend.

    With ``reruns`` the report shows expected errors of its main numbers. ``also`` names formats for copies of rows.
    ``sign`` is the custodian's private key or its file: signature.json is written with it.

    ``private_report`` writes the custodian's copy, which sets true values beside the released ones, to a path outside
    the bundle; it needs the private ``table``.
    """
    target = place_of(directory, "the folder of a bundle")
    if private_report is not None and table is None:
        raise BundleError(
            "the custodian's copy shows true values and needs the private table",
            next_step="call release.save(directory, private_report=path, table=table)",
        )
    refuse_copies(release.method.makes, also)
    key = None if sign is None else SigningKey.of(sign)
    prepare_output(target, private_report)
    private = None if private_report is None else place_of(private_report, "the custodian's copy")
    expected, stopped = expected_errors(release, reruns)
    with lost_on_failure(release.ledger, release.entries):
        document, sealed = _write_in_place(release, target, expected, also, key)
    if release.ledger is not None and release.entries:
        mark_saved(release.ledger, release.entries, target, sealed)
    if private is not None and table is not None:
        write_copy(release, document, table, private)
    if stopped is not None:
        stopped.add_note(f"the bundle {str(target)!r} is complete, but without expected errors")
        raise stopped
    return target


def refuse_copies(makes: Makes, also: Sequence[str]) -> None:
    """Refuse copies that cannot be made: of what is no table of rows, or in formats that cannot be written here."""
    if also and makes != "rows":
        raise BundleError(
            f"only rows can be copied to {', '.join(also)}, and this method makes {makes}",
            next_step="leave it out: CSV and Parquet are always there",
        )
    asked_suffixes(also)


def _write_in_place(
    release: Release, target: Path, expected: ExpectedErrors | None, also: Sequence[str], key: SigningKey | None
) -> tuple[ReleaseDocument, str]:
    """Write everything, move it to its place, and return its document and the SHA-256 of that."""
    with _named_failure(target, AGAIN), workshop(target, keep_parents=True) as folder:
        document = write_bundle(release, folder, expected, also, key)
        sealed = file_record(folder / DOCUMENT).sha256
        folder.rename(target)
    return document, sealed


def mark_saved(ledger: Ledger, entries: Sequence[Entry], folder: Path, sha256: str) -> None:
    """Tell the ledger that a spend came to this bundle. The bundle stands whatever happens.

    A failure is a warning, but for a spend that the ledger does not hold: then nothing counts the bundle's cost.
    """
    complete = f"the bundle {str(folder)!r} is complete, but the ledger could not be told"
    try:
        ledger.mark_saved(entries, sha256)
    except MissingEntryError as error:
        error.add_note(f"the bundle {str(folder)!r} is complete, but do not publish it")
        raise
    except SfumatoError as error:
        warnings.warn(UnmarkedBundleWarning(f"{complete}: {error.headline}; {MARK_IT}"), stacklevel=4)
    except BaseException as stop:
        stop.add_note(f"{complete}; {MARK_IT}")
        raise


def write_bundle(
    release: Release,
    folder: Path,
    expected: ExpectedErrors | None = None,
    also: Sequence[str] = (),
    key: SigningKey | None = None,
) -> ReleaseDocument:
    """Write all files of a bundle into an empty folder and return its document."""
    tell("writing the data")
    metadata = parquet_metadata(release.guarantee, release.stamp)
    tables = [_write_table(folder, release.schema, *item, metadata, also) for item in _placed(release)]
    (folder / SCHEMA).write_text(release.schema.to_toml(), encoding="utf-8")
    if release.stamp:
        (folder / WARNING).write_text(warning(release.stamp), encoding="utf-8")
    if release.model is not None:
        release.model.save(folder / MODEL)
    document = ReleaseDocument.from_release(release, tables=tables, expected_errors=expected)
    (folder / SCRIPT).write_text(reproduction_script(document), encoding="utf-8")
    made = {listed.parquet: table for listed, table in zip(tables, release.tables.values(), strict=True)}
    shown = shown_tables(tables, lambda listed: made[listed.parquet])
    _draw_pages(folder, document.with_files(file_records(folder)), release.schema, shown)
    document = document.with_files(file_records(folder))
    (folder / DOCUMENT).write_text(document.to_json(), encoding="utf-8")
    if key is not None:
        key.sign(folder)
    settle(folder)  # the budget is spent, so the release must survive a crash
    return document


def _draw_pages(
    folder: Path, document: ReleaseDocument, schema: Schema, shown: Mapping[tuple[str, ...], pa.Table]
) -> None:
    """Write the pages. The data are paid for: one that cannot be drawn is a warning, and the bundle goes without."""
    from sfumato.report.pages import Pages

    tell("drawing the report")
    for name, draw in Pages(document, schema, shown).drawings.items():
        try:
            with unheard():  # the rows that are counted for the charts are released ones
                text = draw()
        except Exception as error:  # noqa: BLE001  whatever it is, the release must come to its bundle
            told = error.headline if isinstance(error, SfumatoError) else type(error).__name__
            warnings.warn(UndrawnPageWarning(f"{name} was not drawn: {told}"), stacklevel=5)
        else:
            (folder / name).write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class Contents:
    """Paths below a folder, by what they are. A link is never followed."""

    files: frozenset[str]
    folders: frozenset[str]
    strange: tuple[str, ...]
    """What no bundle holds: links and things that are neither file nor folder, each in words."""

    @classmethod
    def of(cls, folder: Path) -> Contents:
        """Look through a folder without opening a file."""
        files, folders, strange = set[str](), set[str](), list[str]()
        for entry, path in _walk(folder):
            if entry.is_symlink():
                strange.append(f"{path} is a link; a bundle holds its files itself")
            elif entry.is_dir(follow_symlinks=False):
                folders.add(path)
            elif entry.is_file(follow_symlinks=False):
                files.add(path)
            else:
                strange.append(f"{path} is neither a file nor a folder")
        return cls(frozenset(files), frozenset(folders), tuple(strange))

    def needless_folders(self, listed: set[str]) -> list[str]:
        """Return the folders that hold no listed file, empty ones among them."""
        needed = {str(parent) for path in listed for parent in PurePosixPath(path).parents}
        return sorted(self.folders - needed)


def _walk(folder: Path, above: str = "") -> Iterator[tuple[os.DirEntry[str], str]]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda found: found.name):
            path = f"{above}{entry.name}"
            yield entry, path
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(Path(entry.path), f"{path}/")


def file_records(folder: Path) -> dict[str, FileRecord]:
    """Return hash and size of every file in a folder except the document itself, by relative path."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / DOCUMENT)
    return {path.relative_to(folder).as_posix(): file_record(path) for path in paths}


def file_record(path: Path) -> FileRecord:
    """Return hash and size of one file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    return FileRecord(sha256=digest.hexdigest(), bytes=path.stat().st_size)


def shown_tables(
    tables: Iterable[ReleasedTable], load: Callable[[ReleasedTable], pa.Table]
) -> dict[tuple[str, ...], pa.Table]:
    """Return the released tables that a page shows, by their columns: of several copies of rows, the first."""
    first: dict[tuple[str, ...], ReleasedTable] = {}
    for listed in tables:
        first.setdefault(listed.columns, listed)
    return {names: load(listed) for names, listed in first.items()}


def file_stems(sets: list[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """Return a safe and unique file name for each column set, whatever its columns are called.

    >>> file_stems([("age", "sex"), ("net income",), ("net/income",)])
    {('age', 'sex'): 'age--sex', ('net income',): 'net_income', ('net/income',): 'net_income-2'}
    """
    stems: dict[tuple[str, ...], str] = {}
    taken: set[str] = set()
    for names in sets:
        slug = "--".join(re.sub(r"[^\w.-]+", "_", name).strip("._-") or "column" for name in names)[:LONGEST_STEM]
        # file systems that ignore case must not fold two tables into one
        candidates = (slug if i == 1 else f"{slug}-{i}" for i in range(1, len(sets) + 2))
        stems[names] = next(stem for stem in candidates if stem.casefold() not in taken)
        taken.add(stems[names].casefold())
    return stems


def _placed(release: Release) -> Iterator[tuple[tuple[str, ...], str, pa.Table, Makes]]:
    makes = release.method.makes
    if release.single:
        names, table = next(iter(release.tables.items()))
        yield names if makes == "counts" else tuple(table.column_names), "data", table, makes
        return
    stems = file_stems(list(release.tables))
    for names, table in release.tables.items():  # several copies of rows go by numbers, and all have the same columns
        yield tuple(table.column_names) if makes == "rows" else names, f"{TABLES}/{stems[names]}", table, makes


def _write_table(
    folder: Path,
    schema: Schema,
    columns: tuple[str, ...],
    stem: str,
    table: pa.Table,
    makes: Makes,
    metadata: Mapping[str, str],
    also: Sequence[str],
) -> ReleasedTable:
    """Write one released table: typed as Parquet, and as text; rows also in other formats: the source's, and wishes."""
    (folder / stem).parent.mkdir(exist_ok=True)
    parquet, csv = f"{stem}.parquet", f"{stem}.csv"
    pq.write_table(table.replace_schema_metadata(dict(metadata)), folder / parquet)
    if makes == "rows" and set(table.column_names) <= set(schema.names):  # a method of one's own may have others
        write_rows(folder / csv, table, schema)
        for suffix in copy_suffixes(schema, also):
            _try_copy(folder / f"{stem}{suffix}", table, schema)
    else:
        pa_csv.write_csv(table, folder / csv)
    return ReleasedTable(columns=columns, kind=makes, rows=table.num_rows, parquet=parquet, csv=csv)


def _try_copy(path: Path, table: pa.Table, schema: Schema) -> None:
    """Write rows in another format; the bundle is complete without, so a failure is a warning."""
    try:
        write_rows(path, table, schema)
    except TableError as error:
        path.unlink(missing_ok=True)
        warnings.warn(UnwrittenCopyWarning(f"{path.name} was not written: {error.headline}"), stacklevel=2)


@contextmanager
def _named_failure(target: Path, next_step: str) -> Generator[None]:
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
    standing = next(p for p in (folder, *folder.parents) if p.exists())
    if not standing.is_dir():
        raise BundleError(f"{str(standing)!r} is a file, not a folder", next_step=NEW_FOLDER)
    if standing.stat().st_mode & 0o222 == 0 or not os.access(standing, os.W_OK | os.X_OK):
        raise BundleError(
            f"the folder {str(standing)!r} is read-only",
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
