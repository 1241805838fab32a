"""Writing a schema as TOML, with the comments that a draft carries."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.determines import MISSING, written_key
from sfumato.schema.provenance import Confirmation
from sfumato.schema.reader import ASKED
from sfumato.schema.rules import Rule
from sfumato.schema.schema import PUBLIC_WORDS

DRAFT_COMMENTS = ("# DRAFT:", "# income, a rare diagnosis", "# left out:", "# look at:", "# identifier:", "# question:")
"""How the comments begin that a draft carries."""
PLAIN_FACTS = (
    "bins",
    "role",
    "unit",
    "description",
    "decimals",
    "step",
    "true",
    "false",
    "date_format",
    "prefix",
    "suffix",
    "missing_text",
    "source",
    "bought",
)
"""Facts that stand in the file as they are, where they are stated."""
BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def format_schema(schema: Schema) -> str:
    """Write a schema as TOML; a draft carries comments that say what to look at.

    Arrays are joined as text: a library that keeps every element as a node of its own needs hours for a million.
    """
    notes = "".join(f"# {_one_line(note)}\n" for note in schema.notes)
    sections = [notes] if notes else []
    sections.append(_section("[table]", _table_facts(schema)))
    if stated := schema.source.stated():
        sections.append(_section("[source]", stated))
    if schema.confirmation is not None:
        sections.append(_section("[confirmed]", signature_of(schema.confirmation)))
    sections += [_section(f"[columns.{_key(column.name)}]", _column_facts(column)) for column in schema]
    sections += [_rule(rule) for rule in schema.rules]
    sections += [_section("[[purchases]]", dataclasses.asdict(each)) for each in schema.purchases]
    return "\n".join(sections)


def _rule(rule: Rule) -> str:
    origin = {key: getattr(rule, key) for key in ("source", "drafted", "from_rows") if getattr(rule, key)}
    text = _section("[[rules]]", {"check": rule.check, **origin})
    if rule.map is None:
        return text
    pairs = {_key(written_key(key)): MISSING if value is None else value for key, value in rule.map}
    return text + _section("[rules.map]", pairs)


def _section(header: str, facts: Mapping[str, Any]) -> str:
    return "\n".join([header, *(f"{key} = {_value(fact)}" for key, fact in facts.items())]) + "\n"


def _key(name: str) -> str:
    return name if BARE_KEY.fullmatch(name) else _value(name)


def _value(value: Any) -> str:
    """Return a fact as TOML writes it: JSON's form, but for dates and for the one control character JSON lets pass."""
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, list) and value and isinstance(value[0], dt.date):
        return f"[{', '.join(day.isoformat() for day in cast('list[dt.date]', value))}]"
    if isinstance(value, dict):
        pairs = cast("dict[Any, Any]", value).items()
        return "{" + ", ".join(f"{_key(str(key))} = {_value(words)}" for key, words in pairs) + "}"
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("\x7f", "\\u007f")


def _one_line(note: str) -> str:
    return "".join(_printable(note))


def _printable(note: str) -> Iterator[str]:
    """Yield the characters of a comment; line breaks and other control characters as their escapes."""
    for character in note:
        yield character if character.isprintable() else character.encode("unicode_escape").decode("ascii")


def _table_facts(schema: Schema) -> dict[str, Any]:
    said = {key: words for key in PUBLIC_WORDS if (words := getattr(schema, key)) is not None}
    facts: dict[str, Any] = {"name": schema.name, **said, "adjacency": schema.adjacency}
    if schema.rows is not None:
        facts["rows"] = schema.rows
    if schema.person is not None:
        facts |= {"person": schema.person, "rows_per_person": schema.rows_per_person}
    elif schema.person_candidates:
        facts |= {"person": ASKED, "person_candidates": list(schema.person_candidates)}
    facts |= {"draft": True} if schema.is_draft else {}
    return facts | {key: list(getattr(schema, key)) for key in ("from_rows", "drafted") if getattr(schema, key)}


def signature_of(confirmation: Confirmation) -> dict[str, Any]:
    """Return who confirmed a schema, as its file says it."""
    accepted = {"accepted_unchanged": True} if confirmation.accepted_unchanged else {}
    return {"by": confirmation.by, "on": confirmation.on, **accepted}


def _column_facts(column: Column) -> dict[str, Any]:
    facts: dict[str, Any] = {"kind": column.kind}
    for key in ("bounds", "values", "edges"):
        value = getattr(column, key)
        if value is not None:
            facts[key] = list(value)
    for key in PLAIN_FACTS:
        if getattr(column, key) is not None:
            facts[key] = getattr(column, key)
    for key in ("missing", "trailing_zeros", "grouped"):
        if getattr(column, key):
            facts[key] = getattr(column, key)
    if column.outside != "refuse":
        facts["outside"] = column.outside
    if column.value_labels:
        facts["value_labels"] = dict(column.value_labels)
    return facts | {
        key: list(getattr(column, key)) for key in ("from_rows", "from_file", "drafted") if getattr(column, key)
    }
