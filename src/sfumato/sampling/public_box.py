"""Public bounds of columns as axes of a box, and rows of the box as values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import FloatArray
from sfumato.sampling.values import Values
from sfumato.sampling.written_forms import as_written
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.column_selection import select_columns

Rows = Callable[[], Iterator[FloatArray]]

"""Returns a fresh iterator over batches of rows (batch by columns) each time it is called."""

Adjacency = Literal["add-remove", "replace"]

LARGEST_WHOLE = 2.0**53


@dataclass(frozen=True)
class BoundedAxis:
    """One column: public bounds, and whether it holds whole numbers only.

    >>> BoundedAxis(0, 10).edges(4).tolist()
    [0.0, 2.5, 5.0, 7.5, 10.0]
    >>> BoundedAxis(0, 4, whole=True).edges(2).tolist()
    [0.0, 2.0, 5.0]
    """

    low: float
    high: float
    whole: bool = False

    @property
    def most_cells(self) -> float:
        """How many cells make sense: one per value of a whole column, any number otherwise."""
        return self.high - self.low + 1 if self.whole else math.inf

    def edges(self, cells: int) -> FloatArray:
        """Return the ends of cells of even width; those of a whole column hold as equal numbers of values as can be."""
        if self.whole:
            values = round(self.high - self.low) + 1
            return np.array([self.low + k * values // cells for k in range(cells + 1)], dtype=float)
        inner = self.low + (self.high - self.low) * (np.arange(cells + 1) / cells)
        inner[-1] = self.high
        return inner

    def problems(self, name: str) -> Iterator[str]:
        """Yield what is wrong with the bounds."""
        if not (math.isfinite(self.low) and math.isfinite(self.high)):
            yield f"{name}: bounds must be finite, found {self.low} to {self.high}"
        elif not self.low < self.high:
            yield f"{name}: the lower bound must lie below the upper one, found {self.low} to {self.high}"
        elif not (math.isfinite(self.high - self.low) and math.isfinite(2 / (self.high - self.low))):
            yield f"{name}: the bounds {self.low} and {self.high} are too far apart, or too near, to compute with"
        elif self.whole and max(abs(self.low), abs(self.high)) > LARGEST_WHOLE:
            yield f"{name}: whole numbers beyond 2^53 are not exact, found {self.low:.0f} to {self.high:.0f}"
        elif self.whole and not (float(self.low).is_integer() and float(self.high).is_integer()):
            yield f"{name}: a column of whole numbers needs whole bounds, found {self.low} to {self.high}"


def box_problems(axes: Sequence[BoundedAxis]) -> list[str]:
    """Return everything that is wrong with a box."""
    problems = [problem for j, axis in enumerate(axes) for problem in axis.problems(f"column {j}")]
    return problems if axes else ["no columns"]


def has_axis(column: Column) -> bool:
    """Whether a column has an order that distances can use: numbers, dates and ordinals."""
    return column.is_ordered or column.kind == "ordinal"


def axis_of(column: Column) -> BoundedAxis:
    """Return a column's public bounds; an ordinal runs over its codes."""
    if not column.is_ordered:
        return BoundedAxis(0.0, float(column.present_size - 1), whole=True)
    low, high = (float(bound) for bound in column.numeric_bounds)
    return BoundedAxis(low, high, whole=column.is_discrete)


def select_box_columns(schema: Schema, columns: Sequence[str] | None, only_axes: bool) -> tuple[Column, ...]:
    """Return the columns to synthesise, or refuse with every problem; all that fit unless they are named."""
    if columns is None:
        selected = [schema[name] for name in schema.releasable]
        fits = [c for c in selected if not (has_axis(c) and c.missing) and (has_axis(c) or not only_axes)]
        return tuple(fits)
    return tuple(schema[name] for name in select_columns(schema, columns, lambda c: _problems(c, only_axes)))


def _problems(column: Column, only_axes: bool) -> list[str]:
    if has_axis(column) and column.missing:
        return [f"column {column.name!r} may be missing, and distances need every value"]
    if only_axes and not has_axis(column):
        return [f"column {column.name!r} holds levels without an order"]
    if has_axis(column) and column.size < 2:
        return [f"column {column.name!r} is constant by its public bounds"]
    return []


def column_matrix(values: dict[str, NDArray[Any]], columns: Sequence[Column]) -> FloatArray:
    """Return whole columns side by side as numbers."""
    return np.column_stack([np.asarray(values[column.name], float) for column in columns])


def values_of_rows(columns: Sequence[Column], rows: FloatArray) -> Values:
    """Return rows of the box as values of their columns; nothing is missing."""
    values: Values = {}
    for i, column in enumerate(columns):
        present = np.zeros(len(rows), bool)
        if column.kind == "number":
            values[column.name] = (as_written(column, rows[:, i]), present)
            continue
        whole = np.rint(as_written(column, rows[:, i])).astype(np.int64)
        levels: NDArray[Any] = whole if column.is_ordered else np.array(column.levels, dtype=object)[whole]
        values[column.name] = (levels, present)
    return values
