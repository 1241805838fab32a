"""Named cuts: edges of the schema and constants in rules, at which columns are always cut.

Both are public, so a column may be cut there whatever the rows are. A rule whose constant lies inside a group of cells
cannot be a structural zero of the model, and is kept by repairing single rows, which takes them out of what was
measured; at a cut it is exact.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.sampling.fine_cells import refined_column
from sfumato.schema import Schema
from sfumato.schema.column import Column, day_number
from sfumato.schema.functional_dependence import DependenceMap

MOST_EDGES = 32
"""More edges than these are a grid that somebody was given, no cuts that somebody chose: the noisy counts merge them.
"""


def schema_with_named_cuts(schema: Schema, names: Collection[str]) -> Schema:
    """Return the schema with bins that also begin where rules compare a column with a constant."""
    chosen = {schema[name].name for name in names}
    return dataclasses.replace(
        schema, columns=tuple(_with_cuts(schema, column) if column.name in chosen else column for column in schema)
    )


def _with_cuts(schema: Schema, column: Column) -> Column:
    cuts = named_cuts(schema, column)
    return refined_column(column, np.union1d(column.starts, cuts), cuts) if len(cuts) else column


def named_cuts(schema: Schema, column: Column) -> NDArray[np.float64]:
    """Return where cells of an ordered column must begin that no group joins with the one before; dates as day numbers.

    >>> from sfumato.schema import Column, Rule
    >>> age = Column("age", "integer", bounds=(0, 99), edges=(0, 18, 99))
    >>> work = Column("work", "category", values=("yes", "no"))
    >>> named_cuts(Schema("t", (age, work), rules=(Rule("age < 15 implies work == 'no'"),)), age).tolist()
    [15.0, 18.0]
    """
    if not column.is_ordered:
        return np.zeros(0)
    low, high = column.numeric_bounds
    cuts = {cut for rule in schema.rules if column.name in rule.columns for cut in _cuts_of_rule(rule, schema, column)}
    if column.edges is not None and len(column.edges) <= MOST_EDGES:
        cuts |= set(column.starts.tolist())
    return np.array(sorted(cut for cut in cuts if low < cut <= high), float)


def _cuts_of_rule(rule: Any, schema: Schema, column: Column) -> list[float]:
    if rule.dependence is not None:
        return []
    compared = _Comparisons(column, [])
    rule.evaluate(compared, {each.name: each for each in schema})
    return compared.cuts


@dataclasses.dataclass(frozen=True)
class _Comparisons:
    """A rule backend that computes nothing and notes with which constants a column is compared."""

    compared: Column
    cuts: list[float]

    def column(self, name: str) -> str | None:
        return name if name == self.compared.name else None

    def literal(self, value: Any) -> float | None:
        if isinstance(value, dt.date):
            return float(day_number(value))
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def compare(self, operator: str, left: Any, right: Any) -> None:
        if isinstance(left, float) and isinstance(right, str):
            left, right = right, left
            operator = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)
        if not (isinstance(left, str) and isinstance(right, float)):
            return
        whole = self.compared.is_discrete
        begins, after = (np.ceil(right), np.floor(right) + 1) if whole else (right, right)
        if operator not in ("<=", ">"):
            self.cuts.append(float(begins))
        if operator not in ("<", ">="):
            self.cuts.append(float(after))

    def arithmetic(self, operator: str, left: Any, right: Any) -> None: ...
    def conjunction(self, left: Any, right: Any) -> None: ...
    def disjunction(self, left: Any, right: Any) -> None: ...
    def negation(self, operand: Any) -> None: ...
    def is_missing(self, operand: Any) -> None: ...
    def determined(self, lookup: DependenceMap) -> None: ...
