"""What a bundle or a file holds that was released: for the verbs that measure it against the confidential table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfumato.errors import RiskError


def released(place: str) -> Any:
    """Return what a bundle released, or the path of a file of rows."""
    import pyarrow.parquet as pq

    from sfumato.report.bundle import DOCUMENT
    from sfumato.report.document import ReleaseDocument

    folder = Path(place)
    if not folder.is_dir():
        return place
    if not (folder / DOCUMENT).is_file():
        raise RiskError(f"{place!r} is not a bundle: it has no {DOCUMENT}", next_step="give the folder of a release")
    document = ReleaseDocument.from_json((folder / DOCUMENT).read_text(encoding="utf-8"))
    tables = {listed.columns: pq.read_table(folder / listed.parquet) for listed in document.tables}
    return next(iter(tables.values())) if document.method.makes == "rows" else tables


def released_rows(place: str) -> Any:
    """Return released rows; refuse a bundle of counts."""
    found = released(place)
    if isinstance(found, dict):
        raise RiskError(f"{place!r} holds counts, not rows", next_step="give a release of synthetic rows")
    return found
