"""Linear measurement: noisy counts of a clique, on merged groups where asked.

A table of many columns is only worth its noise where it has few cells. So each column of a table may be counted on
unions of the model's groups. Such a table is a linear function of the model's own marginal: sum, compare, and spread
the difference evenly over what was summed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]
AxisMap = NDArray[np.int32] | None
"""The coarse group of each of the model's groups, numbered from 0, or None for the model's own groups."""
Coarsening = tuple[AxisMap, ...] | None
"""One map for each axis of a table; None where every axis is at the model's groups."""
Key = tuple[bytes | None, ...] | None


@dataclass(frozen=True)
class GroupSum:
    """How the cells of one table are pooled, worked out once for many sums. One count of bins serves all axes."""

    shape: tuple[int, ...]
    """Shape of the coarse table."""
    cells: NDArray[np.intp] = field(repr=False)
    """The coarse cell of each cell of the finer table, both counted in C order."""

    @staticmethod
    def of(shape: Sequence[int], coarse: Coarsening) -> GroupSum:
        """Work out where each cell of a table of ``shape`` goes."""
        maps = [np.arange(size) if groups is None else groups for size, groups in _axes(shape, coarse)]
        pooled = tuple(int(groups.max()) + 1 for groups in maps)
        cells = np.zeros((), np.intp)
        for groups, size in zip(maps, pooled, strict=True):
            cells = np.add.outer(cells * size, groups)
        return GroupSum(pooled, cells.astype(np.intp).ravel())

    def summed(self, table: Table) -> Table:
        """Return the coarse table."""
        sums: NDArray[Any] = np.bincount(self.cells, table.ravel(), prod(self.shape))
        return sums.reshape(self.shape)

    def spread(self, table: Table) -> Table:
        """Return the entry of its coarse cell for each finer cell, in C order: what :meth:`summed` pulls back."""
        return table.ravel()[self.cells]


def sum_to_coarser(table: NDArray[Any], coarse: Coarsening) -> NDArray[Any]:
    """Return a table at the model's groups, summed to coarser ones; whole counts stay whole.

    >>> sum_to_coarser(np.array([[1, 2, 3], [4, 5, 6]]), (None, np.array([0, 1, 0], np.int32)))
    array([[ 4,  2],
           [10,  5]])
    """
    if coarsening_key(coarse) is None:
        return table
    return GroupSum.of(table.shape, coarse).summed(table).astype(table.dtype)


def coarsening_key(coarse: Coarsening) -> Key:
    """Return what tells maps apart, to be used as a key; None where the table is at the model's groups throughout."""
    keys = tuple(
        None if groups is None or _same(groups) else groups.astype(np.int32).tobytes() for groups in coarse or ()
    )
    return None if all(key is None for key in keys) else keys


def coarse_problems(sizes: Sequence[int], coarse: Coarsening) -> list[str]:
    """Return what is wrong with the maps of a table whose columns have these many groups."""
    if coarse is not None and len(coarse) != len(sizes):
        return [f"{len(coarse)} maps to coarse groups for {len(sizes)} columns"]
    return [
        f"axis {axis}: coarse groups must be numbered from 0, each used, one for each of {size} groups"
        for axis, (size, groups) in enumerate(_axes(sizes, coarse))
        if groups is not None and not _is_map(groups, size)
    ]


def coarse_shape(sizes: Sequence[int], coarse: Coarsening) -> tuple[int, ...]:
    """Return the shape of the counts of a table whose columns have these many groups."""
    return tuple(size if groups is None else int(groups.max()) + 1 for size, groups in _axes(sizes, coarse))


def _axes(sizes: Sequence[int], coarse: Coarsening) -> list[tuple[int, AxisMap]]:
    return list(zip(sizes, (None,) * len(sizes) if coarse is None else coarse, strict=True))


def _is_map(groups: NDArray[Any], size: int) -> bool:
    if groups.shape != (size,) or not np.issubdtype(groups.dtype, np.integer):
        return False
    used = np.unique(groups)
    return int(used[0]) == 0 and int(used[-1]) == len(used) - 1


def _same(groups: NDArray[Any]) -> bool:
    return np.array_equal(groups, np.arange(len(groups)))
