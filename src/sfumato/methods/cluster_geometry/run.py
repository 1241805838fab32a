"""The private cluster geometry on a table: plan, passes over the rows, and rows drawn from what was measured.

Proof note. The geometry of the ordered columns is (epsilon (1 - s), delta)-DP (:mod:`.private`). Given it, each record
lies in one cluster, that of the nearest released centre, and in one cell of each table of cluster by level; the tables
of all m columns of levels get discrete Laplace noise at epsilon s / m each. Costs add up. Rows are drawn from these
alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.methods.cluster_geometry.draw import PrivateGeometry
from sfumato.methods.cluster_geometry.measure import GRID_ROWS, release_geometry
from sfumato.methods.cluster_geometry.plan import GeometryPlan
from sfumato.privacy.accounting.event import Event, Part
from sfumato.privacy.accounting.sensitivity import histogram_l1
from sfumato.privacy.exact import exact, text
from sfumato.privacy.noise import add_laplace_scale, laplace_scale
from sfumato.privacy.randomness import Randomness
from sfumato.release.method import Output
from sfumato.release.plan import Plan, Stage, event_facts, refuse_memory, sound_rows, unit_of
from sfumato.rows.axes import axis_of, batches, has_axis, matrix, released
from sfumato.rows.draw import sample_values
from sfumato.rows.settings import BYTES_PER_VALUE, drawn_rows, expected, one_row_per_person
from sfumato.rows.tree import draw_given, project
from sfumato.rows.values import Values, draw_values, rows_table
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.table.rows import stream_values

if TYPE_CHECKING:
    from sfumato.methods.cluster_geometry.method import ClusterGeometry
    from sfumato.table import Table

BYTES_PER_DISTANCE = 16


@dataclass(frozen=True)
class PrivateRelease:
    """One private geometry, planned on one schema."""

    method: ClusterGeometry
    schema: Schema
    ordered: tuple[Column, ...]
    levels: tuple[Column, ...]
    geometry: GeometryPlan
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        method: ClusterGeometry,
        schema: Schema,
        columns: tuple[Column, ...],
        rows: int | None,
    ) -> PrivateRelease:
        """Return the release, from public facts alone."""
        sound_rows(rows)
        one_row_per_person(schema, method.name)
        ordered = tuple(column for column in columns if has_axis(column))
        levels = tuple(column for column in columns if not has_axis(column))
        share = exact(method.level_share) if levels else Fraction(0)
        size, notes = expected(schema, method.expected_rows, rows)
        plan = GeometryPlan(
            axes=tuple(axis_of(column) for column in ordered),
            clusters=method.clusters,
            epsilon=exact(method.epsilon or 0) * (1 - share),
            delta=_delta(method, ordered),
            n_pub=size,
            adjacency=schema.adjacency,
        )
        return cls(method, schema, ordered, levels, plan, notes)

    @property
    def level_epsilon(self) -> Fraction:
        """What all columns of levels may cost together."""
        return exact(self.method.epsilon or 0) - exact(self.geometry.epsilon)

    @property
    def level_parts(self) -> tuple[Part, ...]:
        """One noisy table of cluster by level for each column of levels."""
        moved = histogram_l1(self.schema.adjacency)
        return tuple(
            Part(
                stage=f"cluster x {c.name}",
                cells=self.method.clusters * c.size,
                sensitivity=moved,
                scale=laplace_scale(self.level_epsilon / len(self.levels), moved),
            )
            for c in self.levels
        )

    def plan(self, rows: int | None, randomness: str) -> Plan:
        """Return cost and needs."""
        facts = event_facts(self.method.name, self.schema, randomness)
        events = [
            Event(
                kind=self.geometry.kind,
                epsilon=text(exact(self.geometry.epsilon)),
                delta=text(exact(self.geometry.delta)),
                parts=self.geometry.parts,
                **facts,
            )
        ]
        if self.levels:
            events.append(
                Event(kind="discrete-laplace", epsilon=text(self.level_epsilon), parts=self.level_parts, **facts)
            )
        stages = (*self._geometry_stages(), *self._level_stages())
        count = rows if rows is not None else self.schema.rows
        memory = self._memory(stages, count)
        refuse_memory(memory, "the geometry and its rows", "ask for fewer rows, clusters or columns")
        return Plan(
            method=self.method.name,
            table=self.schema.name,
            adjacency=self.schema.adjacency,
            unit=unit_of(self.schema),
            epsilon=text(exact(self.method.epsilon or 0)),
            delta=text(exact(self.geometry.delta)),
            stages=stages,
            events=tuple(events),
            cells=sum(stage.cells for stage in stages),
            memory_bytes=memory,
            rows=count,
            notes=self.notes,
        )

    def _memory(self, stages: tuple[Stage, ...], count: int | None) -> int:
        """Return the bytes of the counts, of the drawn rows, and of the distances of points to every centre."""
        values = sum(stage.cells for stage in stages) + (count or 0) * (len(self.ordered) + len(self.levels))
        points = GRID_ROWS if self.geometry.by_grid else self.geometry.plane_side**2
        return BYTES_PER_VALUE * values + BYTES_PER_DISTANCE * points * self.method.clusters * len(self.ordered)

    def _geometry_stages(self) -> tuple[Stage, ...]:
        whole, grid = exact(self.method.epsilon or 0), self.geometry.by_grid
        cost = exact(self.geometry.epsilon)
        shares = {} if grid else self.geometry.shares
        return tuple(
            Stage(
                name=part.stage,
                cells=part.cells,
                noise="discrete laplace" if grid else "discrete gaussian, on a lattice",
                scale=part.scale if grid else part.scale / part.sensitivity,
                epsilon=text(cost) if grid else "joint",
                share=text((cost / whole * exact(str(shares.get(part.stage, 1)))).limit_denominator(10**6)),
            )
            for part in self.geometry.parts
        )

    def _level_stages(self) -> tuple[Stage, ...]:
        each = self.level_epsilon / len(self.levels) if self.levels else Fraction(0)
        share = text((each / exact(self.method.epsilon or 1)).limit_denominator(10**6))
        return tuple(
            Stage(
                name=part.stage,
                cells=part.cells,
                noise="discrete laplace",
                scale=part.scale,
                epsilon=text(each),
                share=share,
            )
            for part in self.level_parts
        )

    def run(self, table: Table, plan: Plan, randomness: Randomness) -> Output:
        """Measure the geometry in a few passes, the levels in one more, and draw rows."""
        geometry = release_geometry(self.geometry, lambda: batches(table, self.ordered), randomness)
        tables = self._levels(table, geometry, randomness)
        count = drawn_rows(plan, geometry.total, len(self.ordered) + len(self.levels))
        generator = randomness.generator

        def draw(wanted: int) -> Values:
            rows, labels = geometry.draw(wanted, generator)
            found = released(self.ordered, rows)
            for column, shares in zip(self.levels, tables, strict=True):
                found[column.name] = draw_values(column, draw_given(shares, labels, generator), generator)
            return found

        sampled = sample_values(self.schema, draw, count, generator)
        statistics = _statistics(geometry, self.ordered) | sampled.statistics
        made = {("synthetic",): rows_table(self.schema, sampled.values)}
        return Output(made, single=True, statistics=statistics, notes=sampled.notes)

    def _levels(self, table: Table, geometry: PrivateGeometry, randomness: Randomness) -> list[NDArray[np.float64]]:
        """Return the noisy shares of levels in each cluster."""
        if not self.levels:
            return []
        counts = [np.zeros((self.method.clusters, column.size), np.int64) for column in self.levels]
        for values in stream_values(table, [column.name for column in (*self.ordered, *self.levels)]):
            labels = geometry.assign(matrix(values, self.ordered))
            for found, column in zip(counts, self.levels, strict=True):
                np.add.at(found, (labels, values[column.name]), 1)
        noisy = [
            add_laplace_scale(found, part.scale, randomness)
            for found, part in zip(counts, self.level_parts, strict=True)
        ]
        return [_shares(found) for found in noisy]


def _delta(method: ClusterGeometry, ordered: tuple[Column, ...]) -> Fraction:
    """Return delta; one grid of up to three columns is pure and needs none."""
    from sfumato.methods.grid.histogram import LARGEST_DIMENSION

    return Fraction(0) if len(ordered) <= LARGEST_DIMENSION else exact(method.delta, "delta")


def _shares(noisy: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return each cluster's shares of levels; an empty cluster has those of all rows."""
    whole = project(noisy, max(float(noisy.sum()), 1.0))
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
