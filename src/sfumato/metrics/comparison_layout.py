"""Columns, cells and column sets of a comparison, and rows coded in them: coded once, measured as often as needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.arrays import BoolArray, FloatArray, IntArray
from sfumato.constraints.clauses import keeps_rules
from sfumato.constraints.functional_dependence import with_maps_from_rows
from sfumato.metrics.association import ranks, with_order
from sfumato.metrics.binning import Binning, column_sets
from sfumato.sampling.values import Values, levels_of
from sfumato.schema import Schema
from sfumato.schema.column import Column

Places = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class BinnedRows:
    """The rows of one side: values, cells, ranks of columns with an order, and which rows break a rule."""

    points: FloatArray
    """One row per record: numbers as they are (dates as days), levels as codes, NaN where missing."""
    cells: IntArray
    """One row per column."""
    ranks: FloatArray
    """Columns with an order as ranks among their own side's values, from 0 to 1."""
    broken: BoolArray

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, places: Any) -> BinnedRows:
        return BinnedRows(self.points[places], self.cells[:, places], self.ranks[places], self.broken[places])


@dataclass(frozen=True, eq=False)
class ComparisonLayout:
    """How both sides are counted: columns, their cells in q16, and which pairs and triples of them are compared."""

    schema: Schema
    binnings: tuple[Binning, ...]

    @classmethod
    def of(
        cls, schema: Schema, columns: Sequence[Column], released: FloatArray, private: FloatArray
    ) -> ComparisonLayout:
        """Cut columns by released rows; a dependence whose map nobody published takes the map of the private rows."""
        binnings = tuple(Binning.q16(column, released[:, place]) for place, column in enumerate(columns))
        layout = cls(schema, binnings)
        if not any(rule.lacks_map and set(rule.columns) <= set(layout.names) for rule in schema.rules):
            return layout
        return replace(layout, schema=with_maps_from_rows(schema, _values(columns, private)))

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns that are compared."""
        return tuple(each.column for each in self.binnings)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Cells of each column."""
        return tuple(each.size for each in self.binnings)

    @cached_property
    def numbers(self) -> Places:
        """Places of numbers and dates."""
        return tuple(place for place, column in enumerate(self.columns) if column.is_ordered)

    @cached_property
    def singles(self) -> tuple[Places, ...]:
        """Each column by itself."""
        return self._sets(1)

    @cached_property
    def pairs(self) -> tuple[Places, ...]:
        """All pairs of columns, or a fixed sample of them."""
        return self._sets(2)

    @cached_property
    def triples(self) -> tuple[Places, ...]:
        """A fixed sample of triples."""
        return self._sets(3)

    def _sets(self, order: int) -> tuple[Places, ...]:
        where = {name: place for place, name in enumerate(self.names)}
        return tuple(tuple(where[name] for name in names) for names in column_sets([self.names], order))

    @cached_property
    def has_rules(self) -> bool:
        """Whether a rule of the schema speaks of compared columns alone."""
        return any(set(rule.columns) <= set(self.names) for rule in self.schema.rules)

    def side(self, points: FloatArray) -> BinnedRows:
        """Return rows as this comparison counts them."""
        cells = np.array([binning.codes(points[:, place]) for place, binning in enumerate(self.binnings)])
        return BinnedRows(points, cells, ranks(points[:, with_order(self.columns)]), self._broken(points))

    def _broken(self, points: FloatArray) -> BoolArray:
        if not self.has_rules:
            return np.zeros(len(points), bool)
        return ~keeps_rules(self.schema, _values(self.columns, points))


def _values(columns: Sequence[Column], points: FloatArray) -> Values:
    """Return the rows as rules read them."""
    values: Values = {}
    for place, column in enumerate(columns):
        missing = np.isnan(points[:, place])
        known = np.where(missing, 0, points[:, place])
        values[column.name] = (known if column.is_ordered else levels_of(column)[known.astype(int)], missing)
    return values
