"""The released data in one sentence, followed by a short description of their contents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sfumato.bundle.document import ReleaseDocument
from sfumato.formatting import counted, format_number, list_names
from sfumato.schema import Schema

WHOLE_DOMAIN = "Every cell of the public domain is there, empty ones included."
CLAMPED = "Counts below 0 were set to 0, which lifts cells that are nearly empty."
UNBIASED = "Counts are unbiased, so some may be below 0."
KINDS = {
    "integer": "number",
    "number": "number",
    "date": "date",
    "category": "category",
    "ordinal": "ordered category",
    "boolean": "yes or no",
}
PLAIN = ("yes or no", "other")
"""Kinds that have no plural."""
MOST_TABLES = 5


def headline(document: ReleaseDocument) -> str:
    """Say in one short sentence what was released."""
    if document.method.makes == "values":
        lines = sum(table.rows for table in document.tables)
        return f"{'One number' if lines == 1 else counted(lines, 'number')} with noise."
    if document.method.makes == "counts":
        cells = sum(table.rows for table in document.tables)
        return f"Noisy counts of all {counted(cells, 'cell')} of {counted(len(document.tables), 'table')}."
    first, *others = document.tables
    what = "row" if document.statistics.get("not_synthesised") else "synthetic row"
    copies = f"{counted(1 + len(others), 'copy')}, the first of " if others else ""
    return f"{copies}{counted(first.rows, what)} with {counted(len(first.columns), 'column')}."


def explanation(document: ReleaseDocument, schema: Schema) -> list[str]:
    """Say where it comes from, what is in it and how it was made."""
    said = document.method
    told = [f"Made from the confidential table {document.table!r} by the method {said.name}: {said.summary}."]
    if document.method.makes == "values":
        return [*told, *filter(None, [document.method.about])]
    if document.method.makes == "counts":
        sign = CLAMPED if document.method.parameters.get("nonnegative") else UNBIASED
        return [*told, f"{_tables(document)}.", f"{WHOLE_DOMAIN} {sign}"]
    return [*told, *_columns(document.tables[0].columns, document, schema), *filter(None, [document.method.about])]


def _tables(document: ReleaseDocument) -> str:
    tables = [" x ".join(table.columns) for table in document.tables]
    more = f"; and {format_number(len(tables) - MOST_TABLES)} more" if len(tables) > MOST_TABLES else ""
    return f"{'; '.join(tables[:MOST_TABLES])}{more}"


def _columns(names: Sequence[str], document: ReleaseDocument, schema: Schema) -> list[str]:
    kept = document.statistics.get("not_synthesised") or []
    drawn = [name for name in names if name not in kept]
    told = [f"Columns ({_kinds(names, schema)}): {list_names(names)}."]
    return told + ([f"{', '.join(kept)}: released as they are; {', '.join(drawn)}: synthetic."] if kept else [])


def _kinds(names: Sequence[str], schema: Schema) -> str:
    """Return of which kinds columns are, the commonest first; a method may add columns that the schema lacks."""
    kinds = Counter(KINDS[schema[name].kind] if name in schema else "other" for name in names)
    return list_names([_so_many(number, kind) for kind, number in kinds.most_common()])


def _so_many(number: int, kind: str) -> str:
    return f"{format_number(number)} {kind}" if kind in PLAIN else counted(number, kind)


def released_columns(document: ReleaseDocument) -> set[str]:
    """Return the columns of the private table of which something is released."""
    names = {name for table in document.tables for name in table.columns}
    used = document.method.parameters.get("columns") or [document.method.parameters.get("column")]
    return names | {name for name in used if isinstance(name, str)} if document.method.makes == "values" else names
