"""Does a rule say anything about its columns? Kinds are followed through it before any row is looked at."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sfumato.errors import RuleError
from sfumato.schema.column import Column
from sfumato.schema.determines import Lookup

LARGEST_LITERAL = 2**53
"""Whole numbers beyond this are not exact where they are compared as floats."""
DAYS = "days"
"""What sums and differences of dates are: they compare with numbers and with dates."""
COMPARABLE = {
    "number": {"number", "bit", DAYS},
    "bit": {"number", "bit", "boolean", DAYS},
    "boolean": {"boolean", "bit"},
    "date": {"date", DAYS},
    DAYS: {"number", "bit", "date", DAYS},
    "text": {"text"},
}
UNKNOWN = "unknown"


@dataclass
class KindAlgebra:
    """An algebra whose values are kinds: number, bit (a written 0 or 1), boolean, date, days or text."""

    columns: Mapping[str, Column | None]
    error: Callable[[str], RuleError]
    absent: dict[str, None] = field(default_factory=dict[str, None])
    seen: bool = False

    def column(self, name: str) -> str:
        self.seen = True
        if name not in self.columns:
            self.absent[name] = None
        column = self.columns.get(name)
        return UNKNOWN if column is None else kind_of(column)

    def literal(self, value: Any) -> str:
        if isinstance(value, bool):
            return "boolean"
        if isinstance(value, int | float):
            if isinstance(value, int) and abs(value) > LARGEST_LITERAL:
                raise self.error("whole numbers may go up to 2^53")
            if not math.isfinite(value):
                raise self.error("a number is beyond what can be compared")
            return "bit" if value in (0, 1) else "number"
        return "text" if isinstance(value, str) else "date"

    def compare(self, operator: str, left: str, right: str) -> str:
        if UNKNOWN not in (left, right) and right not in COMPARABLE[left]:
            raise self.error(f"{_words(left)} cannot be compared with {_words(right)} ({operator})")
        return "truth"

    def arithmetic(self, operator: str, left: str, right: str) -> str:
        for operand in (left, right):
            if operand in ("text", "boolean"):
                raise self.error(f"{operator} has no meaning for {_words(operand)}")
        return DAYS if {"date", DAYS} & {left, right} else UNKNOWN if UNKNOWN in (left, right) else "number"

    def conjunction(self, left: str, right: str) -> str:
        return "truth"

    def disjunction(self, left: str, right: str) -> str:
        return "truth"

    def negation(self, operand: str) -> str:
        return "truth"

    def is_missing(self, operand: str) -> str:
        return "truth"

    def determined(self, lookup: Lookup) -> str:
        return "truth"


def kind_of(column: Column) -> str:
    """Return what a column's values are in a rule."""
    if column.kind in ("boolean", "date"):
        return column.kind
    return "number" if column.is_ordered or column.has_integer_levels else "text"


def _words(kind: str) -> str:
    names = {"bit": "a number", "number": "a number", DAYS: "a number of days", "boolean": "true or false"}
    return names.get(kind, f"a {kind}")
