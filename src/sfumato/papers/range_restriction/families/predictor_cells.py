"""Cells of coarse predictors, and extremes over distinct records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import TableError
from sfumato.papers.range_restriction.families.interface import CELLS_AT_ONCE, FloatArray

Codes = NDArray[np.int64]


def cell_numbers(design: Any, records: int, groups: int | None = None) -> tuple[Codes, int]:
    """Return one cell number per record and how many cells there are; no design means a single cell."""
    if design is None:
        return np.zeros(records, np.int64), groups or 1
    cells = whole_numbers(design, "cells of predecessors")
    if cells.shape != (records,):
        raise TableError(f"{records} cells needed, one per record; the shape given is {cells.shape}")
    count = int(cells.max(initial=0)) + 1 if groups is None else groups
    if len(cells) and cells.max() >= count:
        raise TableError(f"cell {cells.max()} does not exist: there are {count}, numbered from 0")
    return cells, count


def whole_numbers(values: Any, what: str) -> Codes:
    """Return whole numbers of 0 or more, or refuse them."""
    array = np.asarray(values)
    whole = array.dtype.kind in "iub" or bool(np.isfinite(array).all() and (array == np.floor(array)).all())
    if not whole or (array.size and array.min() < 0):
        raise TableError(f"the {what} must be whole numbers of 0 or more", next_step="encode the column first")
    return array.astype(np.int64)


def extremes_over_draws(
    columns: list[FloatArray], work: Callable[[list[FloatArray]], FloatArray], draws: int
) -> tuple[FloatArray, FloatArray]:
    """Return the extremes over the draws of ``work``, which maps distinct records to draws by records.

    Records that agree in all columns are worked out once, in blocks that fit in memory.
    """
    first, place = distinct(columns)
    table = [column[first] for column in columns]
    smallest, largest = np.empty(len(first)), np.empty(len(first))
    block = max(1, CELLS_AT_ONCE // draws)
    for start in range(0, len(first), block):
        rows = slice(start, start + block)
        found = work([column[rows] for column in table])
        smallest[rows], largest[rows] = found.min(axis=0), found.max(axis=0)
    return smallest[place], largest[place]


def distinct(columns: list[FloatArray]) -> tuple[Codes, Codes]:
    """Return where each distinct record is first met, and the number of the distinct record that each record is."""
    first, place = np.zeros(1, np.int64), np.zeros(len(columns[0]), np.int64)
    for column in columns:
        levels, codes = np.unique(column, return_inverse=True)
        # Column by column the numbers stay below records times levels, so that they never overflow.
        _, first, place = np.unique(place * len(levels) + codes, return_index=True, return_inverse=True)
    return first, place
