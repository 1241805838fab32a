"""The switch between NumPy's loops, for the first steps, and compiled ones where many steps follow."""

from __future__ import annotations

from typing import Any

NUMPY_STEPS = 1 << 22
"""Values that NumPy encodes or counts in some 30 ms: until then loading Numba would take longer, and 100 MB more."""
FEW_BINS = 12
"""Bins up to which comparing with each of them is faster than a guess."""


def kernels_for(steps: int) -> Any:
    """Return the loops for a caller that has so many steps behind and before it; both kinds give the same answers.

    >>> kernels_for(1000).count_code.__module__
    'sfumato.table.numpy_loops'
    """
    if steps <= NUMPY_STEPS:
        from sfumato.table import numpy_loops

        return numpy_loops
    from sfumato.table import numba_loops

    return numba_loops
