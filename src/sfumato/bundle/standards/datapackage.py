"""datapackage.json: the CSV files as a Frictionless data package with table schemas."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

from sfumato.bundle.description import PublicRelease, description, title
from sfumato.bundle.document import Tables
from sfumato.bundle.ledger_record import LAYOUT
from sfumato.bundle.standards.fields import Field, ReleasedFile, drop_empty, json_value, released_files, unique_slugs
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.table.writing.delimited import delimiter_of, missing_marker, output_encoding

TYPES = {"text": "string", "whole": "integer", "number": "number", "boolean": "boolean", "date": "date"}
OWN = "sfumato"
"""The key under which facts stand for which the format has no word."""
OWN_FACTS = ("unit", "role", "step", "decimals")


def datapackage(subject: PublicRelease, tables: Tables) -> str:
    """Return the text of datapackage.json."""
    schema, document = subject.schema, subject.document
    stamp = "NOT FOR RELEASE: " if document.randomness.stamp else ""
    guarantee = document.guarantee
    body = {
        "name": next(unique_slugs([schema.name], "table")),
        "id": document.fingerprint,
        "title": stamp + title(subject),
        "description": f"{description(subject)}\n\n{document.statement}",
        "created": document.created_at,
        "version": f"1.0.0+{document.fingerprint[:12]}",
        "keywords": ["differential privacy" if guarantee.formal else "no formal privacy guarantee"],
        "licenses": [{"name": "custom", "title": schema.licence}] if schema.licence else None,
        "contributors": [{"title": schema.custodian, "role": "publisher"}] if schema.custodian else None,
        "resources": [_resource(subject, table) for table in released_files(subject, tables)],
        OWN: {
            "table": schema.name,
            "epsilon": guarantee.epsilon,
            "delta": guarantee.delta if guarantee.formal else None,
            "kind": guarantee.kind,
            "adjacency": guarantee.adjacency,
            "unit": guarantee.unit,
            "for_release": document.randomness.stamp is None,
        },
    }
    return LAYOUT.text(drop_empty(body))


def _resource(subject: PublicRelease, table: ReleasedFile) -> dict[str, Any]:
    record = subject.document.files_without_pages[table.listed.csv]
    schema = subject.schema
    fields = [_field(schema, table, field) for field in table.fields]
    return {
        "name": table.name,
        "type": "table",
        "path": table.listed.csv,
        "scheme": "file",
        "format": "csv",
        "mediatype": "text/csv",
        "encoding": output_encoding(schema) if table.written_as_source else "utf-8",
        "bytes": record.bytes,
        "hash": f"sha256:{record.sha256}",
        "dialect": {"csv": {"delimiter": delimiter_of(schema) if table.written_as_source else ","}},
        "schema": {"fields": fields, "missingValues": [""]},
    }


def _field(schema: Schema, table: ReleasedFile, field: Field) -> dict[str, Any]:
    column, written = field.column, _written_type(field)
    facts = {
        "name": field.name,
        "type": written if table.written_as_source else TYPES[field.type],
        "title": field.label,
        **(_written(schema, column, written) if column and table.written_as_source else {}),
        "constraints": _constraints(schema, table, field),
        "categories": _categories(field),
        "categoriesOrdered": True if column and column.kind == "ordinal" else None,
        OWN: _extra_properties(field),
    }
    empty = {"missingValues": []} if not field.missing and "" in (field.levels or ()) else {}
    return drop_empty(facts) | empty  # a text without letters is a level there, and not a missing value


def _written_type(field: Field) -> str:
    """Return the type that a reader of the text can find: numbers in odd clothes are texts to it.

    The format knows signs around a number, but no minus before them; and a whole number has no decimals.
    """
    column = field.column
    if column is None or field.type not in ("number", "whole"):
        return TYPES[field.type]
    around = f"{column.prefix or ''}{column.suffix or ''}"
    negative = column.bounds is not None and column.bounds[0] < 0
    if re.search(r"[\d+-]", around) or (column.prefix and negative):
        return "string"
    return "number" if column.trailing_zeros else TYPES[field.type]


def _written(schema: Schema, column: Column, written: str) -> dict[str, Any]:
    """Return how values are written in the dialect of the table's source."""
    source = schema.source
    facts: dict[str, Any] = {}
    if column.missing:
        facts["missingValues"] = [missing_marker(schema, column.name)]
    if written == "boolean":
        facts |= {"trueValues": [column.true or "true"], "falseValues": [column.false or "false"]}
    elif written == "date":
        facts["format"] = column.date_format or source.date_format
    elif written in ("number", "integer"):
        facts |= {
            "decimalChar": source.decimal if written == "number" and source.decimal not in (None, ".") else None,
            "groupChar": source.thousands if column.grouped else None,
            "bareNumber": False if column.prefix or column.suffix else None,
        }
    return facts


def _constraints(schema: Schema, table: ReleasedFile, field: Field) -> dict[str, Any]:
    if field.column is None:
        return {}
    is_dressed = table.written_as_source and field.type != "text" and _written_type(field) == "string"
    low, high = (None, None) if is_dressed else field.bounds or (None, None)
    form = field.column.date_format or schema.source.date_format if table.written_as_source else None
    facts = {
        "minimum": _bound(low, form),
        "maximum": _bound(high, form),
        "enum": [_bound(level, form) for level in field.levels] if field.levels and not is_dressed else None,
        "required": None if field.missing else True,
    }
    return drop_empty(facts)


def _bound(value: Any, form: str | None) -> Any:
    """Return a value as the file writes it: a limit is read like any value of its column."""
    return value.strftime(form) if form and isinstance(value, dt.date) else json_value(value)


def _categories(field: Field) -> list[Any] | None:
    """Return levels with what they mean, where somebody said so."""
    labels = dict(field.column.value_labels or ()) if field.column and not field.is_cell else {}
    if not labels or not field.levels:
        return None
    return [{"value": level, "label": str(labels.get(level, level))} for level in field.levels]


def _extra_properties(field: Field) -> dict[str, Any] | None:
    """Return facts that other readers may pass over: the kind of the column, and bounds also of what was cut."""
    column = field.column
    if column is None:
        return None
    bounds = [json_value(end) for end in column.bounds] if column.bounds else None
    return drop_empty({"kind": column.kind, "bounds": bounds, **{key: getattr(column, key) for key in OWN_FACTS}})
