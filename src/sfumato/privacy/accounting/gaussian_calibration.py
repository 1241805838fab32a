"""Calibrate Gaussian noise to (epsilon, delta): analytic, classic, and certified discrete.

The analytic calibration (Balle and Wang 2018) is exact for the *continuous* Gaussian. The noise that Sfumato
draws is the *discrete* Gaussian, whose delta moves around the continuous one because its privacy loss is a step
function: at sigma 3.7306316, calibrated to (1, 1e-5), the discrete mechanism has delta 1.035e-5. So a release
starts from the analytic sigma and is widened until the discrete mechanism itself is certified.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal

import numpy as np

from sfumato.errors import PlanError
from sfumato.privacy.accounting.event import EventPart
from sfumato.privacy.accounting.privacy_loss import discrete_gaussian_parts
from sfumato.privacy.exact import Number, to_positive_fraction

GaussianCalibration = Literal["analytic", "classic", "probabilistic"]
CERTIFIED_INTERVAL = 2e-5
"""Grid of the certification; finer than for reporting, because its rounding is paid for in noise."""
RENYI_ORDERS = np.exp(-7 + 0.005 * np.arange(1, 4000))
"""Renyi orders less 1 among which the best is taken; each of them is a valid bound."""
FINEST_EPSILON, FINEST_DELTA = 25 * CERTIFIED_INTERVAL, 1e-13
"""Budgets below which only zCDP certifies: the grid of exact losses is too coarse for them."""
WIDENING = 1e-4
"""Relative step to which a certified sigma is determined."""


def _normal_cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


def gaussian_delta(epsilon: float, mu: float) -> float:
    """Return the exact delta at ``epsilon`` of a Gaussian mechanism with sensitivity / sigma = ``mu``.

    >>> round(gaussian_delta(1.0, 1 / 3.7306316348) * 1e5, 6)
    1.0
    """
    if mu == 0:
        return 0.0
    upper = _normal_cdf(mu / 2 - epsilon / mu)
    log_lower = epsilon + _log_normal_cdf(-mu / 2 - epsilon / mu)
    return max(0.0, upper - math.exp(log_lower))


def _log_normal_cdf(x: float) -> float:
    if x > -30:
        return math.log(_normal_cdf(x))
    return -x * x / 2 - math.log(-x * math.sqrt(2 * math.pi)) + math.log1p(-1 / (x * x))


def _bisect(below: Callable[[float], bool], low: float, high: float) -> float:
    """Return the point where ``below`` turns from true to false, for a monotone predicate."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return high


def gaussian_mu(epsilon: Number, delta: Number) -> float:
    """Return the largest mu (Gaussian DP) that still is (epsilon, delta)-DP."""
    eps, target = float(to_positive_fraction(epsilon)), _open_unit(delta)
    return _bisect(lambda mu: gaussian_delta(eps, mu) <= target, 0.0, 4 * (math.sqrt(eps) + eps + 40))


def gaussian_epsilon(mu: float, delta: Number) -> float:
    """Return the exact epsilon at ``delta`` of mu-Gaussian-DP."""
    target = _open_unit(delta)
    if gaussian_delta(0.0, mu) <= target:
        return 0.0
    return _bisect(lambda eps: gaussian_delta(eps, mu) > target, 0.0, mu * (mu + 80))


def gaussian_sigma(
    epsilon: Number, delta: Number, sensitivity: float = 1.0, rule: GaussianCalibration = "analytic"
) -> float:
    """Return sigma for an L2 sensitivity.

    "analytic" is exact for every epsilon; "classic" is the textbook bound, proved for epsilon < 1 only;
    "probabilistic" bounds the privacy loss itself except with probability delta.

    >>> round(gaussian_sigma(1, 1e-5), 7)
    3.7306316
    """
    eps, target = float(to_positive_fraction(epsilon)), _open_unit(delta)
    if rule == "analytic":
        return sensitivity / gaussian_mu(epsilon, delta)
    if rule == "classic":
        if eps >= 1:
            raise PlanError(
                f"the classic Gaussian calibration is proved for epsilon below 1 only, found {eps:g}",
                next_step="use rule='analytic', which is exact for every epsilon",
            )
        return sensitivity * math.sqrt(2 * math.log(1.25 / target)) / eps
    if rule == "probabilistic":
        quantile = -_bisect(lambda x: _normal_cdf(x) < target / 2, -40.0, 0.0)
        return sensitivity * (quantile + math.sqrt(quantile * quantile + 2 * eps)) / (2 * eps)
    raise PlanError(f"unknown rule {rule!r}", next_step="use 'analytic', 'classic' or 'probabilistic'")


