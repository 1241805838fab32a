"""Noise of a contingency table by epsilon, and all epsilons whose average risk meets a target.

In u = ln epsilon every average risk has a bounded slope L (proved below), so an interval of width h whose midpoint is
farther than L h / 2 from the target lies wholly on one side of it. Bisection that drops such intervals misses no
crossing wider than the tolerance. Towards both ends the curve flattens, and so do the bounds: without that a target
that equals the floor or the ceiling would be searched for ever.

**Slope bounds.** Laplace and geometric noise promise epsilon; Gaussian and discrete Gaussian noise promise (epsilon,
delta), with the standard deviation sigma by one of three rules. The inverse problem needs a bound on the slope of a
risk in u = ln epsilon. A risk is the probability of an event about K independent counts that survive or vanish, so its
slope is at most the sum of |dr/du| over the K counts, r(m) being the chance that a count m vanishes.

*In epsilon.* With e = epsilon / sensitivity: |dr/du| <= 1/4, <= e (m + 1), and for e >= 2 also <= 2 e exp(-e)
(geometric) or e exp(-e/2) / 4 (Laplace).

*In sigma.* Gaussian: r = Phi(x), x = (1/2 - m) / sigma, |dr / d ln sigma| = |x| phi(x): at most phi(1) < 1/4, at most
0.4 (m + 1/2) / sigma, and for sigma <= 1/2 at most x phi(x) at x = 1 / (2 sigma). Discrete Gaussian with variance V:
dr / d ln sigma = E[(Z^2 - V) 1(Z <= -m)] / sigma^2 for m >= 1, and r(0) = 1 - r(1). It is at most 0.342, at sigma
0.525: *more* than 1/4. That is the largest value on a grid of step 0.002 in ln sigma, and between two points it moves
by less than 0.004, since its own slope is at most Var(Z^2) / sigma^4 + 0.7 < 3.8. So 0.35 is a bound. Since p(k) <= 0.4
/ sigma and V <= sigma^2 it is also at most 0.4 (m + 1) / sigma; and for sigma^2 <= 1/2 at most 1.3 y exp(-y/2), y = 1 /
sigma^2.

*From sigma to epsilon.* |d ln sigma / d ln epsilon| <= 1 for every rule, so the bounds carry over to u. Classical:
sigma is proportional to 1 / epsilon. Probabilistic: sigma = (q + sqrt(q^2 + 2 epsilon)) / (2 epsilon), with slope
between -1 and -1/2. Analytic: let mu = sensitivity / sigma and epsilon = c mu. Then d(c, mu) = Phi(mu/2 - c) - exp(c
mu) Phi(-mu/2 - c) is the delta of the pair; it falls in c, and its slope in mu at fixed c is exp(c mu) (phi(x) - c
Phi(-x)) with x = mu/2 + c, which is positive because Phi(-x) < phi(x) / x. So along d = delta, c rises with mu: epsilon
= c mu rises at least as fast as mu.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from sfumato.arrays import Counts
from sfumato.errors import RiskError
from sfumato.privacy.accounting.gaussian_calibration import GaussianCalibration, gaussian_sigma
from sfumato.privacy.accounting.sensitivity import histogram_l1, histogram_l2_squared
from sfumato.privacy.noise_distributions import DiscreteGaussian, Gaussian, Geometric, Laplace, NoiseLaw
from sfumato.risk.homogeneity.cell_risk import local
from sfumato.risk.homogeneity.cells import DistinctCells, View, check_counts, require_view, weighted_mean

PURE = ("geometric", "laplace")
WITH_DELTA = ("gaussian", "discrete-gaussian")
MECHANISMS = (*PURE, *WITH_DELTA)
RULES: dict[str, GaussianCalibration] = {
    "analytic": "analytic",
    "classical": "classic",
    "probabilistic": "probabilistic",
}
"""Rules for sigma: exact for every epsilon; the textbook bound; the paper's probabilistic DP."""
CLASSICAL_END = 0.999999
"""The classical rule is proved for epsilon below 1 only."""
WIDE = 1e4
"""A discrete Gaussian that is wider than this is computed as a rounded one: they differ by 1e-10 at most."""
STEEPEST = {"geometric": 0.25, "laplace": 0.25, "gaussian": 0.25, "discrete-gaussian": 0.35}


class NoiseOptions(TypedDict, total=False):
    """What may be said about Gaussian noise; see :class:`Mechanism`."""

    delta: float | None
    rule: str | None


