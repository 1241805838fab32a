"""Measure a planned cluster geometry on the rows and draw synthetic rows.

Passes are integer sums by several workers over rows in small lattice steps, kept where they fit. Sums of integers do
not depend on the order, so that workers and batches cannot change a result. Whether the rows are kept or read again for
each pass depends on their number; it changes the time, not the sums. Proof note: :mod:`.plan`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import project_counts
from sfumato.constraints.draw_rows import sample_values
from sfumato.core.method import Output
from sfumato.core.plan import Plan, sample_size
from sfumato.mechanisms.cluster_geometry import compiled_loops
from sfumato.mechanisms.cluster_geometry import principal_plane as plane_stage
from sfumato.mechanisms.cluster_geometry.geometry import PrivateGeometry, StandardisedSpace
from sfumato.mechanisms.cluster_geometry.plan import GRID_ROWS, GeometryPlan, PlannedClusterGeometry
from sfumato.mechanisms.cluster_geometry.principal_plane import BINS, PRODUCT_NORM, STEP_NORM, PrincipalPlane
from sfumato.mechanisms.lattice_sums import LENGTH, UNIT, noisy_sums, part_of_stage
from sfumato.mechanisms.noisy_grid import NoisyGrid
from sfumato.privacy.noise import add_laplace_scale
from sfumato.privacy.randomness import Randomness
from sfumato.sampling.public_box import FloatArray, Rows, values_of_rows
from sfumato.sampling.values import Values, draw_conditional, draw_values, rows_table
from sfumato.schema.column import Column
from sfumato.table.rows import column_matrix, stream_column_arrays, stream_matrices

if TYPE_CHECKING:
    from sfumato.table import Table

Steps = NDArray[np.int16]
Sums = tuple[NDArray[np.int64], ...]
MOST_KEPT = 1 << 29
"""Bytes of quantised rows that are kept between passes; two bytes a value."""
WORKERS = min(4, os.cpu_count() or 1)
WAITING = 2 * WORKERS


def run_release(planned: PlannedClusterGeometry, table: Table, plan: Plan, randomness: Randomness) -> Output:
    """Measure the geometry in a few passes, the levels in one more, and draw rows."""
    ordered = [column.name for column in planned.ordered]
    geometry = release_geometry(planned.geometry, lambda: stream_matrices(table, ordered), randomness)
    tables = _level_shares(planned, table, geometry, randomness)
    count = sample_size(plan, geometry.total, len(planned.ordered) + len(planned.levels))
    generator = randomness.generator

    def draw(wanted: int) -> Values:
        rows, labels = geometry.draw(wanted, generator)
        values = values_of_rows(planned.ordered, rows)
        for column, shares in zip(planned.levels, tables, strict=True):
            values[column.name] = draw_values(column, draw_conditional(shares, labels, generator), generator)
        return values

    sampled = sample_values(planned.schema, draw, count, generator)
    statistics = _statistics(geometry, planned.ordered) | sampled.statistics
    rows_drawn = rows_table(planned.schema, sampled.values)
    return Output({("synthetic",): rows_drawn}, single=True, statistics=statistics, notes=sampled.notes)


def _level_shares(
    planned: PlannedClusterGeometry, table: Table, geometry: PrivateGeometry, randomness: Randomness
) -> list[NDArray[np.float64]]:
    """Return the noisy shares of levels in each cluster."""
    if not planned.levels:
        return []
    counts = [np.zeros((planned.geometry.clusters, column.size), np.int64) for column in planned.levels]
    for values in stream_column_arrays(table, [column.name for column in (*planned.ordered, *planned.levels)]):
        labels = geometry.assign(column_matrix(values, [column.name for column in planned.ordered]))
        for counted, column in zip(counts, planned.levels, strict=True):
            np.add.at(counted, (labels, values[column.name]), 1)
    noisy = [
        add_laplace_scale(counted, part.scale, randomness)
        for counted, part in zip(counts, planned.level_parts, strict=True)
    ]
    return [_shares(counted) for counted in noisy]


def _shares(noisy: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return each cluster's shares of levels; an empty cluster has those of all rows."""
    whole = project_counts(noisy)
    overall = whole.sum(axis=0) / whole.sum()
    rows = whole.sum(axis=1, keepdims=True)
    return np.where(rows > 0, whole / np.maximum(rows, 1e-300), overall)


