"""Cluster metrics: k-means, adjusted Rand index, centroid and radius errors.

Two ways to compare the k-means clusters of both tables:

* ``aligned_ari`` labels row i of each table and compares the labels row by row (Robby and others 2026). It needs row i
  of the synthetic table to be made from row i of the confidential one, and then measures mostly that the mechanism
  copied the label: it stays far above 0 however much noise there is. It is kept to reproduce, not to choose by.
* ``transfer_ari`` fits k-means to the synthetic rows and lets its centroids label the confidential rows. The order
  and the number of synthetic rows do not matter. Rows that know nothing score about 0, but rows that know the public
  box alone can score far more where the box already separates the clusters: measure that yardstick too.

``scale`` says in which unit k-means of the synthetic rows works: standardised by the mean and standard deviation of
the ``original`` rows, or of the ``synthetic`` rows, or ``none``. Original rows are always standardised by their own,
except with ``none``. The paper clusters each table in its own unit, which is the default of the aligned index; the
transfer needs one unit for both tables. Everything here is computed from confidential rows without noise: it is for
the custodian.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import PlanError, TableError

STARTS = 10

Numbers = NDArray[np.float64]
Labels = NDArray[np.int64]
Scale = Literal["original", "synthetic", "none"]
Start = Literal["k-means++", "random"]


@dataclass(frozen=True, eq=False)
class Clustering:
    """K-means of some rows."""

    labels: Labels
    centroids: Numbers
    """One row for each cluster."""

    def radii(self, rows: Numbers) -> Numbers:
        """Return the distance of each of the clustered rows to its centroid."""
        return np.linalg.norm(rows - self.centroids[self.labels], axis=1)


def kmeans(rows: ArrayLike, clusters: int, seed: int, starts: int = STARTS, start: Start = "k-means++") -> Clustering:
    """Return k-means, the best of several starts, in one thread, so that a seed repeats.

    >>> kmeans([[0.0], [0.1], [5.0], [5.1]], 2, seed=1).labels.tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    True
    """
    values = check_rows(rows, "rows", clusters)
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    with _threads().limit(limits=1), warnings.catch_warnings():  # sums over threads come in any order
        # Fewer distinct rows than clusters: the clusters that stay empty are what such rows deserve.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model: Any = KMeans
        fitted = model(clusters, init=start, n_init=starts, random_state=seed).fit(values)
    return Clustering(np.asarray(fitted.labels_, np.int64), np.asarray(fitted.cluster_centers_, np.float64))


@cache
def _threads() -> Any:
    """Return the handle on thread pools; finding them takes longer than k-means of a small table."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def nearest_centroid(rows: Numbers, centroids: Numbers) -> Labels:
    """Return the index of the nearest centroid of each row.

    >>> nearest_centroid(np.array([[0.2], [4.0]]), np.array([[5.0], [0.0]])).tolist()
    [1, 0]
    """
    # |x - c|^2 without |x|^2, which is the same for all centroids: one matrix of n by K, not n by K by d.
    return np.asarray(np.argmin((centroids**2).sum(axis=1) - 2 * rows @ centroids.T, axis=1), np.int64)


def check_rows(rows: ArrayLike, name: str, clusters: int) -> Numbers:
    """Return rows as numbers, or refuse them with everything that is wrong."""
    if clusters < 1:
        raise PlanError(f"{clusters} clusters asked for", next_step="ask for at least 1")
    try:
        values = np.asarray(rows, np.float64)
    except (TypeError, ValueError):
        values, problems = np.zeros((0, 0)), ["not numbers"]
    else:
        problems = _wrong(values, clusters)
    if problems:
        raise TableError(
            "these rows cannot be clustered",
            [f"{name}: {each}" for each in problems],
            "give finite numbers, one row for each record, and fewer clusters than rows",
        )
    return values


def _wrong(values: Numbers, clusters: int) -> list[str]:
    if values.ndim != 2 or not values.shape[1]:
        return [f"shape {values.shape}, not rows and columns"]
    bad = int((~np.isfinite(values)).sum())
    problems = [f"{bad} missing or infinite values"] if bad else []
    return problems + ([f"{len(values)} rows for {clusters} clusters"] if len(values) < clusters else [])


