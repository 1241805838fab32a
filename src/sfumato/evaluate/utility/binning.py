"""Cells in which numbers are compared, cut by the released values alone."""

from __future__ import annotations

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.schema.column import Column

CELLS = 16
NEAR = 2.0**-20
"""Share of a public range within which two numbers are the same: 32-bit floats and 64-bit ones differ by less."""


def q16(released: FloatArray, near: float = 0.0) -> FloatArray:
    """Return the inner edges of the cells of released numbers; a number on an edge lies above it.

    Cells are cut at the 15 inner 16-quantiles of the released values. A value that at least 1/16 of the rows hold is a
    cell of its own, with what lies within ``near`` of it. Two open cells lie below the smallest and above the largest
    released value: no released row is in them, and every other row whose value the release does not reach is. So a
    column that was released as one constant, or whose tail was cut off, is at a distance from the table.

    >>> np.searchsorted(q16(np.full(9, 5.0)), [4.9, 5.0, 5.1], side="right")
    array([0, 1, 2])
    """
    present = released[~np.isnan(released)]
    if not len(present):
        return np.zeros(0)
    values, times = np.unique(present, return_counts=True)
    often = values[CELLS * times >= len(present)]
    quantiles = np.quantile(present, np.arange(1, CELLS) / CELLS, method="higher")
    below = np.concatenate([quantiles, often, values[:1]]) - near
    above = np.nextafter(np.concatenate([often, values[-1:]]) + near, np.inf)
    return np.unique(np.concatenate([below, above]))


def nearness(column: Column) -> float:
    """Return how far apart two values of a column may lie that are the same value, by public facts."""
    if column.is_discrete:
        return 0.0
    low, high = column.numeric_bounds
    written = 0.0 if column.decimals is None else 0.5 * 10.0**-column.decimals
    return max(NEAR * (high - low), written)
