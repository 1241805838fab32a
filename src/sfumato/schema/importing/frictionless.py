"""Read Frictionless data packages, data resources and table schemas, versions 1 and 2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.schema.importing.metadata_model import (
    ISO,
    MetadataColumn,
    MetadataTable,
    Type,
    alternatives_of_pattern,
    localised_text,
    mappings,
    number,
    set_bounds,
    set_number_marks,
    stated_dialect,
    texts,
)

TYPES: dict[str, Type] = {
    "string": "text",
    "integer": "whole",
    "number": "number",
    "boolean": "boolean",
    "date": "date",
    "year": "whole",
}
OWN_KEY = "sfumato"
"""The key under which our own packages say what the format has no word for."""
OWN_KEYS = ("unit", "role", "step", "decimals")
SILENT = ("required", "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "unique", "pattern")
"""Constraints that are looked at; others are told as notes."""
LIMITS = (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum"))


def is_frictionless(document: Mapping[str, Any]) -> bool:
    """Whether a document is a package, a resource or a table schema."""
    return (
        isinstance(document.get("resources"), list)
        or isinstance(document.get("fields"), list)
        or (isinstance(document.get("schema"), Mapping) and "path" in document)
    )


def frictionless_tables(document: Mapping[str, Any]) -> list[MetadataTable]:
    """Return the tables of a package, a resource or a table schema."""
    if isinstance(document.get("fields"), list):
        return [_table({"schema": document, "name": document.get("name")}, document)]
    resources = list(mappings(document["resources"])) if "resources" in document else [document]
    return [_table(resource, document) for resource in resources]


def one_table(document: Mapping[str, Any]) -> str | None:
    """Return the name of the one table that all resources are about, which our own packages say."""
    own = document.get(OWN_KEY)
    return localised_text(own.get("table")) if isinstance(own, Mapping) else None


def _table(resource: Mapping[str, Any], package: Mapping[str, Any]) -> MetadataTable:
    name = resource.get("name") or localised_text(resource.get("title"))
    schema = resource.get("schema")
    if not isinstance(schema, Mapping) or not isinstance(schema.get("fields"), list):
        where = (
            "its schema lies in another file; give that one" if isinstance(schema, str) else "it has no table schema"
        )
        return MetadataTable(name, [], doubts=[f"resource {name}: {where}"])
    table = MetadataTable(name, [], _words(resource, package), _source(resource, schema))
    keys = texts(schema.get("primaryKey", schema.get("primaryKeys")))
    for place, field in enumerate(schema["fields"], 1):
        if isinstance(field, Mapping):
            table.columns.append(_column(field, table, keys if len(keys) == 1 else []))
        else:
            table.problems.append(f"field {place} of {name} is no description of a column: {str(field)[:60]!r}")
    if schema.get("foreignKeys"):
        table.doubts.append("foreign keys: a schema is about one table")
    return table


def _words(resource: Mapping[str, Any], package: Mapping[str, Any]) -> dict[str, Any]:
    licences = [*mappings(resource.get("licenses")), *mappings(package.get("licenses"))]
    named = [
        localised_text(each.get("title")) or localised_text(each.get("path")) or localised_text(each.get("name"))
        for each in licences
    ]
    publishers = [
        each
        for each in mappings(package.get("contributors"))
        if "publisher" in str(each.get("role", each.get("roles")))
    ]
    ours = OWN_KEY in package
    return {
        "description": None
        if ours
        else localised_text(resource.get("description")) or localised_text(package.get("description")),
        "licence": next(filter(None, named), None),
        "custodian": next((localised_text(each.get("title")) for each in publishers), None),
    }


def _source(resource: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    dialect = resource.get("dialect")
    stated: Mapping[str, Any] = dialect if isinstance(dialect, Mapping) else {}
    inner: Any = stated.get("csv")
    csv: Mapping[str, Any] = inner if isinstance(inner, Mapping) else stated
    marks = [mark for mark in _marks(schema.get("missingValues")) if mark]
    return stated_dialect(csv.get("delimiter"), resource.get("encoding"), marks)


def _marks(entries: Any) -> list[str]:
    """Return marks of missing values, which may come with labels."""
    listed_marks = entries if isinstance(entries, list) else []
    return [str(each.get("value")) if isinstance(each, Mapping) else str(each) for each in listed_marks]


def _column(field: Mapping[str, Any], table: MetadataTable, keys: list[str]) -> MetadataColumn:
    word = field.get("type") if isinstance(field.get("type"), str) else "string"
    constraints = field.get("constraints")
    limits: Mapping[str, Any] = constraints if isinstance(constraints, Mapping) else {}
    name = field.get("name")
    column = MetadataColumn(name, TYPES.get(str(word), "other"), str(word))
    column.identifier = name in keys or limits.get("unique") is True
    column.facts = {
        "description": localised_text(field.get("title")) or localised_text(field.get("description")),
        "missing": limits.get("required") is not True,
    }
    _set_form(field, column, table)
    set_bounds(limits, column, LIMITS)
    _levels(field, limits, column)
    column.doubts += [f"{name}: the constraint {key!r}" for key in limits if key not in SILENT]
    _own(field.get(OWN_KEY), column)
    return column


def _set_form(field: Mapping[str, Any], column: MetadataColumn, table: MetadataTable) -> None:
    """Take how values are written."""
    marks = _marks(field.get("missingValues"))
    if len(marks) == 1 and marks[0]:
        column.facts["missing_text"] = marks[0]
    if column.type == "date":
        column.facts["date_format"] = _date_form(field)
        if field.get("format") == "any":
            column.doubts.append(f"{column.name}: dates in any form; give date_format")
    if column.type == "boolean":
        for key, named in (("true", "trueValues"), ("false", "falseValues")):
            word = next(iter(texts(field.get(named))), None)
            column.facts[key] = None if word == key else word
    if column.type in ("whole", "number"):
        set_number_marks(field, column, table)
        if field.get("bareNumber") is False:
            column.doubts.append(f"{column.name}: signs around its numbers; give prefix and suffix")


def _date_form(field: Mapping[str, Any]) -> str | None:
    form = field.get("format")
    return str(form).removeprefix("fmt:") if isinstance(form, str) and "%" in form and form != ISO else None


def _levels(field: Mapping[str, Any], limits: Mapping[str, Any], column: MetadataColumn) -> None:
    """Take levels from categories, from an enumeration or from a pattern that is nothing but a list."""
    categories: Any = field.get("categories")
    levels: Any = limits.get("enum")
    if isinstance(categories, list) and categories:
        entries = [each if isinstance(each, Mapping) else {"value": each} for each in categories]
        levels = levels or [each.get("value") for each in entries]
        column.labels = {
            each.get("value"): str(each["label"])
            for each in entries
            if each.get("label") is not None and isinstance(each.get("value"), str | int)
        }
    if not isinstance(levels, list) or not levels:
        levels = alternatives_of_pattern(limits.get("pattern"))
        if levels is None and "pattern" in limits:
            column.doubts.append(f"{column.name}: the pattern {limits['pattern']!r}")
    if column.type == "whole" and isinstance(levels, list):
        levels = [number(each) for each in levels]
    column.levels = levels
    column.ordered = field.get("categoriesOrdered") is True


def _own(own: Any, column: MetadataColumn) -> None:
    """Take what our own packages say besides."""
    if not isinstance(own, Mapping):
        return
    column.kind = own.get("kind")
    column.facts |= {key: own[key] for key in OWN_KEYS if key in own}
    bounds: Any = own.get("bounds")
    if isinstance(bounds, list) and len(bounds) == 2:
        column.low, column.high = bounds
    if column.kind in ("integer", "number", "date"):
        column.levels = None  # cells into which values were cut are no levels
