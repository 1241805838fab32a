"""Synthetic rows from the geometry of clusters: centres, shares and radii, with a proof or as published.

``form="private"`` is formal (:mod:`sfumato.methods.cluster_geometry.plan`); columns of levels are drawn from a noisy
table for each cluster, with a share of the budget of their own. ``form="published"`` is algorithm 1 of the paper
(:mod:`sfumato.methods.cluster_geometry.published`): heuristic, no differential privacy, recorded as an exposure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PlanError
from sfumato.methods.cluster_geometry.run import PrivateRelease
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.exact import Number, exact
from sfumato.privacy.randomness import Randomness
from sfumato.release.method import Makes, Output
from sfumato.release.parameters import (
    epsilon_problems,
    number_problems,
    share_problems,
    sound_parameters,
    word_problems,
)
from sfumato.release.plan import Plan, Stage, event_facts, refuse_memory, unit_of
from sfumato.rows.axes import axis_of, chosen, has_axis, matrix, released
from sfumato.rows.interval_disclosure import interval_disclosure
from sfumato.rows.released import shuffled_rows_of
from sfumato.rows.rules.refuse import refuse_impossible_rules
from sfumato.rows.settings import MOST_CLUSTERS, MOST_EXPECTED
from sfumato.schema import Schema
from sfumato.table.rows import row_values

if TYPE_CHECKING:
    from sfumato.schema.column import Column
    from sfumato.table import Table

REFLECTIONS = ("single", "successive", "fold")
ROUNDINGS = ("published", "unbiased")
BYTES_PER_VALUE = 64
TOLERANCE = 0.001
"""Share of a column's public range within which a released value of the published form counts as disclosed."""


