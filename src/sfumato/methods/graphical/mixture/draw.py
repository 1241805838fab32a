"""Rows of a mixture of products: a component for each row, then each column on its own within the component."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.int32]


def draw_rows(tables: list[Array], weights: Array, rows: int, generator: np.random.Generator, rounding: bool) -> Codes:
    """Return codes in random order. ``tables`` holds the shares of each column: components x levels.

    With ``rounding`` the rows of each component, and within it those of each level, differ from what is expected by
    less than one. The rows of a component are shuffled anew for each column, so that columns stay independent there.
    """
    counts = _row_counts(weights, rows, generator, rounding)
    codes = np.empty((rows, len(tables)), np.int32)
    for column, table in enumerate(tables):
        codes[:, column] = _column(table, counts, generator, rounding)
    return codes[generator.permutation(rows)]


def _row_counts(weights: Array, rows: int, generator: np.random.Generator, rounding: bool) -> NDArray[np.int64]:
    """Return how many rows each component gets."""
    if not rounding:
        return generator.multinomial(rows, weights / weights.sum()).astype(np.int64)
    ends = np.cumsum(weights) * (rows / weights.sum())
    # One common offset: each end rounds up or down, and the mean over offsets is the end itself.
    whole = np.minimum(np.floor(ends + generator.random()), rows).astype(np.int64)
    whole[-1] = rows
    return np.diff(whole, prepend=0)


def _column(table: Array, counts: NDArray[np.int64], generator: np.random.Generator, rounding: bool) -> Codes:
    """Return the codes of one column for rows sorted by component."""
    components, size = table.shape
    owner = np.repeat(np.arange(components), counts)
    ends = np.cumsum(table, axis=1)
    ends /= ends[:, -1:]
    # The ends of component k are moved to k .. k + 1: one sorted list that all rows are looked up in.
    ladder = (ends + np.arange(components)[:, None]).ravel()
    points = _points(counts, owner, generator) if rounding else generator.random(len(owner))
    found = np.searchsorted(ladder, owner + points, side="right") - owner * size
    codes = np.clip(found, 0, size - 1).astype(np.int32)
    return codes[_shuffled_within(owner, generator)] if rounding else codes


def _points(counts: NDArray[np.int64], owner: NDArray[np.int64], generator: np.random.Generator) -> Array:
    """Return evenly spaced points in 0 .. 1 for the rows of each component, from a random offset."""
    starts = np.cumsum(counts) - counts
    place = np.arange(len(owner)) - starts[owner]
    return (place + generator.random(len(counts))[owner]) / counts[owner]


def _shuffled_within(owner: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
    """Return an order that mixes the rows of each component and keeps the components in place."""
    return np.argsort(owner + generator.random(len(owner)))
