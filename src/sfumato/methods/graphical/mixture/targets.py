"""What a mixture of products is fitted to: every level of every column in one row of levels, tables as its blocks.

One- and two-way tables are blocks of one vector and one symmetric matrix, so that all of them are compared with the
model in one matrix product. Wider tables and those at coarser groups are kept one by one. Where a cell was measured
more than once, its numbers are joined by their inverse variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PlanError
from sfumato.methods.graphical.mixture.layout import Layout, Views, with_views
from sfumato.methods.graphical.tree.coarse import Coarse, coarse_problems, coarse_shape
from sfumato.methods.graphical.tree.junction import Clique
from sfumato.methods.graphical.tree.model import NoisyTable, Support

Array = NDArray[Any]
SHARPER = 10.0
"""A structural zero counts as a cell measured as 0 with noise this many times smaller than the best table's."""


@dataclass(frozen=True)
class Block:
    """Target shares of a clique's cells and the weight of each: (total / sigma) squared, 0 where nothing is known."""

    target: Array = field(repr=False)
    weight: Array = field(repr=False)


@dataclass(frozen=True)
class Targets:
    """All that the fit compares with: a vector, a symmetric matrix, and all tables that are wider or coarser."""

    views: Views
    single: Block
    pairs: Block
    wide: dict[Clique, Block]
    """By places: columns, or coarser views of them."""
    cells: int
    """Number of measured cells."""

    @property
    def layout(self) -> Layout:
        """Where the levels of the columns lie."""
        return self.views.columns

    @cached_property
    def reference(self) -> NDArray[np.float64]:
        """One-way shares of every column, read from the tables: what each component is drawn towards."""
        return np.concatenate([_reference(self, column) for column in range(len(self.layout.sizes))])

    @cached_property
    def seen_reference(self) -> NDArray[np.float64]:
        """The same shares, and those of the views after them."""
        return with_views(np, self.reference, self.views.sums)


def targets_of(
    sizes: Sequence[int], tables: Sequence[NoisyTable], supports: Sequence[Support], total: float
) -> Targets:
    """Join noisy tables and structural zeros into the targets of a fit; PlanError where they do not fit the sizes."""
    layout = Layout(tuple(int(size) for size in sizes))
    _refuse_misfits(layout, tables, supports)
    views = Views.of(layout, tables)
    best = min((table.sigma for table in tables), default=1.0)
    blocks: dict[Clique, Block] = {}
    for table in tables:
        weight = np.full(table.counts.shape, (total / table.sigma) ** 2)
        _join(blocks, views.places(table), table.counts / total, weight)
    for support in supports:
        zero = np.zeros(support.allowed.shape)
        _join(blocks, support.clique, zero, np.where(support.allowed, 0.0, (SHARPER * total / best) ** 2))
    wide = {
        places: block
        for places, block in blocks.items()
        if len(places) > 2 or (len(places) == 2 and not views.are_columns(places))
    }
    pairs = {places: block for places, block in blocks.items() if places not in wide}
    cells = sum(table.counts.size for table in tables)
    return Targets(views, _single(views.seen, blocks), _pairs(layout, pairs), wide, cells)


def thinned(
    tables: Sequence[NoisyTable], ratio: float, generator: np.random.Generator
) -> tuple[list[NoisyTable], list[NoisyTable]]:
    """Split each table into two with independent noise: y + r z to fit to, y - z / r to judge by.

    With z of the law of the noise, the two errors e + r z and e - z / r are uncorrelated, hence independent.
    """
    first: list[NoisyTable] = []
    second: list[NoisyTable] = []
    for table in tables:
        extra = generator.normal(0.0, table.sigma, table.counts.shape)
        first.append(replace(table, counts=table.counts + ratio * extra, sigma=table.sigma * np.hypot(1.0, ratio)))
        second.append(replace(table, counts=table.counts - extra / ratio, sigma=table.sigma * np.hypot(1, 1 / ratio)))
    return first, second


