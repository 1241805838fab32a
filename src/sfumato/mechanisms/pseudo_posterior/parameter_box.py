"""Public box of a regression: bounds of its parameters, target and predictors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sfumato.arrays import FloatArray
from sfumato.errors import PlanError, TableError

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
