"""Groups of cells from noisy counts: the coarse domain that a graphical model works on.

Cells that hold little more than noise teach a model nothing and cost noise in every table that has them. Neighbours are
merged where a column has an order, rare levels are pooled where it has none; a missing value stays a level of its own,
for it is not a value. Groups are functions of noisy counts that were paid for, so they are free post-processing; they
never depend on true counts. Those are taken afterwards, of groups that are fixed by then (:func:`group_counts`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PlanError, TableError
from sfumato.methods.graphical.cells.fine import cut_column
from sfumato.methods.graphical.cells.merging import merge_neighbours, pool_rare
from sfumato.methods.graphical.cells.shapes import level_shares, ordered_shares
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.table.counting import CHANGED, count_occupied
from sfumato.table.encode import ColumnEncoder
from sfumato.table.values import countable, kept_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.table import Table

THRESHOLD = 1.5
"""Groups below this many standard deviations of their noise are merged (measured: 3 is too coarse at small epsilon)."""
PASS_CELLS = 4_000_000
"""Cells that are counted in one pass: 32 MB for each worker."""
OUTSIDE = -1
Clique = tuple[int, ...]
GroupCounts = dict[Clique, NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class Grouping:
    """One column's fine codes, merged: ``groups`` says which group a code is in, ``shares`` which part of it."""

    column: Column
    groups: NDArray[np.int32]
    shares: NDArray[np.float64]
    size: int

    def __post_init__(self) -> None:
        problems = _problems(self)
        if problems:
            raise PlanError(f"the groups of column {self.column.name!r} do not fit it", problems)

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """Fine codes, sorted by group."""
        return np.argsort(self.groups, kind="stable")

    @cached_property
    def first(self) -> NDArray[np.intp]:
        """Where each group begins in ``order``."""
        return np.searchsorted(self.groups[self.order], np.arange(self.size))

    @property
    def has_order(self) -> bool:
        """Whether groups are runs of neighbouring cells."""
        return has_order(self.column)


def _problems(grouping: Grouping) -> list[str]:
    """Return what is wrong: groups without a code, shares that do not sum to 1, values merged with missing."""
    size, codes = grouping.size, grouping.column.size
    if grouping.groups.shape != (codes,) or grouping.shares.shape != (codes,):
        return [f"{codes} codes, but {len(grouping.groups)} groups and {len(grouping.shares)} shares are listed"]
    if not np.array_equal(np.unique(grouping.groups), np.arange(size)):
        return [f"groups must be numbered 0 to {size - 1}, each with a code"]
    problems: list[str] = []
    sums = np.bincount(grouping.groups, grouping.shares, size)
    if not (np.all(grouping.shares >= 0) and np.allclose(sums, 1)):
        problems.append("the shares of each group must be at least 0 and sum to 1")
    if grouping.column.missing and np.count_nonzero(grouping.groups == grouping.groups[-1]) > 1:
        problems.append("missing values are merged with values")
    if has_order(grouping.column) and np.any(np.diff(grouping.groups) < 0):
        problems.append("groups of an ordered column must be runs of neighbouring cells")
    return problems


def has_order(column: Column) -> bool:
    """Whether only neighbouring cells may be merged: numbers, dates and ordinals."""
    return column.is_ordered or column.kind == "ordinal"


def group_column(
    column: Column,
    noisy: NDArray[Any],
    sigma: float,
    total: float,
    threshold: float = THRESHOLD,
    most_groups: int | None = None,
) -> Grouping:
    """Merge the cells of a column by its noisy one-way counts, and shape the inside of each group by them.

    Without ``most_groups`` only groups below ``threshold`` standard deviations of their noise are merged. With it the
    bins of a column of numbers or dates become at most that many groups, of about equal noisy mass (adaptive bins);
    listed levels are what readers ask for by name, so it does not touch them. ``total`` is the noisy number of rows.
    The missing level is never merged and not counted in ``most_groups``.
    """
    _refuse(column, noisy, sigma, threshold, most_groups)
    present = noisy[: column.present_size].astype(np.float64)
    if has_order(column):
        most = most_groups if column.is_ordered else None
        groups = merge_neighbours(present, sigma, total, threshold, most)
    else:
        groups = pool_rare(present, sigma, threshold)
    shares = _shares(column, present, groups, sigma)
    if column.missing:
        groups, shares = np.append(groups, groups.max() + 1), np.append(shares, 1.0)
    return Grouping(column, groups.astype(np.int32), shares, int(groups.max()) + 1)


def ungrouped(column: Column) -> Grouping:
    """Return every code as a group of its own."""
    return Grouping(column, np.arange(column.size, dtype=np.int32), np.ones(column.size), column.size)