def _refuse_misfits(layout: Layout, tables: Sequence[NoisyTable], supports: Sequence[Support]) -> None:
    problems = [
        problem for table in tables for problem in _misfits(layout, table.clique, table.counts.shape, table.coarse)
    ]
    problems += [
        problem for support in supports for problem in _misfits(layout, support.clique, support.allowed.shape, None)
    ]
    problems += [f"columns {table.clique}: sigma {table.sigma}" for table in tables if not table.sigma > 0]
    if problems:
        raise PlanError("tables that do not fit the columns", problems, "give ascending columns and shapes that match")


def _misfits(layout: Layout, clique: Clique, shape: tuple[int, ...], coarse: Coarse) -> list[str]:
    if tuple(sorted(set(clique))) != clique or not all(0 <= column < len(layout.sizes) for column in clique):
        return [f"columns {clique}: a table of shape {shape}"]
    if wrong := coarse_problems(layout.shape(clique), coarse):
        return [f"columns {clique}: {problem}" for problem in wrong]
    fits = coarse_shape(layout.shape(clique), coarse) == shape
    return [] if fits else [f"columns {clique}: a table of shape {shape}"]


def _join(blocks: dict[Clique, Block], clique: Clique, target: Array, weight: Array) -> None:
    """Add a table to what is known of its clique, weighted by its precision."""
    if clique not in blocks:
        blocks[clique] = Block(target, weight)
        return
    known = blocks[clique]
    both = known.weight + weight
    mean = (known.target * known.weight + target * weight) / np.where(both > 0, both, 1.0)
    blocks[clique] = Block(mean, both)


def _single(layout: Layout, blocks: dict[Clique, Block]) -> Block:
    target, weight = np.zeros(layout.levels), np.zeros(layout.levels)
    for clique, block in blocks.items():
        if len(clique) == 1:
            target[layout.block(clique[0])] = block.target
            weight[layout.block(clique[0])] = block.weight
    return Block(target, weight)


def _pairs(layout: Layout, blocks: dict[Clique, Block]) -> Block:
    target, weight = np.zeros((2, layout.levels, layout.levels), np.float32)
    for clique, block in blocks.items():
        if len(clique) == 2:
            rows, columns = layout.block(clique[0]), layout.block(clique[1])
            target[rows, columns], target[columns, rows] = block.target, block.target.T
            weight[rows, columns], weight[columns, rows] = block.weight, block.weight.T
    return Block(target, weight)


def _reference(targets: Targets, column: int) -> NDArray[np.float64]:
    """Return one-way shares of a column: the mean of all that was measured of its levels, made positive.

    A table that sees the column itself coarsely says nothing of single levels; how it sees others is no matter.
    """
    layout, own = targets.layout, targets.layout.block(column)
    looks = [(targets.single.target[own], targets.single.weight[own])]
    for other in range(len(layout.sizes)):
        across = layout.block(other)
        looks.append(_summed(targets.pairs.target[own, across], targets.pairs.weight[own, across], 0))
    for clique, block in targets.wide.items():
        if column in clique:
            looks.append(_summed(block.target, block.weight, clique.index(column)))
    weight = np.sum([look[1] for look in looks], axis=0)
    mean = np.sum([look[0] * look[1] for look in looks], axis=0) / np.where(weight > 0, weight, 1.0)
    # A level whose count drowns in the noise keeps a tenth of the noise: it must stay within reach.
    floor = 0.1 / np.sqrt(np.maximum(weight, 1.0))
    shares = np.where(weight > 0, np.maximum(mean, floor), 1.0 / layout.sizes[column])
    return shares / shares.sum()


def _summed(target: Array, weight: Array, axis: int) -> tuple[Array, Array]:
    """Sum a table to one of its axes; the variance adds up. A row with an unmeasured cell says nothing."""
    others = tuple(other for other in range(target.ndim) if other != axis)
    variance = np.where(weight > 0, 1.0 / np.where(weight > 0, weight, 1.0), np.inf).sum(axis=others, dtype=float)
    return target.sum(axis=others, dtype=float), np.where(np.isfinite(variance), 1.0 / variance, 0.0)
