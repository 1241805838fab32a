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

from sfumato.arrays import FloatArray
from sfumato.errors import PlanError, TableError
from sfumato.mechanisms.pseudo_posterior.grid_sampler import (
    MOST_RECORDS,
    WIDEST,
    GridDistribution,
    GridScores,
    ParameterGrid,
)
from sfumato.privacy.accounting.sensitivity import vector_sum_sensitivity
from sfumato.privacy.exact import Number, to_positive_fraction
from sfumato.privacy.randomness import Randomness, UniformSource

Interval = tuple[float, float]
Scale = Literal["normal", "lognormal"]
STEEPEST = 2.0
"""A slope may carry the target through this many times its range while the predictor goes through its own."""
FINEST = 100.0
"""The smallest spread that a box made from bounds allows is this part of the target's range."""


@dataclass(frozen=True)
class ParameterBox:
    """The public box of a regression: intervals of b_0 .. b_p and of s, centres and bounds of the predictors.

    ``coefficients`` starts with the mean of y where every predictor is at its centre.

    >>> ParameterBox(((0, 6), (-1, 3)), (0.5, 2), centres=(2,), bounds=((-3, 7),)).largest_term
    15
    """

    coefficients: tuple[Interval, ...]
    spread: Interval
    centres: tuple[float, ...] = ()
    bounds: tuple[Interval, ...] = ()
    scale: Scale = "lognormal"

    def __post_init__(self) -> None:
        problems = [
            f"{name} must be an interval of finite numbers, low below high, found {side}"
            for name, side in self._intervals()
            if not (math.isfinite(side[0]) and math.isfinite(side[1]) and side[0] < side[1])
        ]
        if not problems and self.spread[0] <= 0:
            problems.append(f"the smallest spread must be above 0, found {self.spread[0]}")
        if self.scale not in ("normal", "lognormal"):
            problems.append(f"unknown scale {self.scale!r}: normal or lognormal")
        predictors = len(self.coefficients) - 1
        if predictors < 0 or len(self.centres) != predictors or len(self.bounds) != predictors:
            problems.append(f"{predictors} slopes need as many centres and bounds of predictors")
        if problems:
            raise PlanError(
                "the public box is not sound", problems, "give public intervals, not ones read off the data"
            )

    def _intervals(self) -> list[tuple[str, Interval]]:
        named = [(f"coefficient {j}", side) for j, side in enumerate(self.coefficients)]
        return [*named, ("spread", self.spread), *((f"predictor {j}", side) for j, side in enumerate(self.bounds))]

    @property
    def predictors(self) -> int:
        """The number of predictors."""
        return len(self.centres)

    @property
    def largest_term(self) -> float:
        """The largest size of one term of a residual."""
        reach = [max(abs(low - c), abs(high - c)) for (low, high), c in zip(self.bounds, self.centres, strict=True)]
        terms = [max(abs(low), abs(high)) * r for (low, high), r in zip(self.coefficients, [1.0, *reach], strict=True)]
        return max(*terms, self.spread[1])

    def prepare(self, target: ArrayLike, predictors: ArrayLike | None = None) -> tuple[FloatArray, FloatArray]:
        """Return y, and one row of centred, clipped values for each predictor."""
        values = np.asarray(target, dtype=float).ravel()
        design = np.empty((len(values), 0)) if predictors is None else np.asarray(predictors, dtype=float)
        design = design.reshape(len(values), -1) if len(values) else np.empty((0, self.predictors))
        if design.shape[1] != self.predictors:
            raise TableError(
                f"the box has {self.predictors} predictors, the table {design.shape[1]}",
                next_step="give one column of predictors for each slope of the box",
            )
        rows = [
            np.clip(design[:, j], *side) - c for j, (side, c) in enumerate(zip(self.bounds, self.centres, strict=True))
        ]
        return logarithm(values, self.scale), np.ascontiguousarray(np.reshape(rows, (self.predictors, len(values))))


def logarithm(values: FloatArray, scale: Scale) -> FloatArray:
    """Return y: the values themselves or their logarithms; a lognormal value of 0 or less is refused."""
    if scale == "normal":
        return np.ascontiguousarray(values)
    wrong = int((values <= 0).sum())
    if wrong:
        raise TableError(
            f"{wrong} of {len(values)} values are not above 0: they cannot be lognormal",
            next_step="use family='normal', or shift the column by a public constant",
        )
    return np.log(values)


def parameter_box(
    target: Interval, predictors: Sequence[Interval] = (), scale: Scale = "lognormal", spread: Interval | None = None
) -> ParameterBox:
    """Return the box that follows from public bounds of the columns.

    b_0 lies within the bounds of y, a slope carries y through at most twice its range, and s lies between a hundredth
    and a half of that range unless stated.

    >>> parameter_box((1.0, 100.0), [(0.0, 10.0)]).centres
    (5.0,)
    """
    low, high = (float(bound) for bound in target)
    if scale == "lognormal":
        if low <= 0:
            raise PlanError(
                f"a lognormal target needs public bounds above 0, found {low:g}",
                next_step="state the smallest value above 0 that can occur, or use family='normal'",
            )
        low, high = math.log(low), math.log(high)
    reach = high - low
    slopes = [STEEPEST * reach / (top - bottom) if top > bottom else math.nan for bottom, top in predictors]
    return ParameterBox(
        coefficients=((low, high), *((-slope, slope) for slope in slopes)),
        spread=spread or (reach / FINEST, reach / 2),
        centres=tuple((bottom + top) / 2 for bottom, top in predictors),
        bounds=tuple((float(bottom), float(top)) for bottom, top in predictors),
        scale=scale,
    )


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
