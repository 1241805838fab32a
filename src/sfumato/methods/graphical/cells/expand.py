"""From groups back to values: a place in a group is a fine cell, by the released shares, and a place within it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Array
from sfumato.methods.graphical.cells.groups import Grouping
from sfumato.rows.smooth.fine import cut_column, point_width
from sfumato.rows.values import Masked, Values, values_at
from sfumato.schema.column import Column

BELOW_ONE = float(np.nextafter(1.0, 0.0))


def spread_places(
    codes: NDArray[Any],
    size: int,
    generator: np.random.Generator,
    rounding: bool = True,
    wanted: Array | None = None,
) -> Array:
    """Return for each row a place in [0, 1) of its group.

    With ``rounding`` the places of a group are evenly spaced from a random start, without it they are independent and
    uniform. Who gets which is decided by ``wanted``, the least getting the lowest, or else by chance.
    """
    rows = len(codes)
    if wanted is None and not rounding:
        return generator.random(rows)
    order = np.argsort(generator.random(rows) if wanted is None else wanted)
    order = order[np.argsort(codes[order].astype(np.min_scalar_type(size)), kind="stable")]
    members = codes[order]
    if rounding:
        counts = np.bincount(codes, minlength=size)
        rank = np.arange(rows) - (np.cumsum(counts) - counts)[members]
        given = (rank + generator.random(size)[members]) / counts[members]
    else:
        given = np.sort(members + generator.random(rows)) - members
    places = np.empty(rows)
    places[order] = np.minimum(given, BELOW_ONE)
    return places


def expand(grouping: Grouping, codes: NDArray[Any], places: Array) -> tuple[NDArray[np.int64], Array]:
    """Return the fine code at each row's place in its group, and the place in [0, 1) within that fine cell.

    Fine cells fill their group in order, each with its share. Evenly spaced places hence give every cell a count
    within 1 of what its share says.
    """
    shares = grouping.shares[grouping.order]
    groups = grouping.groups[grouping.order]
    ends = np.cumsum(shares)
    # Each group fills the interval from its number to the next; a cumulative sum per group keeps the ends exact.
    ends += groups - (ends - shares)[grouping.first][groups]
    found = np.clip(np.searchsorted(ends, codes + places, side="right"), *_reach(grouping, shares, codes))
    within = (codes + places - (ends - shares)[found]) / shares[found]
    return grouping.order[found].astype(np.int64), np.clip(within, 0.0, BELOW_ONE)


def _reach(
    grouping: Grouping,
    shares: NDArray[np.float64],
    codes: NDArray[Any],
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first and the last place of each row's group that has a share, so that rounding never leaves it."""
    places = np.flatnonzero(shares > 0)
    groups = grouping.groups[grouping.order][places]
    every = np.arange(grouping.size)
    first = places[np.searchsorted(groups, every)]
    last = places[np.searchsorted(groups, every, side="right") - 1]
    return first[codes], last[codes]


def values_of(
    groupings: Sequence[Grouping],
    codes: NDArray[Any],
    generator: np.random.Generator,
    rounding: bool = True,
    places: Mapping[int, Array] | None = None,
) -> Values:
    """Return synthetic values by column name, from group codes: one row each, one column per grouping.

    ``places`` says where in their groups rows lie, by the number of the column; the other columns draw that here.
    """
    known, found = places or {}, Values()
    for number, (grouping, column) in enumerate(zip(groupings, codes.T, strict=True)):
        inside = known[number] if number in known else spread_places(column, grouping.size, generator, rounding)
        fine, within = expand(grouping, column, inside)
        found[grouping.column.name] = fine_values(grouping.column, fine, within)
    return found


def fine_values(column: Column, codes: NDArray[np.int64], places: Array) -> Masked:
    """Return the value at a place in [0, 1) of each fine cell and which are missing; exact where a cell is a point.

    Points are narrower than any other cell and would decide how many decimals are drawn: they join their neighbours
    for the draw, and their rows are written over.
    """
    points = _point_values(column)
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
