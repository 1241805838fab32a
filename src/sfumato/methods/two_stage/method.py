"""Synthetic tables for prediction: blended inputs and learnt targets, as published or with a guarantee.

As published (:mod:`sfumato.methods.two_stage.published.run`): heuristic, no differential privacy, an exposure.
With ``private=True`` (:mod:`sfumato.methods.two_stage.plan`): formal, Gaussian DP composed exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from sfumato.errors import PlanError
from sfumato.methods.two_stage.published.inputs import FIRST_STAGES
from sfumato.methods.two_stage.published.matching import MATCHINGS
from sfumato.methods.two_stage.published.response import SECOND_STAGES
from sfumato.methods.two_stage.published.run import Layout, Settings, require_two_stage, run_two_stage
from sfumato.methods.two_stage.run import PrivateRelease, bounds_of
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.exact import Number, exact
from sfumato.privacy.randomness import Randomness
from sfumato.release.method import Makes, Output
from sfumato.release.parameters import (
    delta_problems,
    epsilon_problems,
    number_problems,
    sound_parameters,
    word_problems,
)
from sfumato.release.plan import Plan, Stage, event_facts, refuse_memory, unit_of
from sfumato.rows.settings import MOST_EXPECTED
from sfumato.schema import Schema
from sfumato.schema.choice import choice_problems
from sfumato.table.rows import row_values

if TYPE_CHECKING:
    from sfumato.schema.column import Column
    from sfumato.table import Table

BYTES_PER_VALUE = 200
LEAST_TOLERANCE = Fraction(1, 10**12)


@dataclass(frozen=True)
class TwoStage:
    """A synthetic table whose targets a regression learnt from the true rows predicts for blended inputs.

    ``target`` is one numeric column, several, or one column of levels. ``inputs`` are the numeric inputs and columns of
    levels (all others unless stated); levels are kept as they are. ``blend`` is the weight of the true row (.5 unless
    stated), or ``max_lid`` asks for the largest one at which the interval disclosure of the released rows stays below
    it at ``tolerance``, a share of each input's public range. With ``private=True`` the release is (``epsilon``,
    ``delta``)-DP, levels are synthesised too, and ``expected_rows`` is a public guess of the number of rows, for
    resolutions only.
    """

    target: str | Sequence[str]
    first: str = "lhs"
    second: str = "krr"
    blend: Number | None = None
    max_lid: Number | None = None
    tolerance: Number = 0.001
    matching: str = "rounds"
    inputs: Sequence[str] | None = None
    private: bool = False
    epsilon: Number | None = None
    delta: Number = 0
    expected_rows: int | None = None

    name: ClassVar[str] = "two-stage"
    summary: ClassVar[str] = "synthetic rows for prediction: blended inputs, and targets that a regression predicts"
    about: ClassVar[str] = (
        "Targets are predictions, free of noise. As published, each row blends a true row with a synthetic one, and "
        "columns of levels are kept; in the private form rows are drawn from noisy sums alone."
    )
    formal: ClassVar[bool | None] = None
    makes: ClassVar[Makes] = "rows"

    def __post_init__(self) -> None:
        problems = self._number_problems()
        for what, known in (("first", FIRST_STAGES), ("second", SECOND_STAGES), ("matching", MATCHINGS)):
            problems += word_problems(getattr(self, what), what, known)
        sound_parameters(self, problems)
        for names in ("target", "inputs"):
            if isinstance(getattr(self, names), str):
                object.__setattr__(self, names, (getattr(self, names),))

    def _number_problems(self) -> list[str]:
        problems = [] if self.target else ["target names no column"]
        problems += number_problems(self.tolerance, "tolerance", LEAST_TOLERANCE, 1)
        if self.expected_rows is not None:
            problems += number_problems(self.expected_rows, "expected_rows", 1, MOST_EXPECTED, whole=True)
        for what, found in (("blend", self.blend), ("max_lid", self.max_lid)):
            problems += [] if found is None else number_problems(found, what, 0, 1)
        if self.blend is not None and self.max_lid is not None:
            problems.append("give either blend or max_lid, and not both")
        return problems + self._budget_problems()

    def _budget_problems(self) -> list[str]:
        problems: list[str] = []
        if self.private == (self.epsilon is None):
            problems.append("private=True needs epsilon and delta" if self.private else "epsilon needs private=True")
        if self.epsilon is not None:
            problems += epsilon_problems(self.epsilon)
        if self.private and self.delta == 0:
            problems.append("the private form needs a delta between 0 and 1, such as 1e-6, found 0")
        elif self.private:
            problems += delta_problems(self.delta)
        return problems

    def settings(self) -> Settings:
        """Return what is asked for as plain numbers."""
        alpha = 0.5 if self.blend is None and self.max_lid is None else self.blend
        return Settings(
            self.first,
            self.second,
            None if alpha is None else float(exact(alpha)),
            None if self.max_lid is None else float(exact(self.max_lid)),
            float(exact(self.tolerance)),
            self.matching,
        )

    def layout(self, schema: Schema) -> Layout:
        """Return the columns by their part, or refuse with every problem."""
        wanted = (
            self.inputs
            if self.inputs is not None
            else [name for name in schema.releasable if name not in self.target and _fits(schema[name])]
        )
        problems = choice_problems(schema, self.target, _column_problems)
        problems += choice_problems(schema, tuple(wanted), _column_problems)
        problems += [f"column {name!r} is both target and input" for name in set(self.target) & set(wanted)]
        if problems:
            raise PlanError(f"cannot plan {self.name} on table {schema.name!r}", problems, "correct the columns")
        targets = tuple(schema[name] for name in self.target)
        numeric = tuple(schema[name] for name in wanted if schema[name].is_ordered)
        levels = tuple(schema[name] for name in wanted if not schema[name].is_ordered)
        if not numeric:
            raise PlanError("two-stage needs at least one numeric input", next_step="name inputs with numbers")
        if len(targets) > 1 and not all(column.is_ordered for column in targets):
            raise PlanError("several targets must all be numeric", next_step="name one target of levels at a time")
        return Layout(numeric, levels, targets)

    def released_columns(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns of the release."""
        layout = self.layout(schema)
        names = {column.name for column in (*layout.inputs, *layout.levels, *layout.targets)}
        return tuple(name for name in schema.names if name in names)

    def plan(self, schema: Schema, rows: int | None = None, randomness: str = "secure") -> Plan:
        """Return cost and needs, or raise PlanError with every problem."""
        layout = self.layout(schema)
        if self.private:
            return PrivateRelease.of(self, schema, layout, rows).plan(rows, randomness)
        memory = (schema.rows or 1) * BYTES_PER_VALUE * len(self.released_columns(schema))
        refuse_memory(memory, "the rows", "use a sample of the table, or a method that streams")
        asked = self.settings()
        words = f"{self.first}, {self.matching}, {self.second}; alpha {asked.alpha}, largest LID {asked.max_lid}"
        event = Event(kind="heuristic", note=words, **event_facts(self.name, schema, randomness))
        stage = Stage(
            name="blended inputs and learnt targets",
            cells=len(self.released_columns(schema)),
            noise="heuristic",
            scale=1.0,
            epsilon="none",
            share="1",
        )
        notes = ["heuristic: no differential privacy"]
        notes += [f"kept as they are: {', '.join(c.name for c in layout.levels)}"] if layout.levels else []
        return Plan(
            method=self.name,
            table=schema.name,
            adjacency=schema.adjacency,
            unit=unit_of(schema),
            epsilon=None,
            delta="0",
            stages=(stage,),
            events=(event,),
            cells=stage.cells,
            memory_bytes=memory,
            notes=tuple(notes),
        )

    def require_table(self, table: Table, plan: Plan) -> None:
        """Refuse rows that cannot be learnt from, or that no blend hides as asked; nothing is recorded then."""
        if not self.private:
            layout = self.layout(table.schema)
            require_two_stage(layout, row_values(table, layout.names), self.settings(), table.schema.name)

    def run(self, table: Table, plan: Plan, randomness: Randomness, rows: int | None = None) -> Output:
        """Read the rows, blend, learn, predict, shuffle."""
        layout = self.layout(table.schema)
        if self.private:
            return PrivateRelease.of(self, table.schema, layout, rows).run(table, plan, randomness)
        values = row_values(table, layout.names)
        made = run_two_stage(layout, values, self.settings(), table.schema, randomness.generator)
        facts = {
            "not_synthesised": [c.name for c in layout.levels],
            "tolerance": self.settings().tolerance,
            "chosen_on_private_data": "alpha, pairs, bandwidths, and everything of the response",
        }
        return Output({("synthetic",): made.table}, single=True, statistics=facts, confidential=made.measured)

    @classmethod
    def example(cls, schema: Schema) -> TwoStage:
        """Return a small instance that fits a schema, with a guarantee."""
        fits = _numbers(schema)
        return cls(fits[0], inputs=fits[1:3], private=True, epsilon=2.0, delta="1e-6")

    @classmethod
    def published_example(cls, schema: Schema) -> TwoStage:
        """Return a small instance without a guarantee."""
        fits = _numbers(schema)
        return cls(fits[0], inputs=fits[1:3], second="nadaraya-watson")


def _numbers(schema: Schema) -> list[str]:
    return [name for name in schema.releasable if schema[name].is_ordered and not schema[name].missing]


def _fits(column: Column) -> bool:
    return not (column.is_ordered and column.missing)


def _column_problems(column: Column) -> list[str]:
    if not _fits(column):
        return [f"column {column.name!r} may be missing, and numbers must be there"]
    return list(bounds_of(column).problems(f"column {column.name!r}")) if column.is_ordered else []
