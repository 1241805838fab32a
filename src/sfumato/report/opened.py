"""A bundle opened again: its schema, its method, its document and the released tables, for those who work with it.

Nothing is checked here beyond what reading needs; :mod:`~sfumato.report.verify` checks bundles.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.errors import BundleError
from sfumato.release.method import Method, method_class
from sfumato.report.bundle import DOCUMENT
from sfumato.report.document import ReleaseDocument
from sfumato.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class OpenedBundle:
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
        """Return the method with its parameters, as the registry knows it: no module is taken from the file."""
        known = method_class(self.document.method.name)
        return known(**self.document.method.parameters)


def opened_bundle(place: str | Path) -> OpenedBundle:
    """Read a bundle's document, schema and tables."""
    import pyarrow.parquet as pq

    folder = Path(place)
    if not (folder / DOCUMENT).is_file():
        raise BundleError(
            f"{str(place)!r} is not a bundle: it has no {DOCUMENT}", next_step="give the folder of a release"
        )
    document = ReleaseDocument.from_json((folder / DOCUMENT).read_text(encoding="utf-8"))
    tables = tuple((each.columns, pq.read_table(folder / each.parquet)) for each in document.tables)
    return OpenedBundle(folder, document, Schema.load(folder / "schema.toml"), tables)
