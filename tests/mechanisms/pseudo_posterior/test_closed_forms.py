"""Closed forms against numeric integration, and tails against high precision."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import ndtr

from sfumato.papers.range_restriction.families import NormalInverseGamma, make_family
from sfumato.papers.range_restriction.families.compiled_extremes import log_normal_range
from sfumato.papers.range_restriction.families.log_probabilities import (
    log_count_range,
    log_gamma_quantile,
)

VALUES = np.array([0.7, 2.1, 1.4, 3.9, 0.9, 1.8, 5.2])
WEIGHTS = np.array([1.0, 0.35, 0.8, 0.15, 0.9, 1.0, 0.6])
PREDICTOR = np.array([0.1, 0.8, -0.4, 1.9, -1.0, 0.3, 1.2])
PROPER = NormalInverseGamma(np.array([0.3]), np.array([[0.5]]), 1.5, 0.8)


# --- regression against numeric integration over the mean and the variance ------------------------------------


class Grid:
    """The weighted posterior of a mean and a variance on a fine grid.

    The mean is m + s v: then the integrand falls off like a normal in v and exponentially in log s2, and the
    trapezoid rule is exact to many digits.
    """

    def __init__(self, response: np.ndarray, weights: np.ndarray, prior: NormalInverseGamma | None) -> None:
        self.v, self.log_s2 = np.meshgrid(np.linspace(-14, 14, 561), np.linspace(-9, 45, 2701), indexing="ij")
        self.s2 = np.exp(self.log_s2)
        self.mean = np.average(response, weights=weights) + np.sqrt(self.s2) * self.v
        logs = -np.log(self.s2)  # the flat prior 1/s2
        if prior is not None:
            logs = -(prior.shape + 1) * np.log(self.s2) - prior.rate / self.s2
            logs += -0.5 * np.log(self.s2) - prior.precision[0, 0] * (self.mean - prior.mean[0]) ** 2 / (2 * self.s2)
        for y, w in zip(response, weights, strict=True):
            logs += w * (-0.5 * np.log(2 * np.pi * self.s2) - (y - self.mean) ** 2 / (2 * self.s2))
        self.logs = logs
        self.measure = logs + 1.5 * self.log_s2  # d mean d s2 = s s2 dv dlog(s2)
        self.mass = np.exp(self.measure - self.measure.max())

    def expect(self, function: np.ndarray) -> float:
        return float((self.mass * function).sum() / self.mass.sum())

    def log_normaliser(self) -> float:
        cell = (28 / 560) * (54 / 2700)
        return float(np.log(self.mass.sum() * cell) + self.measure.max())


@pytest.mark.parametrize("name", ["normal", "lognormal"])
@pytest.mark.parametrize("prior", [None, PROPER], ids=["flat", "proper"])
def test_regression_equals_numeric_integration(name: str, prior: NormalInverseGamma | None) -> None:
    family = make_family(name, VALUES, None, prior)
    response = np.log(VALUES) if name == "lognormal" else VALUES
    posterior, grid = family.posterior(WEIGHTS), Grid(response, WEIGHTS, prior)
    assert posterior.mean[0] == pytest.approx(grid.expect(grid.mean), abs=1e-8)
    assert posterior.shape / posterior.rate == pytest.approx(grid.expect(1 / grid.s2), rel=1e-8)
    point = np.array([[0.4, 1.3], [1.2, 0.6]])
    unnormalised = [_log_posterior(response, b, s2, prior) for b, s2 in point]
    assert posterior.log_density(point) == pytest.approx(np.array(unnormalised) - grid.log_normaliser(), abs=1e-8)
    low, high = 0.6 * VALUES, 1.2 * VALUES
    ends = (np.log(low), np.log(high)) if name == "lognormal" else (low, high)
    for i in (0, 3, 6):
        below, above = (ndtr((side[i] - grid.mean) / np.sqrt(grid.s2)) for side in ends)
        assert posterior.outside(low, high)[i] == pytest.approx(grid.expect(1 - above + below), abs=1e-8)


def _log_posterior(response: np.ndarray, b: float, s2: float, prior: NormalInverseGamma | None) -> float:
    logs = (WEIGHTS * stats.norm.logpdf(response, b, math.sqrt(s2))).sum() - math.log(s2)
    if prior is None:
        return float(logs)
    logs += -prior.shape * math.log(s2) - prior.rate / s2 - 0.5 * math.log(s2)
    return float(logs - prior.precision[0, 0] * (b - prior.mean[0]) ** 2 / (2 * s2))


def test_regression_with_a_predictor_is_weighted_least_squares() -> None:
    posterior = make_family("normal", VALUES, PREDICTOR).posterior(WEIGHTS)
    design = np.column_stack([np.ones(7), PREDICTOR])
    gram = design.T @ (WEIGHTS[:, None] * design)
    mean = np.linalg.solve(gram, design.T @ (WEIGHTS * VALUES))
    assert posterior.mean == pytest.approx(mean, abs=1e-12)
    assert posterior.factor.T @ posterior.factor == pytest.approx(gram, abs=1e-12)
    assert posterior.shape == pytest.approx((WEIGHTS.sum() - 2) / 2)
    assert posterior.rate == pytest.approx((WEIGHTS * (VALUES - design @ mean) ** 2).sum() / 2)


def test_a_proper_prior_with_predictors_follows_the_textbook() -> None:
    prior = NormalInverseGamma(np.array([0.5, -0.2]), np.array([[2.0, 0.3], [0.3, 1.0]]), 1.2, 0.7)
    posterior = make_family("normal", VALUES, PREDICTOR, prior).posterior(WEIGHTS)
    design = np.column_stack([np.ones(7), PREDICTOR])
    precision = prior.precision + design.T @ (WEIGHTS[:, None] * design)
    mean = np.linalg.solve(precision, prior.precision @ prior.mean + design.T @ (WEIGHTS * VALUES))
    squares = (WEIGHTS * (VALUES - design @ mean) ** 2).sum()
    squares += (mean - prior.mean) @ prior.precision @ (mean - prior.mean)
    assert posterior.mean == pytest.approx(mean, abs=1e-12)
    assert (posterior.shape, posterior.rate) == pytest.approx((1.2 + WEIGHTS.sum() / 2, 0.7 + squares / 2))


def test_far_predictors_keep_their_digits() -> None:
    """A year as predictor: the Gram matrix would have a condition number of 1e13."""
    generator = np.random.default_rng(2)
    year = 2000 + generator.uniform(-1, 1, 500)
    values = 3 + 0.5 * (year - 2000) + generator.normal(0, 1e-3, 500)
    near = make_family("normal", values, year - 2000).posterior(np.ones(500))
    far = make_family("normal", values, year).posterior(np.ones(500))
    assert far.mean[1] == pytest.approx(near.mean[1], rel=1e-9)
    assert far.rate == pytest.approx(near.rate, rel=1e-8)


# --- conjugate families against numeric integration -----------------------------------------------------------


def test_binary_equals_numeric_integration() -> None:
    yes, weights = np.array([1, 0, 1, 1, 0, 0, 1]), WEIGHTS

    def likelihood(p: float) -> float:
        return float(p ** (weights * yes).sum() * (1 - p) ** (weights * (1 - yes)).sum())

    total = integrate.quad(likelihood, 0, 1, epsabs=1e-13)[0]
    posterior = make_family("binary", yes).posterior(weights)
    shares = np.log(np.array([[0.7, 0.3], [0.2, 0.8]]))
    assert posterior.log_density(shares) == pytest.approx(
        [math.log(likelihood(p) / total) for p in (0.3, 0.8)], abs=1e-8
    )
    predicted = integrate.quad(lambda p: p * likelihood(p), 0, 1, epsabs=1e-13)[0] / total
    assert posterior.outside(np.zeros(7), np.zeros(7))[0] == pytest.approx(predicted, abs=1e-8)


def test_categorical_equals_numeric_integration() -> None:
    codes, prior = np.array([0, 1, 2, 1, 0, 2, 1]), np.array([1.0, 2.0, 0.7])
    exponents = prior - 1 + np.bincount(codes, WEIGHTS)

    def density(q: float, p: float) -> float:
        return float(p ** exponents[0] * q ** exponents[1] * max(1 - p - q, 0.0) ** exponents[2])

    def integral(function) -> float:
        return integrate.dblquad(function, 0, 1, 0, lambda p: 1 - p, epsabs=1e-12)[0]

    total = integral(density)
    posterior = make_family("categorical", codes, None, prior).posterior(WEIGHTS)
    at = np.log(np.array([[0.5, 0.3, 0.2]]))
    assert posterior.log_density(at)[0] == pytest.approx(math.log(density(0.3, 0.5) / total), abs=1e-8)
    ends = np.zeros(7), np.ones(7)
    outside = integral(lambda q, p: (1 - p - q) * density(q, p)) / total
    assert posterior.outside(*ends)[0] == pytest.approx(outside, abs=1e-8)


def test_counts_equal_numeric_integration() -> None:
    counts, exposure = np.array([3, 0, 5, 2, 9, 1, 4]), np.array([1.0, 0.5, 2.0, 1.0, 1.5, 0.7, 1.0])

    def density(rate: float) -> float:
        logs = counts * np.log(rate * exposure) - rate * exposure
        return float(np.exp((WEIGHTS * logs).sum()) * rate**-0.5)

    total = integrate.quad(density, 0, 40, epsabs=0, epsrel=1e-12, limit=200)[0]
    posterior = make_family("counts", counts, exposure=exposure).posterior(WEIGHTS)
    at = np.array([[2.0], [3.3]])
    assert posterior.log_density(at) == pytest.approx([math.log(density(r) / total) for r in (2.0, 3.3)], abs=1e-8)
    for i, (low, high) in enumerate([(2, 4), (0, 1), (5, 5)]):

        def beyond(rate: float, low: int = low, high: int = high, time: float = exposure[i]) -> float:
            return float(stats.poisson.cdf(low - 1, rate * time) + stats.poisson.sf(high, rate * time)) * density(rate)

        outside = integrate.quad(beyond, 0, 40, epsabs=0, epsrel=1e-12, limit=200)[0] / total
        found = posterior.outside(np.full(7, float(low)), np.full(7, float(high)))[i]
        assert found == pytest.approx(outside, abs=1e-8)


def test_exponential_equals_numeric_integration() -> None:
    def density(rate: float) -> float:
        return float(np.exp((WEIGHTS * (np.log(rate) - rate * VALUES)).sum()) / rate)

    total = integrate.quad(density, 0, 30, epsabs=0, epsrel=1e-12, limit=200)[0]
    posterior = make_family("exponential", VALUES).posterior(WEIGHTS)
    at = np.array([[0.4], [0.9]])
    assert posterior.log_density(at) == pytest.approx([math.log(density(r) / total) for r in (0.4, 0.9)], abs=1e-8)
    low, high = 0.6 * VALUES, 1.2 * VALUES
    beyond = integrate.quad(
        lambda r: (1 - math.exp(-r * low[3]) + math.exp(-r * high[3])) * density(r), 0, 30, epsabs=0, epsrel=1e-12
    )
    assert posterior.outside(low, high)[3] == pytest.approx(beyond[0] / total, abs=1e-8)


# --- tails against high precision -----------------------------------------------------------------------------


def exact_log_range(low: float, high: float) -> float:
    with mpmath.workdps(900):
        a, b = mpmath.mpf(low), mpmath.mpf(high)
        return float(mpmath.log((mpmath.erfc(a / mpmath.sqrt(2)) - mpmath.erfc(b / mpmath.sqrt(2))) / 2))


@pytest.mark.parametrize(
    ("low", "high"),
    [
        *[
            (40, 40.5),
            (40, 41),
            (39.99, 40.01),
            (-41, -40),
            (-40.5, -40),
            (19.9, 20.1),
            (20, 20.3),
            (5, 5.4),
            (-5.4, -5),
        ],
        *[(-0.2, 0.3), (-1.5, 1.5), (-40, 40), (-3, 40), (0.0, 0.7), (-0.7, 0.0), (37, 200), (8, math.inf)],
        *[(-5.4, -5), (-math.inf, -40), (-math.inf, math.inf)],
    ],
)
def test_log_probability_of_a_range_is_exact_in_both_tails(low: float, high: float) -> None:
    exact = exact_log_range(low, high)
    # A narrow interval is a difference of nearly equal tails: its own width sets what doubles can hold.
    reach = 1e-9 if high - low >= 0.1 else 1e-8
    assert float(log_normal_range(np.array(low), np.array(high))) == pytest.approx(exact, rel=1e-11, abs=reach)


def test_without_the_sign_flip_the_upper_tail_is_lost() -> None:
    """The mutant: the same range, computed from the lower distribution function, has probability 0."""
    assert ndtr(41.0) - ndtr(40.0) == 0
    assert float(log_normal_range(np.array(40.0), np.array(41.0))) == pytest.approx(-804.6084, abs=1e-3)


@pytest.mark.parametrize(
    ("low", "high", "mean"),
    [
        *[(2, 4, 3.0), (0, 0, 700.0), (0, 3, 900.0), (900, 905, 20.0), (900, math.inf, 20.0), (5, 5, 5.0)],
        *[(0, math.inf, 2.0), (1_040_000, 1_040_010, 1e6), (955_000, 960_000, 1e6), (300, 2000, 40.0)],
        (400, 2000, 40.0),
    ],
)
def test_log_probability_of_counts_is_exact_in_both_tails(low: float, high: float, mean: float) -> None:
    with mpmath.workdps(60):
        m = mpmath.mpf(mean)
        last = min(high, low + 20_000)
        start = max(low, last - 20_000) if low < mean else low
        term = mpmath.exp(start * mpmath.log(m) - m - mpmath.loggamma(start + 1))
        total = mpmath.mpf(0)
        for k in range(int(start), int(last) + 1):
            total, term = total + term, term * m / (k + 1)
        exact = float(mpmath.log(total))
    found = float(log_count_range(np.array(float(low)), np.array(float(high)), np.array(mean)))
    assert found == pytest.approx(exact, rel=1e-10, abs=1e-9)


def test_quantiles_of_tiny_gamma_shapes_do_not_underflow() -> None:
    found = log_gamma_quantile(np.array([1e-3, 5.0]), np.array([[0.3, 0.3]]))
    assert found[0, 0] == pytest.approx((math.log(0.3) + math.lgamma(1.001)) / 1e-3)
    assert found[0, 1] == pytest.approx(math.log(stats.gamma.ppf(0.3, 5)))


@pytest.mark.parametrize("shape", [1e-3, 0.5, 1.0, 7.3, 1e3, 5e5])
def test_many_quantiles_are_interpolated_to_eight_digits(shape: float) -> None:
    uniform = np.random.default_rng(3).random((5000, 1))
    uniform[:2, 0] = 2.0**-54, 1 - 2.0**-52
    many = log_gamma_quantile(np.array([shape]), uniform)
    few = np.vstack([log_gamma_quantile(np.array([shape]), part) for part in np.split(uniform, 5)])
    assert many == pytest.approx(few, rel=1e-8, abs=1e-8)
