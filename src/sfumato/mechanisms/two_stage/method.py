"""TwoStage: private inputs from a copula, then a private regression for the target.

Proof: :mod:`sfumato.mechanisms.two_stage.plan`. What the paper printed has no guarantee:
:class:`~sfumato.papers.two_stage.published.method.TwoStageAsPublished`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sfumato.argument_errors import checked_parameters
from sfumato.core.method import Makes, Output
from sfumato.core.parameters import (
    DEFAULT_DELTA,
    check_parameters,
    delta_or_default,
    delta_problems,
    epsilon_problems,
    number_problems,
)
from sfumato.core.plan import MOST_EXPECTED, Plan, assumed_row_count, check_row_count, refuse_several_rows_per_person
from sfumato.core.registry import PublishedForm
from sfumato.errors import PlanError
from sfumato.mechanisms.two_stage.column_roles import ColumnRoles
from sfumato.mechanisms.two_stage.plan import PASSES, PlannedTwoStage, TwoStagePlan
from sfumato.privacy.exact import Number
from sfumato.privacy.randomness import Randomness
from sfumato.sampling.public_box import axis_of
from sfumato.schema import Schema
from sfumato.schema.column_selection import complete_numbers, names_of
from sfumato.table.scan_plan import DataRequest

if TYPE_CHECKING:
    from sfumato.table import Table


@checked_parameters
@dataclass(frozen=True)
class TwoStage:
    """A synthetic table whose inputs come from a noisy copula, and whose target a noisy regression predicts for them.

    ``target`` is one numeric column, or one column of levels. ``inputs`` are numeric columns and columns of levels (all
    others unless stated).
    ``delta`` is 1e-9 unless given: the plan shows it. ``expected_rows`` is a public guess of the number of rows, for
    resolutions only. :attr:`as_published` is the method that the paper printed, without a guarantee.
    """

    target: str | Sequence[str]
    epsilon: Number
    delta: Number | None = None
    inputs: Sequence[str] | None = None
    expected_rows: int | None = None

    name: ClassVar[str] = "two-stage"
    summary: ClassVar[str] = "synthetic rows for prediction: noisy inputs, and targets that a noisy regression predicts"
    about: ClassVar[str] = (
        "Rows were drawn from noisy sums alone. Numeric targets are predictions, free of noise; levels are drawn by "
        "their predicted probabilities."
    )
    formal: ClassVar[bool | None] = True
    makes: ClassVar[Makes] = "rows"
    as_published: ClassVar[PublishedForm] = PublishedForm("two-stage-as-published")
    """What the paper printed: ``TwoStage.as_published("y", inputs=["a", "b"])``."""

    def __post_init__(self) -> None:
        check_parameters(self, self._problems())
        object.__setattr__(self, "target", names_of(self.target))

    def _problems(self) -> list[str]:
        problems = [] if self.target else ["target names no column"]
        if self.expected_rows is not None:
            problems += number_problems(self.expected_rows, "expected_rows", 1, MOST_EXPECTED, whole=True)
        if self.delta is not None:
            problems += delta_problems(self.delta)
        return problems + epsilon_problems(self.epsilon)

    def layout(self, schema: Schema) -> ColumnRoles:
        """Return the columns by their part, or refuse with every problem."""
        roles = ColumnRoles.of(self.name, schema, names_of(self.target), self.inputs)
        if len(roles.targets) > 1:
            raise PlanError("two-stage predicts one target", next_step="name one target, or release twice")
        return roles

    def released_columns(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns of the release."""
        return schema.in_order(self.layout(schema).names)

    def planned(self, schema: Schema, rows: int | None) -> PlannedTwoStage:
        """Return the mechanism on a schema, from public facts alone."""
        layout = self.layout(schema)
        check_row_count(rows)
        refuse_several_rows_per_person(schema, self.name)
        inputs = (*layout.inputs, *layout.levels)
        size, notes = assumed_row_count(schema, self.expected_rows, rows)
        stages = TwoStagePlan(
            axes=tuple(axis_of(column) for column in inputs),
            target=axis_of(layout.targets[0]),
            epsilon=self.epsilon,
            delta=delta_or_default(self.delta, DEFAULT_DELTA),
            n_pub=size,
            categorical=tuple(range(len(layout.inputs), len(inputs))),
            adjacency=schema.adjacency,
            classes=layout.targets[0].size if layout.classes else 0,
        )
        return PlannedTwoStage(self.name, schema, layout.columns, stages, notes)

    def plan(self, schema: Schema, rows: int | None = None, randomness: str = "secure") -> Plan:
        """Return cost and needs, or raise PlanError with every problem."""
        return self.planned(schema, rows).plan(rows, randomness)

    def asks(self, schema: Schema, rows: int | None = None) -> tuple[DataRequest, ...]:
        """Return what will be asked of the rows, from public facts alone."""
        passes = PASSES - (len(self.planned(schema, rows).stages.axes) == 1)
        return (DataRequest("histograms, correlation and response", "rows", times=passes),)

    def run(self, table: Table, plan: Plan, randomness: Randomness, rows: int | None = None) -> Output:
        """Measure both stages in a few passes, and draw rows with predicted targets."""
        from sfumato.mechanisms.two_stage.run import run_release

        return run_release(self.planned(table.schema, rows), table, plan, randomness)

    @classmethod
    def example(cls, schema: Schema) -> TwoStage:
        """Return a small instance that fits a schema."""
        target, *inputs = complete_numbers(schema)
        return cls(target, epsilon=2.0, delta="1e-6", inputs=inputs[:2])
