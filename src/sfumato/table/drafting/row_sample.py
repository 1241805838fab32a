"""A few thousand rows in memory, to find relations between columns worth checking on all rows.

A relation that the sample breaks is no rule. What the sample keeps is asked of all rows afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import BoolArray, FloatArray
from sfumato.schema.column import Column
from sfumato.table.column_expressions import cast_to_kind, select_as
from sfumato.table.engines.engine import Engine
from sfumato.table.sources import Source

SAMPLE_ROWS = 5000
MAX_LOG_CHANCE = -25.0
"""Logarithm of the chance below which a relation is not by chance: there are many pairs of columns."""
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class RowSample:
    """Rows of the described columns: numbers and dates as numbers, and every column as codes from 0."""

    columns: Mapping[str, Column]
    numbers: Mapping[str, FloatArray]
    """Values of ordered columns, NaN where missing."""
    codes: Mapping[str, Codes]
    """Which of its values a row has; a missing one is a value, the last."""
    values: Mapping[str, Sequence[Any]]
    """The value of each code but the missing one, for columns with levels."""
    missing: Mapping[str, BoolArray]
    rows: int

    def levels(self, name: str) -> int:
        """Return how many values occur, a missing one counted as one."""
        return int(self.codes[name].max()) + 1 if self.rows else 0


def row_sample(opened: Source, columns: Sequence[Column]) -> RowSample:
    """Return every n-th row of a table that is near, or the first rows of one that is far."""
    import pandas as pd

    table = opened.engine.table
    values = select_as(
        table, {column.name: _inside(cast_to_kind(table[column.name], column), column) for column in columns}
    )
    rows = opened.engine.aggregate(_some_rows(opened.engine, values))
    frames = {column.name: rows.column(column.name).to_pandas() for column in columns}
    numbers = {c.name: _numbers(frames[c.name], c) for c in columns if c.is_ordered}
    found_levels = {name: pd.factorize(frame) for name, frame in frames.items()}
    codes = {name: _codes(codes) for name, (codes, _) in found_levels.items()}
    levels = {c.name: [_plain(v) for v in found_levels[c.name][1]] for c in columns if not c.is_ordered}
    missing = {name: np.asarray(frame.isna(), dtype=bool) for name, frame in frames.items()}
    return RowSample({c.name: c for c in columns}, numbers, codes, levels, missing, rows.num_rows)


def _inside(value: Any, column: Column) -> Any:
    """Return values without the days that engines know and schemas do not."""
    if column.kind != "date" or column.bounds is None:
        return value
    low, high = column.bounds
    return ((value >= low) & (value <= high)).ifelse(value, None)


def _some_rows(engine: Engine, values: Any) -> Any:
    import ibis

    if not engine.streams:
        return values.limit(SAMPLE_ROWS)
    rows = engine.aggregate(values.aggregate(rows=values.count())).to_pylist()[0]["rows"]
    step = -(-rows // SAMPLE_ROWS)
    if step <= 1:
        return values
    # A file is often sorted: its first rows would be those of one place.
    place = "_" + max(values.columns, key=len)
    return values.mutate(**{place: ibis.row_number()}).filter(ibis._[place] % step == 0).drop(place)


def _numbers(frame: Any, column: Column) -> FloatArray:
    import pandas as pd

    if column.kind == "date":
        days = pd.to_datetime(frame, errors="coerce")
        return np.where(days.isna(), np.nan, days.to_numpy("datetime64[D]").astype(np.float64))
    return np.asarray(pd.to_numeric(frame, errors="coerce"), dtype=np.float64)


def _codes(values: Any) -> Codes:
    codes = np.asarray(values, dtype=np.int64)
    return np.where(codes < 0, codes.max(initial=-1) + 1, codes)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
