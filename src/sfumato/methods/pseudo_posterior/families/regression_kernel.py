"""Compiled reductions over draws and records: the extremes of log densities without a matrix of draws by records.

Records are worked off in blocks that stay in the first-level cache, one draw after another, so that the inner loop
runs over records side by side.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.compiled import compiled
from sfumato.methods.pseudo_posterior.families.interface import Array

BLOCK = 512
HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


@compiled
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


def density_extremes(design: Array, response: Array, coefficients: Array, variance: Array) -> tuple[Array, Array]:
    """Return the smallest and largest log density of each response over the draws."""
    columns, slopes, constants = standardised(design, response, coefficients, variance)
    smallest, largest = np.full(len(response), np.inf), np.full(len(response), -np.inf)
    _densities(columns, slopes, constants, smallest, largest)
    return smallest, largest


def standardised(design: Array, response: Array, coefficients: Array, variance: Array) -> tuple[Array, Array, Array]:
    """Return columns and slopes whose product is the residual over the deviation, and each draw's constant."""
    columns = np.ascontiguousarray(np.column_stack([response, design]).T)
    deviation = np.sqrt(variance)
    slopes = np.column_stack([np.ones(len(deviation)), -coefficients]) / deviation[:, None]
    return columns, np.ascontiguousarray(slopes), -HALF_LOG_TWO_PI - np.log(deviation)
