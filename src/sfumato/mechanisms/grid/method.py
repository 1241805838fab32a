"""Grid: rows of up to three ordered columns, drawn from one noisy grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sfumato.argument_errors import checked_parameters
from sfumato.constraints.contradictions import refuse_contradictions
from sfumato.constraints.draw_rows import sample_values
from sfumato.core.method import Makes, Output
from sfumato.core.parameters import (
    check_parameters,
    epsilon_problems,
    number_problems,
    pure_delta_problems,
)
from sfumato.core.plan import (
    MOST_EXPECTED,
    Plan,
    Stage,
    assumed_row_count,
    check_row_count,
    event_facts,
    exact_cost,
    refuse_memory,
    refuse_several_rows_per_person,
    sample_size,
)
from sfumato.mechanisms.noisy_grid import GridPlan
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.exact import Number
from sfumato.privacy.randomness import Randomness
from sfumato.sampling.public_box import (
    axis_of,
    has_axis,
    select_box_columns,
    values_of_rows,
)
from sfumato.sampling.values import rows_table
from sfumato.schema import Schema
from sfumato.table.rows import stream_matrices
from sfumato.table.scan_plan import DataRequest

if TYPE_CHECKING:
    from sfumato.schema.column import Column
    from sfumato.table import Table

BYTES_PER_CELL = 64


@checked_parameters
@dataclass(frozen=True)
class Grid:
    """A synthetic table of one to three ordered columns, drawn from noisy counts on a grid of even cells.

    The number of cells follows from ``expected_rows`` (a public guess; the schema's row count where that is public)
    times epsilon: more rows or more budget buy finer cells. A wrong guess costs accuracy, never privacy.
    The noise is pure: ``delta`` is 0.

    Proof: :mod:`sfumato.mechanisms.noisy_grid`.
    """

    columns: Sequence[str]
    epsilon: Number
    expected_rows: int | None = None
    delta: Number | None = None

    name: ClassVar[str] = "grid"
    summary: ClassVar[str] = "synthetic rows of up to three ordered columns, drawn from one noisy grid"
    about: ClassVar[str] = (
        "They were drawn from noisy counts of grid cells, not copied from the table; inside a cell they spread evenly."
    )
    formal: ClassVar[bool | None] = True
    makes: ClassVar[Makes] = "rows"

    def __post_init__(self) -> None:
        problems = epsilon_problems(self.epsilon) + pure_delta_problems(self.delta)
        if self.expected_rows is not None:
            problems += number_problems(self.expected_rows, "expected_rows", 1, MOST_EXPECTED, whole=True)
        check_parameters(self, problems)

    def _columns(self, schema: Schema) -> tuple[Column, ...]:
        return select_box_columns(schema, self.columns, only_axes=True)

    def grid(self, schema: Schema, rows: int | None) -> GridPlan:
        """Return the grid, from public facts alone."""
        refuse_several_rows_per_person(schema, self.name)
        axes = tuple(axis_of(column) for column in self._columns(schema))
        return GridPlan(
            axes=axes,
            epsilon=self.epsilon,
            n_pub=assumed_row_count(schema, self.expected_rows, rows)[0],
            adjacency=schema.adjacency,
        )

    def released_columns(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns of the release."""
        return schema.in_order(self.columns)

    def plan(self, schema: Schema, rows: int | None = None, randomness: str = "secure") -> Plan:
        """Return cost and needs, or raise PlanError with every problem."""
        check_row_count(rows)
        grid = self.grid(schema, rows)
        refuse_contradictions(schema, tuple(self.columns))
        count = rows if rows is not None else schema.rows
        memory = BYTES_PER_CELL * (grid.cells + (count or 0) * len(self.columns))
        refuse_memory(memory, "the grid and its rows", "ask for fewer rows")
        cost, facts = exact_cost(self.epsilon), event_facts(self.name, schema, randomness)
        event = Event(kind="discrete-laplace", parts=(grid.part,), **cost, **facts)
        stage = Stage.of(grid.part, "discrete laplace", cost["epsilon"], "1")
        notes = assumed_row_count(schema, self.expected_rows, rows)[1]
        return Plan.for_(self.name, schema, (stage,), (event,), memory, rows=count, notes=notes)

    def asks(self, schema: Schema, rows: int | None = None) -> tuple[DataRequest, ...]:
        """Return what will be asked of the rows, from public facts alone."""
        return (DataRequest("the grid", "rows"),)

    def run(self, table: Table, plan: Plan, randomness: Randomness, rows: int | None = None) -> Output:
        """Count the cells in one pass, add noise, draw rows."""
        schema, columns = table.schema, self._columns(table.schema)
        noisy = self.grid(schema, rows).release(stream_matrices(table, [column.name for column in columns]), randomness)
        count = sample_size(plan, noisy.total, len(columns))
        generator = randomness.generator
        sampled = sample_values(schema, lambda n: values_of_rows(columns, noisy.draw(n, generator)), count, generator)
        statistics = {
            "noisy_total": noisy.total,
            "grid_shape": list(noisy.counts.shape),
            **sampled.statistics,
        }
        rows_drawn = rows_table(schema, sampled.values)
        return Output({("synthetic",): rows_drawn}, single=True, statistics=statistics, notes=sampled.notes)

    @classmethod
    def example(cls, schema: Schema) -> Grid:
        """Return a small instance that fits a schema."""
        fits = [name for name in schema.releasable if has_axis(schema[name]) and not schema[name].missing]
        return cls(fits[:2], epsilon=1.0)
