"""Rows as delimited text, in the dialect of the file that the table came from."""

from __future__ import annotations

import codecs
import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.csv as pa_csv

from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.table.writing.texts import compute, text_columns

UTF8 = "utf-8"


class DelimitedFile:
    """A text file to which tables are written, one behind the other, packed or not."""

    def __init__(self, path: Path, fields: pa.Schema, schema: Schema, packed: bool = False) -> None:
        self._schema, self._encoder = schema, codecs.getincrementalencoder(encoding_of(schema))()
        self._files: list[Any] = [path.open("wb")]
        if packed:  # the file says neither when it was written nor what it was called then
            self._files.insert(0, gzip.GzipFile(filename="", mode="wb", fileobj=self._files[0], mtime=0))
        head = [_quoted(pa.array([name]), schema)[0].as_py() for name in fields.names]
        self._write(delimiter_of(schema).join(head) + "\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for file in self._files:
            file.close()

    def write_table(self, table: pa.Table) -> None:
        """Write rows."""
        if table.num_rows:
            self._write("\n".join(lines_of(table, self._schema)) + "\n")

    def _write(self, text: str) -> None:
        self._files[0].write(self._encoder.encode(text))


def lines_of(table: pa.Table, schema: Schema) -> list[str]:
    """Return the rows as lines: texts are quoted where they must be, and a missing value is its mark."""
    texts = zip(table.column_names, text_columns(table, schema), strict=True)
    quoted = {name: _quoted(column, schema) if _may_need_quotes(schema, name) else column for name, column in texts}
    empty = '""' if table.num_columns == 1 else ""  # an empty line would be no row at all
    fields = [compute.fill_null(column, mark_of(schema, name) or empty) for name, column in quoted.items()]
    return compute.binary_join_element_wise(*fields, delimiter_of(schema)).to_pylist()


def delimiter_of(schema: Schema) -> str:
    """Return what stands between fields."""
    return schema.source.delimiter or ","


def mark_of(schema: Schema, name: str) -> str:
    """Return what stands for a missing value: what the column says, else the first mark of the file, else nothing."""
    own = schema[name].missing_text
    return own if own is not None else schema.source.missing[0] if schema.source.missing else ""


def encoding_of(schema: Schema) -> str:
    """Return the encoding of the file; UTF-8 where it lacks a letter of the public names and values."""
    wanted = schema.source.encoding or UTF8
    texts = [text for column in schema for text in _public_texts(column, schema)]
    try:
        "\n".join(texts).encode(wanted)
    except UnicodeEncodeError:
        return UTF8
    return wanted


def _public_texts(column: Column, schema: Schema) -> Iterator[str]:
    """Yield the texts that may have letters: a column's name, its values, and what stands around or for them."""
    yield from (column.name, *map(str, column.levels), column.prefix or "", column.suffix or "")
    yield mark_of(schema, column.name)
    yield schema.source.thousands or ""


def _may_need_quotes(schema: Schema, name: str) -> bool:
    """Whether a value may hold what ends a field: a text may, a number only where what it is written with does."""
    column = schema[name]
    if column.kind not in ("integer", "number"):
        return True
    marks = f"{schema.source.decimal or '.'}{schema.source.thousands or ''}-+e0123456789"
    return any(sign in f"{marks}{column.prefix or ''}{column.suffix or ''}" for sign in (delimiter_of(schema), '"'))


def _quoted(texts: Any, schema: Schema) -> Any:
    """Return texts in quotes where they hold what ends a field, and where they would be taken for a missing value."""
    strange = re.escape(delimiter_of(schema)) + r'|"|\r|\n'
    own = [column.missing_text for column in schema if column.missing_text]
    marks = pa.array(["", *schema.source.missing, *own], pa.string())
    needed = compute.or_(compute.match_substring_regex(texts, strange), compute.is_in(texts, marks))
    doubled = compute.replace_substring(texts, '"', '""')
    return compute.if_else(needed, compute.binary_join_element_wise('"', doubled, '"', ""), texts)


def holds_same(path: Path, table: pa.Table, schema: Schema) -> bool:
    """Whether a file holds these rows, text by text, in the dialect of the schema."""
    names = table.column_names
    marks = sorted({mark_of(schema, name) for name in names})
    is_bare = len(names) == 1 and marks == [""]
    read = pa_csv.read_csv(
        path,
        read_options=pa_csv.ReadOptions(encoding=encoding_of(schema)),
        parse_options=pa_csv.ParseOptions(delimiter=delimiter_of(schema), newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=marks,
            strings_can_be_null=True,
            quoted_strings_can_be_null=is_bare,
        ),
    )
    texts = pa.table(dict(zip(names, text_columns(table, schema), strict=True)))
    if is_bare:  # where one column stands alone, a missing value is written as an empty text
        texts = pa.table({names[0]: compute.if_else(compute.equal(texts[0], ""), None, texts[0])})
    return bool(read.column_names == names and read.equals(texts.cast(read.schema)))
