"""Reading a schema from TOML, with every problem listed at once."""

from __future__ import annotations

import datetime as dt
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

from sfumato.columns import KINDS, LEVEL_KINDS, OUTSIDE, ROLES, Column
from sfumato.errors import RuleError, SchemaError
from sfumato.rules import Rule
from sfumato.schema import ADJACENCIES, Schema

TABLE_KEYS = ("name", "adjacency", "rows", "draft", "person", "rows_per_person")
COLUMN_KEYS = (
    "kind", "bounds", "values", "edges", "bins", "missing", "role", "unit", "outside", "description",
)  # fmt: skip
LARGEST_WHOLE = 2**53
"""Integers are compared as 64-bit floats where a source holds them so; beyond this they would not be exact."""


def parse_schema(text: str, origin: str) -> Schema:
    """Read a schema from TOML text, raising one :class:`SchemaError` that lists every problem."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SchemaError(f"{origin} is not valid TOML: {error}", next_step="mend the TOML at that place") from error
    reader = _Reader(document)
    schema = reader.schema()
    if schema is None or reader.problems:
        count = len(reader.problems)
        raise SchemaError(
            f"{origin} has {count} problem{'s' if count != 1 else ''}",
            reader.problems,
            "mend the schema; docs/schema.md lists every key",
        )
    return schema


@dataclass
class _Reader:
    document: Mapping[str, Any]
    problems: list[str] = field(default_factory=list[str])

    def schema(self) -> Schema | None:
        self.unknown_keys("schema", self.document, ("table", "columns", "rules"))
        table = self.section("table")
        named = self.section("columns")
        columns = tuple(c for name, body in named.items() if (c := self.column(name, body)))
        if not self.document.get("columns"):
            self.problems.append("no [columns.NAME] section: name at least one column")
        facts = self.table_facts(table)
        rules = self.rules(set(named))
        self.person(facts, named)
        if self.problems:
            return None
        return Schema(columns=columns, rules=rules, **facts)

    def section(self, name: str) -> Mapping[str, Any]:
        body = self.document.get(name, {})
        if isinstance(body, Mapping):
            return cast("Mapping[str, Any]", body)
        self.problems.append(f"[{name}] must be a section, found {body!r}")
        return {}

    def unknown_keys(self, where: str, body: Mapping[str, Any], known: Sequence[str]) -> None:
        for key in body:
            if key not in known:
                self.problems.append(f"{where}: unknown key {key!r}; known are {', '.join(known)}")

    def table_facts(self, table: Mapping[str, Any]) -> dict[str, Any]:
        self.unknown_keys("[table]", table, TABLE_KEYS)
        facts: dict[str, Any] = {
            "name": table.get("name"),
            "adjacency": table.get("adjacency", "add-remove"),
            "rows": table.get("rows"),
            "person": table.get("person"),
            "rows_per_person": table.get("rows_per_person", 1),
            "is_draft": table.get("draft", False),
        }
        self.need(isinstance(facts["name"], str) and facts["name"].strip() != "", "[table] name: needs a text")
        self.need(isinstance(facts["is_draft"], bool), "[table] draft: needs true or false")
        self.need(_positive(facts["rows_per_person"]), "[table] rows_per_person: needs a whole number of at least 1")
        self.adjacency(facts)
        return facts

    def adjacency(self, facts: Mapping[str, Any]) -> None:
        adjacency, rows = facts["adjacency"], facts["rows"]
        if adjacency not in ADJACENCIES:
            self.problems.append(f"[table] adjacency: {adjacency!r} is unknown; use 'add-remove' or 'replace'")
        elif adjacency == "replace":
            self.need(_positive(rows), "[table] adjacency 'replace' needs the public row count, e.g. rows = 20000")
            self.need(facts["person"] is None, "[table] person: rows per person need adjacency 'add-remove'")
        else:
            self.need(rows is None, "[table] rows: under 'add-remove' the row count is private; remove it")

    def person(self, facts: Mapping[str, Any], named: Mapping[str, Any]) -> None:
        person = facts["person"]
        if person is not None and person not in named:
            self.problems.append(f"[table] person: {person!r} is not among the columns")
        elif person is not None and named[person].get("missing"):
            # Rows without a person would share one allowance, and one more such row could displace another's.
            self.problems.append(f"column {person}: the person column cannot be missing, or people share a bound")
        if person is None and facts["rows_per_person"] != 1:
            self.problems.append("[table] rows_per_person needs person = the column that tells people apart")

    def need(self, holds: bool, problem: str) -> None:
        if not holds:
            self.problems.append(problem)

    def rules(self, names: set[str]) -> tuple[Rule, ...]:
        entries = self.document.get("rules", [])
        if not isinstance(entries, list):
            self.problems.append('rules: write [[rules]] with check = "..."')
            return ()
        return tuple(rule for entry in cast("list[Any]", entries) if (rule := self.rule(entry, names)))

    def rule(self, entry: Any, names: set[str]) -> Rule | None:
        check = cast("Mapping[str, Any]", entry).get("check") if isinstance(entry, Mapping) else None
        if not isinstance(check, str):
            self.problems.append('[[rules]]: each rule needs check = "..."')
            return None
        rule = Rule(check)
        try:
            unknown = [name for name in rule.columns if name not in names]
        except RuleError as error:
            self.problems.append(error.headline)
            return None
        self.need(not unknown, f"rule {check!r}: unknown column {', '.join(unknown)}")
        return rule

    def column(self, name: str, body: Any) -> Column | None:
        if not isinstance(body, Mapping):
            self.problems.append(f"column {name}: write a section [columns.{name}]")
            return None
        before = len(self.problems)
        column = _ColumnReader(name, cast("Mapping[str, Any]", body), self).column()
        return column if len(self.problems) == before else None


@dataclass(frozen=True)
class _ColumnReader:
    name: str
    body: Mapping[str, Any]
    reader: _Reader

    def need(self, holds: bool, problem: str) -> bool:
        self.reader.need(holds, f"column {self.name}: {problem}")
        return holds

    def column(self) -> Column | None:
        self.reader.unknown_keys(f"column {self.name}", self.body, COLUMN_KEYS)
        kind = self.body.get("kind")
        if not self.need(kind in KINDS, f"kind {kind!r} is unknown; use one of {', '.join(KINDS)}"):
            return None
        facts = self.common()
        facts.update(self.levels(kind) if kind in LEVEL_KINDS else self.ordered(kind))
        return Column(self.name, cast("Any", kind), **facts)

    def common(self) -> dict[str, Any]:
        get = self.body.get
        missing, role, outside = get("missing", False), get("role"), get("outside", "refuse")
        self.need(isinstance(missing, bool), "missing needs true or false")
        self.need(role is None or role in ROLES, f"role {role!r} is unknown; use one of {', '.join(ROLES)}")
        self.need(outside in OUTSIDE, f"outside {outside!r} is unknown; use one of {', '.join(OUTSIDE)}")
        self.need(outside != "missing" or missing is True, "outside = 'missing' needs missing = true")
        self.need(outside != "clamp" or self.body.get("kind") not in LEVEL_KINDS, "only ordered kinds can clamp")
        facts = {"missing": missing, "role": role, "outside": outside}
        return facts | {"unit": get("unit"), "description": get("description")}

    def levels(self, kind: Any) -> dict[str, Any]:
        for key in ("bounds", "edges", "bins"):
            self.need(key not in self.body, f"{key} has no meaning for kind {kind!r}")
        values = self.body.get("values")
        if kind == "boolean":
            self.need(values is None, "a boolean lists no values")
            return {}
        if values is None and self.body.get("role") == "identifier":
            return {}
        if not self.need(isinstance(values, list) and len(values) > 0, f"kind {kind!r} needs values = [...]"):
            return {}
        listed = cast("list[Any]", values)
        texts = all(isinstance(v, str) for v in listed)
        whole = all(isinstance(v, int) and not isinstance(v, bool) for v in listed)
        self.need(texts or whole, "values must be all texts or all whole numbers")
        repeated = (
            sorted({str(v) for v in listed if listed.count(v) > 1}) if len(set(map(str, listed))) < len(listed) else []
        )
        self.need(not repeated, f"values repeat: {', '.join(repeated)}")
        return {"values": tuple(listed)}

    def ordered(self, kind: Any) -> dict[str, Any]:
        self.need("values" not in self.body, f"values has no meaning for kind {kind!r}; give bounds")
        edges = self.numbers("edges", kind)
        bounds = self.numbers("bounds", kind) or (None if edges is None else (edges[0], edges[-1]))
        bins = self.body.get("bins")
        self.need(bins is None or _positive(bins), "bins needs a whole number of at least 1")
        self.need(bins is None or edges is None, "give edges or bins, not both")
        if bounds is None:
            self.need("bounds" in self.body or "edges" in self.body, f"kind {kind!r} needs bounds = [low, high]")
            return {}
        rising = len(bounds) == 2 and (bounds[0] < bounds[1] or (bounds[0] == bounds[1] and kind != "number"))
        self.need(rising, f"bounds {_show(bounds)} must be low < high")
        if edges is not None and len(bounds) == 2:
            rising = len(edges) >= 2 and all(a < b for a, b in pairwise(edges))
            self.need(rising, f"edges {_show(edges)} must rise, two at least")
            self.need(all(bounds[0] <= edge <= bounds[1] for edge in edges), "edges must lie within the bounds")
        return {"bounds": tuple(bounds), "edges": edges, "bins": bins}

    def numbers(self, key: str, kind: str) -> tuple[Any, ...] | None:
        raw = self.body.get(key)
        if raw is None:
            return None
        if not self.need(isinstance(raw, list) and len(raw) > 0, f"{key} needs a list"):
            return None
        read = [_as_kind(value, kind) for value in cast("list[Any]", raw)]
        what = {"integer": "whole numbers up to 2^53", "number": "finite numbers", "date": "dates like 2024-12-31"}
        return tuple(read) if self.need(None not in read, f"{key} {raw!r} must be {what[kind]}") else None


def _as_kind(value: Any, kind: str) -> Any:
    if kind == "date":
        return _as_date(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    if kind == "integer":
        return int(value) if value == int(value) and abs(value) <= LARGEST_WHOLE else None
    return float(value)


def _as_date(value: Any) -> dt.date | None:
    if isinstance(value, dt.datetime):
        return value.date()
    if isinstance(value, dt.date):
        return value
    try:
        return dt.date.fromisoformat(value)
    except (TypeError, ValueError):
        return None


def _positive(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _show(values: Sequence[Any]) -> str:
    return "[" + ", ".join(str(value) for value in values) + "]"
