"""Write a release as a bundle atomically: the folder is complete or absent."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from sfumato.atomic_files import exchange, flush_to_disk, temporary_folder
from sfumato.bundle.document import ExpectedErrors, ReleaseDocument, ReleasedTable, Tables, first_copies
from sfumato.bundle.layout import (
    DOCUMENT,
    MODEL,
    PAGES,
    SCHEMA,
    SCRIPT,
    SIGNATURE,
    TABLES,
    WARNING,
    file_record,
    file_records,
    file_stems,
)
from sfumato.bundle.reproduction_script import reproduction_script
from sfumato.bundle.signature import SigningKey
from sfumato.bundle.target_folder import named_failure, place_of, prepare_output, shelters
from sfumato.core.file_metadata import parquet_metadata, seed_warning
from sfumato.core.method import Makes
from sfumato.core.outcome import mark_lost_on_failure, mark_saved, spend_summary
from sfumato.errors import (
    BundleError,
    KeptElsewhereError,
    SfumatoError,
    TableError,
    UndrawnPageWarning,
    UnwrittenCopyWarning,
)
from sfumato.lazy import HOOKS, find_hook, load_object
from sfumato.progress import report_progress, silenced, undisturbed
from sfumato.schema import Schema
from sfumato.table.writing.formats import copy_suffixes, requested_suffixes
from sfumato.table.writing.formats import write_copy as write_rows

if TYPE_CHECKING:
    from sfumato.core.release import Release
    from sfumato.table import Table

MARK_IT = "mark it with 'sfumato doctor FOLDER --ledger LEDGER'"
AGAIN = "nothing more is spent by saving again: call release.save() with another folder"
MOVE_IT = "make room and move the folder to its place: it is complete, it verifies, and nothing more is spent"
KEPT = "sfumato-kept-"
"""How the private folder is called that holds a bundle which its own folder did not take."""


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

    The bundle comes first and is whole: what takes time or may fail is added to it afterwards. With ``reruns`` the
    report shows expected errors of its main numbers. ``also`` names formats for copies of rows. A bundle that cannot
    be written is kept in a private folder elsewhere, which the :class:`KeptElsewhereError` names.
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
    check_copy_formats(release.method.makes, also)
    key = None if sign is None else SigningKey.of(sign)
    prepare_output(target, private_report)
    private = None if private_report is None else place_of(private_report, "the custodian's copy")
    with undisturbed() as raise_held:
        with kept_on_failure(release, target, key), named_failure(target, AGAIN):
            document, sealed = _write_whole(release, target, key)
        _mark(release, target, sealed)
    with _complete(target, bool(reruns)):
        raise_held()
        document = _extended(release, target, document, reruns, also, key)
        if private is not None and table is not None:
            load_object(HOOKS["bundle.custodian_copy"])(release, document, table, private)
    return target


@contextmanager
def kept_on_failure(release: Release, target: Path, key: SigningKey | None = None) -> Generator[None]:
    """Keep a release that is paid for in a private folder where its own cannot be written; else it is lost.

    What already says what became of the spend passes through.
    """
    with mark_lost_on_failure(release.ledger, release.entries):
        try:
            yield
        except SfumatoError as error:
            kept = None if getattr(error, "__notes__", ()) else _kept(release, target, key, error)
            if kept is None:
                raise
            raise kept from error


def _kept(release: Release, target: Path, key: SigningKey | None, error: SfumatoError) -> KeptElsewhereError | None:
    """Write a bundle to the first private folder that takes it, if need be without pages; None where none does."""
    places = shelters(None if release.ledger is None else release.ledger.path)
    tries = [(place, True) for place in places] + [(place, False) for place in (*places, target.parent)]
    for parent, pages in tries:
        try:
            home = Path(tempfile.mkdtemp(prefix=KEPT, dir=parent))  # readable by its owner alone
        except OSError:
            continue
        folder = home / target.name
        try:
            _, sealed = _write_whole(release, folder, key, pages)
        except (OSError, pa.ArrowException, SfumatoError):
            shutil.rmtree(home, ignore_errors=True)
            continue
        _mark(release, folder, sealed)
        bare = "" if pages else ", without its pages, for which there is no room"
        kept = KeptElsewhereError(error.headline, (f"the bundle is kept in {str(folder)!r}{bare}",), MOVE_IT)
        kept.folder = folder
        spent = f"{spend_summary(release.entries)}; " if release.entries else ""
        kept.add_note(f"{spent}the bundle is kept in {str(folder)!r}, and nothing is lost")
        return kept
    return None


@contextmanager
def _complete(target: Path, reruns: bool) -> Generator[None]:
    """Say of whatever stops what comes after the bundle that the bundle is complete."""
    try:
        yield
    except BaseException as error:
        less = ", but may lack expected errors" if reruns else ""
        error.add_note(f"the bundle {str(target)!r} is complete{less}")
        raise


def check_copy_formats(makes: Makes, also: Sequence[str]) -> None:
    """Refuse copies that cannot be made: of what is no table of rows, or in formats that cannot be written here."""
    if also and makes != "rows":
        raise BundleError(
            f"only rows can be copied to {', '.join(also)}, and this method makes {makes}",
            next_step="leave it out: CSV and Parquet are always there",
        )
    requested_suffixes(also)


def _write_whole(
    release: Release, target: Path, key: SigningKey | None, pages: bool = True
) -> tuple[ReleaseDocument, str]:
    """Write a bundle, move it to its place, and return its document and the SHA-256 of that."""
    with temporary_folder(target, keep_parents=True) as folder:
        document = write_bundle(release, folder, key, pages)
        sealed = file_record(folder / DOCUMENT).sha256
        folder.rename(target)
    return document, sealed


def _mark(release: Release, folder: Path, sealed: str) -> None:
    if release.ledger is not None and release.entries:
        complete = f"the bundle {str(folder)!r} is complete"
        mark_saved(release.ledger, release.entries, sealed, complete, f"; {MARK_IT}")


def _extended(
    release: Release,
    target: Path,
    document: ReleaseDocument,
    reruns: int,
    also: Sequence[str],
    key: SigningKey | None,
) -> ReleaseDocument:
    """Add expected errors and copies of rows to a bundle that is in place; what cannot be added is a warning.

    The longer bundle is written beside the other and takes its place in one step: there is a whole one at any moment.
    """
    expected = load_object(HOOKS["bundle.expected_errors"])(release, reruns) if reruns else None
    suffixes = copy_suffixes(release.schema, also) if release.method.makes == "rows" else ()
    if expected is None and not suffixes:
        return document
    try:
        with temporary_folder(target, keep_parents=True) as folder:
            kept = shutil.ignore_patterns(DOCUMENT, SCRIPT, SIGNATURE, *PAGES)
            shutil.copytree(target, folder, copy_function=_linked, ignore=kept, dirs_exist_ok=True)
            for _, stem, table, _ in _named_tables(release) if suffixes else ():
                _write_copies(folder / stem, table, release.schema, suffixes)
            document = _finished(release, folder, document.tables, expected, key)
            sealed = file_record(folder / DOCUMENT).sha256
            with undisturbed() as raise_held:
                _mark(release, target, sealed)  # both are known to the ledger while one takes the other's place
                exchange(folder, target)
            raise_held()
    except (OSError, pa.ArrowException, SfumatoError) as error:
        reason = error.headline if isinstance(error, SfumatoError) else str(error)
        text = f"the bundle {str(target)!r} is complete, but nothing could be added to it: {reason}"
        warnings.warn(UnwrittenCopyWarning(text), stacklevel=4)
    return document


def _linked(source: str, destination: str) -> None:
    """Give a file of the bundle a second name; copy it where the disk knows no second names."""
    try:
        os.link(source, destination)
    except OSError:
        shutil.copyfile(source, destination)


def write_bundle(release: Release, folder: Path, key: SigningKey | None = None, pages: bool = True) -> ReleaseDocument:
    """Write all files of a bundle into an empty folder and return its document."""
    report_progress("writing the data")
    metadata = parquet_metadata(release.guarantee, release.stamp)
    tables = tuple(_write_table(folder, release.schema, *item, metadata) for item in _named_tables(release))
    (folder / SCHEMA).write_text(release.schema.to_toml(), encoding="utf-8")
    if release.stamp:
        (folder / WARNING).write_text(seed_warning(release.stamp), encoding="utf-8")
    if release.model is not None:
        release.model.save(folder / MODEL)
    return _finished(release, folder, tables, None, key, pages)


def _finished(
    release: Release,
    folder: Path,
    tables: Sequence[ReleasedTable],
    expected: ExpectedErrors | None,
    key: SigningKey | None,
    pages: bool = True,
) -> ReleaseDocument:
    """Write script, pages and document about the files that lie in a folder, and bring all of it to the disk."""
    document = ReleaseDocument.from_release(release, tables=tables, expected_errors=expected)
    (folder / SCRIPT).write_text(reproduction_script(document), encoding="utf-8")
    by_file = {listed.parquet: table for listed, table in zip(tables, release.tables.values(), strict=True)}
    shown = first_copies(tables, lambda listed: by_file[listed.parquet])
    if pages:
        _write_pages(folder, document.with_files(file_records(folder)), release.schema, shown)
    document = document.with_files(file_records(folder))
    (folder / DOCUMENT).write_text(document.to_json(), encoding="utf-8")
    if key is not None:
        key.sign(folder)
    flush_to_disk(folder)  # the budget is spent, so the release must survive a crash
    return document


def _write_pages(folder: Path, document: ReleaseDocument, schema: Schema, shown: Tables) -> None:
    """Write the pages. The data are paid for: one that cannot be drawn is a warning, and the bundle goes without."""
    render_pages = find_hook("bundle.pages")
    if render_pages is None:
        warnings.warn(UndrawnPageWarning("no page was drawn: sfumato.report is not installed"), stacklevel=5)
        return
    report_progress("drawing the report")
    for name, draw in render_pages(document, schema, shown).items():
        try:
            with silenced():  # the rows that are counted for the charts are released ones
                text = draw()
        except Exception as error:  # noqa: BLE001  whatever it is, the release must come to its bundle
            reason = error.headline if isinstance(error, SfumatoError) else type(error).__name__
            warnings.warn(UndrawnPageWarning(f"{name} was not drawn: {reason}"), stacklevel=5)
        else:
            (folder / name).write_text(text, encoding="utf-8")


def _named_tables(release: Release) -> Iterator[tuple[tuple[str, ...], str, pa.Table, Makes]]:
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
) -> ReleasedTable:
    """Write one released table: typed as Parquet, and as text."""
    (folder / stem).parent.mkdir(exist_ok=True)
    parquet, csv = f"{stem}.parquet", f"{stem}.csv"
    pq.write_table(table.replace_schema_metadata(dict(metadata)), folder / parquet)
    if makes == "rows" and _fits(table, schema):
        write_rows(folder / csv, table, schema)
    else:
        pa_csv.write_csv(table, folder / csv)
    return ReleasedTable(columns=columns, kind=makes, rows=table.num_rows, parquet=parquet, csv=csv)


def _fits(table: pa.Table, schema: Schema) -> bool:
    """Whether a schema knows all columns of rows: a method of one's own may have others."""
    return set(table.column_names) <= set(schema.names)


def _write_copies(stem: Path, table: pa.Table, schema: Schema, suffixes: Sequence[str]) -> None:
    """Write rows in other formats, the source's and those asked for; a failure is a warning."""
    for suffix in suffixes if _fits(table, schema) else ():
        path = stem.with_name(f"{stem.name}{suffix}")
        try:
            write_rows(path, table, schema)
        except TableError as error:
            path.unlink(missing_ok=True)
            warnings.warn(UnwrittenCopyWarning(f"{path.name} was not written: {error.headline}"), stacklevel=5)
