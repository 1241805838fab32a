"""Columns renumbered by size inside the engine: the largest axis of every table is then the last one.

Long inner loops are fast ones. Users of the engine see their own numbers; tables are turned at the border.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.methods.graphical.tree.coarse import Coarse
from sfumato.methods.graphical.tree.junction import Clique


@dataclass(frozen=True)
class AxisOrder:
    """Which inner number each column has (``inner``), and which column each inner number is (``outer``)."""

    inner: tuple[int, ...]
    outer: tuple[int, ...]
    sizes: tuple[int, ...]
    """Sizes by inner number: ascending."""

    @staticmethod
    def of(sizes: Sequence[int]) -> AxisOrder:
        """Number columns by ascending size."""
        outer = sorted(range(len(sizes)), key=lambda column: (sizes[column], column))
        inner = [0] * len(sizes)
        for number, column in enumerate(outer):
            inner[column] = number
        return AxisOrder(tuple(inner), tuple(outer), tuple(sizes[column] for column in outer))

    def inwards(self, clique: Clique) -> Clique:
        """Return the inner clique, ascending."""
        return tuple(sorted(self.inner[column] for column in clique))

    def outwards(self, clique: Clique) -> Clique:
        """Return the clique of columns, ascending."""
        return tuple(sorted(self.outer[number] for number in clique))

    def table_inwards(self, clique: Clique, table: NDArray[Any]) -> NDArray[Any]:
        """Turn a table whose axes follow ``clique`` (in any order) to ascending inner numbers."""
        return np.asarray(table.transpose(self._axes(clique)), order="C")

    def coarse_inwards(self, clique: Clique, coarse: Coarse) -> Coarse:
        """Turn the maps of a table's axes like the table itself."""
        return None if coarse is None else tuple(coarse[axis] for axis in self._axes(clique))

    def table_outwards(self, columns: Sequence[int], table: NDArray[Any]) -> NDArray[Any]:
        """Turn a table with ascending inner numbers so that its axes follow ``columns``."""
        inner = sorted(self.inner[column] for column in columns)
        return np.asarray(table.transpose([inner.index(self.inner[column]) for column in columns]), order="C")

    def _axes(self, clique: Clique) -> list[int]:
        return sorted(range(len(clique)), key=lambda axis: self.inner[clique[axis]])
