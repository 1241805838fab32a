"""Read the released rows of a bundle or a file, for the verbs that measure them against the confidential table."""

from __future__ import annotations

from typing import Any

from sfumato.bounded_reads import is_folder
from sfumato.bundle.read import open_bundle


def open_evaluation_input(place: str) -> Any:
    """Return what a bundle released, the first of its copies, or the path of a file of rows."""
    if not is_folder(place):
        return place
    opened = open_bundle(place)
    return opened.rows if opened.document.method.makes == "rows" else dict(opened.tables)
