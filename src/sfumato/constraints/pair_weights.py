"""Weights of value pairs from synthetic rows or a model, as input for functional dependences.

A place is a level, or a run of bins of an ordered column, or missing. Groups of a fitted model are such places, and the
public cells of rows as they were drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import FloatArray
from sfumato.constraints.clauses import keeps_rules
from sfumato.constraints.structural_zeros import IntervalCells, cells_of, interval_hulls
from sfumato.sampling.values import Values, codes_of
from sfumato.sampling.written_forms import as_written
from sfumato.schema import Schema
from sfumato.schema.column import Column

MOST_PLACES = 2048
"""Places of a column in rows: the table of two columns must stay small."""
BROKEN_WEIGHT = 1e-3
"""Weight of a drawn row that breaks another rule: it tells only where no other row does."""


@dataclass(frozen=True, eq=False)
class ColumnPartition:
    """One column in places: what lies in each (levels, or intervals, or None for missing) and a value for each."""

    column: Column
    places: NDArray[Any]
    """The place of each code."""
    keys: tuple[tuple[Any, ...], ...]
    values: tuple[Any, ...]
    shares: tuple[FloatArray, ...] | None = None
    """Where the column has an order and places have parts: which share of its place each key has, in that order."""
    inner: tuple[tuple[Any, ...], ...] | None = None
    """With shares: a value for each key."""


class PairWeights(Protocol):
    """How each column is cut, and how much weight each pair of places has."""

    def cut(self, name: str) -> ColumnPartition:
        """Return the places of a column."""
        ...

    def weights(self, source: str, target: str) -> FloatArray:
        """Return the weight of each pair of places, at least 0."""
        ...

    @property
    def noise(self) -> float:
        """The noise of a weight, as far as it is known: below it a place believes its neighbours more than itself."""
        ...


def plain_value(column: Column, value: Any, missing: bool = False) -> Any:
    """Return one value of an array in the column's own type, None for missing."""
    if missing:
        return None
    if not column.is_ordered:
        return value
    return column.whole(value) if column.is_discrete else float(value)


def partition_of(
    column: Column, places: NDArray[Any], values: Sequence[Any], shares: FloatArray | None = None
) -> ColumnPartition:
    """Return a column in places, given the place of each code (missing has the last one) and a value for each place.

    Places of an ordered column are runs of neighbouring bins: one interval each, or, with the share that each bin has
    of its place, as many as there are bins.
    """
    order = np.argsort(places, kind="stable")
    ends = [0, *np.cumsum(np.bincount(places)).tolist()]
    codes = [order[first:last] for first, last in pairwise(ends)]
    parts = None if shares is None else tuple(shares[part] for part in codes)
    if not column.is_ordered:
        keys = tuple(tuple(column.labels[code] for code in part) for part in codes)
    elif shares is None:
        keys = tuple((_interval(column, int(part[0]), int(part[-1])),) for part in codes)
    else:
        keys = tuple(tuple(_interval(column, int(code), int(code)) for code in part) for part in codes)
    return ColumnPartition(column, places, keys, tuple(values), parts)


def _interval(column: Column, first: int, last: int) -> tuple[Any, Any] | None:
    if first == column.present_size:
        return None
    return plain_value(column, column.starts[first]), plain_value(column, column.ends[last])


def public_partition(column: Column) -> ColumnPartition:
    """Return a column in its public cells, each with its first value."""
    return partition_of(column, np.arange(column.size), _firsts(column))


def _firsts(column: Column) -> list[Any]:
    """Return the first value of each cell, None for missing."""
    if not column.is_ordered:
        return list(column.labels)
    return [*(plain_value(column, start) for start in as_written(column, column.starts)), None][: column.size]


def cells_of_places(cut: ColumnPartition) -> IntervalCells:
    """Return what lies in the places as cells on which rules are evaluated, one for each key."""
    cells = cells_of(cut.column)
    if cut.column.is_ordered and cut.shares is None:
        return interval_hulls(cells, cut.places, len(cut.keys))
    order = np.argsort(cut.places, kind="stable")
    return IntervalCells(*(part[order] for part in cells))


@dataclass(frozen=True)
class RowPairWeights:
    """Rows as drawn, by the public cells of the schema: levels, or bins of an ordered column.

    A column of more than ``MOST_PLACES`` cells is coarser: neighbouring bins are joined, and so are its rarest levels.
    A place stands for the middle one of its drawn values where there is an order, else for its commonest level.
    """

    schema: Schema
    values: Values
    noise: float = 0.0

    def cut(self, name: str) -> ColumnPartition:
        """Return the places of a column."""
        column, places = self.schema[name], self._places(name)
        by_count = np.argsort(-np.bincount(self._codes(name), minlength=column.size), kind="stable")
        _, first = np.unique(places[by_count], return_index=True)
        values = [_firsts(column)[code] for code in by_count[first]]
        if column.is_ordered:
            data, missing = self.values[name]
            there = np.sort(data[~missing])
            inside = places[codes_of(column, there, np.zeros(len(there), dtype=bool))]
            for place, begins, ends in zip(*_runs(inside), strict=True):
                values[place] = plain_value(column, there[(begins + ends - 1) // 2])
        return partition_of(column, places, values)

    def weights(self, source: str, target: str) -> FloatArray:
        """Return the weight of the rows in each pair of places."""
        places = [self._places(name) for name in (source, target)]
        shape = tuple(int(part.max()) + 1 for part in places)
        pair = [part[self._codes(name)] for part, name in zip(places, (source, target), strict=True)]
        counts = np.zeros(shape)
        np.add.at(counts, tuple(pair), self._row_weights)
        return counts

    @cached_property
    def _row_weights(self) -> FloatArray:
        return np.where(keeps_rules(self.schema, self.values), 1.0, BROKEN_WEIGHT)

    def _codes(self, name: str) -> NDArray[np.int64]:
        return codes_of(self.schema[name], *self.values[name])

    def _places(self, name: str) -> NDArray[np.int64]:
        """Return the place of each code of a column."""
        column = self.schema[name]
        size = column.present_size
        places = np.arange(size)
        if size > MOST_PLACES and column.is_ordered:
            places = places * MOST_PLACES // size
        elif size > MOST_PLACES:
            rare = np.argsort(-np.bincount(self._codes(name), minlength=column.size)[:size], kind="stable")
            places[rare] = np.minimum(np.arange(size), MOST_PLACES - 1)
        return np.append(places, places.max() + 1) if column.missing else places


def _runs(places: NDArray[np.int64]) -> tuple[list[int], list[int], list[int]]:
    """Return the places that stand in a sorted list, and where each begins and ends in it."""
    present, begins = np.unique(places, return_index=True)
    return present.tolist(), begins.tolist(), [*begins[1:].tolist(), len(places)]
