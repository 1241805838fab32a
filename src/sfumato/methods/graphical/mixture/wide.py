"""Tables that are compared one by one or in batches: those of three columns or more, and all that see columns coarsely.

Coarse tables are many and small, so the time goes into calls, not into numbers. Tables of like shape are therefore
stacked and compared at once. Their axes are sorted by size and filled up by cells of no weight, so that few shapes are
left: all axes but the longest to one power of two, the longest to its own, and pairs to squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.methods.graphical.mixture.layout import Layout
from sfumato.methods.graphical.mixture.targets import Block, Targets
from sfumato.methods.graphical.tree.junction import Clique

MOST_CELLS = 2**13
"""Cells of one batch: what is stacked times the components must stay near the processor."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Stacked tables: which levels each axis of each table has, and which of them are real."""

    places: tuple[Clique, ...]
    sizes: tuple[tuple[int, ...], ...]
    rows: tuple[NDArray[np.intp], ...]
    """For each axis tables x levels."""
    block: Block
    """Targets and weights, the tables stacked along the first axis."""

    @staticmethod
    def of(layout: Layout, shape: tuple[int, ...], tables: Sequence[tuple[Clique, Block]]) -> Batch:
        """Stack tables whose axes are no longer than those of ``shape``."""
        target, weight = np.zeros((2, len(tables), *shape))
        for number, (places, block) in enumerate(tables):
            inside = (number, *(slice(size) for size in layout.shape(places)))
            target[inside], weight[inside] = block.target, block.weight
        cliques = tuple(places for places, _ in tables)
        rows = tuple(
            np.stack([_rows(layout, places[axis], length) for places in cliques]) for axis, length in enumerate(shape)
        )
        return Batch(cliques, tuple(map(layout.shape, cliques)), rows, Block(target, weight))


def _rows(layout: Layout, place: int, length: int) -> NDArray[np.intp]:
    """Return where a place's levels lie; the last one again and again where the axis is longer."""
    block = layout.block(place)
    return np.minimum(block.start + np.arange(length), block.stop - 1)


def batches_of(targets: Targets) -> tuple[Batch, ...]:
    """Stack what is alike. Tables at the columns' own levels, of which there are few, stay alone and as they are."""
    layout, alone = targets.views.seen, list[Batch]()
    alike: dict[tuple[int, ...], list[tuple[Clique, Block]]] = {}
    for places, block in targets.wide.items():
        if targets.views.are_columns(places):
            alone.append(Batch.of(layout, layout.shape(places), [(places, block)]))
        else:
            places, block = _sorted(layout, places, block)
            alike.setdefault(_filled(layout.shape(places)), []).append((places, block))
    stacked = [
        Batch.of(layout, shape, tables[low : low + _at_once(shape)])
        for shape, tables in alike.items()
        for low in range(0, len(tables), _at_once(shape))
    ]
    return (*alone, *stacked)


def _sorted(layout: Layout, places: Clique, block: Block) -> tuple[Clique, Block]:
    order = sorted(range(len(places)), key=lambda axis: layout.sizes[places[axis]])
    turned = Block(block.target.transpose(order), block.weight.transpose(order))
    return tuple(places[axis] for axis in order), turned


def _filled(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that a table with ascending axes is filled up to.

    >>> _filled((2, 3, 5)), _filled((2, 5))
    ((4, 4, 8), (8, 8))
    """
    last = _power(shape[-1])
    return (last, last) if len(shape) == 2 else (_power(shape[-2]),) * (len(shape) - 1) + (last,)


def _power(size: int) -> int:
    return 1 << (size - 1).bit_length()


def _at_once(shape: tuple[int, ...]) -> int:
    return max(MOST_CELLS // int(np.prod(shape)), 1)


def compared(xp: Any, batch: Batch, target: Any, weight: Any, seen: Any, weights: Any) -> tuple[Any, list[Any]]:
    """Return the error of a batch, and for each axis its derivatives by shares: tables x levels x components."""
    parts = [seen[rows] for rows in batch.rows]
    fitted = (products(parts[:-1]) * weights) @ xp.swapaxes(parts[-1], 1, 2)
    difference = fitted.reshape(target.shape) - target
    force = weight * difference
    pushes = [
        force.transpose(_first(axis, len(parts))).reshape(*rows.shape, -1) @ products(parts[:axis] + parts[axis + 1 :])
        for axis, rows in enumerate(batch.rows)
    ]
    return 0.5 * (force * difference).sum(), pushes


def _first(axis: int, count: int) -> list[int]:
    """Return the order of a stack's axes that brings one of a table's before the others."""
    return [0, axis + 1, *(other + 1 for other in range(count) if other != axis)]


def products(parts: list[Any]) -> Any:
    """Return the products of shares over all cells of several columns: cells x components, of each table of a stack."""
    table = parts[0]
    for part in parts[1:]:
        cells = table.shape[-2] * part.shape[-2]
        stack = table.shape[:-2]
        table = (table[..., :, None, :] * part[..., None, :, :]).reshape(*stack, cells, table.shape[-1])
    return table


class Blocks:
    """Numbers by levels, cut into the blocks that tables add to: joined once, however many tables there are."""

    def __init__(self, layout: Layout, whole: Any) -> None:
        self._layout, self._start = layout, whole
        self._parts: dict[int, Any] = {}

    def add(self, batch: Batch, axis: int, stacked: Any) -> None:
        """Add to the block of each table's place on one axis."""
        for number, (places, sizes) in enumerate(zip(batch.places, batch.sizes, strict=True)):
            place = places[axis]
            known = self._parts[place] if place in self._parts else self._start[self._layout.block(place)]
            self._parts[place] = known + stacked[number, : sizes[axis]]

    def whole(self, xp: Any) -> Any:
        """Return all numbers."""
        if not self._parts:
            return self._start
        places = range(len(self._layout.sizes))
        return xp.concatenate(
            [self._parts[p] if p in self._parts else self._start[self._layout.block(p)] for p in places]
        )
