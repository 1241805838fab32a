"""Columns of numbers and codes as a released table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.columns import Column
from sfumato.releases.sampling import keeps_rules, rows_table
from sfumato.schema import Schema


def kept_rows_of(schema: Schema, values: Mapping[str, NDArray[Any]]) -> tuple[pa.Table, int]:
    """Return whole columns as a table, without the rows that break a rule of the schema, and how many those were.

    A row cannot be drawn again here: it belongs to predictors that are released as they are.
    """
    released = {name: released_values(schema[name], found) for name, found in values.items()}
    kept = keeps_rules(schema, released)
    table = rows_table(schema, {name: (found[kept], missing[kept]) for name, (found, missing) in released.items()})
    return table, int((~kept).sum())


def released_values(column: Column, found: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return one column as it is released, and which values are missing: NaN of numbers, the last code of levels."""
    if column.is_ordered:
        missing = np.isnan(found)
        whole = np.where(missing, 0, found)
        return (whole.astype(np.int64) if column.is_discrete else whole), missing
    missing = found == column.present_size
    levels = np.empty(len(column.levels), dtype=object)
    levels[:] = column.levels
    return levels[np.where(missing, 0, found)], missing
