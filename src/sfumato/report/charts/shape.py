"""The smooth shape behind a noisy histogram: what the released counts say together. From released numbers alone."""

from __future__ import annotations

import numpy as np

from sfumato.arrays import Array
from sfumato.report.charts.views import View
from sfumato.rows.smooth.density import fit_curve

LEAST_CELLS = 8
"""Fewer cells are read one by one; a curve through them would say nothing more."""
DIGITS = 3
"""Significant digits of a drawn curve: the page is compared byte by byte on other machines, which round otherwise."""
SHAPE_NOTE = (
    "Smooth shape (thin green curve): what the noisy counts say together; computed from the released numbers alone."
)


def smooth_shape(view: View) -> Array | None:
    """Return the smooth curve at the present cells of a one-way view; none without an order, a known noise or cells."""
    if view.widths is None or view.variance <= 0 or len(view.widths) < LEAST_CELLS:
        return None
    present = len(view.widths)
    found = fit_curve(view.counts[:present].astype(float), view.variance * np.eye(present), view.widths)
    return np.array([float(f"{count:.{DIGITS}g}") for count in found.counts])
