"""Return released tables in the kind of frame that the user passed in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import StampedFrameError
from sfumato.schema.column import Column

ARROW_TYPES = {"integer": pa.int64(), "number": pa.float64(), "date": pa.date32(), "boolean": pa.bool_()}
UNSTAMPABLE_KINDS = ("polars", "duckdb", "ibis")
"""Kinds of frames without a place for metadata."""


def to_frame(table: pa.Table, kind: str, stamp: str | None = None) -> Any:
    """Return an Arrow table as the kind of frame that the user gave; a kind that would lose the stamp is refused."""
    if kind == "arrow":
        return table.replace_schema_metadata({"sfumato": stamp}) if stamp else table
    if stamp and kind in UNSTAMPABLE_KINDS:
        raise StampedFrameError(
            f"a {kind} frame cannot carry the stamp {stamp!r}, and rows of a seeded run go nowhere without it",
            next_step="take release.tables (Arrow, stamped), read the table as pandas or Arrow, or leave the seed out",
        )
    if kind == "polars":
        import polars as pl

        return pl.from_arrow(table)
    if kind == "duckdb":
        import duckdb

        return duckdb.from_arrow(table)
    if kind == "ibis":
        import ibis

        return ibis.memtable(table)
    return _to_pandas(table, stamp)


def _to_pandas(table: pa.Table, stamp: str | None) -> Any:
    import pandas as pd

    nullable = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
    columns = {}
    for name in table.column_names:
        column = table.column(name)
        columns[name] = column.to_pandas(types_mapper=nullable.get if column.null_count else None)
    frame = pd.DataFrame(columns)
    if stamp:
        frame.attrs["sfumato"] = stamp
    return frame


def level_array(column: Column) -> pa.Array:
    """Return the labels of a column's codes as an Arrow array; the missing level is null."""
    if column.has_unit_bins or not column.is_ordered:
        return pa.array(column.labels, _label_type(column))
    return pa.array(column.labels, pa.string())


def _label_type(column: Column) -> pa.DataType:
    if column.kind in ("category", "ordinal"):
        return pa.int64() if column.has_integer_levels else pa.string()
    return ARROW_TYPES[column.kind]


def marginal_as_rows(columns: Sequence[Column], counts: NDArray[np.int64]) -> pa.Table:
    """Return a contingency table as rows: one per cell, labels and ``count``.

    >>> marginal_as_rows([Column("sex", "category", values=("f", "m"))], np.array([3, 4])).to_pylist()
    [{'sex': 'f', 'count': 3}, {'sex': 'm', 'count': 4}]
    """
    shape = tuple(column.size for column in columns)
    arrays: dict[str, Any] = {}
    for axis, column in enumerate(columns):
        inner = int(np.prod(shape[axis + 1 :], dtype=np.int64))
        outer = int(np.prod(shape[:axis], dtype=np.int64))
        codes = np.tile(np.repeat(np.arange(column.size, dtype=np.int32), inner), outer)
        arrays[column.name] = level_array(column).take(pa.array(codes))
    name = count_name(list(arrays))
    return pa.table({**arrays, name: pa.array(np.ascontiguousarray(counts).ravel(), pa.int64())})


def count_name(names: Sequence[str]) -> str:
    """Return "count", with as many underscores behind it as it takes to be free."""
    name = "count"
    while name in names:
        name += "_"
    return name


def value_array(column: Column, values: NDArray[Any], missing: NDArray[np.bool_]) -> pa.Array:
    """Return synthetic values of one column as an Arrow array of the column's own type."""
    if column.kind in ("category", "ordinal", "boolean"):
        return pa.array(values.tolist(), _label_type(column), mask=missing)
    if column.kind == "date":
        return pa.array(values.astype(np.int32), pa.int32(), mask=missing).cast(pa.date32())
    kind = np.int64 if column.kind == "integer" else np.float64
    return pa.array(values.astype(kind), ARROW_TYPES[column.kind], mask=missing)


class ReleasedTables(Mapping[tuple[str, ...], Any]):
    """Several released tables; ask by tuple, list, or text: ``tables["age", "sex"]``, ``tables["age,sex"]``."""

    def __init__(self, frames: Mapping[tuple[str, ...], Any]) -> None:
        self._frames = dict(frames)

    def __getitem__(self, key: str | Sequence[str]) -> Any:
        names = tuple(part.strip() for part in key.split(",")) if isinstance(key, str) else tuple(key)
        if names not in self._frames:
            known = "; ".join(",".join(columns) for columns in self._frames)
            raise KeyError(f"no released table for {','.join(names)}; there are: {known}")
        return self._frames[names]

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(self._frames)

    def __len__(self) -> int:
        return len(self._frames)
