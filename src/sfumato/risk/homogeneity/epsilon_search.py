"""All epsilons whose average risk meets a target, certified by slope bounds.

In u = ln epsilon every average risk has a bounded slope L (:mod:`sfumato.risk.homogeneity.noise` proves the
bounds), so an interval of width h whose midpoint is farther than L h / 2 from the target lies wholly on one side of it.
Bisection that drops such intervals misses no crossing wider than the tolerance. Towards both ends the curve flattens,
and so do the bounds: without that a target that equals the floor or the ceiling would be searched for ever.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike

from sfumato.arrays import Counts
from sfumato.errors import RiskError
from sfumato.privacy.noise_distributions import Geometric, NoiseLaw
from sfumato.risk.homogeneity.cell_risk import local
from sfumato.risk.homogeneity.cells import DistinctCells, View, check_counts, require_view, weighted_mean
from sfumato.risk.homogeneity.noise import Mechanism, NoiseOptions

TOLERANCE = 1e-7
"""Width in ln epsilon to which an end of an interval is located."""
ROUND_OFF = 1e-15
"""Below this the curve is constant to the last digit."""
MOST_EVALUATIONS = 50_000
"""A curve that runs along the target is given up here; what is undecided counts as infeasible."""
LOWEST, HIGHEST = math.log(1e-7), math.log(1e4)
NOISELESS = Geometric(1e6)


@dataclass(frozen=True)
class EpsilonChoice:
    """All epsilons that meet a risk target, and the safe interval that is connected to 0."""

    target: float
    intervals: tuple[tuple[float, float], ...]
    floor: float
    """Risk as epsilon goes to 0: noise alone makes cells look homogeneous that often."""
    ceiling: float
    """Risk without noise."""
    evaluations: int

    @property
    def safe(self) -> tuple[float, float] | None:
        """The feasible interval that starts at 0, or None: then even pure noise misses the target."""
        return self.intervals[0] if self.intervals and self.intervals[0][0] == 0 else None

    @property
    def epsilon(self) -> float | None:
        """The largest epsilon of the safe interval."""
        return None if self.safe is None else self.safe[1]

    def statement(self) -> str:
        """Return the choice in plain words."""
        if self.safe is not None:
            more = (
                ""
                if len(self.intervals) == 1
                else f"; further intervals exist but lie above riskier ones: {self._rest()}"
            )
            upto = f" up to {self.safe[1]:.6g}" if math.isfinite(self.safe[1]) else ", however large"
            return f"risk stays at or below {self.target:g} for every epsilon{upto}{more}"
        floor = f"even pure noise gives {self.floor:.4g}: cells that noise empties look homogeneous"
        if self.intervals:
            return f"no safe epsilon: {floor}; the target is met only on {self._rest()}"
        return f"target {self.target:g} cannot be met: {floor}"

    def _rest(self) -> str:
        chosen = self.intervals[1:] if self.safe else self.intervals
        return ", ".join(f"[{low:.6g}, {high:.6g}]" for low, high in chosen)


@dataclass(frozen=True)
class AverageRisk:
    """A risk averaged over cells, as a function of the noise: all that the search needs to know of it."""

    at: Callable[[NoiseLaw], float]
    classes: int
    """Counts of a cell that survive or vanish independently."""
    spread: float
    """Sum of m + 1 over the counts m of a cell, averaged like the risk."""


def epsilon_for(
    target: float,
    counts: ArrayLike,
    mechanism: str = "geometric",
    view: View = "record",
    weights: Literal["cell", "record"] = "cell",
    sensitivity: float = 1,
    **noise: Unpack[NoiseOptions],
) -> EpsilonChoice:
    """Return every epsilon whose average risk is at most ``target``.

    ``gaussian`` and ``discrete-gaussian`` noise need a ``delta``; their ``rule`` is analytic (exact for every epsilon),
    classical (proved below epsilon 1) or probabilistic. ``sensitivity`` is L1, or L2 for these two.

    Choosing epsilon on the confidential table makes epsilon itself depend on the data: use a public or earlier table,
    or declare it.
    """
    require_view(view)
    drawn = Mechanism(mechanism, sensitivity=sensitivity, **noise)
    return feasible_epsilons(target, average_cell_risk(check_counts(counts), view, weights), drawn)


def feasible_epsilons(target: float, average: AverageRisk, mechanism: Mechanism) -> EpsilonChoice:
    """Return every epsilon at which a risk is at most ``target``, certified."""
    if not 0 < target < 1:
        raise RiskError(f"target must lie between 0 and 1, found {target!r}", next_step="give a target such as 0.35")
    signs = _CertifiedBisection(average, target, mechanism)
    signs.search(LOWEST, min(HIGHEST, math.log(mechanism.largest_epsilon)))
    floor, ceiling = average.at(mechanism.law(1e-12)), average.at(NOISELESS)
    return EpsilonChoice(target, signs.intervals(), floor, ceiling, signs.evaluations)


def average_cell_risk(counts: Counts, view: View, weights: str) -> AverageRisk:
    """Return the average risk of the homogeneity attack on the cells that are not empty."""
    weighted_mean(np.zeros(len(counts)), counts, weights)  # refuses unknown weights and a table without records
    cells, classes = DistinctCells.of(counts[counts.sum(axis=1) > 0]), counts.shape[1]
    shares = cells.shares(weights)
    spread = float((cells.sizes + classes) @ shares)
    return AverageRisk(lambda noise: float(local(cells.rows, noise, view) @ shares), classes, spread)


@dataclass
class _CertifiedBisection:
    average: AverageRisk
    target: float
    mechanism: Mechanism

    def __post_init__(self) -> None:
        self.pieces: list[tuple[float, float, bool]] = []
        self.evaluations = 0

    def search(self, low: float, high: float) -> None:
        """Cut [low, high] into pieces on which the risk is certainly at or above the target, or certainly below."""
        stack = [(low, high)]
        while stack:
            a, b = stack.pop()
            middle = (a + b) / 2
            gap = self._risk(math.exp(middle)) - self.target
            swing = self._slope(a, b) * (b - a) / 2
            certain = abs(gap) > swing or swing < ROUND_OFF
            if certain or b - a < TOLERANCE or self.evaluations > MOST_EVALUATIONS:
                # An undecided sliver counts as infeasible: every epsilon that is returned keeps the target.
                self.pieces.append((a, b, certain and gap <= 0))
            else:
                stack += [(middle, b), (a, middle)]

    def _risk(self, epsilon: float) -> float:
        self.evaluations += 1
        return self.average.at(self.mechanism.law(epsilon))

    def _slope(self, a: float, b: float) -> float:
        return self.mechanism.slope(math.exp(a), math.exp(b), self.average.classes, self.average.spread)

    def intervals(self) -> tuple[tuple[float, float], ...]:
        found: list[tuple[float, float]] = []
        for a, b, feasible in sorted(self.pieces):
            if not feasible:
                continue
            if found and abs(found[-1][1] - a) < 1e-12:
                found[-1] = (found[-1][0], b)
            else:
                found.append((a, b))
        return tuple((0.0 if a <= LOWEST else math.exp(a), math.inf if b >= HIGHEST else math.exp(b)) for a, b in found)
