"""Clipped, tempered posterior sampling of a regression with pure DP (exponential mechanism).

Mechanism. y = log x (lognormal; the Jacobian is free of the parameters and left out, so that the unit of x does not
matter) or y = x (normal); u_j = predictor - public centre, clipped to public bounds; theta = (b_0 .. b_p, ln s) on a
public grid in a public box, prior uniform there. With f = -ln(2 pi s^2)/2 - (y - b_0 - sum b_j u_j)^2 / (2 s^2),

    g_theta(x) = (w / W) (clip(f, top - W, top) - (top - W)),    top = -ln(2 pi s_lo^2)/2,    W = ln(s_hi / s_lo) + 4.3

(W never below w), rounded to whole multiples of w / 2^30. ONE theta is drawn with probability proportional to
exp(sum_i g_theta(x_i)). Any number of synthetic rows made from it is post-processing; each further theta costs again.

Theorem. One draw is w-DP where neighbours differ by one added or removed record, and 2w-DP where one is replaced.
Proof. Let D' be D and one record x more, q and q' the two laws. Then

    q'(theta) / q(theta) = exp(g_theta(x)) / E_q[exp(g_theta(x))].

Numerator and denominator lie in the same interval [1, e^w]: its ends were fixed in advance, and the mean of numbers in
an interval lies in it. So the ratio is between e^-w and e^w; the normaliser does not cost a second w. Replacing x by x'
has the exponent g(x') - g(x) in [-w, w], an interval of width 2w, hence 2w. QED. Both are tight. So a budget of epsilon
buys w = epsilon under add-remove and w = epsilon / 2 under replace.

Why temper instead of clipping to width w: a narrow clip biases s (W = 1: -55 %, 3: -14 %, 5: -1.5 %); tempering only
widens the posterior by sqrt(W / w).

Machine arithmetic. The theorem needs no more of g than that it is a function of the record and the point with values
in [0, w]. The g of the program is a whole number of units of w / 2^30, computed record by record, clamped to [0, 2^30]
and summed exactly; block bounds have a margin for rounding; the choice is made in exact arithmetic. So the proof covers
what runs, not an idealisation. It assumes that the machine computes the score of a record at a point alike wherever the
record stands in the table. Not covered: the time that a run takes (do not publish it), and the quality of the bits.
Jitter within the cell of the drawn point is post-processing.

Public: family, box, centres, bounds, grid, epsilon, adjacency. None of them may be read off the private data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sfumato.errors import PlanError, TableError
from sfumato.mechanisms.pseudo_posterior.grid_sampler import GridDistribution
from sfumato.mechanisms.pseudo_posterior.grid_scores import MOST_RECORDS, WIDEST, FloatArray, GridScores, ParameterGrid
from sfumato.mechanisms.pseudo_posterior.parameter_box import ParameterBox, Scale
from sfumato.privacy.accounting.sensitivity import vector_sum_sensitivity
from sfumato.privacy.exact import Number, to_positive_fraction
from sfumato.privacy.randomness import Randomness, UniformSource

BEYOND_SPREAD = 4.3
"""What W leaves below a perfect fit at the largest s: a residual of sqrt(2 * 4.3) = 2.9 s is still told apart."""
GRIDS: dict[int, tuple[int, ...]] = {
    2: (1024, 512),
    3: (512, 256, 128),
    4: (128, 64, 64, 64),
}
"""Points along each axis (coefficients, then ln s) by the number of parameters."""
Adjacency = Literal["add-remove", "replace"]


def record_influence(epsilon: Number, adjacency: str) -> Fraction:
    """Return w, the most by which one record can move the log-weight of a parameter, that a budget buys.

    >>> record_influence(1, "add-remove"), record_influence(1, "replace")
    (Fraction(1, 1), Fraction(1, 2))
    """
    return to_positive_fraction(epsilon) / vector_sum_sensitivity(adjacency, 1)


@dataclass(frozen=True)
class RegressionDraw:
    """One draw of the parameters of a normal or lognormal regression on centred predictors."""

    coefficients: tuple[float, ...]
    """b_0, the mean of y at the centre, then one slope for each predictor."""
    spread: float
    centres: tuple[float, ...]
    scale: Scale

    def synthesise(
        self, predictors: ArrayLike | None, generator: np.random.Generator, rows: int | None = None
    ) -> FloatArray:
        """Return synthetic values of the target, one for each row of predictors; ``rows`` where there are none."""
        columns = () if predictors is None else predictors
        design = np.asarray(columns, dtype=float).reshape(-1, len(self.centres)) if self.centres else None
        size = rows if design is None else len(design)
        mean = np.full(size or 0, self.coefficients[0])
        if design is not None:
            mean = mean + (design - np.array(self.centres)) @ np.array(self.coefficients[1:])
        drawn = mean + self.spread * generator.standard_normal(len(mean))
        with np.errstate(over="ignore"):  # what lies beyond all numbers is moved to the column's bound
            return np.exp(drawn) if self.scale == "lognormal" else drawn


@dataclass(frozen=True, kw_only=True)
class ClippedPosterior:
    """The clipped, tempered posterior of a normal or lognormal regression in a public box.

    ``grid`` gives the points along each coefficient and ln s, powers of 2 from 4 on.

    >>> posterior = ClippedPosterior(box=ParameterBox(((0.0, 6.0),), (0.5, 2.0)), epsilon=1)
    >>> posterior.strength, round(posterior.width, 4)
    (Fraction(1, 1), 5.6863)
    """

    box: ParameterBox
    epsilon: Number
    adjacency: Adjacency = "add-remove"
    grid: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        problems = [] if self.adjacency in ("add-remove", "replace") else [f"unknown adjacency {self.adjacency!r}"]
        if self.grid is None and self.parameters not in GRIDS:
            raise PlanError(
                f"clipped posteriors are exact for up to {max(GRIDS) - 2} predictors, found {self.parameters - 2}",
                next_step="use way='statistics', which takes any number, or fewer predictors",
            )
        sides = self.shape
        if len(sides) != self.parameters or any(side < 4 or side & (side - 1) for side in sides):
            problems.append(f"the grid needs {self.parameters} sides, powers of 2 from 4 on, found {sides}")
        if self.box.largest_term > WIDEST * self.box.spread[0]:
            problems.append(f"the box is more than {WIDEST:.0f} times as wide as its smallest spread")
        if problems:
            raise PlanError("cannot plan a clipped posterior", problems, "correct the public box or the grid")
        _ = self.strength

    @property
    def parameters(self) -> int:
        """Coefficients and ln s."""
        return len(self.box.coefficients) + 1

    @property
    def shape(self) -> tuple[int, ...]:
        """Points along each axis of the grid."""
        return self.grid or GRIDS[self.parameters]

    @property
    def strength(self) -> Fraction:
        """The w of the theorem."""
        return record_influence(self.epsilon, self.adjacency)

    @property
    def width(self) -> float:
        """The W of the theorem."""
        low, high = self.box.spread
        return max(math.log(high / low) + BEYOND_SPREAD, float(self.strength))

    @property
    def axes(self) -> ParameterGrid:
        """The public grid: the middles of equal cells of the box."""
        low, high = self.box.spread
        sides = (*self.box.coefficients, (math.log(low), math.log(high)))
        return ParameterGrid(
            tuple(_cell_centres(side, points) for side, points in zip(sides, self.shape, strict=True)), self.width
        )

    def scores(self, target: ArrayLike, predictors: ArrayLike | None = None) -> GridScores:
        """Return the whole scores of a table; values of the target outside the model's domain are refused."""
        y, design = self.box.prepare(target, predictors)
        if len(y) > MOST_RECORDS:
            raise TableError(
                f"a clipped posterior reads at most {MOST_RECORDS:,} records",
                next_step="use way='statistics': it is more accurate at this size, and needs one pass",
            )
        return GridScores(self.axes, y, design)

    def law(self, target: ArrayLike, predictors: ArrayLike | None = None) -> GridDistribution:
        """Return the exact law of a draw. It is private: only draws from it may leave, and each of them costs."""
        return GridDistribution.of(self.scores(target, predictors), self.strength)

    def draw(self, target: ArrayLike, predictors: ArrayLike | None, randomness: Randomness) -> RegressionDraw:
        """Return one draw of the parameters, at the cost of epsilon."""
        return self.release(self.law(target, predictors), randomness.uniform)

    def release(self, law: GridDistribution, uniform: UniformSource) -> RegressionDraw:
        """Draw a point from the law and move it uniformly within its cell."""
        place = law.draw(uniform)
        low, high = self.box.spread
        sides = (*self.box.coefficients, (math.log(low), math.log(high)))
        *coefficients, log_spread = _within_cells(place, sides, self.shape, uniform)
        return RegressionDraw(tuple(coefficients), math.exp(log_spread), self.box.centres, self.box.scale)


def _cell_centres(side: tuple[float, float], points: int) -> FloatArray:
    low, high = side
    return low + (high - low) * (np.arange(points) + 0.5) / points


def _within_cells(
    place: Sequence[int], sides: Sequence[tuple[float, float]], shape: Sequence[int], uniform: UniformSource
) -> list[float]:
    shifts = uniform.random(len(place))
    return [
        low + (high - low) * (index + float(shift)) / points
        for index, (low, high), points, shift in zip(place, sides, shape, shifts, strict=True)
    ]
