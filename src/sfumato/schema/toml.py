"""Read a schema from TOML and write it back, with the comments of a draft."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from sfumato.errors import SchemaError
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.column_checks import is_text
from sfumato.schema.dialect import DEFAULT_DIALECT, Dialect
from sfumato.schema.functional_dependence import MISSING, format_key
from sfumato.schema.provenance import Confirmation
from sfumato.schema.purchase import PURCHASE_KEYS, Purchase, purchase_problems
from sfumato.schema.rules import Rule
from sfumato.schema.schema import (
    PUBLIC_TEXTS,
    name_problems,
    person_problems,
    rule_problems,
    table_problems,
)

TABLE_KEYS = (
    *("name", *PUBLIC_TEXTS),
    *("adjacency", "rows", "draft", "person", "rows_per_person", "person_candidates", "from_rows", "drafted"),
)
COLUMN_KEYS = tuple(item.name for item in dataclasses.fields(Column) if item.name != "name")
UNANSWERED = "?"
"""What stands in the place of the person column while nobody has said whose rows these are."""
CONFIRMED_KEYS = ("by", "on", "accepted_unchanged")
RULE_KEYS = ("check", "map", "source", "drafted", "from_rows")


def parse_schema(text: str, origin: str) -> Schema:
    """Read a schema from TOML text, raising one :class:`SchemaError` that lists every problem."""
    reader = _SchemaParser(_document(text, origin))
    schema = reader.schema()
    if schema is None:
        count = len(reader.problems)
        raise SchemaError(
            f"{origin} has {count} problem{'s' if count != 1 else ''}",
            reader.problems,
            "correct the schema; docs/schema.md lists every key",
        )
    return schema


def _document(text: str, origin: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise SchemaError(
            f"{origin} is nested too deep", next_step="no key of a schema nests; see docs/schema.md"
        ) from error
    except (ValueError, TypeError, AttributeError) as error:  # TOML's own error, and numbers of thousands of digits
        raise SchemaError(f"{origin} is not valid TOML: {error}", next_step="correct the TOML there") from error


@dataclass
class _SchemaParser:
    document: Mapping[str, Any]
    problems: list[str] = field(default_factory=list[str])

    def schema(self) -> Schema | None:
        self.unknown_keys("schema", self.document, ("table", "source", "confirmed", "columns", "rules", "purchases"))
        columns = {name: self.column(name, body) for name, body in self.section("columns").items()}
        facts = self.table_facts(self.section("table"))
        facts |= {"source": self.source(), "confirmation": self.confirmation()}
        rules, purchases = self.rules(), self.purchases()
        self.problems += table_problems(facts) + name_problems(tuple(columns))
        self.problems += person_problems(facts["person"], columns) + rule_problems(rules, columns)
        self.problems += purchase_problems(purchases)
        if self.problems:
            return None
        described = tuple(column for column in columns.values() if column)
        return Schema(columns=described, rules=rules, purchases=purchases, **facts)

    def section(self, name: str) -> Mapping[str, Any]:
        body = self.document.get(name, {})
        if isinstance(body, Mapping):
            return cast("Mapping[str, Any]", body)
        self.problems.append(f"[{name}] must be a section, found {str(body)[:60]!r}")
        return {}

    def unknown_keys(self, where: str, body: Mapping[str, Any], known: Sequence[str]) -> None:
        for key in body:
            if key not in known:
                self.problems.append(f"{where}: unknown key {key!r}; known are {', '.join(known)}")

    def table_facts(self, table: Mapping[str, Any]) -> dict[str, Any]:
        self.unknown_keys("[table]", table, TABLE_KEYS)
        return {
            "name": table.get("name"),
            "adjacency": table.get("adjacency", "add-remove"),
            "rows": table.get("rows"),
            "person": None if self.is_asked(table) or table.get("person") is False else table["person"],
            "person_candidates": self.candidates(table),
            "rows_per_person": table.get("rows_per_person", 1),
            "is_draft": table.get("draft", False),
            **{key: table.get(key, ()) for key in ("from_rows", "drafted")},
            **{key: table.get(key) for key in PUBLIC_TEXTS},
        }

    def is_asked(self, table: Mapping[str, Any]) -> bool:
        """Whether the person column is still an open question."""
        return table.get("person", UNANSWERED) == UNANSWERED

    def candidates(self, table: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the columns of the question that a draft asks; an answer settles it, a deleted line does not."""
        names: Any = table.get("person_candidates", [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in cast("list[Any]", names)):
            self.problems.append("[table] person_candidates: needs a list of columns")
            return ()
        if table.get("person") == UNANSWERED and not names:
            self.problems.append("[table] person: '?' is a question; name a column, or write person = false")
        return tuple(cast("list[str]", names)) if self.is_asked(table) else ()

    def source(self) -> Dialect:
        try:
            return Dialect.of(self.section("source"))
        except SchemaError as error:
            self.problems += error.problems
            return DEFAULT_DIALECT

    def confirmation(self) -> Confirmation | None:
        body = self.section("confirmed")
        if not body:
            return None
        self.unknown_keys("[confirmed]", body, CONFIRMED_KEYS)
        by, on, accepted = body.get("by"), body.get("on"), body.get("accepted_unchanged", False)
        if is_text(by) and type(on) is dt.date and isinstance(accepted, bool):
            return Confirmation(cast("str", by), on, accepted)
        self.problems.append('[confirmed] needs by = "name" and on = 2024-12-31')
        return None

    def rules(self) -> tuple[Rule, ...]:
        entries = self.document.get("rules", [])
        if not isinstance(entries, list):
            self.problems.append('rules: write [[rules]] with check = "..."')
            return ()
        return tuple(rule for entry in cast("list[Any]", entries) if (rule := self.rule(entry)))

    def purchases(self) -> tuple[Purchase, ...]:
        entries = self.document.get("purchases", [])
        if not isinstance(entries, list) or not all(isinstance(each, Mapping) for each in cast("list[Any]", entries)):
            self.problems.append("purchases: write [[purchases]] as 'sfumato schema buy' wrote them")
            return ()
        bodies = cast("list[Mapping[str, Any]]", entries)
        for body in bodies:
            self.unknown_keys("[[purchases]]", body, PURCHASE_KEYS)
        return tuple(Purchase(**{key: body.get(key, "") for key in PURCHASE_KEYS}) for body in bodies)

    def rule(self, entry: Any) -> Rule | None:
        body = cast("Mapping[str, Any]", entry) if isinstance(entry, Mapping) else {}
        if not isinstance(body.get("check"), str):
            self.problems.append('[[rules]]: each rule needs check = "..."')
            return None
        self.unknown_keys(f"rule {body['check']!r}", body, RULE_KEYS)
        return Rule(**{key: body[key] for key in RULE_KEYS if key in body})

    def column(self, name: str, body: Any) -> Column | None:
        if not isinstance(body, Mapping):
            self.problems.append(f"column {name}: write a section [columns.{name}]")
            return None
        facts = cast("Mapping[str, Any]", body)
        self.unknown_keys(f"column {name}", facts, COLUMN_KEYS)
        known: Any = {key: fact for key, fact in facts.items() if key in COLUMN_KEYS}
        try:
            return Column(name, known.pop("kind", None), **known)
        except SchemaError as error:
            self.problems += error.problems
            return None


DRAFT_COMMENT_PREFIXES = (
    "# DRAFT:",
    "# income, a rare diagnosis",
    "# left out:",
    "# look at:",
    "# identifier:",
    "# question:",
)
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
    """Write a schema as TOML; a draft has comments on what to review.

    Arrays are joined as text: a library that keeps every element as a node of its own needs hours for a million.
    """
    notes = "".join(f"# {_one_line(note)}\n" for note in schema.notes)
    sections = [notes] if notes else []
    sections.append(_section("[table]", _table_facts(schema)))
    if stated := schema.source.stated():
        sections.append(_section("[source]", stated))
    if schema.confirmation is not None:
        sections.append(_section("[confirmed]", confirmation_section(schema.confirmation)))
    sections += [_section(f"[columns.{_key(column.name)}]", _column_facts(column)) for column in schema]
    sections += [_rule(rule) for rule in schema.rules]
    sections += [_section("[[purchases]]", dataclasses.asdict(each)) for each in schema.purchases]
    return "\n".join(sections)


def _rule(rule: Rule) -> str:
    origin = {key: getattr(rule, key) for key in ("source", "drafted", "from_rows") if getattr(rule, key)}
    text = _section("[[rules]]", {"check": rule.check, **origin})
    if rule.map is None:
        return text
    pairs = {_key(format_key(key)): MISSING if value is None else value for key, value in rule.map}
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
    texts = {key: words for key in PUBLIC_TEXTS if (words := getattr(schema, key)) is not None}
    facts: dict[str, Any] = {"name": schema.name, **texts, "adjacency": schema.adjacency}
    if schema.rows is not None:
        facts["rows"] = schema.rows
    if schema.person is not None:
        facts |= {"person": schema.person, "rows_per_person": schema.rows_per_person}
    elif schema.person_candidates:
        facts |= {"person": UNANSWERED, "person_candidates": list(schema.person_candidates)}
    facts |= {"draft": True} if schema.is_draft else {}
    return facts | {key: list(getattr(schema, key)) for key in ("from_rows", "drafted") if getattr(schema, key)}


def confirmation_section(confirmation: Confirmation) -> dict[str, Any]:
    """Return the section of the file that records who confirmed the schema."""
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
