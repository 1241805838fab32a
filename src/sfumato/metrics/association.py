"""Association of two columns: the one measure of strength that reports and comparisons share.

Two columns with an order (numbers, dates, ordinals) have their rank correlation (Spearman). One with an order and one
without have the correlation ratio of ranks, corrected for chance: the root of the share of the variance of ranks that
the levels explain. Two without have Cramér's V with the correction for its bias (Bergsma 2013), where a missing value
is a level. Nothing is binned, so the same rows have the same strength wherever it is asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.arrays import FloatArray, IntArray
from sfumato.schema.column import Column

STRONG = 0.3
"""An association of at least this strength is strong."""
STRONGLY, SLIGHTLY = 0.5, STRONG
"""From the first strength on words say "strongly"; below the second, "slightly"."""
RANKS, RATIO, CRAMER = "rank correlation", "correlation ratio of ranks", "Cramér's V"
MOST_LEVELS = 200
"""Columns with more levels have no association: few rows have any two of them."""
MOST_ROWS, FEWEST_ROWS, WORK = 50_000, 5_000, 400_000_000
"""Rows that are read, evenly spaced: fewer where there are many pairs, so that 200 columns take seconds."""
TINY = 1e-12


@dataclass(frozen=True)
class Association:
    """Two columns, by their places, and how they go together."""

    one: int
    other: int
    measure: str
    value: float
    """Signed for rank correlations."""

    @property
    def strength(self) -> float:
        """From 0 to 1, whichever way it goes."""
        return abs(self.value)


@dataclass(frozen=True, eq=False)
class AssociationRows:
    """Rows as associations read them: ranks of columns with an order, levels of all others."""

    columns: tuple[Column, ...]
    ranks: FloatArray
    """One row per record and one column per place of ``with_order``; NaN where missing."""
    codes: Sequence[IntArray]
    """By place: levels, a missing one as the last. What stands for columns with an order is not read."""

    @classmethod
    def of(cls, columns: Sequence[Column], points: FloatArray) -> AssociationRows:
        """Rank and code rows: numbers as they are, levels as codes, NaN where missing."""
        codes = [level_codes(column, points[:, place]) for place, column in enumerate(columns)]
        return cls(tuple(columns), ranks(points[:, with_order(columns)]), codes)

    def measure(self, pairs: Sequence[Sequence[int]]) -> list[Association]:
        """Return the associations of pairs of places, in their order; columns of too many levels have none."""
        places = {place: i for i, place in enumerate(with_order(self.columns))}
        correlated = correlations(self.ranks) if len(places) > 1 else np.zeros((1, 1))
        return [self._pair(one, other, places, correlated) for one, other in pairs]

    def _pair(self, one: int, other: int, places: dict[int, int], correlated: FloatArray) -> Association:
        if one in places and other in places:
            return Association(one, other, RANKS, float(correlated[places[one], places[other]]))
        if one in places or other in places:
            number, group = (one, other) if one in places else (other, one)
            known = has_association(self.columns[group])
            value = correlation_ratio(self.ranks[:, places[number]], self.codes[group]) if known else 0.0
            return Association(one, other, RATIO, value)
        known = has_association(self.columns[one]) and has_association(self.columns[other])
        value = cramers_v(contingency_counts(self.codes[one], self.codes[other])) if known else 0.0
        return Association(one, other, CRAMER, value)


def association(one: Column, other: Column, points: FloatArray) -> Association:
    """Return the association of two columns; ``points`` has one row per record and a column for each.

    >>> levels = Column("g", "category", values=("a", "b")), Column("h", "category", values=("c", "d"))
    >>> round(association(*levels, np.array([[0.0, 1.0], [1.0, 0.0]] * 20)).value, 6)
    1.0
    """
    return AssociationRows.of((one, other), points).measure([(0, 1)])[0]


def evenly_spaced(rows: int, pairs: int) -> slice:
    """Return which rows associations are measured on: all, or every second, third and so on."""
    most = min(MOST_ROWS, max(FEWEST_ROWS, WORK // max(pairs, 1)))
    return slice(None, None, max(1, -(-rows // most)))


def has_association(column: Column) -> bool:
    """Whether associations of a column are measured."""
    return column.is_ordered or len(column.levels) <= MOST_LEVELS


def with_order(columns: Sequence[Column]) -> list[int]:
    """Return the places of columns whose values have an order."""
    return [
        place
        for place, column in enumerate(columns)
        if column.is_ordered or (column.kind == "ordinal" and has_association(column))
    ]


def level_codes(column: Column, points: FloatArray) -> IntArray:
    """Return the levels of a column as codes, missing last."""
    return np.where(np.isnan(points), len(column.levels), points).astype(np.int64)


def ranks(values: FloatArray) -> FloatArray:
    """Return the rank of each value within its column, from 0 to 1; ties share one, missing values have none."""
    from scipy.stats import rankdata

    ranked = np.full(values.shape, np.nan)
    for place in range(values.shape[1]):
        present = ~np.isnan(values[:, place])
        ranked[present, place] = rankdata(values[present, place]) / max(int(present.sum()), 1)
    return ranked


def correlations(values: FloatArray) -> FloatArray:
    """Return the correlations of columns, each over the rows that have both values; 0 where none exists.

    >>> correlations(np.array([[1.0, 2.0], [2.0, 4.0], [3.0, np.nan], [4.0, 8.0]])).round(6).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    known = ~np.isnan(values)
    weight = known.astype(float)
    centred = np.where(known, values - np.nanmean(np.where(known.any(0), values, 0), axis=0), 0)
    scale = np.sqrt((centred**2).mean(0))
    centred = centred / np.where(scale > 0, scale, 1)
    rows = np.maximum(weight.T @ weight, 1)
    sums, squares = centred.T @ weight / rows, (centred**2).T @ weight / rows
    covariance = centred.T @ centred / rows - sums * sums.T
    variance = squares - sums**2
    product = np.sqrt(np.maximum(variance * variance.T, 0))
    return np.clip(np.where(product > TINY, covariance / np.where(product > TINY, product, 1), 0), -1, 1)


