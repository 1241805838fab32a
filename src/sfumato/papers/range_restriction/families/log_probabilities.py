"""Log gamma quantiles, and log probabilities of Poisson and negative binomial intervals, that do not underflow."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, gammainc, gammaincc, gammainccinv, gammaincinv, gammaln, log_ndtr, ndtr, ndtri

from sfumato.papers.range_restriction.families.interface import FloatArray

UNDERFLOW = 1e-280
LOST_DIGITS = 1e-6
FAR_ENOUGH = 1e-13
MOST_TERMS = 100_000
MANY_ROWS = 2000
"""More quantiles of one shape than this are interpolated: exact ones take microseconds each."""
PIECES = 340


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
    slopes = step * np.exp(-0.5 * nodes**2 - 0.5 * np.log(2 * np.pi) - (shape * logs - np.exp(logs) - gammaln(shape)))
    place = np.clip(((scores + 8.5) / step).astype(np.int64), 0, PIECES - 1)
    t = (scores - nodes[place]) / step
    rise = logs[place + 1] - logs[place]
    bend = slopes[place] - rise + t * (2 * rise - slopes[place] - slopes[place + 1])
    return np.asarray(logs[place] + t * rise + t * (1 - t) * bend)


def log_count_range(low: FloatArray, high: FloatArray, mean: FloatArray, size: float = np.inf) -> FloatArray:
    """Return log P(low <= Y <= high) for whole numbers 0 <= low; ``high`` may be infinite.

    Y is a Poisson count, or with a finite ``size`` a negative binomial one of variance mean + mean^2 / size.
    """
    low, high, mean = (np.array(part, float) for part in np.broadcast_arrays(low, high, mean))
    unbounded, last = np.isinf(high), np.where(np.isinf(high), 0.0, high)
    beyond, up_to = _count_tails(last, mean, size)
    from_low, below = _count_tails(np.maximum(low - 1, 0.0), mean, size)
    beyond, up_to = np.where(unbounded, 0.0, beyond), np.where(unbounded, 1.0, up_to)
    from_low, below = np.where(low > 0, from_low, 1.0), np.where(low > 0, below, 0.0)
    upper = low > mean
    inside, whole = np.where(upper, from_low - beyond, up_to - below), np.where(upper, from_low, up_to)
    # A difference of nearly equal tails loses digits: a few terms are summed by hand instead.
    by_hand = ((inside < UNDERFLOW) | (inside < LOST_DIGITS * whole)) & (low <= high)
    with np.errstate(divide="ignore"):
        result = np.array(np.log(np.maximum(inside, 0.0)))
    if by_hand.any():
        result[by_hand] = _count_sum(low[by_hand], high[by_hand], mean[by_hand], size)
    return result


def _count_tails(count: FloatArray, mean: FloatArray, size: float) -> tuple[FloatArray, FloatArray]:
    """Return P(Y > count) and P(Y <= count)."""
    if np.isinf(size):
        return gammainc(count + 1, mean), gammaincc(count + 1, mean)
    share = size / (size + mean)
    return betainc(count + 1, size, 1 - share), betainc(size, count + 1, share)


def _log_count(count: FloatArray, mean: FloatArray, size: float) -> FloatArray:
    """Return the log probability of each count."""
    if np.isinf(size):
        return count * np.log(mean) - mean - gammaln(count + 1)
    ways = gammaln(count + size) - gammaln(size) - gammaln(count + 1)
    return ways + count * np.log(mean / (size + mean)) - size * np.log1p(mean / size)


def _count_sum(low: FloatArray, high: FloatArray, mean: FloatArray, size: float) -> FloatArray:
    """Add up probabilities from the end nearest to the mean outwards, each relative to the first."""
    upwards = low > mean
    k = np.where(upwards, low, np.where(np.isinf(high), np.ceil(np.maximum(mean, low)), high))
    first, term, total = _log_count(k, mean, size), np.ones_like(mean), np.ones_like(mean)
    for _ in range(MOST_TERMS):
        below = np.where(upwards, k, np.maximum(k - 1, 0.0))  # the smaller of two neighbours
        growth = mean / (below + 1) * (1.0 if np.isinf(size) else (below + size) / (size + mean))
        k = np.where(upwards, k + 1, k - 1)
        term = np.where((k >= low) & (k <= high), term * np.where(upwards, growth, 1 / growth), 0.0)
        total = total + term
        if not (term > FAR_ENOUGH * total).any():
            break
    return first + np.log(total)
