"""Read the record sets and fields of Croissant metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from sfumato.schema.column import KINDS
from sfumato.schema.importing.metadata_model import (
    MetadataColumn,
    MetadataTable,
    Type,
    localised_text,
    mappings,
    number,
)

WHOLE = ("Integer", "integer", *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)))
TYPES: dict[str, Type] = {
    **dict.fromkeys(("Text", "string", "URL"), "text"),
    **dict.fromkeys(WHOLE, "whole"),
    **dict.fromkeys(("Float", "Number", "Float16", "Float32", "Float64", "double", "decimal"), "number"),
    "Boolean": "boolean",
    "Date": "date",
}
ENUMERATION = "Enumeration"
DEEPEST = 40


def is_croissant(document: Mapping[str, Any]) -> bool:
    """Whether a document is a data set in the Croissant format."""
    return "recordSet" in _plain(document, 0) or "croissant" in str(document.get("conformsTo", "")).lower()


def croissant_tables(raw: Mapping[str, Any]) -> list[MetadataTable]:
    """Return the record sets that hold rows; lists of levels are taken into the columns that refer to them."""
    document = _plain(raw, 0)
    sets = list(mappings(document.get("recordSet")))
    rows = [each for each in sets if ENUMERATION not in _types(each) and "data" not in each]
    return [_table(each, sets, document) for each in rows]


def one_table(raw: Mapping[str, Any]) -> str | None:
    """Return the name of the one table that all record sets are about: our own files say it, and kinds of columns."""
    document = _plain(raw, 0)
    fields = [field for each in mappings(document.get("recordSet")) for field in mappings(each.get("field"))]
    ours = any(field.get("additionalType") in KINDS for field in fields)
    return localised_text(document.get("isBasedOn")) if ours else None


def _plain(value: Any, depth: int) -> Any:
    """Return a document whose words have no prefix; data stay as they are."""
    if isinstance(value, Mapping) and depth < DEEPEST:
        pairs = cast("Mapping[str, Any]", value).items()
        return {_word(key): item if _word(key) == "data" else _plain(item, depth + 1) for key, item in pairs}
    if isinstance(value, list) and depth < DEEPEST:
        return [_plain(item, depth + 1) for item in cast("list[Any]", value)]
    return value


def _word(key: str) -> str:
    """Return a word without prefix or address.

    >>> _word("sc:name"), _word("http://mlcommons.org/croissant/field"), _word("@id")
    ('name', 'field', '@id')
    """
    return key if key.startswith("@") else key.rpartition("/")[2].rpartition(":")[2]


def _types(node: Mapping[str, Any]) -> list[str]:
    types = node.get("dataType")
    return [_word(str(each)) for each in (types if isinstance(types, list) else [types]) if each is not None]


def _id(node: Any) -> str | None:
    return localised_text(node.get("@id", node.get("name")) if isinstance(node, Mapping) else node)


def _table(body: Mapping[str, Any], sets: list[Mapping[str, Any]], document: Mapping[str, Any]) -> MetadataTable:
    name = localised_text(body.get("name")) or _id(body)
    ours = one_table(document) is not None
    creators = [
        localised_text(each.get("name")) for each in mappings(document.get("publisher") or document.get("creator"))
    ]
    licence = document.get("license")
    first = next(mappings(licence), None)
    words = {
        "description": None if ours else localised_text(document.get("description")),
        "licence": localised_text(licence if first is None else first.get("name") or first.get("url")),
        "custodian": next(filter(None, creators), None),
    }
    table = MetadataTable(name, [], words)
    for field in mappings(body.get("field")):
        table.columns.append(_column(field, sets))
    if not table.columns:
        table.doubts.append(f"record set {name}: it has no fields")
    return table


def _column(field: Mapping[str, Any], sets: list[Mapping[str, Any]]) -> MetadataColumn:
    source = field.get("source")
    extract = source.get("extract") if isinstance(source, Mapping) else None
    named = extract.get("column") if isinstance(extract, Mapping) else None
    name = localised_text(named) or localised_text(field.get("name")) or _id(field)
    types = _types(field)
    known: list[Type] = [TYPES[each] for each in types if each in TYPES]
    nested = any(field.get(key) for key in ("subField", "repeated", "isArray"))
    column = MetadataColumn(name, "other", "nested values" if nested else ", ".join(types) or "nothing")
    if known and not nested:
        column.type = known[0]
    required = field.get("valueRequired")
    column.facts = {
        "description": localised_text(field.get("description")),
        "unit": localised_text(field.get("unitText")),
        "missing": required is not True,
    }
    column.kind = field.get("additionalType") if field.get("additionalType") in KINDS else None
    column.low, column.high = field.get("minValue"), field.get("maxValue")
    if column.type in ("whole", "number"):
        column.low, column.high = number(column.low), number(column.high)
    if column.kind in (None, "category", "ordinal"):
        _levels(field, sets, column)
    return column


def _levels(field: Mapping[str, Any], sets: list[Mapping[str, Any]], column: MetadataColumn) -> None:
    """Take levels and their labels from the record set that a field refers to, where it lists them."""
    column.ordered = column.kind == "ordinal"
    body = _referred(field, sets)
    lines = list(mappings(body.get("data"))) if body else []
    if not body or not lines:
        return
    key = _id(next(mappings(body.get("key")), body.get("key")))
    columns = [_id(each) for each in mappings(body.get("field"))] or list(lines[0])
    value = key if key in lines[0] else next((each for each in columns if each in lines[0]), None)
    if value is None:
        return
    column.levels = [line.get(value) for line in lines]
    label = next((each for each in columns if each != value and each in lines[0]), None)
    pairs = [(line.get(value), line.get(label)) for line in lines] if label is not None else []
    column.labels = {level: words for level, words in pairs if isinstance(level, str | int) and isinstance(words, str)}


def _referred(field: Mapping[str, Any], sets: list[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    reference = next(mappings(field.get("references") or field.get("valueReference")), None)
    if reference is None:
        return None
    wanted = {_id(reference), _id(reference.get("field")), _id(reference.get("recordSet"))} - {None}
    for each in sets:
        if _id(each) in wanted or any(_id(one) in wanted for one in mappings(each.get("field"))):
            return each if each.get("data") else None
    return None