@dataclass(frozen=True)
class Mechanism:
    """Noise by name. ``delta`` and ``rule`` belong to the two Gaussian ones, and only to them.

    ``sensitivity`` is that of the counts in the norm of the noise: L1 for Laplace and geometric, L2 for Gaussian.

    >>> round(Mechanism("gaussian", delta=1e-5).sigma(1.0), 7)
    3.7306316
    """

    name: str = "geometric"
    delta: float | None = None
    rule: str | None = None
    sensitivity: float = 1

    def __post_init__(self) -> None:
        problems = noise_problems(self.name, self.delta, self.rule)
        if not (math.isfinite(self.sensitivity) and self.sensitivity > 0):
            problems.append(f"sensitivity must be a number above 0, found {self.sensitivity!r}")
        if problems:
            raise RiskError("there is no such noise", problems, "correct what is listed")

    @property
    def with_delta(self) -> bool:
        """Whether the promise has a delta."""
        return self.name in WITH_DELTA

    @property
    def sigma_rule(self) -> str | None:
        """The rule for sigma: analytic by default; none where there is no sigma."""
        return (self.rule or "analytic") if self.with_delta else None

    def facts(self) -> dict[str, Any]:
        """Return the noise as results state it."""
        return {
            "mechanism": self.name,
            "delta": self.delta,
            "rule": self.sigma_rule,
            "sensitivity": self.sensitivity,
        }

    @property
    def largest_epsilon(self) -> float:
        """The epsilon up to which the rule is proved."""
        return CLASSICAL_END if self.sigma_rule == "classical" else math.inf

    def sigma(self, epsilon: float) -> float:
        """Return the standard deviation of Gaussian noise."""
        return _sigma(epsilon, self.delta or 0.0, self.sensitivity, self.sigma_rule or "analytic")

    def law(self, epsilon: float) -> NoiseLaw:
        """Return the law of the noise at an epsilon."""
        if self.name == "geometric":
            return Geometric(epsilon, self.sensitivity)
        if self.name == "laplace":
            return Laplace(epsilon, self.sensitivity)
        sigma = self.sigma(epsilon)
        return DiscreteGaussian(sigma) if self.name == "discrete-gaussian" and sigma <= WIDE else Gaussian(sigma)

    def among(self, tables: int) -> Mechanism:
        """Return the noise of each of so many tables that share the promise equally."""
        wider = math.sqrt(tables) if self.with_delta else tables
        return replace(self, sensitivity=self.sensitivity * wider)

    def slope(self, low: float, high: float, classes: int, spread: float) -> float:
        """Bound the slope in ln epsilon, for epsilon in [low, high], of any risk of a cell of ``classes`` counts.

        ``spread`` is the sum of m + 1 over the counts m, averaged like the risk.
        """
        bounds = [STEEPEST[self.name] * classes]
        if not self.with_delta:
            bounds.append(spread * high / self.sensitivity)
            return min(*bounds, classes * self._tail(low / self.sensitivity))
        bounds.append(0.4 * spread / self.sigma(high))
        return min(*bounds, classes * self._gaussian_tail(self.sigma(low)))

    def _tail(self, e: float) -> float:
        if e < 2:
            return math.inf
        return 2 * e * math.exp(-e) if self.name == "geometric" else e * math.exp(-e / 2) / 4

    def _gaussian_tail(self, sigma: float) -> float:
        if self.name == "gaussian":
            x = 0.5 / sigma
            return x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi) if x >= 1 else math.inf
        y = 1 / sigma**2
        return 1.3 * y * math.exp(-y / 2) if y >= 2 else math.inf


def stated_sensitivity(mechanism: str, adjacency: str, rows_per_person: int = 1) -> float:
    """Return the sensitivity of a cross table in the norm of the noise."""
    if mechanism in WITH_DELTA:
        return math.sqrt(histogram_l2_squared(adjacency, rows_per_person))
    return histogram_l1(adjacency, rows_per_person)


def noise_problems(name: str, delta: float | None, rule: str | None) -> list[str]:
    """Return everything that is wrong with a noise and its delta and rule."""
    if name not in MECHANISMS:
        return [f"unknown mechanism {name!r}; use {', '.join(MECHANISMS)}"]
    if name in PURE:
        wrong = [what for what, given in (("delta", delta), ("rule", rule)) if given is not None]
        return [f"{name} noise has no {what}; it belongs to gaussian and discrete-gaussian" for what in wrong]
    problems: list[str] = []
    if delta is None:
        problems.append(f"{name} noise needs a delta between 0 and 1, such as 1e-6")
    elif not 0 < delta < 1:
        problems.append(f"delta must lie between 0 and 1, found {delta!r}")
    if rule is not None and rule not in RULES:
        problems.append(f"unknown rule {rule!r}; use {', '.join(RULES)}")
    return problems


@lru_cache(maxsize=4096)
def _sigma(epsilon: float, delta: float, sensitivity: float, rule: str) -> float:
    return gaussian_sigma(epsilon, delta, sensitivity, RULES[rule])


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
