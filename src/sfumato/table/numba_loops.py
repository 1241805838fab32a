"""Compiled loops: values to codes, and codes to counts. They release the GIL, so that workers run side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.jit import jit

BLOCK = 8192
"""Rows whose fused cell numbers stay in the first-level cache."""


@jit
def encode_lookup(values: Any, low: int, lookup: Any, outside: int, codes: Any) -> None:
    """Whole numbers by table: ``codes[i] = lookup[values[i] - low]``, or ``outside``."""
    length = np.uint64(lookup.shape[0])
    base = np.int64(low)
    for i in range(values.shape[0]):
        place = np.uint64(np.int64(values[i]) - base)
        codes[i] = lookup[place] if place < length else outside


@jit
def encode_few_bins(values: Any, starts: Any, high: float, outside: int, codes: Any) -> None:
    """Few bins: count the starts that are not above the value, without branches."""
    bins = starts.shape[0]
    for first in range(0, values.shape[0], BLOCK):
        last = min(values.shape[0], first + BLOCK)
        for i in range(first, last):
            codes[i] = 0
        for k in range(1, bins):
            start = starts[k]
            for i in range(first, last):
                codes[i] += 1 if values[i] >= start else 0
        for i in range(first, last):
            inside = (values[i] >= starts[0]) & (values[i] <= high)
            codes[i] = codes[i] if inside else outside


@jit
def encode_many_bins(values: Any, starts: Any, high: float, guess: Any, scale: float, outside: int, codes: Any) -> None:
    """Many bins: a guess on a uniform grid, then exact steps to the bin that the edges say."""
    bins = starts.shape[0]
    low = starts[0]
    cells = guess.shape[0]
    for i in range(values.shape[0]):
        value = values[i]
        if (value >= low) & (value <= high):
            k = np.int64(guess[min(np.int64((value - low) * scale), cells - 1)])
            while k > 0 and value < starts[k]:
                k -= 1
            while k < bins - 1 and value >= starts[k + 1]:
                k += 1
            codes[i] = k
        else:
            codes[i] = outside


@jit
def mark_fractions(values: Any, outside: int, codes: Any) -> None:
    """A whole-valued column holds no fractions: mark them as outside."""
    for i in range(values.shape[0]):
        if values[i] != np.floor(values[i]):
            codes[i] = outside


@jit
def mark_missing(validity: Any, offset: int, missing: int, codes: Any) -> None:
    """Set the code of missing values from Arrow's validity bits."""
    for i in range(codes.shape[0]):
        bit = i + offset
        if not (validity[bit >> 3] >> np.uint8(bit & 7)) & 1:
            codes[i] = missing


@jit
def count_code(codes: Any, code: int) -> int:
    """Count how often a code occurs."""
    times = 0
    for i in range(codes.shape[0]):
        times += 1 if codes[i] == code else 0
    return times


@jit
def fill_marginals(codes: Any, rows: int, columns: Any, pointers: Any, strides: Any, offsets: Any, counts: Any) -> None:
    """Count every column set over a batch: fuse the codes of a block into cell numbers, then increment."""
    cell = np.empty(BLOCK, dtype=np.int32)
    for first in range(0, rows, BLOCK):
        length = min(BLOCK, rows - first)
        for s in range(pointers.shape[0] - 1):
            for i in range(length):
                cell[i] = 0
            for p in range(pointers[s], pointers[s + 1]):
                column = codes[columns[p], first : first + length]
                stride = np.int32(strides[p])
                for i in range(length):
                    cell[i] += np.int32(column[i]) * stride
            table = counts[offsets[s] : offsets[s + 1]]
            for i in range(length):
                table[cell[i]] += 1


@jit
def fill_large_marginal(codes: Any, rows: int, columns: Any, strides: Any, counts: Any) -> None:
    """Count one set whose cells need more than 31 bits."""
    for i in range(rows):
        place = np.int64(0)
        for p in range(columns.shape[0]):
            place += np.int64(codes[columns[p], i]) * strides[p]
        counts[place] += 1
