"""Linear measurement: noisy counts of a clique, on merged groups where its query asks for them.

A marginal of many columns is only worth its noise where it has few cells. So each column of it may be counted on unions
of the model's groups. Such a query is a linear function of the model's own marginal: sum, compare, and spread the
difference evenly over what was summed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PlanError
from sfumato.mechanisms.graphical.junction_tree.junction_tree import Clique

Table = NDArray[np.float64]
AxisMap = NDArray[np.int32] | None
"""The coarse group of each of the model's groups, numbered from 0, or None for the model's own groups."""
Query = tuple[AxisMap, ...] | None
"""One map for each axis of a marginal; None where every axis is at the model's groups."""
Key = tuple[bytes | None, ...] | None


@dataclass(frozen=True)
class LinearMeasurement:
    """Noisy counts of a clique, one axis per column in ascending order; they may be negative."""

    clique: Clique
    noisy_counts: Table = field(repr=False)
    stddev: float
    """Standard deviation of the noise of each cell."""
    query: Query = field(default=None, repr=False)
    """For each axis the coarse group of each of the model's groups, or None: the counts have the coarse shape."""


@dataclass(frozen=True)
class StructuralZeros:
    """Structural zeros: which cells of a clique may hold rows."""

    clique: Clique
    allowed: NDArray[np.bool_] = field(repr=False)


@dataclass(frozen=True)
class GroupSum:
    """A query as a linear map on tables, worked out once for many sums. One count of bins serves all axes."""

    shape: tuple[int, ...]
    """Shape of the coarse table."""
    cells: NDArray[np.intp] = field(repr=False)
    """The coarse cell of each cell of the finer table, both counted in C order."""

    @staticmethod
    def of(shape: Sequence[int], query: Query) -> GroupSum:
        """Work out where each cell of a table of ``shape`` goes."""
        maps = [np.arange(size) if groups is None else groups for size, groups in _axes(shape, query)]
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


def query_key(query: Query) -> Key:
    """Return what tells maps apart, to be used as a key; None where the table is at the model's groups throughout."""
    keys = tuple(
        None if groups is None or _same(groups) else groups.astype(np.int32).tobytes() for groups in query or ()
    )
    return None if all(key is None for key in keys) else keys


def refuse_misfits(
    sizes: Sequence[int],
    total: float,
    measurements: Sequence[LinearMeasurement],
    zeros: Sequence[StructuralZeros],
) -> None:
    """Refuse measurements and structural zeros that do not fit columns of these many groups, all problems at once."""
    problems = [] if 0 < total < np.inf else [f"the total must be positive, not {total}"]
    for each in measurements:
        problems += _misfit(sizes, each.clique, each.noisy_counts.shape, "table", each.query)
        if not (0 < each.stddev < np.inf and np.isfinite(each.noisy_counts).all()):
            problems.append(f"table of columns {each.clique}: counts must be finite and the stddev positive")
    for each in zeros:
        problems += _misfit(sizes, each.clique, each.allowed.shape, "support")
        if not each.allowed.any():
            problems.append(f"support of columns {each.clique}: no cell is allowed")
    if problems:
        raise PlanError("the model cannot be fitted", problems, "correct the tables")


def _misfit(sizes: Sequence[int], clique: Clique, shape: tuple[int, ...], kind: str, query: Query = None) -> list[str]:
    if list(clique) != sorted(set(clique)) or not all(0 <= column < len(sizes) for column in clique):
        return [f"{kind} of columns {clique}: columns must be ascending numbers below {len(sizes)}"]
    groups = [sizes[column] for column in clique]
    if wrong := _query_problems(groups, query):
        return [f"{kind} of columns {clique}: {problem}" for problem in wrong]
    expected = coarse_shape(groups, query)
    return [] if shape == expected else [f"{kind} of columns {clique}: shape {shape}, expected {expected}"]


def _query_problems(sizes: Sequence[int], query: Query) -> list[str]:
    """Return what is wrong with the maps of a table whose columns have these many groups."""
    if query is not None and len(query) != len(sizes):
        return [f"{len(query)} maps to coarse groups for {len(sizes)} columns"]
    return [
        f"axis {axis}: coarse groups must be numbered from 0, each used, one for each of {size} groups"
        for axis, (size, groups) in enumerate(_axes(sizes, query))
        if groups is not None and not _is_map(groups, size)
    ]


def coarse_shape(sizes: Sequence[int], query: Query) -> tuple[int, ...]:
    """Return the shape of the counts of a table whose columns have these many groups."""
    return tuple(size if groups is None else int(groups.max()) + 1 for size, groups in _axes(sizes, query))


def _axes(sizes: Sequence[int], query: Query) -> list[tuple[int, AxisMap]]:
    return list(zip(sizes, (None,) * len(sizes) if query is None else query, strict=True))


def _is_map(groups: NDArray[Any], size: int) -> bool:
    if groups.shape != (size,) or not np.issubdtype(groups.dtype, np.integer):
        return False
    used = np.unique(groups)
    return int(used[0]) == 0 and int(used[-1]) == len(used) - 1


def _same(groups: NDArray[Any]) -> bool:
    return np.array_equal(groups, np.arange(len(groups)))
