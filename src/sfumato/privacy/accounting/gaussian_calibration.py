"""Calibrate Gaussian noise to (epsilon, delta): analytic, classic, certified discrete, and by zero-concentrated DP.

The analytic calibration (Balle and Wang 2018) is exact for the *continuous* Gaussian. The noise that Sfumato
draws is the *discrete* Gaussian, whose delta moves around the continuous one because its privacy loss is a step
function: at sigma 3.7306316, calibrated to (1, 1e-5), the discrete mechanism has delta 1.035e-5. So a release
starts from the analytic sigma and is widened until the discrete mechanism itself is certified.

Zero-concentrated DP. rho-zCDP (Bun and Steinke 2016): the Renyi divergence of order a between the outputs on neighbours
is at most a rho, for every a > 1. Costs, for neighbours under which the counts move by at most D in L2:

- discrete Gaussian noise of parameter sigma on whole counts: D^2 / 2 sigma^2 (Canonne, Kamath and Steinke 2020);
- a choice with probabilities proportional to exp(e q / 2 S), S the most by which any score q can move: e^2 / 8, because
  the log ratio of two outcomes' probabilities lies in a range of width e (Cesar and Rogers 2021).

Filter. Let each step, its parameters included, be chosen after seeing all earlier answers, and let a step be refused
if the costs would then sum to more than a total fixed beforehand. The whole is total-zCDP (Feldman and Zrnic 2021, for
each order; zCDP asks for a budget of a rho at order a, which all orders reach at the same time). :class:`Filter` is
that rule, in exact fractions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np

from sfumato.errors import AccountingError, PlanError
from sfumato.privacy.accounting.event import EventPart
from sfumato.privacy.accounting.privacy_loss import discrete_gaussian_parts
from sfumato.privacy.exact import Number, round_down, round_up, to_fraction, to_positive_fraction

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


SLACK = 1e-12
"""Relative room for the rounding of the conversion, thousands of times what it is."""


@lru_cache(maxsize=256)
def zcdp_rho(epsilon: Number, delta: Number) -> Fraction:
    """Return the largest rho whose zCDP is (epsilon, delta)-DP by the tight conversion, rounded down.

    >>> [round(float(zcdp_rho(e, 1e-9)), 5) for e in (0.3, 1, 3)]
    [0.00148, 0.01497, 0.12058]
    """
    target, tail = round_down(to_positive_fraction(epsilon)), round_down(to_positive_fraction(delta, "delta"))
    if not tail < 1:
        raise PlanError(f"delta must be below 1, found {delta}", next_step="use a delta such as 1e-9")
    low, high = 0.0, target + 1.0
    for _ in range(100):
        middle = (low + high) / 2
        fits = concentrated_epsilon(middle, tail) <= target * (1 - SLACK)
        low, high = (middle, high) if fits else (low, middle)
    if not low > 0:
        raise PlanError(
            f"epsilon {epsilon} at delta {delta} leaves no budget for Gaussian noise",
            next_step="use a larger epsilon, or a larger delta",
        )
    return Fraction(low)


def gaussian_rho(sigma: float, squared_sensitivity: int) -> Fraction:
    """Return the rho of discrete Gaussian noise on counts that move by at most the root of this in L2."""
    return Fraction(squared_sensitivity) / (2 * Fraction(sigma) ** 2)


def gaussian_sigma_for_rho(rho: Fraction, squared_sensitivity: int) -> float:
    """Return the smallest sigma, up to rounding, whose noise costs at most rho."""
    sigma = round_up(Fraction(math.sqrt(squared_sensitivity / (2 * float(rho)))))
    while gaussian_rho(sigma, squared_sensitivity) > rho:
        sigma = math.nextafter(sigma, math.inf)
    return sigma


def exponential_mechanism_rho(epsilon: Fraction) -> Fraction:
    """Return the rho of one choice by exponential weights of strength epsilon."""
    return epsilon * epsilon / 8


def exponential_mechanism_epsilon(rho: Fraction) -> Fraction:
    """Return the largest strength, up to rounding, of a choice that costs at most rho."""
    epsilon = Fraction(math.sqrt(8 * float(rho)))
    while exponential_mechanism_rho(epsilon) > rho:
        epsilon = Fraction(math.nextafter(float(epsilon), 0.0))
    return epsilon


class ZCDPFilter:
    """A budget of rho that steps are paid from before they run; what would exceed it is refused.

    >>> budget = ZCDPFilter(Fraction(1))
    >>> budget.spend(Fraction(3, 4)); budget.left
    Fraction(1, 4)
    """

    def __init__(self, total: Number) -> None:
        self.total = to_fraction(total, "rho")
        self._spent = Fraction(0)

    @property
    def left(self) -> Fraction:
        """The rho that is left."""
        return self.total - self._spent

    def spend(self, rho: Fraction) -> None:
        """Record a cost, or refuse it when it exceeds what is left."""
        if rho < 0 or rho > self.left:
            raise AccountingError(
                f"a step of rho {float(rho):.3g} does not fit into the {float(self.left):.3g} that are left",
                next_step="stop the rounds earlier: this is a fault of the method, and nothing was drawn",
            )
        self._spent += rho
