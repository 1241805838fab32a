"""Columns of released rows as arrays: numbers with NaN where none is, levels as codes."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.arrays import FloatArray
from sfumato.schema import Schema
from sfumato.schema.column import Column

Codes = NDArray[np.int64]


class RowsView:
    """Rows whose columns are converted once, whatever is asked of them. Dates count in days since 1970-01-01."""

    def __init__(self, rows: pa.Table, schema: Schema) -> None:
        self.rows, self.schema = rows, schema
        self._numbers: dict[str, FloatArray] = {}
        self._codes: dict[str, Codes] = {}

    @cached_property
    def size(self) -> int:
        """How many rows there are."""
        return self.rows.num_rows

    def numbers(self, name: str) -> FloatArray:
        """Return a column as numbers; NaN where there is none."""
        if name not in self._numbers:
            self._numbers[name] = _numbers(self.rows.column(name))
        return self._numbers[name]

    def codes(self, name: str) -> Codes:
        """Return the places of the levels in the schema's list; -1 where there is none."""
        if name not in self._codes:
            levels = pa.array(levels_of(self.schema[name]), self.rows.schema.field(name).type)
            places = pc.index_in(self.rows.column(name), value_set=levels)  # pyright: ignore
            self._codes[name] = _numbers(places, -1).astype(np.int64)
        return self._codes[name]

    def taken(self, places: Codes) -> RowsView:
        """Return some of the rows, with repeats."""
        return RowsView(self.rows.take(pa.array(places)), self.schema)


def levels_of(column: Column) -> list[str | int | bool]:
    """Return the levels of a column without the missing one; the integers of a short range are levels, too."""
    return [label for label in column.labels if label is not None]  # pyright: ignore[reportReturnType]


def _numbers(column: pa.ChunkedArray, nothing: float = np.nan) -> FloatArray:
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    filled = pc.fill_null(column.cast(pa.float64()), nothing)  # pyright: ignore
    return np.asarray(filled.to_numpy(), float)
