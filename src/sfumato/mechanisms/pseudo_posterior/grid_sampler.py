"""Exact sampling from exponential weights on a large grid, by rejection from block bounds.

A record's score at a grid point (b_0 .. b_p, s) is a whole number of units between 0 and UNITS,

    score = round(UNITS * max(0, 1 - ln(s / s_lo) / W - r^2 / (2 s^2 W))),    r = y - b_0 - b_1 u_1 - .. - b_p u_p,

which is (f - (top - W)) / W of the clipped log-density f, in units. It depends on the record and the point alone: sums
of whole numbers are exact in any order (floats within a chunk, where they stay below 2^53, then 64-bit integers), so
that neither the other records nor the batch can change it.
What is not a number scores 0 everywhere, as if the record were not there.

Proof of the bound. In a block, the coefficients differ from its centre by at most h_j, hence |r| is at least
a = max(|r_c| - h_0 - sum h_j |u_j|, 0). For given s the score falls with |r|; -ln s - a^2 / 2s^2 has one maximum in s,
at s = a, and so over the block's range of s at clip(a, range). The score there, rounded up, plus one unit for
rounding in the computation itself, is at least the score at every point of the block. One unit is enough while no term
of r exceeds WIDEST s_lo = 2^18 s_lo (checked): each r is then off by less than 2^-32 s_lo, and as |r| <= s sqrt(2 W)
wherever the score is above 0, that moves it by less than a fifth of a unit. A record further away than all terms of the
box and s sqrt(2 W) together scores 0 whatever the rounding. QED

The law: P(point) proportional to exp((w / UNITS) * score). Blocks of the grid carry certified upper bounds on their
scores. A block is split while its bound is near the best score found and is loose; the smallest blocks are evaluated
point by point. The result is an envelope: items (points with their score, blocks with their bound) that cover the
grid. A draw picks an item by its weight, then a point of it uniformly, and keeps it with probability exp((w / UNITS)
(score - bound)), else starts again. This is rejection sampling: whatever the envelope, the law of the draw is that of
the grid, exactly (:mod:`sfumato.privacy.noise.exponential_sampler`). The envelope decides the running time alone.
That time depends on the data: do not publish it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import FloatArray, IntArray
from sfumato.jit import jit
from sfumato.privacy.noise.exponential_sampler import (
    LAST_LEVEL,
    bernoulli_exp,
    cumulative_weights,
    sample_level,
    weight_levels,
)
from sfumato.privacy.randomness import UniformSource

UNITS = 2.0**30
"""Units in the largest score of one record."""
MOST_RECORDS = 1 << 32
"""Records whose bounds, and scores, surely sum to less than 2^63 units; no memory holds as many rows."""
WIDEST = 2.0**18
"""Largest term of a residual, in multiples of the smallest s, for which the proof covers machine rounding."""
CHUNK = 1024


@dataclass(frozen=True, eq=False)
class ParameterGrid:
    """The public grid: values of every coefficient, then of ln s, and the width W of the clip."""

    values: tuple[FloatArray, ...]
    width: float

    @property
    def shape(self) -> tuple[int, ...]:
        """Points along each axis."""
        return tuple(len(axis) for axis in self.values)

    @property
    def points(self) -> int:
        """Points of the whole grid."""
        return math.prod(self.shape)

    @cached_property
    def table(self) -> FloatArray:
        """All coefficient axes in one array, padded."""
        longest = max(self.shape[:-1])
        return np.stack([np.pad(axis, (0, longest - len(axis))) for axis in self.values[:-1]])

    @cached_property
    def heights(self) -> FloatArray:
        """The score, in units, of a residual of 0 at each s."""
        logs = self.values[-1]
        return UNITS * (1 - (logs - logs[0]) / self.width)

    @cached_property
    def falls(self) -> FloatArray:
        """By how many units the score falls per squared residual, at each s."""
        return UNITS / (2 * np.exp(2 * self.values[-1]) * self.width)


@jit
def _residual_squares(target: Any, predictors: Any, table: Any, place: Any, start: int, squares: Any) -> int:
    """Fill in the squared residuals of one chunk of records at one point; return how many they are."""
    size = min(CHUNK, len(target) - start)
    for i in range(size):
        squares[i] = target[start + i] - table[0, place[0]]
    for j in range(predictors.shape[0]):
        slope = table[j + 1, place[j + 1]]
        for i in range(size):
            squares[i] -= slope * predictors[j, start + i]
    for i in range(size):
        squares[i] *= squares[i]
    return size


@jit(fastmath={"reassoc", "nsz"})
def _chunk_score(squares: Any, size: int, height: float, fall: float) -> float:
    """Sum whole scores: the sum may be taken in any order, because it is exact; each score is computed by itself."""
    total = 0.0
    for i in range(size):
        score = height - squares[i] * fall
        score = score if score > 0.0 else 0.0
        total += np.rint(score if score < UNITS else UNITS)
    return total


@jit
def _block_scores(
    target: Any, predictors: Any, table: Any, heights: Any, falls: Any, origins: Any, sizes: Any, scores: Any
) -> None:
    """Score every point of every block; within a block the last axis, s, runs fastest."""
    squares = np.empty(CHUNK)
    axes, depth = len(sizes) - 1, sizes[-1]
    place = np.empty(axes, np.int64)
    for block in range(len(origins)):
        low = origins[block, axes]
        for corner in range(scores.shape[1] // depth):
            rest = corner
            for j in range(axes - 1, -1, -1):
                place[j] = origins[block, j] + rest % sizes[j]
                rest //= sizes[j]
            for start in range(0, len(target), CHUNK):
                size = _residual_squares(target, predictors, table, place, start, squares)
                for t in range(depth):
                    part = _chunk_score(squares, size, heights[low + t], falls[low + t])
                    scores[block, corner * depth + t] += np.int64(part)


@jit
def _record_bound(
    nearest: float, low: float, high: float, log_low: float, log_high: float, first: float, width: float
) -> float:
    """Return the largest score, in units and rounded up, of a residual at least ``nearest`` and s in a range."""
    if nearest <= low:
        ratio, log_s = nearest / low, log_low
    elif nearest >= high:
        ratio, log_s = nearest / high, log_high
    else:
        ratio, log_s = 1.0, math.log(nearest)
    score = UNITS * (1.0 - (log_s - first + 0.5 * ratio * ratio) / width)
    return min(math.ceil(score) + 1.0, UNITS) if score > -1.0 else 0.0


@jit
def _block_bounds(
    target: Any, predictors: Any, centres: Any, halves: Any, logs: Any, first: float, width: float, bounds: Any
) -> None:
    for block in range(len(centres)):
        log_low, log_high = logs[block, 0], logs[block, 1]
        low, high = math.exp(log_low), math.exp(log_high)
        total = 0
        for i in range(len(target)):
            residual, slack = target[i] - centres[block, 0], halves[block, 0]
            for j in range(predictors.shape[0]):
                residual -= centres[block, j + 1] * predictors[j, i]
                slack += halves[block, j + 1] * abs(predictors[j, i])
            nearest = max(abs(residual) - slack, 0.0)
            total += np.int64(_record_bound(nearest, low, high, log_low, log_high, first, width))
        bounds[block] = total


@dataclass(frozen=True, eq=False)
class GridScores:
    """The scores of a table of records on a public grid: exact at points, certified from above on blocks."""

    axes: ParameterGrid
    target: FloatArray
    predictors: FloatArray
    """One row for each predictor, already centred and clipped to public bounds."""

    def at_points(self, origins: IntArray, sizes: tuple[int, ...]) -> IntArray:
        """Return the scores of all points of blocks that start at ``origins``: one row for each block."""
        scores = np.zeros((len(origins), math.prod(sizes)), np.int64)
        axes = self.axes
        _block_scores(
            self.target,
            self.predictors,
            axes.table,
            axes.heights,
            axes.falls,
            np.ascontiguousarray(origins),
            np.array(sizes),
            scores,
        )
        return scores

    def at_blocks(self, origins: IntArray, sizes: tuple[int, ...]) -> IntArray:
        """Return an upper bound on the scores of the points of each block."""
        first = [axis[origins[:, j]] for j, axis in enumerate(self.axes.values)]
        last = [axis[origins[:, j] + sizes[j] - 1] for j, axis in enumerate(self.axes.values)]
        low, high = np.stack(first[:-1], axis=1), np.stack(last[:-1], axis=1)
        bounds = np.empty(len(origins), np.int64)
        _block_bounds(
            self.target,
            self.predictors,
            (low + high) / 2,
            (high - low) / 2,
            np.stack([first[-1], last[-1]], axis=1),
            float(self.axes.values[-1][0]),
            self.axes.width,
            bounds,
        )
        return bounds


def corners(sizes: tuple[int, ...], steps: tuple[int, ...]) -> IntArray:
    """Return the origins of all blocks of size ``steps`` that make up one of size ``sizes``."""
    ranges = [np.arange(0, size, step) for size, step in zip(sizes, steps, strict=True)]
    return np.stack([axis.ravel() for axis in np.meshgrid(*ranges, indexing="ij")], axis=1).astype(np.int64)


def split(origins: IntArray, sizes: tuple[int, ...], steps: tuple[int, ...]) -> IntArray:
    """Return the origins of the smaller blocks of every block."""
    inner = corners(sizes, steps)
    return (origins[:, None, :] + inner[None, :, :]).reshape(-1, len(sizes))


NEAR = 3.0
"""All items further below the best score than ln(points) + NEAR weigh less than exp(-NEAR) of the best point."""
LOOSE = 3.0
"""A block whose bound is less than this above the score in its middle is good enough to draw from."""
SPLIT = 4
SMALLEST = (4, 2)
"""Points of the smallest block along a coefficient and along ln s."""
LARGEST = 64


def block_sizes(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the sizes of blocks, largest first, for a grid whose sides are powers of 2.

    >>> block_sizes((512, 256, 128))
    [(64, 64, 32), (16, 16, 8), (4, 4, 2)]
    """
    smallest = [SMALLEST[0]] * (len(shape) - 1) + [SMALLEST[1]]
    sizes: list[tuple[int, ...]] = []
    factor = 1
    while factor * SMALLEST[0] <= LARGEST:
        sizes.append(tuple(min(side, factor * least) for side, least in zip(shape, smallest, strict=True)))
        factor *= SPLIT
    return list(dict.fromkeys(sizes[::-1]))


