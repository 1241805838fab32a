"""Evaluate rules on NumPy arrays, on engine expressions, or on column types alone."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import RuleError
from sfumato.schema.column import Column, day_number
from sfumato.schema.functional_dependence import DependenceMap


class RuleBackend(Protocol):
    """The operations that a backend offers so that a rule can be evaluated on it."""

    def column(self, name: str, /) -> Any: ...
    def literal(self, value: Any, /) -> Any: ...
    def compare(self, operator: str, left: Any, right: Any, /) -> Any: ...
    def arithmetic(self, operator: str, left: Any, right: Any, /) -> Any: ...
    def conjunction(self, left: Any, right: Any, /) -> Any: ...
    def disjunction(self, left: Any, right: Any, /) -> Any: ...
    def negation(self, operand: Any, /) -> Any: ...
    def is_missing(self, operand: Any, /) -> Any: ...
    def determined(self, lookup: DependenceMap, /) -> Any: ...


def balanced_reduce(join: Callable[[Any, Any], Any], terms: Iterable[Any]) -> Any:
    """Join terms pairwise, as a balanced tree: thousands of them must not nest thousands deep."""
    level = list(terms)
    while len(level) > 1:
        pairs = [join(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = [*pairs, *level[len(pairs) * 2 :]]
    return level[0]


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}


@dataclass(frozen=True)
class ArrayBackend:
    """Rules on NumPy columns given as (values, missing mask); dates are day numbers."""

    values: Mapping[str, tuple[NDArray[Any], NDArray[np.bool_]]]

    def column(self, name: str) -> Any:
        values, missing = self.values[name]
        return values, ~missing

    def literal(self, value: Any) -> Any:
        return np.array(day_number(value) if isinstance(value, dt.date) else value), np.array(True)

    def compare(self, operator: str, left: Any, right: Any) -> Any:
        known = left[1] & right[1]
        return np.asarray(OPERATORS[operator](left[0], right[0]), dtype=bool) & known, known

    def arithmetic(self, operator: str, left: Any, right: Any) -> Any:
        return OPERATORS[operator](left[0], right[0]), left[1] & right[1]

    def conjunction(self, left: Any, right: Any) -> Any:
        truth = left[0] & right[0]
        false = (left[1] & ~left[0]) | (right[1] & ~right[0])
        return truth, truth | false

    def disjunction(self, left: Any, right: Any) -> Any:
        return self.negation(self.conjunction(self.negation(left), self.negation(right)))

    def negation(self, operand: Any) -> Any:
        return operand[1] & ~operand[0], operand[1]

    def is_missing(self, operand: Any) -> Any:
        return ~operand[1], np.ones_like(operand[1])

    def determined(self, lookup: DependenceMap) -> Any:
        values, missing = self.values[lookup.target.name]
        image, none = lookup.of(*self.values[lookup.source.name])
        same = np.asarray(image == values, dtype=bool) & ~missing & ~none
        truth = same | (missing & none)
        return truth, np.ones_like(truth)


@dataclass(frozen=True)
class EngineBackend:
    """Rules as engine expressions over a table whose columns have the schema's types."""

    table: Any

    def column(self, name: str) -> Any:
        return self.table[name]

    def literal(self, value: Any) -> Any:
        import ibis

        return ibis.literal(value)

    def compare(self, operator: str, left: Any, right: Any) -> Any:
        if left.type().is_date() != right.type().is_date():
            left, right = _in_days(left), _in_days(right)
        return OPERATORS[operator](left, right)

    def arithmetic(self, operator: str, left: Any, right: Any) -> Any:
        return OPERATORS[operator](_in_days(left), _in_days(right))

    def conjunction(self, left: Any, right: Any) -> Any:
        return left & right

    def disjunction(self, left: Any, right: Any) -> Any:
        return left | right

    def negation(self, operand: Any) -> Any:
        return ~operand

    def is_missing(self, operand: Any) -> Any:
        return operand.isnull()

    def determined(self, lookup: DependenceMap) -> Any:
        keys_of: dict[Any, list[Any]] = {}
        for key, value in lookup.pairs:
            keys_of.setdefault(value, []).append(key)
        return balanced_reduce(self.disjunction, (self._pair(lookup, keys, value) for value, keys in keys_of.items()))

    def _pair(self, lookup: DependenceMap, keys: Sequence[Any], value: Any) -> Any:
        """Return where the source is among some keys and the target has one value; unknown is false here."""
        source, target = self.table[lookup.source.name], self.table[lookup.target.name]
        present = [key for key in keys if key is not None]
        if lookup.source.is_ordered:
            terms = [_inside(source, key, lookup.source) for key in present]
        else:
            terms = [source.isin(present)] if present else []
        terms += [source.isnull()] if None in keys else []
        same = target.isnull() if value is None else target == value
        return (balanced_reduce(self.disjunction, terms) & same).fill_null(False)


def _inside(value: Any, key: tuple[Any, Any], column: Column) -> Any:
    """Return where a value lies in an interval; the outermost ones reach on, for what lies beyond is clamped."""
    low, high = cast("tuple[Any, Any]", column.bounds)
    below = value <= key[1] if column.is_discrete else value < key[1]
    terms = ([value >= key[0]] if key[0] > low else []) + ([below] if key[1] < high else [])
    return balanced_reduce(lambda a, b: a & b, terms or [value.notnull()])


def _in_days(value: Any) -> Any:
    """Return a date as its day number, as arrays hold it; other values as they are."""
    import ibis

    return value.delta(ibis.date("1970-01-01"), unit="day") if value.type().is_date() else value


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
class TypeCheckBackend:
    """An algebra whose values are kinds: number, bit (a written 0 or 1), boolean, date, days or text."""

    columns: Mapping[str, Column | None]
    error: Callable[[str], RuleError]
    absent: dict[str, None] = field(default_factory=dict[str, None])
    names_column: bool = False

    def column(self, name: str) -> str:
        self.names_column = True
        if name not in self.columns:
            self.absent[name] = None
        column = self.columns.get(name)
        return UNKNOWN if column is None else rule_type(column)

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

    def _truth(self, *operands: Any) -> str:
        return "truth"

    conjunction = disjunction = negation = is_missing = determined = _truth


def rule_type(column: Column) -> str:
    """Return the type of a column's values in a rule."""
    if column.kind in ("boolean", "date"):
        return column.kind
    return "number" if column.is_ordered or column.has_integer_levels else "text"


def _words(kind: str) -> str:
    names = {"bit": "a number", "number": "a number", DAYS: "a number of days", "boolean": "true or false"}
    return names.get(kind, f"a {kind}")
