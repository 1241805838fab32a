"""Counting the seeds of a cell by a compiled walk over sorted rows that skips whole runs.

Rows are sorted by their columns, so that rows which begin alike stand together. The walk adds up
-log_gamma p column by column. All terms are 0 or more, and the cheapest term of every later column is known; so when
the sum so far leaves the cell, or cannot reach it, the whole run that begins like this is skipped. What lies in a cell
is decided by the full sum alone, in one order of columns for all rows: skipping has a margin far above rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.compiled import compiled
from sfumato.synthesizers.deniability_law import CELL_SHIFT

MARGIN = 1e-6
"""Kept around the ends of a cell when runs are skipped; rounding is a thousand million times smaller."""
Codes = NDArray[np.int64]


@compiled
def _cost(costs: Any, order: Any, seed: Any, candidate: Any) -> float:
    total = CELL_SHIFT
    for i in order:
        total += costs[i, candidate[i], seed[i]]
    return total


@compiled
def _bounds(costs: Any, order: Any, sizes: Any, candidate: Any, least: Any, most: Any) -> None:
    """Fill in the least and the most that the columns from each place on can add."""
    for at in range(len(order) - 1, -1, -1):
        i = order[at]
        column = costs[i, candidate[i], : sizes[i]]
        least[at] = least[at + 1] + column.min()
        most[at] = most[at + 1] + column.max()


@compiled
def _walk(costs: Any, order: Any, codes: Any, counts: Any, ends: Any, candidate: Any, cell: float, sums: Any,
          least: Any, most: Any) -> int:  # fmt: skip
    """Return how many rows lie in a cell; ``sums[d]`` is the sum over the first d columns of the row at hand."""
    found, row, depth, columns = 0, 0, 0, len(order)
    while row < len(codes):
        skipped = False
        while depth < columns:
            i = order[depth]
            sums[depth + 1] = sums[depth] + costs[i, candidate[i], codes[row, i]]
            depth += 1
            low, high = sums[depth] + least[depth], sums[depth] + most[depth]
            if low >= cell + 1 + MARGIN or high < cell - MARGIN:
                skipped = True
                break
        if not skipped and np.floor(sums[columns]) == cell:
            found += counts[row]
        row = ends[depth - 1, row]
        while row < len(codes) and depth > 0 and ends[depth - 1, row - 1] == row:
            depth -= 1  # the next row begins a new run at this depth, too
    return found


@compiled
def _count(costs: Any, order: Any, sizes: Any, codes: Any, counts: Any, ends: Any, seeds: Any, candidates: Any,
           found: Any) -> None:  # fmt: skip
    sums = np.zeros(len(order) + 1)
    least, most = np.zeros(len(order) + 1), np.zeros(len(order) + 1)
    for c in range(len(candidates)):
        sums[0] = CELL_SHIFT
        cell = np.floor(_cost(costs, order, seeds[c], candidates[c]))
        _bounds(costs, order, sizes, candidates[c], least, most)
        found[c] = _walk(costs, order, codes, counts, ends, candidates[c], cell, sums, least, most)


@dataclass(frozen=True)
class SortedRows:
    """Distinct rows in sorted order, and where the run of rows that begin alike ends, for every number of columns."""

    order: Codes
    codes: Codes
    counts: Codes
    ends: NDArray[np.int32]

    @classmethod
    def of(cls, codes: Codes, counts: Codes, costs: NDArray[np.float64]) -> SortedRows:
        """Sort rows by their columns, first those that tell seeds apart most: they let the longest runs be skipped."""
        order = np.argsort([-_mean_cost(costs[i], column, counts) for i, column in enumerate(codes.T)], kind="stable")
        place = np.lexsort(codes[:, order[::-1]].astype(np.int32).T)
        rows = np.ascontiguousarray(codes[place])
        return cls(order, rows, counts[place], _run_ends(rows[:, order]))


def _mean_cost(costs: NDArray[np.float64], column: Codes, counts: Codes) -> float:
    """Return what two rows of the table add in a column, on average, above the least."""
    shares = np.bincount(column, counts, len(costs)) / counts.sum()
    present = shares > 0
    table = costs[np.ix_(present, present)]
    return float(shares[present] @ (table - table.min(axis=1, keepdims=True)) @ shares[present])


def _run_ends(rows: Codes) -> NDArray[np.int32]:
    """Return, for each number of leading columns and each row, the first row that begins otherwise."""
    ends = np.empty((rows.shape[1], len(rows)), np.int32)
    changed = np.zeros(max(len(rows) - 1, 0), bool)
    for depth in range(rows.shape[1]):
        changed |= rows[1:, depth] != rows[:-1, depth]
        stops = np.append(np.flatnonzero(changed) + 1, len(rows))
        ends[depth] = np.repeat(stops, np.diff(stops, prepend=0))
    return ends


def count_cells(costs: NDArray[np.float64], sizes: Codes, rows: SortedRows, seeds: Codes, candidates: Codes) -> Codes:
    """Return how many rows lie in the cell of each seed, given its candidate.

    ``costs[i, y, s]`` is -log_gamma of the probability that column i moves from code s to code y.
    """
    found = np.zeros(len(candidates), np.int64)
    _count(costs, rows.order, sizes, rows.codes, rows.counts, rows.ends, np.ascontiguousarray(seeds),
           np.ascontiguousarray(candidates), found)  # fmt: skip
    return found
