"""Values as texts, in the form that the schema states: decimals, zeros at the end, words for true and false, dates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.arrays import Array
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.dialect import Dialect

ISO = "%Y-%m-%d"
PLAIN_DIGITS, LARGEST_DECIMAL = 6, 1e28
compute: Any = pc
"""The functions of Arrow are made when it is imported, so no checker knows them."""


def text_columns(table: pa.Table, schema: Schema) -> list[pa.ChunkedArray]:
    """Return every column of released rows as texts; a missing value is null.

    >>> schema = Schema("t", (Column("price", "number", bounds=(0.0, 9.0), decimals=2, trailing_zeros=True),))
    >>> text_columns(pa.table({"price": [1.5, None]}), schema)[0].to_pylist()
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


def _fixed(numbers: Array, digits: int) -> Any:
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
