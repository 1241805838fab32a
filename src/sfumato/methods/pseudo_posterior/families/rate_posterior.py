"""The gamma posterior of rates: draws, densities, ranges and predictions of counts and waiting times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betainc, gammaln

from sfumato.errors import TableError
from sfumato.methods.pseudo_posterior.families.cells import as_cells, distinct, reduced
from sfumato.methods.pseudo_posterior.families.interface import ALL, Array, Draws, Numbers
from sfumato.methods.pseudo_posterior.families.tails import log_gamma_quantile, log_poisson_range

if TYPE_CHECKING:
    from sfumato.methods.pseudo_posterior.families.rates import Rates


@dataclass(frozen=True, eq=False)
class RatePosterior:
    """One Gamma(shape, rate) per cell; draws are the rates themselves."""

    family: Rates
    shape: Array
    rate: Array

    def draw(self, numbers: Numbers) -> Draws:
        """Return rates, one per cell, by the quantile function of the gamma."""
        return Draws(np.exp(log_gamma_quantile(self.shape, numbers.uniform)) / self.rate)

    def log_likelihood(self, draws: Draws, rows: slice = ALL) -> Array:
        """Return the log density, or probability, of each value: draws by records."""
        family = self.family
        return self._density(draws.theta[:, family.cells[rows]], family.values[rows], family.exposure[rows])

    def log_range(self, draws: Draws, low: Array, high: Array) -> Array:
        """Return the log probability of each record's range, exact in both tails: draws by records."""
        family = self.family
        return self._inside(draws.theta[:, family.cells], family.exposure, np.asarray(low), np.asarray(high))

    def extremes(
        self, draws: Draws, low: Array | None = None, high: Array | None = None, weights: Array | None = None
    ) -> tuple[Array, Array]:
        """Return each record's extremes over the draws."""
        family = self.family
        scale = np.ones(len(family.values)) if weights is None else np.asarray(weights, float)
        if low is None or high is None:
            smallest, largest = self._concave(draws, [family.values, family.exposure], self._density)
            return scale * smallest, scale * largest
        if weights is None:
            return self._concave(draws, [family.values, family.exposure, low, high], self._conditional)
        return self._weighted_extremes(draws, low, high, scale)

    def _concave(self, draws: Draws, columns: list[Array], work: Callable[..., Array]) -> tuple[Array, Array]:
        """Return the extremes of a function that is concave in the rate, or in its log, without trying all draws.

        It is smallest at the smallest or the largest rate; the largest value is found by halving. The log density is
        concave, and so is the log density less the log probability of a range: that is linear less a log-partition.
        """
        kept, place = distinct([*columns, self.family.cells.astype(float)])
        given, cells = [column[kept] for column in columns], self.family.cells[kept]
        ordered = np.sort(draws.theta, axis=0)
        smallest = np.minimum(work(ordered[0, cells], *given), work(ordered[-1, cells], *given))
        first, last = np.zeros(len(cells), np.int64), np.full(len(cells), len(ordered) - 1)
        while (first < last).any():
            middle = (first + last) // 2
            after = np.minimum(middle + 1, len(ordered) - 1)
            rising = work(ordered[after, cells], *given) > work(ordered[middle, cells], *given)
            first, last = np.where(rising & (first < last), after, first), np.where(rising, last, middle)
        return smallest[place], work(ordered[first, cells], *given)[place]

    def _weighted_extremes(self, draws: Draws, low: Array, high: Array, scale: Array) -> tuple[Array, Array]:
        """Return extremes with weights and ranges, where no shape helps; records that agree are worked out once."""

        def work(columns: list[Array]) -> Array:
            values, exposure, cells, weight, first, last = columns
            rates = draws.theta[:, cells.astype(np.int64)]
            return weight * self._density(rates, values, exposure) - self._inside(rates, exposure, first, last)

        family = self.family
        columns = [family.values, family.exposure, family.cells.astype(float), scale, low, high]
        return reduced(columns, work, len(draws))

    def outside(self, low: Array, high: Array) -> Array:
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

    def log_density(self, draws: Draws) -> Array:
        """Return the normalised log density of all cells' rates together."""
        constant = (self.shape * np.log(self.rate) - gammaln(self.shape)).sum()
        return np.asarray(constant + np.log(draws.theta) @ (self.shape - 1) - draws.theta @ self.rate)

    def surprise(self) -> Array:
        """Return how many standard deviations each value lies from the mean of its cell."""
        rate = (self.shape / self.rate)[self.family.cells]
        if self.family.name == "exponential":
            return np.abs(self.family.values * rate - 1)
        expected = rate * self.family.exposure
        return np.abs(self.family.values - expected) / np.sqrt(expected)

    def synthesise(
        self, draws: Draws, index: int, design: Any, generator: np.random.Generator, exposure: Any = None
    ) -> Array:
        """Return one synthetic column at the given cells, or at the family's own if ``design`` is None."""
        family = self.family
        cells = family.cells if design is None else as_cells(design, len(design), family.groups)[0]
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

    def _density(self, rates: Array, values: Array, exposure: Array) -> Array:
        if self.family.name == "exponential":
            return np.log(rates) - rates * values
        expected = rates * exposure
        return values * np.log(expected) - expected - gammaln(values + 1)

    def _inside(self, rates: Array, exposure: Array, low: Array, high: Array) -> Array:
        if self.family.name == "exponential":
            bottom = np.maximum(low, 0.0)
            with np.errstate(divide="ignore"):
                return -rates * bottom + np.log(-np.expm1(-rates * (high - bottom)))
        return log_poisson_range(np.maximum(np.ceil(low), 0.0), np.floor(high), rates * exposure)

    def _conditional(self, rates: Array, values: Array, exposure: Array, low: Array, high: Array) -> Array:
        return self._density(rates, values, exposure) - self._inside(rates, exposure, low, high)
