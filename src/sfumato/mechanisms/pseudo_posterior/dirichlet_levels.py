"""Private posterior of a categorical target: noisy counts and a Dirichlet per cell.

Mechanism. Public rules put every record into one of G cells (a few coarse parts of the predictors) and one of k levels
of the target. All G k counts get discrete Laplace noise, or discrete Gaussian noise where a delta is given. In each
cell, the noisy counts, projected to numbers of 0 or more with their noisy sum, are added to a prior that stands for
the noisy shares of all cells together; shares are drawn from that Dirichlet law, and levels from the shares.

Theorem. The noisy counts are (epsilon, delta)-DP under add-remove and under replace. Proof. A record lies in one of the
G k places, by its own values: one that comes or goes moves one count by 1, a replaced one moves two. Where the
predictors are public and only a target is changed, both places lie in one cell: two counts, too. So L1 is 1 or 2
(``histogram_l1``), and discrete Laplace noise of scale L1 / epsilon is epsilon-DP: for whole y, log P(c + Z = y)
differs between neighbours by at most |c - c'|_1 / scale. Gaussian noise is certified as for any table of counts
(:mod:`sfumato.privacy.accounting.gaussian_calibration`). Prior, projection, any number of draws and of rows are
post-processing. QED

Public: cells, levels, epsilon, delta, adjacency. Empty places get noise like all others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import FloatArray, project_counts
from sfumato.privacy.accounting.event import EventPart
from sfumato.privacy.accounting.gaussian_calibration import certified_discrete_parts
from sfumato.privacy.accounting.sensitivity import changed_cells, histogram_l1
from sfumato.privacy.exact import Number, round_down, to_fraction
from sfumato.privacy.noise import add_gaussian, add_laplace_scale, laplace_scale
from sfumato.privacy.randomness import Randomness
from sfumato.sampling.values import draw_conditional

Batch = tuple[Any, Any]
PRIOR_RECORDS = 0.5
"""The prior of a level counts as so many records, and as many more for each standard deviation of the noise."""


@dataclass(frozen=True, kw_only=True)
class NoisyLevelCounts:
    """Noisy counts of ``levels`` of a target in ``cells`` of its predictors.

    >>> scale = lambda adjacency: NoisyLevelCounts(levels=2, cells=3, epsilon=1, adjacency=adjacency).part.scale
    >>> [scale("add-remove"), scale("replace")]
    [1.0, 2.0]
    """

    levels: int
    cells: int
    epsilon: Number
    delta: Number = 0
    adjacency: str = "add-remove"

    @property
    def is_pure(self) -> bool:
        """Whether the noise is Laplace."""
        return to_fraction(self.delta, "delta") == 0

    @property
    def part(self) -> EventPart:
        """What the event records: counts, their sensitivity, and the scale of the noise."""
        moved, size = histogram_l1(self.adjacency), self.cells * self.levels
        if self.is_pure:
            scale = laplace_scale(self.epsilon, moved)
            return EventPart(stage="levels by cell", cells=size, sensitivity=moved, scale=scale)
        bare = EventPart(stage="levels by cell", cells=size, changed_cells=changed_cells(self.adjacency), scale=1.0)
        budget = round_down(to_fraction(self.epsilon)), round_down(to_fraction(self.delta, "delta"))
        return certified_discrete_parts([bare], [1.0], *budget)[0]

    def total(self, batches: Iterable[Batch]) -> NDArray[np.int64]:
        """Return the true counts over all batches of (codes, cells): they may not leave without noise."""
        counts = np.zeros(self.cells * self.levels, np.int64)
        for codes, cells in batches:
            level = np.asarray(codes, np.int64)
            cell = np.zeros(len(level), np.int64) if cells is None else np.asarray(cells, np.int64)
            counts += np.bincount(cell * self.levels + level, minlength=len(counts))
        return counts

    def measure(self, total: NDArray[np.int64], randomness: Randomness) -> NoisyShares:
        """Add the noise of ``part`` to the true counts."""
        scale = self.part.scale
        add = add_laplace_scale if self.is_pure else add_gaussian
        noisy = add(total, scale, randomness).reshape(self.cells, self.levels)
        return NoisyShares(noisy, scale * (math.sqrt(2) if self.is_pure else 1.0))

    def release(self, batches: Iterable[Batch], randomness: Randomness) -> NoisyShares:
        """Return the noisy counts of a table, at the cost of (epsilon, delta)."""
        return self.measure(self.total(batches), randomness)


@dataclass(frozen=True, eq=False)
class NoisyShares:
    """Released counts, cells by levels: everything made from them is post-processing."""

    counts: NDArray[np.int64]
    deviation: float
    """Standard deviation of the noise on each count."""

    @cached_property
    def concentration(self) -> FloatArray:
        """The Dirichlet posterior of each cell: cells that the noise drowns fall back on all cells together."""
        pooled = project_counts(self.counts.sum(axis=0)) + 1
        prior = PRIOR_RECORDS * (1 + self.deviation) * len(pooled) * pooled / pooled.sum()
        cell_counts = [
            project_counts(row, float(row.sum())) if row.sum() > 0 else np.zeros(len(row)) for row in self.counts
        ]
        return prior + np.array(cell_counts)

    def draw(self, generator: np.random.Generator) -> LevelShares:
        """Return one draw of the shares; further ones cost nothing more."""
        return LevelShares(np.array([generator.dirichlet(row) for row in self.concentration]))


@dataclass(frozen=True, eq=False)
class LevelShares:
    """One draw of the shares of all levels in each cell."""

    shares: FloatArray

    def synthesise(self, predictors: Any, generator: np.random.Generator, rows: int | None = None) -> FloatArray:
        """Return synthetic codes, one for each cell given; ``rows`` where there are no predictors."""
        cells = np.zeros(rows or 0, np.int64) if predictors is None else np.asarray(predictors, np.int64)
        return draw_conditional(self.shares, cells, generator).astype(float)
