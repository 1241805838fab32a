"""Released rows as arrays, converted once for all pictures of a page."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.schema import Schema
from sfumato.schema.column import Column

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class RowsView:
    """Columns of released rows: numbers and dates (in days) as they are, levels as codes, NaN where missing."""

    columns: tuple[Column, ...]
    values: tuple[FloatArray, ...]

    @classmethod
    def of(cls, schema: Schema, rows: pa.Table) -> RowsView:
        """Read the rows of a released table, as its schema calls them."""
        from sfumato.evaluate.uncertainty.values import RowsView

        read = RowsView(rows, schema)
        columns = tuple(schema[name] for name in rows.column_names)
        return cls(columns, tuple(_values(read, column) for column in columns))

    @cached_property
    def size(self) -> int:
        """How many rows there are."""
        return len(self.values[0]) if self.values else 0

    def sample(self, most: int) -> RowsView:
        """Return at most so many rows: every second, third and so on, so that everybody gets the same."""
        step = max(1, -(-self.size // most))
        return self if step == 1 else RowsView(self.columns, tuple(each[::step] for each in self.values))


def _values(read: Any, column: Column) -> FloatArray:
    if column.is_ordered:
        return read.numbers(column.name)
    codes = read.codes(column.name).astype(float)
    return np.where(codes < 0, np.nan, codes)


def level_words(column: Column) -> tuple[str, ...]:
    """Return what the levels of a column are called, with what the schema says that they mean.

    >>> level_words(Column("sex", "category", values=(1, 2), value_labels={1: "male"}))
    ('1: male', '2')
    """
    meaning = dict(column.value_labels or ())
    return tuple(_level(level, meaning.get(level)) for level in column.levels)


def _level(level: Any, meaning: str | None) -> str:
    name = str(level).lower() if isinstance(level, bool) else str(level)
    return f"{name}: {meaning}" if meaning else name


def edges_of(column: Column) -> FloatArray:
    """Return the ends of a column's cells on a real axis; a whole value lies in the middle of its own.

    >>> edges_of(Column("n", "integer", bounds=(0, 2))).tolist()
    [-0.5, 0.5, 1.5, 2.5]
    """
    half = 0.5 if column.is_discrete else 0.0
    return np.append(column.starts - half, column.numeric_bounds[1] + half)
