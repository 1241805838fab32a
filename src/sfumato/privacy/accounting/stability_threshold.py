"""Stability thresholds: the delta of showing values that are not public beforehand.

A column of texts has no public list of values. Its values are counted, each count gets discrete Gaussian noise, and a
value is shown where its noisy count is at least T. A value that no row holds is never counted, so never shown: that is
what differs from noise on a public list, and what delta pays for.

Theorem. Let all counts together, over any fixed list of cells, be (e, d)-DP. Let t bound, for every change by one
neighbour, the probability that any value which only one of the two tables holds is shown. Then the release without a
public list is (e, d + t)-DP.

Proof. Let D and D' be neighbours; call a value *own* where only one of them holds it. Let E be the event that no own
value is shown, with P(E) = 1 - s under D and 1 - s' under D'; both s and s' are at most t. Noise is independent from
count to count, so given E the output under D has the law r of the noisy counts of all other cells, and likewise r'
under D': these cells are the same for both, so r and r' are (e, d)-close. For a set S of outputs, P(S) <= s +
(1 - s) r(S), and P'(S) >= (1 - s') r'(S), S taken without own values. If s >= s', (1 - s) r <= (1 - s')(exp(e) r' + d),
so P(S) <= s + exp(e) P'(S) + d. If s < s', (1 - s) r = (1 - s') r + (s' - s) r <= exp(e) P'(S) + d + s' - s, and with
the first term s the sum is exp(e) P'(S) + d + s'. QED

Steps chosen after seeing earlier answers. Make E of each step, by a coin of its own, an event of probability exactly 1
- t_i whatever was seen before; given all of them the steps are plain noise on fixed cells, whose costs zCDP adds up
(:mod:`sfumato.privacy.accounting.gaussian_calibration`), and all of them hold but for the sum of the t_i (approximate
zCDP, Bun and Steinke 2016). So (e, d + sum t_i) holds for the whole, where (e, d) is what the sum of the rho converts
to.

The bound t. A person with k rows brings own values with counts c_1 .. c_m >= 1 that sum to k at most. A value with
count c is shown with probability f(c) = P(Z >= T - c), so the union bound gives sum f(c_i) = sum c_i (f(c_i) / c_i) <=
k max over c <= k of f(c) / c. Under replace one row goes and one comes, and each table has one own value at most:
k = 1, and the theorem takes the larger of s and s', not their sum. f is summed from the law of the noise; for very wide
noise it is bounded by exp(-t^2 / 2 sigma^2), as the discrete Gaussian is sub-Gaussian (Canonne, Kamath, Steinke 2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.privacy.accounting.event import EventPart
from sfumato.privacy.accounting.sensitivity import exclusive_value_counts
from sfumato.privacy.noise_distributions import DiscreteGaussian

ROUNDING = 1e-9
"""Relative room for summing the law of the noise in machine arithmetic, far above what it can be."""


LARGEST_SUMMED = 2.0**16
"""Sigma up to which the law of the noise is summed up; above it its sub-Gaussian tail is taken."""


@lru_cache(maxsize=64)
def _law(sigma: float) -> Any:
    return DiscreteGaussian(sigma)


def _shown(sigma: float, counts: NDArray[Any], threshold: int) -> NDArray[np.float64]:
    """Return a bound on the probability that a value of each count is shown; exact but for noise that is very wide."""
    if sigma <= LARGEST_SUMMED:
        return np.asarray(_law(sigma).survival(counts, threshold), float)
    return np.exp(-(np.maximum(threshold - counts, 0) ** 2.0) / (2 * sigma**2))


def exclusive_value_probability(sigma: float, threshold: int, rows_per_person: int = 1) -> float:
    """Return a bound on the probability that a value which only one neighbour holds is shown.

    >>> exclusive_value_probability(10.0, 62) < 1e-9 < exclusive_value_probability(10.0, 61)
    True
    """
    counts = exclusive_value_counts(rows_per_person)
    shown = _shown(sigma, counts, threshold)
    return min(1.0, float(rows_per_person * np.max(shown / counts)) * (1 + ROUNDING))


def stability_threshold(sigma: float, chance: float, rows_per_person: int = 1) -> int:
    """Return the smallest threshold at which that probability is at most ``chance``."""
    low, high = 0, 1
    while exclusive_value_probability(sigma, high, rows_per_person) > chance:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (low, middle) if exclusive_value_probability(sigma, middle, rows_per_person) <= chance else (middle, high)
        )
    return high


def thresholds_delta(parts: Sequence[EventPart]) -> float:
    """Return the delta that the thresholds of these parts cost together."""
    limits = [(part.scale, part.threshold, part.sensitivity) for part in parts if part.threshold is not None]
    return float(sum(exclusive_value_probability(sigma, limit, rows) for sigma, limit, rows in limits)) * (1 + ROUNDING)
