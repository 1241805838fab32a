"""Repeated runs of algorithm 1 and of what stands beside it, on the illustrative rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.methods.cluster_geometry import (
    Bounds,
    PublishedGeometry,
    coordinate_noise,
    in_balls,
    laplace,
    nonprivate_geometry,
    published_geometry,
    reflect,
)
from sfumato.papers.kmeans_geometry.data import BOUNDS, CLUSTERS, DISCRETE, PUBLIC_BOX, Array, illustrative
from sfumato.utility.clusters import Start, aligned_ari, ari, kmeans, nearest, standardiser, transfer_ari

SEED = 1
RUNS = 40
PAPER_RUNS = 30
EPSILON = 1.6
PRINTED_EPSILON = 1.6006
EPSILONS = (0.001, 0.1, 0.5, 1.0, 1.6, 2.5, 5.0, 10.0, 20.0)
ATTACKED = (0.01, 0.1, 0.5, 1.0, 1.6, 2.5)
PRIVATE_EPSILONS = (0.5, 1.0, 1.6, 2.5, 5.0)
GRID = tuple(round(0.1 * step, 1) for step in range(1, 51))
"""Candidates for the calibration; the paper does not print its grid."""
GRID_SEEDS = 25
TARGETS = (0.1, 0.3, 0.5)
MECHANISM_STARTS = 3
"""Starts of k-means inside the mechanism: on four clear clusters three always find them."""


def run(rows: Array, epsilon: float, seed: int, starts: int = MECHANISM_STARTS) -> PublishedGeometry:
    """Run algorithm 1 as printed; every pair of epsilon and seed has noise of its own."""
    generator = np.random.default_rng([SEED, seed, round(1e6 * epsilon)])
    return published_geometry(rows, CLUSTERS, epsilon, BOUNDS, generator, starts=starts)


@dataclass(frozen=True, eq=False)
class Runs:
    """What many runs at one epsilon give, one number a run."""

    aligned: Array
    transfer: Array
    recovered: Array
    """Share of labels that the nearest noisy centroid tells."""
    clamped: Array
    infeasible: Array
    """Share of centroids outside their bounds after the reflection."""


def many(rows: Array, labels: NDArray[np.int64], epsilon: float, count: int) -> Runs:
    """Run algorithm 1 many times and measure it."""
    found: list[tuple[float, ...]] = []
    for seed in range(count):
        made = run(rows, epsilon, seed)
        found.append(
            (
                aligned_ari(rows, made.rows, CLUSTERS, seed=seed, labels=labels),
                transfer_ari(rows, made.rows, CLUSTERS, seed=seed, labels=labels),
                recovered(made),
                made.clamped_share,
                made.infeasible_share,
            )
        )
    return Runs(*np.array(found).T)


def recovered(made: PublishedGeometry) -> float:
    """Return the share of rows whose own cluster has the nearest noisy centroid."""
    return float((nearest(made.points, made.centroids) == made.labels).mean())


def noise_alone(rows: Array, on: tuple[bool, bool], epsilon: float, seed: int, bounded: bool = True) -> float:
    """Return the aligned index with noise on centroids, on radii or on both, with or without the bounds of x1."""
    made, generator = run(rows, epsilon, seed), np.random.default_rng([SEED, seed, 1])
    low, high = (made.standard.low, made.standard.high) if bounded else (np.full(2, -np.inf), np.full(2, np.inf))
    noise = [laplace(generator, made.noise_scale, each.shape) for each in (made.true_centroids, made.true_radii)]
    centroids = reflect(made.true_centroids + on[0] * noise[0], low, high, "single")
    radii = np.maximum(0.0, made.true_radii + on[1] * noise[1])
    points = np.clip(in_balls(centroids[made.labels], radii, generator), low, high)
    return aligned_ari(made.standard.forward(rows), points, CLUSTERS, seed=seed, labels=made.labels)


def shuffled(rows: Array, labels: NDArray[np.int64], epsilon: float, seed: int) -> float:
    """Return the aligned index after the synthetic rows were put into another order."""
    made = np.random.default_rng(seed).permutation(run(rows, epsilon, seed).rows)
    return aligned_ari(rows, made, CLUSTERS, seed=seed, labels=labels)


def without_noise(rows: Array, starts: int, start: Start, count: int) -> Array:
    """Return the aligned index of the synthesis without noise, reclustered from so many starts of a kind."""
    found: list[float] = []
    for seed in range(count):
        generator = np.random.default_rng([SEED, seed])
        made = nonprivate_geometry(rows, CLUSTERS, BOUNDS, generator, starts=MECHANISM_STARTS)
        again = kmeans(standardiser(made.rows)(made.rows), CLUSTERS, seed, starts, start)
        found.append(ari(made.labels, again.labels))
    return np.array(found)


def with_coordinate_noise(rows: Array, labels: NDArray[np.int64], epsilon: float, count: int) -> Array:
    """Return the aligned index of noise on every value."""
    found: list[float] = []
    for seed in range(count):
        generator = np.random.default_rng([SEED, seed])
        made = coordinate_noise(rows, CLUSTERS, epsilon, BOUNDS, generator, starts=MECHANISM_STARTS)
        found.append(aligned_ari(rows, made, CLUSTERS, seed=seed, labels=labels))
    return np.array(found)


def utility_curve(rows: Array, labels: NDArray[np.int64], seed: int) -> Array:
    """Return Utility(epsilon) over the grid, one run for each candidate, as the paper calibrates."""
    return np.array(
        [
            aligned_ari(rows, run(rows, epsilon, 1000 + seed, 1).rows, CLUSTERS, seed=seed, labels=labels, starts=1)
            for epsilon in GRID
        ]
    )


def first_above(curve: Array, target: float) -> float:
    """Return the smallest candidate that meets the target: the paper's definition.

    >>> first_above(np.full(len(GRID), 0.4), 0.3)
    0.1
    """
    return GRID[int(np.argmax(curve >= target))]


def closest(curve: Array, target: float) -> float:
    """Return the candidate closest to the target: what the paper says it does."""
    return GRID[int(np.argmin(np.abs(curve - target)))]


def private_transfer(rows: Array, labels: NDArray[np.int64], epsilon: float, count: int) -> Array:
    """Return the transfer index of the private form in the public box."""
    from sfumato.methods.cluster_geometry import GeometryPlan, release_geometry
    from sfumato.privacy import Randomness
    from sfumato.rows import Axis

    axes = tuple(Axis(low, high, whole) for (low, high), whole in zip(PUBLIC_BOX, DISCRETE, strict=True))
    plan = GeometryPlan(axes=axes, clusters=CLUSTERS, epsilon=epsilon, n_pub=len(rows))
    found: list[float] = []
    for seed in range(count):
        randomness = Randomness.of(seed)
        made, _ = release_geometry(plan, lambda: iter([rows]), randomness).draw(len(rows), randomness.generator)
        found.append(transfer_ari(rows, made, CLUSTERS, seed=seed, labels=labels))
    return np.array(found)


def on_public_tables(epsilons: Sequence[float], count: int) -> dict[str, dict[float, tuple[float, float]]]:
    """Return mean aligned and transfer index on wine and breast cancer, in boxes of their own extremes."""
    from sklearn import datasets

    source: Any = datasets
    wine, cancer = (np.asarray(load().data, float) for load in (source.load_wine, source.load_breast_cancer))
    tables = {"wine": (wine, 3), "breast cancer": (cancer[:, :10], 2)}
    return {name: {e: _both(rows, clusters, e, count) for e in epsilons} for name, (rows, clusters) in tables.items()}


def _both(rows: Array, clusters: int, epsilon: float, count: int) -> tuple[float, float]:
    labels = kmeans(standardiser(rows)(rows), clusters, SEED).labels
    low, high = rows.min(axis=0).tolist(), rows.max(axis=0).tolist()
    aligned, transfer = list[float](), list[float]()
    for seed in range(count):
        generator = np.random.default_rng([SEED, seed])
        made = published_geometry(rows, clusters, epsilon, Bounds.of(low, high), generator).rows
        aligned.append(aligned_ari(rows, made, clusters, seed=seed, labels=labels))
        transfer.append(transfer_ari(rows, made, clusters, seed=seed, labels=labels))
    return float(np.mean(aligned)), float(np.mean(transfer))


@dataclass(frozen=True)
class Work:
    """What several parts share, computed when it is first asked for."""

    runs: int = RUNS

    @cached_property
    def rows(self) -> Array:
        """The illustrative rows."""
        return illustrative(seed=SEED)

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """Their clusters."""
        return kmeans(standardiser(self.rows)(self.rows), CLUSTERS, SEED).labels

    @cached_property
    def example(self) -> PublishedGeometry:
        """One run at the printed epsilon: what the figures draw."""
        return run(self.rows, PRINTED_EPSILON, SEED)

    @cached_property
    def by_epsilon(self) -> dict[float, Runs]:
        """Runs over the range of epsilon."""
        return {epsilon: self.runs_at(epsilon) for epsilon in EPSILONS if epsilon != EPSILON} | {EPSILON: self.at_paper}

    @cached_property
    def at_paper(self) -> Runs:
        """More runs at the paper's epsilon: the first 30 are those of table 3."""
        return many(self.rows, self.labels, EPSILON, max(PAPER_RUNS, 5 * self.runs))

    def runs_at(self, epsilon: float) -> Runs:
        """Return runs at one epsilon."""
        return many(self.rows, self.labels, epsilon, self.runs)

    @cached_property
    def coordinate(self) -> Array:
        """Noise on every value at the paper's epsilon."""
        return with_coordinate_noise(self.rows, self.labels, EPSILON, self.runs)

    @cached_property
    def curves(self) -> Array:
        """Utility over the grid, one row for each seed."""
        return np.array([utility_curve(self.rows, self.labels, seed) for seed in range(min(GRID_SEEDS, self.runs))])
