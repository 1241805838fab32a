"""ClusterGeometry: synthetic rows from noisy cluster centres, shares and radii.

Columns of levels are drawn from a noisy table for each cluster, with a share of the budget of their own. Proof:
:mod:`sfumato.mechanisms.cluster_geometry.plan`. What the paper printed has no guarantee:
:class:`~sfumato.papers.kmeans_geometry.published.method.ClusterGeometryAsPublished`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from sfumato.argument_errors import checked_parameters
from sfumato.constraints.contradictions import refuse_contradictions
from sfumato.core.method import Makes, Output
from sfumato.core.parameters import (
    DEFAULT_DELTA,
    check_parameters,
    delta_or_default,
    epsilon_problems,
    number_problems,
    share_problems,
)
from sfumato.core.plan import (
    MOST_CLUSTERS,
    MOST_EXPECTED,
    Plan,
    assumed_row_count,
    check_row_count,
    refuse_several_rows_per_person,
)
from sfumato.core.registry import PublishedForm
from sfumato.errors import PlanError
from sfumato.mechanisms.cluster_geometry.plan import GeometryPlan, PlannedClusterGeometry
from sfumato.mechanisms.noisy_grid import LARGEST_DIMENSION
from sfumato.privacy.exact import Number, to_fraction
from sfumato.privacy.randomness import Randomness
from sfumato.sampling.public_box import axis_of, has_axis, select_box_columns
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.table.scan_plan import DataRequest

if TYPE_CHECKING:
    from sfumato.table import Table


def geometry_columns(schema: Schema, columns: Sequence[str] | None, only_axes: bool) -> tuple[Column, ...]:
    """Return the columns to synthesise, at least one of them ordered; ``only_axes`` leaves none of levels."""
    selected = select_box_columns(schema, columns, only_axes)
    if not any(has_axis(column) for column in selected):
        raise PlanError(
            f"table {schema.name!r} has no ordered column to measure distances in",
            next_step="name columns of numbers, dates or ordinals",
        )
    return selected


def example_columns(schema: Schema) -> list[str]:
    """Return two columns that both forms can use, where the schema has them."""
    return [name for name in schema.releasable if has_axis(schema[name]) and not schema[name].missing][:2]


@checked_parameters
@dataclass(frozen=True)
class ClusterGeometry:
    """A synthetic table of ordered columns and of levels, drawn from a noisy geometry of clusters.

    Up to three ordered columns are released at pure epsilon. More need ``delta`` above 0, 1e-9 unless given: the plan
    shows it. ``expected_rows`` is a public guess of the number of rows, for resolutions only. ``target`` records what
    epsilon was calibrated for. :attr:`as_published` is the algorithm that the paper printed, without a guarantee.
    """

    clusters: int
    epsilon: Number
    delta: Number | None = None
    columns: Sequence[str] | None = None
    target: str | None = None
    expected_rows: int | None = None
    level_share: Number = "3/10"

    name: ClassVar[str] = "cluster-geometry"
    summary: ClassVar[str] = "synthetic rows from noisy centres, shares and radii of clusters"
    about: ClassVar[str] = (
        "Rows were drawn from noisy centres, shares and radii of clusters, not copied from the table."
    )
    formal: ClassVar[bool | None] = True
    makes: ClassVar[Makes] = "rows"
    as_published: ClassVar[PublishedForm] = PublishedForm("cluster-geometry-as-published")
    """What the paper printed: ``ClusterGeometry.as_published(clusters=5, epsilon=1)``."""

    def __post_init__(self) -> None:
        check_parameters(self, self._problems())

    def _problems(self) -> list[str]:
        problems = number_problems(self.clusters, "clusters", 1, MOST_CLUSTERS, whole=True)
        if self.expected_rows is not None:
            problems += number_problems(self.expected_rows, "expected_rows", 1, MOST_EXPECTED, whole=True)
        if self.delta is not None:
            problems += number_problems(self.delta, "delta", 0, 1)
        return problems + share_problems(self.level_share, "level_share") + epsilon_problems(self.epsilon)

    def released_columns(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns of the release."""
        return schema.in_order(column.name for column in geometry_columns(schema, self.columns, only_axes=False))

    def planned(self, schema: Schema, rows: int | None) -> PlannedClusterGeometry:
        """Return the mechanism on a schema, from public facts alone."""
        columns = geometry_columns(schema, self.columns, only_axes=False)
        refuse_contradictions(schema, tuple(column.name for column in columns))
        check_row_count(rows)
        refuse_several_rows_per_person(schema, self.name)
        ordered = tuple(column for column in columns if has_axis(column))
        levels = tuple(column for column in columns if not has_axis(column))
        share = to_fraction(self.level_share) if levels else Fraction(0)
        size, notes = assumed_row_count(schema, self.expected_rows, rows)
        geometry = GeometryPlan(
            axes=tuple(axis_of(column) for column in ordered),
            clusters=self.clusters,
            epsilon=to_fraction(self.epsilon) * (1 - share),
            delta=self._delta(len(ordered)),
            n_pub=size,
            adjacency=schema.adjacency,
        )
        return PlannedClusterGeometry(self.name, schema, ordered, levels, to_fraction(self.epsilon), geometry, notes)

    def _delta(self, ordered: int) -> Fraction:
        """Return delta; one grid of up to three columns is pure and needs none."""
        if ordered <= LARGEST_DIMENSION:
            return Fraction(0)
        return to_fraction(delta_or_default(self.delta, DEFAULT_DELTA), "delta")

    def plan(self, schema: Schema, rows: int | None = None, randomness: str = "secure") -> Plan:
        """Return cost and needs, or raise PlanError with every problem."""
        return self.planned(schema, rows).plan(rows, randomness)

    def asks(self, schema: Schema, rows: int | None = None) -> tuple[DataRequest, ...]:
        """Return what will be asked of the rows, from public facts alone."""
        planned = self.planned(schema, rows)
        again = () if not planned.levels else (DataRequest("levels in the clusters", "rows"),)
        if planned.geometry.by_grid:
            return DataRequest("the grid", "rows"), *again
        return DataRequest(
            "scales, products, plane, steps and radii", "rows", times=planned.geometry.passes, at_most=True
        ), *again

    def run(self, table: Table, plan: Plan, randomness: Randomness, rows: int | None = None) -> Output:
        """Measure the geometry and draw rows."""
        from sfumato.mechanisms.cluster_geometry.run import run_release

        return run_release(self.planned(table.schema, rows), table, plan, randomness)

    @classmethod
    def example(cls, schema: Schema) -> ClusterGeometry:
        """Return a small instance that fits a schema."""
        return cls(3, epsilon=2.0, columns=example_columns(schema))
