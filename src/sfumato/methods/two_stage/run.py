"""The private two-stage form on a table: plan, passes over the rows, and rows drawn from what was measured.

Proof note: :mod:`sfumato.methods.two_stage.plan`. Levels enter as codes; rows are drawn from released numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import PlanError
from sfumato.methods.two_stage.plan import PrivateTwoStagePlan
from sfumato.methods.two_stage.private.measure import SYNTHETIC_ROWS
from sfumato.methods.two_stage.published.run import Layout
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.exact import exact, text
from sfumato.privacy.randomness import Randomness
from sfumato.release.method import Output
from sfumato.release.plan import Plan, Stage, event_facts, refuse_memory, sound_rows, unit_of
from sfumato.rows.axes import batches
from sfumato.rows.box import Axis
from sfumato.rows.design import into_domain
from sfumato.rows.draw import Values, refuse_impossible_rules, rows_table, sample_values
from sfumato.rows.released import released_values
from sfumato.rows.settings import BYTES_PER_VALUE, drawn_rows, expected, one_row_per_person
from sfumato.schema import Schema
from sfumato.schema.column import Column

if TYPE_CHECKING:
    from sfumato.methods.two_stage.method import TwoStage
    from sfumato.table import Table


@dataclass(frozen=True)
class PrivateRelease:
    """One private two-stage release, planned on one schema."""

    method: TwoStage
    schema: Schema
    columns: tuple[Column, ...]
    """Inputs, numeric ones first, then the target."""
    stages: PrivateTwoStagePlan
    notes: tuple[str, ...]

    @classmethod
    def of(cls, method: TwoStage, schema: Schema, layout: Layout, rows: int | None) -> PrivateRelease:
        """Return the release, from public facts alone."""
        sound_rows(rows)
        one_row_per_person(schema, method.name)
        first, *more = layout.targets
        if more or layout.classes:
            raise PlanError("the private form predicts one numeric target", next_step="name one numeric target")
        inputs = (*layout.inputs, *layout.levels)
        size, notes = expected(schema, method.expected_rows, rows)
        categorical = tuple(range(len(layout.inputs), len(inputs)))
        plan = PrivateTwoStagePlan(
            axes=tuple(bounds_of(c) for c in inputs),
            target=bounds_of(first),
            epsilon=method.epsilon or 0,
            delta=method.delta,
            n_pub=size,
            categorical=categorical,
            adjacency=schema.adjacency,
        )
        return cls(method, schema, (*inputs, *layout.targets), plan, notes)

    def plan(self, rows: int | None, randomness: str) -> Plan:
        """Return cost and needs."""
        refuse_impossible_rules(self.schema, tuple(column.name for column in self.columns))
        cost = {"epsilon": text(exact(self.stages.epsilon)), "delta": text(exact(self.stages.delta))}
        event = Event(
            kind=self.stages.kind,
            parts=self.stages.parts,
            epsilon=cost["epsilon"],
            delta=cost["delta"],
            **event_facts(self.method.name, self.schema, randomness),
        )
        stages = tuple(
            Stage(
                name=part.stage,
                cells=part.cells,
                noise="discrete gaussian, on a lattice",
                epsilon="joint",
                scale=part.scale / part.sensitivity,
                share=f"{self.stages.shares[part.stage]:.6f}",
            )
            for part in self.stages.parts
        )
        count = rows if rows is not None else self.schema.rows
        memory = BYTES_PER_VALUE * ((count or 1) * len(self.columns) + SYNTHETIC_ROWS * self.stages.points)
        refuse_memory(memory, "the rows", "ask for fewer rows, or leave out columns of many levels")
        return Plan(
            method=self.method.name,
            table=self.schema.name,
            adjacency=self.schema.adjacency,
            unit=unit_of(self.schema),
            stages=stages,
            events=(event,),
            cells=sum(stage.cells for stage in stages),
            rows=count,
            notes=self.notes,
            memory_bytes=memory,
            epsilon=cost["epsilon"],
            delta=cost["delta"],
        )

    def run(self, table: Table, plan: Plan, randomness: Randomness) -> Output:
        """Measure both stages in a few passes, and draw rows with predicted targets."""
        made = self.stages.run(lambda: batches(table, self.columns), randomness)
        count = drawn_rows(plan, made.total, len(self.columns))
        generator = randomness.generator

        def draw(wanted: int) -> Values:
            rows = np.hstack(made.draw(wanted, generator))
            return {c.name: released_values(c, _coded(c, rows[:, i])) for i, c in enumerate(self.columns)}

        sampled = sample_values(self.schema, draw, count, generator)
        facts = {
            "noisy_total": made.total,
            "features": self.stages.rank,
            "rows_redrawn_for_rules": sampled.redrawn,
            "rows_replaced_for_rules": sampled.replaced,
        }
        return Output({("synthetic",): rows_table(self.schema, sampled.values)}, single=True, statistics=facts)


def bounds_of(column: Column) -> Axis:
    """Return the public bounds of numbers, or of the codes of levels."""
    if not column.is_ordered:
        return Axis(0.0, float(column.size - 1), whole=True)
    low, high = (float(bound) for bound in column.numeric_bounds)
    return Axis(low, high, whole=column.is_discrete)


def _coded(column: Column, numbers: np.ndarray) -> np.ndarray:
    return into_domain(column, numbers)[0] if column.is_ordered else np.rint(numbers).astype(np.int64)
