"""Do the data files of a bundle hold the values that they should: the same in every format, cells and rows that fit?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from sfumato.report.bundle import DOCUMENT
from sfumato.report.document import ReleasedTable, released_schema
from sfumato.schema import Schema
from sfumato.table.frames import cell_table
from sfumato.table.writing.delimited import holds_same


def value_problems(schema: Schema, listed: ReleasedTable, table: pa.Table) -> Iterator[str]:
    """Yield what does not fit in a released table of any kind."""
    look = {"rows": _row_problems, "counts": _cell_problems, "values": _finite_problems}[listed.kind]
    yield from look(schema, listed, table)


def holds_text(path: Path, schema: Schema, listed: ReleasedTable, table: pa.Table) -> bool:
    """Whether a text file holds a table: rows in the dialect of the schema, all else (and older bundles) plainly."""
    if listed.kind != "rows" or not set(table.column_names) <= set(schema.names):
        return bool(_read_csv(path, table.schema).equals(table))
    for holds in (holds_same, lambda *_: _read_csv(path, table.schema).equals(table)):
        with suppress(
            ValueError, UnicodeError, pa.ArrowException
        ):  # it cannot be read so, and hence holds something else
            if holds(path, table, schema):
                return True
    return False


def _read_csv(path: Path, schema: pa.Schema) -> pa.Table:
    types = {field.name: field.type for field in schema}
    convert = pa_csv.ConvertOptions(
        column_types=types, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    parse = pa_csv.ParseOptions(newlines_in_values=True)
    return pa_csv.read_csv(path, parse_options=parse, convert_options=convert)


def _cell_problems(schema: Schema, listed: ReleasedTable, table: pa.Table) -> Iterator[str]:
    expected = cell_table([schema[name] for name in listed.columns], np.zeros(schema.shape(listed.columns), np.int64))
    if table.schema.remove_metadata() != expected.schema.remove_metadata():
        yield f"{listed.parquet} has columns {', '.join(table.column_names)}, not {', '.join(expected.column_names)}"
        return
    labels = expected.column_names[:-1]
    if table.num_rows != expected.num_rows or not table.select(labels).equals(expected.select(labels)):
        yield f"{listed.parquet} does not hold exactly the {expected.num_rows:,} cells of {' x '.join(listed.columns)}"
    if table.column(table.num_columns - 1).null_count:
        yield f"{listed.parquet} has cells without a count"


def _row_problems(schema: Schema, listed: ReleasedTable, table: pa.Table) -> Iterator[str]:
    from sfumato.table import read

    names = tuple(table.column_names)
    if names != listed.columns or not set(names) <= set(schema.releasable):
        yield f"{listed.parquet} has columns that may not be released, or not those that {DOCUMENT} lists"
        return
    violations = read(table, released_schema(schema, names)).check()
    yield from (f"{listed.parquet}: {violation}" for violation in violations)


def _finite_problems(schema: Schema, listed: ReleasedTable, table: pa.Table) -> Iterator[str]:
    if tuple(table.column_names) != listed.columns:
        yield f"{listed.parquet} has columns {', '.join(table.column_names)}, not those that {DOCUMENT} lists"
    for name, column in zip(table.column_names, table.columns, strict=True):
        numbers = column.to_numpy() if pa.types.is_floating(column.type) else np.zeros(0)
        if column.null_count or not np.isfinite(numbers).all():
            yield f"{listed.parquet} has values of {name} that are missing or not finite"