def correlation_ratio(ranked: FloatArray, codes: IntArray) -> float:
    """Return how much of a column's ranks the levels explain: the root of the share of variance, less chance.

    >>> correlation_ratio(np.array([0.1, 0.2, 0.9, 1.0]), np.array([0, 0, 1, 1])) > 0.9
    True
    >>> correlation_ratio(np.array([0.1, 0.9, 0.1, 0.9]), np.array([0, 0, 1, 1]))
    0.0
    """
    known = ~np.isnan(ranked)
    values, groups = ranked[known], codes[known]
    sizes = np.bincount(groups) if len(groups) else np.zeros(0)
    filled = sizes > 0
    free = len(values) - int(filled.sum())
    whole = float(values.var()) * len(values) if len(values) else 0.0
    if free < 1 or whole <= TINY * len(values):
        return 0.0
    sums = np.bincount(groups, weights=values)[filled]
    between = float((sums**2 / sizes[filled]).sum()) - float(values.sum()) ** 2 / len(values)
    kept = 1 - (whole - between) / whole * (len(values) - 1) / free
    return math.sqrt(min(max(kept, 0.0), 1.0))


def contingency_counts(one: IntArray, other: IntArray) -> FloatArray:
    """Return the contingency table of two columns of codes."""
    height, width = int(one.max(initial=0)) + 1, int(other.max(initial=0)) + 1
    return np.bincount(one * width + other, minlength=height * width).reshape(height, width).astype(float)


def cramers_v(table: FloatArray) -> float:
    """Return Cramér's V of a contingency table, with the correction for its bias (Bergsma 2013).

    >>> cramers_v(np.array([[50.0, 0.0], [0.0, 50.0]]))
    1.0
    >>> cramers_v(np.array([[25.0, 25.0], [25.0, 25.0]]))
    0.0
    """
    rows, columns = table.sum(1), table.sum(0)
    table = table[rows > 0][:, columns > 0]
    total, (height, width) = table.sum(), table.shape
    if min(height, width) < 2 or total < 2:
        return 0.0
    expected = np.outer(table.sum(1), table.sum(0)) / total
    bias = (height - 1) * (width - 1) / (total - 1)
    phi = max(0.0, float(((table - expected) ** 2 / expected).sum() / total) - bias)
    smaller = min(height - (height - 1) ** 2 / (total - 1), width - (width - 1) ** 2 / (total - 1)) - 1
    return float(min(1.0, np.sqrt(phi / max(smaller, TINY))))


def association_kept(true: FloatArray, released: FloatArray) -> float | None:
    """Return how much of the strength of strong associations is kept: 1 for all; None where none is strong.

    >>> association_kept(np.array([0.5, 0.1]), np.array([0.4, 0.9]))
    0.8
    """
    strong = np.abs(true) >= STRONG
    if not strong.any():
        return None
    lost = np.abs(released - true)[strong].sum() / np.abs(true)[strong].sum()
    return float(max(0.0, 1 - lost))
