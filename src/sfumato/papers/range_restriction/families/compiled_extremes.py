"""Compiled extremes of log densities and range probabilities over posterior draws.

Records are worked off in blocks that stay in the first-level cache, one draw after another, so that the inner loop
runs over records side by side.

Let u be the distance from the response, r its residual, tau = r/s2 and kappa = 1/s2. Then, up to a constant of the
record, log P(range) - f = A(tau, kappa) = log of the integral of exp(-(tau u + kappa u^2 / 2)) over the range: a
log-partition function. It is convex, its slope is minus the mean of (u, u^2 / 2), and its second derivative along a
step is the variance of step . (u, u^2 / 2), which is at most a quarter of the squared width w of that expression on the
range. So from a centre, A lies between its tangent and its tangent + w^2 / 8. A draw whose interval cannot reach an
extreme is skipped; all others are evaluated. The result is exact. With a weight, the expression is -A less (1 - weight)
times the log density of the response, which is known for every draw, so the same bound serves.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.jit import jit
from sfumato.papers.range_restriction.families.interface import FloatArray

BLOCK = 512
HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


@jit
def _densities(columns: Any, slopes: Any, constants: Any, smallest: Any, largest: Any) -> None:
    """Fill in the extremes of ``constants[s] - t^2/2`` with t the product of one record and one draw."""
    t = np.empty(BLOCK)
    for start in range(0, columns.shape[1], BLOCK):
        size = min(BLOCK, columns.shape[1] - start)
        least, most = smallest[start : start + size], largest[start : start + size]
        for s in range(len(constants)):
            t[:size] = 0.0
            for k in range(len(columns)):
                column, slope = columns[k, start : start + size], slopes[s, k]
                for i in range(size):
                    t[i] += column[i] * slope
            for i in range(size):
                value = constants[s] - 0.5 * t[i] * t[i]
                least[i] = min(least[i], value)
                most[i] = max(most[i], value)


def density_extremes(
    design: FloatArray, response: FloatArray, coefficients: FloatArray, variance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and largest log density of each response over the draws."""
    columns, slopes, constants = standardised(design, response, coefficients, variance)
    smallest, largest = np.full(len(response), np.inf), np.full(len(response), -np.inf)
    _densities(columns, slopes, constants, smallest, largest)
    return smallest, largest


