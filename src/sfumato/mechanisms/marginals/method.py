"""Marginals: measure one- and two-way marginals, fit a tree, draw rows.

Proof note. A column's one-way table has its share of the budget, as in :mod:`sfumato.mechanisms.noisy_marginals`. For a
column in layers (:mod:`sfumato.mechanisms.hierarchical_histogram`) the share is split in three; each layer is a
histogram of all
rows, so one row moves one cell of it, and its noise is what the plan's event holds for it. Where the third layer is
cut depends on the noisy counts of the first two: adaptive composition, which both laws allow since the noise does not
depend on the cut; its cells are at most those of the plan. The number of rows, the curve, the counts of the schema's
bins and the shape within them are computed from these noisy counts.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.argument_errors import checked_parameters
from sfumato.arrays import Counts, FloatArray
from sfumato.constraints.contradictions import refuse_contradictions
from sfumato.constraints.draw_rows import BATCH_ROWS, DrawnRows, repair_statistics, rule_notes, sample_table
from sfumato.core.method import Makes, Output
from sfumato.core.parameters import check_parameters
from sfumato.core.plan import LARGEST_SAMPLE, Plan, check_row_count, refuse_memory
from sfumato.errors import PlanError
from sfumato.mechanisms.hierarchical_histogram import (
    LAYER_WORDS,
    MOST_EQUAL,
    SHARES,
    CellEstimate,
    HierarchicalHistogram,
    finest_cells,
    layer_cells,
    measure_columns,
    parts_of,
    pooled_total,
    uses_layers,
)
from sfumato.mechanisms.noisy_marginals import MarginalShare, Noise, NoisyMarginals, PlannedNoise
from sfumato.mechanisms.tree_model import TreeModel, fit_tree, tree_marginals
from sfumato.privacy.exact import Number
from sfumato.privacy.randomness import Randomness
from sfumato.sampling.fine_cells import values_in_fine_cells
from sfumato.sampling.smooth_density import density_of_column, shares_within
from sfumato.sampling.values import Masked, Values, draw_conditional, draw_values
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.table.scan_plan import DataRequest

if TYPE_CHECKING:
    from sfumato.table import Table

MOST_BINS = 200
"""Columns with more public bins get no curve: it costs the third power of its cells, and so many are fine enough."""


def in_layers(column: Column) -> bool:
    """Say whether a column is measured in layers, from public facts: their cells must lie within its public bins."""
    return uses_layers(column) and column.present_size <= MOST_EQUAL


def has_curve(column: Column) -> bool:
    """Say whether a curve is drawn through the counts of a column, layers or not."""
    return uses_layers(column) and column.present_size <= MOST_BINS


@dataclass(frozen=True)
class HierarchicalMarginals(NoisyMarginals):
    """One-way tables, of numbers and dates in layers, and then pairs: all of them share one budget."""

    def counted(self, schema: Schema) -> tuple[MarginalShare, ...]:
        """Return every table that gets noise: three for a column in layers, which split its share."""
        whole = zip(self.sets, super().counted(schema), strict=True)
        return tuple(table for names, once in whole for table in _layers(schema, names, once))


def _layers(schema: Schema, names: tuple[str, ...], once: MarginalShare) -> tuple[MarginalShare, ...]:
    column = schema[names[0]]
    if len(names) > 1 or not in_layers(column):
        return (once,)
    layers = zip(LAYER_WORDS, layer_cells(column), SHARES, strict=True)
    return tuple(MarginalShare(f"{once.stage}: {words}", cells, once.share * share) for words, cells, share in layers)


@dataclass(frozen=True)
class WithinBinDensity:
    """How the rows of a column lie within its public bins: cells of a curve, and each cell's share of its bin."""

    column: Column
    shares: FloatArray
    """A row for each bin, a column for each cell."""

    def draw(self, codes: NDArray[np.int64], generator: np.random.Generator) -> Masked:
        """Return one value for each code of a bin, and which of them are missing."""
        missing = codes == len(self.shares)
        cells = draw_conditional(self.shares, np.where(missing, 0, codes), generator)
        return values_in_fine_cells(
            self.column, np.where(missing, self.column.present_size, cells), generator.random(len(codes))
        )


@dataclass(frozen=True)
class ColumnEstimates:
    """What the one-way tables say: the number of rows, counts of the public bins, and shapes within them."""

    total: float
    counts: Mapping[str, FloatArray]
    shapes: Mapping[str, WithinBinDensity]

    def draw(self, column: Column, codes: NDArray[np.int64], generator: np.random.Generator) -> Masked:
        """Return one value for each code: by the shape of a column that has one, else uniform within its bin."""
        shape = self.shapes.get(column.name)
        return draw_values(column, codes, generator) if shape is None else shape.draw(codes, generator)


def measure_one_way(table: Table, names: Sequence[str], noise: PlannedNoise) -> ColumnEstimates:
    """Count the columns, add the noise of the plan, and draw curves through those in layers."""
    schema = table.schema
    layered = {name for name in names if in_layers(schema[name])}
    columns = tuple(finest_cells(column) if column.name in layered else column for column in schema)

    def noisy(true: Counts, _: Fraction) -> tuple[FloatArray, float]:
        noisy_counts, variance = noise.add(true)
        return noisy_counts.astype(float), math.sqrt(variance)

    counted = dataclasses.replace(schema, columns=columns)
    return _estimate(schema, measure_columns(table, names, counted, layered, noisy))


