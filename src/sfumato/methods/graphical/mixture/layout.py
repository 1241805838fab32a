"""Where the levels of columns lie in one row of all levels, and the coarser views that tables have of columns.

A table may count a column on unions of its levels. The shares of such a union are sums of the shares of its levels, so
each view is treated as one more column, whose levels follow those of the true columns: a table at any resolution is
then a table of places, each of them a column or a view, and everything that compares tables is the same for both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.methods.graphical.tree.coarse import key_of
from sfumato.methods.graphical.tree.junction import Clique
from sfumato.methods.graphical.tree.model import NoisyTable


@dataclass(frozen=True)
class Layout:
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
class Views:
    """The coarse groupings of columns that some tables use."""

    columns: Layout
    found: dict[tuple[int, bytes], tuple[int, NDArray[np.int32]]] = field(repr=False)
    """By column and map: the place of the view among columns and views, and the map itself."""

    @staticmethod
    def of(columns: Layout, tables: Iterable[NoisyTable]) -> Views:
        """Number the views of all tables after the columns, in the order in which they are met."""
        views = Views(columns, {})
        for table in tables:
            for column, key, groups in _coarse_axes(table):
                views.found.setdefault((column, key), (len(columns.sizes) + len(views.found), groups))
        return views

    def places(self, table: NoisyTable) -> Clique:
        """Return where each axis of a table lies: a column, or one of its views."""
        coarse = {column: self.found[column, key][0] for column, key, _ in _coarse_axes(table)}
        return tuple(coarse.get(column, column) for column in table.clique)

    def are_columns(self, places: Clique) -> bool:
        """Return whether a table of these places sees every column at its own levels."""
        return all(place < len(self.columns.sizes) for place in places)

    @cached_property
    def seen(self) -> Layout:
        """The levels of the columns, then those of the views."""
        return Layout(self.columns.sizes + tuple(int(groups.max()) + 1 for _, groups in self.found.values()))

    @cached_property
    def sums(self) -> NDArray[np.float32]:
        """Levels of views x levels of columns, 1 where a level is part of the other."""
        sums = np.zeros((self.seen.levels, self.columns.levels), np.float32)
        for (column, _), (place, groups) in self.found.items():
            low = int(self.seen.offsets[place])
            sums[low + groups, self.columns.offsets[column] + np.arange(len(groups))] = 1.0
        return sums[self.columns.levels :]


def _coarse_axes(table: NoisyTable) -> list[tuple[int, bytes, NDArray[np.int32]]]:
    keys, maps = key_of(table.coarse) or (), table.coarse or ()
    axes = zip(table.clique, keys, maps, strict=False)
    return [(column, key, groups) for column, key, groups in axes if key is not None and groups is not None]


def with_views(xp: Any, levels: Any, sums: Any) -> Any:
    """Return numbers by levels, with their sums over the levels of each view below them; unchanged without views."""
    return xp.concatenate([levels, sums @ levels]) if len(sums) else levels


def with_zeros(xp: Any, numbers: Any, sums: Any) -> Any:
    """Return numbers by levels, with zeros below them for the levels of views."""
    return xp.concatenate([numbers, xp.zeros((len(sums), *numbers.shape[1:]), numbers.dtype)]) if len(sums) else numbers


def without_views(numbers: Any, sums: Any) -> Any:
    """Return derivatives by levels of columns from those by levels and views: the transpose of :func:`with_views`."""
    return numbers[: sums.shape[1]] + sums.T @ numbers[sums.shape[1] :] if len(sums) else numbers
