"""Poisson and exponential families: one gamma posterior per cell of predictors.

Counts are Poisson with mean rate times exposure; waiting times are exponential with the rate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, gammaln

from sfumato.errors import PlanError, TableError
from sfumato.papers.range_restriction.families.interface import (
    ALL,
    FloatArray,
    Kind,
    ParameterDraws,
    StandardRandomNumbers,
    checked_weights,
)
from sfumato.papers.range_restriction.families.log_probabilities import log_gamma_quantile, log_poisson_range
from sfumato.papers.range_restriction.families.predictor_cells import (
    Codes,
    cell_numbers,
    distinct,
    extremes_over_draws,
    whole_numbers,
)


@dataclass(frozen=True, eq=False)
class Rates:
    """Values in cells, with exposures (1 for waiting times) and the shape and rate of a gamma prior."""

    name: str
    values: FloatArray
    exposure: FloatArray
    cells: Codes
    groups: int
    prior: tuple[float, float]

    @property
    def kind(self) -> Kind:
        """Counts have ranges of whole numbers; waiting times have intervals."""
        return "counts" if self.name == "counts" else "continuous"

    @property
    def parameters(self) -> int:
        """Nothing beyond a positive weight in every cell is needed, and not even that with a proper prior."""
        return 0

    def numbers(self, draws: int, generator: np.random.Generator) -> StandardRandomNumbers:
        """Draw one uniform per cell."""
        return StandardRandomNumbers.drawn(draws, 0, self.groups, generator)

    def posterior(self, weights: ArrayLike) -> RatePosterior:
        """Return the gamma posteriors: events onto the shape, time at risk onto the rate."""
        exact = checked_weights(np.asarray(weights, float), len(self.values))
        events = self.values if self.name == "counts" else np.ones(len(self.values))
        time = self.exposure if self.name == "counts" else self.values
        shape = np.asarray(self.prior[0] + np.bincount(self.cells, exact * events, self.groups), float)
        rate = np.asarray(self.prior[1] + np.bincount(self.cells, exact * time, self.groups), float)
        if (shape <= 0).any() or (rate <= 0).any():
            raise _improper(self.name, np.flatnonzero((shape <= 0) | (rate <= 0)))
        return RatePosterior(self, shape, rate)

    def without(self, index: int) -> Rates:
        """Return the same family less one record."""
        keep = np.arange(len(self.values)) != index
        return replace(self, values=self.values[keep], exposure=self.exposure[keep], cells=self.cells[keep])

    def with_record(self, value: float, predictors: Any = None) -> Rates:
        """Return the same family and one more record, last, of exposure 1; its cell defaults to the most frequent."""
        return replace(
            self,
            values=np.append(self.values, value),
            exposure=np.append(self.exposure, 1.0),
            cells=np.append(self.cells, self._cell(predictors)),
        )

    def outlier(self, residual: float, predictors: Any = None) -> float:
        """Return the value ``residual`` standard deviations above the mean of its cell, at exposure 1."""
        fit, cell = self.posterior(np.ones(len(self.values))), self._cell(predictors)
        rate = float(fit.shape[cell] / fit.rate[cell])
        if self.name == "counts":
            return float(np.ceil(rate + residual * np.sqrt(rate)))
        return (1 + residual) / rate

    def _cell(self, predictors: Any) -> int:
        if predictors is None:
            return int(np.bincount(self.cells, minlength=1).argmax())
        return int(cell_numbers(np.atleast_1d(predictors), 1, self.groups)[0][0])


def make_rates(
    name: str, values: Any, design: Any, prior: tuple[float, float] | None, exposure: Any, groups: int | None
) -> Rates:
    """Return a family of counts or waiting times, or refuse the values.

    The default priors are flat in the log of the rate up to half an event: Gamma(1/2, 0) for counts, Gamma(0, 0) for
    waiting times. Both need some weight in every cell.
    """
    exact = np.asarray(whole_numbers(values, "counts") if name == "counts" else values, float)
    if exact.ndim != 1 or not len(exact) or not np.isfinite(exact).all():
        raise TableError(f"the values of the {name} family must be one column of finite numbers")
    if name == "exponential" and (exact <= 0).any():
        problem = f"{int((exact <= 0).sum())} of {len(exact)} values are 0 or below"
        raise TableError("a waiting time must be above 0", [problem], "leave these records out, or use another family")
    default = (0.5, 0.0) if name == "counts" else (0.0, 0.0)
    cells, count = cell_numbers(design, len(exact), groups)
    return Rates(name, exact, _exposures(name, exposure, len(exact)), cells, count, _prior(prior or default))


def _exposures(name: str, exposure: Any, records: int) -> FloatArray:
    if exposure is None:
        return np.ones(records)
    exact = np.broadcast_to(np.asarray(exposure, float), (records,))
    if name != "counts" or not (np.isfinite(exact).all() and (exact > 0).all()):
        raise PlanError("exposures belong to counts, and must be finite and above 0")
    return np.array(exact)


def _prior(prior: tuple[float, float]) -> tuple[float, float]:
    shape, rate = float(prior[0]), float(prior[1])
    if not (0 <= shape < np.inf and 0 <= rate < np.inf):
        raise PlanError("a gamma prior is a pair (shape, rate), both finite and at least 0")
    return shape, rate


def _improper(name: str, cells: Codes) -> PlanError:
    shown = ", ".join(str(cell) for cell in cells[:8]) + (", ..." if len(cells) > 8 else "")
    return PlanError(
        f"the weighted posterior of the {name} family is improper",
        [f"no weight, or no event, in {len(cells)} cells: {shown}"],
        "use fewer cells, raise the scale or the target claim, or give a proper prior (shape, rate)",
    )


@dataclass(frozen=True, eq=False)
class RatePosterior:
    """One Gamma(shape, rate) per cell; draws are the rates themselves."""

    family: Rates
    shape: FloatArray
    rate: FloatArray

    def draw(self, numbers: StandardRandomNumbers) -> ParameterDraws:
        """Return rates, one per cell, by the quantile function of the gamma."""
        return ParameterDraws(np.exp(log_gamma_quantile(self.shape, numbers.uniform)) / self.rate)

    def log_likelihood(self, draws: ParameterDraws, rows: slice = ALL) -> FloatArray:
        """Return the log density, or probability, of each value: draws by records."""
        family = self.family
        return self._density(draws.theta[:, family.cells[rows]], family.values[rows], family.exposure[rows])

    def log_range(self, draws: ParameterDraws, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return the log probability of each record's range, exact in both tails: draws by records."""
        family = self.family
        return self._inside(draws.theta[:, family.cells], family.exposure, np.asarray(low), np.asarray(high))

    def extremes(
        self,
        draws: ParameterDraws,
        low: FloatArray | None = None,
        high: FloatArray | None = None,
        weights: FloatArray | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Return each record's extremes over the draws."""
        family = self.family
        scale = np.ones(len(family.values)) if weights is None else np.asarray(weights, float)
        if low is None or high is None:
            smallest, largest = self._concave(draws, [family.values, family.exposure], self._density)
            return scale * smallest, scale * largest
        if weights is None:
            return self._concave(draws, [family.values, family.exposure, low, high], self._conditional)
        return self._weighted_extremes(draws, low, high, scale)

    def _concave(
        self, draws: ParameterDraws, columns: list[FloatArray], work: Callable[..., FloatArray]
    ) -> tuple[FloatArray, FloatArray]:
        """Return the extremes of a function that is concave in the rate, or in its log, without trying all draws.

        It is smallest at the smallest or the largest rate; the largest value is found by halving. The log density is
        concave, and so is the log density less the log probability of a range: that is linear less a log-partition.
        """
        kept, place = distinct([*columns, self.family.cells.astype(float)])
        kept_columns, cells = [column[kept] for column in columns], self.family.cells[kept]
        ordered = np.sort(draws.theta, axis=0)
        smallest = np.minimum(work(ordered[0, cells], *kept_columns), work(ordered[-1, cells], *kept_columns))
        first, last = np.zeros(len(cells), np.int64), np.full(len(cells), len(ordered) - 1)
        while (first < last).any():
            middle = (first + last) // 2
            after = np.minimum(middle + 1, len(ordered) - 1)
            rising = work(ordered[after, cells], *kept_columns) > work(ordered[middle, cells], *kept_columns)
            first, last = np.where(rising & (first < last), after, first), np.where(rising, last, middle)
        return smallest[place], work(ordered[first, cells], *kept_columns)[place]

    def _weighted_extremes(
        self, draws: ParameterDraws, low: FloatArray, high: FloatArray, scale: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return extremes with weights and ranges, where no shape helps; records that agree are worked out once."""

        def work(columns: list[FloatArray]) -> FloatArray:
            values, exposure, cells, weight, first, last = columns
            rates = draws.theta[:, cells.astype(np.int64)]
            return weight * self._density(rates, values, exposure) - self._inside(rates, exposure, first, last)

        family = self.family
        columns = [family.values, family.exposure, family.cells.astype(float), scale, low, high]
        return extremes_over_draws(columns, work, len(draws))

    def outside(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return the predictive probability outside each range: negative binomial, or Lomax for waiting times."""
        shape, rate = self.shape[self.family.cells], self.rate[self.family.cells]
        if self.family.name == "exponential":
            below = -np.expm1(-shape * np.log1p(np.maximum(low, 0.0) / rate))
            return np.asarray(below + np.exp(-shape * np.log1p(np.maximum(high, 0.0) / rate)))
        time = self.family.exposure
        first, next_up = np.maximum(np.ceil(low), 0.0), np.floor(high) + 1
        below = np.where(first > 0, betainc(shape, np.maximum(first, 1), rate / (rate + time)), 0.0)
        finite = np.where(np.isinf(next_up), 1.0, np.maximum(next_up, 1.0))
        above = np.where(np.isinf(next_up), 0.0, betainc(finite, shape, time / (rate + time)))
        return np.asarray(below + above)

    def log_density(self, draws: ParameterDraws) -> FloatArray:
        """Return the normalised log density of all cells' rates together."""
        constant = (self.shape * np.log(self.rate) - gammaln(self.shape)).sum()
        return np.asarray(constant + np.log(draws.theta) @ (self.shape - 1) - draws.theta @ self.rate)

    def surprise(self) -> FloatArray:
        """Return how many standard deviations each value lies from the mean of its cell."""
        rate = (self.shape / self.rate)[self.family.cells]
        if self.family.name == "exponential":
            return np.abs(self.family.values * rate - 1)
        expected = rate * self.family.exposure
        return np.abs(self.family.values - expected) / np.sqrt(expected)

    def synthesise(
        self, draws: ParameterDraws, index: int, design: Any, generator: np.random.Generator, exposure: Any = None
    ) -> FloatArray:
        """Return one synthetic column at the given cells, or at the family's own if ``design`` is None."""
        family = self.family
        cells = family.cells if design is None else cell_numbers(design, len(design), family.groups)[0]
        rates = draws.theta[index, cells]
        if family.name == "exponential":
            return generator.exponential(1 / rates)
        time = (
            family.exposure
            if exposure is None and design is None
            else np.asarray(1.0 if exposure is None else exposure)
        )
        if time.ndim and len(time) != len(cells):
            raise TableError(f"{len(cells)} exposures needed, one per row; {len(time)} are given")
        return generator.poisson(rates * time).astype(float)

    def _density(self, rates: FloatArray, values: FloatArray, exposure: FloatArray) -> FloatArray:
        if self.family.name == "exponential":
            return np.log(rates) - rates * values
        expected = rates * exposure
        return values * np.log(expected) - expected - gammaln(values + 1)

    def _inside(self, rates: FloatArray, exposure: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
        if self.family.name == "exponential":
            bottom = np.maximum(low, 0.0)
            with np.errstate(divide="ignore"):
                return -rates * bottom + np.log(-np.expm1(-rates * (high - bottom)))
        return log_poisson_range(np.maximum(np.ceil(low), 0.0), np.floor(high), rates * exposure)

    def _conditional(
        self, rates: FloatArray, values: FloatArray, exposure: FloatArray, low: FloatArray, high: FloatArray
    ) -> FloatArray:
        return self._density(rates, values, exposure) - self._inside(rates, exposure, low, high)
