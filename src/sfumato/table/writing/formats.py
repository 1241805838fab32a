"""Write rows as Excel, SPSS, Stata, JSON lines, SQLite or Parquet, and compare a file with rows.

Files say nothing of when they were written, so that a release saved twice gives the same bytes.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import importlib.util
import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.errors import MissingExtra, TableError
from sfumato.lazy import load_object
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.dialect import FILE_FORMATS, Dialect
from sfumato.table.column_expressions import cast_to_kind, select_as
from sfumato.table.sources import open_source
from sfumato.table.sources.normalise_text import sql_identifier
from sfumato.table.writing.delimited import DelimitedFile, compute
from sfumato.table.writing.frames import value_array

EPOCH = dt.datetime(1970, 1, 1)
MOST_SHEET_ROWS = 1_048_575
"""Rows of a worksheet below its header."""
SHEET_NAME, LONGEST_SHEET_NAME = "data", 31
TIMESTAMP_PATTERNS = {".sav": rb"(?s)(?<=^.{92}).{17}", ".dta": rb"(?s)(?<=<timestamp>\x11).{17}"}
"""Where a program writes the time into a file."""
NO_TIME = {".sav": b"01 Jan 7000:00:00", ".dta": b"01 Jan 1970 00:00"}
EXTRAS = {each.copy: each.package for each in FILE_FORMATS.values() if each.copy and each.package}
"""Packages that a format needs, by the ending of the file."""
INSTALL = "pip install 'sfumato[formats]'"
COPIES = {name: each.copy for name, each in FILE_FORMATS.items() if each.copy}
"""The ending of the copy in the source's own format, by that format."""


def copy_suffix(schema: Schema) -> str | None:
    """Return the ending of the file that a bundle holds beside CSV and Parquet: the table came in its format."""
    return COPIES.get(schema.source.format or "")


def requested_suffixes(also: Sequence[str]) -> tuple[str, ...]:
    """Return the endings of the requested copies; refuse unknown formats and missing packages.

    >>> requested_suffixes(["jsonl", ".sqlite"])
    ('.jsonl', '.sqlite')
    """
    known = sorted(set(COPIES.values()))
    asked = [name if name.startswith(".") else f".{name}" for name in also]
    if strange := [f"{name!r} is none of {', '.join(known)}" for name in asked if name not in known]:
        raise TableError("unknown file format", strange, "leave it out: CSV and Parquet are always there")
    for suffix in asked:
        require_installed(suffix)
    return tuple(dict.fromkeys(asked))


