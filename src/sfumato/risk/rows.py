"""Rows as codes of the public schema, and how far two rows are apart: what attacks on rows work with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.columns import Column
from sfumato.errors import RiskError
from sfumato.schema import Schema
from sfumato.table import Table, read
from sfumato.table.encode import can_encode
from sfumato.table.rows import OUTSIDE, encode_column
from sfumato.table.values import countable

if TYPE_CHECKING:
    import pyarrow as pa

Codes = NDArray[np.int64]
Array = NDArray[np.float64]
CHUNK = 4_000_000
"""Distances that are held in memory at once."""
COMPARED = 2000
"""Other rows with which each row is compared when the most exposed one is looked for."""


def codes_of(source: Any, schema: Schema, names: Sequence[str]) -> Codes:
    """Return the rows of any table as codes, one row per record in the order of the table, one column per name."""
    columns = [_closed(schema, name) for name in names]
    if not columns:
        raise RiskError("no column is named", next_step=f"name columns of table {schema.name!r}")
    batches = [_encoded(batch, columns) for batch in _batches(source, schema, columns)]
    codes = np.concatenate(batches) if batches else np.empty((0, len(columns)), np.int64)
    outside = [f"{c.name}: {int(n):,} values outside the schema"
               for c, n in zip(columns, (codes == OUTSIDE).sum(axis=0), strict=True) if n]  # fmt: skip
    if outside:
        raise RiskError("the rows do not fit the schema", outside, "give the schema with which they were made")
    return codes


def _closed(schema: Schema, name: str) -> Column:
    column = schema[name]
    if column.is_open:
        raise RiskError(f"column {name!r} has no public domain", next_step="name columns with values or bounds")
    return column


def _only(schema: Schema, columns: Sequence[Column]) -> Schema:
    return replace(schema, columns=tuple(columns), rules=(), rows=None, person=None, rows_per_person=1)


def _batches(source: Any, schema: Schema, columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
    if _is_ready(source, columns):
        yield from source.select([c.name for c in columns]).combine_chunks().to_batches()
        return
    opened = source.source if isinstance(source, Table) else read(source, _only(schema, columns)).source
    raw = opened.engine.table
    yield from opened.engine.batches(raw.select(**{c.name: countable(raw[c.name], c) for c in columns}))


def _is_ready(source: Any, columns: Sequence[Column]) -> bool:
    """Whether an Arrow table can be encoded as it is: what methods make can, and games make thousands."""
    import pyarrow as pa

    if not isinstance(source, pa.Table):
        return False
    return all(c.name in source.column_names and can_encode(c, source.schema.field(c.name).type) for c in columns)


def _encoded(batch: pa.RecordBatch, columns: Sequence[Column]) -> Codes:
    codes = [encode_column(batch.column(position), column) for position, column in enumerate(columns)]
    return np.column_stack(codes)


MOST_REMEMBERED = 10_000
"""Tables that are kept: cells that follow from noise differ in every release, and all would fill memory."""


@dataclass(frozen=True, eq=False)
class Remembered(Table):
    """A table whose counts are kept: releasing it a thousand times counts it once.

    Counts are kept by what decides them, the columns with their cells, since a method may count on cells of its own.
    """

    counted: dict[tuple[Column, ...], NDArray[np.int64]] = field(
        default_factory=dict[tuple[Column, ...], NDArray[np.int64]], repr=False
    )

    @classmethod
    def of(cls, table: Table) -> Remembered:
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


@dataclass(frozen=True)
class Distance:
    """Gower's distance on codes: the mean over columns of 0 to 1 each.

    Levels differ or not; ordered columns and ordinals differ by their share of the range; a missing value differs
    wholly from every present one.
    """

    columns: tuple[Column, ...]

    @classmethod
    def of(cls, schema: Schema, names: Sequence[str]) -> Distance:
        """Return the distance on the named columns."""
        return cls(tuple(schema[name] for name in names))

    def between(self, left: Codes, right: Codes) -> Array:
        """Return all distances, one row per left row and one column per right row."""
        total = np.zeros((len(left), len(right)))
        for position, column in enumerate(self.columns):
            total += _apart(column, left[:, position, None], right[None, :, position])
        return total / max(len(self.columns), 1)

    def nearest(self, left: Codes, right: Codes) -> tuple[Array, Codes]:
        """Return for each left row the smallest distance and the position of the (first) nearest right row."""
        step = max(CHUNK // max(len(right), 1), 1)
        parts = [self.between(left[start : start + step], right) for start in range(0, len(left), step)]
        places = np.concatenate([part.argmin(axis=1) for part in parts])
        return np.concatenate([part.min(axis=1) for part in parts]), places


def _apart(column: Column, left: Codes, right: Codes) -> Array:
    if column.kind not in ("ordinal", "integer", "number", "date"):
        return (left != right).astype(float)
    span = max(column.present_size - 1, 1)
    gap = np.abs(left - right) / span
    one_missing = (left == column.present_size) != (right == column.present_size)
    return np.where(one_missing, 1.0, np.minimum(gap, 1.0))


def most_exposed(codes: Codes, distance: Distance, generator: np.random.Generator) -> int:
    """Return the row that stands furthest from all others: the person whom a release of rows protects least."""
    if len(codes) < 2:
        return 0
    chosen = generator.permutation(len(codes))[: COMPARED + 1]
    others = codes[chosen]
    second = np.empty(len(codes))
    step = max(CHUNK // len(others), 1)
    for start in range(0, len(codes), step):
        part = distance.between(codes[start : start + step], others)
        part[chosen[None, :] == np.arange(start, start + len(part))[:, None]] = np.inf
        second[start : start + step] = part.min(axis=1)
    return int(second.argmax())
