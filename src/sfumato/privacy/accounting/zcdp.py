"""Zero-concentrated DP: costs of noise and selections, conversion to (epsilon, delta), and a filter.

rho-zCDP (Bun and Steinke 2016): the Renyi divergence of order a between the outputs on neighbours is at most a rho, for
every a > 1. Costs, for neighbours under which the counts move by at most D in L2:

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
from fractions import Fraction
from functools import lru_cache

from sfumato.errors import AccountingError, PlanError
from sfumato.privacy.accounting.gaussian_calibration import concentrated_epsilon
from sfumato.privacy.exact import Number, round_down, round_up, to_fraction, to_positive_fraction

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
