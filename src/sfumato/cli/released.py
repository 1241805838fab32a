"""What a bundle or a file holds that was released: for the verbs that measure it against the confidential table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import RiskError

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.report.document import ReleaseDocument


def released(place: str) -> Any:
    """Return what a bundle released, the first of its copies, or the path of a file of rows."""
    if not Path(place).is_dir():
        return place
    document, tables = _bundle(place)
    return tables[0][1] if document.method.makes == "rows" else dict(tables)


def released_copies(place: str) -> list[Any]:
    """Return every copy of released rows; refuse a bundle of counts."""
    if not Path(place).is_dir():
        return [place]
    document, tables = _bundle(place)
    if document.method.makes != "rows":
        raise RiskError(f"{place!r} holds no rows", next_step="give a release of synthetic rows")
    return [table for _, table in tables]


def _bundle(place: str) -> tuple[ReleaseDocument, list[tuple[tuple[str, ...], pa.Table]]]:
    """Return the document of a bundle, and its tables with their columns."""
    import pyarrow.parquet as pq

    from sfumato.report.bundle import DOCUMENT
    from sfumato.report.document import ReleaseDocument

    folder = Path(place)
    if not (folder / DOCUMENT).is_file():
        raise RiskError(f"{place!r} is not a bundle: it has no {DOCUMENT}", next_step="give the folder of a release")
    document = ReleaseDocument.from_json((folder / DOCUMENT).read_text(encoding="utf-8"))
    return document, [(each.columns, pq.read_table(folder / each.parquet)) for each in document.tables]


def released_rows(place: str) -> Any:
    """Return released rows; refuse a bundle of counts."""
    found = released(place)
    if isinstance(found, dict):
        raise RiskError(f"{place!r} holds counts, not rows", next_step="give a release of synthetic rows")
    return found
