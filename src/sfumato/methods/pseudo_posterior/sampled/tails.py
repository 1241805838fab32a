"""Log probabilities of runs of counts under a negative binomial, exact where the probabilities themselves underflow."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, gammaln

from sfumato.methods.pseudo_posterior.families.interface import Array

UNDERFLOW = 1e-280
LOST_DIGITS = 1e-6
FAR_ENOUGH = 1e-13
MOST_TERMS = 100_000


def log_negative_binomial_range(low: Array, high: Array, mean: Array, size: float) -> Array:
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


def log_negative_binomial(counts: Array, mean: Array, size: float) -> Array:
    """Return the log probability of each count."""
    ways = gammaln(counts + size) - gammaln(size) - gammaln(counts + 1)
    return ways + counts * np.log(mean / (size + mean)) - size * np.log1p(mean / size)


def _sum(low: Array, high: Array, mean: Array, size: float) -> Array:
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