def hill_climb(scores: GridScores, start: IntArray) -> int:
    """Return a high score, found by steps along the axes from a start: any score will do, a high one saves time."""
    shape = np.array(scores.axes.shape)
    place, best = start, -1
    step = max(int(shape.max()) // 16, 1)
    while step:
        moves = np.concatenate([np.zeros((1, len(shape)), np.int64), *_axis_moves(len(shape), step)])
        near = np.clip(place + moves, 0, shape - 1)
        near_scores = scores.at_points(near, (1,) * len(shape)).ravel()
        top = int(near_scores.argmax())
        if near_scores[top] <= best:
            step //= 2
        place, best = near[top], max(best, int(near_scores[top]))
    return best


def _axis_moves(axes: int, step: int) -> tuple[IntArray, IntArray]:
    unit = np.eye(axes, dtype=np.int64) * step
    return unit, -unit


@dataclass(frozen=True, eq=False)
class EnvelopeBlocks:
    """A part of the envelope: blocks of one size with their bounds; points with their scores are blocks of size 1."""

    origins: IntArray
    bounds: IntArray
    sizes: tuple[int, ...]

    @property
    def volume(self) -> int:
        """Points in each block."""
        return math.prod(self.sizes)


def envelope(scores: GridScores, strength: Fraction) -> list[EnvelopeBlocks]:
    """Return items that cover the grid, each with an upper bound on the scores of its points."""
    return list(_refined(scores, UNITS / float(strength)))


def _refined(scores: GridScores, nat: float) -> Iterator[EnvelopeBlocks]:
    sizes = block_sizes(scores.axes.shape)
    origins = corners(scores.axes.shape, sizes[0])
    middles = scores.at_points(origins + np.array(sizes[0]) // 2, (1,) * len(sizes[0])).ravel()
    best = hill_climb(scores, origins[middles.argmax()] + np.array(sizes[0]) // 2)
    far = best - nat * (math.log(scores.axes.points) + NEAR)
    for at, size in enumerate(sizes):
        bounds = scores.at_blocks(origins, size)
        middle = scores.at_points(origins + np.array(size) // 2, (1,) * len(size)).ravel()
        opened = (bounds > far) & (bounds - middle > nat * LOOSE)
        yield EnvelopeBlocks(origins[~opened], bounds[~opened], size)
        origins = origins[opened]
        if at + 1 < len(sizes):
            origins = split(origins, size, sizes[at + 1])
    points = scores.at_points(origins, sizes[-1]).ravel()
    yield EnvelopeBlocks(split(origins, sizes[-1], (1,) * len(sizes[-1])), points, (1,) * len(sizes[-1]))


@dataclass(frozen=True, eq=False)
class GridDistribution:
    """The law exp((w / UNITS) * score) on the grid, ready to be drawn from. Each draw costs w."""

    scores: GridScores
    strength: Fraction
    items: tuple[EnvelopeBlocks, ...]

    @classmethod
    def of(cls, scores: GridScores, strength: Fraction) -> GridDistribution:
        """Bound and evaluate the grid as far as draws of this strength need it."""
        return cls(scores, strength, tuple(envelope(scores, strength)))

    @cached_property
    def _top(self) -> int:
        return max(int(part.bounds.max()) for part in self.items if len(part.bounds))

    @cached_property
    def _sorted(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """For each part: its items sorted by level, and where every level starts."""
        by_level: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        for part in self.items:
            level = weight_levels((self._top - part.bounds).astype(float), self.strength, UNITS).astype(np.int16)
            starts = np.searchsorted(np.sort(level, kind="stable"), np.arange(LAST_LEVEL + 2))
            by_level.append((np.argsort(level, kind="stable"), starts))
        return by_level

    @cached_property
    def _weights(self) -> list[int]:
        """Running totals of the weights of the levels, all parts together."""
        totals = [0] * (LAST_LEVEL + 1)
        for part, (_, starts) in zip(self.items, self._sorted, strict=True):
            for level, count in enumerate(np.diff(starts).tolist()):
                totals[level] += count * part.volume
        return cumulative_weights(totals)

    def draw(self, uniform: UniformSource) -> tuple[int, ...]:
        """Return the place of one point on the grid, drawn from the law."""
        while True:
            level, left = sample_level(self._weights, uniform)
            place, score = self._candidate(level, left)
            deficit = Fraction(self._top - score) * self.strength / int(UNITS)
            if bernoulli_exp(deficit, level, uniform):
                return place

    def _candidate(self, level: int, left: int) -> tuple[tuple[int, ...], int]:
        """Return the point at a place within a level, and its score."""
        for part, (order, starts) in zip(self.items, self._sorted, strict=True):
            inside = int(starts[level + 1] - starts[level]) * part.volume
            if left < inside:
                item = order[starts[level] + left // part.volume]
                return self._point(part, int(item), left % part.volume)
            left -= inside
        raise AssertionError("a place below the count of a level lies in some part")

    def _point(self, part: EnvelopeBlocks, item: int, inner: int) -> tuple[tuple[int, ...], int]:
        offset = np.array(np.unravel_index(inner, part.sizes), np.int64)
        place = part.origins[item] + offset
        bound = int(part.bounds[item])
        if part.volume == 1:
            return tuple(place.tolist()), bound
        score = int(self.scores.at_points(place[None, :], (1,) * len(part.sizes))[0, 0])
        if score > bound:
            raise AssertionError("a certified bound does not hold: report this, and release nothing")
        return tuple(place.tolist()), score
