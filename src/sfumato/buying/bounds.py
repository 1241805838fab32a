"""The second count of numbers and dates: equal cells over the decades that were found, and a few beyond on both sides.

Bounds are read off the noisy counts: from the first to the last place where some run of neighbouring cells holds more
rows than noise alone would give. Edges are round numbers, and the same for all tables with the same first count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import special

from sfumato.arrays import Counts

CELLS = 500
"""Equal cells over the span, at most."""
TAIL_EDGES = 8
"""Round numbers beyond the span on each side: what the first count could not see."""
LONGEST_RUN = 64
FALSE_ALARM = 0.05
"""Probability that empty cells alone widen the bounds of one column."""
FIRST_YEAR, LAST_YEAR = 1900, 2100
MANTISSAS = (1, 2, 5)
ROUND_NUMBERS: tuple[float, ...] = tuple(
    sorted({0.0} | {sign * m * 10.0**k for k in range(-4, 12) for m in MANTISSAS for sign in (-1, 1)})
)


def number_edges(low: float, high: float, whole: bool) -> tuple[float, ...]:
    """Return the edges of the second count of a column whose numbers lie between two decades.

    >>> number_edges(0.0, 10.0, whole=True)[3:16]
    (-20.0, -10.0, -5.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)
    """
    width = _round_width((high - low) / CELLS)
    width = max(1.0, width) if whole else width
    first, last = math.floor(low / width), math.ceil(high / width)
    equal = [_tidy(i * width) for i in range(first, last + 1)]
    allowed = [edge for edge in ROUND_NUMBERS if not whole or edge == int(edge)]
    below, above = [e for e in allowed if e < equal[0]], [e for e in allowed if e > equal[-1]]
    return tuple(below[-TAIL_EDGES:] + equal + above[:TAIL_EDGES])


def year_edges() -> tuple[float, ...]:
    """Return the edges of the years of dates."""
    return tuple(float(year) for year in range(FIRST_YEAR, LAST_YEAR + 2))


def _round_width(width: float) -> float:
    power = 10.0 ** math.floor(math.log10(width))
    return _tidy(next(m * power for m in (*MANTISSAS, 10) if m * power >= width * (1 - 1e-9)))


def _tidy(number: float) -> float:
    """Return a number without the last digits of machine arithmetic: 0.30000000000000004 is 0.3."""
    return float(f"{number:.12g}")


def occupied(noisy: Counts, sigma: float) -> tuple[int, int] | None:
    """Return the first cell and the one past the last between which rows lie, from noisy counts alone.

    A run of w neighbouring cells holds rows where its sum is above z sigma sqrt(w), z so large that all runs of empty
    cells together stay below it with probability 1 - FALSE_ALARM. The upper end is that of the shortest such run among
    those that begin last; the lower end likewise.
    """
    sums = np.concatenate([[0], np.cumsum(noisy)])
    lengths = [1 << i for i in range(LONGEST_RUN.bit_length()) if 1 << i <= len(noisy)]
    limit = _limit(len(noisy) * len(lengths), sigma)
    runs = [(int(i), w) for w in lengths for i in np.flatnonzero(sums[w:] - sums[:-w] >= limit * math.sqrt(w))]
    if not runs:
        return None
    start, length = max(runs, key=lambda run: (run[0], -run[1]))
    end, lowest = min((i + w, w) for i, w in runs)
    return end - lowest, start + length


def _limit(tests: int, sigma: float) -> float:
    return float(-special.ndtri(FALSE_ALARM / tests)) * sigma


def common_values(noisy: Counts, edges: Sequence[float], sigma: float) -> tuple[int, ...]:
    """Return the whole numbers of unit cells that hold rows for certain, each by itself."""
    limit = _limit(len(noisy), sigma)
    cells = zip(edges[:-1], edges[1:], noisy, strict=True)
    return tuple(int(low) for low, high, rows in cells if high - low == 1 and rows >= limit)