def coarse(counts: NDArray[Any], groupings: Sequence[Grouping]) -> NDArray[Any]:
    """Return counts over groups from counts over fine codes; one grouping per axis."""
    for axis, grouping in enumerate(groupings):
        counts = np.add.reduceat(counts.take(grouping.order, axis=axis), grouping.first, axis=axis)
    return counts


def _refuse(column: Column, noisy: NDArray[Any], sigma: float, threshold: float, most: int | None) -> None:
    checks = [
        (noisy.shape == (column.size,), f"{column.size} codes need as many counts, not {noisy.shape}"),
        (np.isfinite(sigma) and sigma >= 0, f"sigma is {sigma}: it must be a number of at least 0"),
        (np.isfinite(threshold) and threshold >= 0, f"threshold is {threshold}: it must be a number of at least 0"),
        (most is None or most >= 1, f"most_groups is {most}: it must be at least 1"),
    ]
    problems = [problem for holds, problem in checks if not holds]
    if problems:
        raise PlanError(f"column {column.name!r} cannot be grouped", problems, "correct these settings")


def _shares(
    column: Column,
    present: NDArray[np.float64],
    groups: NDArray[np.int64],
    sigma: float,
) -> NDArray[np.float64]:
    shares = np.ones(len(present))
    widths = column.ends - column.starts + int(column.is_discrete) if column.is_ordered else np.ones(len(present))
    for group in np.flatnonzero(np.bincount(groups) > 1):
        here = np.flatnonzero(groups == group)
        if has_order(column):
            shares[here] = ordered_shares(present[here], widths[here], sigma)
        else:
            shares[here] = level_shares(present[here], sigma)
    return shares


def group_counts(table: Table, groupings: Sequence[Grouping], cliques: Sequence[Clique]) -> GroupCounts:
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
            found[clique] = coarse(counts, [left[i] for i in clique])
    large = [clique for clique in dict.fromkeys(cliques) if clique not in found]
    if large:
        count = _count_streamed if table.source.engine.streams else _count_occupied
        found |= count(derived, left, large)
    return {clique: found[clique] for clique in cliques}


def _group_schema(schema: Schema, groupings: Sequence[Grouping]) -> Schema:
    """Return the schema in which groups of ordered columns are the bins."""
    cut = {g.column.name: cut_column(g.column, _group_starts(g)) for g in groupings if g.column.is_ordered}
    return dataclasses.replace(schema, columns=tuple(cut.get(column.name, column) for column in schema))


def _group_starts(grouping: Grouping) -> NDArray[np.float64]:
    return grouping.column.starts[grouping.first[: grouping.size - int(grouping.column.missing)]]


def _left_to_do(grouping: Grouping) -> Grouping:
    """Return the grouping of what the engine counts: done already for ordered columns, all of it for levels."""
    if not grouping.column.is_ordered:
        return grouping
    return ungrouped(cut_column(grouping.column, _group_starts(grouping)))


def _passes(cliques: Sequence[Clique], sizes: Sequence[int]) -> Iterator[list[Clique]]:
    """Yield cliques whose tables fit together; those that do not fit even alone are left out."""
    part: list[Clique] = []
    cells = 0
    for clique in dict.fromkeys(cliques):
        needed = int(np.prod([float(sizes[i]) for i in clique]))
        if needed > PASS_CELLS:
            continue
        if cells + needed > PASS_CELLS:
            yield part
            part, cells = [], 0
        part.append(clique)
        cells += needed
    if part:
        yield part


def _count_occupied(table: Table, groupings: Sequence[Grouping], cliques: Sequence[Clique]) -> GroupCounts:
    """Count groups where the rows are, by GROUP BY: only cells that hold a row come back."""
    counts: GroupCounts = {}
    for clique in cliques:
        names = tuple(groupings[i].column.name for i in clique)
        codes, weights = count_occupied(table.source.engine, table.schema, names)
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
    wanted = kept.select(**{column.name: countable(kept[column.name], column) for column in columns.values()})
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
    return np.bincount(cells, weights, int(np.prod(shape))).astype(np.int64).reshape(shape)


def _encoded(encoder: ColumnEncoder, array: pa.Array) -> NDArray[np.int64]:
    codes = np.zeros(len(array), np.int32)
    outside = encoder(array, codes)
    if outside:
        problem = f"{encoder.column.name}: {outside:,} values outside the schema"
        raise TableError(
            "the table does not fit its schema (it may have changed while it was read)", [problem], CHANGED
        )
    return codes.astype(np.int64)
