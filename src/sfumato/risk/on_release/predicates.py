"""Predicates learnt from rows: conditions that exactly one of these rows fulfils.

As Giomi et al. define them (2023, "A Unified Framework for Quantifying Privacy Risk in Synthetic Data"). Of one column:
a value that occurs once, or the ends of a range. Of several columns: a row and some of its columns by lot, levels by
equality, numbers from the row's value outwards (at least it above the median, at most it below), kept where no other
row fulfils all of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from sfumato.arrays import BoolArray, FloatArray, IntArray
from sfumato.metrics.rows_view import Points
from sfumato.risk.attacks.attacker_view import AttackerView

Sign = Literal["=", "<=", ">=", "missing"]
MOST_COLUMNS = 6
"""Columns of one predicate."""
MOST_TRIES = 15
"""Rows that are tried for each predicate that is wanted."""
MISSING_SHARE = 0.05
"""Share of missing values in rows of the public domain, where a column may have them."""


@dataclass(frozen=True)
class Condition:
    """One column and what it must be."""

    place: int
    sign: Sign
    value: float = 0.0

    def holds(self, column: FloatArray) -> BoolArray:
        """Return which values fulfil it."""
        if self.sign == "missing":
            return np.isnan(column)
        if self.sign == "=":
            return column == self.value
        return column >= self.value if self.sign == ">=" else column <= self.value


Predicate = tuple[Condition, ...]


def matches(predicate: Predicate, points: Points) -> IntArray:
    """Return the places of the rows that fulfil all conditions.

    >>> matches((Condition(0, ">=", 2.0), Condition(1, "missing")), np.array([[1.0, 1.0], [2.0, np.nan]])).tolist()
    [1]
    """
    left = np.flatnonzero(predicate[0].holds(points[:, predicate[0].place]))
    for condition in predicate[1:]:
        left = left[condition.holds(points[left, condition.place])]
    return left


def univariate_predicates(points: Points, sight: AttackerView, most: int, dice: np.random.Generator) -> list[Predicate]:
    """Return predicates of one column that exactly one of the rows fulfils, ``most`` of them by lot."""
    found: list[Predicate] = []
    for place in range(points.shape[1]):
        column = points[:, place]
        missing = np.isnan(column)
        values, counts = np.unique(column[~missing], return_counts=True)
        once: list[Predicate] = [(Condition(place, "=", float(value)),) for value in values[counts == 1]]
        if sight.weights[place] > 0 and len(values):
            ends: tuple[tuple[int, Sign], ...] = ((0, "<="), (-1, ">="))
            once += [(Condition(place, sign, float(values[at])),) for at, sign in ends if counts[at] == 1]
        found += once + ([(Condition(place, "missing"),)] if missing.sum() == 1 else [])
    order = dice.permutation(len(found))[:most]
    return [found[at] for at in order]


def multivariate_predicates(
    points: Points, sight: AttackerView, most: int, dice: np.random.Generator
) -> list[Predicate]:
    """Return predicates of several columns that exactly one of the rows fulfils, each once."""
    columns = points.shape[1]
    if columns < 2:
        return []
    medians = [float(np.nanmedian(c)) if (~np.isnan(c)).any() else 0.0 for c in points.T]
    found: dict[Predicate, None] = {}
    for _ in range(MOST_TRIES * most):
        row = points[dice.integers(len(points))]
        size = int(dice.integers(2, min(MOST_COLUMNS, columns) + 1))
        places = np.sort(dice.choice(columns, size, replace=False))
        predicate = tuple(_condition(int(p), row[p], bool(sight.weights[p] > 0), medians[p]) for p in places)
        if predicate not in found and len(matches(predicate, points)) == 1:
            found[predicate] = None
        if len(found) >= most:
            break
    return list(found)


def _condition(place: int, value: float, graded: bool, median: float) -> Condition:
    if np.isnan(value):
        return Condition(place, "missing")
    if not graded:
        return Condition(place, "=", float(value))
    return Condition(place, ">=" if value > median else "<=", float(value))


def uniform_public_rows(sight: AttackerView, rows: int, dice: np.random.Generator) -> Points:
    """Return rows drawn evenly from the public domain: what an attacker has who never saw the release."""
    drawn: list[FloatArray] = []
    for column in sight.columns:
        if column.is_ordered:
            low, high = (float(end) for end in column.numeric_bounds)
            values = dice.uniform(low, high, rows)
            values = np.rint(values) if column.is_discrete else values
        else:
            values = dice.integers(0, column.present_size, rows).astype(float)
        if column.missing:
            values[dice.random(rows) < MISSING_SHARE] = np.nan
        drawn.append(values)
    return np.column_stack(drawn)
