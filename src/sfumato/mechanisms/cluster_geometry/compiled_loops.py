"""Compiled loops that turn records into bounded integers and sum them.

No loop uses fast arithmetic, and none mixes two records: what a record contributes depends on that record and on public
or already released numbers alone. Bounds on the contributions are checked in integers, so that they hold whatever the
floating-point arithmetic did. A record that holds a value that is not a number contributes nothing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.jit import jit
from sfumato.mechanisms.lattice_sums import LENGTH, STEPS, UNIT, quantise_vector

MISSING = -32_768
"""Marks a record with a value that is not a number."""


@jit
def quantise_rows(rows: Any, middle: Any, inverse: Any, whole: Any) -> None:
    """Write rows as lattice steps away from the middle of the box, at most ``STEPS``; see ``MISSING``."""
    for i in range(rows.shape[0]):
        known = True
        for j in range(rows.shape[1]):
            value = rows[i, j]
            known &= value == value
            scaled = min(1.0, max(-1.0, (value - middle[j]) * inverse[j])) if known else 0.0
            whole[i, j] = np.int16(np.rint(STEPS * scaled))
        if not known:
            whole[i, 0] = MISSING


@jit
def _standardised(steps: Any, mean: Any, factor: Any, scaled: Any) -> bool:
    """Scale a quantised row by noisy mean and spread, clipped to [-1, 1]; return whether all its values are known."""
    if steps[0] == MISSING:
        return False
    for j in range(steps.shape[0]):
        scaled[j] = min(1.0, max(-1.0, (steps[j] * (1.0 / STEPS) - mean[j]) * factor[j]))
    return True


@jit
def _nearest(scaled: Any, centres: Any) -> tuple[int, float]:
    best, least = 0, np.inf
    for k in range(centres.shape[0]):
        distance = 0.0
        for j in range(scaled.shape[0]):
            gap = scaled[j] - centres[k, j]
            distance += gap * gap
        if distance < least:
            best, least = k, distance
    return best, least


@jit
def sum_scales(rows: Any, sums: Any) -> None:
    """Add up (1, z, z^2 - 1/2) of every row, in lattice units."""
    columns = rows.shape[1]
    for i in range(rows.shape[0]):
        if rows[i, 0] == MISSING:
            continue
        sums[0] += UNIT
        for j in range(columns):
            step = np.int64(rows[i, j])
            sums[1 + j] += STEPS * step
            sums[1 + columns + j] += step * step - UNIT // 2


@jit
def sum_products(rows: Any, mean: Any, factor: Any, longest: float, sums: Any) -> None:
    """Add up the upper triangle of y y' in lattice units, y being the standardised row shrunk to ``longest``."""
    columns = rows.shape[1]
    scaled, whole = np.empty(columns), np.empty(columns, np.int64)
    for i in range(rows.shape[0]):
        if not _standardised(rows[i], mean, factor, scaled):
            continue
        if not quantise_vector(scaled, longest, STEPS, whole):
            continue
        place = 0
        for j in range(columns):
            for k in range(j, columns):
                sums[place] += whole[j] * whole[k]
                place += 1


@jit
def count_plane(rows: Any, mean: Any, factor: Any, plane: Any, low: Any, per_width: Any, counts: Any) -> None:
    """Count the cells of a grid in the plane; what lies outside counts at the border."""
    columns = rows.shape[1]
    scaled = np.empty(columns)
    for i in range(rows.shape[0]):
        if not _standardised(rows[i], mean, factor, scaled):
            continue
        across, up = 0.0, 0.0
        for j in range(columns):
            across += scaled[j] * plane[j, 0]
            up += scaled[j] * plane[j, 1]
        first = min(counts.shape[0] - 1, max(0, np.int64((across - low[0]) * per_width[0])))
        second = min(counts.shape[1] - 1, max(0, np.int64((up - low[1]) * per_width[1])))
        counts[first, second] += 1


@jit
def sum_steps(rows: Any, mean: Any, factor: Any, centres: Any, longest: float, counts: Any, sums: Any) -> None:
    """Count the rows nearest to each centre, and add up their steps away from it, shrunk to ``longest``."""
    columns = rows.shape[1]
    scaled, whole = np.empty(columns), np.empty(columns, np.int64)
    for i in range(rows.shape[0]):
        if not _standardised(rows[i], mean, factor, scaled):
            continue
        k, _ = _nearest(scaled, centres)
        counts[k] += 1
        for j in range(columns):
            scaled[j] -= centres[k, j]
        if quantise_vector(scaled, longest, LENGTH, whole):
            for j in range(columns):
                sums[k, j] += whole[j]


@jit
def count_radii(rows: Any, mean: Any, factor: Any, centres: Any, per_width: float, counts: Any) -> None:
    """Count rows by nearest centre and distance to it; what lies beyond the last edge counts in the last bin."""
    scaled = np.empty(rows.shape[1])
    for i in range(rows.shape[0]):
        if not _standardised(rows[i], mean, factor, scaled):
            continue
        k, square = _nearest(scaled, centres)
        counts[k, min(counts.shape[1] - 1, np.int64(math.sqrt(square) * per_width))] += 1


@jit
def label_rows(rows: Any, mean: Any, factor: Any, centres: Any, labels: Any) -> None:
    """Write the number of the nearest centre of each row; -1 for a row with a value that is not a number."""
    scaled = np.empty(rows.shape[1])
    for i in range(rows.shape[0]):
        labels[i] = -1
        if _standardised(rows[i], mean, factor, scaled):
            labels[i], _ = _nearest(scaled, centres)


@jit
def reflect_value(value: float, low: float, high: float) -> float:
    """Reflect a value at both bounds as often as it takes: it ends inside; one just outside stays near its bound."""
    if low <= value <= high:
        return value
    width = high - low
    gone = (value - low) % (2 * width)
    # What rounding adds may not leave the box.
    return min(high, max(low, low + (gone if gone <= width else 2 * width - gone)))


@jit
def round_value(value: float, coin: float) -> float:
    """Round up with probability equal to the fraction, else down, by a uniform coin: right on average."""
    below = math.floor(value)
    return below + 1.0 if coin < value - below else float(below)


@jit
def place_rows(
    labels: Any,
    radii: Any,
    normals: Any,
    coins: Any,
    centres: Any,
    shape: Any,
    slope: Any,
    shift: Any,
    low: Any,
    high: Any,
    whole: Any,
    drawn: Any,
) -> None:
    """Write rows at random directions around their centres, in units of the data, inside the box."""
    columns = drawn.shape[1]
    for i in range(drawn.shape[0]):
        square, used = 0.0, 0
        for j in range(columns):
            square += normals[i, j] * normals[i, j]
        length = radii[i] / max(math.sqrt(square), 1e-300)
        for j in range(columns):
            across = 0.0
            for k in range(columns):
                across += shape[j, k] * normals[i, k]
            value = (centres[labels[i], j] + length * across) * slope[j] + shift[j]
            value = reflect_value(value, low[j], high[j])
            if whole[j]:
                value = round_value(value, coins[i, used])
                used += 1
            drawn[i, j] = value
