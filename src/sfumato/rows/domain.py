"""Numbers as values of a column: inside its bounds, and whole where the column is whole."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.schema.column import Column


def into_domain(column: Column, raw: NDArray[np.float64]) -> tuple[NDArray[Any], int]:
    """Return values in the column's own domain (codes for levels), and how many lay outside its bounds."""
    if not column.is_ordered:
        return raw.astype(np.int64), 0
    low, high = (float(bound) for bound in column.numeric_bounds)
    outside = int(((raw < low) | (raw > high)).sum())
    inside = np.clip(raw, low, high)
    return (np.rint(inside) if column.is_discrete else inside), outside
