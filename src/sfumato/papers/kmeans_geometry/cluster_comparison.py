"""Compare the clusters of a release with those of the private table, beside yardsticks.

Every number stands beside what rows reach that know nothing but the public box, and what half of the table itself
reaches: an index without them says little. The two baselines of the paper on cluster geometry can be added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import TableError
from sfumato.metrics.cluster_tvd import cluster_tvd
from sfumato.metrics.clusters import (
    Numbers,
    aligned_ari,
    check_rows,
    cluster_errors,
    confusion,
    kmeans,
    nearest_centroid,
    standardise,
    transfer_ari,
)
from sfumato.papers.kmeans_geometry.published.algorithm import ColumnBounds, coordinate_noise, nonprivate_geometry

UNIFORM_ROWS, HALF = "rows spread evenly over the public box", "half of the table itself"
WITHOUT_NOISE, ON_EVERY_VALUE = "the paper's geometry without noise", "the paper's noise on every value"


@dataclass(frozen=True)
class ClusterMetrics:
    """What some rows keep of the clusters of the confidential ones."""

    rows: str
    """Which rows: the release, or a yardstick."""
    transfer_ari: float
    cluster_tvd: float
    centroid_error: float
    """Mean distance of paired centroids, in standard deviations of the confidential columns."""
    radius_error: float


@dataclass(frozen=True, eq=False)
class ClusterComparison:
    """The clusters of a release and of yardsticks; all of it is about confidential rows."""

    clusters: int
    kept: tuple[ClusterMetrics, ...]
    """The release first."""
    confusion: NDArray[np.int64]
    """Confidential rows by their own cluster (down) and by the released one (across), paired."""
    aligned_ari: float | None = None
    """The paper's index, row i against row i, where the rows correspond: a diagnostic."""

    @property
    def released(self) -> ClusterMetrics:
        """The release itself."""
        return self.kept[0]


def compare_clusters(
    original: ArrayLike,
    synthetic: ArrayLike,
    clusters: int,
    bounds: tuple[ArrayLike, ArrayLike],
    *,
    baseline_epsilon: float | None = None,
    same_order: bool = False,
    seed: int = 0,
) -> ClusterComparison:
    """Return what released rows keep of the clusters, beside yardsticks.

    ``bounds`` are the public ones of the columns, low and high. With ``baseline_epsilon`` the two baselines of the
    paper are run on the confidential rows: the same geometry without noise, and noise on every value at that epsilon.
    With ``same_order`` row i of both tables must belong together, and the paper's aligned index is added.
    """
    real, synthetic = check_rows(original, "original", clusters), check_rows(synthetic, "synthetic", clusters)
    if len(real) < 2 * clusters:
        problem = f"original: {len(real)} rows for {clusters} clusters"
        raise TableError("these rows cannot be clustered", [problem], "ask for at most half as many clusters as rows")
    box = ColumnBounds.of(np.asarray(bounds[0], float).tolist(), np.asarray(bounds[1], float).tolist())
    truth = kmeans(standardise(real)(real), clusters, seed).labels
    yardsticks = {**_plain(real, box, seed), **_published(real, clusters, box, baseline_epsilon, seed)}
    table = _paired_confusion(real, synthetic, truth, clusters, seed)
    kept = [_kept("the release", real, synthetic, truth, clusters, seed)]
    kept += [_kept(name, real, rows, truth, clusters, seed) for name, rows in yardsticks.items()]
    aligned = aligned_ari(real, synthetic, clusters, seed=seed, labels=truth) if same_order else None
    return ClusterComparison(clusters, tuple(kept), table, aligned)


def _kept(
    name: str, real: Numbers, synthetic: Numbers, truth: NDArray[np.int64], clusters: int, seed: int
) -> ClusterMetrics:
    errors = cluster_errors(real, synthetic, clusters, seed=seed)
    transfer = transfer_ari(real, synthetic, clusters, seed=seed, labels=truth)
    return ClusterMetrics(
        name, transfer, cluster_tvd(real, synthetic, clusters), errors.mean_centroid, errors.mean_radius
    )


def _paired_confusion(
    real: Numbers, synthetic: Numbers, truth: NDArray[np.int64], clusters: int, seed: int
) -> NDArray[np.int64]:
    """Return rows by their own cluster and by the nearest released centroid, in the order with most on the diagonal."""
    from scipy.optimize import linear_sum_assignment

    unit = standardise(real)
    learned = kmeans(unit(synthetic), clusters, seed)
    table = confusion(truth, nearest_centroid(unit(real), learned.centroids))
    paired = np.asarray(linear_sum_assignment(table, maximize=True)[1], np.int64)
    return table[:, [*paired, *np.setdiff1d(np.arange(table.shape[1]), paired)]]


def _plain(real: Numbers, box: Any, seed: int) -> dict[str, Numbers]:
    generator = np.random.default_rng(seed)
    even = generator.uniform(box.low, box.high, real.shape)
    return {UNIFORM_ROWS: even, HALF: generator.permutation(real)[: len(real) // 2]}


def _published(real: Numbers, clusters: int, box: Any, epsilon: float | None, seed: int) -> dict[str, Numbers]:
    if epsilon is None:
        return {}
    generator = np.random.default_rng(seed)
    return {
        WITHOUT_NOISE: nonprivate_geometry(real, clusters, box, generator).rows,
        f"{ON_EVERY_VALUE}, epsilon {epsilon:g}": coordinate_noise(real, clusters, epsilon, box, generator),
    }
