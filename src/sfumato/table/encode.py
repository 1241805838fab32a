"""Encode Arrow columns as integer codes of the schema, by loops in NumPy or, for large tables, compiled ones.

:mod:`sfumato.table.numba_loops` has the same names, arguments and answers. Numba with its compiler takes some 100 MB of
memory and half a second to load; a small table is counted before that.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.schema.column import Column

NUMPY_STEPS = 1 << 22
"""Values that NumPy encodes or counts in some 30 ms: until then loading Numba would take longer, and 100 MB more."""
FEW_BINS = 12
"""Bins up to which comparing with each of them is faster than a guess."""


def loops_for(steps: int) -> Any:
    """Return the loops for so many steps: NumPy's for few, compiled ones for many.

    >>> loops_for(1000).count_code.__module__
    'sfumato.table.encode'
    """
    if steps <= NUMPY_STEPS:
        return sys.modules[__name__]
    from sfumato.table import numba_loops

    return numba_loops


def encode_lookup(values: Any, low: int, lookup: Any, outside: int, codes: Any) -> None:
    """Whole numbers by table: ``codes[i] = lookup[values[i] - low]``, or ``outside``."""
    # As in the compiled loop: what lies below wraps round to a very large place.
    place = (values.astype(np.int64) - np.int64(low)).view(np.uint64)
    inside = place < np.uint64(len(lookup))
    codes[:] = np.where(inside, lookup[np.where(inside, place, 0).astype(np.int64)], outside)


def encode_few_bins(values: Any, starts: Any, high: float, outside: int, codes: Any) -> None:
    """Few bins: the number of starts that are not above the value, less one."""
    inside = (values >= starts[0]) & (values <= high)
    codes[:] = np.where(inside, np.searchsorted(starts, values, "right") - 1, outside)


def encode_many_bins(values: Any, starts: Any, high: float, guess: Any, scale: float, outside: int, codes: Any) -> None:
    """Many bins: the guess of the compiled loop is not needed."""
    encode_few_bins(values, starts, high, outside, codes)


def mark_fractions(values: Any, outside: int, codes: Any) -> None:
    """A whole-valued column holds no fractions: mark them as outside."""
    codes[values != np.floor(values)] = outside


def mark_missing(validity: Any, offset: int, missing: int, codes: Any) -> None:
    """Set the code of missing values from Arrow's validity bits."""
    present = np.unpackbits(validity, count=offset + len(codes), bitorder="little")[offset:]
    codes[present == 0] = missing


def count_code(codes: Any, code: int) -> int:
    """Count how often a code occurs."""
    return int(np.count_nonzero(codes == code))


def fill_marginals(codes: Any, rows: int, columns: Any, pointers: Any, strides: Any, offsets: Any, counts: Any) -> None:
    """Count every column set over a batch."""
    for s in range(len(pointers) - 1):
        part = slice(int(pointers[s]), int(pointers[s + 1]))
        fill_large_marginal(codes, rows, columns[part], strides[part], counts[offsets[s] : offsets[s + 1]])


def fill_large_marginal(codes: Any, rows: int, columns: Any, strides: Any, counts: Any) -> None:
    """Count one set, whatever its cells: a large table is touched only where it has rows."""
    places = np.zeros(rows, np.int64)
    for column, stride in zip(columns, strides, strict=True):
        places += codes[column, :rows].astype(np.int64) * stride
    if len(counts) <= rows:
        counts += np.bincount(places, minlength=len(counts))
    else:
        np.add.at(counts, places, 1)


SMALL_OUTSIDE = 255
"""Code of values outside the domain when codes fit into one byte."""
LONGEST_LOOKUP = 1 << 20
GRID_PER_BIN = 4


def narrowest_code_type(columns: list[Column]) -> tuple[Any, int]:
    """Return the narrowest code type for the columns, and the code that stands for outside values."""
    return (np.uint8, SMALL_OUTSIDE) if all(c.size < SMALL_OUTSIDE for c in columns) else (np.int32, -1)


def can_encode(column: Column, kind: pa.DataType) -> bool:
    """Whether an Arrow type needs no conversion by the engine first."""
    if column.outside == "clamp":
        return False
    types = pa.types
    if column.kind == "boolean":
        return types.is_boolean(kind)
    if column.kind == "date":
        return types.is_date32(kind)
    if column.is_ordered or column.has_integer_levels:
        whole = types.is_integer(kind) and not types.is_uint64(kind)
        return whole or types.is_float64(kind) or types.is_float32(kind)
    return is_text_type(kind)


def is_text_type(kind: pa.DataType) -> bool:
    """Whether an Arrow type holds text, plain or as a dictionary."""
    types = pa.types
    value = kind.value_type if types.is_dictionary(kind) else kind
    return types.is_string(value) or types.is_large_string(value) or types.is_string_view(value)


