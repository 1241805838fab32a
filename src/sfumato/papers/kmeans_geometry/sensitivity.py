"""Counterexamples to Delta as a sensitivity, and the ceiling on recovered labels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.papers.kmeans_geometry.published.algorithm import (
    PublishedGeometry,
    published_geometry,
    reflect,
    reflection_failure,
)
from sfumato.papers.kmeans_geometry.simulation import BOUNDS, CLUSTERS, EPSILON, FloatArray

SQUARE_SEED, SQUARE_SPREAD, SQUARE_HALF = 3, 0.28, 50
MOVED_BY = 0.5
OUTLIER = 400.0


def square() -> tuple[FloatArray, FloatArray]:
    """Return two tables that differ in one record: four clusters of 100 at the corners of a square.

    The rows are the same when x1 and x2 change places, so that two clusters can be left and right or above and below
    at the same cost. The one record decides.
    """
    generator = np.random.default_rng(SQUARE_SEED)
    half = generator.normal(0.0, SQUARE_SPREAD, (SQUARE_HALF, 2))
    around = np.vstack([half, half[:, ::-1]])
    rows = np.vstack([around * (a, b) + (a, b) for a in (1, -1) for b in (1, -1)])
    record = int(np.argmin(np.abs(around).sum(axis=1)))
    one, two = rows.copy(), rows.copy()
    one[record], two[record] = (1 + MOVED_BY, 1), (1, 1 + MOVED_BY)
    return one, two


@dataclass(frozen=True)
class Flip:
    """What one record does to the statistics that get noise, standardised."""

    delta: float
    """What the paper takes for their sensitivity."""
    centroids: float
    """L1 distance between both sets of centroids, paired as well as can be."""
    radii: float
    """L1 distance between both lists of radii."""
    scale: float
    """Scale of the noise at the paper's epsilon."""

    @property
    def log_ratio(self) -> float:
        """Largest log-likelihood ratio of an output of both releases; at most epsilon if epsilon held."""
        return (self.centroids + self.radii) / self.scale


def label_flip_example() -> Flip:
    """Return the example: two clusters that turn round when one record of 400 moves.

    >>> label_flip_example().log_ratio > 30 * 1.6
    True
    """
    one, two = (_statistics(rows) for rows in square())
    pairs = ([0, 1], [1, 0])
    centroids = min(float(np.abs(one.true_centroids - two.true_centroids[pair]).sum()) for pair in pairs)
    radii = float(np.abs(one.true_radii - two.true_radii).sum())
    return Flip(one.delta, centroids, radii, one.noise_scale)


def _statistics(rows: FloatArray) -> PublishedGeometry:
    return published_geometry(rows, 2, EPSILON, None, np.random.default_rng(0))


@dataclass(frozen=True)
class Outlier:
    """What one record far away does to numbers that are used without noise."""

    delta: tuple[float, float]
    sd: tuple[float, float]


def outlier_example(rows: FloatArray) -> Outlier:
    """Return Delta and the standard deviation of x2 before and after one record gets x2 = 400."""
    moved = rows.copy()
    moved[0, 1] = OUTLIER
    before, after = (
        published_geometry(each, CLUSTERS, EPSILON, BOUNDS, np.random.default_rng(0)) for each in (rows, moved)
    )
    return Outlier((before.delta, after.delta), (float(before.standard.sd[1]), float(after.standard.sd[1])))


def ceiling(epsilon: float, labels: int = CLUSTERS, replace: bool = True) -> float:
    """Return the largest share of labels that any epsilon-private mechanism lets an attacker tell.

    All labels are equally likely beforehand. Replacing one record changes its label; under add and remove that is two
    steps, so that epsilon counts twice.

    >>> round(ceiling(1.0), 3), round(ceiling(1.0, replace=False), 3)
    (0.475, 0.711)
    """
    odds = math.exp(epsilon if replace else 2 * epsilon)
    return odds / (odds + labels - 1)


def failures(made: PublishedGeometry, epsilon: float, successive: bool = False) -> tuple[float, float]:
    """Return the chance that one reflection leaves a centroid outside: of each, and of at least one.

    ``made`` tells centroids and bounds of x1; epsilon sets the noise.
    """
    low, high = float(made.standard.low[0]), float(made.standard.high[0])
    reading = "successive" if successive else "single"
    chances = reflection_failure(made.true_centroids[:, 0], low, high, 2 * made.delta / epsilon, reading)
    return float(chances.mean()), float(1 - np.prod(1 - chances))


def simulated_failures(made: PublishedGeometry, epsilon: float, draws: int, seed: int = 0) -> tuple[float, float]:
    """Return the same by drawing the noise of step 6 and reflecting once."""
    low, high = made.standard.low[:1], made.standard.high[:1]
    noise = np.random.default_rng(seed).laplace(0.0, 2 * made.delta / epsilon, (draws, CLUSTERS))
    placed = reflect(made.true_centroids[:, 0] + noise, low, high, "single")
    outside = (placed < low) | (placed > high)
    return float(outside.mean()), float(outside.any(axis=1).mean())