def standardised(
    design: FloatArray, response: FloatArray, coefficients: FloatArray, variance: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return columns and slopes whose product is the residual over the deviation, and each draw's constant."""
    columns = np.ascontiguousarray(np.column_stack([response, design]).T)
    deviation = np.sqrt(variance)
    slopes = np.column_stack([np.ones(len(deviation)), -coefficients]) / deviation[:, None]
    return columns, np.ascontiguousarray(slopes), -HALF_LOG_TWO_PI - np.log(deviation)


ROOT_HALF = math.sqrt(0.5)
FAR_TAIL = 20.0
"""From here on the tail is a series in 1/z^2; its first term left out is below 1e-11."""
STEEPEST = 20.0
"""Largest exponent in a range for which 20 nodes integrate to machine precision; steeper ranges skip no draw."""
MARGIN = 1e-9
"""Added to the bounds, far above rounding."""
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(20)


@jit
def _log_far_tail(z: float) -> float:
    """Return log P(Z > z) for z of 20 or more."""
    if math.isinf(z):
        return -np.inf
    v = 1.0 / (z * z)
    series = v * (-1.0 + v * (3.0 + v * (-15.0 + v * (105.0 - v * 945.0))))
    return -0.5 * z * z - math.log(z) - HALF_LOG_TWO_PI + math.log1p(series)


@jit
def log_range(low: float, high: float) -> float:
    """Return log P(low <= Z <= high) of a standard normal, mirrored so that a one-sided interval lies above 0."""
    if low < 0.0 < high:
        if high - low > 2.0:
            return math.log1p(-0.5 * (math.erfc(-low * ROOT_HALF) + math.erfc(high * ROOT_HALF)))
        return math.log(0.5 * (math.erf(high * ROOT_HALF) - math.erf(low * ROOT_HALF)))
    near, far = (low, high) if low >= 0.0 else (-high, -low)
    if near < FAR_TAIL:
        return math.log(0.5 * (math.erfc(near * ROOT_HALF) - math.erfc(far * ROOT_HALF)))
    tail = _log_far_tail(near)
    return tail + math.log(-math.expm1(_log_far_tail(far) - tail))


@jit
def _log_ranges(low: Any, high: Any, logs: Any) -> None:
    for i in range(len(logs)):
        logs[i] = log_range(low[i], high[i])


def log_normal_range(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return log P(low <= Z <= high) of a standard normal Z, element by element."""
    bottom, top = np.broadcast_arrays(np.asarray(low, float), np.asarray(high, float))
    logs = np.empty(bottom.size)
    _log_ranges(bottom.ravel(), top.ravel(), logs)
    return logs.reshape(bottom.shape)


@jit
def _means(tau: float, kappa: float, low: float, high: float) -> tuple[float, float]:
    """Return the means of u and u^2 / 2 in the tilted range, by 20 nodes; nan where they would not do."""
    steep = max(abs(tau * low + kappa * low * low / 2), abs(tau * high + kappa * high * high / 2))
    if not steep + abs(tau) * (high - low) <= STEEPEST:
        return np.nan, np.nan
    total, first, second = 0.0, 0.0, 0.0
    for node, weight in zip(NODES, NODE_WEIGHTS):  # noqa: B905 - compiled code knows no strict zip
        u = 0.5 * ((high - low) * node + high + low)
        mass = weight * math.exp(-(tau * u + kappa * u * u / 2))
        total, first, second = total + mass, first + mass * u, second + mass * u * u / 2
    return first / total, second / total


@jit
def _candidates(
    columns: Any,
    natural: Any,
    centre: Any,
    constants: Any,
    i: int,
    low: float,
    high: float,
    rest: float,
    score: Any,
    slack: Any,
    wanted: Any,
) -> None:
    """Mark the draws that can be extreme for record i: those whose interval reaches the best certain value."""
    tau, last = 0.0, len(centre) - 1
    for k in range(last):
        tau += columns[k, i] * centre[k]
    first, second = _means(tau, centre[last], low, high)
    if np.isnan(first):
        wanted[:] = True
        return
    score[:] = 0.0
    for k in range(last):
        column = columns[k, i]
        for s in range(len(score)):
            score[s] += column * natural[k, s]
    width, square = high - low, max(low * low, high * high) / 2
    for s in range(len(score)):
        kappa = natural[last, s]
        across, along = score[s] - tau, kappa - centre[last]
        reach = abs(across) * width + abs(along) * square
        slack[s] = reach * reach / 8 + MARGIN
        score[s] = first * across + second * along - rest * (constants[s] - score[s] * score[s] / (2 * kappa))
    surely_high, surely_low = (score - slack).max(), score.min() + MARGIN
    for s in range(len(score)):
        wanted[s] = score[s] + MARGIN >= surely_high or score[s] - slack[s] <= surely_low


@jit
def _ranges(
    columns: Any,
    slopes: Any,
    constants: Any,
    jacobian: Any,
    weights: Any,
    low: Any,
    high: Any,
    scales: Any,
    natural: Any,
    centre: Any,
    smallest: Any,
    largest: Any,
) -> None:
    """Fill in the extremes of ``w (constant - t^2/2 + jacobian) - log P(range)``; ends count from the response."""
    draws = len(constants)
    score, slack, wanted = np.empty(draws), np.empty(draws), np.ones(draws, np.bool_)
    for i in range(columns.shape[1]):
        _candidates(columns, natural, centre, constants, i, low[i], high[i], 1 - weights[i], score, slack, wanted)
        for s in range(draws):
            if wanted[s]:
                t = 0.0
                for k in range(len(columns)):
                    t += columns[k, i] * slopes[s, k]
                inside = log_range(t + low[i] * scales[s], t + high[i] * scales[s])
                value = weights[i] * (constants[s] - 0.5 * t * t + jacobian[i]) - inside
                smallest[i] = min(smallest[i], value)
                largest[i] = max(largest[i], value)


def range_extremes(
    design: FloatArray,
    response: FloatArray,
    jacobian: FloatArray,
    weights: FloatArray | None,
    low: FloatArray,
    high: FloatArray,
    coefficients: FloatArray,
    variance: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the extremes of the log density, weighted if asked, less the log probability of each record's range."""
    columns, slopes, constants = standardised(design, response, coefficients, variance)
    natural = np.vstack([np.ones(len(variance)), -coefficients.T, np.ones(len(variance))]) / variance
    smallest, largest = np.full(len(response), np.inf), np.full(len(response), -np.inf)
    scale = np.ones(len(response)) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    _ranges(
        columns,
        slopes,
        constants,
        np.ascontiguousarray(jacobian),
        scale,
        low - response,
        high - response,
        1 / np.sqrt(variance),
        natural,
        natural.mean(axis=1),
        smallest,
        largest,
    )
    return smallest, largest
