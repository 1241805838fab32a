"""Open a bundle: its document, schema, method and released tables.

Nothing is checked here beyond what reading needs; :mod:`~sfumato.bundle.verify` checks bundles.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from sfumato.bounded_reads import bounded_bytes, is_file
from sfumato.bundle.document import ReleaseDocument
from sfumato.bundle.layout import DOCUMENT, SCHEMA
from sfumato.core.method import Method
from sfumato.errors import BundleError, SfumatoError
from sfumato.schema import Schema

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