class ColumnEncoder:
    """Encodes Arrow arrays of one column and counts the values outside the public domain."""

    def __init__(self, column: Column, outside: int) -> None:
        self.column = column
        self.bad = outside
        self.missing = column.present_size if column.missing else outside
        self.outside = self.missing if column.unreadable_is_missing else outside
        self.position = {level: code for code, level in enumerate(column.levels)} if not column.is_ordered else {}
        self._steps, self._loops = 0, loops_for(0)
        self._lookup = self._whole_lookup()
        self._guess = self._bin_guess()

    def __call__(self, array: pa.Array, codes: NDArray[Any]) -> int:
        """Fill ``codes`` and return the number of values outside the domain."""
        self._steps += len(array)
        self._loops = loops_for(self._steps)
        if is_text_type(array.type):
            self._encode_text(array, codes)
        else:
            numbers = _plain(array)
            self._encode_numbers(_values(numbers), codes)
            self._mark_missing(numbers, codes)
        return int(self._loops.count_code(codes, self.bad))

    def _encode_text(self, array: pa.Array, codes: NDArray[Any]) -> None:
        encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        codes_of_values = [self.position.get(value, self.outside) for value in encoded.dictionary.to_pylist()]
        indices = encoded.indices
        self._loops.encode_lookup(
            _values(indices), 0, np.array([*codes_of_values, self.bad], codes.dtype), self.bad, codes
        )
        self._mark_missing(indices, codes)

    def _encode_numbers(self, values: NDArray[Any], codes: NDArray[Any]) -> None:
        if self._lookup is not None and values.dtype.kind in "iu":
            low, table = self._lookup
            self._loops.encode_lookup(values, low, table.astype(codes.dtype), self.outside, codes)
        elif self.column.is_ordered:
            self._encode_bins(values.astype(np.float64, copy=False), codes)
        else:
            self._encode_listed(values.astype(np.float64, copy=False), codes)

    def _encode_bins(self, values: NDArray[np.float64], codes: NDArray[Any]) -> None:
        column = self.column
        high = float(column.numeric_bounds[1])
        if column.present_size <= FEW_BINS:
            self._loops.encode_few_bins(values, column.starts, high, self.outside, codes)
        else:
            guess, scale = self._guess
            self._loops.encode_many_bins(values, column.starts, high, guess, scale, self.outside, codes)
        if column.is_discrete:
            self._loops.mark_fractions(values, self.outside, codes)
        if np.isnan(values).any():
            codes[np.isnan(values)] = self.missing

    def _encode_listed(self, values: NDArray[np.float64], codes: NDArray[Any]) -> None:
        levels = np.array(self.column.levels, dtype=np.float64)
        order = np.argsort(levels)
        place = np.minimum(np.searchsorted(levels[order], values), len(levels) - 1)
        codes[:] = np.where(levels[order][place] == values, order[place], self.outside)
        codes[np.isnan(values)] = self.missing

    def _mark_missing(self, array: pa.Array, codes: NDArray[Any]) -> None:
        validity = array.buffers()[0]
        if array.null_count and validity is not None:
            self._loops.mark_missing(np.frombuffer(validity, np.uint8), array.offset, self.missing, codes)

    def _whole_lookup(self) -> tuple[int, NDArray[np.int64]] | None:
        """Return a table from whole numbers to codes, where the range is short enough for one."""
        column = self.column
        if column.is_discrete:
            low, high = (int(bound) for bound in column.numeric_bounds)
            whole = np.arange(low, high + 1) if high - low < LONGEST_LOOKUP else None
            return None if whole is None else (low, np.searchsorted(column.starts, whole, "right") - 1)
        if column.kind == "boolean":
            return 0, np.arange(2)
        if not column.is_ordered and column.has_integer_levels:
            return self._level_lookup([int(level) for level in column.levels])
        return None

    def _level_lookup(self, levels: list[int]) -> tuple[int, NDArray[np.int64]] | None:
        low, high = min(levels), max(levels)
        if high - low >= LONGEST_LOOKUP:
            return None
        table = np.full(high - low + 1, self.outside)
        table[np.array(levels) - low] = np.arange(len(levels))
        return low, table

    def _bin_guess(self) -> tuple[NDArray[np.int64], float]:
        column = self.column
        if not column.is_ordered or column.present_size <= FEW_BINS:
            return np.zeros(1, np.int64), 0.0
        low, high = column.numeric_bounds
        cells = GRID_PER_BIN * column.present_size
        width = max(high - low, 1e-300)
        middles = low + (np.arange(cells) + 0.5) * width / cells
        return np.searchsorted(column.starts, middles, "right") - 1, cells / width


def _plain(array: pa.Array) -> pa.Array:
    """Return numbers as the loops read them: no bits, and no decimals, which engines make of a fractional bound too."""
    if pa.types.is_boolean(array.type):
        return array.cast(pa.int8())
    return array.cast(pa.float64()) if pa.types.is_decimal(array.type) else array


def _values(array: pa.Array) -> NDArray[Any]:
    """View Arrow's numbers without copying; the values under nulls are arbitrary and are masked later."""
    kinds = {pa.date32(): np.dtype(np.int32)}
    dtype = kinds.get(array.type) or np.dtype(array.type.to_pandas_dtype())
    data = array.buffers()[1]
    if data is None:
        return np.zeros(len(array), dtype)
    return np.frombuffer(data, dtype)[array.offset : array.offset + len(array)]
