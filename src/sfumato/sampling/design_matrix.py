"""Design matrix of a regression and coarse cells of predictors, from public facts.

All of it follows from public facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import FloatArray
from sfumato.sampling.written_forms import as_written
from sfumato.schema.column import Column

Values = Mapping[str, NDArray[Any]]
MOST_CELLS = 40
"""Cells of coarse predecessors in which levels are modelled apart."""
COARSE_BINS = 4
"""Parts into which a number is cut when it decides about levels."""


@dataclass(frozen=True)
class DesignMatrix:
    """Columns of a regression: numbers moved to [-1, 1] by their public bounds, and indicators of levels but the first.

    The family adds the intercept.
    """

    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What each column of the matrix stands for."""
        named: list[str] = []
        for column in self.columns:
            named += [column.name] if column.is_ordered else [f"{column.name}={label}" for label in column.labels[1:]]
        return tuple(named)

    def matrix(self, values: Values, rows: int) -> FloatArray:
        """Return one row per record."""
        parts = [np.zeros((rows, 0))]
        for column in self.columns:
            column_values = values[column.name]
            parts.append(
                scale_to_unit(column, column_values)[:, None]
                if column.is_ordered
                else _indicators(column, column_values)
            )
        return np.hstack(parts)


def scale_to_unit(column: Column, values: NDArray[Any]) -> FloatArray:
    """Move a number to [-1, 1] by its public bounds."""
    low, high = (float(bound) for bound in column.numeric_bounds)
    return (np.asarray(values, float) - (low + high) / 2) / max((high - low) / 2, 1e-300)


def _indicators(column: Column, codes: NDArray[Any]) -> FloatArray:
    return (np.asarray(codes)[:, None] == np.arange(1, column.size)).astype(float)


@dataclass(frozen=True)
class CoarsePredictors:
    """The predecessors that decide about a column of levels: as many, in order, as leave a few cells."""

    columns: tuple[Column, ...]

    @classmethod
    def of(cls, predecessors: Sequence[Column]) -> CoarsePredictors:
        """Choose predecessors, the nearest first, while their cells stay few."""
        chosen: list[Column] = []
        for column in reversed(predecessors):
            if _size(column) * cls(tuple(chosen)).size <= MOST_CELLS:
                chosen.append(column)
        return cls(tuple(chosen))

    @property
    def size(self) -> int:
        """The number of cells."""
        return int(np.prod([_size(column) for column in self.columns], dtype=int))

    def cells(self, values: Values, rows: int) -> NDArray[np.int64]:
        """Return the cell of each record."""
        place = np.zeros(rows, np.int64)
        for column in self.columns:
            place = place * _size(column) + _coarse(column, values[column.name])
        return place


def _size(column: Column) -> int:
    return COARSE_BINS if column.is_ordered else column.size


def _coarse(column: Column, values: NDArray[Any]) -> NDArray[np.int64]:
    if not column.is_ordered:
        return np.asarray(values, np.int64)
    part = np.floor((scale_to_unit(column, values) + 1) / 2 * COARSE_BINS)
    return np.clip(part, 0, COARSE_BINS - 1).astype(np.int64)


def into_domain(column: Column, raw: NDArray[np.float64]) -> tuple[NDArray[Any], int]:
    """Return values in the column's own domain and form (whole, decimals, steps), and how many lay outside."""
    if not column.is_ordered:
        return raw.astype(np.int64), 0
    low, high = (float(bound) for bound in column.numeric_bounds)
    outside = int(((raw < low) | (raw > high)).sum())
    inside = as_written(column, np.clip(raw, low, high))
    return (np.rint(inside) if column.is_discrete else inside), outside
