"""The smooth shape behind a noisy histogram: what the released counts say together. From released numbers alone."""

from __future__ import annotations

import numpy as np

from sfumato.arrays import Array
from sfumato.rows.smooth.density import fit_curve

LEAST_CELLS, MOST_CELLS = 8, 110
"""Fewer cells are read one by one, and a curve would say nothing more; a curve costs the third power of its cells."""
DIGITS = 3
"""Significant digits of a drawn curve: the page is compared byte by byte on other machines, which round otherwise."""


def smooth_shape(counts: Array, widths: Array, variance: float) -> Array | None:
    """Return the smooth curve at the cells of a column with an order; none without a known noise or with few cells."""
    if variance <= 0 or not LEAST_CELLS <= len(counts) <= MOST_CELLS:
        return None
    found = fit_curve(counts.astype(float), variance * np.eye(len(counts)), widths)
    return np.array([float(f"{count:.{DIGITS}g}") for count in found.counts])
