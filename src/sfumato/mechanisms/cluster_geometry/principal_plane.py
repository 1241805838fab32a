"""Noisy principal plane for more than three columns: PCA, k-means of grid cells, Lloyd steps.

Stages, each a sum of integer vectors over the records (proof note in :mod:`.plan`):

a. scales: (1, z, z^2 - 1/2) of the record scaled to [-1, 1], for noisy means and spreads;
b. products: y y' of the standardised record, shrunk to norm R = .45 sqrt(d), for the two principal directions;
c. plane: the cell of a grid in that plane; weighted k-means of the noisy cells gives the centres;
d. sizes and steps (only with much data): how many records a cluster has, and how far they lie from its centre: Lloyd;
e. radii: the cluster and the radial bin of the record.

All functions here see released numbers only: everything in this module is post-processing.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from sfumato.mechanisms.cluster_geometry.geometry import StandardisedSpace
from sfumato.sampling.public_box import BoundedAxis, FloatArray

SPREADS = 3.5
"""Standardised records are clipped at so many noisy standard deviations."""
SHORTEST_SPREAD = 0.02
"""Smallest noisy standard deviation, as a share of half the box."""
PRODUCT_NORM = 0.45
STEP_NORM = 0.45
"""Times sqrt(d): the norm to which standardised records are shrunk."""
NARROWEST, WIDEST = 0.15, 0.8
BINS = 10
REACH = 2.5
"""Radial bins end at so many noisy root mean squares of the distance to the centre."""
FLATTEST = 0.05
"""The least variance of a direction inside clusters, as a share of the largest."""
STARTS = 20


def noisy_space(axes: tuple[BoundedAxis, ...], sums: FloatArray) -> tuple[StandardisedSpace, float]:
    """Return the space of noisy means and spreads, and the noisy number of rows, from the sums of stage a."""
    columns = len(axes)
    rows = max(float(sums[0]), 2.0)
    mean = np.clip(sums[1 : columns + 1] / rows, -1, 1)
    square = np.clip(sums[columns + 1 :] / rows + 0.5, 0, 1)
    spread = np.sqrt(np.clip(square - mean**2, SHORTEST_SPREAD**2, 1))
    return StandardisedSpace(axes, mean, 1 / (SPREADS * spread)), rows


def full_matrix(triangle: FloatArray, columns: int) -> FloatArray:
    """Return the symmetric matrix of an upper triangle."""
    matrix = np.zeros((columns, columns))
    matrix[np.triu_indices(columns)] = triangle
    return matrix + np.triu(matrix, 1).T


@dataclass(frozen=True, eq=False)
class PrincipalPlane:
    """Two noisy principal directions, and the half-width of the grid along each."""

    directions: FloatArray
    half: FloatArray

    @classmethod
    def of(cls, moments: FloatArray) -> PrincipalPlane:
        """Return the plane of the two largest eigenvalues of noisy second moments (per row)."""
        values, vectors = np.linalg.eigh(moments)
        half = 3 * np.sqrt(np.maximum(values[[-1, -2]], 0.0))
        return cls(
            np.ascontiguousarray(vectors[:, [-1, -2]]), np.clip(half, NARROWEST, WIDEST * math.sqrt(len(moments)))
        )

    def facts(self, side: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What the compiled loop needs to find a cell."""
        return self.directions, -self.half, side / (2 * self.half)

    def middles(self, side: int) -> FloatArray:
        """Return the middles of the cells, in the order of their counts."""
        ticks = (2 * np.arange(side) + 1) / side - 1
        first, second = np.meshgrid(ticks * self.half[0], ticks * self.half[1], indexing="ij")
        return np.column_stack([first.ravel(), second.ravel()])


def weighted_kmeans(
    points: FloatArray, weights: FloatArray, clusters: int, generator: np.random.Generator
) -> FloatArray:
    """Return k-means centres of weighted points, the best of several starts; spread out where points are too few."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    kept = weights > 0
    if kept.sum() <= clusters:
        kept = np.ones(len(points), bool)
    heavy = np.where(kept, np.maximum(weights, weights.max(initial=1.0) * 1e-9), 0.0)
    fit: Any = KMeans(
        min(clusters, int(kept.sum())), n_init=cast(Any, STARTS), random_state=int(generator.integers(1 << 31))
    )
    with threadpool_limits(1), warnings.catch_warnings():  # one thread, so that a seed repeats
        warnings.simplefilter("ignore", ConvergenceWarning)
        centres = np.asarray(fit.fit(points[kept], sample_weight=heavy[kept]).cluster_centers_, dtype=float)
    return np.resize(centres, (clusters, points.shape[1]))


def plane_shares(plane: PrincipalPlane, table: FloatArray, centres: FloatArray) -> FloatArray:
    """Return the share of the noisy grid that lies nearest to each centre."""
    middles = plane.middles(len(table)) @ plane.directions.T
    nearest = ((middles[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)
    return np.bincount(nearest, table.ravel(), len(centres)).astype(np.float64) / table.sum()


def lloyd_step(centres: FloatArray, counts: FloatArray, sums: FloatArray, deviation: float) -> FloatArray:
    """Return the centres after one noisy Lloyd step; one with too few rows to see them stays."""
    enough = counts > max(1.0, 2 * deviation)
    moved = centres + sums / np.where(enough, counts, 1.0)[:, None]
    return np.where(enough[:, None], np.clip(moved, -1, 1), centres)


def within_cluster_covariance(moments: FloatArray, centres: FloatArray, shares: FloatArray) -> FloatArray:
    """Return noisy second moments around the centres: all of them, less what the centres explain."""
    values, vectors = np.linalg.eigh(moments - (centres * shares[:, None]).T @ centres)
    least = max(FLATTEST * float(values[-1]), 1e-3)
    return (vectors * np.maximum(values, least)) @ vectors.T


def ellipsoid(within: FloatArray) -> FloatArray:
    """Return the linear map from the unit sphere to the pooled shape of the clusters, mean square radius kept."""
    values, vectors = np.linalg.eigh(within)
    root = (vectors * np.sqrt(values)) @ vectors.T
    return root / math.sqrt(float(values.mean()))


def radial_width(within: FloatArray, total: float) -> float:
    """Return the width of the radial bins; ``total`` is the trace of all second moments."""
    square = max(float(np.trace(within)), 0.1 * total, 1e-3 * len(within))
    return min(REACH * math.sqrt(square), 2 * math.sqrt(len(within))) / BINS