def _statistics(geometry: PrivateGeometry, ordered: tuple[Column, ...]) -> dict[str, Any]:
    return {
        "noisy_total": geometry.total,
        "clusters": geometry.clusters,
        "centre_columns": [c.name for c in ordered],
        "centres": np.round(geometry.centres, 6).tolist(),
        "shares_of_clusters": np.round(geometry.shares, 6).tolist(),
    }


@dataclass(eq=False)
class QuantisedRows:
    """The private rows in lattice steps of the box, batch by batch."""

    rows: Rows
    box: StandardisedSpace
    most_kept: int = MOST_KEPT
    _kept: list[Steps] | None = field(default=None, init=False, repr=False)

    def batches(self) -> Iterator[Steps]:
        """Yield all batches: from memory after the first pass where they fit, else from the source again."""
        if self._kept is not None:
            yield from self._kept
            return
        kept: list[Steps] | None = []
        size = 0
        for batch in self.rows():
            steps = self.box.quantised(batch)
            size += steps.nbytes
            if size > self.most_kept:
                kept = None
            if kept is not None:
                kept.append(steps)
            yield steps
        self._kept = kept

    def sums(self, kernel: Callable[..., None], facts: tuple[Any, ...], *shapes: tuple[int, ...]) -> Sums:
        """Run a compiled loop over all batches and return the integer arrays that it adds to."""
        free = [tuple(np.zeros(shape, np.int64) for shape in shapes) for _ in range(WAITING)]
        arrays = list(free)
        running: list[tuple[Future[None], Sums]] = []
        with ThreadPoolExecutor(WORKERS) as pool:
            for batch in self.batches():
                if not free:
                    done, returned = running.pop(0)
                    done.result()
                    free.append(returned)
                own = free.pop()
                running.append((pool.submit(kernel, batch, *facts, *own), own))
            for done, _ in running:
                done.result()
        return tuple(np.add.reduce(each) for each in zip(*arrays, strict=True))


def release_geometry(plan: GeometryPlan, rows: Rows, randomness: Randomness) -> PrivateGeometry:
    """Return the private geometry of a table, at the cost of the plan.

    ``rows`` returns a fresh iterator over batches (batch by columns) for every pass: one pass for up to three columns,
    four to seven otherwise, from memory where the rows in lattice steps fit (:class:`QuantisedRows`).
    """
    if plan.by_grid:
        return geometry_of_grid(plan, plan.grid.release(rows(), randomness), randomness)
    box = StandardisedSpace(plan.axes, np.zeros(len(plan.axes)), np.ones(len(plan.axes)))
    return _PrincipalPlaneRun(plan, QuantisedRows(rows, box), randomness).run()


def geometry_of_grid(plan: GeometryPlan, grid: NoisyGrid, randomness: Randomness) -> PrivateGeometry:
    """Return centres, shares and radii of rows drawn from a noisy grid: post-processing."""
    drawn = grid.draw(GRID_ROWS, randomness.generator, grid.above_noise(fewest=2 * plan.clusters))
    space = _even_space(plan, drawn)
    scaled = space.scaled(drawn)
    centres = plane_stage.weighted_kmeans(scaled, np.ones(len(scaled)), plan.clusters, randomness.generator)
    edges, counts = _radial_counts(scaled, centres)
    within = plane_stage.within_cluster_covariance(
        scaled.T @ scaled / len(scaled), centres, counts.sum(axis=1) / len(scaled)
    )
    histogram = counts * (grid.total / len(drawn))
    return PrivateGeometry(space, centres, edges, histogram, plane_stage.ellipsoid(within), plan.parts)


