"""Rules between columns: parse, type-check and evaluate a small expression language.

``start <= end``, ``age < 15 implies missing(income)``, ``tenure == "own" and rooms > 1 or size in [1, 2]``,
``col("hours worked") + travel <= 168``. As in SQL, a comparison with a missing value is neither true nor false,
and a rule is broken only where it is false. ``score determines text`` says that a column is a function of another
(:mod:`sfumato.schema.functional_dependence`).
"""

from __future__ import annotations

import ast
import dataclasses
import datetime as dt
import json
import keyword
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import RuleError
from sfumato.schema.column import Column
from sfumato.schema.column_checks import is_text
from sfumato.schema.functional_dependence import (
    WORD,
    FunctionalDependence,
    column_name,
    dependence_map,
    format_map,
    normalise_map,
    parse_dependence,
    validate_map,
)
from sfumato.schema.provenance import FINGERPRINT_DIGITS, Provenance, fingerprint
from sfumato.schema.rule_backends import ArrayBackend, EngineBackend, RuleBackend, TypeCheckBackend, balanced_reduce

COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
ARITHMETIC: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
MAX_DEPTH = 50
"""Levels of nesting in a rule: more cannot be turned into a query, and nobody can read them."""
MAX_LENGTH = 200_000
"""Characters of a rule."""
MARK = re.compile(f"check [0-9a-f]{{{FINGERPRINT_DIGITS}}}")
HELP = (
    'write for example: start <= end, age < 15 implies missing(income), size in [1, 2], col("a b") > 0, '
    "score determines text"
)


def rule_fingerprint(check: str) -> str:
    """Return the fingerprint of a drafted rule; a rule that a person rewrites no longer has it.

    >>> rule_fingerprint("a <= b") == rule_fingerprint("a<=b") != rule_fingerprint("a < b")
    True
    """
    return fingerprint("check", "".join(str(check).split()))


@dataclass(frozen=True)
class Rule:
    """One rule between columns, kept as the text that the custodian wrote.

    A dependence may have its map: a schema keeps it with keys and values of the columns' own types.

    >>> Rule("age < 15 implies missing(income)").columns
    ('age', 'income')
    >>> Rule("age determines school", map={"0..5": False, "6..15": True, "16..110": False}).dependence
    FunctionalDependence(source='age', target='school')
    """

    check: str
    map: Any = None
    """For a dependence: what the second column is for each value of the first. None: the map is not public."""
    source: str | None = None
    """Where the rule is published, in words."""
    drafted: str | bool = False
    """The mark of the check that a draft proposed because the rows keep it; True marks whatever the check says."""
    from_rows: bool = False
    """Whether a rule that the rows taught was accepted by name."""

    def __post_init__(self) -> None:
        if self.map is not None:
            object.__setattr__(self, "map", normalise_map(self.map))

    @property
    def is_data_derived(self) -> bool:
        """Whether the rule was taken from the rows, accepted or not, without a named source."""
        as_drafted = self.drafted is True or self.drafted == rule_fingerprint(self.check)
        return self.from_rows or (as_drafted and self.source is None)

    @property
    def provenance(self) -> Provenance:
        """Where the rule comes from."""
        return Provenance("rows") if self.is_data_derived else Provenance("public", self.source)

    @cached_property
    def dependence(self) -> FunctionalDependence | None:
        """The columns of ``a determines b``; None for other rules."""
        return parse_dependence(self.check) if isinstance(self.check, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]

    @property
    def lacks_map(self) -> bool:
        """Whether the rule is a dependence whose map is not public: it says nothing about a single row."""
        return self.dependence is not None and self.map is None

    @property
    def words(self) -> str:
        """The rule in words, with the first entries of its map.

        >>> Rule("sick determines paid", map={True: False, False: True}).words
        "'sick determines paid': true = false, false = true"
        """
        return repr(self.check) if self.map is None else f"{self.check!r}: {format_map(self.map)}"

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
        if len(text) > MAX_LENGTH:
            raise self._error(f"it is longer than {MAX_LENGTH:,} characters")
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except (RecursionError, MemoryError) as error:
            raise self._error(TOO_DEEP) from error
        except (SyntaxError, ValueError) as error:
            one = "'determines' stands between two columns"
            raise self._error(one if WORD in self.check else "it cannot be read") from error
        if _is_deep(tree):
            raise self._error(TOO_DEEP)
        return tree

    def _error(self, reason: str, problems: Sequence[str] = ()) -> RuleError:
        shown = repr(self.check)
        shown = shown if len(shown) <= 120 else f"{shown[:116]}...{shown[-1]}"
        return RuleError(f"rule {shown}: {reason}", problems, next_step=HELP)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that the rule reads, in order of first appearance."""
        if self.dependence is not None:
            return tuple(dict.fromkeys(self.dependence))
        collector: Any = _NameCollector()
        self.evaluate(collector)
        return tuple(collector.names)

    def require_meaning(self, columns: Mapping[str, Column | None]) -> None:
        """Type-check a rule: refuse unknown columns and values that cannot be compared.

        A column that is there but could not be read is None: nothing is said about it.
        """
        self._require_origin()
        if self.dependence is not None:
            self._require_dependence(columns)
            return
        if self.map is not None:
            raise self._error("only 'a determines b' has a map")
        kinds = TypeCheckBackend(columns, self._error)
        known = {name: column for name, column in columns.items() if column is not None}
        self.evaluate(kinds, known)
        if kinds.absent:
            raise self._error(f"unknown column {', '.join(kinds.absent)}")
        if not kinds.names_column:
            raise self._error("it names no column")

    def _require_origin(self) -> None:
        mark: Any = self.drafted
        if not (isinstance(mark, bool) or (is_text(mark) and MARK.fullmatch(mark))):
            raise self._error("drafted is written by a draft alone")
        if not isinstance(self.from_rows, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise self._error("from_rows needs true or false")
        if not (self.source is None or is_text(self.source)):
            raise self._error("source needs a text")

    def _require_dependence(self, columns: Mapping[str, Column | None]) -> None:
        absent = [name for name in self.columns if name not in columns]
        if absent:
            raise self._error(f"unknown column {', '.join(absent)}")
        if len(self.columns) == 1:
            raise self._error("every column determines itself")
        source, target = (columns[name] for name in self.columns)
        if self.map is None or source is None or target is None:
            return
        _, problems = validate_map(self.map, source, target)
        if problems:
            raise self._error("its map does not fit the columns", problems)

    def settled(self, columns: Mapping[str, Column]) -> Rule:
        """Return the rule as a schema keeps it: a map with keys and values of the columns' own types."""
        if self.dependence is None or self.map is None:
            return self
        pairs, _ = validate_map(self.map, *(columns[name] for name in self.columns))
        return dataclasses.replace(self, map=pairs)

    def evaluate(self, algebra: RuleBackend, columns: Mapping[str, Column] | None = None) -> Any:
        """Return the rule's truth in the given algebra; ``columns`` lets text be read as dates."""
        if self.dependence is not None:
            return self._evaluate_dependence(algebra, columns or {})
        return _Walk(algebra, columns or {}, self._error).truth(self.tree)

    def _evaluate_dependence(self, algebra: RuleBackend, columns: Mapping[str, Column]) -> Any:
        if self.map is not None:
            return algebra.determined(dependence_map(self.map, *(columns[name] for name in self.columns)))
        absent = algebra.is_missing(algebra.column(self.columns[0]))
        return algebra.disjunction(absent, algebra.negation(absent))  # true of every row

    def keeps(
        self,
        values: Mapping[str, tuple[NDArray[Any], NDArray[np.bool_]]],
        columns: Mapping[str, Column],
    ) -> NDArray[np.bool_]:
        """Return which rows keep the rule, for columns given as (values, missing mask)."""
        truth, known = self.evaluate(ArrayBackend(values), columns)
        return np.asarray(truth | ~known)

    def breaks(self, table: Any, columns: Mapping[str, Column]) -> Any:
        """Return the engine expression that is true on rows that break the rule."""
        return (~self.evaluate(EngineBackend(table), columns)).fill_null(False)


