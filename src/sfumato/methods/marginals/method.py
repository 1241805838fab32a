"""The simple baseline synthesizer: noisy one- and two-way marginals, a tree fitted to them, rows drawn from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.arrays import Counts
from sfumato.calling import named_parameters
from sfumato.errors import PlanError
from sfumato.methods.marginals.columns import LayeredMeasurement, measure_columns
from sfumato.privacy.exact import Number
from sfumato.privacy.randomness import Randomness
from sfumato.release.measurement import Measurement, Noise, PlannedNoise
from sfumato.release.method import Makes, Output
from sfumato.release.parameters import sound_parameters
from sfumato.release.plan import LARGEST_SAMPLE, Plan, refuse_memory, sound_rows
from sfumato.rows.draw import BATCH_ROWS, Sampled, rule_notes, rule_statistics, sample_table
from sfumato.rows.rules.refuse import refuse_impossible_rules
from sfumato.rows.tree import TreeModel, fit_tree, tables_of_tree
from sfumato.rows.values import Values
from sfumato.schema import Schema
from sfumato.table.passes import Ask

if TYPE_CHECKING:
    from sfumato.table import Table

Pair = tuple[str, str]
BYTES_PER_VALUE, BYTES_PER_DRAWN = 16, 48
"""Memory of one synthetic value in the released table, and while its batch is drawn: code, value, mask, copies."""


@named_parameters
@dataclass(frozen=True)
class Marginals:
    """A synthetic table from noisy marginals. The proof is that of the measurement; sampling is post-processing.

    ``columns`` are the columns to synthesise (all but identifiers unless stated); ``pairs`` the two-way tables to
    measure: "all", "none", or a list of pairs. With ``rows=None`` the number of rows is the noisy total (the public
    row count under replace). Rules between columns are kept in every row. Noise is Laplace and ``delta`` 0, or Gaussian
    where a ``delta`` is given (or ``noise="gaussian"``: 1e-9 unless it is).
    """

    epsilon: Number
    columns: Sequence[str] | None = None
    pairs: str | Sequence[Sequence[str]] = "all"
    delta: Number | None = None
    noise: Noise | None = None

    name: ClassVar[str] = "marginals"
    summary: ClassVar[str] = "a synthetic table drawn from noisy one- and two-way marginals (simple baseline)"
    about: ClassVar[str] = (
        "They were drawn from noisy counts, not copied from the table; one may equal a true row by chance."
    )
    formal: ClassVar[bool | None] = True
    makes: ClassVar[Makes] = "rows"

    def __post_init__(self) -> None:
        sound_parameters(self)
        Measurement(self.name, (("",),), self.epsilon, self.delta, self.noise)
        if isinstance(self.pairs, str) and self.pairs not in ("all", "none"):
            raise PlanError(f"pairs {self.pairs!r} is unknown", next_step="use 'all', 'none' or a list of pairs")

    def chosen_columns(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns to synthesise."""
        if isinstance(self.columns, str):
            return (self.columns,)
        return schema.releasable if self.columns is None else tuple(self.columns)

    def chosen_pairs(self, schema: Schema) -> tuple[tuple[str, str], ...]:
        """Return the pairs to measure."""
        if self.pairs == "all":
            return tuple(combinations(self.chosen_columns(schema), 2))
        if self.pairs == "none":
            return ()
        listed = [tuple(pair) for pair in self.pairs]
        wrong = [pair for pair in listed if len(pair) != 2 or not set(pair) <= set(self.chosen_columns(schema))]
        if wrong:
            raise PlanError(
                "pairs must name two of the synthesised columns each",
                [f"found {', '.join(map(str, pair))}" for pair in wrong],
                f"the columns are: {', '.join(self.chosen_columns(schema))}",
            )
        return tuple((pair[0], pair[1]) for pair in listed)

    def measurement(self, schema: Schema) -> Measurement:
        """Return what will be measured: one-way tables, then pairs, with their shares of the budget."""
        columns, pairs = self.chosen_columns(schema), self.chosen_pairs(schema)
        if not columns:
            raise PlanError(f"table {schema.name!r} has no column to synthesise", next_step="give columns=[...]")
        flat = tables_of_tree(self.name, columns, (self.epsilon, self.delta), self.noise, pairs)
        return LayeredMeasurement(self.name, flat.sets, self.epsilon, self.delta, self.noise, flat.shares)

    def plan(self, schema: Schema, rows: int | None = None, randomness: str = "secure") -> Plan:
        """Return cost and needs, or raise PlanError with every problem."""
        sound_rows(rows)
        plan = self.measurement(schema).plan(schema, randomness)
        refuse_impossible_rules(schema, self.chosen_columns(schema))
        count = rows if rows is not None else schema.rows
        values, drawn = count or 0, min(count or 0, BATCH_ROWS)
        per_row = len(self.chosen_columns(schema))
        memory = plan.memory_bytes + (values * BYTES_PER_VALUE + drawn * BYTES_PER_DRAWN) * per_row
        refuse_memory(memory, f"{count or 0:,} synthetic rows", "ask for fewer rows")
        return plan.model_copy(update={"rows": count, "memory_bytes": memory})

    def asks(self, schema: Schema, rows: int | None = None) -> tuple[Ask, ...]:
        """Return what will be asked of the rows, from public facts alone."""
        pairs = self.chosen_pairs(schema)
        names = self.chosen_columns(schema)
        one_way = Ask("one-way tables", sets=tuple((name,) for name in names), public_sizes=False)
        return (one_way, Ask("pairs", sets=pairs)) if pairs else (one_way,)

    def run(self, table: Table, plan: Plan, randomness: Randomness, rows: int | None = None) -> Output:
        """Measure single columns and pairs, fit the tree, draw rows."""
        schema, generator = table.schema, randomness.generator
        noise = PlannedNoise(plan, randomness)
        singles = measure_columns(table, self.chosen_columns(schema), noise)
        model = fit_tree(singles.counts, *self._noisy_pairs(table, noise), singles.total)
        count = plan.rows if plan.rows is not None else min(round(singles.total), LARGEST_SAMPLE)

        def draw(rows: int) -> Values:
            codes = model.draw(rows, generator)
            return {name: singles.draw(schema[name], found, generator) for name, found in codes.items()}

        rows_drawn, sampled = sample_table(schema, draw, count, generator)
        return Output(
            {("synthetic",): rows_drawn}, True, _statistics(model, sampled, singles.total), rule_notes(sampled)
        )

    def _noisy_pairs(self, table: Table, noise: PlannedNoise) -> tuple[dict[Pair, Counts], dict[Pair, float]]:
        """Return the noisy tables of the pairs, and the variance of the noise on each."""
        pairs = self.chosen_pairs(table.schema)
        counts = table.marginals(pairs) if pairs else {}
        noisy = {pair: noise.add(counts[pair]) for pair in pairs}
        return {pair: found for pair, (found, _) in noisy.items()}, {pair: var for pair, (_, var) in noisy.items()}

    @classmethod
    def example(cls, schema: Schema) -> Marginals:
        """Return a small instance that fits a schema."""
        return cls(epsilon=2.0)


def _statistics(model: TreeModel, sampled: Sequence[Sampled], total: float) -> dict[str, Any]:
    return {
        "noisy_total": total,
        "tree": [[edge.parent, edge.child] for edge in model.edges],
        **rule_statistics(sampled),
    }
