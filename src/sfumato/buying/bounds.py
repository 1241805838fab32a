"""The second count of numbers and dates: cells between round numbers around the decades that were found.

Bounds are read off the noisy counts: from the first to the last place where some run of neighbouring cells holds more
rows than noise alone would give. Cells are wide where noise is: 1, 2, 5, 10, ... hold what lies in a long tail
together, and only where the rows lie within one decade, and are many, is that decade cut into equal cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import special

from sfumato.arrays import Counts

MANTISSAS = (1, 2, 5)
ROUND_NUMBERS: tuple[float, ...] = tuple(
    sorted({0.0} | {sign * m * 10.0**k for k in range(-4, 12) for m in MANTISSAS for sign in (-1, 1)})
)
TAIL_EDGES = 6
"""Round numbers beyond the span on each side: what the first count could not see."""
EQUAL_CELLS = (90, 45, 18, 9)
"""Into how many equal cells a decade may be cut."""
UNITS = 10
"""Whole numbers below it have a cell each, where rows are many."""
ROWS_PER_CELL = 10
"""How many standard deviations of the noise an equal cell must hold on average."""
LONGEST_RUN = 16
FALSE_ALARM = 0.02
"""Probability that empty cells alone widen the bounds of one column."""
HIDDEN_SHARE = 1 / 200
"""Share of the rows that noise may hide at one end before the bounds go one round number further out."""
FIRST_YEAR, LAST_YEAR = 1900, 2100


def number_edges(span: tuple[float, float], whole: bool, most_cells: float) -> tuple[float, ...]:
    """Return the edges of the second count of a column whose numbers lie between two decades.

    ``most_cells`` is how many cells the rows can fill so that each rises above the noise.

    >>> number_edges((100.0, 1000.0), whole=True, most_cells=9)[6:12]
    (100.0, 200.0, 300.0, 400.0, 500.0, 600.0)
    """
    low, high = span
    inside = [edge for edge in ROUND_NUMBERS if low <= edge <= high]
    below, above = [e for e in ROUND_NUMBERS if e < low], [e for e in ROUND_NUMBERS if e > high]
    edges = below[-TAIL_EDGES:] + (_equal(low, high, most_cells) or inside) + above[:TAIL_EDGES]
    if not whole:
        return tuple(edges)
    near_zero = range(UNITS + 1) if most_cells >= UNITS else (0, 1, 2, 5, UNITS)
    units = near_zero if low <= UNITS and high > 0 else ()
    return tuple(sorted({edge for edge in edges if edge == int(edge)} | {float(unit) for unit in units}))


def _equal(low: float, high: float, most_cells: float) -> list[float]:
    """Return the edges of equal cells where the span is one decade, of positive or of negative numbers."""
    cells = next((each for each in EQUAL_CELLS if each <= most_cells), None)
    if cells is None or low * high <= 0 or not math.isclose(max(low / high, high / low), 10):
        return []
    return [_tidy(low + (high - low) * i / cells) for i in range(cells + 1)]


def _tidy(number: float) -> float:
    """Return a number without the last digits of machine arithmetic: 0.30000000000000004 is 0.3."""
    return float(f"{number:.12g}")


def year_edges() -> tuple[float, ...]:
    """Return the edges of the years of dates."""
    return tuple(float(year) for year in range(FIRST_YEAR, LAST_YEAR + 2))


def occupied(noisy: Counts, sigma: float) -> tuple[int, int] | None:
    """Return the first cell and the one past the last between which rows lie, from noisy counts alone.

    A run of w neighbouring cells holds rows where its sum is above z sigma sqrt(w), z so large that all runs of empty
    cells together stay below it with probability 1 - FALSE_ALARM. The upper end is that of the shortest such run among
    those that begin last; the lower end likewise.
    """
    sums = np.concatenate([[0], np.cumsum(noisy)])
    lengths = [1 << i for i in range(LONGEST_RUN.bit_length()) if 1 << i <= len(noisy)]
    limit = rows_of_a_cell(len(noisy) * len(lengths), sigma)
    runs = [(int(i), w) for w in lengths for i in np.flatnonzero(sums[w:] - sums[:-w] >= limit * math.sqrt(w))]
    if not runs:
        return None
    start, length = max(runs, key=lambda run: (run[0], -run[1]))
    end, shortest = min((i + w, w) for i, w in runs)
    return min(end - shortest, start), max(start + length, end)


def rows_of_a_cell(tests: int, sigma: float) -> float:
    """Return the noisy count that so many empty cells together reach with probability FALSE_ALARM at most."""
    return float(-special.ndtri(FALSE_ALARM / tests)) * sigma


def further_out(low: float, high: float, whole: bool) -> tuple[float, float]:
    """Return bounds one round number further out: for tails that noise hides, at no cost, as no row is asked again.

    Zero stays, which numbers seldom cross, and so do ends among the first whole numbers, which have cells of their own.

    >>> further_out(5000.0, 50000.0, whole=True), further_out(0.0, 0.7, whole=False), further_out(0.0, 1.0, whole=True)
    ((2000.0, 100000.0), (0.0, 1.0), (0.0, 1.0))
    """
    near = whole and abs(high) <= UNITS
    below = max((each for each in ROUND_NUMBERS if each < low), default=low)
    above = min((each for each in ROUND_NUMBERS if each > high), default=high)
    return low if low == 0 or (near and abs(low) <= UNITS) else below, high if high == 0 or near else above


def hidden_share(cells: int, sigma: float, rows: int) -> float:
    """Return the share of the rows that noise can hide at one end of a second count, from noisy counts alone."""
    return rows_of_a_cell(cells * LONGEST_RUN.bit_length(), sigma) / max(rows, 1)


def common_values(noisy: Counts, edges: Sequence[float], sigma: float) -> tuple[int, ...]:
    """Return the whole numbers of unit cells that hold rows for certain, each by itself and with a margin of two."""
    limit = 2 * rows_of_a_cell(len(noisy), sigma)
    cells = zip(edges[:-1], edges[1:], noisy, strict=True)
    return tuple(int(low) for low, high, rows in cells if high - low == 1 and rows >= limit)