def _open_unit(delta: Number) -> float:
    value = float(to_positive_fraction(delta, "delta"))
    if value >= 1:
        raise PlanError(f"delta must be below 1, found {value:g}", next_step="use a delta such as 1e-6")
    return value


def concentrated_epsilon(rho: float, delta: float) -> float:
    """Return epsilon at ``delta`` of rho-zCDP by the tight conversion of Canonne, Kamath and Steinke (2020)."""
    orders = RENYI_ORDERS + 1
    values = orders * rho + np.log1p(-1 / orders) - (math.log(delta) + np.log(orders)) / RENYI_ORDERS
    return max(float(values.min()), 0.0)


def certified_discrete_parts(
    parts: Sequence[EventPart], shares: Sequence[float], epsilon: float, delta: float
) -> tuple[EventPart, ...]:
    """Return the parts with the discrete Gaussian sigmas at which all of them together are (epsilon, delta)-DP.

    Gaussian DP splits mu^2 by the shares; the result is widened until the discrete mechanism is certified: by
    its exact privacy loss where one row moves single cells by one, and by zCDP (which the discrete Gaussian
    satisfies for every integer shift) where one person may hold several rows.
    """
    mu = gaussian_mu(epsilon, delta)
    start = tuple(
        part.model_copy(update={"scale": part.sensitivity * math.sqrt(part.changed_cells) / (mu * math.sqrt(share))})
        for part, share in zip(parts, shares, strict=True)
    )
    return _certify(start, epsilon, delta)


@lru_cache(maxsize=128)
def _certify(start: tuple[EventPart, ...], epsilon: float, delta: float) -> tuple[EventPart, ...]:
    def widened(factor: float) -> tuple[EventPart, ...]:
        return tuple(part.model_copy(update={"scale": part.scale * factor}) for part in start)

    low, high = 1.0, 1.0
    while not is_certified_discrete(widened(high), epsilon, delta):
        low, high = high, 1.01 * high
    while high - low > WIDENING:
        middle = (low + high) / 2
        low, high = (low, middle) if is_certified_discrete(widened(middle), epsilon, delta) else (middle, high)
    return widened(high)


def is_certified_discrete(parts: Sequence[EventPart], epsilon: float, delta: float) -> bool:
    """Whether discrete Gaussian noise on these parts is (epsilon, delta)-DP, by one of two rigorous upper bounds.

    zCDP always holds; the exact loss, which asks for less noise, is computed on a grid and by Fourier transforms, and
    can tell nothing where epsilon is near the grid's step or delta near the rounding of the transforms.
    """
    return _is_certified(tuple(parts), epsilon, delta)


@lru_cache(maxsize=1024)
def _is_certified(parts: tuple[EventPart, ...], epsilon: float, delta: float) -> bool:
    # Kept, because a ledger asks again for what the plan has just certified, and the law of many tables takes seconds.
    rho = sum(p.changed_cells * p.sensitivity**2 / (2 * p.scale**2) for p in parts)
    if concentrated_epsilon(rho, delta) <= epsilon:
        return True
    if any(part.sensitivity != 1 for part in parts) or epsilon < FINEST_EPSILON or delta < FINEST_DELTA:
        return False
    loss = discrete_gaussian_parts(parts, CERTIFIED_INTERVAL)
    return float(loss.get_delta_for_epsilon(epsilon)) <= delta
