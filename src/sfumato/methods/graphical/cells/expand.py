"""From groups back to values: group, then fine cell by the released shares, then a value inside the cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.methods.graphical.cells.groups import Grouping
from sfumato.rows.smooth.fine import cut_column, point_width
from sfumato.rows.values import Masked, Values, draw_values
from sfumato.schema.column import Column


def expand(
    grouping: Grouping,
    codes: NDArray[Any],
    generator: np.random.Generator,
    rounding: bool = True,
) -> NDArray[np.int64]:
    """Return a fine code for each group code.

    With ``rounding`` the fine codes of a group are dealt out systematically to its rows in random order, so that each
    one's count is within 1 of what its share says. Without it every row draws on its own.
    """
    shares = grouping.shares[grouping.order]
    ends = np.cumsum(shares)
    # Each group fills the interval from its number to the next; a cumulative sum per group keeps the ends exact.
    ends += grouping.groups[grouping.order] - (ends - shares)[grouping.first][grouping.groups[grouping.order]]
    inside = _dealt(codes, grouping.size, generator) if rounding else generator.random(len(codes))
    place = np.searchsorted(ends, codes + inside, side="right")
    return grouping.order[np.clip(place, *_reach(grouping, shares, codes))].astype(np.int64)


def _dealt(codes: NDArray[Any], size: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return for each row a place in [0, 1): evenly spaced within a group, from a random start, in random order."""
    shuffled = generator.permutation(len(codes))
    by_group = shuffled[np.argsort(codes[shuffled], kind="stable")]
    counts = np.bincount(codes, minlength=size)
    rank = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    places = np.empty(len(codes))
    places[by_group] = (rank + np.repeat(generator.random(size), counts)) / np.repeat(counts, counts)
    return places


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
    groupings: Sequence[Grouping], codes: NDArray[Any], generator: np.random.Generator, rounding: bool = True
) -> Values:
    """Return synthetic values by column name, from group codes: one row each, one column per grouping."""
    return {
        grouping.column.name: fine_values(grouping.column, expand(grouping, column, generator, rounding), generator)
        for grouping, column in zip(groupings, codes.T, strict=True)
    }


def fine_values(column: Column, codes: NDArray[np.int64], generator: np.random.Generator) -> Masked:
    """Return one value per fine code and which are missing: uniform inside the cell, exact where the cell is a point.

    Points are narrower than any other cell and would decide how many decimals are drawn: they join their neighbours
    for the draw, and their rows are written over.
    """
    points = _point_values(column)
    if points is None:
        return draw_values(column, codes, generator)
    smooth, place = _without_points(column, ~np.isnan(points))
    values, missing = draw_values(smooth, np.append(place, smooth.present_size)[codes], generator)
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
