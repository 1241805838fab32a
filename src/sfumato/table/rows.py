"""Columns of a table as NumPy arrays, whole or batch by batch, with levels as codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import TableError
from sfumato.schema.column import Column
from sfumato.table.column_expressions import encodable, select_as
from sfumato.table.counting import CHANGED
from sfumato.table.encode import ColumnEncoder
from sfumato.table.persons import kept_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.table import Table

OUTSIDE = -1
ColumnArrays = dict[str, NDArray[Any]]


def column_arrays(table: Table, names: Sequence[str]) -> ColumnArrays:
    """Return whole columns: ordered ones as float64 (dates as day numbers), others as codes of the schema.

    Values are read and clamped as for counting, and at most ``rows_per_person`` rows of a person come. A missing number
    is NaN, a missing level its code. What does not fit is refused, as it was when the table was checked.
    """
    parts = list(stream_column_arrays(table, names))
    if not parts:
        return {name: np.zeros(0, float if table.schema[name].is_ordered else np.int64) for name in names}
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


def stream_column_arrays(table: Table, names: Sequence[str]) -> Iterator[ColumnArrays]:
    """Yield the same columns batch by batch, so that the rows need not fit into memory."""
    schema, engine = table.schema, table.source.engine
    kept = kept_rows(engine.table, schema)
    columns = [schema[name] for name in names]
    for batch in engine.batches(select_as(kept, {c.name: encodable(kept[c.name], c) for c in columns})):
        yield batch_arrays(batch, columns)


def batch_arrays(batch: Any, columns: Sequence[Column], first: int = 0) -> ColumnArrays:
    """Return columns of a batch, from the ``first`` on, as arrays; what the schema takes for missing becomes NaN."""
    values = {c.name: to_array(batch.column(first + i), c) for i, c in enumerate(columns)}
    for column in columns:
        if column.is_ordered and column.outside == "missing":
            low, high = column.numeric_bounds
            numbers = values[column.name]
            values[column.name] = np.where((numbers >= low) & (numbers <= high), numbers, np.nan)
    require_in_domain(columns, values)
    return values


def to_array(array: pa.Array, column: Column) -> NDArray[Any]:
    """Return one Arrow column as numbers or as codes; codes are -1 where a level is not in the schema."""
    import pyarrow as pa

    if column.is_ordered:
        plain = array.cast(pa.int32()) if pa.types.is_date(array.type) else array
        return plain.cast(pa.float64(), safe=False).to_numpy(
            zero_copy_only=False
        )  # whole numbers beyond 2^53 are rounded
    return encode_column(array, column)


def encode_column(array: pa.Array, column: Column) -> NDArray[np.int64]:
    """Return one Arrow column as codes of the schema, -1 where a value is not in it."""
    codes = np.zeros(len(array), np.int32)
    ColumnEncoder(column, OUTSIDE)(array, codes)
    return codes.astype(np.int64)


def stream_matrices(table: Table, names: Sequence[str], gaps: bool = False) -> Iterator[NDArray[np.float64]]:
    """Yield the same columns side by side as numbers, in the order of the names; only ``gaps`` lets numbers be missing.

    What does not fit is refused, as it was when the table was checked.
    """
    for values in stream_column_arrays(table, names):
        matrix = column_matrix(values, names)
        if not gaps:
            missing = np.isnan(matrix).sum(axis=0).tolist()
            _refuse(dict(zip(names, missing, strict=True)), "missing or outside")
        yield matrix


def column_matrix(values: ColumnArrays, names: Sequence[str]) -> NDArray[np.float64]:
    """Return whole columns side by side as numbers."""
    return np.column_stack([np.asarray(values[name], float) for name in names])


def require_in_domain(columns: Sequence[Column], values: ColumnArrays) -> None:
    """Refuse values outside the public domain, as they were when the table was checked; a missing number is none."""
    counts: dict[str, int] = {}
    for column in columns:
        present = values[column.name]
        if column.is_ordered:
            low, high = column.numeric_bounds
            outside = (present < low) | (present > high)
        else:
            outside = present == OUTSIDE
        counts[column.name] = int(outside.sum())
    _refuse(counts, "outside")


def _refuse(counts: Mapping[str, int], what: str) -> None:
    """Refuse a table with values that do not fit, all columns at once."""
    bad = [f"{name}: {count:,} values {what} the schema" for name, count in counts.items() if count]
    if bad:
        raise TableError("the table does not fit its schema (it may have changed while it was read)", bad, CHANGED)
