"""Cluster metrics: adjusted Rand index, cluster total variation, centroid and radius errors."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import PlanError, TableError

STARTS = 10

Numbers = NDArray[np.float64]
Labels = NDArray[np.int64]
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
