"""One parameter draw of a rate, a mean count or a share with pure differential privacy, on a public line of values.

The theorem of :mod:`sfumato.methods.pseudo_posterior.private.clipped` holds for any function g with values in [0, w].
Here it is

    g = (w / W) max(0, W + h),    h(x, theta) = log p(x | theta) - (its largest value over all theta),

rounded to whole units of w / 2^30. What is subtracted is free of theta, which makes h free of the unit of x:

- exponential: h = ln(theta x) - theta x + 1;
- counts (Poisson): h = x ln(theta / x) - theta + x, and -theta at x = 0;
- binary: h = ln theta or ln(1 - theta), whose largest value is 0.

W = 5 (for binary: what the public interval of theta can reach, so that nothing is clipped), never below w. One draw is
w-DP for an added or removed record, 2w for a replaced one. All points are evaluated; the draw is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.compiled import compiled
from sfumato.errors import PlanError, TableError
from sfumato.methods.pseudo_posterior.private.clipped import Adjacency, strength_of
from sfumato.methods.pseudo_posterior.private.grid_bounds import UNITS, Whole
from sfumato.methods.pseudo_posterior.private.grid_sampler import GridLaw, Items
from sfumato.methods.pseudo_posterior.private.public_box import Interval
from sfumato.privacy.exact import Number
from sfumato.privacy.randomness import Randomness

Array = NDArray[np.float64]
RateName = Literal["binary", "counts", "exponential"]
POINTS = 4096
MOST_RECORDS = 1 << 22
"""Records whose scores surely sum to less than 2^53 units, as floats must."""
WIDTH = 5.0


@compiled(fastmath={"reassoc", "nsz"})
def _total(tops: Any, factors: Any, slope: float, level: float) -> float:
    """Sum the whole scores 1 + (top + factor * slope + level) of all records, in units; the sum is exact."""
    total = 0.0
    for i in range(len(tops)):
        score = UNITS * (tops[i] + (factors[i] * slope + level))
        score = score if score > 0.0 else 0.0
        total += np.rint(score if score < UNITS else UNITS)
    return total


@dataclass(frozen=True)
class RateDraw:
    """One draw of the parameter of a one-parameter family."""

    family: RateName
    value: float

    def synthesise(self, rows: int, generator: np.random.Generator) -> Array:
        """Return synthetic values."""
        if self.family == "binary":
            return (generator.random(rows) < self.value).astype(float)
        if self.family == "counts":
            return generator.poisson(self.value, rows).astype(float)
        return generator.exponential(1 / self.value, rows)


@dataclass(frozen=True, kw_only=True)
class ClippedRate:
    """The clipped, tempered posterior of a one-parameter family on a public interval.

    ``interval`` is where the share, the mean count, or the rate (one over the mean) can lie; the prior is uniform in
    the share and in the logarithm of the others.

    >>> ClippedRate(family="binary", interval=(0.01, 0.99), epsilon=1).width == -math.log(1 - 0.99)
    True
    """

    family: RateName
    interval: Interval
    epsilon: Number
    adjacency: Adjacency = "add-remove"

    def __post_init__(self) -> None:
        low, high = self.interval
        top = 1.0 if self.family == "binary" else math.inf
        problems = [] if self.family in ("binary", "counts", "exponential") else [f"unknown family {self.family!r}"]
        if not 0 < low < high < top:
            problems.append(f"the interval must lie between 0 and {top:g}, low below high, found {self.interval}")
        if self.adjacency not in ("add-remove", "replace"):
            problems.append(f"unknown adjacency {self.adjacency!r}")
        if problems:
            raise PlanError("cannot plan a clipped rate", problems, "give a public interval for the parameter")
        _ = self.strength

    @property
    def strength(self) -> Fraction:
        """The w of the theorem."""
        return strength_of(self.epsilon, self.adjacency)

    @property
    def width(self) -> float:
        """The W of the theorem."""
        low, high = self.interval
        reach = -math.log(min(low, 1 - high)) if self.family == "binary" else WIDTH
        return max(reach, float(self.strength))

    @property
    def edges(self) -> Array:
        """The edges of the cells: the share, or the logarithm of the mean count or rate."""
        low, high = self.interval if self.family == "binary" else (math.log(bound) for bound in self.interval)
        return np.linspace(low, high, POINTS + 1)

    def scores(self, values: ArrayLike) -> Whole:
        """Return the whole score of a table at every point; values outside the family's domain are refused."""
        x = np.asarray(values, dtype=float).ravel()
        self._check(x)
        middles = (self.edges[1:] + self.edges[:-1]) / 2
        tops, factors, slopes, levels = self._terms(x, middles)
        tops, levels = 1 + tops / self.width, levels / self.width
        factors = factors / self.width
        totals = [_total(tops, factors, float(a), float(b)) for a, b in zip(slopes, levels, strict=True)]
        return np.array(totals).astype(np.int64)

    def _terms(self, x: Array, middles: Array) -> tuple[Array, Array, Array, Array]:
        """Return top(x), factor(x), slope(theta), level(theta) with h = top + factor * slope + level."""
        if self.family == "binary":
            return np.zeros_like(x), x, np.log(middles) - np.log1p(-middles), np.log1p(-middles)
        if self.family == "counts":
            return x - x * np.log(np.where(x > 0, x, 1.0)), x, middles, -np.exp(middles)
        return np.log(x) + 1, -x, np.exp(middles), middles

    def _check(self, x: Array) -> None:
        whole = x == np.floor(x)
        sound = {"binary": (x == 0) | (x == 1), "counts": whole & (x >= 0), "exponential": x > 0}[self.family]
        wrong = int((~sound & ~np.isnan(x)).sum())
        needs = {"binary": "0 or 1", "counts": "whole numbers from 0 on", "exponential": "above 0"}[self.family]
        if wrong:
            raise TableError(f"{wrong} of {len(x)} values are not {needs}", next_step="choose a family that fits")
        if len(x) > MOST_RECORDS:
            raise TableError(
                f"a clipped rate reads at most {MOST_RECORDS:,} records, found {len(x):,}",
                next_step="use standard='statistics' or a noisy table of counts",
            )

    def law(self, values: ArrayLike) -> GridLaw:
        """Return the exact law of a draw. It is private: only draws from it may leave, and each of them costs."""
        scores = self.scores(values)
        points = np.arange(POINTS, dtype=np.int64)[:, None]
        return GridLaw(_Known(scores), self.strength, (Items(points, scores, (1,)),))

    def draw(self, values: ArrayLike, randomness: Randomness) -> RateDraw:
        """Return one draw of the parameter, at the cost of epsilon."""
        (place,) = self.law(values).draw(randomness.uniform)
        low, high = self.edges[place : place + 2]
        value = float(low + (high - low) * randomness.uniform.random(1)[0])
        return RateDraw(self.family, value if self.family == "binary" else math.exp(value))


@dataclass(frozen=True, eq=False)
class _Known:
    scores: Whole

    def at_points(self, origins: Whole, sizes: tuple[int, ...]) -> Whole:
        return self.scores[origins]
