"""Read CSVW metadata, the W3C standard for tables on the web."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sfumato.schema.importing.metadata_model import (
    MetadataColumn,
    MetadataTable,
    Type,
    alternatives_of_pattern,
    localised_text,
    mappings,
    set_bounds,
    set_number_marks,
    stated_dialect,
    texts,
)

WHOLE = (
    *("integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger", "gYear"),
    *("unsignedInt", "unsignedLong", "unsignedShort", "unsignedByte", "negativeInteger", "nonPositiveInteger"),
)
TYPES: dict[str, Type] = {
    **dict.fromkeys(WHOLE, "whole"),
    **dict.fromkeys(("number", "decimal", "double", "float"), "number"),
    **dict.fromkeys(("string", "normalizedString", "token", "anyURI", "language", "Name", "NMTOKEN"), "text"),
    "boolean": "boolean",
    "date": "date",
}
DAYS = (("yyyy", "%Y"), ("MM", "%m"), ("dd", "%d"), ("M", "%m"), ("d", "%d"))
"""How the format writes days, longest first."""
LIMITS = (("minInclusive", "minimum", "minExclusive"), ("maxInclusive", "maximum", "maxExclusive"))


def is_csvw(document: Mapping[str, Any]) -> bool:
    """Whether a document is CSVW metadata."""
    return "csvw" in str(document.get("@context", "")) or "tableSchema" in document


def csvw_tables(document: Mapping[str, Any]) -> list[MetadataTable]:
    """Return the tables that a document describes."""
    tables = list(mappings(document["tables"])) if "tables" in document else [document]
    return [_table(table, document) for table in tables]


def _inherited(key: str, *bodies: Mapping[str, Any]) -> Any:
    return next((body[key] for body in bodies if key in body), None)


def _table(body: Mapping[str, Any], group: Mapping[str, Any]) -> MetadataTable:
    url = localised_text(body.get("url")) or ""
    name = localised_text(body.get("dc:title")) or url.rpartition("/")[2].partition(".")[0] or None
    schema = _inherited("tableSchema", body, group)
    if not isinstance(schema, Mapping):
        where = "its schema lies in another file" if isinstance(schema, str) else "it has no tableSchema"
        return MetadataTable(name, [], doubts=[f"table {name}: {where}"])
    words = {
        "description": localised_text(_inherited("dc:description", body, group)),
        "licence": localised_text(_inherited("dc:license", body, group)),
        "custodian": localised_text(_inherited("dc:publisher", body, group)),
    }
    table = MetadataTable(name, [], words, _source(_inherited("dialect", body, group)))
    keys = texts(schema.get("primaryKey"))
    columns: Any = schema.get("columns")
    for place, column in enumerate(columns if isinstance(columns, list) else [], 1):
        if not isinstance(column, Mapping):
            table.problems.append(f"column {place} of {name} is no description: {str(column)[:60]!r}")
        elif not column.get("virtual"):
            table.columns.append(_column(column, (schema, body, group), table, keys if len(keys) == 1 else []))
    if schema.get("foreignKeys"):
        table.doubts.append("foreign keys: a schema is about one table")
    return table


def _source(dialect: Any) -> dict[str, Any]:
    stated: Mapping[str, Any] = dialect if isinstance(dialect, Mapping) else {}
    return stated_dialect(stated.get("delimiter"), stated.get("encoding"))


def _column(column: Mapping[str, Any], above: tuple[Any, ...], table: MetadataTable, keys: list[str]) -> MetadataColumn:
    datatype = _inherited("datatype", column, *above)
    body: Mapping[str, Any] = datatype if isinstance(datatype, Mapping) else {"base": datatype}
    word = str(body.get("base") or "string")
    name = localised_text(column.get("titles")) or column.get("name")
    imported = MetadataColumn(name, TYPES.get(word, "other"), word)
    imported.identifier = column.get("name") in keys or name in keys
    imported.facts = {
        "description": localised_text(_first(column, "description")),
        "unit": localised_text(_first(column, "unitText")),
        "missing": _inherited("required", column, *above) is not True,
    }
    marks = [mark for mark in texts(_inherited("null", column, *above)) if mark]
    table.source["missing"] = list(dict.fromkeys((*table.source.get("missing", []), *marks)))
    _form(body, imported, table)
    set_bounds(body, imported, LIMITS)
    return imported


def _first(column: Mapping[str, Any], word: str) -> Any:
    """Return what a property of any vocabulary says: dc:description, schema:description, ..."""
    return next((item for key, item in column.items() if key.rpartition(":")[2].rpartition("/")[2] == word), None)


def _form(body: Mapping[str, Any], column: MetadataColumn, table: MetadataTable) -> None:
    form = body.get("format")
    if column.type == "text":
        column.levels = alternatives_of_pattern(form)
        if form is not None and column.levels is None:
            column.doubts.append(f"{column.name}: the pattern {form!r}")
    elif column.type == "boolean" and isinstance(form, str) and form.count("|") == 1:
        true, false = form.split("|")
        column.facts |= {"true": true, "false": false}
    elif column.type == "date" and isinstance(form, str):
        column.facts["date_format"] = _date_form(form)
        if column.facts["date_format"] is None:
            column.doubts.append(f"{column.name}: dates written as {form!r}; give date_format")
    elif column.type in ("whole", "number") and form is not None:
        _number_form(form if isinstance(form, Mapping) else {"pattern": form}, column, table)


def _number_form(form: Mapping[str, Any], column: MetadataColumn, table: MetadataTable) -> None:
    set_number_marks(form, column, table)
    if form.get("pattern"):
        column.doubts.append(f"{column.name}: numbers written as {form['pattern']!r}; give decimals")


def _date_form(form: str) -> str | None:
    """Return a form of days as Python writes it, or None where it has more than days.

    >>> _date_form("dd.MM.yyyy"), _date_form("yyyy-MM-dd HH:mm")
    ('%d.%m.%Y', None)
    """
    pieces = re.split(f"({'|'.join(mark for mark, _ in DAYS)})", form)
    signs = dict(DAYS)
    if any(re.search(r"[A-Za-z]", piece) for piece in pieces if piece not in signs):
        return None
    return "".join(signs.get(piece, piece) for piece in pieces)
