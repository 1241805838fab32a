"""Greedy cover: few marginals from which all requested ones can be summed.

Counting a three-way table that holds three wanted pairs costs one increment per row instead of three. The cover is
greedy; its tables stay small enough for the processor's cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import BoolArray

ColumnSet = tuple[str, ...]
SEEDS = 24
"""How many of the largest uncovered sets are tried as the start of the next table."""
WORK = 20_000
"""Entries of (sets x columns) above which fewer starts are tried: a cover must not take longer than the counting."""


def marginal_cover(sizes: Mapping[str, int], wanted: Sequence[ColumnSet], limit: int) -> list[ColumnSet]:
    """Return column sets of at most ``limit`` cells (or single wanted sets above it) that contain every wanted set.

    >>> marginal_cover({"a": 2, "b": 2, "c": 2}, [("a", "b"), ("b", "c"), ("a", "c")], limit=8)
    [('a', 'b', 'c')]
    """
    return list(_cover(tuple(sizes.items()), tuple(wanted), limit))


@lru_cache(maxsize=64)
def _cover(sizes: tuple[tuple[str, int], ...], wanted: tuple[ColumnSet, ...], limit: int) -> tuple[ColumnSet, ...]:
    names = [name for name, _ in sizes]
    places = {name: place for place, name in enumerate(names)}
    distinct = sorted({tuple(sorted(places[name] for name in members)) for members in wanted})
    search = _GreedyCover.of(distinct, np.array([float(size) for _, size in sizes]), limit)
    chosen: list[ColumnSet] = []
    while len(search.open):
        best = max((search.grown(seed) for seed in search.seeds()), key=search.value)
        chosen.append(tuple(names[place] for place in np.flatnonzero(best)))
        search.open = search.open[~search.inside(best)]
    return tuple(chosen)


@dataclass
class _GreedyCover:
    """The sets that no table holds yet, one row each, the largest first."""

    open: BoolArray
    sizes: NDArray[np.float64]
    limit: float

    @classmethod
    def of(cls, wanted: Sequence[tuple[int, ...]], sizes: NDArray[np.float64], limit: int) -> _GreedyCover:
        rows = np.zeros((len(wanted), len(sizes)), dtype=bool)
        for row, members in zip(rows, wanted, strict=True):
            row[list(members)] = True
        cells = np.where(rows, np.log(sizes), 0.0).sum(axis=1)
        return cls(rows[np.argsort(-cells, kind="stable")], sizes, float(limit))

    def cells(self, table: BoolArray) -> float:
        return float(np.prod(self.sizes[table]))

    def seeds(self) -> BoolArray:
        return self.open[: max(1, min(SEEDS, WORK // self.open.size))]

    def inside(self, table: BoolArray) -> BoolArray:
        return np.logical_not((self.open & ~table).any(axis=1))

    def value(self, table: BoolArray) -> tuple[int, float]:
        return int(self.inside(table).sum()), -self.cells(table)

    def grown(self, table: BoolArray) -> BoolArray:
        """Add columns that complete the most sets for the fewest cells, while the table stays small."""
        while True:
            lacking = self.open & ~table
            missing = lacking.sum(axis=1)
            fitting = (missing > 0) & (
                np.where(lacking, self.sizes, 1.0).prod(axis=1) * self.cells(table) <= self.limit
            )
            if not fitting.any():
                return table
            nearest = fitting & (missing == missing[fitting].min())
            table = table | self._best(lacking[nearest])

    def _best(self, steps: BoolArray) -> BoolArray:
        """Return the step that most sets ask for; among equals the one of fewest cells."""
        marginals, counts = np.unique(steps, axis=0, return_counts=True)
        cells = np.where(marginals, self.sizes, 1.0).prod(axis=1)
        return marginals[np.lexsort((cells, -counts))[0]]


def sum_to_marginal(table: NDArray[np.int64], names: ColumnSet, wanted: ColumnSet) -> NDArray[np.int64]:
    """Sum a table over the columns that are not wanted, and put the axes into the wanted order."""
    drop = tuple(axis for axis, name in enumerate(names) if name not in wanted)
    left = [name for name in names if name in wanted]
    summed = table.sum(axis=drop) if drop else table
    return np.ascontiguousarray(np.transpose(summed, [left.index(name) for name in wanted]))
