"""Values in fine cells: uniform within a cell, and exact where a cell is a single number that was set apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Array
from sfumato.rows.lattice import written
from sfumato.rows.smooth.fine import cut_column, point_width
from sfumato.rows.values import Masked, values_at
from sfumato.schema.column import Column


def fine_values(column: Column, codes: NDArray[np.int64], places: Array) -> Masked:
    """Return the value at a place in [0, 1) of each fine cell and which are missing; exact where a cell is a point.

    Points are narrower than any other cell and would decide how many decimals are drawn: they join their neighbours
    for the draw, and their rows are written over. Where the schema says how values are written, nothing is decided.
    """
    points = _point_values(column) if written(column) is None else None
    if points is None:
        return values_at(column, codes, places)
    smooth, cell = _without_points(column, ~np.isnan(points))
    values, missing = values_at(smooth, np.append(cell, smooth.present_size)[codes], places)
    exact = np.append(points, np.nan)[codes]
    return np.where(np.isnan(exact), values, exact), missing


def _point_values(column: Column) -> NDArray[np.float64] | None:
    """Return the number that stands for each cell which refining set apart, NaN for other cells; None without any."""
    width = point_width(column) if column.kind == "number" else 0.0
    if not width:
        return None
    found = np.isclose(column.ends - column.starts, width, rtol=1e-2, atol=0)
    points = np.where(found, column.starts, np.nan)
    points[-1] = column.numeric_bounds[1] if found[-1] else np.nan
    return points if found.any() else None


def _without_points(column: Column, points: NDArray[np.bool_]) -> tuple[Column, NDArray[np.intp]]:
    """Return the column with points joined to the next cell (the last one to the cell before), and each cell's code."""
    dropped = np.append(False, points[:-1])
    dropped[-1] |= points[-1]
    return cut_column(column, column.starts[~dropped]), np.cumsum(~dropped) - 1
