"""Count the plausible seeds of a candidate by a compiled walk over sorted rows.

Rows are sorted by their columns, so that rows which begin alike stand together. The walk adds up costs -ln p column by
column. All terms are 0 or more, and the cheapest term of every later column is known; so when the sum so far leaves the
cell, or cannot reach it, the whole run that begins like this is skipped.

Proof note. The theorem needs the cell of a seed to be a function of seed and candidate alone, with a ratio of at most
gamma inside it. The order of the columns is chosen by the private rows, for speed; so the sum must not depend on it.
Costs are therefore whole numbers, round(-ln p * 2^40), computed from the public kernels, and 64-bit sums of them are
exact in any order. Cell i holds the costs from i * w to (i + 1) * w - 1 with the public, whole w = floor(ln gamma *
2^40) - d - 2 for d columns. Two costs of one cell differ by less than w; each is off by at most half a unit a column,
and the logarithms by far less than one unit in all: so -ln p differs by less than ln gamma. A move that is impossible
costs more than all possible ones together, and lies in no cell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.jit import jit

UNITS = 2**40
"""Units of a cost in one nat."""
DEAREST = 2**50
"""No possible move costs as much: -ln of the smallest float is below 746 nats."""
Codes = NDArray[np.int64]


def cell_width(gamma: float, columns: int) -> int:
    """Return the width of a cell in units: less than ln gamma by what rounding can add to a difference of two costs.

    >>> cell_width(2.0, 3) == int(math.log(2) * 2**40) - 5
    True
    """
    return math.floor(math.log(gamma) * UNITS) - columns - 2


def whole_costs(kernels: Sequence[NDArray[np.float64]]) -> NDArray[np.int64]:
    """Return ``costs[i, y, s]``: what column i adds when it moves from code s to code y, in units, padded."""
    longest, impossible = max(len(kernel) for kernel in kernels), (len(kernels) + 1) * DEAREST
    costs = np.full((len(kernels), longest, longest), impossible, np.int64)
    for i, kernel in enumerate(kernels):
        with np.errstate(divide="ignore"):
            nats = -np.log(kernel.T)
        possible = np.isfinite(nats)
        costs[i, : len(kernel), : len(kernel)][possible] = np.rint(nats[possible] * UNITS).astype(np.int64)
    return np.maximum(costs, 0)


@jit
def _cost(costs: Any, order: Any, seed: Any, candidate: Any) -> int:
    total = 0
    for i in order:
        total = min(total + costs[i, candidate[i], seed[i]], (len(order) + 1) * DEAREST)
    return total


@jit
def _bounds(costs: Any, order: Any, sizes: Any, candidate: Any, least: Any, most: Any) -> None:
    """Fill in the least and the most that the columns from each place on can add."""
    for at in range(len(order) - 1, -1, -1):
        i = order[at]
        column = costs[i, candidate[i], : sizes[i]]
        least[at] = least[at + 1] + column.min()
        most[at] = min(most[at + 1] + column.max(), (len(order) + 1) * DEAREST)


@jit
def _count_in_cell(
    costs: Any, rows: Any, candidate: Any, start: int, width: int, sums: Any, least: Any, most: Any
) -> int:
    """Return how many rows lie in a cell; ``sums[d]`` is the sum over the first d columns of the row at hand.

    ``rows`` holds order, codes, counts and ends of the :class:`SortedRows`.
    """
    order, codes, counts, ends = rows
    inside, row, depth, columns = 0, 0, 0, len(order)
    while row < len(codes):
        skipped = False
        while depth < columns:
            i = order[depth]
            sums[depth + 1] = sums[depth] + costs[i, candidate[i], codes[row, i]]
            depth += 1
            if sums[depth] + least[depth] >= start + width or sums[depth] + most[depth] < start:
                skipped = True
                break
        if not skipped:
            inside += counts[row]
        row = ends[depth - 1, row]
        while row < len(codes) and depth > 0 and ends[depth - 1, row - 1] == row:
            depth -= 1  # the next row begins a new run at this depth, too
    return inside


@jit
def _count(costs: Any, sizes: Any, width: int, rows: Any, seeds: Any, candidates: Any, found: Any) -> None:
    order = rows[0]
    sums = np.zeros(len(order) + 1, np.int64)
    least, most = np.zeros(len(order) + 1, np.int64), np.zeros(len(order) + 1, np.int64)
    for c in range(len(candidates)):
        cost = _cost(costs, order, seeds[c], candidates[c])
        if cost >= (len(order) + 1) * DEAREST:
            continue  # what no seed can have made lies in no cell
        start = cost // width * width
        _bounds(costs, order, sizes, candidates[c], least, most)
        found[c] = _count_in_cell(costs, rows, candidates[c], start, width, sums, least, most)


@dataclass(frozen=True)
class SortedRows:
    """Distinct rows in sorted order, and where the run of rows that begin alike ends, for every number of columns."""

    order: Codes
    codes: Codes
    counts: Codes
    ends: NDArray[np.int32]

    @classmethod
    def of(cls, codes: Codes, counts: Codes, costs: NDArray[np.int64]) -> SortedRows:
        """Sort rows by their columns, first those that tell seeds apart most: they let the longest runs be skipped."""
        order = np.argsort([-_mean_cost(costs[i], column, counts) for i, column in enumerate(codes.T)], kind="stable")
        place = np.lexsort(codes[:, order[::-1]].astype(np.int32).T)
        rows = np.ascontiguousarray(codes[place])
        return cls(order, rows, counts[place], _run_ends(rows[:, order]))


def _mean_cost(costs: NDArray[np.int64], column: Codes, counts: Codes) -> float:
    """Return what two rows of the table add in a column, on average, above the least."""
    shares = np.bincount(column, counts, len(costs)) / max(int(counts.sum()), 1)
    present = np.bincount(column, minlength=len(costs)) > 0
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


def count_plausible_seeds(
    costs: NDArray[np.int64], sizes: Codes, width: int, rows: SortedRows, seeds: Codes, candidates: Codes
) -> Codes:
    """Return how many rows lie in the cell of each seed, given its candidate."""
    counts = np.zeros(len(candidates), np.int64)
    parts = (rows.order, rows.codes, rows.counts, rows.ends)
    _count(costs, sizes, width, parts, np.ascontiguousarray(seeds), np.ascontiguousarray(candidates), counts)
    return counts
