"""Synthetic rows from the geometry of clusters: noisy centres, shares and radii, with a proof.

Columns of levels are drawn from a noisy table for each cluster, with a share of the budget of their own. Proof:
:mod:`sfumato.methods.cluster_geometry.plan`. What the paper printed has no guarantee:
:class:`~sfumato.methods.cluster_geometry.published.method.ClusterGeometryAsPublished`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from sfumato.calling import named_parameters
from sfumato.methods.cluster_geometry.columns import example_columns, geometry_columns, in_table_order
from sfumato.methods.cluster_geometry.plan import GeometryPlan, PlannedRelease
from sfumato.methods.cluster_geometry.published.method import ClusterGeometryAsPublished
from sfumato.privacy.exact import Number, exact
from sfumato.privacy.randomness import Randomness
from sfumato.release.method import Makes, Output
from sfumato.release.parameters import (
    DEFAULT_DELTA,
    delta_or,
    epsilon_problems,
    number_problems,
    share_problems,
    sound_parameters,
)
from sfumato.release.plan import Plan, sound_rows
from sfumato.rows.axes import axis_of, has_axis
from sfumato.rows.noisy_grid import LARGEST_DIMENSION
from sfumato.rows.rules.refuse import refuse_impossible_rules
from sfumato.rows.settings import MOST_CLUSTERS, MOST_EXPECTED, expected, one_row_per_person
from sfumato.schema import Schema
from sfumato.table.passes import Ask

if TYPE_CHECKING:
    from sfumato.table import Table


@named_parameters
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
    as_published: ClassVar[type[ClusterGeometryAsPublished]] = ClusterGeometryAsPublished
    """What the paper printed: ``ClusterGeometry.as_published(clusters=5, epsilon=1)``."""

    def __post_init__(self) -> None:
        sound_parameters(self, self._problems())
        if isinstance(self.columns, str):
            object.__setattr__(self, "columns", (self.columns,))

    def _problems(self) -> list[str]:
        problems = number_problems(self.clusters, "clusters", 1, MOST_CLUSTERS, whole=True)
        if self.expected_rows is not None:
            problems += number_problems(self.expected_rows, "expected_rows", 1, MOST_EXPECTED, whole=True)
        if self.delta is not None:
            problems += number_problems(self.delta, "delta", 0, 1)
        return problems + share_problems(self.level_share, "level_share") + epsilon_problems(self.epsilon)

    def released_columns(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns of the release."""
        return in_table_order(schema, geometry_columns(schema, self.columns, only_axes=False))

    def planned(self, schema: Schema, rows: int | None) -> PlannedRelease:
        """Return the mechanism on a schema, from public facts alone."""
        columns = geometry_columns(schema, self.columns, only_axes=False)
        refuse_impossible_rules(schema, tuple(column.name for column in columns))
        sound_rows(rows)
        one_row_per_person(schema, self.name)
        ordered = tuple(column for column in columns if has_axis(column))
        levels = tuple(column for column in columns if not has_axis(column))
        share = exact(self.level_share) if levels else Fraction(0)
        size, notes = expected(schema, self.expected_rows, rows)
        geometry = GeometryPlan(
            axes=tuple(axis_of(column) for column in ordered),
            clusters=self.clusters,
            epsilon=exact(self.epsilon) * (1 - share),
            delta=self._delta(len(ordered)),
            n_pub=size,
            adjacency=schema.adjacency,
        )
        return PlannedRelease(self.name, schema, ordered, levels, exact(self.epsilon), geometry, notes)

    def _delta(self, ordered: int) -> Fraction:
        """Return delta; one grid of up to three columns is pure and needs none."""
        if ordered <= LARGEST_DIMENSION:
            return Fraction(0)
        return exact(delta_or(self.delta, DEFAULT_DELTA), "delta")

    def plan(self, schema: Schema, rows: int | None = None, randomness: str = "secure") -> Plan:
        """Return cost and needs, or raise PlanError with every problem."""
        return self.planned(schema, rows).plan(rows, randomness)

    def asks(self, schema: Schema, rows: int | None = None) -> tuple[Ask, ...]:
        """Return what will be asked of the rows, from public facts alone."""
        planned = self.planned(schema, rows)
        again = () if not planned.levels else (Ask("levels in the clusters", "rows"),)
        if planned.geometry.by_grid:
            return Ask("the grid", "rows"), *again
        return Ask(
            "scales, products, plane, steps and radii", "rows", times=planned.geometry.passes, at_most=True
        ), *again

    def run(self, table: Table, plan: Plan, randomness: Randomness, rows: int | None = None) -> Output:
        """Measure the geometry and draw rows."""
        from sfumato.methods.cluster_geometry.run import run_release

        return run_release(self.planned(table.schema, rows), table, plan, randomness)

    @classmethod
    def example(cls, schema: Schema) -> ClusterGeometry:
        """Return a small instance that fits a schema."""
        return cls(3, epsilon=2.0, columns=example_columns(schema))
