"""Nested groups of a column of numbers or dates: runs of neighbouring cells, halved by mass, the heaviest run first.

A table of k columns with b groups each costs the noise of b^k cells, so tables want different resolutions: many groups
for a pair that hangs together closely, two for four columns at once. After 2, 4, 8, ... runs the halving is
remembered: each resolution is a union of the finer ones, and a table at any of them is a sum of the finest. Masses
and covariance come from noisy counts that were paid for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Array

Groups = NDArray[np.int32]


@dataclass(frozen=True)
class Nested:
    """The group of each cell at the finest resolution, and the group of each finest group at the coarser ones."""

    groups: Groups
    coarser: Mapping[int, Groups]
    """By number of groups (2, 4, ...): which of them each finest group lies in."""

    @property
    def size(self) -> int:
        """Groups at the finest resolution."""
        return int(self.groups.max()) + 1

    def with_missing(self) -> Nested:
        """Return the same with one cell more, the missing level: a group of its own at every resolution."""
        last = {level: np.append(coarse, coarse.max() + 1).astype(np.int32) for level, coarse in self.coarser.items()}
        return Nested(np.append(self.groups, self.size).astype(np.int32), last)


def nested_groups(masses: Array, covariance: Array, most: int, threshold: float) -> Nested:
    """Halve runs of cells until there are ``most``, or no run has two halves that stand above their noise.

    A half must have at least ``threshold`` standard deviations of its noise. A cell too heavy to be halved stays a
    run of its own, so that an atom ends up alone.
    """
    halving = _Halving(np.maximum(masses, 0.0), covariance, threshold)
    cuts, seen = [0], dict[int, list[int]]()
    open_runs = {(0, len(masses))}
    while len(cuts) < most and open_runs:
        run = max(open_runs, key=lambda ends: (halving.mass(*ends), ends))
        open_runs.remove(run)
        middle = halving.middle(*run)
        if middle is None:
            continue
        cuts.append(middle)
        open_runs |= {(run[0], middle), (middle, run[1])}
        if len(cuts) & (len(cuts) - 1) == 0:
            seen[len(cuts)] = sorted(cuts)
    finest = sorted(cuts)
    groups = np.searchsorted(finest, np.arange(len(masses)), side="right") - 1
    coarser = {
        level: (np.searchsorted(coarse, finest, side="right") - 1).astype(np.int32)
        for level, coarse in seen.items()
        if level < len(finest)
    }
    return Nested(groups.astype(np.int32), coarser)


class _Halving:
    """Masses of runs and the noise in them, from sums up to each cell."""

    def __init__(self, masses: Array, covariance: Array, threshold: float) -> None:
        self._ends = np.append(0.0, np.cumsum(masses))
        self._covariance, self._threshold = covariance, threshold

    @cached_property
    def _squares(self) -> Array:
        return np.pad(self._covariance.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))

    def mass(self, first: int, last: int) -> float:
        """Return the mass of a run."""
        return float(self._ends[last] - self._ends[first])

    def middle(self, first: int, last: int) -> int | None:
        """Return the cell that begins the second half: as even as can be, both halves above their noise."""
        edges = np.arange(first + 1, last)
        left, right = self._ends[edges] - self._ends[first], self._ends[last] - self._ends[edges]
        fit = (left > self._noise(first, edges)) & (right > self._noise(edges, last))
        if not fit.any():
            return None
        return int(edges[np.argmin(np.where(fit, np.abs(left - right), np.inf))])

    def _noise(self, first: Any, last: Any) -> Array:
        squares = self._squares
        variance = squares[last, last] - squares[first, last] - squares[last, first] + squares[first, first]
        return self._threshold * np.sqrt(np.maximum(variance, 0.0))
