"""Normal and lognormal regression with a normal-inverse-gamma posterior.

For a lognormal value the model is a normal one for its log, and the density is that of the value itself: the term
``-log x`` is free of the parameters, so it moves the risk but not the posterior.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaincinv, gammaln, stdtr

from sfumato.errors import PlanError, TableError
from sfumato.papers.range_restriction.families.compiled_extremes import (
    density_extremes,
    log_normal_range,
    range_extremes,
)
from sfumato.papers.range_restriction.families.interface import (
    ALL,
    FloatArray,
    Kind,
    RecordPosterior,
    Records,
    Rows,
    StandardRandomNumbers,
    checked_weights,
)

ROUNDING = 1e-26
"""Share of the sum of squares that a perfect fit leaves by rounding alone."""
SINGULAR = 1e-10
"""Share of a predictor, or of a correlation matrix's direction, below which it counts as linearly dependent."""


@dataclass(frozen=True, eq=False)
class NormalInverseGamma:
    """Prior: coefficients ~ N(mean, s2 precision^-1), s2 ~ InvGamma(shape, rate); the intercept comes first."""

    mean: FloatArray
    precision: FloatArray
    shape: float
    rate: float

    @classmethod
    def flat(cls, parameters: int) -> NormalInverseGamma:
        """Return the flat prior 1/s2, which is improper: the weights must sum to more than the coefficients."""
        return cls(np.zeros(parameters), np.zeros((parameters, parameters)), -parameters / 2, 0.0)

    def root(self) -> FloatArray:
        """Return a matrix A with A'A = precision, of as many rows as it has rank."""
        sizes, directions = np.linalg.eigh(self.precision)
        keep = sizes > sizes.max(initial=0.0) * 1e-14
        return (directions[:, keep] * np.sqrt(sizes[keep])).T


class RecordsWithDesign(Records):
    """What regressions share: a design whose first column is the intercept."""

    design: FloatArray

    def matrix(self, predictors: Any) -> FloatArray:
        """Return predictors as a design with its intercept; None means the family's own."""
        if predictors is None:
            return self.design
        return design_of(predictors, len(predictors), self.design.shape[1] - 1)

    def design_row(self, predictors: Any) -> FloatArray:
        """Return the design of one record; predictors that are not given are at their means."""
        if predictors is None:
            return self.design.mean(axis=0)
        return self.matrix(np.atleast_2d(np.asarray(predictors, float)))[0]


