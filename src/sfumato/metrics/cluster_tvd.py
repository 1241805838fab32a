"""Share of rows that released clusters misplace, with a proved sensitivity.

K-means of the *released* rows gives K centres; within each cluster, quantiles of the released distances to the centre
cut it into R rings, three by default. That is a partition of the space into K R cells (and one for rows with a missing
number), and the release says which share q of the rows lies in each. Let c count the true rows in the same cells:

    u = (1/2) sum over cells |n q - c|,      u / n is the metric ``cluster_tvd``,

the share of the rows that the released clusters put into the wrong cluster or at the wrong distance from its centre. A
centre in the wrong place shows, because the true rows then lie farther away than the release says. With one ring only
the sizes of the clusters count.

Sensitivity in records. Centres, units and rings are computed from the release alone, so that for a fixed release each
true row lies in one cell, whatever the other rows are: u is the distance of :mod:`sfumato.metrics.distances` for one
table of K R + 1 cells. By the proof there it moves by at most 1 when one row is added, removed or replaced, and by at
most k for a person with k rows. K-means of the *true* rows, which the Rand index compares with, has no such bound: one
row can turn all of its clusters over. That each row has a cell of its own is true of the arithmetic as well: the
distances are sums over the columns, one after the other, and no matrix product rounds a row by what stands beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.arrays import BoolArray, IntArray
from sfumato.errors import TableError
from sfumato.metrics.clusters import Labels, Numbers, kmeans
from sfumato.metrics.distances import MarginalPair, misplaced_records

RINGS = 3
"""Parts of a cluster by distance by default: near, middle, far, each with a third of the released rows."""
SEED = 0
"""Of k-means: the partition is a fixed function of the release."""


@dataclass(frozen=True, eq=False)
class ClusterCells:
    """The partition of the space that a release stands for: everything in it comes from released rows."""

    middle: Numbers
    unit: Numbers
    centres: Numbers
    """In standard deviations of the released rows."""
    edges: Numbers
    """Squared distances at which the rings of each cluster end, but for the last."""

    @classmethod
    def of(cls, synthetic: ArrayLike, clusters: int, rings: int = RINGS) -> ClusterCells:
        """Learn the partition from released rows; rows with a missing number are left out."""
        released = _matrix(synthetic)
        released = released[~_incomplete(released)]
        middle, spread = released.mean(axis=0), released.std(axis=0)
        unit = np.where(spread > 0, spread, 1.0)
        centres = kmeans((released - middle) / unit, clusters, SEED).centroids
        bare = cls(middle, unit, centres, np.zeros((clusters, rings - 1)))
        labels, squares = bare._nearest(released)
        parts = [squares[labels == k] for k in range(clusters)]
        at = np.arange(1, rings) / rings
        edges = [np.quantile(part, at) if len(part) else np.zeros(rings - 1) for part in parts]
        return cls(middle, unit, centres, np.array(edges).reshape(clusters, rings - 1))

    @property
    def size(self) -> int:
        """Number of cells: rings of all clusters, and one for rows with a missing number."""
        return len(self.centres) * self.rings + 1

    @property
    def rings(self) -> int:
        """Parts of each cluster by distance."""
        return self.edges.shape[1] + 1

    def cells(self, rows: Numbers) -> Labels:
        """Return the cell of each row; it depends on that row and on the release alone."""
        missing = _incomplete(rows)
        labels, squares = self._nearest(np.where(missing.reshape(-1, 1), 0.0, rows))
        ring = (squares[:, None] > self.edges[labels]).sum(axis=1)
        return np.where(missing, self.size - 1, labels * self.rings + ring)

    def counts(self, rows: Numbers) -> IntArray:
        """Return how many rows lie in each cell."""
        return np.bincount(self.cells(rows), minlength=self.size)

    def _nearest(self, rows: Numbers) -> tuple[Labels, NDArray[np.float64]]:
        """Return the nearest centre and the squared distance to it, column after column."""
        scaled = (rows - self.middle) / self.unit
        squares = np.zeros((len(rows), len(self.centres)))
        for column, place in zip(scaled.T, self.centres.T, strict=True):
            squares += (column[:, None] - place) ** 2
        labels = squares.argmin(axis=1)
        return labels, squares[np.arange(len(rows)), labels]


def misplaced_cluster_records(original: ArrayLike, synthetic: ArrayLike, clusters: int, rings: int = RINGS) -> Fraction:
    """Return how many original rows the released clusters misplace: all of them where nothing can be clustered.

    >>> misplaced_cluster_records([[0.0], [0.2], [9.0], [9.1]], [[0.0], [0.2], [9.0], [9.1]], 2)
    Fraction(0, 1)
    >>> misplaced_cluster_records([[0.0], [0.2], [0.3], [0.1]], [[0.0], [0.2], [9.0], [9.2]], 2) >= 2
    True
    """
    real, released = _matrix(original), _matrix(synthetic)
    if real.shape[1] != released.shape[1]:
        problem = f"{real.shape[1]} original columns and {released.shape[1]} synthetic ones"
        raise TableError("these rows cannot be compared", [problem], "give the same columns in the same order")
    if (~_incomplete(released)).sum() < clusters:
        return Fraction(len(real))
    cells = ClusterCells.of(released, clusters, rings)
    return misplaced_records(MarginalPair(("cluster",), cells.counts(released), cells.counts(real)))


def cluster_tvd(original: ArrayLike, synthetic: ArrayLike, clusters: int, rings: int = RINGS) -> float:
    """Return the share of original rows that the released clusters misplace, from 0 to 1. For the custodian."""
    real = _matrix(original)
    return float(misplaced_cluster_records(real, synthetic, clusters, rings) / len(real)) if len(real) else 0.0


def _incomplete(rows: Numbers) -> BoolArray:
    return np.asarray(np.isnan(rows).any(axis=1), np.bool_)


def _matrix(rows: ArrayLike) -> Numbers:
    values = np.asarray(rows, np.float64)
    if values.ndim != 2 or not values.shape[1]:
        problem = f"shape {values.shape}, not rows and columns"
        raise TableError("these rows cannot be compared", [problem], "give one row for each record")
    return values
