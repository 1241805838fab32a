"""What a bundle or a file holds that was released: for the verbs that measure it against the confidential table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.bounded_reads import is_folder
from sfumato.bundle.read import open_bundle
from sfumato.errors import BundleError, SchemaError, TableError
from sfumato.schema import Schema

MadeRows = Annotated[
    str, typer.Argument(metavar="BUNDLE", help="Folder of a release, or a file of anybody's synthetic rows.")
]
OwnSchema = Annotated[
    str | None, typer.Option("--schema", "-s", help="The table's schema; that of the bundle unless said.")
]
PrivatePage = Annotated[str | None, typer.Option("--out", "-o", help="Write a page, readable by its owner alone.")]


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


def facts_of(bundle: str, schema: str | None) -> Schema:
    """Return the schema that was named, or that of the bundle."""
    if schema is not None:
        return Schema.load(schema)
    if is_folder(bundle):
        return open_bundle(bundle).schema
    raise SchemaError(
        f"{bundle!r} is no bundle, so nobody says what its columns are", next_step="give --schema SCHEMA, or a bundle"
    )


def require_free(out: str | None, what: str) -> None:
    """Refuse a private page that cannot be written before minutes are spent on it."""
    if out is None:
        return
    place = Path(out)
    problems = [
        *([] if place.suffix.lower() in (".html", ".htm") else ["it does not end in .html"]),
        *(["it exists"] if place.exists() else []),
        *([] if place.absolute().parent.is_dir() else [f"there is no folder {str(place.parent)!r}"]),
    ]
    if problems:
        raise TableError(f"the page cannot be written to {out!r}", problems, "choose another --out")
    from sfumato.bundle.private_files import require_free_path

    require_free_path(out, what)