@dataclass(frozen=True, eq=False)
class Regression(RecordsWithDesign):
    """Values with a design whose first column is the intercept; ``response`` is the value, or its log if lognormal."""

    name: str
    values: FloatArray
    response: FloatArray
    design: FloatArray
    prior: NormalInverseGamma

    by_record: ClassVar = ("values", "response", "design")

    @property
    def kind(self) -> Kind:
        """Ranges are intervals of real numbers."""
        return "continuous"

    @property
    def parameters(self) -> int:
        """The number of coefficients, or 0 where the prior alone is proper."""
        return self.design.shape[1] if self.prior.shape <= 0 else 0

    @property
    def log_jacobian(self) -> FloatArray:
        """What the density of the value itself adds to that of the response."""
        return -self.response if self.name == "lognormal" else np.zeros(len(self.response))

    def numbers(self, draws: int, generator: np.random.Generator) -> StandardRandomNumbers:
        """Draw one normal per coefficient and one uniform for the variance."""
        return StandardRandomNumbers.drawn(draws, self.design.shape[1], 1, generator)

    def posterior(self, weights: ArrayLike) -> RegressionPosterior:
        """Return the normal-inverse-gamma posterior, by one QR decomposition of the weighted rows."""
        exact = checked_weights(np.asarray(weights, float), len(self.values))
        shape = self.prior.shape + float(exact.sum()) / 2
        if shape <= 0:
            raise _too_little_weight(self.name, float(exact.sum()), self.parameters)
        factor, mean, squares = self._solved(np.sqrt(exact))
        rate = self.prior.rate + squares / 2
        if rate <= 0:
            raise _no_spread(self.name)
        return RegressionPosterior(self, mean, factor, shape, rate)

    def with_record(self, value: float, predictors: ArrayLike | None = None) -> Regression:
        """Return the same regression and one more record, last; its predictors default to their means."""
        response = response_of(self.name, np.array([value], float))[0]
        return self.joined_by(value, response, self.design_row(predictors))

    def outlier(self, residual: float, predictors: ArrayLike | None = None) -> float:
        """Return the value ``residual`` standard deviations above the unweighted fit."""
        fit = self.posterior(np.ones(len(self.values)))
        response = float(self.design_row(predictors) @ fit.mean + residual * np.sqrt(fit.rate / fit.shape))
        return float(np.exp(response)) if self.name == "lognormal" else response

    def _solved(self, roots: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Return R with R'R = P, the posterior mean, and the weighted sum of squares with the prior's part."""
        rows = np.column_stack([self.design, self.response]) * roots[:, None]
        prior = self.prior.root()
        joint = np.vstack([rows, np.column_stack([prior, prior @ self.prior.mean])])
        padded = np.vstack([joint, np.zeros((joint.shape[1],) * 2)])  # as many rows as columns, at least
        triangle = np.asarray(np.linalg.qr(padded, mode="r"), np.float64)
        factor, target = triangle[:-1, :-1], triangle[:-1, -1]
        # Each diagonal entry is what its column adds to those before it, in the column's own unit.
        if (np.abs(np.diag(factor)) <= SINGULAR * np.sqrt((factor**2).sum(axis=0))).any():
            raise _singular(self.name, ["the weighted records do not tell the predictors apart"])
        squares = triangle[:, -1] ** 2
        rest = float(squares[-1]) if squares[-1] > ROUNDING * squares.sum() else 0.0
        return factor, np.asarray(np.linalg.solve(factor, target), np.float64), rest


def make_regression(
    name: str, values: ArrayLike, design: Any = None, prior: NormalInverseGamma | None = None
) -> Regression:
    """Return a regression, or refuse values and predictors that have no posterior, all problems at once."""
    exact = np.asarray(values, float)
    if exact.ndim != 1 or not len(exact) or not np.isfinite(exact).all():
        raise TableError(f"the values of the {name} family must be one column of finite numbers")
    response = response_of(name, exact)
    matrix = design_of(design, len(exact))
    problems = _design_problems(matrix)
    if problems and prior is None:
        raise _singular(name, problems)
    chosen = NormalInverseGamma.flat(matrix.shape[1]) if prior is None else _checked_prior(prior, matrix.shape[1])
    return Regression(name, exact, response, matrix, chosen)


def response_of(name: str, values: FloatArray) -> FloatArray:
    """Return what the normal model describes: the values, or their logs, which need values above 0."""
    if name != "lognormal":
        return values
    below = int((values <= 0).sum())
    if below:
        problem = f"{below} of {len(values)} values are 0 or below; the smallest is {values.min():g}"
        raise TableError("a lognormal value must be above 0", [problem], "use the normal family, or shift the values")
    return np.log(values)


def design_of(predictors: Any, rows: int, columns: int | None = None) -> FloatArray:
    """Return predictors, one column each, behind an intercept that is added here."""
    matrix = np.zeros((rows, 0)) if predictors is None else np.asarray(predictors, float)
    matrix = matrix[:, None] if matrix.ndim == 1 else matrix
    problems: list[str] = []
    if matrix.ndim != 2 or len(matrix) != rows:
        problems.append(f"{rows} rows needed, one per value; the shape given is {matrix.shape}")
    elif columns is not None and matrix.shape[1] != columns:
        problems.append(f"{columns} predictors were fitted, {matrix.shape[1]} are given")
    if not np.isfinite(matrix).all():
        problems.append("predictors must be finite numbers")
    if problems:
        raise TableError("the predictors do not fit", problems, "give one row per value, one column per predictor")
    return np.column_stack([np.ones(rows), matrix])


def _design_problems(design: FloatArray) -> list[str]:
    """Name predictors that are constant, or say that the others are linearly dependent."""
    predictors = design[:, 1:]
    spread = predictors.std(axis=0)
    constant: NDArray[np.bool_] = spread <= 1e-12 * np.abs(predictors).max(axis=0, initial=0.0)
    problems = [f"predictor {i} is constant" for i in np.flatnonzero(constant)]
    varying = predictors[:, ~constant]
    if varying.shape[1] > 1 and np.linalg.eigvalsh(np.corrcoef(varying.T)).min() < SINGULAR:
        problems.append("some predictors are sums or multiples of others")
    return problems


def _checked_prior(prior: NormalInverseGamma, parameters: int) -> NormalInverseGamma:
    mean, precision = np.asarray(prior.mean, float), np.asarray(prior.precision, float)
    if mean.shape != (parameters,) or precision.shape != (parameters, parameters):
        problem = f"{parameters} coefficients, the intercept first; the mean has the shape {mean.shape}"
        raise PlanError("the prior does not fit the predictors", [problem], "give a mean and a precision of that size")
    return replace(prior, mean=mean, precision=precision)


def _too_little_weight(name: str, total: float, parameters: int) -> PlanError:
    return PlanError(
        f"the weighted posterior of the {name} family is improper",
        [f"the weights sum to {total:.4g}; they must sum to more than {parameters}, the number of coefficients"],
        "raise the scale or the target claim, use more records, or give a proper prior",
    )


def _no_spread(name: str) -> TableError:
    return TableError(
        f"the {name} family cannot estimate a variance",
        ["the predictors fit every weighted value exactly"],
        "use fewer predictors or more records, or give a proper prior",
    )


def _singular(name: str, problems: list[str]) -> TableError:
    return TableError(
        f"the predictors of the {name} family are singular", problems, "leave out predictors; the intercept is added"
    )


@dataclass(frozen=True, eq=False)
class RegressionPosterior(RecordPosterior):
    """Coefficients ~ N(mean, s2 (R'R)^-1) with R = ``factor``, s2 ~ InvGamma(shape, rate)."""

    family: Regression
    mean: FloatArray
    factor: FloatArray
    shape: float
    rate: float

    def draw(self, numbers: StandardRandomNumbers) -> FloatArray:
        """Return draws: the variance by its quantile function, then the coefficients."""
        variance = self.rate / gammaincinv(self.shape, numbers.uniform[:, 0])
        steps = np.linalg.solve(self.factor, numbers.normal.T).T
        return np.column_stack([self.mean + np.sqrt(variance)[:, None] * steps, variance])

    def log_likelihood(self, draws: FloatArray, rows: Rows = ALL) -> FloatArray:
        """Return the log density of each value itself: draws by records."""
        coefficients, variance = split(draws)
        residuals = self.family.response[rows] - coefficients @ self.family.design[rows].T
        normal = -0.5 * np.log(2 * np.pi * variance)[:, None] - residuals**2 / (2 * variance[:, None])
        return normal + self.family.log_jacobian[rows]

    def log_range(self, draws: FloatArray, low: FloatArray, high: FloatArray, rows: Rows = ALL) -> FloatArray:
        """Return the log probability of each record's range, exact in both tails: draws by records."""
        coefficients, variance = split(draws)
        deviation = np.sqrt(variance)[:, None]
        centres = coefficients @ self.family.design[rows].T
        bottom, top = self._responses(low), self._responses(high)
        return log_normal_range((bottom - centres) / deviation, (top - centres) / deviation)

    def extremes(
        self,
        draws: FloatArray,
        low: FloatArray | None = None,
        high: FloatArray | None = None,
        weights: FloatArray | None = None,
    ) -> tuple[FloatArray, FloatArray]:
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

    def outside(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return the predictive probability outside each range: both tails of a Student t, added up."""
        centres, scales = self.predictive(self.family.design)
        freedom = 2 * self.shape
        below = stdtr(freedom, (self._responses(low) - centres) / scales)
        above = stdtr(freedom, (centres - self._responses(high)) / scales)
        return np.asarray(below + above)

    def predictive(self, design: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the centre and the scale of the Student t that predicts the response at each row."""
        leverage = (np.linalg.solve(self.factor.T, design.T) ** 2).sum(axis=0)
        return design @ self.mean, np.sqrt(self.rate / self.shape * (1 + leverage))

    def log_density(self, draws: FloatArray) -> FloatArray:
        """Return the normalised log density in the coefficients and the variance."""
        coefficients, variance = split(draws)
        steps = (coefficients - self.mean) @ self.factor.T
        gamma = self.shape * np.log(self.rate) - gammaln(self.shape) - (self.shape + 1) * np.log(variance)
        normal = np.log(np.abs(np.diag(self.factor))).sum() - len(self.mean) / 2 * np.log(2 * np.pi * variance)
        return np.asarray(gamma + normal - (self.rate + (steps**2).sum(axis=1) / 2) / variance)

    def surprise(self) -> FloatArray:
        """Return the absolute residuals from the posterior mean."""
        return np.abs(self.family.response - self.family.design @ self.mean)

    def synthesise(self, draws: FloatArray, index: int, design: Any, generator: np.random.Generator) -> FloatArray:
        """Return one synthetic column at the given predictors, or at the family's own if ``design`` is None."""
        rows = self.family.matrix(design)
        coefficients, variance = split(draws)
        response = rows @ coefficients[index] + np.sqrt(variance[index]) * generator.standard_normal(len(rows))
        return np.exp(response) if self.family.name == "lognormal" else response

    def _responses(self, ends: FloatArray) -> FloatArray:
        if self.family.name != "lognormal":
            return np.asarray(ends, float)
        with np.errstate(divide="ignore"):  # a range may begin at 0
            return np.log(np.maximum(ends, 0.0))


def split(draws: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the coefficients and the variances of regression draws."""
    return draws[:, :-1], draws[:, -1]
