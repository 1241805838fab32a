"""Which columns of released rows go together, and how strongly: measured on the released rows alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sfumato.arrays import FloatArray, IntArray
from sfumato.evaluate.compare.distances import correlations, cramers_v
from sfumato.evaluate.compare.pairs import STRONG
from sfumato.evaluate.compare.sides import ranked
from sfumato.report.release_page.points import RowsView

RANKS, RATIO, CRAMER = "rank correlation", "correlation ratio of ranks", "Cramér's V"
MOST_SHOWN, FEWEST_SHOWN = 60, 4
"""Relations that a page shows, the strongest first; the second also where none is strong."""
WEAKEST = 0.1
MOST_ROWS, FEWEST_ROWS, WORK = 50_000, 5_000, 400_000_000
"""Rows that are read: fewer where there are many pairs, so that a page of 200 columns is drawn in seconds."""
CONSTANT = 1e-12
"""Variance of ranks that are all the same, as computers see it."""
MOST_LEVELS = 200
"""Columns with more levels are left out: few rows have any two of them."""


@dataclass(frozen=True)
class Association:
    """Two columns, by their places, and how they go together."""

    one: int
    other: int
    measure: str
    value: float

    @property
    def strength(self) -> float:
        """From 0 to 1, whichever way it goes."""
        return abs(self.value)


@dataclass(frozen=True)
class Associations:
    """The relations that are shown, and what they were measured on."""

    relations: tuple[Association, ...]
    pairs: int
    strong: int
    points: RowsView
    left_out: tuple[str, ...]


def strongest_associations(points: RowsView) -> Associations:
    """Measure all pairs of columns and return the strongest."""
    places = [
        place for place, column in enumerate(points.columns) if column.is_ordered or len(column.levels) <= MOST_LEVELS
    ]
    pairs = math.comb(len(places), 2)
    few = points.sample(min(MOST_ROWS, max(FEWEST_ROWS, WORK // max(pairs, 1))))
    found = sorted(_measured(few, places), key=lambda each: (-round(each.strength, 6), each.one, each.other))
    strong = [each for each in found if each.strength >= STRONG]
    shown = strong[:MOST_SHOWN] or [each for each in found[:FEWEST_SHOWN] if each.strength >= WEAKEST]
    left = tuple(column.name for place, column in enumerate(points.columns) if place not in set(places))
    return Associations(tuple(shown), pairs, len(strong), few, left)


def _measured(points: RowsView, places: list[int]) -> Iterator[Association]:
    """Measure by ranks where both columns have an order, by groups where one has, by their cross table otherwise."""
    with_order = [p for p in places if points.columns[p].is_ordered or points.columns[p].kind == "ordinal"]
    groups = [p for p in places if p not in set(with_order)]
    if not points.size:
        return
    ranks = ranked(np.stack([points.values[p] for p in with_order], 1)) if with_order else np.zeros((points.size, 0))
    yield from _by_ranks(ranks, with_order)
    codes = {p: _codes(points, p) for p in groups}
    for p in groups:
        for number, q in enumerate(with_order):
            yield Association(min(p, q), max(p, q), RATIO, correlation_ratio(ranks[:, number], codes[p]))
    for p, q in combinations(groups, 2):
        yield Association(p, q, CRAMER, cramers_v(contingency_counts(codes[p], codes[q])))


def _by_ranks(ranks: FloatArray, places: list[int]) -> Iterator[Association]:
    if len(places) < 2:
        return
    found = correlations(ranks)
    for i, j in combinations(range(len(places)), 2):
        yield Association(places[i], places[j], RANKS, float(found[i, j]))


def _codes(points: RowsView, place: int) -> IntArray:
    """Return the levels of a column as codes, missing last."""
    values = points.values[place]
    return np.where(np.isnan(values), len(points.columns[place].levels), values).astype(np.int64)


def contingency_counts(one: IntArray, other: IntArray) -> FloatArray:
    """Return the cross table of two columns of codes."""
    height, width = int(one.max(initial=0)) + 1, int(other.max(initial=0)) + 1
    return np.bincount(one * width + other, minlength=height * width).reshape(height, width).astype(float)


def correlation_ratio(ranks: FloatArray, codes: IntArray) -> float:
    """Return how much of a column's ranks the groups tell: the root of the share of variance, corrected for chance.

    >>> correlation_ratio(np.array([0.1, 0.2, 0.9, 1.0]), np.array([0, 0, 1, 1])) > 0.9
    True
    >>> correlation_ratio(np.array([0.1, 0.9, 0.1, 0.9]), np.array([0, 0, 1, 1]))
    0.0
    """
    known = ~np.isnan(ranks)
    values, groups = ranks[known], codes[known]
    sizes = np.bincount(groups) if len(groups) else np.zeros(0)
    filled = sizes > 0
    free = len(values) - int(filled.sum())
    whole = float(values.var()) * len(values) if len(values) else 0.0
    if free < 1 or whole <= CONSTANT * len(values):
        return 0.0
    sums = np.bincount(groups, weights=values)[filled]
    between = float((sums**2 / sizes[filled]).sum()) - float(values.sum()) ** 2 / len(values)
    kept = 1 - (whole - between) / whole * (len(values) - 1) / free
    return math.sqrt(min(max(kept, 0.0), 1.0))
