"""Encoding and counting loops in plain NumPy, and the switch to the compiled ones for large tables.

:mod:`sfumato.table.numba_loops` has the same names, arguments and answers. Numba with its compiler takes some 100 MB of
memory and half a second to load; a small table is counted before that.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

NUMPY_STEPS = 1 << 22
"""Values that NumPy encodes or counts in some 30 ms: until then loading Numba would take longer, and 100 MB more."""
FEW_BINS = 12
"""Bins up to which comparing with each of them is faster than a guess."""


def loops_for(steps: int) -> Any:
    """Return the loops for so many steps: NumPy's for few, compiled ones for many.

    >>> loops_for(1000).count_code.__module__
    'sfumato.table.numpy_loops'
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
