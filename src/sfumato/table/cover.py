"""Fewer, larger tables that contain all wanted ones: count those, then sum axes out.

Counting a three-way table that holds three wanted pairs costs one increment per row instead of three. The cover is
greedy; its tables stay small enough for the processor's cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

ColumnSet = tuple[str, ...]
SEEDS = 24
"""How many of the largest uncovered sets are tried as the start of the next table."""


def cover(sizes: Mapping[str, int], wanted: Sequence[ColumnSet], limit: int) -> list[ColumnSet]:
    """Return column sets of at most ``limit`` cells (or single wanted sets above it) that contain every wanted set.

    >>> cover({"a": 2, "b": 2, "c": 2}, [("a", "b"), ("b", "c"), ("a", "c")], limit=8)
    [('a', 'b', 'c')]
    """
    return list(_cover(tuple(sizes.items()), tuple(wanted), limit))


@lru_cache(maxsize=64)
def _cover(sizes: tuple[tuple[str, int], ...], wanted: tuple[ColumnSet, ...], limit: int) -> tuple[ColumnSet, ...]:
    order = {name: position for position, (name, _) in enumerate(sizes)}
    search = _Search(dict(sizes), limit, {frozenset(names) for names in wanted})
    chosen: list[ColumnSet] = []
    while search.open:
        best = max((search.grow(seed) for seed in search.seeds()), key=search.value)
        chosen.append(tuple(sorted(best, key=order.__getitem__)))
        search.open = {names for names in search.open if not names <= best}
    return tuple(chosen)


@dataclass
class _Search:
    sizes: Mapping[str, int]
    limit: int
    open: set[frozenset[str]]
    _cells: dict[frozenset[str], int] = field(default_factory=dict[frozenset[str], int])

    def cells(self, names: frozenset[str]) -> int:
        if names not in self._cells:
            total = 1
            for name in names:
                total *= self.sizes[name]
            self._cells[names] = total
        return self._cells[names]

    def seeds(self) -> list[frozenset[str]]:
        return sorted(self.open, key=lambda names: (-self.cells(names), sorted(names)))[:SEEDS]

    def value(self, names: frozenset[str]) -> tuple[int, int]:
        return sum(wanted <= names for wanted in self.open), -self.cells(names)

    def grow(self, names: frozenset[str]) -> frozenset[str]:
        """Add the sets that cost the fewest new cells per set covered, while the table stays small."""
        while True:
            fits = [m for w in self.open if not w <= names and self.cells(m := names | w) <= self.limit]
            if not fits:
                return names
            best = max(set(fits), key=lambda m: (self.value(m)[0] - len(m - names), -self.cells(m), sorted(m)))
            names = best


def marginal(table: NDArray[np.int64], names: ColumnSet, wanted: ColumnSet) -> NDArray[np.int64]:
    """Sum a table over the columns that are not wanted, and put the axes into the wanted order."""
    drop = tuple(axis for axis, name in enumerate(names) if name not in wanted)
    left = [name for name in names if name in wanted]
    summed = table.sum(axis=drop) if drop else table
    return np.ascontiguousarray(np.transpose(summed, [left.index(name) for name in wanted]))
