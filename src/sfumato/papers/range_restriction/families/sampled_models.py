"""Logistic, negative binomial and Student t regressions for NUTS.

A model is a prior (a NumPyro model that returns its parameters by name), a log-likelihood in JAX, and two plain NumPy
functions for one draw of the parameters: how values are made, and how likely a range is. NumPyro is imported only when
a model is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, stdtr

from sfumato.core.custom_objects import OWN
from sfumato.papers.range_restriction.families.interface import FloatArray, Kind
from sfumato.papers.range_restriction.families.log_probabilities import log_count_range

Theta = Mapping[str, Any]
SLOPE_WIDTH = 2.5
"""Prior standard deviation of a slope, on the log scale of odds or counts, per standard deviation of its predictor."""
RESPONSE_WIDTH = 10.0
"""The same for Student t errors, in spreads of the values."""
FREEDOM_PRIOR = (2.0, 0.1)
"""Shape and rate of the gamma prior of the degrees of freedom: mean 20, hardly any mass below 0.5."""


@dataclass(frozen=True, eq=False)
class SampledModel:
    """What sampling and synthesis need to know; ``design`` always has the intercept as its first column.

    - ``prior``: a NumPyro model without arguments that returns its parameters by name (see ``independent``).
    - ``log_likelihood(theta, values, design)``: in JAX, one log density per record; of the value itself.
    - ``simulate(theta, design, generator)``: in NumPy, one value per row of the design, for one draw of theta.
    - ``log_range(theta, low, high, design)``: in NumPy, the log probability of each range. Without it ``outside`` is
      simulated, and the standard "truncated" is refused.
    """

    name: str
    kind: Kind
    prior: Callable[[], Theta]
    log_likelihood: Callable[[Theta, Any, Any], Any]
    simulate: Callable[[Theta, FloatArray, np.random.Generator], FloatArray]
    log_range: Callable[[Theta, FloatArray, FloatArray, FloatArray], FloatArray] | None = None

    def __str__(self) -> str:
        """Return the name by which files know a model of the custodian's own: they cannot hold it."""
        return f"{OWN}{self.name}"


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
    return log_count_range(first, last, means, 1 / float(theta["overdispersion"]))


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
