"""Does a copy in another format hold the rows that it should? It is read as any table of the user is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.schema import Schema
from sfumato.schema.dialect import Dialect
from sfumato.table.sources import open_source
from sfumato.table.values import typed
from sfumato.table.writing.formats import COPIES, copy_suffix
from sfumato.table.writing.texts import compute


def holds_rows(path: Path, table: pa.Table, schema: Schema) -> bool:
    """Whether a file holds these rows, value by value; a text without letters and no text at all are the same there."""
    columns = [schema[name] for name in table.column_names]
    opened = open_source(path, _dialect(path, schema), columns)
    raw = opened.engine.table
    if list(raw.columns) != table.column_names:
        return False
    values = raw.select(**{column.name: typed(raw[column.name], column) for column in columns})
    batches = list(opened.engine.batches(values))
    found = pa.Table.from_batches(batches) if batches else table.schema.empty_table()
    pairs = zip(found.columns, table.columns, strict=True)
    return found.num_rows == table.num_rows and all(_same(mine, theirs) for mine, theirs in pairs)


def _dialect(path: Path, schema: Schema) -> Dialect:
    """Return how a copy is written: as the source where it has its format; otherwise only dates are written alike."""
    if path.suffix not in COPIES.values() or path.suffix == copy_suffix(schema):
        return schema.source
    return Dialect(date_format=schema.source.date_format, format=path.suffix.removeprefix("."))


def _same(found: Any, wanted: Any) -> bool:
    if pa.types.is_string(wanted.type):
        wanted = compute.if_else(compute.equal(wanted, ""), None, wanted)
        found = compute.if_else(compute.equal(found, ""), None, found)
    return bool(found.cast(wanted.type).equals(wanted))
