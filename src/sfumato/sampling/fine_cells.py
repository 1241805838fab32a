"""Fine cells of ordered columns from public bins, with point cells for bounds and zero.

Everything here follows from the schema alone. Each public bin is cut into equal parts, so that the bins of the schema
stay unions of fine cells. Real columns pile up on a few values that anyone can name beforehand: the bounds (top codes,
clamped values) and zero (no income, no gain). Those get a cell of their own, or the pile would be smeared over the
cell around it.
"""

from __future__ import annotations

import dataclasses
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import FloatArray
from sfumato.sampling.values import Masked, values_at
from sfumato.sampling.written_forms import written_form_of
from sfumato.schema.column import Column

POINT_WIDTH = 1e-9
"""Width of the cell of a single real number, as a share of the range: values in it are written as that number."""
ROOM_IN_SPACINGS = 16
"""A cell of real numbers is at least this many floating-point spacings wide, so that values can differ inside it."""


@dataclass(frozen=True)
class RefinedColumn(Column):
    """A column whose bins start wherever it is told, also at the upper bound, which ``edges`` cannot say.

    ``edges`` and ``bins`` are still those of the schema.

    >>> refined_column(Column("hours", "integer", bounds=(0, 99)), np.array([0.0, 1.0, 99.0])).labels
    ('[0, 0]', '[1, 98]', '[99, 99]')
    """

    cuts: tuple[float, ...] = ()

    @cached_property
    def starts(self) -> NDArray[np.float64]:
        """Lower ends of the bins, as given."""
        return np.array(self.cuts, float)


def refined_column(column: Column, starts: NDArray[np.float64]) -> RefinedColumn:
    """Return the column with bins that start at the given numbers (dates as day numbers), the lower bound first."""
    facts = {item.name: getattr(column, item.name) for item in dataclasses.fields(Column)}
    return RefinedColumn(**facts, cuts=tuple(starts.tolist()))


def cell_widths(column: Column) -> NDArray[np.float64]:
    """Return the widths of a column's cells: how many whole values, or how long an interval."""
    return column.ends - column.starts + int(column.is_discrete)


def fine_column(column: Column, fine_cells: int) -> Column:
    """Return an ordered column with every bin cut into equal parts; unit bins and listed levels stay as they are.

    Whole values are never cut: where all of them fit, each gets its cell. Bins share the cells evenly, whatever their
    widths, because the custodian's bins already say where detail matters; what narrow bins cannot use goes to others.

    >>> fine_column(Column("year", "integer", bounds=(1900, 2029), bins=13), 200).size
    130
    >>> fine_column(Column("x", "number", bounds=(0.0, 1.0), edges=(0.0, 0.5, 1.0)), 8).starts.tolist()[:3]
    [0.0, 1e-09, 0.16666666666666666]
    """
    if not column.is_ordered or column.has_unit_bins:
        return column
    low, high = column.numeric_bounds
    if column.is_discrete and high - low + 1 <= fine_cells:
        return refined_column(column, np.arange(low, high + 1.0))
    points = _point_cells(column)
    parts = _parts(_room(column), fine_cells - len(points))
    return refined_column(column, _joined(column, points, parts)) if parts else column


def _room(column: Column) -> NDArray[np.float64]:
    """Return how many cells each bin can hold at most: whole values, or what floating point can tell apart."""
    if column.is_discrete:
        return column.ends - column.starts + 1
    spacing = ROOM_IN_SPACINGS * np.spacing(max(abs(bound) for bound in map(float, column.numeric_bounds)))
    return np.maximum(1, np.floor((column.ends - column.starts) / spacing))


def _parts(room: NDArray[np.float64], cells: int) -> int:
    """Return the largest number of parts per bin, each bin within its room, that stays within the cells."""
    return bisect_right(range(1, cells + 1), cells, key=lambda parts: int(np.minimum(room, parts).sum()))


def _point_cells(column: Column) -> NDArray[np.float64]:
    """Return the starts that set the bounds and zero apart from their neighbours."""
    low, high = column.numeric_bounds
    width = 1.0 if column.is_discrete else point_width(column)
    zero = [] if column.kind == "date" else [0.0, width]
    starts = np.array([low + width, high if column.is_discrete else high - width, *zero], float)
    inside = starts[(starts > low) & (starts <= high)]
    return np.unique(inside) if width else np.zeros(0)


def point_width(column: Column) -> float:
    """Return the width of the cell of one real number; 0 where floating point cannot tell such cells apart."""
    low, high = (float(bound) for bound in column.numeric_bounds)
    width = POINT_WIDTH * (high - low)
    return width if width > 1000 * np.spacing(max(abs(low), abs(high))) else 0.0


def _joined(column: Column, points: NDArray[np.float64], parts: int) -> NDArray[np.float64]:
    """Return bins, points and parts as rising starts; what falls onto a bin's start or a point gives way to it."""
    apart = 0.5 if column.is_discrete else 1.5 * point_width(column)
    starts = column.starts
    points = points[_distance(points, starts) > apart / 3]
    inner = [_equal_parts(column, bin_, parts) for bin_ in range(len(starts))]
    cuts = np.concatenate(inner)
    anchors = np.concatenate([starts, points])
    return np.unique(np.concatenate([anchors, cuts[_distance(cuts, anchors) > apart]]))


def _equal_parts(column: Column, bin_: int, parts: int) -> NDArray[np.float64]:
    """Return where the parts of one bin start, without the start of the bin itself."""
    count = int(min(parts, _room(column)[bin_]))
    start, end = column.starts[bin_], column.ends[bin_]
    if column.is_discrete:
        return start + (np.arange(1, count) * int(end - start + 1)) // count
    return np.linspace(start, end, count + 1)[1:-1]


def _distance(values: NDArray[np.float64], anchors: NDArray[np.float64]) -> NDArray[np.float64]:
    if not len(values) or not len(anchors):
        return np.full(len(values), np.inf)
    return np.abs(values[:, None] - anchors).min(axis=1)


def values_in_fine_cells(column: Column, codes: NDArray[np.int64], places: FloatArray) -> Masked:
    """Return the value at a place in [0, 1) of each fine cell and which are missing; exact where a cell is a point.

    Points are narrower than any other cell and would decide how many decimals are drawn: they join their neighbours
    for the draw, and their rows are written over. Where the schema says how values are written, nothing is decided.
    """
    points = _point_values(column) if written_form_of(column) is None else None
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
    is_point = np.isclose(column.ends - column.starts, width, rtol=1e-2, atol=0)
    points = np.where(is_point, column.starts, np.nan)
    points[-1] = column.numeric_bounds[1] if is_point[-1] else np.nan
    return points if is_point.any() else None


def _without_points(column: Column, points: NDArray[np.bool_]) -> tuple[Column, NDArray[np.intp]]:
    """Return the column with points joined to the next cell (the last one to the cell before), and each cell's code."""
    dropped = np.append(False, points[:-1])
    dropped[-1] |= points[-1]
    return refined_column(column, column.starts[~dropped]), np.cumsum(~dropped) - 1
