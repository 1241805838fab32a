"""The public box: what is known about each column before the table is touched."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sfumato.arrays import Array

Rows = Callable[[], Iterator[Array]]
"""Returns a fresh iterator over batches of rows (batch by columns) each time it is called."""
Adjacency = Literal["add-remove", "replace"]
LARGEST_WHOLE = 2.0**53


@dataclass(frozen=True)
class Axis:
    """One column: public bounds, and whether it holds whole numbers only.

    >>> Axis(0, 10).edges(4).tolist()
    [0.0, 2.5, 5.0, 7.5, 10.0]
    >>> Axis(0, 4, whole=True).edges(2).tolist()
    [0.0, 2.0, 5.0]
    """

    low: float
    high: float
    whole: bool = False

    @property
    def most_cells(self) -> float:
        """How many cells make sense: one per value of a whole column, any number otherwise."""
        return self.high - self.low + 1 if self.whole else math.inf

    def edges(self, cells: int) -> Array:
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


def box_problems(axes: Sequence[Axis]) -> list[str]:
    """Return everything that is wrong with a box."""
    found = [problem for j, axis in enumerate(axes) for problem in axis.problems(f"column {j}")]
    return found if axes else ["no columns"]
