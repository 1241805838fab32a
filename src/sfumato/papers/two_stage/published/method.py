"""TwoStageAsPublished: blended inputs and learnt targets, recorded as an exposure.

Heuristic: no differential privacy, recorded as an exposure. The algorithm: :mod:`.run`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from sfumato.argument_errors import checked_parameters
from sfumato.core.method import Makes, Output
from sfumato.core.parameters import check_parameters, number_problems, word_problems
from sfumato.core.plan import ExposurePlan, Plan, refuse_memory
from sfumato.mechanisms.two_stage.column_roles import ColumnRoles
from sfumato.papers.two_stage.learners.regressors import SECOND_STAGES
from sfumato.papers.two_stage.published.blending import HOWS, LABEL, MATCHINGS
from sfumato.papers.two_stage.published.first_stage import FIRST_STAGES
from sfumato.papers.two_stage.published.run import TwoStageSettings, require_two_stage, run_two_stage
from sfumato.privacy.exact import Number, to_fraction
from sfumato.privacy.randomness import Randomness
from sfumato.schema import Schema
from sfumato.schema.column_selection import complete_numbers, names_of
from sfumato.table.rows import column_arrays
from sfumato.table.scan_plan import DataRequest

if TYPE_CHECKING:
    from sfumato.table import Table

BYTES_PER_VALUE = 200
LEAST_TOLERANCE = Fraction(1, 10**12)


@checked_parameters
@dataclass(frozen=True)
class TwoStageAsPublished:
    """A synthetic table whose targets a regression learnt from the true rows predicts for blended inputs.

    ``target`` is one numeric column, several, or one column of levels. ``inputs`` are the numeric inputs and columns of
    levels (all others unless stated); levels are kept as they are. ``first`` makes synthetic inputs, ``second`` learns
    the response. ``blend`` is the weight of the true row (.5 unless stated), or ``max_lid`` asks for the largest one at
    which the interval disclosure of the released rows stays below it at ``tolerance``, a share of each input's public
    range. ``hybrid`` says how rows are put together: additive (as published), multiplicative, or proportion.
    """

    target: str | Sequence[str]
    inputs: Sequence[str] | None = None
    first: str = "lhs"
    second: str = "krr"
    blend: Number | None = None
    max_lid: Number | None = None
    tolerance: Number = 0.001
    matching: str = "rounds"
    hybrid: str = "additive"

    name: ClassVar[str] = "two-stage-as-published"
    summary: ClassVar[str] = "synthetic rows for prediction, blended with true ones as printed: no guarantee"
    about: ClassVar[str] = (
        "Targets are predictions, free of noise. Each row blends a true row with a synthetic one, and columns of "
        "levels are kept."
    )
    formal: ClassVar[bool | None] = False
    makes: ClassVar[Makes] = "rows"

    def __post_init__(self) -> None:
        problems = self._number_problems()
        for what, known in (
            ("first", FIRST_STAGES),
            ("second", SECOND_STAGES),
            ("matching", MATCHINGS),
            ("hybrid", HOWS),
        ):
            problems += word_problems(getattr(self, what), what, known)
        check_parameters(self, problems)
        object.__setattr__(self, "target", names_of(self.target))

    def _number_problems(self) -> list[str]:
        problems = [] if self.target else ["target names no column"]
        problems += number_problems(self.tolerance, "tolerance", LEAST_TOLERANCE, 1)
        for what, found in (("blend", self.blend), ("max_lid", self.max_lid)):
            problems += [] if found is None else number_problems(found, what, 0, 1)
        if self.blend is not None and self.max_lid is not None:
            problems.append("give either blend or max_lid, and not both")
        return problems

    def settings(self) -> TwoStageSettings:
        """Return what is asked for as plain numbers."""
        alpha = 0.5 if self.blend is None and self.max_lid is None else self.blend
        return TwoStageSettings(
            self.first,
            self.second,
            None if alpha is None else float(to_fraction(alpha)),
            None if self.max_lid is None else float(to_fraction(self.max_lid)),
            float(to_fraction(self.tolerance)),
            self.matching,
            self.hybrid,
        )

    def layout(self, schema: Schema) -> ColumnRoles:
        """Return the columns by their part, or refuse with every problem."""
        return ColumnRoles.of(self.name, schema, names_of(self.target), self.inputs)

    def released_columns(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns of the release."""
        return schema.in_order(self.layout(schema).names)

    def plan(self, schema: Schema, rows: int | None = None, randomness: str = "secure") -> Plan:
        """Return needs, or raise PlanError with every problem; an exposure has no cost."""
        layout, asked = self.layout(schema), self.settings()
        memory = (schema.rows or 1) * BYTES_PER_VALUE * len(layout.columns)
        refuse_memory(memory, "the rows", "use a sample of the table, or TwoStage, which streams")
        stages = f"{self.first}, {self.matching}, {self.hybrid}, {self.second}"
        words = f"{stages}; alpha {asked.alpha}, largest LID {asked.max_lid}"
        what = ExposurePlan("blended inputs and learnt targets", len(layout.columns), words)
        kept = [f"kept as they are: {', '.join(c.name for c in layout.levels)}"] if layout.levels else []
        return Plan.exposure(self.name, schema, what, memory, randomness, (LABEL, *kept))

    def require_table(self, table: Table, plan: Plan) -> None:
        """Refuse rows that cannot be learnt from, or that no blend hides as asked; nothing is recorded then."""
        layout = self.layout(table.schema)
        require_two_stage(layout, column_arrays(table, layout.names), self.settings(), table.schema.name)

    def asks(self, schema: Schema, rows: int | None = None) -> tuple[DataRequest, ...]:
        """Return what will be asked of the rows, from public facts alone."""
        return (DataRequest("all rows, which are held in memory", "rows", times=2),)

    def run(self, table: Table, plan: Plan, randomness: Randomness, rows: int | None = None) -> Output:
        """Read the rows, blend, learn, predict, shuffle."""
        layout, asked = self.layout(table.schema), self.settings()
        made = run_two_stage(layout, column_arrays(table, layout.names), asked, table.schema, randomness.generator)
        facts = {
            "not_synthesised": [c.name for c in layout.levels],
            "tolerance": asked.tolerance,
            "chosen_on_private_data": "alpha, pairs, bandwidths, and everything of the response",
        }
        return Output({("synthetic",): made.table}, single=True, statistics=facts, confidential=made.measured)

    @classmethod
    def example(cls, schema: Schema) -> TwoStageAsPublished:
        """Return a small instance that fits a schema."""
        target, *inputs = complete_numbers(schema)
        return cls(target, inputs=inputs[:2], second="nadaraya-watson")
