"""Log probabilities of intervals (normal, gamma, Poisson) that do not underflow."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv, gammaln, log_ndtr, ndtr, ndtri

from sfumato.papers.range_restriction.families.interface import FloatArray

UNDERFLOW = 1e-280
FAR_ENOUGH = 1e-13
MANY_ROWS = 2000
"""More quantiles of one shape than this are interpolated: exact ones take microseconds each."""
PIECES = 340


def log_normal_range(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return log P(low <= Z <= high) of a standard normal Z.

    An interval above 0 is mirrored to the lower tail, where the log of the distribution function is exact.
    """
    mirrored = low > 0
    bottom, top = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    straddles = top > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        upper = log_ndtr(top)
        # Both ends in one tail: the larger log probability, less what lies beyond the other end.
        tail = upper + np.log(-np.expm1(log_ndtr(bottom) - upper))
        middle = np.log1p(-ndtr(bottom) - ndtr(-top))
        # A narrow interval around 0 loses digits in 1 - P - P; there the plain difference is exact.
        narrow = np.log(ndtr(top) - ndtr(bottom))
    wide = ndtr(bottom) + ndtr(-top) < 0.5
    return np.where(straddles, np.where(wide, middle, narrow), tail)


def log_gamma_quantile(shape: FloatArray, uniform: FloatArray) -> FloatArray:
    """Return the logs of gamma quantiles, one shape per column; many rows are interpolated, to 1e-8.

    Tiny shapes have quantiles below the smallest double; their logs are exact all the same.
    """
    scores = ndtri(uniform)
    if len(uniform) <= MANY_ROWS:
        return _log_gamma_at(shape, scores)
    pairs = zip(shape.tolist(), scores.T, strict=True)
    # Below half, logs of quantiles are too large for the pieces to be good to 1e-8.
    columns = [_interpolated(a, column) if a >= 0.5 else _log_gamma_at(a, column) for a, column in pairs]
    return np.column_stack(columns)


def _log_gamma_at(shape: ArrayLike, score: FloatArray) -> FloatArray:
    """Return the log of the gamma quantile at normal scores, from whichever tail is the smaller."""
    quantile = np.where(score < 0, gammaincinv(shape, ndtr(score)), gammainccinv(shape, ndtr(-score)))
    tiny = (log_ndtr(score) + gammaln(np.asarray(shape) + 1)) / shape
    with np.errstate(divide="ignore"):
        return np.where(quantile > UNDERFLOW, np.log(quantile), tiny)


def _interpolated(shape: float, scores: FloatArray) -> FloatArray:
    """Return log quantiles by cubic pieces between exact nodes with exact slopes, all equally far apart."""
    step = 17.0 / PIECES
    nodes = np.linspace(-8.5, 8.5, PIECES + 1)
    logs = _log_gamma_at(shape, nodes)
    slopes = step * np.exp(log_density(nodes) - (shape * logs - np.exp(logs) - gammaln(shape)))
    place = np.clip(((scores + 8.5) / step).astype(np.int64), 0, PIECES - 1)
    t = (scores - nodes[place]) / step
    rise = logs[place + 1] - logs[place]
    bend = slopes[place] - rise + t * (2 * rise - slopes[place] - slopes[place + 1])
    return np.asarray(logs[place] + t * rise + t * (1 - t) * bend)


def log_density(score: FloatArray) -> FloatArray:
    """Return the log density of a standard normal."""
    return -0.5 * score**2 - 0.5 * np.log(2 * np.pi)


def log_poisson_range(low: FloatArray, high: FloatArray, mean: FloatArray) -> FloatArray:
    """Return log P(low <= Y <= high) of a Poisson Y; ``low`` and ``high`` are whole numbers, 0 <= low <= high."""
    low, high, mean = np.broadcast_arrays(low, high, mean)
    upper = low > mean
    below = np.where(low > 0, gammaincc(np.maximum(low, 1), mean), 0.0)  # P(Y < low)
    from_low = np.where(low > 0, gammainc(np.maximum(low, 1), mean), 1.0)  # P(Y >= low)
    from_top = gammainc(np.where(np.isinf(high), 1.0, high) + 1, mean)  # P(Y > high)
    up_to_top = gammaincc(np.where(np.isinf(high), 1.0, high) + 1, mean)  # P(Y <= high)
    from_top, up_to_top = np.where(np.isinf(high), 0.0, from_top), np.where(np.isinf(high), 1.0, up_to_top)
    inside = np.where(upper, from_low - from_top, up_to_top - below)
    # A difference of nearly equal tails loses digits: a few terms are summed by hand instead.
    by_hand = (inside < UNDERFLOW) | (inside < 1e-6 * np.where(upper, from_low, up_to_top))
    with np.errstate(divide="ignore"):
        result = np.array(np.log(np.maximum(inside, 0.0)))
    if by_hand.any():
        result[by_hand] = _poisson_sum(low[by_hand], high[by_hand], mean[by_hand])
    return result


def _poisson_sum(low: FloatArray, high: FloatArray, mean: FloatArray) -> FloatArray:
    """Add up probabilities from the end nearest to the mean outwards, each relative to the first."""
    upwards = low > mean
    start = np.where(upwards, low, np.where(np.isinf(high), np.ceil(np.maximum(mean, low)), high))
    first = start * np.log(mean) - mean - gammaln(start + 1)
    term, total, k = np.ones_like(mean), np.ones_like(mean), start.copy()
    while (term > FAR_ENOUGH * total).any():
        step = np.where(upwards, mean / (k + 1), k / mean)
        k = np.where(upwards, k + 1, k - 1)
        term = np.where((k <= high) & (k >= low), term * step, 0.0)
        total = total + term
    return first + np.log(total)
