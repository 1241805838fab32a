"""Hosts of values on which a rule can be evaluated: NumPy columns, and the expressions of an engine."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.schema.column import Column, day_number
from sfumato.schema.determines import Lookup


class Algebra(Protocol):
    """What a host of values must offer so that a rule can be evaluated on it."""

    def column(self, name: str) -> Any: ...
    def literal(self, value: Any) -> Any: ...
    def compare(self, operator: str, left: Any, right: Any) -> Any: ...
    def arithmetic(self, operator: str, left: Any, right: Any) -> Any: ...
    def conjunction(self, left: Any, right: Any) -> Any: ...
    def disjunction(self, left: Any, right: Any) -> Any: ...
    def negation(self, operand: Any) -> Any: ...
    def is_missing(self, operand: Any) -> Any: ...
    def determined(self, lookup: Lookup) -> Any: ...


def joined(join: Callable[[Any, Any], Any], terms: Iterable[Any]) -> Any:
    """Join terms pairwise, as a balanced tree: thousands of them must not nest thousands deep."""
    level = list(terms)
    while len(level) > 1:
        pairs = [join(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = [*pairs, *level[len(pairs) * 2 :]]
    return level[0]


APPLY: dict[str, Callable[[Any, Any], Any]] = {
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
class ArrayAlgebra:
    """Rules on NumPy columns given as (values, missing mask); dates are day numbers."""

    values: Mapping[str, tuple[NDArray[Any], NDArray[np.bool_]]]

    def column(self, name: str) -> Any:
        values, missing = self.values[name]
        return values, ~missing

    def literal(self, value: Any) -> Any:
        return np.array(day_number(value) if isinstance(value, dt.date) else value), np.array(True)

    def compare(self, operator: str, left: Any, right: Any) -> Any:
        known = left[1] & right[1]
        return np.asarray(APPLY[operator](left[0], right[0]), dtype=bool) & known, known

    def arithmetic(self, operator: str, left: Any, right: Any) -> Any:
        return APPLY[operator](left[0], right[0]), left[1] & right[1]

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

    def determined(self, lookup: Lookup) -> Any:
        values, missing = self.values[lookup.target.name]
        image, none = lookup.of(*self.values[lookup.source.name])
        same = np.asarray(image == values, dtype=bool) & ~missing & ~none
        truth = same | (missing & none)
        return truth, np.ones_like(truth)


@dataclass(frozen=True)
class EngineAlgebra:
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
        return APPLY[operator](left, right)

    def arithmetic(self, operator: str, left: Any, right: Any) -> Any:
        return APPLY[operator](_in_days(left), _in_days(right))

    def conjunction(self, left: Any, right: Any) -> Any:
        return left & right

    def disjunction(self, left: Any, right: Any) -> Any:
        return left | right

    def negation(self, operand: Any) -> Any:
        return ~operand

    def is_missing(self, operand: Any) -> Any:
        return operand.isnull()

    def determined(self, lookup: Lookup) -> Any:
        found: dict[Any, list[Any]] = {}
        for key, value in lookup.pairs:
            found.setdefault(value, []).append(key)
        return joined(self.disjunction, (self._pair(lookup, keys, value) for value, keys in found.items()))

    def _pair(self, lookup: Lookup, keys: Sequence[Any], value: Any) -> Any:
        """Return where the source is among some keys and the target has one value; unknown is false here."""
        source, target = self.table[lookup.source.name], self.table[lookup.target.name]
        present = [key for key in keys if key is not None]
        if lookup.source.is_ordered:
            terms = [_inside(source, key, lookup.source) for key in present]
        else:
            terms = [source.isin(present)] if present else []
        terms += [source.isnull()] if None in keys else []
        same = target.isnull() if value is None else target == value
        return (joined(self.disjunction, terms) & same).fill_null(False)


def _inside(value: Any, key: tuple[Any, Any], column: Column) -> Any:
    """Return where a value lies in an interval; the outermost ones reach on, for what lies beyond is clamped."""
    low, high = cast("tuple[Any, Any]", column.bounds)
    below = value <= key[1] if column.is_discrete else value < key[1]
    terms = ([value >= key[0]] if key[0] > low else []) + ([below] if key[1] < high else [])
    return joined(lambda a, b: a & b, terms or [value.notnull()])


def _in_days(value: Any) -> Any:
    """Return a date as its day number, as arrays hold it; other values as they are."""
    import ibis

    return value.delta(ibis.date("1970-01-01"), unit="day") if value.type().is_date() else value
