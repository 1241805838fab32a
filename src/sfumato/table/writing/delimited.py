"""Write rows as delimited text in the dialect of the source, and compare a file with rows."""

from __future__ import annotations

import codecs
import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from sfumato.arrays import FloatArray
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.dialect import Dialect

ISO = "%Y-%m-%d"
PLAIN_DIGITS, LARGEST_DECIMAL = 6, 1e28
compute: Any = pc
"""The functions of Arrow are made when it is imported, so no checker knows them."""


def format_columns(table: pa.Table, schema: Schema) -> list[pa.ChunkedArray]:
    """Return every column of released rows as texts; a missing value is null.

    >>> schema = Schema("t", (Column("price", "number", bounds=(0.0, 9.0), decimals=2, trailing_zeros=True),))
    >>> format_columns(pa.table({"price": [1.5, None]}), schema)[0].to_pylist()
    ['1.50', None]
    """
    return [_texts(schema[name], table.column(name), schema.source) for name in table.column_names]


def _texts(column: Column, values: pa.ChunkedArray, dialect: Dialect) -> pa.ChunkedArray:
    if column.kind == "boolean":
        return compute.if_else(values, column.true or "true", column.false or "false")
    if column.kind == "date":
        return compute.strftime(values, format=column.date_format or dialect.date_format or ISO)
    if column.kind == "number":
        texts = values.cast(pa.string()) if column.decimals is None else _decimal_texts(column, values)
    elif column.kind == "integer" or column.has_integer_levels:
        texts = compute.binary_join_element_wise(values.cast(pa.string()), "0" * _least_digits(column), ".")
        texts = compute.utf8_rtrim(texts, ".") if not _least_digits(column) else texts
    else:
        return values
    texts = texts if dialect.decimal in (None, ".") else compute.replace_substring(texts, ".", dialect.decimal)
    texts = _grouped(texts, dialect.thousands) if column.grouped and dialect.thousands else texts
    return _within(column, texts) if column.prefix or column.suffix else texts


def _grouped(texts: Any, mark: str) -> Any:
    """Return numbers with a mark between thousands.

    >>> _grouped(pa.array(["-1234567,5", "999", "1000"]), ".").to_pylist()
    ['-1.234.567,5', '999', '1.000']
    """
    long = r"^(-?\d+)(\d{3})($|\D)"
    while compute.any(compute.match_substring_regex(texts, long)).as_py():
        texts = compute.replace_substring_regex(texts, long, rf"\1{mark}\2\3")
    return texts


def _within(column: Column, texts: Any) -> Any:
    """Return numbers with what stands around them; a minus comes first."""
    sign = compute.if_else(compute.starts_with(texts, "-"), f"-{column.prefix or ''}", column.prefix or "")
    return compute.binary_join_element_wise(sign, compute.utf8_ltrim(texts, "-"), column.suffix or "", "")


def _fixed(numbers: FloatArray, digits: int) -> Any:
    """Return numbers with so many decimals. Arrow is ten times as fast, but writes the smallest with an exponent."""
    if digits <= PLAIN_DIGITS and (np.abs(numbers) < LARGEST_DECIMAL).all():
        return pa.array(numbers).cast(pa.decimal128(38, digits)).cast(pa.string())
    return pa.array([f"{number:.{digits}f}" for number in numbers.tolist()], pa.string())


def _least_digits(column: Column) -> int:
    """Return how many decimals are always written."""
    decimals = column.decimals or 0
    return decimals if column.trailing_zeros is True else int(column.trailing_zeros)


def _decimal_texts(column: Column, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return numbers with their decimals, without the zeros at the end that are not always written."""
    most, least = column.decimals or 0, _least_digits(column)
    numbers = values.fill_null(0.0).to_numpy()
    rounded = np.round(numbers, most) + 0.0  # no minus before a zero
    texts = _fixed(rounded, most)
    if least < most:
        kept = compute.utf8_slice_codeunits(texts, 0, stop=least - most)
        cut = compute.utf8_rtrim(compute.utf8_slice_codeunits(texts, start=least - most), "0")
        texts = compute.utf8_rtrim(compute.binary_join_element_wise(kept, cut, ""), ".")
    return pa.chunked_array([compute.if_else(values.combine_chunks().is_valid(), texts, pa.scalar(None, pa.string()))])


UTF8 = "utf-8"


class DelimitedFile:
    """A text file to which tables are written, one behind the other, packed or not."""

    def __init__(self, path: Path, fields: pa.Schema, schema: Schema, packed: bool = False) -> None:
        self._schema, self._encoder = schema, codecs.getincrementalencoder(output_encoding(schema))()
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
            self._write("\n".join(to_lines(table, self._schema)) + "\n")

    def _write(self, text: str) -> None:
        self._files[0].write(self._encoder.encode(text))


def to_lines(table: pa.Table, schema: Schema) -> list[str]:
    """Return the rows as lines: texts are quoted where they must be, and a missing value is its mark."""
    texts = zip(table.column_names, format_columns(table, schema), strict=True)
    quoted = {name: _quoted(column, schema) if _may_need_quotes(schema, name) else column for name, column in texts}
    empty = '""' if table.num_columns == 1 else ""  # an empty line would be no row at all
    fields = [compute.fill_null(column, missing_marker(schema, name) or empty) for name, column in quoted.items()]
    return compute.binary_join_element_wise(*fields, delimiter_of(schema)).to_pylist()


def delimiter_of(schema: Schema) -> str:
    """Return the delimiter."""
    return schema.source.delimiter or ","


def missing_marker(schema: Schema, name: str) -> str:
    """Return the text of a missing value: the column's, else the first mark of the file, else none."""
    own = schema[name].missing_text
    return own if own is not None else schema.source.missing[0] if schema.source.missing else ""


def output_encoding(schema: Schema) -> str:
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
    yield missing_marker(schema, column.name)
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


def text_file_matches_rows(path: Path, table: pa.Table, schema: Schema) -> bool:
    """Whether a file holds these rows, text by text, in the dialect of the schema."""
    names = table.column_names
    marks = sorted({missing_marker(schema, name) for name in names})
    is_bare = len(names) == 1 and marks == [""]
    read = pa_csv.read_csv(
        path,
        read_options=pa_csv.ReadOptions(encoding=output_encoding(schema)),
        parse_options=pa_csv.ParseOptions(delimiter=delimiter_of(schema), newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=marks,
            strings_can_be_null=True,
            quoted_strings_can_be_null=is_bare,
        ),
    )
    texts = pa.table(dict(zip(names, format_columns(table, schema), strict=True)))
    if is_bare:  # where one column stands alone, a missing value is written as an empty text
        texts = pa.table({names[0]: compute.if_else(compute.equal(texts[0], ""), None, texts[0])})
    return bool(read.column_names == names and read.equals(texts.cast(read.schema)))
