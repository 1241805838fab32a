"""From groups back to values: a place in a group is a fine cell, by the released shares, and a place within it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Array
from sfumato.methods.graphical.cells.groups import Grouping
from sfumato.rows.smooth.values import fine_values
from sfumato.rows.values import Values

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
