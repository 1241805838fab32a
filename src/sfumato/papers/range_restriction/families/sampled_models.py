"""Logistic, negative binomial and Student t regressions for NUTS.

A model is a prior (a NumPyro model that returns its parameters by name), a log-likelihood in JAX, and two plain NumPy
functions for one draw of the parameters: how values are made, and how likely a range is. NumPyro is imported only when
a model is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.special import betainc, expit, gammaln, log_expit, stdtr

from sfumato.papers.range_restriction.families.interface import FloatArray
from sfumato.papers.range_restriction.families.model import SampledModel, Theta

SLOPE_WIDTH = 2.5
"""Prior standard deviation of a slope, on the log scale of odds or counts, per standard deviation of its predictor."""
RESPONSE_WIDTH = 10.0
"""The same for Student t errors, in spreads of the values."""
FREEDOM_PRIOR = (2.0, 0.1)
"""Shape and rate of the gamma prior of the degrees of freedom: mean 20, hardly any mass below 0.5."""
UNDERFLOW = 1e-280
LOST_DIGITS = 1e-6
FAR_ENOUGH = 1e-13
MOST_TERMS = 100_000


def independent_priors(laws: Mapping[str, Any]) -> Callable[[], Theta]:
    """Return the prior of parameters that are independent, each with a NumPyro distribution of its own."""

    def prior() -> Theta:
        import numpyro

        return {name: numpyro.sample(name, law) for name, law in laws.items()}

    return prior


def logistic(values: FloatArray, design: FloatArray) -> SampledModel:
    """Return yes-or-no values whose log odds are linear: independent normal priors, centred at even odds."""
    scale = _scales(design, SLOPE_WIDTH)
    return SampledModel(
        "logistic",
        "codes",
        lambda: {"coefficients": _coefficients(np.zeros_like(scale), scale)},
        _logistic_log_likelihood,
        _logistic_simulate,
        _logistic_log_range,
    )


def negative_binomial(values: FloatArray, design: FloatArray) -> SampledModel:
    """Return counts with mean m = exp(linear) and variance m + overdispersion m^2, which is Exponential(1)."""
    centre, scale = np.zeros(design.shape[1]), _scales(design, SLOPE_WIDTH)
    centre[0] = np.log(values.mean() + 0.5)

    def prior() -> Theta:
        import numpyro
        from numpyro.distributions import Exponential

        overdispersion = numpyro.sample("overdispersion", Exponential(1.0))
        return {"coefficients": _coefficients(centre, scale), "overdispersion": overdispersion}

    return SampledModel(
        "negative-binomial", "counts", prior, _counts_log_likelihood, _counts_simulate, _counts_log_range
    )


def student_t(values: FloatArray, design: FloatArray, freedom: float | None = None) -> SampledModel:
    """Return values with Student t errors; without ``freedom`` its degrees are unknown too.

    The priors are weak and in spreads of the values, so that a change of unit changes nothing but the unit.
    """
    centre, spread = np.zeros(design.shape[1]), _spread(values)
    centre[0] = np.median(values)
    scale = _scales(design, RESPONSE_WIDTH * spread)

    def prior() -> Theta:
        import numpyro
        from numpyro.distributions import Gamma, HalfNormal

        relative = numpyro.sample("relative_scale", HalfNormal(2.5))
        degrees = numpyro.sample("freedom", Gamma(*FREEDOM_PRIOR)) if freedom is None else freedom
        return {"coefficients": _coefficients(centre, scale), "scale": spread * relative, "freedom": degrees}

    return SampledModel("student-t", "continuous", prior, _t_log_likelihood, _t_simulate, _t_log_range)


def _coefficients(centre: FloatArray, scale: FloatArray) -> Any:
    """Sample standard normals and stretch them: all parameters then live on one scale, which NUTS likes."""
    import numpyro
    from numpyro.distributions import Normal

    standard = numpyro.sample("standard", Normal(0.0, 1.0).expand([len(scale)]).to_event(1))
    return centre + scale * standard


def _scales(design: FloatArray, width: float) -> FloatArray:
    """Return prior standard deviations: a slope's by the spread of its predictor, the intercept's to make up for it."""
    spread, middle = design[:, 1:].std(axis=0), design[:, 1:].mean(axis=0)
    away = np.sqrt(4.0 + ((middle / spread) ** 2).sum())
    return width * np.concatenate([[away], 1 / spread])


def _spread(values: FloatArray) -> float:
    """Return a spread that outliers hardly move, or the standard deviation where half of the values agree."""
    robust = 1.4826 * float(np.median(np.abs(values - np.median(values))))
    return robust or float(values.std())


def _logistic_log_likelihood(theta: Theta, values: Any, design: Any) -> Any:
    from jax.numpy import logaddexp

    logits = design @ theta["coefficients"]
    return values * logits - logaddexp(0.0, logits)


def _logistic_simulate(theta: Theta, design: FloatArray, generator: np.random.Generator) -> FloatArray:
    return (generator.random(len(design)) < expit(design @ theta["coefficients"])).astype(float)


def _logistic_log_range(theta: Theta, low: FloatArray, high: FloatArray, design: FloatArray) -> FloatArray:
    logits = design @ theta["coefficients"]
    zero, one = (low <= 0) & (high >= 0), (low <= 1) & (high >= 1)
    single = np.where(one, log_expit(logits), np.where(zero, log_expit(-logits), -np.inf))
    return np.where(zero & one, 0.0, single)


def _counts_log_likelihood(theta: Theta, values: Any, design: Any) -> Any:
    from jax.numpy import log, logaddexp
    from jax.scipy.special import gammaln

    size = 1 / theta["overdispersion"]
    relative = design @ theta["coefficients"] - log(size)  # log of the mean in units of the size
    ways = gammaln(values + size) - gammaln(size) - gammaln(values + 1)
    return ways + values * relative - (values + size) * logaddexp(0.0, relative)


def _counts_simulate(theta: Theta, design: FloatArray, generator: np.random.Generator) -> FloatArray:
    means, size = np.exp(design @ theta["coefficients"]), 1 / float(theta["overdispersion"])
    return generator.negative_binomial(size, size / (size + means)).astype(float)


def _counts_log_range(theta: Theta, low: FloatArray, high: FloatArray, design: FloatArray) -> FloatArray:
    first, last = np.maximum(np.ceil(low), 0.0), np.floor(high)
    means = np.exp(design @ theta["coefficients"])
    return log_negative_binomial_range(first, last, means, 1 / float(theta["overdispersion"]))


def _t_log_likelihood(theta: Theta, values: Any, design: Any) -> Any:
    from jax.numpy import log, log1p
    from jax.scipy.special import gammaln

    freedom, scale = theta["freedom"], theta["scale"]
    residuals = (values - design @ theta["coefficients"]) / scale
    constant = gammaln((freedom + 1) / 2) - gammaln(freedom / 2) - log(freedom * np.pi) / 2 - log(scale)
    return constant - (freedom + 1) / 2 * log1p(residuals**2 / freedom)


def _t_simulate(theta: Theta, design: FloatArray, generator: np.random.Generator) -> FloatArray:
    errors = generator.standard_t(float(theta["freedom"]), len(design))
    return design @ theta["coefficients"] + float(theta["scale"]) * errors


def _t_log_range(theta: Theta, low: FloatArray, high: FloatArray, design: FloatArray) -> FloatArray:
    """Mirror an interval above the centre to the lower tail, where the distribution function keeps its digits."""
    centres, scale, freedom = design @ theta["coefficients"], float(theta["scale"]), float(theta["freedom"])
    bottom, top = (low - centres) / scale, (high - centres) / scale
    mirrored = bottom > 0
    bottom, top = np.where(mirrored, -top, bottom), np.where(mirrored, -bottom, top)
    with np.errstate(divide="ignore"):
        return np.log(stdtr(freedom, top) - stdtr(freedom, bottom))


def log_negative_binomial_range(low: FloatArray, high: FloatArray, mean: FloatArray, size: float) -> FloatArray:
    """Return log P(low <= Y <= high) for whole numbers 0 <= low; ``high`` may be infinite.

    Y has the given mean and the variance mean + mean^2 / size.
    """
    low, high, mean = (np.array(part, float) for part in np.broadcast_arrays(low, high, mean))
    share = size / (size + mean)
    top = np.where(np.isinf(high), 0.0, high)
    beyond = np.where(np.isinf(high), 0.0, betainc(top + 1, size, 1 - share))  # P(Y > high)
    up_to = np.where(np.isinf(high), 1.0, betainc(size, top + 1, share))  # P(Y <= high)
    first = np.maximum(low, 1.0)
    below = np.where(low > 0, betainc(size, first, share), 0.0)  # P(Y < low)
    from_low = np.where(low > 0, betainc(first, size, 1 - share), 1.0)  # P(Y >= low)
    upper = low > mean
    inside, whole = np.where(upper, from_low - beyond, up_to - below), np.where(upper, from_low, up_to)
    by_hand = ((inside < UNDERFLOW) | (inside < LOST_DIGITS * whole)) & (low <= high)
    with np.errstate(divide="ignore"):
        result = np.log(np.maximum(inside, 0.0))
    if by_hand.any():
        result[by_hand] = _sum(low[by_hand], high[by_hand], mean[by_hand], size)
    return result


def log_negative_binomial(counts: FloatArray, mean: FloatArray, size: float) -> FloatArray:
    """Return the log probability of each count."""
    ways = gammaln(counts + size) - gammaln(size) - gammaln(counts + 1)
    return ways + counts * np.log(mean / (size + mean)) - size * np.log1p(mean / size)


def _sum(low: FloatArray, high: FloatArray, mean: FloatArray, size: float) -> FloatArray:
    """Add up probabilities from the end nearest to the mean outwards, each relative to the first."""
    upwards = low > mean
    k = np.where(upwards, low, high)
    first, more = log_negative_binomial(k, mean, size), mean / (size + mean)
    term, total = np.ones_like(mean), np.ones_like(mean)
    for _ in range(MOST_TERMS):
        step = np.where(upwards, (k + size) / (k + 1) * more, k / (np.maximum(k - 1, 0) + size) / more)
        k = np.where(upwards, k + 1, k - 1)
        term = np.where((k >= low) & (k <= high), term * step, 0.0)
        total = total + term
        if not (term > FAR_ENOUGH * total).any():
            break
    return first + np.log(total)
