"""Covering sets for the hand-written rivals: fewer, larger tables that contain all pairs, and how to sum axes out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
from counting_data import FIELDS, PAIRS, SIZES

ColumnSet = tuple[int, ...]
Counts = np.ndarray
Tables = dict[ColumnSet, Counts]
LIMIT = 65_536
"""Cells of a covering table; for NumPy, DuckDB and polars as fast as or faster than 16,384, each in fresh processes."""


@cache
def covering(limit: int = LIMIT) -> tuple[ColumnSet, ...]:
    """Return column sets of at most ``limit`` cells (a larger pair stands alone) that contain every pair; greedy.

    The warm-up fills the cache, so the search is outside the time: a hand would write the sets down.
    """
    left, chosen = set(PAIRS), list[ColumnSet]()
    while left:
        best = max((_grow(pair, left, limit) for pair in left), key=lambda s: (_covered(s, left), -cells(s), s))
        left -= {pair for pair in left if set(pair) <= set(best)}
        chosen.append(best)
    return tuple(chosen)


def _grow(members: ColumnSet, left: set[ColumnSet], limit: int) -> ColumnSet:
    while True:
        wider = [tuple(sorted((*members, c))) for c in range(len(FIELDS)) if c not in members]
        useful = [s for s in wider if cells(s) <= limit and _covered(s, left) > _covered(members, left)]
        if not useful:
            return members
        members = max(useful, key=lambda s: (_covered(s, left), -cells(s)))


def _covered(members: ColumnSet, left: set[ColumnSet]) -> int:
    return sum(a in members and b in members for a, b in left)


def cells(members: ColumnSet) -> int:
    """Return the number of cells of a table."""
    return int(np.prod([SIZES[c] for c in members]))


def pairs_of(sets: Sequence[ColumnSet], counts: Iterable[Counts]) -> Tables:
    """Sum the axes out that a pair does not have."""
    tables: Tables = {}
    for members, flat in zip(sets, counts, strict=True):
        table = flat.reshape([SIZES[c] for c in members])
        for pair in (pair for pair in PAIRS if set(pair) <= set(members) and pair not in tables):
            tables[pair] = table.sum(axis=tuple(axis for axis, c in enumerate(members) if c not in pair))
    return tables