TOO_DEEP = f"it is nested more than {MAX_DEPTH} deep"


def _is_deep(tree: ast.AST) -> bool:
    """Whether a tree is nested too deep, found level by level: a walk that calls itself would not come back."""
    level: list[ast.AST] = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return bool(level)


@dataclass(frozen=True)
class _Walk:
    algebra: RuleBackend
    columns: Mapping[str, Column]
    error: Callable[[str], RuleError]

    def truth(self, node: ast.expr) -> Any:
        match node:
            case ast.BoolOp(op=op, values=values):
                join = self.algebra.conjunction if isinstance(op, ast.And) else self.algebra.disjunction
                return balanced_reduce(join, (self.truth(value) for value in values))
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
        return balanced_reduce(self.algebra.conjunction, terms)

    def link(self, left: ast.expr, op: ast.cmpop, right: ast.expr, date: bool) -> Any:
        if isinstance(op, ast.In | ast.NotIn):
            if not isinstance(right, ast.List | ast.Tuple | ast.Set) or not right.elts:
                raise self.error("'in' needs a list of values")
            value = self.value(left, date)
            options = (self.algebra.compare("==", value, self.value(item, date)) for item in right.elts)
            membership = balanced_reduce(self.algebra.disjunction, options)
            return self.algebra.negation(membership) if isinstance(op, ast.NotIn) else membership
        if type(op) not in COMPARISONS:
            raise self.error("only < <= > >= == != and in compare values")
        return self.algebra.compare(COMPARISONS[type(op)], self.value(left, date), self.value(right, date))

    def is_date(self, node: ast.expr) -> bool:
        name = column_name(node)
        return name is not None and name in self.columns and self.columns[name].kind == "date"

    def value(self, node: ast.expr, date: bool) -> Any:
        name = column_name(node)
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


class _NameCollector:
    """An algebra that computes nothing and remembers the columns."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}

    def column(self, name: str) -> None:
        self.names[name] = None

    def __getattr__(self, operation: str) -> Callable[..., None]:
        return lambda *operands: None


TAKEN = ("missing", "col", "implies", "determines", "true", "false")


def quote_column(name: str) -> str:
    """Return a column as a rule names it.

    >>> quote_column("age"), quote_column("1stFlrSF")
    ('age', 'col("1stFlrSF")')
    """
    plain = name.isidentifier() and name.isascii() and not keyword.iskeyword(name) and name.lower() not in TAKEN
    return name if plain else f"col({json.dumps(name, ensure_ascii=False)})"


def format_literal(value: Any) -> str:
    """Return a value as a rule writes it.

    >>> format_literal(15.0), format_literal(0.5), format_literal("no")
    ('15', '0.5', '"no"')
    """
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return str(int(value)) if float(value).is_integer() else repr(float(value))
