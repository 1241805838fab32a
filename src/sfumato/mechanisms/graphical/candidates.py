"""Candidate marginals with true counts, weights and sensitivity; input of selection."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import TableError
from sfumato.mechanisms.graphical.coarsened_marginals import CoarsenedMarginal, Resolutions, in_batches
from sfumato.mechanisms.graphical.domain_compression import Grouping, Groups, identity_grouping, sum_to_groups
from sfumato.mechanisms.graphical.junction_tree.junction_tree import Clique
from sfumato.sampling.fine_cells import refined_column
from sfumato.schema import Schema
from sfumato.table.column_expressions import encodable
from sfumato.table.counting import CHANGED, count_nonempty_cells
from sfumato.table.encode import ColumnEncoder
from sfumato.table.persons import kept_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.table import Table


PASS_CELLS = 4_000_000
"""Cells that are counted in one pass: 32 MB for each worker."""
OUTSIDE = -1
GroupCounts = dict[Clique, NDArray[np.int64]]


def count_candidates(
    table: Table, groupings: Sequence[Grouping], resolutions: Resolutions, looks: Sequence[CoarsenedMarginal]
) -> dict[CoarsenedMarginal, NDArray[np.int64]]:
    """Return the true counts of every look: one pass for small sets and one for larger ones, each at its finest."""
    counted: dict[CoarsenedMarginal, NDArray[np.int64]] = {}
    finest = dict.fromkeys(resolutions.finest(look.clique) for look in looks)
    for level in dict.fromkeys(look.groups for look in finest):
        seen = (
            [_coarsened_grouping(g, resolutions.coarser[i].get(level)) for i, g in enumerate(groupings)]
            if level
            else groupings
        )
        cliques = [look.clique for look in finest if look.groups == level]
        counted |= {CoarsenedMarginal(c, level): counts for c, counts in count_cliques(table, seen, cliques).items()}
    return {look: _summed(counted, look, resolutions) for look in looks}


def _summed(
    counted: Mapping[CoarsenedMarginal, NDArray[np.int64]], look: CoarsenedMarginal, resolutions: Resolutions
) -> NDArray[np.int64]:
    finest = resolutions.finest(look.clique)
    if look == finest:
        return counted[look]
    return resolutions.pool(finest, look).summed(counted[finest].astype(float)).astype(np.int64)


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
    found: GroupCounts = {}
    for part in _passes(cliques, [grouping.column.size for grouping in left]):
        counted = derived.marginals([tuple(names[i] for i in clique) for clique in part])
        for clique, counts in zip(part, counted.values(), strict=True):
            found[clique] = sum_to_groups(counts, [left[i] for i in clique])
    large = [clique for clique in dict.fromkeys(cliques) if clique not in found]
    if large:
        count = _count_streamed if table.source.engine.streams else _count_occupied
        found |= count(derived, left, large)
    return {clique: found[clique] for clique in cliques}


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
    wanted = kept.select(
        **{column.name: encodable(kept[column.name], column, by_encoders=True) for column in columns.values()}
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
