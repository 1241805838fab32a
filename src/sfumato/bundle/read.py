"""Open a bundle (document, schema, method, tables), and export its rows to SPSS, Stata, Excel and other formats.

Nothing is checked here beyond what reading needs; :mod:`~sfumato.bundle.verify` checks bundles.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from sfumato.argument_errors import checked_arguments
from sfumato.atomic_files import atomic_file, check_target
from sfumato.bounded_reads import bounded_bytes, is_file
from sfumato.bundle.document import ReleaseDocument
from sfumato.bundle.layout import DOCUMENT, SCHEMA, WARNING
from sfumato.core.file_metadata import parquet_metadata, seed_warning
from sfumato.core.method import Method
from sfumato.errors import BundleError, SfumatoError
from sfumato.schema import Schema
from sfumato.table.writing.formats import WRITERS, require_installed, suffix_of

if TYPE_CHECKING:
    import pyarrow as pa

DAMAGED = "copy the bundle anew from where it is whole; 'sfumato verify' lists all that is wrong with it"


@dataclass(frozen=True)
class Bundle:
    """What a bundle holds."""

    folder: Path
    document: ReleaseDocument
    schema: Schema
    tables: tuple[tuple[tuple[str, ...], pa.Table], ...]
    """Columns and rows of each released table; copies of rows stand one after another."""

    @property
    def rows(self) -> pa.Table:
        """The first copy of released rows; refuses a bundle of counts or values."""
        if self.document.method.makes != "rows":
            raise BundleError(f"{str(self.folder)!r} holds no rows", next_step="give a release of synthetic rows")
        return self.tables[0][1]

    def method(self) -> Method:
        """Return the method with its parameters, as the registry knows it."""
        return self.document.method.build()


def open_bundle(place: str | Path) -> Bundle:
    """Read a bundle's document, schema and tables."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = Path(place)
    if not is_file(folder / DOCUMENT):
        raise BundleError(
            f"{str(place)!r} is not a bundle: it has no {DOCUMENT}", next_step="give the folder of a release"
        )
    _, document = read_document(folder)
    try:
        tables = tuple((each.columns, pq.read_table(folder / each.parquet)) for each in document.tables)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise BundleError(f"a table of {str(place)!r} cannot be read", [type(error).__name__], DAMAGED) from error
    return Bundle(folder, document, Schema.load(folder / SCHEMA), tables)


def read_document(folder: Path) -> tuple[str, ReleaseDocument]:
    """Return a bundle's document as text and as what it says; BundleError where it is damaged."""
    try:
        text = bounded_bytes(folder / DOCUMENT).decode()
        return text, ReleaseDocument.from_json(text)
    except ValidationError as error:
        details = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:3])
    except (OSError, ValueError, RecursionError, SfumatoError) as error:
        details = str(error)
    raise BundleError(f"{str(folder)!r} is damaged", [f"{DOCUMENT} cannot be read: {details}"], DAMAGED)


PARQUET = ".parquet"
"""The one format that carries the guarantee and the stamp itself."""


@dataclass(frozen=True)
class ExportedFile:
    """Where rows were written, and how many; ``stamp`` says that they come from a seeded run."""

    path: Path
    rows: int
    stamp: str | None


@checked_arguments
def export(bundle: str | Path, path: str | Path, copy: int = 1, overwrite: bool = False) -> ExportedFile:
    """Write the rows of a bundle to a file whose ending names the format, with labels where it has a place for them.

    ``copy`` chooses among several copies of rows, from 1. Nothing is spent, and the private table is not needed. What
    was made with a seed gets a file beside it that says so.
    """
    suffix = _format(path)
    target = Path(path).absolute()
    check_target(target, overwrite)
    opened = open_bundle(bundle)
    _refuse_inside(target, opened)
    table = _rows(opened, copy)
    stamp = opened.document.randomness.stamp
    metadata = parquet_metadata(opened.document.guarantee, stamp)
    with atomic_file(target, overwrite) as fresh:
        with WRITERS[suffix](fresh, table.schema.with_metadata(metadata), opened.schema) as file:
            file.write_table(table.replace_schema_metadata(metadata))
        if stamp and suffix != PARQUET:
            with atomic_file(target.with_name(f"{target.name}.{WARNING}"), overwrite=True) as note:
                note.write_text(seed_warning(stamp), encoding="utf-8")
    return ExportedFile(target, table.num_rows, stamp)


def _format(path: str | Path) -> str:
    suffix = suffix_of(path)
    if suffix is None:
        headline = f"{str(path)!r} ends in none of {', '.join(WRITERS)}"
        raise BundleError(headline, next_step="choose a name such as people.sav")
    require_installed(suffix)
    return suffix


def _refuse_inside(target: Path, opened: Bundle) -> None:
    if target.resolve().is_relative_to(opened.folder.resolve()):
        raise BundleError(
            "a bundle is complete as it is: one more file in it would be found by 'sfumato verify'",
            next_step="give a place outside the bundle",
        )


def _rows(opened: Bundle, copy: int) -> Any:
    first, count = opened.rows, len(opened.tables)  # refuses what holds no rows
    if not 1 <= copy <= count:
        raise BundleError(f"there is no copy {copy}: the bundle holds {count}", next_step=f"give 1 to {count}")
    table = first if copy == 1 else opened.tables[copy - 1][1]
    if strange := [name for name in table.column_names if name not in opened.schema]:
        raise BundleError(
            f"the schema does not know {', '.join(strange)}", next_step="take the CSV or Parquet file of the bundle"
        )
    return table
