"""Noisy marginals arranged as targets of a mixture fit.

A table may count a column on unions of its levels. The shares of such a union are sums of the shares of its levels, so
each view is treated as one more column, whose levels follow those of the true columns: a table at any resolution is
then a table of places, each of them a column or a view, and everything that compares tables is the same for both.

One- and two-way tables are blocks of one vector and one symmetric matrix, so that all of them are compared with the
model in one matrix product. Wider tables and those at coarser groups are kept one by one. Where a cell was measured
more than once, its numbers are joined by their inverse variance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.graphical.junction_tree.junction_tree import Clique
from sfumato.mechanisms.graphical.junction_tree.linear_measurement import (
    LinearMeasurement,
    StructuralZeros,
    query_key,
    refuse_misfits,
)


@dataclass(frozen=True)
class LevelLayout:
    """Where the levels of each column lie in the row of all levels."""

    sizes: tuple[int, ...]

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """First level of each column, and the number of all levels."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    @property
    def levels(self) -> int:
        """Number of levels of all columns together."""
        return int(self.offsets[-1])

    @cached_property
    def owners(self) -> NDArray[np.int64]:
        """The column of each level."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def members(self) -> NDArray[np.float32]:
        """Columns x levels, 1 where the level belongs to the column: sums within columns are a product with it."""
        return (np.arange(len(self.sizes))[:, None] == self.owners).astype(np.float32)

    def block(self, column: int) -> slice:
        """Return where a column's levels lie."""
        return slice(int(self.offsets[column]), int(self.offsets[column + 1]))

    def shape(self, clique: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of a clique's table."""
        return tuple(self.sizes[column] for column in clique)


@dataclass(frozen=True, eq=False)
class CoarseColumns:
    """The coarse groupings of columns that some tables use."""

    columns: LevelLayout
    found: dict[tuple[int, bytes], tuple[int, NDArray[np.int32]]] = field(repr=False)
    """By column and map: the place of the view among columns and views, and the map itself."""

    @staticmethod
    def of(columns: LevelLayout, tables: Iterable[LinearMeasurement]) -> CoarseColumns:
        """Number the views of all tables after the columns, in the order in which they are met."""
        views = CoarseColumns(columns, {})
        for table in tables:
            for column, key, groups in _coarse_axes(table):
                views.found.setdefault((column, key), (len(columns.sizes) + len(views.found), groups))
        return views

    def places(self, table: LinearMeasurement) -> Clique:
        """Return where each axis of a table lies: a column, or one of its views."""
        coarse = {column: self.found[column, key][0] for column, key, _ in _coarse_axes(table)}
        return tuple(coarse.get(column, column) for column in table.clique)

    def are_columns(self, places: Clique) -> bool:
        """Return whether a table of these places sees every column at its own levels."""
        return all(place < len(self.columns.sizes) for place in places)

    @cached_property
    def seen(self) -> LevelLayout:
        """The levels of the columns, then those of the views."""
        return LevelLayout(self.columns.sizes + tuple(int(groups.max()) + 1 for _, groups in self.found.values()))

    @cached_property
    def sums(self) -> NDArray[np.float32]:
        """Levels of views x levels of columns, 1 where a level is part of the other."""
        sums = np.zeros((self.seen.levels, self.columns.levels), np.float32)
        for (column, _), (place, groups) in self.found.items():
            low = int(self.seen.offsets[place])
            sums[low + groups, self.columns.offsets[column] + np.arange(len(groups))] = 1.0
        return sums[self.columns.levels :]


def _coarse_axes(table: LinearMeasurement) -> list[tuple[int, bytes, NDArray[np.int32]]]:
    keys, maps = query_key(table.query) or (), table.query or ()
    axes = zip(table.clique, keys, maps, strict=False)
    return [(column, key, groups) for column, key, groups in axes if key is not None and groups is not None]


def append_coarse(xp: Any, levels: Any, sums: Any) -> Any:
    """Return numbers by levels, with their sums over the levels of each view below them; unchanged without views."""
    return xp.concatenate([levels, sums @ levels]) if len(sums) else levels


def with_zeros(xp: Any, numbers: Any, sums: Any) -> Any:
    """Return numbers by levels, with zeros below them for the levels of views."""
    return xp.concatenate([numbers, xp.zeros((len(sums), *numbers.shape[1:]), numbers.dtype)]) if len(sums) else numbers


def fold_coarse(numbers: Any, sums: Any) -> Any:
    """Return derivatives by levels from those by levels and views: the transpose of :func:`append_coarse`."""
    return numbers[: sums.shape[1]] + sums.T @ numbers[sums.shape[1] :] if len(sums) else numbers


Array = NDArray[Any]

SHARPER = 10.0
"""A structural zero counts as a cell measured as 0 with noise this many times smaller than the best table's."""


@dataclass(frozen=True)
class TargetBlock:
    """Target shares of a clique's cells and the weight of each: (total / sigma) squared, 0 where nothing is known."""

    target: Array = field(repr=False)
    weight: Array = field(repr=False)


@dataclass(frozen=True)
class Targets:
    """All that the fit compares with: a vector, a symmetric matrix, and all tables that are wider or coarser."""

    views: CoarseColumns
    single: TargetBlock
    pairs: TargetBlock
    wide: dict[Clique, TargetBlock]
    """By places: columns, or coarser views of them."""
    cells: int
    """Number of measured cells."""

    @property
    def layout(self) -> LevelLayout:
        """Where the levels of the columns lie."""
        return self.views.columns

    @cached_property
    def reference(self) -> NDArray[np.float64]:
        """One-way shares of every column, read from the tables: what each component is drawn towards."""
        return np.concatenate([_reference(self, column) for column in range(len(self.layout.sizes))])

    @cached_property
    def seen_reference(self) -> NDArray[np.float64]:
        """The same shares, and those of the views after them."""
        return append_coarse(np, self.reference, self.views.sums)


def targets_of(
    sizes: Sequence[int], tables: Sequence[LinearMeasurement], supports: Sequence[StructuralZeros], total: float
) -> Targets:
    """Join noisy tables and structural zeros into the targets of a fit; PlanError where they do not fit the sizes."""
    layout = LevelLayout(tuple(int(size) for size in sizes))
    refuse_misfits(layout.sizes, total, tables, supports)
    views = CoarseColumns.of(layout, tables)
    best = min((table.stddev for table in tables), default=1.0)
    blocks: dict[Clique, TargetBlock] = {}
    for table in tables:
        weight = np.full(table.noisy_counts.shape, (total / table.stddev) ** 2)
        _join(blocks, views.places(table), table.noisy_counts / total, weight)
    for support in supports:
        zero = np.zeros(support.allowed.shape)
        _join(blocks, support.clique, zero, np.where(support.allowed, 0.0, (SHARPER * total / best) ** 2))
    wide = {
        places: block
        for places, block in blocks.items()
        if len(places) > 2 or (len(places) == 2 and not views.are_columns(places))
    }
    pairs = {places: block for places, block in blocks.items() if places not in wide}
    cells = sum(table.noisy_counts.size for table in tables)
    return Targets(views, _single(views.seen, blocks), _pairs(layout, pairs), wide, cells)


def split_noise(
    tables: Sequence[LinearMeasurement], ratio: float, generator: np.random.Generator
) -> tuple[list[LinearMeasurement], list[LinearMeasurement]]:
    """Split each table into two with independent noise: y + r z to fit to, y - z / r to judge by.

    With z of the law of the noise, the two errors e + r z and e - z / r are uncorrelated, hence independent.
    """
    first: list[LinearMeasurement] = []
    second: list[LinearMeasurement] = []
    for table in tables:
        extra = generator.normal(0.0, table.stddev, table.noisy_counts.shape)
        first.append(
            replace(table, noisy_counts=table.noisy_counts + ratio * extra, stddev=table.stddev * np.hypot(1.0, ratio))
        )
        second.append(
            replace(
                table, noisy_counts=table.noisy_counts - extra / ratio, stddev=table.stddev * np.hypot(1, 1 / ratio)
            )
        )
    return first, second


def _join(blocks: dict[Clique, TargetBlock], clique: Clique, target: Array, weight: Array) -> None:
    """Add a table to what is known of its clique, weighted by its precision."""
    if clique not in blocks:
        blocks[clique] = TargetBlock(target, weight)
        return
    known = blocks[clique]
    both = known.weight + weight
    mean = (known.target * known.weight + target * weight) / np.where(both > 0, both, 1.0)
    blocks[clique] = TargetBlock(mean, both)


def _single(layout: LevelLayout, blocks: dict[Clique, TargetBlock]) -> TargetBlock:
    target, weight = np.zeros(layout.levels), np.zeros(layout.levels)
    for clique, block in blocks.items():
        if len(clique) == 1:
            target[layout.block(clique[0])] = block.target
            weight[layout.block(clique[0])] = block.weight
    return TargetBlock(target, weight)


def _pairs(layout: LevelLayout, blocks: dict[Clique, TargetBlock]) -> TargetBlock:
    target, weight = np.zeros((2, layout.levels, layout.levels), np.float32)
    for clique, block in blocks.items():
        if len(clique) == 2:
            rows, columns = layout.block(clique[0]), layout.block(clique[1])
            target[rows, columns], target[columns, rows] = block.target, block.target.T
            weight[rows, columns], weight[columns, rows] = block.weight, block.weight.T
    return TargetBlock(target, weight)


def _reference(targets: Targets, column: int) -> NDArray[np.float64]:
    """Return one-way shares of a column: the mean of all that was measured of its levels, made positive.

    A table that sees the column itself coarsely says nothing of single levels; how it sees others is no matter.
    """
    layout, own = targets.layout, targets.layout.block(column)
    answers = [(targets.single.target[own], targets.single.weight[own])]
    for other in range(len(layout.sizes)):
        across = layout.block(other)
        answers.append(_summed(targets.pairs.target[own, across], targets.pairs.weight[own, across], 0))
    for clique, block in targets.wide.items():
        if column in clique:
            answers.append(_summed(block.target, block.weight, clique.index(column)))
    weight = np.sum([answer[1] for answer in answers], axis=0)
    mean = np.sum([answer[0] * answer[1] for answer in answers], axis=0) / np.where(weight > 0, weight, 1.0)
    # A level whose count drowns in the noise keeps a tenth of the noise: it must stay within reach.
    floor = 0.1 / np.sqrt(np.maximum(weight, 1.0))
    shares = np.where(weight > 0, np.maximum(mean, floor), 1.0 / layout.sizes[column])
    return shares / shares.sum()


def _summed(target: Array, weight: Array, axis: int) -> tuple[Array, Array]:
    """Sum a table to one of its axes; the variance adds up. A row with an unmeasured cell says nothing."""
    others = tuple(other for other in range(target.ndim) if other != axis)
    variance = np.where(weight > 0, 1.0 / np.where(weight > 0, weight, 1.0), np.inf).sum(axis=others, dtype=float)
    return target.sum(axis=others, dtype=float), np.where(np.isfinite(variance), 1.0 / variance, 0.0)
