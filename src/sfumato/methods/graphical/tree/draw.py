"""Rows drawn from a calibrated junction tree, clique by clique from the root.

Given the columns that a clique shares with its parent, its new columns are drawn together. By default this is
systematic rounding inside each group of rows with the same shared values: with n rows in a group and conditional
probabilities p(x), cell x covers an interval of length n p(x), and gets the rows k with k + u inside it, u uniform.

Bound. An interval of length L holds floor(L) or ceil(L) points of a unit grid, so in every group each cell's count
differs from n p(x) by less than 1. Hence for a clique with cell x, separator value s and errors e = count - rows P:
|e(x)| < 1 + p(x | s) |e(s)|; in the root |e(x)| < 1. The expectation of each count is n p(x): u is uniform.
Inside a group rows get their cells in random order, so that they depend on earlier columns through s alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.methods.graphical.tree.schedule import Schedule

Table = NDArray[np.float64]
Codes = NDArray[np.int32]


def draw_rows(
    schedule: Schedule, beliefs: Sequence[Table], rows: int, generator: np.random.Generator, rounding: bool
) -> Codes:
    """Return codes of all columns, rows in random order."""
    codes = np.zeros((len(schedule.sizes), rows), np.int32)
    for clique, separator, belief in zip(schedule.tree.cliques, schedule.tree.separators, beliefs, strict=True):
        new = tuple(column for column in clique if column not in separator)
        order = [clique.index(column) for column in separator + new]
        ways = tuple(schedule.sizes[column] for column in separator)
        choices = tuple(schedule.sizes[column] for column in new)
        table = belief.transpose(order).reshape(int(np.prod(ways)), int(np.prod(choices)))
        groups = np.zeros(rows, np.int64)
        for column, size in zip(separator, ways, strict=True):
            groups = groups * size + codes[column]
        cells = _systematic(table, groups, generator) if rounding else _independent(table, groups, generator)
        for column, values in zip(new, np.unravel_index(cells, choices), strict=True):
            codes[column] = values
    return np.ascontiguousarray(codes[:, generator.permutation(rows)].T)


def _systematic(table: Table, groups: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
    """Draw a cell for each row by one grid of points in each group."""
    shuffled = generator.permutation(len(groups))
    order = shuffled[np.argsort(groups[shuffled], kind="stable")]
    members = groups[order]
    counts = np.bincount(members, minlength=len(table))
    starts = np.cumsum(counts) - counts
    offsets = generator.random(len(table))
    points = (np.arange(len(members)) - starts[members] + offsets[members]) / counts[members]
    cells = np.empty(len(groups), np.int64)
    cells[order] = _located(table, members, points)
    return cells


def _independent(table: Table, groups: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
    return _located(table, groups, generator.random(len(groups)))


def _located(table: Table, groups: NDArray[np.int64], points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the cell of the group's row of the table in which each point of [0, 1) lies; never an empty cell."""
    cumulative = np.cumsum(table, axis=1)
    mass = cumulative[:, -1:]
    np.divide(cumulative, mass, out=cumulative, where=mass > 0)
    cumulative += np.arange(len(table))[:, None]
    # Rounding up to the next whole number would leave the group.
    sought = np.minimum(groups + points, np.nextafter(groups + 1.0, 0.0))
    return np.searchsorted(cumulative.ravel(), sought, side="right") - groups * table.shape[1]