def copy_suffixes(schema: Schema, also: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the endings of all copies of rows: in the source's own format where that is possible, and as asked."""
    own = copy_suffix(schema)
    suffixes = [own] if own is not None and is_installed(own) else []
    return tuple(dict.fromkeys((*suffixes, *requested_suffixes(also))))


def dry_run_copies(schema: Schema, also: Sequence[str]) -> None:
    """Refuse formats that cannot hold the columns of a schema, by writing no rows at all: before anything is spent."""
    columns = {name: value_array(schema[name], np.zeros(0), np.zeros(0, bool)) for name in schema.releasable}
    with TemporaryDirectory() as folder:
        for suffix in requested_suffixes(also):
            write_copy(Path(folder) / f"none{suffix}", pa.table(columns), schema)


def write_copy(path: Path, table: pa.Table, schema: Schema) -> None:
    """Write rows in the format that the ending of a path names."""
    with WRITERS[path.suffix](path, table.schema, schema) as file:
        file.write_table(table)


def is_installed(suffix: str) -> bool:
    """Whether the package that a format needs is installed."""
    return suffix not in EXTRAS or importlib.util.find_spec(EXTRAS[suffix]) is not None


def require_installed(suffix: str) -> None:
    """Refuse a format whose package is not there."""
    if not is_installed(suffix):
        raise MissingExtra(f"{suffix} files need {EXTRAS[suffix]}", next_step=INSTALL)


def note_on_copy(schema: Schema) -> str | None:
    """Say which copy of the rows will not be written here, or None."""
    suffix = copy_suffix(schema)
    if suffix is None or is_installed(suffix):
        return None
    return f"the table came as {schema.source.format}, but data{suffix} needs {EXTRAS[suffix]}: {INSTALL}"


@dataclass
class BufferedFile:
    """A file of a format that is written in one go: tables are kept until it is closed."""

    path: Path
    fields: pa.Schema
    schema: Schema
    writer: str
    """Address of the function that writes rows to a path."""
    tables: list[pa.Table] = field(default_factory=list[pa.Table])

    def __enter__(self) -> Self:
        return self

    def write_table(self, table: pa.Table) -> None:
        """Keep rows."""
        self.tables.append(table)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            table = pa.concat_tables(self.tables) if self.tables else self.fields.empty_table()
            load_object(self.writer)(self.path, table, self.schema)


def write_jsonl(path: Path, table: pa.Table, schema: Schema) -> None:
    """Write one JSON object per row, in the types of the schema; dates as the source writes them."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for batch in table.to_batches():
            for row in batch.to_pylist():
                plain = {name: _json_value(schema, schema[name], value) for name, value in row.items()}
                file.write(json.dumps(plain, ensure_ascii=False) + "\n")


def _json_value(schema: Schema, column: Column, value: Any) -> Any:
    if isinstance(value, dt.date):
        return value.strftime(column.date_format or schema.source.date_format or "%Y-%m-%d")
    return value


def write_sqlite(path: Path, table: pa.Table, schema: Schema) -> None:
    """Write a database with one table, named as in the source, or like the schema."""
    kinds = {"integer": "INTEGER", "number": "REAL", "boolean": "INTEGER"}
    named = schema.source.sheet if isinstance(schema.source.sheet, str) else schema.name
    columns = ", ".join(f"{sql_identifier(n)} {_sql_kind(schema[n], kinds)}" for n in table.column_names)
    places = ", ".join("?" * table.num_columns)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE {sql_identifier(named)} ({columns})")
        connection.executemany(f"INSERT INTO {sql_identifier(named)} VALUES ({places})", _sql_rows(table))  # noqa: S608


def _sql_kind(column: Column, kinds: dict[str, str]) -> str:
    return "INTEGER" if column.has_integer_levels else kinds.get(column.kind, "TEXT")


def _sql_rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    for batch in table.to_batches():
        for row in batch.to_pylist():
            yield tuple(value.isoformat() if isinstance(value, dt.date) else value for value in row.values())


def write_xlsx(path: Path, table: pa.Table, schema: Schema) -> None:
    """Write a workbook with one sheet: texts stay texts, also those that look like formulas."""
    require_installed(".xlsx")
    if table.num_rows > MOST_SHEET_ROWS:
        raise TableError(f"a sheet holds {MOST_SHEET_ROWS:,} rows, not {table.num_rows:,}", next_step="write CSV")
    import xlsxwriter

    options = {"constant_memory": True, "default_date_format": "yyyy-mm-dd"}
    with xlsxwriter.Workbook(str(path), options) as book:
        book.set_properties({"created": EPOCH})
        sheet = book.add_worksheet(_sheet_name(schema))
        for place, name in enumerate(table.column_names):
            sheet.write_string(0, place, name)
        formats = [
            book.add_format({"num_format": code}) if (code := _cell_format(schema[n])) else None
            for n in table.column_names
        ]
        for number, row in enumerate(_rows(table), 1):
            for place, value in enumerate(row):
                _write_cell(sheet, number, place, value, formats[place])


def _sheet_name(schema: Schema) -> str:
    named = schema.source.sheet if isinstance(schema.source.sheet, str) else SHEET_NAME
    return re.sub(r"[\[\]:*?/\\]", "_", named)[:LONGEST_SHEET_NAME]


def _cell_format(column: Column) -> str | None:
    """Return how a sheet shows the values of a column."""
    if column.kind == "date":
        return "yyyy-mm-dd"
    return f"0.{'0' * column.decimals}" if column.decimals and column.trailing_zeros is True else None


def _write_cell(sheet: Any, row: int, place: int, value: Any, form: Any) -> None:
    if value is None:
        return
    if isinstance(value, bool):
        sheet.write_boolean(row, place, value)
    elif isinstance(value, dt.date):
        sheet.write_datetime(row, place, dt.datetime(value.year, value.month, value.day), form)
    elif isinstance(value, str):
        sheet.write_string(row, place, value)
    else:
        sheet.write_number(row, place, value, form)


def _rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    for batch in table.to_batches():
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def write_sav(path: Path, table: pa.Table, schema: Schema) -> None:
    """Write a file of SPSS, with the descriptions of columns and the labels of values."""
    _write_labelled(path, table, schema, ".sav")


def write_dta(path: Path, table: pa.Table, schema: Schema) -> None:
    """Write a file of Stata, with the descriptions of columns and the labels of values."""
    _write_labelled(path, table, schema, ".dta")


def _write_labelled(path: Path, table: pa.Table, schema: Schema, suffix: str) -> None:
    require_installed(suffix)
    import pyreadstat

    frame = table.to_pandas(date_as_object=True)
    columns = [schema[name] for name in table.column_names]
    flags = [column.name for column in columns if column.kind == "boolean"]
    frame = frame.astype(dict.fromkeys(flags, "float64"))
    write: Any = pyreadstat.write_sav if suffix == ".sav" else pyreadstat.write_dta
    labels = {column.name: column.description for column in columns if column.description}
    meanings = {column.name: dict(column.value_labels) for column in columns if column.value_labels}
    try:
        write(frame, str(path), column_labels=labels, variable_value_labels=meanings)
    except pyreadstat.PyreadstatError as error:
        raise TableError(f"{suffix} files cannot hold these rows: {error}", next_step="write CSV or Parquet") from error
    path.write_bytes(re.sub(TIMESTAMP_PATTERNS[suffix], NO_TIME[suffix], path.read_bytes(), count=1))


def _parquet(path: Path, fields: pa.Schema, schema: Schema) -> Any:
    return pq.ParquetWriter(path, fields)


def _with_tabs(schema: Schema) -> Schema:
    return dataclasses.replace(schema, source=dataclasses.replace(schema.source, delimiter="\t"))


WRITERS: dict[str, Callable[[Path, pa.Schema, Schema], Any]] = {
    ".parquet": _parquet,
    ".csv": DelimitedFile,
    ".csv.gz": partial(DelimitedFile, packed=True),
    ".tsv": lambda path, fields, schema: DelimitedFile(path, fields, _with_tabs(schema)),
    **{
        each.copy: partial(BufferedFile, writer=each.writer)
        for each in FILE_FORMATS.values()
        if each.copy and each.writer
    },
}
"""What opens a file for rows, by the ending of its name: a context with ``write_table``."""


def suffix_of(path: str | Path) -> str | None:
    """Return the ending of a file name among those that can be written, or None.

    >>> suffix_of("people.CSV.gz"), suffix_of("people.doc")
    ('.csv.gz', None)
    """
    name = Path(path).name.lower()
    return next((suffix for suffix in WRITERS if name.endswith(suffix)), None)


def file_matches_rows(path: Path, table: pa.Table, schema: Schema) -> bool:
    """Whether a file holds these rows, value by value; a text without letters and no text at all are the same there."""
    columns = [schema[name] for name in table.column_names]
    opened = open_source(path, _dialect(path, schema), columns)
    raw = opened.engine.table
    if list(raw.columns) != table.column_names:
        return False
    values = select_as(raw, {column.name: cast_to_kind(raw[column.name], column) for column in columns})
    batches = list(opened.engine.batches(values))
    stored = pa.Table.from_batches(batches) if batches else table.schema.empty_table()
    pairs = zip(stored.columns, table.columns, strict=True)
    return stored.num_rows == table.num_rows and all(_same(mine, theirs) for mine, theirs in pairs)


def _dialect(path: Path, schema: Schema) -> Dialect:
    """Return how a copy is written: as the source where it has its format; otherwise only dates are written alike."""
    if path.suffix not in COPIES.values() or path.suffix == copy_suffix(schema):
        return schema.source
    return Dialect(date_format=schema.source.date_format, format=path.suffix.removeprefix("."))


def _same(stored: Any, wanted: Any) -> bool:
    if pa.types.is_string(wanted.type):
        wanted = compute.if_else(compute.equal(wanted, ""), None, wanted)
        stored = compute.if_else(compute.equal(stored, ""), None, stored)
    return bool(stored.cast(wanted.type).equals(wanted))