def _estimate(schema: Schema, measured: Sequence[HierarchicalHistogram]) -> ColumnEstimates:
    total, estimates = pooled_total(measured, schema.rows)
    total = max(total, 0.0)
    counts, shapes = dict[str, FloatArray](), dict[str, WithinBinDensity]()
    for each, estimate in zip(measured, estimates, strict=True):
        column = schema[each.column.name]
        if not has_curve(column):
            counts[column.name] = estimate.counts
            continue
        masses = _masses(each.column, estimate, max(layer.sigma for layer in each.layers))
        counts[column.name], shapes[column.name] = _bins(column, each.column, masses, estimate, total)
    return ColumnEstimates(total, counts, shapes)


def _masses(cut: Column, estimate: CellEstimate, sigma: float) -> FloatArray:
    """Return the curve over a column's present cells; noise below one row leaves nothing to smooth."""
    present = cut.present_size
    counts = estimate.counts[:present]
    return (
        density_of_column(cut, counts, estimate.covariance[:present, :present])
        if sigma > 1
        else np.maximum(counts, 0.0)
    )


def _bins(
    column: Column, cut: Column, masses: FloatArray, estimate: CellEstimate, total: float
) -> tuple[FloatArray, WithinBinDensity]:
    """Return the counts of a column's public bins, and the shape within them, that the masses of its cells give."""
    present = cut.present_size
    bins = parts_of(cut, column)[:present]
    missing = np.maximum(estimate.counts[present:], 0.0)
    counts: FloatArray = np.append(np.bincount(bins, masses, column.present_size), missing)
    shares = np.zeros((column.present_size, present))
    shares[bins, np.arange(present)] = shares_within(masses, cut, bins)
    return counts * (total / max(float(counts.sum()), 1e-300)), WithinBinDensity(cut, shares)


Pair = tuple[str, str]

BYTES_PER_VALUE, BYTES_PER_DRAWN = 16, 48
"""Memory of one synthetic value in the released table, and while its batch is drawn: code, value, mask, copies."""


@checked_parameters
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
        check_parameters(self)
        NoisyMarginals(self.name, (("",),), self.epsilon, self.delta, self.noise)
        if isinstance(self.pairs, str) and self.pairs not in ("all", "none"):
            raise PlanError(f"pairs {self.pairs!r} is unknown", next_step="use 'all', 'none' or a list of pairs")

    def chosen_columns(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns to synthesise."""
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

    def measurement(self, schema: Schema) -> NoisyMarginals:
        """Return what will be measured: one-way tables, then pairs, with their shares of the budget."""
        columns, pairs = self.chosen_columns(schema), self.chosen_pairs(schema)
        if not columns:
            raise PlanError(f"table {schema.name!r} has no column to synthesise", next_step="give columns=[...]")
        flat = tree_marginals(self.name, columns, (self.epsilon, self.delta), self.noise, pairs)
        return HierarchicalMarginals(self.name, flat.sets, self.epsilon, self.delta, self.noise, flat.shares)

    def plan(self, schema: Schema, rows: int | None = None, randomness: str = "secure") -> Plan:
        """Return cost and needs, or raise PlanError with every problem."""
        check_row_count(rows)
        plan = self.measurement(schema).plan(schema, randomness)
        refuse_contradictions(schema, self.chosen_columns(schema))
        count = rows if rows is not None else schema.rows
        values, drawn = count or 0, min(count or 0, BATCH_ROWS)
        per_row = len(self.chosen_columns(schema))
        memory = plan.memory_bytes + (values * BYTES_PER_VALUE + drawn * BYTES_PER_DRAWN) * per_row
        refuse_memory(memory, f"{count or 0:,} synthetic rows", "ask for fewer rows")
        return plan.model_copy(update={"rows": count, "memory_bytes": memory})

    def asks(self, schema: Schema, rows: int | None = None) -> tuple[DataRequest, ...]:
        """Return what will be asked of the rows, from public facts alone."""
        pairs = self.chosen_pairs(schema)
        names = self.chosen_columns(schema)
        one_way = DataRequest("one-way tables", sets=tuple((name,) for name in names), public_sizes=False)
        return (one_way, DataRequest("pairs", sets=pairs)) if pairs else (one_way,)

    def run(self, table: Table, plan: Plan, randomness: Randomness, rows: int | None = None) -> Output:
        """Measure single columns and pairs, fit the tree, draw rows."""
        schema, generator = table.schema, randomness.generator
        noise = PlannedNoise(plan, randomness)
        singles = measure_one_way(table, self.chosen_columns(schema), noise)
        model = fit_tree(singles.counts, *self._noisy_pairs(table, noise), singles.total)
        count = plan.rows if plan.rows is not None else min(round(singles.total), LARGEST_SAMPLE)

        def draw(rows: int) -> Values:
            codes = model.draw(rows, generator)
            return {name: singles.draw(schema[name], column_codes, generator) for name, column_codes in codes.items()}

        rows_drawn, sampled = sample_table(schema, draw, count, generator)
        return Output(
            {("synthetic",): rows_drawn}, True, _statistics(model, sampled, singles.total), rule_notes(sampled)
        )

    def _noisy_pairs(self, table: Table, noise: PlannedNoise) -> tuple[dict[Pair, Counts], dict[Pair, float]]:
        """Return the noisy tables of the pairs, and the variance of the noise on each."""
        pairs = self.chosen_pairs(table.schema)
        counts = table.marginals(pairs) if pairs else {}
        noisy = {pair: noise.add(counts[pair]) for pair in pairs}
        return {pair: noisy_counts for pair, (noisy_counts, _) in noisy.items()}, {
            pair: var for pair, (_, var) in noisy.items()
        }

    @classmethod
    def example(cls, schema: Schema) -> Marginals:
        """Return a small instance that fits a schema."""
        return cls(epsilon=2.0)


def _statistics(model: TreeModel, sampled: Sequence[DrawnRows], total: float) -> dict[str, Any]:
    return {
        "noisy_total": total,
        "tree": [[edge.parent, edge.child] for edge in model.edges],
        **repair_statistics(sampled),
    }
