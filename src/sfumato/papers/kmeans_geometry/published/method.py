"""ClusterGeometryAsPublished: algorithm 1 on a table, recorded as an exposure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.argument_errors import checked_parameters
from sfumato.constraints.contradictions import refuse_contradictions
from sfumato.constraints.draw_rows import shuffle_rows
from sfumato.core.method import Makes, Output
from sfumato.core.parameters import check_parameters, epsilon_problems, number_problems, word_problems
from sfumato.core.plan import MOST_CLUSTERS, ExposurePlan, Plan, refuse_memory
from sfumato.mechanisms.cluster_geometry.method import example_columns, geometry_columns
from sfumato.papers.kmeans_geometry.published.algorithm import (
    LABEL,
    REFLECTIONS,
    ROUNDINGS,
    ColumnBounds,
    PublishedGeometry,
    Reflection,
    Rounding,
    checked_table,
    published_geometry,
)
from sfumato.privacy.exact import Number, to_fraction
from sfumato.privacy.randomness import Randomness
from sfumato.risk.interval_disclosure import interval_disclosure
from sfumato.sampling.public_box import axis_of, values_of_rows
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.table.rows import column_arrays, column_matrix
from sfumato.table.scan_plan import DataRequest

if TYPE_CHECKING:
    from sfumato.table import Table

BYTES_PER_VALUE = 64
TOLERANCE = 0.001
"""Share of a column's public range within which a released value counts as disclosed."""


@checked_parameters
@dataclass(frozen=True)
class ClusterGeometryAsPublished:
    """A synthetic table of ordered columns by algorithm 1 of the paper, recorded as an exposure.

    ``epsilon`` is the size of the noise and guarantees nothing. ``reflection`` is ``"single"`` or ``"successive"`` (the
    two readings of step 7) or ``"fold"``. ``whole_numbers`` says how whole columns are rounded: ``"published"`` (up or
    down with one half each) or ``"unbiased"``. ``target`` records what epsilon was calibrated for.
    """

    clusters: int
    epsilon: Number
    columns: Sequence[str] | None = None
    reflection: Reflection = "single"
    whole_numbers: Rounding = "published"
    target: str | None = None

    name: ClassVar[str] = "cluster-geometry-as-published"
    summary: ClassVar[str] = "synthetic rows from the geometry of clusters as the paper printed it: no guarantee"
    about: ClassVar[str] = "Each row was made from one true row, and its cluster is copied."
    formal: ClassVar[bool | None] = False
    makes: ClassVar[Makes] = "rows"

    def __post_init__(self) -> None:
        check_parameters(self, self._problems())

    def _problems(self) -> list[str]:
        problems = number_problems(self.clusters, "clusters", 1, MOST_CLUSTERS, whole=True)
        if not problems and self.clusters == 1:
            problems.append("the published form needs at least 2 clusters: its noise follows from their distances")
        problems += word_problems(self.reflection, "reflection", REFLECTIONS)
        problems += word_problems(self.whole_numbers, "whole_numbers", ROUNDINGS)
        return problems + epsilon_problems(self.epsilon)

    def _columns(self, schema: Schema) -> tuple[Column, ...]:
        return geometry_columns(schema, self.columns, only_axes=True)

    def released_columns(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns of the release."""
        return schema.in_order(column.name for column in self._columns(schema))

    def plan(self, schema: Schema, rows: int | None = None, randomness: str = "secure") -> Plan:
        """Return needs, or raise PlanError with every problem; an exposure has no cost."""
        columns = self._columns(schema)
        refuse_contradictions(schema, tuple(column.name for column in columns))
        memory = (schema.rows or 1) * BYTES_PER_VALUE * len(columns)
        refuse_memory(memory, "the rows", "use ClusterGeometry, which streams them")
        words = (
            f"{self.clusters} clusters; noise {self.epsilon}; reflection {self.reflection}; "
            f"whole numbers {self.whole_numbers}"
        )
        note = f"{LABEL}; the epsilon of this form is a size of noise, not a guarantee"
        what = ExposurePlan("geometry as published", self.clusters, words)
        return Plan.exposure(self.name, schema, what, memory, randomness, (note,))

    def require_table(self, table: Table, plan: Plan) -> None:
        """Refuse rows that algorithm 1 cannot be run on, before anything is recorded."""
        checked_table(self._rows(table), self.clusters, self._bounds(table.schema))

    def asks(self, schema: Schema, rows: int | None = None) -> tuple[DataRequest, ...]:
        """Return what will be asked of the rows, from public facts alone."""
        return (DataRequest("all rows, which are held in memory", "rows", times=2),)

    def run(self, table: Table, plan: Plan, randomness: Randomness, rows: int | None = None) -> Output:
        """Run algorithm 1 and shuffle what it makes."""
        bounds = self._bounds(table.schema)
        true, made = self.aligned(table, randomness)
        kept, broken = shuffle_rows(table.schema, self._values(table.schema, made.rows), randomness.generator)
        facts = {
            "lid": interval_disclosure(true, made.rows, TOLERANCE * (bounds.high - bounds.low)).share,
            "tolerance": TOLERANCE,
            "noise_scale": made.noise_scale,
            "radii_clamped": made.clamped_share,
            "centroids_outside": made.infeasible_share,
            "rows_left_out_for_rules": broken,
        }
        return Output({("synthetic",): kept}, single=True, statistics={"clusters": self.clusters}, confidential=facts)

    def aligned(self, table: Table, randomness: Randomness) -> tuple[NDArray[np.float64], PublishedGeometry]:
        """Return the true rows and what algorithm 1 makes of them, row i from row i: for the custodian alone."""
        true = self._rows(table)
        made = published_geometry(
            true,
            self.clusters,
            float(to_fraction(self.epsilon)),
            self._bounds(table.schema),
            randomness.generator,
            reflection=self.reflection,
            whole_numbers=self.whole_numbers,
        )
        return true, made

    def _rows(self, table: Table) -> NDArray[np.float64]:
        names = [column.name for column in self._columns(table.schema)]
        return column_matrix(column_arrays(table, names), names)

    def _bounds(self, schema: Schema) -> ColumnBounds:
        axes = [axis_of(column) for column in self._columns(schema)]
        return ColumnBounds.of([axis.low for axis in axes], [axis.high for axis in axes], [axis.whole for axis in axes])

    def _values(self, schema: Schema, rows: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
        """Return rows of the box as numbers and codes of their columns."""
        columns = self._columns(schema)
        found = values_of_rows(columns, rows)
        return {c.name: found[c.name][0] if c.is_ordered else rows[:, i].astype(int) for i, c in enumerate(columns)}

    @classmethod
    def example(cls, schema: Schema) -> ClusterGeometryAsPublished:
        """Return a small instance that fits a schema."""
        return cls(3, epsilon=2.0, columns=example_columns(schema))
