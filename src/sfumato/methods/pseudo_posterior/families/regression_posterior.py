"""The normal-inverse-gamma posterior of a regression: draws, densities, ranges and predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import gammaincinv, gammaln, stdtr

from sfumato.methods.pseudo_posterior.families.interface import ALL, Array, Draws, Numbers
from sfumato.methods.pseudo_posterior.families.range_kernel import range_extremes
from sfumato.methods.pseudo_posterior.families.regression_kernel import density_extremes
from sfumato.methods.pseudo_posterior.families.tails import log_normal_range

if TYPE_CHECKING:
    from sfumato.methods.pseudo_posterior.families.regression import Regression


@dataclass(frozen=True, eq=False)
class RegressionPosterior:
    """Coefficients ~ N(mean, s2 (R'R)^-1) with R = ``factor``, s2 ~ InvGamma(shape, rate)."""

    family: Regression
    mean: Array
    factor: Array
    shape: float
    rate: float

    def draw(self, numbers: Numbers) -> Draws:
        """Return draws: the variance by its quantile function, then the coefficients."""
        variance = self.rate / gammaincinv(self.shape, numbers.uniform[:, 0])
        steps = np.linalg.solve(self.factor, numbers.normal.T).T
        return Draws(np.column_stack([self.mean + np.sqrt(variance)[:, None] * steps, variance]))

    def log_likelihood(self, draws: Draws, rows: slice = ALL) -> Array:
        """Return the log density of each value itself: draws by records."""
        coefficients, variance = split(draws)
        residuals = self.family.response[rows] - coefficients @ self.family.design[rows].T
        normal = -0.5 * np.log(2 * np.pi * variance)[:, None] - residuals**2 / (2 * variance[:, None])
        return normal + self.family.log_jacobian[rows]

    def log_range(self, draws: Draws, low: Array, high: Array) -> Array:
        """Return the log probability of each record's range, exact in both tails: draws by records."""
        coefficients, variance = split(draws)
        deviation = np.sqrt(variance)[:, None]
        centres = coefficients @ self.family.design.T
        bottom, top = self._responses(low), self._responses(high)
        return log_normal_range((bottom - centres) / deviation, (top - centres) / deviation)

    def extremes(
        self, draws: Draws, low: Array | None = None, high: Array | None = None, weights: Array | None = None
    ) -> tuple[Array, Array]:
        """Return each record's smallest and largest weighted log density over the draws, by a compiled loop."""
        coefficients, variance = split(draws)
        family = self.family
        if low is None or high is None:
            smallest, largest = density_extremes(family.design, family.response, coefficients, variance)
            scale = 1.0 if weights is None else weights
            return scale * (smallest + family.log_jacobian), scale * (largest + family.log_jacobian)
        ends = self._responses(low), self._responses(high)
        jacobian = family.log_jacobian
        return range_extremes(family.design, family.response, jacobian, weights, *ends, coefficients, variance)

    def outside(self, low: Array, high: Array) -> Array:
        """Return the predictive probability outside each range: both tails of a Student t, added up."""
        centres, scales = self.predictive(self.family.design)
        freedom = 2 * self.shape
        below = stdtr(freedom, (self._responses(low) - centres) / scales)
        above = stdtr(freedom, (centres - self._responses(high)) / scales)
        return np.asarray(below + above)

    def predictive(self, design: Array) -> tuple[Array, Array]:
        """Return the centre and the scale of the Student t that predicts the response at each row."""
        leverage = (np.linalg.solve(self.factor.T, design.T) ** 2).sum(axis=0)
        return design @ self.mean, np.sqrt(self.rate / self.shape * (1 + leverage))

    def log_density(self, draws: Draws) -> Array:
        """Return the normalised log density in the coefficients and the variance."""
        coefficients, variance = split(draws)
        steps = (coefficients - self.mean) @ self.factor.T
        gamma = self.shape * np.log(self.rate) - gammaln(self.shape) - (self.shape + 1) * np.log(variance)
        normal = np.log(np.abs(np.diag(self.factor))).sum() - len(self.mean) / 2 * np.log(2 * np.pi * variance)
        return np.asarray(gamma + normal - (self.rate + (steps**2).sum(axis=1) / 2) / variance)

    def surprise(self) -> Array:
        """Return the absolute residuals from the posterior mean."""
        return np.abs(self.family.response - self.family.design @ self.mean)

    def synthesise(self, draws: Draws, index: int, design: Any, generator: np.random.Generator) -> Array:
        """Return one synthetic column at the given predictors, or at the family's own if ``design`` is None."""
        rows = self.family.design if design is None else self.family.matrix(design, len(design))
        coefficients, variance = split(draws)
        response = rows @ coefficients[index] + np.sqrt(variance[index]) * generator.standard_normal(len(rows))
        return np.exp(response) if self.family.name == "lognormal" else response

    def _responses(self, ends: Array) -> Array:
        if self.family.name != "lognormal":
            return np.asarray(ends, float)
        with np.errstate(divide="ignore"):  # a range may begin at 0
            return np.log(np.maximum(ends, 0.0))


def split(draws: Draws) -> tuple[Array, Array]:
    """Return the coefficients and the variances of regression draws."""
    return draws.theta[:, :-1], draws.theta[:, -1]
