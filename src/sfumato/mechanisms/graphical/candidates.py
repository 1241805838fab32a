"""Candidate marginals with true counts, weights and sensitivity: what the exponential mechanism selects from."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import TableError
from sfumato.mechanisms.graphical.budget import Budget
from sfumato.mechanisms.graphical.coarsened_marginals import (
    CoarsenedMarginal,
    Resolutions,
    candidate_marginals,
    candidate_weight,
    in_batches,
)
from sfumato.mechanisms.graphical.domain_compression import Grouping, Groups, identity_grouping, sum_to_groups
from sfumato.mechanisms.graphical.junction_tree.graphical_model import GraphicalModel
from sfumato.mechanisms.graphical.junction_tree.junction_tree import Clique
from sfumato.mechanisms.graphical.junction_tree.linear_measurement import LinearMeasurement, StructuralZeros
from sfumato.mechanisms.graphical.junction_tree.mirror_descent import estimate
from sfumato.mechanisms.graphical.one_way_marginals import OneWayMarginals
from sfumato.mechanisms.graphical.plan import PASS_CELLS, GraphicalPlan
from sfumato.mechanisms.graphical.sharpening import (
    MOST_FINE_CELLS,
    CuttableGroups,
    cut_grouping,
    cut_measurements,
    cut_model,
    cut_places,
)
from sfumato.mechanisms.graphical.structural_zeros import structural_zeros
from sfumato.privacy.accounting.sensitivity import histogram_l1
from sfumato.privacy.randomness import Randomness
from sfumato.sampling.fine_cells import refined_column
from sfumato.schema import Schema
from sfumato.table.column_expressions import encodable, select_as
from sfumato.table.counting import CHANGED, count_nonempty_cells
from sfumato.table.encode import ColumnEncoder
from sfumato.table.persons import kept_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.table import Table


NOISE_PER_CELL, LEAST_ROUNDS = 4.0, 10
"""A marginal of more than two columns is a candidate where its rows amount to this many standard deviations of noise in
each cell, if the budget were spread over this many rounds."""
ZEROS_SHARE = 0.1
"""Share of the model's memory that one rule's structural zeros may take."""
CELLS_OF_COLUMNS = (4096, 256, 128, 64)
"""Cells of a column, about, at which its groups may be cut: the most with which all pairs have room."""
OUTSIDE = -1
GroupCounts = dict[Clique, NDArray[np.int64]]


@dataclass(frozen=True)
class Candidates:
    """Marginals that may be measured. ``counts`` are true: nothing of them leaves but through noise and selections."""

    resolutions: Resolutions
    total: float
    counts: Mapping[CoarsenedMarginal, NDArray[np.int64]] = field(repr=False)
    weights: Mapping[CoarsenedMarginal, int]
    sensitivity: int
    """The most by which one person moves a marginal's counts, as an L1 distance."""
    structural_zeros: tuple[StructuralZeros, ...] = ()
    first: tuple[CoarsenedMarginal, ...] = ()
    """Marginals that are measured before any is selected: what a rule needs to be kept well."""
    cuttable: CuttableGroups | None = field(default=None, repr=False)
    """Groups that may be cut where a measured pair breaks; none where pairs are too many for it."""
    count: Callable[[Sequence[CoarsenedMarginal]], Mapping[CoarsenedMarginal, NDArray[np.int64]]] | None = field(
        default=None, repr=False
    )
    """Counts marginals when they are asked for, where all of them together would fill the memory."""

    def counted(self, marginals: Sequence[CoarsenedMarginal]) -> Mapping[CoarsenedMarginal, NDArray[np.int64]]:
        """Return the true counts of some marginals: those that are held, or counted now."""
        return self.counts if self.count is None else self.count(marginals)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Groups of each column in the model."""
        return self.resolutions.sizes

    def measure(
        self, marginal: CoarsenedMarginal, sigma: float, budget: Budget, randomness: Randomness
    ) -> LinearMeasurement:
        """Pay for one marginal and measure it with discrete Gaussian noise."""
        noisy_counts = budget.measure(self.counts[marginal], sigma, randomness)
        return LinearMeasurement(marginal.clique, noisy_counts, sigma, self.resolutions.query(marginal))

    def cut(
        self, column: int, edges: Sequence[int], measurements: Sequence[LinearMeasurement], model: GraphicalModel
    ) -> tuple[Candidates, list[LinearMeasurement], GraphicalModel]:
        """Cut groups of a column; counts of its pairs, measurements and the model follow.

        One-way measurements come first, in the order of the columns.
        """
        if self.cuttable is None or not edges:
            return self, list(measurements), model
        before, cuttable = self.cuttable.groupings[column], self.cuttable.cut(column, edges)
        after = cuttable.groupings[column]
        old_groups = before.groups[after.first].astype(np.int32)
        pairs = [clique for clique in cuttable.counts if len(clique) == 2]
        recounted = {CoarsenedMarginal(pair): cuttable.group_counts(pair) for pair in pairs if column in pair}
        candidates = dataclasses.replace(
            self,
            resolutions=self.resolutions.cut(column, old_groups, frozenset(pairs)),
            counts={**self.counts, **recounted},
            structural_zeros=tuple(cuttable.structural_zeros(cuttable.groupings)),
            cuttable=cuttable,
        )
        finer = cut_measurements(measurements, column, old_groups)
        finer[column] = cuttable.one_way(column, after)
        parts = np.bincount(after.groups, before.shares, after.size).astype(float)
        return candidates, finer, cut_model(model, column, old_groups, parts)

    def estimate(
        self, measurements: Sequence[LinearMeasurement], start: GraphicalModel | None, steps: int, tolerance: float
    ) -> GraphicalModel:
        """Return the graphical model of all measurements, by mirror descent from an earlier model."""
        return estimate(self.sizes, measurements, self.total, self.structural_zeros, start, steps, tolerance)


def compile_candidates(planned: GraphicalPlan, table: Table, one_way: OneWayMarginals, budget: Budget) -> Candidates:
    """Return the marginals that the exponential mechanism may select from, with their true counts and weights."""
    most_cells = int(ZEROS_SHARE * planned.megabytes * 1e6 / 8)
    zeros, _ = structural_zeros(table.schema, one_way.groupings, most_cells)
    resolutions = Resolutions(one_way.sizes, one_way.coarser)
    worth = one_way.total / (NOISE_PER_CELL * budget.sigma(budget.noise.left / LEAST_ROUNDS))
    wide = planned.in_blocks
    marginals = (
        [CoarsenedMarginal(clique) for clique in planned.weights]
        if wide
        else candidate_marginals(list(planned.weights), resolutions, worth)
    )
    count = partial(count_candidates, table, one_way.groupings, resolutions)
    cuttable = None
    if planned.sharpens and not wide:
        finest = [resolutions.finest(marginal.clique) for marginal in marginals]
        cliques = list(dict.fromkeys(marginal.clique for marginal in finest if marginal.groups is None))
        cuttable = _cuttable_groups(
            table, one_way, cliques, lambda groupings: structural_zeros(table.schema, groupings, most_cells)[0]
        )
    return Candidates(
        resolutions=resolutions,
        total=one_way.total,
        counts={} if wide else count(marginals, cuttable),
        count=count if wide else None,
        weights={each: candidate_weight(each, planned.weights[each.clique]) for each in marginals},
        sensitivity=histogram_l1(table.schema.adjacency, table.schema.rows_per_person),
        structural_zeros=tuple(zeros),
        first=tuple(CoarsenedMarginal(pair) for pair in planned.pairs_of_rules),
        cuttable=cuttable,
    )


def _cuttable_groups(
    table: Table,
    one_way: OneWayMarginals,
    cliques: Sequence[Clique],
    zeros: Callable[[Sequence[Grouping]], Sequence[StructuralZeros]],
) -> CuttableGroups | None:
    """Count cliques at the cells where groups may be cut, as finely as there is room for; None where there is none."""
    for most in CELLS_OF_COLUMNS:
        starts = [cut_places(grouping, most) for grouping in one_way.groupings]
        cells = [
            g if begins is None else cut_grouping(g, begins)
            for g, begins in zip(one_way.groupings, starts, strict=True)
        ]
        if sum(prod(cells[place].size for place in clique) for clique in cliques) <= MOST_FINE_CELLS:
            return CuttableGroups(
                groupings=one_way.groupings,
                starts=tuple(starts),
                noisy_counts=tuple(estimate.counts for estimate, _ in one_way.estimates),
                counts=count_cliques(table, cells, cliques),
                one_way=one_way.measurement,
                structural_zeros=zeros,
            )
    return None


def count_candidates(
    table: Table,
    groupings: Sequence[Grouping],
    resolutions: Resolutions,
    marginals: Sequence[CoarsenedMarginal],
    cuttable: CuttableGroups | None = None,
) -> dict[CoarsenedMarginal, NDArray[np.int64]]:
    """Return the true counts of every marginal: one pass for small sets and one for larger ones, each at its finest.

    What was counted before at the cells where groups may be cut is summed.
    """
    finest = dict.fromkeys(resolutions.finest(marginal.clique) for marginal in marginals)
    counted = {} if cuttable is None else {CoarsenedMarginal(c): cuttable.group_counts(c) for c in cuttable.counts}
    for level in dict.fromkeys(marginal.groups for marginal in finest if marginal not in counted):
        coarsened = (
            [_coarsened_grouping(g, resolutions.coarser[i].get(level)) for i, g in enumerate(groupings)]
            if level
            else groupings
        )
        cliques = [marginal.clique for marginal in finest if marginal.groups == level]
        level_counts = count_cliques(table, coarsened, cliques)
        counted |= {CoarsenedMarginal(clique, level): counts for clique, counts in level_counts.items()}
    return {marginal: _summed(counted, marginal, resolutions) for marginal in marginals}


def _summed(
    counted: Mapping[CoarsenedMarginal, NDArray[np.int64]], marginal: CoarsenedMarginal, resolutions: Resolutions
) -> NDArray[np.int64]:
    finest = resolutions.finest(marginal.clique)
    if marginal == finest:
        return counted[marginal]
    return resolutions.pool(finest, marginal).summed(counted[finest].astype(float)).astype(np.int64)


def _coarsened_grouping(grouping: Grouping, coarser: Groups | None) -> Grouping:
    """Return a grouping with its groups joined to coarser ones; its shapes have no part in counting."""
    if coarser is None:
        return grouping
    groups = coarser[grouping.groups]
    even = 1.0 / np.bincount(groups)[groups]
    return Grouping(grouping.column, groups, even, int(groups.max()) + 1)


def count_cliques(table: Table, groupings: Sequence[Grouping], cliques: Sequence[Clique]) -> GroupCounts:
    """Return the true counts of groups for every clique of column numbers: one pass, or as few as memory allows.

    Nothing of them may leave without noise.
    """
    derived = dataclasses.replace(table, schema=_group_schema(table.schema, groupings))
    left = [_left_to_do(grouping) for grouping in groupings]
    names = [grouping.column.name for grouping in groupings]
    group_counts: GroupCounts = {}
    for part in _passes(cliques, [grouping.column.size for grouping in left]):
        counted = derived.marginals([tuple(names[i] for i in clique) for clique in part])
        for clique, counts in zip(part, counted.values(), strict=True):
            group_counts[clique] = sum_to_groups(counts, [left[i] for i in clique])
    large = [clique for clique in dict.fromkeys(cliques) if clique not in group_counts]
    if large:
        count = _count_streamed if table.source.engine.streams else _count_occupied
        group_counts |= count(derived, left, large)
    return {clique: group_counts[clique] for clique in cliques}


def _group_schema(schema: Schema, groupings: Sequence[Grouping]) -> Schema:
    """Return the schema in which groups of ordered columns are the bins."""
    cut = {g.column.name: refined_column(g.column, _group_starts(g)) for g in groupings if g.column.is_ordered}
    return dataclasses.replace(schema, columns=tuple(cut.get(column.name, column) for column in schema))


def _group_starts(grouping: Grouping) -> NDArray[np.float64]:
    return grouping.column.starts[grouping.first[: grouping.size - int(grouping.column.missing)]]


def _left_to_do(grouping: Grouping) -> Grouping:
    """Return the grouping of what the engine counts: done already for ordered columns, all of it for levels."""
    if not grouping.column.is_ordered:
        return grouping
    return identity_grouping(refined_column(grouping.column, _group_starts(grouping)))


def _passes(cliques: Sequence[Clique], sizes: Sequence[int]) -> Iterator[list[Clique]]:
    """Return cliques whose tables fit together; those that do not fit even alone are left out."""
    needed = {clique: prod(sizes[i] for i in clique) for clique in cliques}
    return in_batches([clique for clique in needed if needed[clique] <= PASS_CELLS], needed.__getitem__, PASS_CELLS)


def _count_occupied(table: Table, groupings: Sequence[Grouping], cliques: Sequence[Clique]) -> GroupCounts:
    """Count groups where the rows are, by GROUP BY: only cells that hold a row come back."""
    counts: GroupCounts = {}
    for clique in cliques:
        names = tuple(groupings[i].column.name for i in clique)
        codes, weights = count_nonempty_cells(table.source.engine, table.schema, names)
        groups = {i: groupings[i].groups[column] for i, column in zip(clique, codes.T, strict=True)}
        counts[clique] = _tallied(groups, groupings, clique, weights)
    return counts


def _count_streamed(table: Table, groupings: Sequence[Grouping], cliques: Sequence[Clique]) -> GroupCounts:
    """Count groups batch by batch, all cliques in one pass: the grid of levels is never laid out."""
    needed = sorted({i for clique in cliques for i in clique})
    columns = {i: table.schema[groupings[i].column.name] for i in needed}
    encoders = {i: ColumnEncoder(column, OUTSIDE) for i, column in columns.items()}
    counts = {clique: np.zeros([groupings[i].size for i in clique], np.int64) for clique in cliques}
    kept = kept_rows(table.source.engine.table, table.schema)
    wanted = select_as(
        kept, {column.name: encodable(kept[column.name], column, by_encoders=True) for column in columns.values()}
    )
    for batch in table.source.engine.batches(wanted):
        coded = {i: _encoded(encoders[i], batch.column(place)) for place, i in enumerate(needed)}
        groups = {i: groupings[i].groups[codes] for i, codes in coded.items()}
        for clique in cliques:
            counts[clique] += _tallied(groups, groupings, clique)
    return counts


def _tallied(
    groups: Mapping[int, NDArray[np.int32]],
    groupings: Sequence[Grouping],
    clique: Clique,
    weights: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Return how often the groups of a clique occur together; sums of weights are exact below 2^53."""
    shape = tuple(groupings[i].size for i in clique)
    cells = np.ravel_multi_index(tuple(groups[i] for i in clique), shape)
    return np.bincount(cells, weights, prod(shape)).astype(np.int64).reshape(shape)


def _encoded(encoder: ColumnEncoder, array: pa.Array) -> NDArray[np.int64]:
    codes = np.zeros(len(array), np.int32)
    outside = encoder(array, codes)
    if outside:
        problem = f"{encoder.column.name}: {outside:,} values outside the schema"
        raise TableError(
            "the table does not fit its schema (it may have changed while it was read)", [problem], CHANGED
        )
    return codes.astype(np.int64)
