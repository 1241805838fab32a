"""Joint accounting of Gaussian noise and exponential-mechanism selections, fully adaptive.

zCDP bounds such a run, but its conversion to (epsilon, delta) gives away a tenth of what the Gaussian part could have
had. Here the Gaussian part is accounted exactly and only the choices by zCDP.

Theorem. A run asks, in any order and adaptively, a bounded number of times, for Gaussian answers q(x) + N(0, s^2 I),
where neighbours move q by at most D in L2, and for choices, each e-bounded-range, whose random bits are independent of
everything else. Two totals are fixed beforehand and no step may exceed them:
sum D^2 / s^2 <= mu^2, and sum e^2 / 8 <= rho. Then for every epsilon the run is (epsilon, delta)-DP with

    delta = E[ h(epsilon - L) ],   L ~ N(mu^2 / 2, mu^2),

where h(t) bounds the hockey-stick divergence at e^t of any rho-zCDP pair: for t >= 0
h(t) = min over a > 1 of exp((a-1)(a rho - t)) (1 - 1/a)^(a-1) / a  (Canonne, Kamath and Steinke 2020), at most 1, and
h(t) = 1 - e^t + e^t h(-t) for t < 0.

Proof. Fix neighbours x_0, x_1 and let b be 0 or 1. (1) Given the history, the answers to a Gaussian question under x_0
and x_1 differ in one direction only, by m = |q(x_1) - q(x_0)| / s <= D / s standard deviations. So whoever knows x_0
and x_1, but not b, makes the answer from one number with law N(b m, 1) and noise that is independent of b. (2) Let X be
Brownian motion with drift b. Its increment over a stretch of time m^2, divided by m, has law N(b m, 1) and is
independent of all before. Stretches of total length at most mu^2 are needed. So all Gaussian answers are made from the
path of X up to time mu^2, hence from its end point Z ~ N(b mu^2, mu^2) and a Brownian bridge, which is independent of
b. (3) Given Z and everything else that is independent of b, what is left to be asked are choices, by a questioner who
is then fixed: their transcripts under b = 0 and b = 1 are rho-zCDP apart, in both directions, by the filter of
:mod:`sfumato.privacy.accounting.gaussian_calibration`. (4) The ratio of the densities of Z is exp(L), and under b = 1 L
has the stated law. The hockey-stick divergence of the whole at e^epsilon is the mean over Z of that of the choices at
e^(epsilon - L), which h bounds. For t < 0 use that the divergence of (P, Q) at e^t is 1 - e^t + e^t times that of (Q,
P) at e^-t. The same with b exchanged. QED

The noise that is drawn is the discrete Gaussian on a lattice of at least ``SMALLEST_SIGMA`` units. The theorem of
:mod:`sfumato.privacy.accounting.lattice_gaussian` carries over: its two comparisons are made answer by answer given
the history, and the choices, which have the same conditional law in both worlds, cancel. So its slack, for all
coordinates together, is taken from epsilon and delta first. Public: the totals, the number of coordinates, epsilon,
delta.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sfumato.privacy.accounting.gaussian_calibration import RENYI_ORDERS, concentrated_epsilon, gaussian_delta, zcdp_rho
from sfumato.privacy.accounting.lattice_gaussian import DELTA_SHARE, lattice_epsilon_slack, tail_radius
from sfumato.privacy.exact import Number, round_down, to_fraction, to_positive_fraction

SMALLEST_SIGMA = 2.0**22
"""Lattice units in one standard deviation, at least: a run of 2^26 cells then has a slack below 1e-6."""
MOST_COORDINATES = 1 << 26
REACH = 12.0
"""Standard deviations of the Gaussian loss that are cut into cells; beyond it a delta of 1 is assumed."""
CELLS = 2400
ORDERS = RENYI_ORDERS[::16]
"""Renyi orders less 1: each gives a valid bound, and so few give it quickly."""
ROUNDING = 1e-9
"""Relative room for machine arithmetic in a sum of positive terms, far above what it can be."""


def selection_delta(levels: NDArray[np.float64], rho: float) -> NDArray[np.float64]:
    """Return h of the theorem at each level t.

    The logarithm of the bound is constant(a) - (a - 1) t for each order a, and constant is convex in a, its slope being
    (2a - 1) rho + log(1 - 1/a). So the best order is the one between whose slopes to its neighbours t lies; any other
    would be valid too.
    """
    orders, size = ORDERS + 1, np.abs(levels)
    constant = ORDERS * (orders * rho + np.log1p(-1 / orders)) - np.log(orders)
    best = np.searchsorted(np.diff(constant) / np.diff(ORDERS), size)
    above = np.exp(np.minimum(constant[best] - ORDERS[best] * size, 0.0))
    return np.where(levels >= 0, above, np.minimum(1.0, -np.expm1(-size) + np.exp(-size) * above))


def run_delta(epsilon: float, mu: float, rho: float) -> float:
    """Return an upper bound on delta: the mean over cells of the Gaussian loss, h taken at the worse end of each."""
    if not rho:
        return min(1.0, (1 + ROUNDING) * gaussian_delta(epsilon, mu))
    edges = np.linspace(-REACH, REACH, CELLS + 1)
    mass = -np.diff(ndtr(-edges))
    worst = selection_delta(epsilon - (mu * mu / 2 + mu * edges), rho)
    inside = float(np.sum(mass * worst[1:]))
    return min(1.0, (1 + ROUNDING) * (inside + float(ndtr(-REACH)) * (1 + float(worst[0]))))


@lru_cache(maxsize=64)
def adaptive_rho(epsilon: Number, delta: Number, choices: Fraction, runs: int = 1) -> Fraction:
    """Return the largest total rho, of which the share ``choices`` goes to choices and the rest to Gaussian noise.

    The total is that of zCDP, D^2 / 2 s^2 and e^2 / 8, so that both parts can be planned in one currency. Where plain
    zCDP allows more (many choices, little noise), that is returned: either accounting is valid. ``runs`` is how many
    runs, each on a lattice of its own, may spend it together.

    >>> [round(float(adaptive_rho(e, 1e-9, Fraction(1, 10)) / zcdp_rho(e, 1e-9)), 3) for e in (0.3, 1, 3)]
    [1.065, 1.06, 1.054]
    """
    plain = zcdp_rho(epsilon, delta)
    target, chance = _after_slack(
        round_down(to_positive_fraction(epsilon)), round_down(to_fraction(delta, "delta")), runs
    )
    if target <= 0:
        return plain
    low, high = 0.0, 2.0 * float(plain)
    for _ in range(34):
        middle = (low + high) / 2
        parts = math.sqrt(2 * middle * float(1 - choices)), middle * float(choices)
        low, high = (middle, high) if run_delta(target, *parts) <= chance else (low, middle)
    return max(plain, Fraction(low) * (1 - Fraction(1, 10**12)))


def is_within_budget(epsilon: float, delta: float, mu: float, rho: float) -> bool:
    """Whether Gaussian noise of total mu with choices of total rho is (epsilon, delta)-DP, by either accounting."""
    if concentrated_epsilon(mu * mu / 2 + rho, delta) <= epsilon:
        return True
    target, chance = _after_slack(epsilon, delta)
    return target > 0 and run_delta(target, mu, rho) <= chance


def _after_slack(epsilon: float, delta: float, runs: int = 1) -> tuple[float, float]:
    """Return what the lattices leave of epsilon and delta, for as many coordinates as each run may have."""
    slack, growth = lattice_slack(epsilon, delta, runs)
    factor = math.exp(growth)
    return max(epsilon - slack, 0.0), delta * (1 - DELTA_SHARE) / factor


def lattice_slack(epsilon: float, delta: float, runs: int) -> tuple[float, float]:
    """Return the slack in epsilon of so many runs, and the logarithm of the factor by which their delta grows."""
    slack = lattice_epsilon_slack(SMALLEST_SIGMA, MOST_COORDINATES, tail_radius(epsilon, delta / runs))
    return runs * slack, runs * MOST_COORDINATES / (8 * SMALLEST_SIGMA**2)


def units_per_count(smallest_sigma: float) -> int:
    """Return the units into which a count is cut, a power of 2, so that no noise is narrower than the proof asks."""
    return 1 << max(0, math.ceil(math.log2(SMALLEST_SIGMA / smallest_sigma)))
