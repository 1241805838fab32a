"""The shape inside a group, from noisy counts: how a group's rows are spread over its fine cells.

Noisy cells taken at face value would copy the noise into the rows. So each shape is pulled towards a public one (width
for ordered columns, equal shares for levels) by as much as noise explains what was seen: of a deviation d under noise
of variance v the share 1 - v / d^2 is kept, none if that is negative. That is signal over signal and noise, for the
mean of d^2 is the sum of both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def kept_signal(squared: float, variance: float) -> float:
    """Return which share of a deviation is signal: none below the noise, nearly all far above it.

    >>> kept_signal(squared=100.0, variance=10.0)
    0.9
    """
    return max(0.0, 1 - variance / squared) if squared > 0 else 0.0


def ordered_shares(noisy: Array, widths: Array, sigma: float) -> Array:
    """Return the shares of neighbouring cells, halved again and again.

    Every halving splits a mass between left and right: by least squares from the noisy counts, then pulled towards the
    split by widths. Coarse halves sum many cells, so a tail that falls off is seen long before any of its cells is.
    """
    return _Halving(np.append(0.0, np.cumsum(noisy)), np.append(0.0, np.cumsum(widths)), sigma).shares()


class _Halving:
    """Prefix sums of noisy counts and of widths, and the masses that follow from them."""

    def __init__(self, counts: Array, widths: Array, sigma: float) -> None:
        self.counts = counts
        self.widths = widths
        self.variance = sigma**2
        self.masses = np.zeros(len(counts) - 1)

    def shares(self) -> Array:
        total = float(self.counts[-1])
        if total <= 0:
            return np.diff(self.widths) / self.widths[-1]
        self._spread(0, len(self.masses), total)
        return self.masses / self.masses.sum()

    def _spread(self, first: int, last: int, mass: float) -> None:
        if last - first == 1:
            self.masses[first] = mass
            return
        middle = (first + last) // 2
        left = self._left_mass(first, middle, last, mass)
        self._spread(first, middle, left)
        self._spread(middle, last, mass - left)

    def _left_mass(self, first: int, middle: int, last: int, mass: float) -> float:
        counts, widths = self.counts, self.widths
        part = (middle - first) / (last - first)
        by_width = mass * float((widths[middle] - widths[first]) / (widths[last] - widths[first]))
        # What the two halves sum to beyond the mass is noise; each cell bears an equal part of it.
        seen = float(counts[middle] - counts[first]) + part * (mass - float(counts[last] - counts[first]))
        deviation = seen - by_width
        variance = self.variance * part * (last - middle)
        kept = kept_signal(deviation**2, variance)
        return min(max(by_width + kept * deviation, 0.0), mass)


def level_shares(noisy: Array, sigma: float) -> Array:
    """Return the shares of levels without order: projected to counts of at least 0, then blended with equal shares.

    The deviation of all levels together has one variance less than there are levels, because their sum is given.
    """
    count = len(noisy)
    total = float(noisy.sum())
    equal = np.full(count, 1 / count)
    if total <= 0:
        return equal
    kept = kept_signal(float(((noisy - total / count) ** 2).sum()), (count - 1) * sigma**2)
    projected = nearest_nonnegative(noisy, total)
    return kept * projected / projected.sum() + (1 - kept) * equal


def nearest_nonnegative(values: Array, total: float) -> Array:
    """Return the numbers of at least 0 with the given sum that lie nearest: all lowered alike, negative ones cut.

    >>> nearest_nonnegative(np.array([5.0, 1.0, -2.0]), 4.0).tolist()
    [4.0, 0.0, 0.0]
    """
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(values) + 1)
    kept = np.flatnonzero(falling > excess)[-1]
    return np.maximum(values - excess[kept], 0.0)
