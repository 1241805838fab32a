"""Compiled nearest-neighbour loops over mixed rows (Gower distance).

A row is a line of numbers. A column with a positive weight differs by weight times the gap; one with weight 0 differs
by 1 or not at all; NaN is a missing value, which differs by 1 from every present one. A sum stops where it no longer
matters.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.jit import jit

SAME = 1e-12
"""Distances that differ by less than this share of themselves are ties: sums of floats are not exact."""


@jit
def gower_distance(left: Any, i: int, right: Any, j: int, weights: Any, most: float) -> Any:
    """Return the sum over the columns, or any number above ``most`` where the sum is above it."""
    total = 0.0
    for c in range(len(weights)):
        a, b = left[i, c], right[j, c]
        if a == b:
            continue
        gap = abs(a - b) * weights[c]
        if weights[c] > 0 and gap == gap:  # a gap to a missing value is no number
            total += gap
        elif not (np.isnan(a) and np.isnan(b)):
            total += 1.0
        if total > most:
            break
    return total


@jit
def pairwise_distances(left: Any, right: Any, weights: Any) -> Any:
    """Return all distances, one row per left row and one column per right row."""
    found = np.empty((len(left), len(right)))
    for i in range(len(left)):
        for j in range(len(right)):
            found[i, j] = gower_distance(left, i, right, j, weights, np.inf)
    return found


@jit
def ranks(left: Any, right: Any, weights: Any) -> Any:
    """Return for each left row how many right rows are nearer than its own (the one of its number), and as near."""
    nearer, level = np.zeros(len(left), np.int64), np.zeros(len(left), np.int64)
    for i in range(len(left)):
        own = gower_distance(left, i, right, i, weights, np.inf)
        below, above = own * (1 - SAME), own * (1 + SAME)
        for j in range(len(right)):
            distance = gower_distance(left, i, right, j, weights, above)
            if distance < below:
                nearer[i] += 1
            elif distance <= above:
                level[i] += 1
    return nearer, level


@jit
def nearest_label_votes(people: Any, rows: Any, weights: Any, labels: Any, before: Any) -> Any:
    """Return for each person the label of most of the nearest rows; ``before`` is what each has before the vote."""
    found = np.empty(len(people), np.int64)
    for i in range(len(people)):
        nearest, count = np.inf, before.copy()
        for j in range(len(rows)):
            distance = gower_distance(people, i, rows, j, weights, nearest * (1 + SAME))
            if distance < nearest * (1 - SAME):
                nearest = distance
                count[:] = before
            if distance <= nearest * (1 + SAME):
                count[labels[j]] += 1.0
        found[i] = count.argmax()
    return found


@jit
def nearest_other(points: Any, numbers: Any, weights: Any) -> NDArray[np.float64]:
    """Return for each row the distance to the nearest of the rows with these numbers, itself left out."""
    found = np.full(len(points), np.inf)
    for i in range(len(points)):
        for j in numbers:
            if i != j:
                found[i] = min(found[i], gower_distance(points, i, points, j, weights, found[i]))
    return found


@jit
def nearest(people: Any, rows: Any, weights: Any) -> Any:
    """Return for each person the number of the nearest row, the first among equals, and its distance."""
    places, found = np.zeros(len(people), np.int64), np.full(len(people), np.inf)
    for i in range(len(people)):
        for j in range(len(rows)):
            distance = gower_distance(people, i, rows, j, weights, found[i])
            if distance < found[i] * (1 - SAME):
                places[i], found[i] = j, distance
            if found[i] == 0.0:
                break
    return places, found


@jit
def densities(people: Any, rows: Any, weights: Any, width: float) -> Any:
    """Return for each person the mean over the rows of exp(-(distance / width)^2)."""
    found = np.zeros(len(people))
    far = 6.0 * width
    for i in range(len(people)):
        for j in range(len(rows)):
            distance = gower_distance(people, i, rows, j, weights, far)
            if distance <= far:
                found[i] += np.exp(-((distance / width) ** 2))
    return found / len(rows)


@jit
def nearest_row_shares(rows: Any, people: Any, weights: Any) -> Any:
    """Return for each person how many of the rows lie nearest to them; a row that lies between several is shared."""
    found, gaps = np.zeros(len(people)), np.empty(len(people))
    for j in range(len(rows)):
        least = np.inf
        for i in range(len(people)):
            gaps[i] = gower_distance(rows, j, people, i, weights, least * (1 + SAME))
            least = min(least, gaps[i])
        level = 0
        for i in range(len(people)):
            level += gaps[i] <= least * (1 + SAME)
        for i in range(len(people)):
            if gaps[i] <= least * (1 + SAME):
                found[i] += 1.0 / level
    return found
