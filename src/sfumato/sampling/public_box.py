"""Public bounds of columns as axes of a box, and rows of the box as values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.sampling.design_matrix import into_domain
from sfumato.sampling.values import Values, values_of_column
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.column_selection import select_columns

if TYPE_CHECKING:
    pass

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
    """Return the public bounds of numbers, or of the codes of levels."""
    if not column.is_ordered:
        return BoundedAxis(0.0, float(column.size - 1), whole=True)
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


def values_of_rows(columns: Sequence[Column], rows: FloatArray) -> Values:
    """Return rows of the box as values of their columns; the codes of levels are rounded."""
    numbers = {c.name: rows[:, i] if c.is_ordered else np.rint(rows[:, i]) for i, c in enumerate(columns)}
    return {c.name: values_of_column(c, into_domain(c, numbers[c.name])[0]) for c in columns}
