"""Rules between columns: a small, safe language that reads alike on engines and on NumPy arrays.

``start <= end``, ``age < 15 implies missing(income)``, ``tenure == "own" and rooms > 1 or size in [1, 2]``,
``col("hours worked") + travel <= 168``. As in SQL, a comparison with a missing value is neither true nor false,
and a rule is broken only where it is false.
"""

from __future__ import annotations

import ast
import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import RuleError
from sfumato.schema.column import Column, day_number

COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
ARITHMETIC: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
DEEPEST = 50
"""Levels of nesting in a rule: more cannot be turned into a query, and nobody can read them."""
LONGEST = 200_000
"""Characters of a rule."""
HELP = 'write for example: start <= end, age < 15 implies missing(income), size in [1, 2], col("a b") > 0'


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


@dataclass(frozen=True)
class Rule:
    """One rule between columns, kept as the text that the custodian wrote.

    >>> Rule("age < 15 implies missing(income)").columns
    ('age', 'income')
    """

    check: str

    @cached_property
    def tree(self) -> ast.expr:
        """The parsed rule; an implication becomes ``not A or B``."""
        if not isinstance(self.check, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise self._error("a rule is a text")
        parts = self.check.split(" implies ")
        if len(parts) > 2:
            raise self._error("'implies' stands more than once")
        trees = [self._parse(part) for part in parts]
        if len(trees) == 1:
            return trees[0]
        return ast.BoolOp(ast.Or(), [ast.UnaryOp(ast.Not(), trees[0]), trees[1]])

    def _parse(self, text: str) -> ast.expr:
        if len(text) > LONGEST:
            raise self._error(f"it is longer than {LONGEST:,} characters")
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except (RecursionError, MemoryError) as error:
            raise self._error(TOO_DEEP) from error
        except (SyntaxError, ValueError) as error:
            raise self._error("it cannot be read") from error
        if _is_deep(tree):
            raise self._error(TOO_DEEP)
        return tree

    def _error(self, reason: str) -> RuleError:
        shown = repr(self.check)
        shown = shown if len(shown) <= 120 else f"{shown[:116]}...{shown[-1]}"
        return RuleError(f"rule {shown}: {reason}", next_step=HELP)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that the rule reads, in order of first appearance."""
        seen: dict[str, None] = {}
        self.evaluate(_NameCollector(seen))
        return tuple(seen)

    def require_meaning(self, columns: Mapping[str, Column | None]) -> None:
        """Refuse a rule that names unknown columns, or compares what cannot be compared.

        A column that is there but could not be read is None: nothing is said about it.
        """
        from sfumato.schema.rule_kinds import KindAlgebra

        kinds = KindAlgebra(columns, self._error)
        known = {name: column for name, column in columns.items() if column is not None}
        self.evaluate(kinds, known)
        if kinds.absent:
            raise self._error(f"unknown column {', '.join(kinds.absent)}")
        if not kinds.seen:
            raise self._error("it speaks of no column")

    def evaluate(self, algebra: Algebra, columns: Mapping[str, Column] | None = None) -> Any:
        """Return the rule's truth in the given algebra; ``columns`` lets text be read as dates."""
        return _Walk(algebra, columns or {}, self._error).truth(self.tree)

    def keeps(
        self,
        values: Mapping[str, tuple[NDArray[Any], NDArray[np.bool_]]],
        columns: Mapping[str, Column],
    ) -> NDArray[np.bool_]:
        """Return which rows keep the rule, for columns given as (values, missing mask)."""
        truth, known = self.evaluate(ArrayAlgebra(values), columns)
        return np.asarray(truth | ~known)

    def breaks(self, table: Any, columns: Mapping[str, Column]) -> Any:
        """Return the engine expression that is true on rows that break the rule."""
        return (~self.evaluate(EngineAlgebra(table), columns)).fill_null(False)


TOO_DEEP = f"it is nested more than {DEEPEST} deep"


def _is_deep(tree: ast.AST) -> bool:
    """Whether a tree is nested too deep, found level by level: a walk that calls itself would not come back."""
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return bool(level)


def _joined(join: Callable[[Any, Any], Any], terms: Iterable[Any]) -> Any:
    """Join terms pairwise, as a balanced tree: thousands of them must not nest thousands deep."""
    level = list(terms)
    while len(level) > 1:
        pairs = [join(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = [*pairs, *level[len(pairs) * 2 :]]
    return level[0]


@dataclass(frozen=True)
class _Walk:
    algebra: Algebra
    columns: Mapping[str, Column]
    error: Callable[[str], RuleError]

    def truth(self, node: ast.expr) -> Any:
        match node:
            case ast.BoolOp(op=op, values=values):
                join = self.algebra.conjunction if isinstance(op, ast.And) else self.algebra.disjunction
                return _joined(join, (self.truth(value) for value in values))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.algebra.negation(self.truth(operand))
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                return self.comparison(left, ops, comparators)
            case ast.Call(func=ast.Name(id="missing"), args=[operand], keywords=[]):
                return self.algebra.is_missing(self.value(operand, date=False))
            case ast.Name() | ast.Call(func=ast.Name(id="col")):
                return self.algebra.compare("==", self.value(node, date=False), self.algebra.literal(True))
            case _:
                raise self.error("only comparisons, and, or, not, implies, in and missing() are understood")

    def comparison(self, left: ast.expr, ops: list[ast.cmpop], rights: list[ast.expr]) -> Any:
        chain = [left, *rights]
        date = any(self.is_date(node) for node in chain)
        terms = [self.link(a, op, b, date) for a, op, b in zip(chain, ops, rights, strict=False)]
        return _joined(self.algebra.conjunction, terms)

    def link(self, left: ast.expr, op: ast.cmpop, right: ast.expr, date: bool) -> Any:
        if isinstance(op, ast.In | ast.NotIn):
            if not isinstance(right, ast.List | ast.Tuple | ast.Set) or not right.elts:
                raise self.error("'in' needs a list of values")
            value = self.value(left, date)
            options = (self.algebra.compare("==", value, self.value(item, date)) for item in right.elts)
            found = _joined(self.algebra.disjunction, options)
            return self.algebra.negation(found) if isinstance(op, ast.NotIn) else found
        if type(op) not in COMPARISONS:
            raise self.error("only < <= > >= == != and in compare values")
        return self.algebra.compare(COMPARISONS[type(op)], self.value(left, date), self.value(right, date))

    def is_date(self, node: ast.expr) -> bool:
        name = _column_name(node)
        return name is not None and name in self.columns and self.columns[name].kind == "date"

    def value(self, node: ast.expr, date: bool) -> Any:
        name = _column_name(node)
        if name is not None:
            return self.algebra.column(name)
        match node:
            case ast.Constant(value=str() as text) if date:
                return self.algebra.literal(self.as_date(text))
            case ast.Constant(value=bool() | int() | float() | str() as constant):
                return self.algebra.literal(constant)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return self.algebra.literal(-number)
            case ast.BinOp(op=op, left=left, right=right) if type(op) in ARITHMETIC:
                operands = self.value(left, date), self.value(right, date)
                return self.algebra.arithmetic(ARITHMETIC[type(op)], *operands)
            case _:
                raise self.error("a value is a column, a number, a text, or a sum, difference or product of them")

    def as_date(self, text: str) -> dt.date:
        try:
            return dt.date.fromisoformat(text)
        except ValueError as error:
            raise self.error(f"{text!r} is not a date of the form 2024-12-31") from error


def _column_name(node: ast.expr) -> str | None:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Call(func=ast.Name(id="col"), args=[ast.Constant(value=str() as name)], keywords=[]):
            return name
        case _:
            return None


@dataclass(frozen=True)
class _NameCollector:
    """An algebra that computes nothing and remembers the columns."""

    seen: dict[str, None]

    def column(self, name: str) -> None:
        self.seen[name] = None

    def literal(self, value: Any) -> None: ...
    def compare(self, operator: str, left: Any, right: Any) -> None: ...
    def arithmetic(self, operator: str, left: Any, right: Any) -> None: ...
    def conjunction(self, left: Any, right: Any) -> None: ...
    def disjunction(self, left: Any, right: Any) -> None: ...
    def negation(self, operand: Any) -> None: ...
    def is_missing(self, operand: Any) -> None: ...


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


def _in_days(value: Any) -> Any:
    """Return a date as its day number, as arrays hold it; other values as they are."""
    import ibis

    return value.delta(ibis.date("1970-01-01"), unit="day") if value.type().is_date() else value
