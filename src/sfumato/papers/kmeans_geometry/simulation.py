"""Illustrative rows and repeated runs of algorithm 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import FloatArray
from sfumato.metrics.clusters import (
    Start,
    aligned_ari,
    ari,
    kmeans,
    nearest_centroid,
    standardise,
    transfer_ari,
)
from sfumato.papers.kmeans_geometry.published.algorithm import (
    ColumnBounds,
    PublishedGeometry,
    coordinate_noise,
    in_balls,
    nonprivate_geometry,
    published_geometry,
    reflect,
)

RECORDS = 400
CLUSTERS = 4
LOW, HIGH = (-15.0, -np.inf), (10.0, np.inf)
"""Bounds of x1 and x2; the paper leaves x2 without."""
PUBLIC_BOX = ((-15.0, 10.0), (-15.0, 15.0))
"""The box of the private form, which needs bounds for every column."""
DISCRETE = (False, True)
BOUNDS = ColumnBounds.of(LOW, HIGH, DISCRETE)
PRINTED_CENTROIDS = ((-1.0, 0.7), (0.2, 0.9), (1.6, 0.0), (-0.7, -1.5))
"""Standardised, as in section 4."""
MIDDLE, UNIT, SPREAD = (-2.5, 0.0), (4.93, 5.17), 1.48
"""Chosen so that standardised width of x1, largest distance and mean radius come near the printed ones."""


def illustrative_rows(records: int = RECORDS, seed: int = 1) -> FloatArray:
    """Return four Gaussian clusters of equal size around the printed centroids, in a random order.

    x1 is continuous and clipped to -15 and 10; x2 is a whole number.

    >>> illustrative_rows(3, seed=1).round(2).tolist()
    [[6.73, 1.0], [-1.02, 3.0], [-6.92, 5.0]]
    """
    generator = np.random.default_rng(seed)
    centres = np.array(MIDDLE) + np.array(PRINTED_CENTROIDS)[np.arange(records) % CLUSTERS] * UNIT
    rows = centres + generator.normal(0.0, SPREAD, (records, 2))
    rows[:, 0] = np.clip(rows[:, 0], LOW[0], HIGH[0])
    rows[:, 1] = np.round(rows[:, 1])
    return generator.permutation(rows)


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


def run_algorithm_1(rows: FloatArray, epsilon: float, seed: int, starts: int = MECHANISM_STARTS) -> PublishedGeometry:
    """Run algorithm 1 as printed; every pair of epsilon and seed has noise of its own."""
    generator = np.random.default_rng([SEED, seed, round(1e6 * epsilon)])
    return published_geometry(rows, CLUSTERS, epsilon, BOUNDS, generator, starts=starts)


@dataclass(frozen=True, eq=False)
class Runs:
    """What many runs at one epsilon give, one number a run."""

    aligned: FloatArray
    transfer: FloatArray
    recovered: FloatArray
    """Share of labels that the nearest noisy centroid tells."""
    clamped: FloatArray
    infeasible: FloatArray
    """Share of centroids outside their bounds after the reflection."""


def over_seeds(measure: Callable[[int], Any], count: int) -> FloatArray:
    """Return what is measured with each seed from 0 on."""
    return np.array([measure(seed) for seed in range(count)])


def repeated_runs(rows: FloatArray, labels: NDArray[np.int64], epsilon: float, count: int) -> Runs:
    """Run algorithm 1 many times and measure it."""

    def measures(seed: int) -> tuple[float, ...]:
        made = run_algorithm_1(rows, epsilon, seed)
        both = _indices(rows, made.rows, CLUSTERS, seed, labels)
        return *both, recovered(made), made.clamped_share, made.infeasible_share

    return Runs(*over_seeds(measures, count).T)


def _indices(
    rows: FloatArray, made: FloatArray, clusters: int, seed: int, labels: NDArray[np.int64]
) -> tuple[float, float]:
    """Return the aligned and the transfer index."""
    aligned = aligned_ari(rows, made, clusters, seed=seed, labels=labels)
    return aligned, transfer_ari(rows, made, clusters, seed=seed, labels=labels)


def recovered(made: PublishedGeometry) -> float:
    """Return the share of rows whose own cluster has the nearest noisy centroid."""
    return float((nearest_centroid(made.points, made.centroids) == made.labels).mean())


def noise_alone(rows: FloatArray, on: tuple[bool, bool], epsilon: float, seed: int, bounded: bool = True) -> float:
    """Return the aligned index with noise on centroids, on radii or on both, with or without the bounds of x1."""
    made, generator = run_algorithm_1(rows, epsilon, seed), np.random.default_rng([SEED, seed, 1])
    low, high = (made.standard.low, made.standard.high) if bounded else (np.full(2, -np.inf), np.full(2, np.inf))
    noise = [generator.laplace(0.0, made.noise_scale, each.shape) for each in (made.true_centroids, made.true_radii)]
    centroids = reflect(made.true_centroids + on[0] * noise[0], low, high, "single")
    radii = np.maximum(0.0, made.true_radii + on[1] * noise[1])
    points = np.clip(in_balls(centroids[made.labels], radii, generator), low, high)
    return aligned_ari(made.standard.forward(rows), points, CLUSTERS, seed=seed, labels=made.labels)


def shuffled(rows: FloatArray, labels: NDArray[np.int64], epsilon: float, seed: int) -> float:
    """Return the aligned index after the synthetic rows were put into another order."""
    made = np.random.default_rng(seed).permutation(run_algorithm_1(rows, epsilon, seed).rows)
    return aligned_ari(rows, made, CLUSTERS, seed=seed, labels=labels)


def without_noise(rows: FloatArray, starts: int, start: Start, count: int) -> FloatArray:
    """Return the aligned index of the synthesis without noise, reclustered from so many starts of a kind."""

    def index(seed: int) -> float:
        generator = np.random.default_rng([SEED, seed])
        made = nonprivate_geometry(rows, CLUSTERS, BOUNDS, generator, starts=MECHANISM_STARTS)
        again = kmeans(standardise(made.rows)(made.rows), CLUSTERS, seed, starts, start)
        return ari(made.labels, again.labels)

    return over_seeds(index, count)


def with_coordinate_noise(rows: FloatArray, labels: NDArray[np.int64], epsilon: float, count: int) -> FloatArray:
    """Return the aligned index of noise on every value."""

    def index(seed: int) -> float:
        generator = np.random.default_rng([SEED, seed])
        made = coordinate_noise(rows, CLUSTERS, epsilon, BOUNDS, generator, starts=MECHANISM_STARTS)
        return aligned_ari(rows, made, CLUSTERS, seed=seed, labels=labels)

    return over_seeds(index, count)


def utility_curve(rows: FloatArray, labels: NDArray[np.int64], seed: int) -> FloatArray:
    """Return Utility(epsilon) over the grid, one run for each candidate, as the paper calibrates."""
    return np.array(
        [
            aligned_ari(
                rows, run_algorithm_1(rows, epsilon, 1000 + seed, 1).rows, CLUSTERS, seed=seed, labels=labels, starts=1
            )
            for epsilon in GRID
        ]
    )


def first_above(curve: FloatArray, target: float) -> float:
    """Return the smallest candidate that meets the target: the paper's definition.

    >>> first_above(np.full(len(GRID), 0.4), 0.3)
    0.1
    """
    return GRID[int(np.argmax(curve >= target))]


def closest_epsilon(curve: FloatArray, target: float) -> float:
    """Return the candidate closest to the target: what the paper says it does."""
    return GRID[int(np.argmin(np.abs(curve - target)))]


def private_transfer(rows: FloatArray, labels: NDArray[np.int64], epsilon: float, count: int) -> FloatArray:
    """Return the transfer index of the private form in the public box."""
    from sfumato.mechanisms.cluster_geometry import GeometryPlan, release_geometry
    from sfumato.privacy.randomness import Randomness
    from sfumato.sampling.public_box import BoundedAxis

    axes = tuple(BoundedAxis(low, high, whole) for (low, high), whole in zip(PUBLIC_BOX, DISCRETE, strict=True))
    plan = GeometryPlan(axes=axes, clusters=CLUSTERS, epsilon=epsilon, n_pub=len(rows))

    def index(seed: int) -> float:
        randomness = Randomness.of(seed)
        made, _ = release_geometry(plan, lambda: iter([rows]), randomness).draw(len(rows), randomness.generator)
        return transfer_ari(rows, made, CLUSTERS, seed=seed, labels=labels)

    return over_seeds(index, count)


def on_public_tables(epsilons: Sequence[float], count: int) -> dict[str, dict[float, tuple[float, float]]]:
    """Return mean aligned and transfer index on wine and breast cancer, in boxes of their own extremes."""
    from sklearn import datasets

    source: Any = datasets
    wine, cancer = (np.asarray(load().data, float) for load in (source.load_wine, source.load_breast_cancer))
    tables = {"wine": (wine, 3), "breast cancer": (cancer[:, :10], 2)}
    return {name: {e: _both(rows, clusters, e, count) for e in epsilons} for name, (rows, clusters) in tables.items()}


def _both(rows: FloatArray, clusters: int, epsilon: float, count: int) -> tuple[float, float]:
    labels = kmeans(standardise(rows)(rows), clusters, SEED).labels
    box = ColumnBounds.of(rows.min(axis=0), rows.max(axis=0))

    def indices(seed: int) -> tuple[float, float]:
        made = published_geometry(rows, clusters, epsilon, box, np.random.default_rng([SEED, seed])).rows
        return _indices(rows, made, clusters, seed, labels)

    aligned, transfer = over_seeds(indices, count).mean(axis=0).tolist()
    return aligned, transfer


@dataclass(frozen=True)
class SharedResults:
    """What several parts share, computed when it is first asked for."""

    runs: int = RUNS

    @cached_property
    def rows(self) -> FloatArray:
        """The illustrative rows."""
        return illustrative_rows(seed=SEED)

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """Their clusters."""
        return kmeans(standardise(self.rows)(self.rows), CLUSTERS, SEED).labels

    @cached_property
    def example(self) -> PublishedGeometry:
        """One run at the printed epsilon: what the figures draw."""
        return run_algorithm_1(self.rows, PRINTED_EPSILON, SEED)

    @cached_property
    def by_epsilon(self) -> dict[float, Runs]:
        """Runs over the range of epsilon."""
        return {epsilon: self.runs_at(epsilon) for epsilon in EPSILONS if epsilon != EPSILON} | {EPSILON: self.at_paper}

    @cached_property
    def at_paper(self) -> Runs:
        """More runs at the paper's epsilon: the first 30 are those of table 3."""
        return repeated_runs(self.rows, self.labels, EPSILON, max(PAPER_RUNS, 5 * self.runs))

    def runs_at(self, epsilon: float) -> Runs:
        """Return runs at one epsilon."""
        return repeated_runs(self.rows, self.labels, epsilon, self.runs)

    @cached_property
    def coordinate(self) -> FloatArray:
        """Noise on every value at the paper's epsilon."""
        return with_coordinate_noise(self.rows, self.labels, EPSILON, self.runs)

    @cached_property
    def curves(self) -> FloatArray:
        """Utility over the grid, one row for each seed."""
        return np.array([utility_curve(self.rows, self.labels, seed) for seed in range(min(GRID_SEEDS, self.runs))])
