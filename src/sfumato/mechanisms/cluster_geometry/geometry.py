"""PrivateGeometry: released centres, shares and radii, and rows drawn from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.cluster_geometry.compiled_loops import label_rows, place_rows, quantise_rows
from sfumato.privacy.accounting.event import EventPart
from sfumato.sampling.public_box import BoundedAxis, FloatArray

CHUNK = 1 << 14


@dataclass(frozen=True, eq=False)
class StandardisedSpace:
    """Where distances are measured: the box scaled to [-1, 1], then shifted and scaled by released numbers."""

    axes: tuple[BoundedAxis, ...]
    mean: FloatArray
    factor: FloatArray

    @property
    def middle(self) -> FloatArray:
        """Middle of the box."""
        return np.array([(axis.low + axis.high) / 2 for axis in self.axes], dtype=float)

    @property
    def inverse(self) -> FloatArray:
        """One over half the width of the box."""
        return np.array([2 / (axis.high - axis.low) for axis in self.axes], dtype=float)

    def quantised(self, rows: FloatArray) -> NDArray[np.int16]:
        """Return rows in lattice steps of the box, which is what every private statistic is made from."""
        steps = np.empty(rows.shape, np.int16)
        quantise_rows(np.ascontiguousarray(rows, dtype=np.float64), self.middle, self.inverse, steps)
        return steps

    def scaled(self, rows: FloatArray) -> FloatArray:
        """Return rows in this space, clipped as the private statistics clip them."""
        return np.clip((np.clip((rows - self.middle) * self.inverse, -1, 1) - self.mean) * self.factor, -1, 1)

    def in_units(self, scaled: FloatArray) -> FloatArray:
        """Return points of this space in the units of the data."""
        return (scaled / self.factor + self.mean) / self.inverse + self.middle


@dataclass(frozen=True, eq=False)
class PrivateGeometry:
    """A released geometry. Nothing in it is the table's own: rows, labels and pictures from it cost nothing more."""

    space: StandardisedSpace
    scaled_centres: FloatArray
    """One centre per cluster, in the space where distances are measured."""
    edges: FloatArray
    """Ends of the radial bins of each cluster (clusters by bins + 1), in the same space."""
    histogram: FloatArray
    """Noisy rows per cluster and radial bin, projected on non-negative tables with the noisy total."""
    shape: FloatArray
    """Linear map that turns a sphere into the pooled ellipsoid of the clusters; the identity where they are balls."""
    parts: tuple[EventPart, ...]

    @property
    def clusters(self) -> int:
        """Number of clusters."""
        return len(self.scaled_centres)

    @cached_property
    def centres(self) -> FloatArray:
        """The noisy centres in the units of the data; one may lie outside the box, rows drawn from it never do."""
        return self.space.in_units(self.scaled_centres)

    @property
    def total(self) -> float:
        """The noisy number of rows."""
        return float(self.histogram.sum())

    @cached_property
    def shares(self) -> FloatArray:
        """The noisy share of each cluster."""
        return self.histogram.sum(axis=1) / self.total

    @cached_property
    def mean_radii(self) -> FloatArray:
        """The mean distance to the centre by the noisy histogram, cluster by cluster; 0 for an empty cluster."""
        middles = (self.edges[:, :-1] + self.edges[:, 1:]) / 2
        rows = self.histogram.sum(axis=1)
        return (self.histogram * middles).sum(axis=1) / np.where(rows > 0, rows, 1.0)

    def assign(self, rows: FloatArray) -> NDArray[np.int64]:
        """Return the number of the nearest centre for each row; -1 where a value is not a number."""
        labels = np.empty(len(rows), np.int64)
        label_rows(self.space.quantised(rows), self.space.mean, self.space.factor, self.scaled_centres, labels)
        return labels

    def draw(self, rows: int, generator: np.random.Generator) -> tuple[FloatArray, NDArray[np.int64]]:
        """Return synthetic rows, all inside the box, and the cluster that each was drawn from."""
        drawn, labels = np.empty((rows, len(self.space.axes))), np.empty(rows, np.int64)
        for start in range(0, rows, CHUNK):
            piece = slice(start, start + CHUNK)
            self._draw(drawn[piece], labels[piece], generator)
        return drawn, labels

    def _draw(self, drawn: FloatArray, labels: NDArray[np.int64], generator: np.random.Generator) -> None:
        rows, columns = drawn.shape
        upto = np.cumsum(self.histogram.ravel())
        cell = np.searchsorted(upto, generator.random(rows) * upto[-1], side="right")
        labels[:], bins = np.divmod(np.minimum(cell, len(upto) - 1), self.histogram.shape[1])
        low, high = self.edges[labels, bins], self.edges[labels, bins + 1]
        radii = low + (high - low) * generator.random(rows)
        normals = generator.standard_normal((rows, columns))
        coins = generator.random((rows, int(self._box[2].sum())))
        place_rows(labels, radii, normals, coins, self.scaled_centres, self.shape, *self._affine, *self._box, drawn)

    @cached_property
    def _affine(self) -> tuple[FloatArray, FloatArray]:
        """Slope and shift from the space of distances to the units of the data."""
        shift = self.space.in_units(np.zeros(len(self.space.axes)))
        return self.space.in_units(np.ones(len(self.space.axes))) - shift, shift

    @cached_property
    def _box(self) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
        axes = self.space.axes
        low, high = (np.array([getattr(axis, end) for axis in axes], dtype=float) for end in ("low", "high"))
        return low, high, np.array([axis.whole for axis in axes])
