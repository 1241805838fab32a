"""Account discrete Gaussian noise on a fine lattice as continuous noise plus a computed slack.

Real-valued sums are released as integer vectors (each record rounded to a public lattice by itself), so that one person
moves them by any integer vector of L2 length at most D units. There are too many such moves to compute the exact loss
of each; this module compares the discrete noise with a *rounded continuous* Gaussian instead, for which the analytic
calibration is exact.

Lemma. P(k) proportional to exp(-k^2 / 2s^2) on the integers, with normaliser Z; g = law of a rounded N(0, s^2). Then

    (a)  P(k) <= exp(1 / 8s^2) g(k),
    (b)  g(k) <= (Z / (s sqrt(2 pi))) exp(k^2 / 24 s^4) P(k).

Proof. Writing y = k + t, g(k) = exp(-k^2 / 2s^2) / (s sqrt(2 pi)) times the integral over t in [-1/2, 1/2] of
exp(-kt / s^2) exp(-t^2 / 2s^2); adding t and -t turns the first factor into cosh(kt / s^2). As cosh >= 1 and
t^2 <= 1/4, the integral is at least exp(-1 / 8s^2). Poisson summation gives Z = s sqrt(2 pi) sum_m exp(-2 pi^2 s^2 m^2)
>= s sqrt(2 pi): (a). Leaving out exp(-t^2 / 2s^2) <= 1, the integral is at most sinh(x) / x with x = k / 2s^2, and
sinh(x) / x <= exp(x^2 / 6) term by term of the series: (b). For s >= 1, Z / (s sqrt(2 pi)) <= exp(3 exp(-2 pi^2 s^2)).

Theorem. Let a, b be integer vectors of d coordinates, at most D apart in L2, and let N(0, s^2 I) noise at sensitivity
D be (e, h)-DP. Then for every set S and every r > 0

    P_a(S) <= exp(e + d/8s^2 + 3d exp(-2 pi^2 s^2) + R^2/24s^4) P_b(S) + exp(d/8s^2) (h + exp(e - r^2/2)),

with R = s (sqrt(d) + r) + sqrt(d)/2. Proof. Write G_a for the law of a + rounded N(0, s^2 I). It is the rounding of the
continuous mechanism (a is an integer vector), so G_a(S) <= exp(e) G_b(S) + h by post-processing. (a) on every
coordinate gives P_a(S) <= exp(d/8s^2) G_a(S). Within distance R of b, (b) on every coordinate turns G_b into P_b at
the stated factor. Beyond R, G_b has at most the mass of ||N(0, s^2 I)|| > s (sqrt(d) + r), since rounding moves a
vector by at most sqrt(d)/2; the norm has mean at most s sqrt(d) and is 1-Lipschitz, so that mass is at most
exp(-r^2/2). QED

Several vectors. Stage t adds noise s_t to an integer vector of d_t coordinates which the earlier outputs chose, and one
person moves it by at most D_t. Let d be the sum of the d_t and s the smallest s_t. Then the theorem holds for all
outputs together, with (e, h) those of Gaussian DP at mu^2 = sum_t (D_t / s_t)^2. Proof. Let G be the same stages with
rounded continuous noise: post-processing of adaptively composed Gaussian mechanisms, for which mu^2 adds up (Dong, Roth
and Su 2022). Given the earlier outputs, (a) and (b) hold for every coordinate of stage t; the factors multiply to at
most exp(d/8s^2), exp(3d exp(-2 pi^2 s^2)) and exp(sum_t ||k_t||^2 / 24 s_t^4), k_t being the rounded noise of stage t.
The noise before rounding, each stage divided by its s_t, is one N(0, I) of d coordinates whatever the outputs were, and
rounding moves it by at most sqrt(d)/2s. So except with probability exp(-r^2/2), sum_t ||k_t||^2 / s_t^2 <= R^2 / s^2,
and the last factor is at most exp(R^2/24s^4), as before. QED

At s = 2^16 and d = 100 the slack in epsilon is below 1e-8. Public: D, d, epsilon, delta.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sfumato.errors import PlanError
from sfumato.privacy.accounting.gaussian_calibration import gaussian_delta, gaussian_mu, gaussian_sigma
from sfumato.privacy.exact import Number, round_down, to_fraction

SMALLEST_SIGMA = 2.0**16
"""In lattice units; below it the lattice is too coarse for the slack to be negligible."""
DELTA_SHARE = 1e-6
"""Share of delta that pays for the far tail and for rounding in the computation of the normal distribution."""


def lattice_epsilon_slack(sigma: float, dimensions: int, reach: float) -> float:
    """Return by how much epsilon grows from continuous to discrete noise; ``reach`` is the r of the theorem."""
    radius = sigma * (math.sqrt(dimensions) + reach) + math.sqrt(dimensions) / 2
    normaliser = 3 * dimensions * math.exp(-2 * math.pi**2 * sigma**2)
    return dimensions / (8 * sigma**2) + normaliser + radius**2 / (24 * sigma**4)


def lattice_delta(epsilon: float, sigma: float, units: float, dimensions: int, reach: float = 12.0) -> float:
    """Return an upper bound on delta at ``epsilon`` of discrete Gaussian noise on integer vectors.

    ``units`` is the L2 sensitivity and ``sigma`` the parameter of the noise, both in lattice units; sigma >= 1.

    >>> lattice_delta(1.0, 3.7306316348 * 2**24, 2**24, dimensions=80) < 1.000001e-5
    True
    """
    if sigma < 1:
        return 1.0
    continuous = epsilon - lattice_epsilon_slack(sigma, dimensions, reach)
    if continuous <= 0:
        return 1.0
    tail = math.exp(continuous - reach**2 / 2)
    bound = math.exp(dimensions / (8 * sigma**2)) * (gaussian_delta(continuous, units / sigma) + tail)
    return min(bound, 1.0)


def lattice_sigma(units: int, dimensions: int, epsilon: Number, delta: Number) -> float:
    """Return the sigma, in lattice units, at which discrete Gaussian noise is (epsilon, delta)-DP.

    ``units`` is the L2 sensitivity of the integer vector. The continuous sigma for the full budget comes first; it is
    a lower bound, so that its slack is an upper bound, and the calibration is repeated for what the slack leaves.
    """
    budget, chance = round_down(to_fraction(epsilon)), round_down(to_fraction(delta, "delta"))
    lowest = gaussian_sigma(epsilon, delta, float(units))
    left, reach = _after_slack(lowest, budget, chance, dimensions)
    # The tail is a quarter of the share, the factor exp(d/8s^2) and machine rounding take less than another quarter.
    kept = chance * (1 - DELTA_SHARE)
    sigma = math.nextafter(gaussian_sigma(left, kept, float(units)), math.inf)
    _require_certified(lattice_delta(budget, sigma, units, dimensions, reach), chance, dimensions)
    return sigma


def _after_slack(lowest: float, budget: float, chance: float, dimensions: int) -> tuple[float, float]:
    """Return what the slack leaves of epsilon, and the reach at which the far tail is paid for."""
    if lowest < SMALLEST_SIGMA:
        raise PlanError(
            f"the lattice is too coarse: sigma would be {lowest:.4g} units, {SMALLEST_SIGMA:.0f} are needed",
            next_step="use a finer public lattice step, or a smaller epsilon",
        )
    reach = tail_radius(budget, chance)
    left = budget - lattice_epsilon_slack(lowest, dimensions, reach)
    if left <= 0:
        raise PlanError(
            f"epsilon {float(budget):g} is smaller than the rounding of {dimensions} coordinates costs",
            next_step="use a finer public lattice step, or fewer coordinates",
        )
    return left, reach


def tail_radius(epsilon: float, delta: float) -> float:
    """Return the r of the theorem at which the far tail takes a quarter of the share of delta set aside for it."""
    return math.sqrt(2 * (epsilon + math.log(4 / (delta * DELTA_SHARE))))


def _require_certified(reached: float, chance: float, dimensions: int) -> None:
    if reached <= chance:
        return
    raise PlanError(
        f"delta {chance:.3g} is too small for {dimensions} coordinates on this lattice",
        next_step="use a larger delta, a finer lattice step, or fewer coordinates",
    )


def composed_delta(
    epsilon: float, sigmas: Sequence[float], units: Sequence[float], dimensions: int, reach: float = 12.0
) -> float:
    """Return an upper bound on delta at ``epsilon`` of several integer vectors, each chosen after seeing the last.

    ``dimensions`` is the number of coordinates of all of them together.

    >>> one = lattice_delta(1.0, 2**24, 2**22, dimensions=80)
    >>> composed_delta(1.0, [2**25, 2**25], [2**23, 2**23], dimensions=80) > one
    True
    """
    lowest = min(sigmas)
    mu = math.sqrt(math.fsum((unit / sigma) ** 2 for unit, sigma in zip(units, sigmas, strict=True)))
    return lattice_delta(epsilon, lowest, mu * (1 + 1e-12) * lowest, dimensions, reach)


def composed_sigmas(
    units: Sequence[int], shares: Sequence[float], dimensions: int, epsilon: Number, delta: Number
) -> tuple[float, ...]:
    """Return sigmas at which several integer vectors together are (epsilon, delta)-DP; shares of mu^2 sum to 1.

    As in :func:`lattice_sigma`, the slack is taken at the sigmas of the full budget, which are lower bounds.
    """
    budget, chance = round_down(to_fraction(epsilon)), round_down(to_fraction(delta, "delta"))
    lowest = min(_split(units, shares, gaussian_mu(epsilon, delta)))
    left, reach = _after_slack(lowest, budget, chance, dimensions)
    sigmas = _split(units, shares, gaussian_mu(left, chance * (1 - DELTA_SHARE)))
    _require_certified(composed_delta(budget, sigmas, units, dimensions, reach), chance, dimensions)
    return sigmas


def _split(units: Sequence[int], shares: Sequence[float], mu: float) -> tuple[float, ...]:
    pairs = zip(units, shares, strict=True)
    return tuple(math.nextafter(unit / (mu * math.sqrt(share)), math.inf) for unit, share in pairs)
