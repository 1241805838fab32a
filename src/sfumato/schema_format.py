"""Writing a schema as TOML, with the comments that a draft carries."""

from __future__ import annotations

from typing import Any

import tomlkit

from sfumato.columns import Column
from sfumato.schema import Schema

DRAFT_COMMENTS = ("# DRAFT:", "# income, a rare diagnosis", "# left out:")
"""How the comments begin that a draft carries."""


def confirm_text(text: str) -> str:
    """Take the draft mark and the draft's warnings out of a schema's text; every other line stays as it is."""
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith(DRAFT_COMMENTS)]
    document = tomlkit.parse("".join(lines).lstrip("\n"))
    table: Any = document["table"]
    table.pop("draft", None)
    return tomlkit.dumps(document)


def format_schema(schema: Schema) -> str:
    """Write a schema as TOML; a draft carries comments that say what to look at."""
    document = tomlkit.document()
    for note in schema.notes:
        document.add(tomlkit.comment(note))
    table = tomlkit.table()
    table.update(_table_facts(schema))
    document["table"] = table
    columns = tomlkit.table(is_super_table=True)
    for column in schema.columns:
        body = tomlkit.table()
        body.update(_column_facts(column))
        columns[column.name] = body
    document["columns"] = columns
    if schema.rules:
        rules = tomlkit.aot()
        for rule in schema.rules:
            rules.append(tomlkit.item({"check": rule.check}))
        document["rules"] = rules
    return tomlkit.dumps(document)


def _table_facts(schema: Schema) -> dict[str, Any]:
    facts: dict[str, Any] = {"name": schema.name, "adjacency": schema.adjacency}
    if schema.rows is not None:
        facts["rows"] = schema.rows
    if schema.person is not None:
        facts |= {"person": schema.person, "rows_per_person": schema.rows_per_person}
    return facts | ({"draft": True} if schema.is_draft else {})


def _column_facts(column: Column) -> dict[str, Any]:
    facts: dict[str, Any] = {"kind": column.kind}
    for key in ("bounds", "values", "edges"):
        value = getattr(column, key)
        if value is not None:
            facts[key] = list(value)
    for key in ("bins", "role", "unit", "description"):
        if getattr(column, key) is not None:
            facts[key] = getattr(column, key)
    if column.missing:
        facts["missing"] = True
    return facts | ({"outside": column.outside} if column.outside != "refuse" else {})
