"""How a column is counted when two tables are compared: the same cells on both sides.

A number or a date is counted in 16 cells of equal true mass, cut at the quantiles of the values of the true table;
every level has a cell of its own, and so have missing values. The cells follow from private rows: whatever is counted
in them is for the custodian.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.arrays import FloatArray, IntArray
from sfumato.schema.column import Column

CELLS = 16
"""Cells of equal true mass of a number or date; fewer where values repeat, which then have a cell of their own."""
MOST_TABLE = 1_000_000
"""Cells of a cross table that are laid out; of larger ones only those that occur."""


@dataclass(frozen=True, eq=False)
class Binning:
    """The cells of one column; the last one is for missing values, whether the schema allows them or not."""

    column: Column
    cuts: FloatArray | None
    """Inner edges of the cells of a number or date; a value on an edge lies above it."""

    @property
    def size(self) -> int:
        """Number of cells, that of missing values among them."""
        return (self.column.present_size if self.cuts is None else len(self.cuts) + 1) + 1

    def of(self, points: FloatArray) -> IntArray:
        """Return the cell of each value: numbers as they are, levels as codes, NaN where missing.

        >>> Binning(Column("age", "integer", bounds=(0, 99)), np.array([18.0, 65.0])).of(
        ...     np.array([3.0, 18, 70, np.nan])
        ... )
        array([0, 1, 2, 3])
        """
        absent = np.isnan(points)
        known = np.where(absent, 0, points)
        found = known if self.cuts is None else np.searchsorted(self.cuts, known, side="right")
        return np.where(absent, self.size - 1, found).astype(np.int64)


def cells_of(column: Column, points: FloatArray, cells: int = CELLS) -> Binning:
    """Return the cells of a column, cut by the true values that are there."""
    if not column.is_ordered:
        return Binning(column, None)
    present = points[~np.isnan(points)]
    if not len(present):
        return Binning(column, np.zeros(0))
    return Binning(column, _cuts(present, cells))


def _cuts(present: FloatArray, cells: int) -> FloatArray:
    """Return the edges at quantiles; a value that several of them share has a cell of its own, up to its neighbours.

    Otherwise a column of 95 % zeros would lie in one cell, and no synthetic tail would ever be seen.

    >>> _cuts(np.array([0.0] * 95 + [1.0, 2.0, 3.0, 4.0, 5.0]), 16)
    array([0.5])
    """
    quantiles = np.quantile(present, np.linspace(0, 1, cells + 1)[1:-1])
    values, times = np.unique(quantiles, return_counts=True)
    shared, known = values[times > 1], np.unique(present)
    middles = (known[:-1] + known[1:]) / 2
    places = np.searchsorted(known, shared)
    around = np.concatenate([places[places > 0] - 1, places[places < len(middles)]])
    return np.unique(np.concatenate([values[times == 1], middles[around]]))


def joint_codes(codes: Sequence[IntArray], sizes: Sequence[int]) -> tuple[IntArray, int]:
    """Return the cell of each row in the cross table of some columns, and how many cells that table has.

    >>> joint_codes([np.array([0, 1]), np.array([2, 0])], [2, 3])
    (array([2, 3]), 6)
    """
    joint, cells = codes[0], sizes[0]
    for code, size in zip(codes[1:], sizes[1:], strict=True):
        joint, cells = joint * size + code, cells * size
    return joint, cells


def tvd(one: FloatArray, other: FloatArray) -> float:
    """Return the total variation distance of two vectors of counts, each as shares of its own sum.

    >>> tvd(np.array([1.0, 1.0]), np.array([4.0, 0.0]))
    0.5
    """
    return float(np.abs(one / max(one.sum(), 1) - other / max(other.sum(), 1)).sum() / 2)


def paired_counts(one: IntArray, other: IntArray, cells: int) -> tuple[FloatArray, FloatArray]:
    """Return the counts of two sides in the same cells; of a huge table only the cells that occur."""
    if cells > MOST_TABLE:
        _, places = np.unique(np.concatenate([one, other]), return_inverse=True)
        one, other, cells = places[: len(one)], places[len(one) :], int(places.max(initial=0)) + 1
    return np.bincount(one, minlength=cells).astype(float), np.bincount(other, minlength=cells).astype(float)
