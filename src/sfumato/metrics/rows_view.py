"""Rows of a table as arrays: numbers, level codes and missing values, converted once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import RiskError
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.table import Table, read
from sfumato.table.column_expressions import encodable, select_as
from sfumato.table.encode import can_encode
from sfumato.table.persons import kept_rows
from sfumato.table.rows import OUTSIDE, encode_column, to_array

if TYPE_CHECKING:
    import pyarrow as pa

Codes = NDArray[np.int64]
Points = NDArray[np.float64]
"""One row per record and one column per name: numbers or codes; NaN is a missing value."""
Observes = Literal["values", "bins"]
SEES = ("values", "bins")


@dataclass(frozen=True, eq=False)
class RowsView:
    """The same rows twice: the bins and levels of the schema that they lie in, and the values themselves."""

    codes: Codes
    points: Points
    columns: tuple[Column, ...] = ()
    """What the columns of both are; those who read the rows by place alone may leave it out."""

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, which: Any) -> RowsView:
        return RowsView(self.codes[which], self.points[which], self.columns)

    def by_name(self) -> dict[str, NDArray[Any]]:
        """Return columns as private ones are streamed: numbers with NaN where missing, levels as codes."""
        return {
            column.name: (self.points if column.is_ordered else self.codes)[:, place]
            for place, column in enumerate(self.columns)
        }


def read_rows_view(
    source: Any, schema: Schema, names: Sequence[str], sees: Observes = "values", counting: bool = False
) -> RowsView:
    """Return the rows of any table as an attacker sees them, in the order of the table.

    With ``sees="values"`` ordered columns come as the numbers that they hold, dates as day numbers; with "bins" as the
    number of the public bin that a value lies in. Levels come as codes either way. With ``counting`` of each person as
    many rows come as a release counts.
    """
    columns = _named(schema, names)
    batches = list(_batches(source, schema, columns, counting))
    codes = _within(columns, [_encoded(batch, columns) for batch in batches])
    points = codes.astype(float)
    if sees == "values" and batches:
        points = np.concatenate([_numbers(batch, columns) for batch in batches])
    points[codes == [column.present_size for column in columns]] = np.nan
    return RowsView(codes, points, tuple(columns))


def check_observes(sees: str) -> None:
    """Refuse an attacker who sees neither values nor bins."""
    if sees not in SEES:
        raise RiskError(f"an attacker cannot see {sees!r}", next_step=f"use one of: {', '.join(SEES)}")


def read_codes(source: Any, schema: Schema, names: Sequence[str]) -> Codes:
    """Return the rows of any table as codes, one row per record in the order of the table, one column per name."""
    columns = _named(schema, names)
    return _within(columns, [_encoded(batch, columns) for batch in _batches(source, schema, columns)])


def _within(columns: Sequence[Column], batches: Sequence[Codes]) -> Codes:
    """Return all codes, or refuse rows that do not fit the schema."""
    codes = np.concatenate(batches) if batches else np.empty((0, len(columns)), np.int64)
    outside = (codes == OUTSIDE).sum(axis=0)
    bad = [f"{c.name}: {int(n):,} values outside the schema" for c, n in zip(columns, outside, strict=True) if n]
    if bad:
        raise RiskError("the rows do not fit the schema", bad, "give the schema with which they were made")
    return codes


def _named(schema: Schema, names: Sequence[str]) -> list[Column]:
    if not names:
        raise RiskError("no column is named", next_step=f"name columns of table {schema.name!r}")
    return [_closed(schema, name) for name in names]


def _closed(schema: Schema, name: str) -> Column:
    column = schema[name]
    if column.is_open:
        raise RiskError(f"column {name!r} has no public domain", next_step="name columns with values or bounds")
    return column


def _only(schema: Schema, columns: Sequence[Column]) -> Schema:
    return replace(
        schema, columns=tuple(columns), rules=(), adjacency="add-remove", rows=None, person=None, rows_per_person=1
    )


def _batches(
    source: Any, schema: Schema, columns: Sequence[Column], counting: bool = False
) -> Iterator[pa.RecordBatch]:
    if _is_ready(source, columns):
        yield from source.select([c.name for c in columns]).combine_chunks().to_batches()
        return
    opened = source.source if isinstance(source, Table) else read(source, _only(schema, columns)).source
    raw = opened.engine.table
    if counting and isinstance(source, Table):
        raw = kept_rows(raw, source.schema)
    yield from opened.engine.batches(select_as(raw, {c.name: encodable(raw[c.name], c) for c in columns}))


def _is_ready(source: Any, columns: Sequence[Column]) -> bool:
    """Whether an Arrow table can be encoded as it is: what methods make can, and games make thousands."""
    import pyarrow as pa

    if not isinstance(source, pa.Table):
        return False
    return all(c.name in source.column_names and can_encode(c, source.schema.field(c.name).type) for c in columns)


def _encoded(batch: pa.RecordBatch, columns: Sequence[Column]) -> Codes:
    codes = [encode_column(batch.column(position), column) for position, column in enumerate(columns)]
    return np.column_stack(codes)


def _numbers(batch: pa.RecordBatch, columns: Sequence[Column]) -> Points:
    values = [to_array(batch.column(position), column) for position, column in enumerate(columns)]
    return np.column_stack(values).astype(float)


MOST_REMEMBERED = 10_000
"""Tables that are kept: cells that follow from noise differ in every release, and all would fill memory."""


@dataclass(frozen=True, eq=False)
class CachedCounts(Table):
    """A table whose counts are kept: releasing it a thousand times counts it once.

    Counts are kept by what decides them, the columns with their cells, since a method may count on cells of its own.
    """

    counted: dict[tuple[Column, ...], NDArray[np.int64]] = field(
        default_factory=dict[tuple[Column, ...], NDArray[np.int64]], repr=False
    )

    @classmethod
    def of(cls, table: Table) -> CachedCounts:
        """Return the same rows with a memory."""
        return cls(table.schema, table.source)

    def marginals(self, sets: Any) -> dict[tuple[str, ...], NDArray[np.int64]]:
        """Count what has not been counted yet."""
        wanted = [tuple([names] if isinstance(names, str) else names) for names in sets]
        columns = {names: tuple(self.schema[name] for name in names) for names in wanted}
        known = {names: self.counted[key] for names, key in columns.items() if key in self.counted}
        fresh = [names for names in columns if names not in known]
        counts = super().marginals(fresh) if fresh else {}
        if len(self.counted) < MOST_REMEMBERED:
            self.counted.update({columns[names]: table for names, table in counts.items()})
        return {names: (known | counts)[names].copy() for names in wanted}
