"""Read the released rows of a bundle or a file, for the verbs that measure them against the confidential table."""

from __future__ import annotations

from typing import Any

from sfumato.bounded_reads import is_folder
from sfumato.bundle.read import open_bundle
from sfumato.errors import BundleError


def open_evaluation_input(place: str) -> Any:
    """Return what a bundle released, the first of its copies, or the path of a file of rows."""
    if not is_folder(place):
        return place
    opened = open_bundle(place)
    return opened.rows if opened.document.method.makes == "rows" else dict(opened.tables)


def released_copies(place: str) -> list[Any]:
    """Return every copy of released rows; refuse a bundle of counts."""
    if not is_folder(place):
        return [place]
    opened = open_bundle(place)
    return [opened.rows, *(table for _, table in opened.tables[1:])]


def released_rows(place: str) -> Any:
    """Return released rows; refuse a bundle of counts."""
    found = open_evaluation_input(place)
    if isinstance(found, dict):
        raise BundleError(f"{place!r} holds counts, not rows", next_step="give a release of synthetic rows")
    return found