ALIGNED_WARNING = (
    "The aligned ARI compares row i with row i. Where each synthetic row is made from the cluster of its own row, the "
    "label is copied and the index stays high under any noise: use the transfer ARI to judge utility."
)


@dataclass(frozen=True, eq=False)
class ClusterErrors:
    """Clusters of the synthetic rows beside the nearest arrangement of those of the original rows, standardised."""

    pairs: tuple[int, ...]
    """For each original cluster, the synthetic one that stands for it."""
    centroid: Numbers
    """Distance between both centroids, for each original cluster."""
    radius: Numbers
    """Mean radius of the synthetic cluster less that of the original one."""
    size: Numbers
    """Share of rows in the synthetic cluster less that in the original one."""

    @property
    def mean_centroid(self) -> float:
        """Mean distance between centroids."""
        return float(self.centroid.mean())

    @property
    def mean_radius(self) -> float:
        """Mean absolute difference of radii."""
        return float(np.abs(self.radius).mean())


def ari(first: ArrayLike, second: ArrayLike) -> float:
    """Return the adjusted Rand index of two labellings of the same rows: 1 for the same clusters, 0 by chance.

    >>> ari([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    return ari_from_confusion(confusion(first, second))


def ari_from_confusion(table: ArrayLike) -> float:
    """Return the adjusted Rand index of a confusion matrix.

    >>> round(ari_from_confusion([[1, 2, 94, 3], [3, 83, 3, 11], [90, 0, 1, 5], [3, 14, 11, 76]]), 4)
    0.6656
    """
    from sklearn.metrics import adjusted_rand_score

    counts = np.asarray(table, np.int64)
    first, second = (np.repeat(labels.ravel(), counts.ravel()) for labels in np.indices(counts.shape))
    return float(adjusted_rand_score(first, second))


def confusion(first: ArrayLike, second: ArrayLike) -> NDArray[np.int64]:
    """Return how many rows have each pair of labels; labels are whole numbers from 0.

    >>> confusion([0, 0, 1], [1, 1, 0]).tolist()
    [[0, 2], [1, 0]]
    """
    one, two = (np.asarray(labels, np.int64) for labels in (first, second))
    problems = [f"{len(one)} and {len(two)} labels"] if one.shape != two.shape else []
    if one.ndim != 1 or not one.size or two.ndim != 1:
        problems.append("labels are not one plain column each")
    elif min(one.min(), two.min(initial=0)) < 0:
        problems.append("a label is below 0")
    if problems:
        raise TableError("these labels cannot be compared", problems, "give one label for each row, numbered from 0")
    wide = int(two.max()) + 1
    return np.bincount(one * wide + two, minlength=(int(one.max()) + 1) * wide).reshape(-1, wide)


def aligned_ari(
    original: ArrayLike,
    synthetic: ArrayLike,
    clusters: int,
    *,
    seed: int = 0,
    scale: Scale = "synthetic",
    starts: int = STARTS,
    labels: ArrayLike | None = None,
) -> float:
    """Return the ARI of k-means on both tables, row i against row i: as published, and misleading.

    The rows of both tables must correspond; ``labels`` of the original rows may be given. Where labels are copied into
    the rows it says nothing about the noise (``ALIGNED_WARNING``): do not choose a budget by it.
    """
    real, released = _both(original, synthetic, clusters)
    if len(real) != len(released):
        problem = f"{len(real)} original rows and {len(released)} synthetic ones"
        raise TableError("rows do not correspond", [problem], "use the transfer ARI: it needs no alignment")
    ours, theirs = _units(real, released, scale)
    truth = kmeans(ours, clusters, seed, starts).labels if labels is None else np.asarray(labels, np.int64)
    return ari(truth, kmeans(theirs(released), clusters, seed, starts).labels)


def transfer_ari(
    original: ArrayLike,
    synthetic: ArrayLike,
    clusters: int,
    *,
    seed: int = 0,
    scale: Scale = "original",
    starts: int = STARTS,
    labels: ArrayLike | None = None,
) -> float:
    """Return how well centroids learned from the synthetic rows cluster the original rows.

    K-means on the synthetic rows gives centroids; each original row gets the nearest; the ARI compares with k-means on
    the original rows, or with ``labels`` where they are known. Rows need not correspond, nor be as many.

    >>> rows = [[0.0, 0.0], [0.1, 0.0], [9.0, 9.0], [9.1, 9.0]]
    >>> transfer_ari(rows, [[9.0, 8.0], [0.0, 1.0], [0.1, 1.0]], 2)
    1.0
    """
    real, released = _both(original, synthetic, clusters)
    ours, theirs = _units(real, released, scale)
    truth = kmeans(ours, clusters, seed, starts).labels if labels is None else np.asarray(labels, np.int64)
    learned = kmeans(theirs(released), clusters, seed, starts)
    return ari(truth, nearest_centroid(theirs(real), learned.centroids))


def cluster_errors(
    original: ArrayLike,
    synthetic: ArrayLike,
    clusters: int,
    *,
    seed: int = 0,
    scale: Scale = "original",
    starts: int = STARTS,
) -> ClusterErrors:
    """Return how far centroids, mean radii and sizes of the clusters are from those of the original rows.

    Clusters are paired so that the centroids are nearest in sum. The unit is a standard deviation of each original
    column, whichever ``scale`` k-means works in; with ``none`` it is the unit of the table.
    """
    from scipy.optimize import linear_sum_assignment

    real, released = _both(original, synthetic, clusters)
    ours, theirs = _units(real, released, scale)
    unit = (lambda rows: rows) if scale == "none" else standardise(real)
    one = _cluster_summary(kmeans(ours, clusters, seed, starts).labels, unit(real), clusters)
    two = _cluster_summary(kmeans(theirs(released), clusters, seed, starts).labels, unit(released), clusters)
    distance = np.linalg.norm(one.centroids[:, None] - two.centroids[None], axis=2)
    pairs = np.asarray(linear_sum_assignment(distance)[1], np.int64)
    return ClusterErrors(
        tuple(int(k) for k in pairs),
        distance[np.arange(clusters), pairs],
        two.mean_radii[pairs] - one.mean_radii,
        two.shares[pairs] - one.shares,
    )


def standardise(rows: Numbers) -> Callable[[Numbers], Numbers]:
    """Return the map to mean 0 and standard deviation 1 of these rows; constant columns are only centred."""
    mean, sd = rows.mean(axis=0), rows.std(axis=0)
    unit = np.where(sd > 0, sd, 1.0)
    return lambda values: (values - mean) / unit


def _both(original: ArrayLike, synthetic: ArrayLike, clusters: int) -> tuple[Numbers, Numbers]:
    real = check_rows(original, "original", clusters)
    released = check_rows(synthetic, "synthetic", clusters)
    if real.shape[1] != released.shape[1]:
        problem = f"{real.shape[1]} original columns and {released.shape[1]} synthetic ones"
        raise TableError("these rows cannot be compared", [problem], "give the same columns in the same order")
    return real, released


def _units(real: Numbers, released: Numbers, scale: Scale) -> tuple[Numbers, Callable[[Numbers], Numbers]]:
    """Return the original rows as k-means sees them, and the map for everything about the synthetic ones."""
    if scale == "none":
        return real, lambda values: values
    if scale not in ("original", "synthetic"):
        raise PlanError(f"no scale {scale!r}", next_step="use one of: original, synthetic, none")
    return standardise(real)(real), standardise(real if scale == "original" else released)


@dataclass(frozen=True, eq=False)
class _Summary:
    centroids: Numbers
    mean_radii: Numbers
    shares: Numbers


def _cluster_summary(labels: Labels, rows: Numbers, clusters: int) -> _Summary:
    """Return centroids, mean radii and shares; a cluster that stayed empty sits at the mean of all rows."""
    sizes = np.bincount(labels, minlength=clusters)
    centroids = np.stack([(rows[labels == k] if sizes[k] else rows).mean(axis=0) for k in range(clusters)])
    radii = np.bincount(labels, np.linalg.norm(rows - centroids[labels], axis=1), clusters) / np.maximum(sizes, 1)
    return _Summary(centroids, radii, sizes / len(rows))
