"""Confirming a file: edits that leave every hand-written line and comment where it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sfumato.errors import SchemaError
from sfumato.schema import Schema
from sfumato.schema.writer import DRAFT_COMMENTS, signature_of

if TYPE_CHECKING:
    from sfumato.schema.column import Column
    from sfumato.schema.rules import Rule

LONGEST_EDITED = 400_000
"""Characters of a file that is edited; a library that keeps every value as a node needs hours for a million."""


def signed_text(text: str, schema: Schema) -> str:
    """Return the text of a file as the confirmed schema; written anew where edits alone do not make it."""
    if len(text) > LONGEST_EDITED:
        return schema.to_toml()
    lines = (line for line in text.splitlines(keepends=True) if not line.startswith(DRAFT_COMMENTS))
    try:
        edited = _edited("".join(lines).lstrip("\n"), schema)
        return edited if Schema.parse(edited) == schema else schema.to_toml()
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, SchemaError):  # forms that no draft writes
        return schema.to_toml()


def _edited(text: str, schema: Schema) -> str:
    import tomlkit

    document: Any = tomlkit.parse(text)
    _settle(document["table"], _table(schema))
    for column in schema:
        _settle(document["columns"][column.name], _origin(column))
    for body, rule in zip(document.get("rules", ()), schema.rules, strict=True):
        _settle(body, _origin(rule))
    document.pop("confirmed", None)
    if schema.confirmation is not None:
        document["confirmed"] = tomlkit.item(signature_of(schema.confirmation))
    return tomlkit.dumps(document)


def _settle(body: Any, facts: Mapping[str, Any]) -> None:
    """Write the facts that are stated, and take out those that are not."""
    for key, fact in facts.items():
        if fact in (None, False, 0) or fact == []:
            body.pop(key, None)
        elif key not in body or body[key] != fact:
            body[key] = fact


def _table(schema: Schema) -> dict[str, Any]:
    person = {"person": schema.person, "rows_per_person": schema.rows_per_person if schema.person else None}
    return {"draft": None, "person_candidates": None, "drafted": None, "from_rows": list(schema.from_rows), **person}


def _origin(item: Column | Rule) -> dict[str, Any]:
    marks = {key: getattr(item, key) for key in ("from_rows", "from_file") if hasattr(item, key)}
    listed = {key: list(mark) if isinstance(mark, tuple) else mark for key, mark in marks.items()}
    return {"drafted": None, "source": item.source, **listed}