def _radial_counts(scaled: FloatArray, centres: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return radial bins up to the farthest row of each cluster, and the rows in each."""
    gaps = ((scaled[:, None, :] - centres) ** 2).sum(axis=2)
    labels, radii = gaps.argmin(axis=1), np.sqrt(gaps.min(axis=1))
    ends = np.array([radii[labels == k].max(initial=1e-9) for k in range(len(centres))])
    bins = np.minimum((radii / ends[labels] * BINS).astype(np.int64), BINS - 1)
    counts = np.bincount(labels * BINS + bins, minlength=len(centres) * BINS).reshape(len(centres), BINS)
    edges = (ends[:, None] * np.linspace(0, 1, BINS + 1)).astype(np.float64)
    return edges, counts.astype(np.float64)


def _even_space(plan: GeometryPlan, drawn: FloatArray) -> StandardisedSpace:
    """Return the space of the drawn rows' own spreads, scaled so that the whole box fits and nothing is clipped."""
    box = StandardisedSpace(plan.axes, np.zeros(len(plan.axes)), np.ones(len(plan.axes)))
    scaled = box.scaled(drawn)
    mean, spread = scaled.mean(axis=0), np.maximum(scaled.std(axis=0), plane_stage.SHORTEST_SPREAD)
    return StandardisedSpace(plan.axes, mean, 1 / (spread * ((1 + np.abs(mean)) / spread).max()))


@dataclass(frozen=True, eq=False)
class _PrincipalPlaneRun:
    plan: GeometryPlan
    rows: QuantisedRows
    randomness: Randomness

    def _noisy(self, stage: str, sums: NDArray[np.int64], unit: int) -> FloatArray:
        """Add the stage's noise to true sums and return them as real numbers."""
        return noisy_sums(self.plan.parts, stage, sums, self.randomness)[0] / unit

    def run(self) -> PrivateGeometry:
        """Go through the stages."""
        plan, generator = self.plan, self.randomness.generator
        space, total = self._space()
        moments = self._moments(space, total)
        plane = PrincipalPlane.of(moments)
        table = self._table(space, plane)
        flat = plane_stage.weighted_kmeans(plane.middles(len(table)), table.ravel(), plan.clusters, generator)
        centres = flat @ plane.directions.T
        for step in range(1, plan.rounds + 1):
            centres = self._stepped(space, centres, step)
        return self._radii(space, moments, centres, plane, table)

    def _space(self) -> tuple[StandardisedSpace, float]:
        axes = self.plan.axes
        (sums,) = self.rows.sums(compiled_loops.sum_scales, (), (1 + 2 * len(axes),))
        return plane_stage.noisy_space(axes, self._noisy("scales", sums, UNIT))

    def _moments(self, space: StandardisedSpace, total: float) -> FloatArray:
        columns = len(space.axes)
        longest = PRODUCT_NORM * np.sqrt(columns)
        facts = (space.mean, space.factor, longest)
        (sums,) = self.rows.sums(compiled_loops.sum_products, facts, (columns * (columns + 1) // 2,))
        noisy = self._noisy("products", sums, UNIT) * longest**2
        return plane_stage.full_matrix(noisy / total, columns)

    def _table(self, space: StandardisedSpace, plane: PrincipalPlane) -> FloatArray:
        side = self.plan.plane_side
        facts = (space.mean, space.factor, *plane.facts(side))
        (counts,) = self.rows.sums(compiled_loops.count_plane, facts, (side, side))
        noisy = self._noisy("plane", counts * LENGTH, LENGTH)
        return project_counts(noisy)

    def _stepped(self, space: StandardisedSpace, centres: FloatArray, step: int) -> FloatArray:
        longest = STEP_NORM * np.sqrt(centres.shape[1])
        facts = (space.mean, space.factor, centres, longest)
        counts, sums = self.rows.sums(compiled_loops.sum_steps, facts, (len(centres),), centres.shape)
        sizes = self._noisy(f"sizes {step}", counts * LENGTH, LENGTH)
        steps = self._noisy(f"steps {step}", sums, LENGTH) * longest
        deviation = part_of_stage(self.plan.parts, f"sizes {step}").scale / LENGTH
        return plane_stage.lloyd_step(centres, sizes, steps, deviation)

    def _radii(
        self,
        space: StandardisedSpace,
        moments: FloatArray,
        centres: FloatArray,
        plane: PrincipalPlane,
        table: FloatArray,
    ) -> PrivateGeometry:
        shares = plane_stage.plane_shares(plane, table, centres)
        within = plane_stage.within_cluster_covariance(moments, centres, shares)
        width = plane_stage.radial_width(within, float(np.trace(moments)))
        facts = (space.mean, space.factor, centres, 1 / width)
        (counts,) = self.rows.sums(compiled_loops.count_radii, facts, (len(centres), BINS))
        noisy = self._noisy("radii", counts * LENGTH, LENGTH)
        histogram = project_counts(noisy)
        edges = np.tile((width * np.arange(BINS + 1)).astype(np.float64), (len(centres), 1))
        return PrivateGeometry(space, centres, edges, histogram, plane_stage.ellipsoid(within), self.plan.parts)
