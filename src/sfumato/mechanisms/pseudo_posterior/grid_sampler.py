"""Exact sampling from exponential weights on a large grid, by rejection from block bounds.

The law: P(point) proportional to exp((w / UNITS) * score), with the whole scores of
:mod:`sfumato.mechanisms.pseudo_posterior.grid_scores`. Blocks of the grid carry certified upper bounds on their
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
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.pseudo_posterior.grid_scores import UNITS, GridScores, IntArray, corners, split
from sfumato.privacy.noise.exponential_sampler import (
    LAST_LEVEL,
    bernoulli_exp,
    cumulative_weights,
    sample_level,
    weight_levels,
)
from sfumato.privacy.randomness import UniformSource

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


class PointScores(Protocol):
    """What a law asks of its scores when a draw falls into a block."""

    def at_points(self, origins: IntArray, sizes: tuple[int, ...]) -> IntArray:
        """Return the scores of all points of blocks, one row for each block."""
        ...


@dataclass(frozen=True, eq=False)
class GridDistribution:
    """The law exp((w / UNITS) * score) on the grid, ready to be drawn from. Each draw costs w."""

    scores: PointScores
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