@dataclass(frozen=True)
class ClusterGeometry:
    """A synthetic table of ordered columns (and, in the private form, of levels) made from a geometry of clusters.

    The private form needs ``delta`` above 0 for more than three ordered columns; ``expected_rows`` is a public guess of
    the number of rows, for resolutions only. In the published form ``epsilon`` is the size of the noise and guarantees
    nothing; ``reflection`` ("single", "successive": the two readings of step 7, or "fold") and ``rounding``
    ("published" or "unbiased") belong to it. ``target`` records what epsilon was calibrated for.
    """

    clusters: int
    epsilon: Number | None = None
    delta: Number = 0.0
    form: Literal["private", "published"] = "private"
    columns: Sequence[str] | None = None
    target: str | None = None
    expected_rows: int | None = None
    level_share: Number = "3/10"
    reflection: str = "single"
    rounding: str = "published"

    name: ClassVar[str] = "cluster-geometry"
    summary: ClassVar[str] = "synthetic rows from centres, shares and radii of clusters, with a proof or as published"
    about: ClassVar[str] = (
        "Rows of the private form were drawn from noisy centres, shares and radii. In the published form each row was "
        "made from one true row, and its cluster is copied."
    )
    formal: ClassVar[bool | None] = None
    makes: ClassVar[Makes] = "rows"

    def __post_init__(self) -> None:
        sound_parameters(self, self._problems())
        if isinstance(self.columns, str):
            object.__setattr__(self, "columns", (self.columns,))

    def _problems(self) -> list[str]:
        problems = number_problems(self.clusters, "clusters", 1, MOST_CLUSTERS, whole=True)
        if self.expected_rows is not None:
            problems += number_problems(self.expected_rows, "expected_rows", 1, MOST_EXPECTED, whole=True)
        for what, known in (("form", ("private", "published")), ("reflection", REFLECTIONS), ("rounding", ROUNDINGS)):
            problems += word_problems(getattr(self, what), what, known)
        problems += share_problems(self.level_share, "level_share") + number_problems(self.delta, "delta", 0, 1)
        return problems + self._choice_problems()

    def _choice_problems(self) -> list[str]:
        problems: list[str] = []
        if self.form == "published" and self.clusters == 1:
            problems.append("the published form needs at least 2 clusters: its noise follows from their distances")
        if self.epsilon is None:
            problems.append("it needs an epsilon: give one, or find one with sfumato.calibrate")
        else:
            problems += epsilon_problems(self.epsilon)
        return problems

    @property
    def is_private(self) -> bool:
        """Whether the form has a formal guarantee."""
        return self.form == "private"

    def chosen_columns(self, schema: Schema) -> tuple[Column, ...]:
        """Return the columns to synthesise; levels belong to the private form."""
        found = chosen(schema, self.columns, only_axes=not self.is_private)
        if not any(has_axis(column) for column in found):
            raise PlanError(
                f"table {schema.name!r} has no ordered column to measure distances in",
                next_step="name columns of numbers, dates or ordinals",
            )
        return found

    def released_columns(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns of the release."""
        names = {column.name for column in self.chosen_columns(schema)}
        return tuple(name for name in schema.names if name in names)

    def private(self, schema: Schema, rows: int | None) -> PrivateRelease:
        """Return the formal mechanism on a schema."""
        return PrivateRelease.of(self, schema, self.chosen_columns(schema), rows)

    def plan(self, schema: Schema, rows: int | None = None, randomness: str = "secure") -> Plan:
        """Return cost and needs, or raise PlanError with every problem."""
        columns = self.chosen_columns(schema)
        refuse_impossible_rules(schema, tuple(column.name for column in columns))
        if self.is_private:
            return self.private(schema, rows).plan(rows, randomness)
        memory = (schema.rows or 1) * BYTES_PER_VALUE * len(columns)
        refuse_memory(memory, "the rows", "use the private form, which streams them")
        words = (
            f"{self.clusters} clusters; noise {self.epsilon}; reflection {self.reflection}; rounding {self.rounding}"
        )
        event = Event(kind="heuristic", note=words, **event_facts(self.name, schema, randomness))
        stage = Stage(
            name="geometry as published", cells=self.clusters, noise="heuristic", scale=1.0, epsilon="none", share="1"
        )
        note = "heuristic: no differential privacy; the epsilon of this form is a size of noise, not a guarantee"
        return Plan(
            method=self.name,
            table=schema.name,
            adjacency=schema.adjacency,
            unit=unit_of(schema),
            epsilon=None,
            delta="0",
            stages=(stage,),
            events=(event,),
            cells=self.clusters,
            memory_bytes=memory,
            notes=(note,),
        )

    def require_table(self, table: Table, plan: Plan) -> None:
        """Refuse rows that algorithm 1 cannot be run on, before anything is recorded; the private form takes any."""
        if not self.is_private:
            from sfumato.methods.cluster_geometry.published import checked_table

            rows, low, high, discrete = self._published_rows(table)
            checked_table(rows, self.clusters, low, high, discrete)

    def run(self, table: Table, plan: Plan, randomness: Randomness, rows: int | None = None) -> Output:
        """Measure the geometry and draw rows, or run algorithm 1 and shuffle what it makes."""
        if self.is_private:
            return self.private(table.schema, rows).run(table, plan, randomness)
        from sfumato.methods.cluster_geometry.published import published_geometry

        true, low, high, discrete = self._published_rows(table)
        reading: Any = {"reflection": self.reflection, "rounding": self.rounding}
        made = published_geometry(
            true, self.clusters, float(exact(self.epsilon or 1)), low, high, discrete, randomness.generator, **reading
        )
        values = self._values(table.schema, made.rows)
        kept, broken = shuffled_rows_of(table.schema, values, randomness.generator)
        near = interval_disclosure(true, made.rows, TOLERANCE * (np.array(high) - np.array(low))).share
        facts = {
            "lid": near,
            "tolerance": TOLERANCE,
            "noise_scale": made.noise_scale,
            "radii_clamped": made.clamped_share,
            "centroids_outside": made.infeasible_share,
            "rows_left_out_for_rules": broken,
        }
        return Output({("synthetic",): kept}, single=True, statistics={"clusters": self.clusters}, confidential=facts)

    def _published_rows(self, table: Table) -> tuple[NDArray[np.float64], list[float], list[float], list[bool]]:
        """Return the true rows, and for each column its bounds and whether it is whole."""
        columns = self.chosen_columns(table.schema)
        axes = [axis_of(column) for column in columns]
        rows = matrix(row_values(table, [column.name for column in columns]), columns)
        return rows, [axis.low for axis in axes], [axis.high for axis in axes], [axis.whole for axis in axes]

    def _values(self, schema: Schema, rows: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
        """Return rows of the box as numbers and codes of their columns."""
        columns = self.chosen_columns(schema)
        found = released(columns, rows)
        return {c.name: found[c.name][0] if c.is_ordered else rows[:, i].astype(int) for i, c in enumerate(columns)}

    @classmethod
    def example(cls, schema: Schema) -> ClusterGeometry:
        """Return a small instance that fits a schema, with a guarantee."""
        return cls(3, epsilon=2.0, columns=_fits(schema)[:2])

    @classmethod
    def published_example(cls, schema: Schema) -> ClusterGeometry:
        """Return a small instance without a guarantee."""
        return cls(3, epsilon=2.0, columns=_fits(schema)[:2], form="published")


def _fits(schema: Schema) -> list[str]:
    return [name for name in schema.releasable if has_axis(schema[name]) and not schema[name].missing]
