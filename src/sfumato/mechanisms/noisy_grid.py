"""Noisy grid over up to three public axes, with Laplace noise in every cell.

Mechanism. The box is cut into cells, each record counts in one of them, and every cell, empty or not, gets discrete
Laplace noise. The noisy counts are projected on non-negative tables with the noisy total; rows are drawn from cells by
these shares and uniformly inside the cell (uniformly among its values in a whole column).

Proof note. Adding or removing a record moves one count by 1 (L1 sensitivity 1); replacing one moves two (2). The noise
of :mod:`sfumato.privacy.noise` at scale sensitivity / epsilon is epsilon-DP, the rest never sees the table.

Adaptive means: the number of cells follows from n_pub * epsilon, a public guess of the rows times the budget, as
(n_pub * epsilon / coarseness)^(2d / (2 + d)): more records or less noise buy finer cells. It never follows from the
table. Under replace, where the noise is twice as wide, n_pub counts half.
Public: bounds, epsilon, n_pub, adjacency. A wrong n_pub costs accuracy, never privacy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import project_counts
from sfumato.core.parameters import shared_epsilon_problems
from sfumato.errors import PlanError
from sfumato.jit import jit
from sfumato.privacy.accounting.event import EventPart
from sfumato.privacy.accounting.sensitivity import histogram_l1
from sfumato.privacy.exact import Number, to_fraction
from sfumato.privacy.noise import add_laplace_scale, laplace_scale
from sfumato.privacy.randomness import Randomness
from sfumato.sampling.public_box import Adjacency, BoundedAxis, FloatArray, box_problems

LARGEST_DIMENSION = 3
LARGEST_GRID = 1 << 20
"""Cells at most: each costs about 12 microseconds of exact noise."""
COARSENESS = 10.0


def affordable_cells(strength: float, dimensions: int, most: int) -> int:
    """Return how many cells a public strength (rows over some times the scale of the noise) pays for."""
    wanted = max(strength, 1.0) ** (2 * dimensions / (2 + dimensions))
    return int(min(wanted, most))


def cells_per_axis(cells: int, axes: Sequence[BoundedAxis]) -> tuple[int, ...]:
    """Return cells per axis, as even as can be; an axis with few values leaves its share to the others."""
    shape = [0] * len(axes)
    left = float(cells)
    order = sorted(range(len(axes)), key=lambda j: axes[j].most_cells)
    for place, j in enumerate(order):
        side = round(left ** (1 / (len(axes) - place)))
        shape[j] = int(max(1, min(side, axes[j].most_cells)))
        left = max(1.0, left / shape[j])
    return tuple(shape)


@dataclass(frozen=True, kw_only=True)
class GridPlan:
    """A noisy grid over a public box, planned from public facts alone.

    >>> GridPlan(axes=(BoundedAxis(0, 1), BoundedAxis(0, 1)), epsilon=1, n_pub=4000).shape
    (20, 20)
    """

    axes: tuple[BoundedAxis, ...]
    epsilon: Number
    n_pub: int
    adjacency: Adjacency = "add-remove"
    most_cells: int = LARGEST_GRID
    coarseness: float = COARSENESS

    def __post_init__(self) -> None:
        problems = box_problems(self.axes)
        if len(self.axes) > LARGEST_DIMENSION:
            problems.append(f"{len(self.axes)} columns: a grid serves up to {LARGEST_DIMENSION}")
        if self.n_pub < 1:
            problems.append(f"n_pub must be at least 1, found {self.n_pub}")
        if self.most_cells < 1 or not self.coarseness > 0:
            problems.append("most_cells and coarseness must be above 0")
        if self.adjacency not in ("add-remove", "replace"):
            problems.append(f"unknown adjacency {self.adjacency!r}")
        problems += shared_epsilon_problems(self.epsilon)
        if problems:
            raise PlanError(
                "cannot plan a noisy grid",
                problems,
                "give public bounds, a public guess of the rows and an epsilon such as 1",
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells per axis."""
        strength = self.n_pub * float(to_fraction(self.epsilon)) / (self._moved * self.coarseness)
        return cells_per_axis(affordable_cells(strength, len(self.axes), self.most_cells), self.axes)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return math.prod(self.shape)

    @cached_property
    def edges(self) -> tuple[FloatArray, ...]:
        """Ends of the cells along each axis: a value counts where ``edges[k] <= value < edges[k + 1]``."""
        return tuple(axis.edges(cells) for axis, cells in zip(self.axes, self.shape, strict=True))

    @property
    def _moved(self) -> int:
        return histogram_l1(self.adjacency)

    @property
    def part(self) -> EventPart:
        """What the event records: cells, L1 sensitivity, and the scale of the discrete Laplace noise."""
        scale = laplace_scale(self.epsilon, self._moved)
        return EventPart(stage="grid", cells=self.cells, sensitivity=self._moved, scale=scale)

    def count(self, batches: Iterable[FloatArray]) -> NDArray[np.int64]:
        """Return the true counts: they may not leave without noise. Values outside the box count at its border."""
        counts = np.zeros(self.cells, np.int64)
        starts = np.concatenate([edges[:-1] for edges in self.edges])
        offsets = np.cumsum([0, *self.shape])
        low = np.array([axis.low for axis in self.axes], dtype=float)
        high = np.array([axis.high for axis in self.axes], dtype=float)
        per_width = np.array(self.shape) / np.array([edges[-1] - edges[0] for edges in self.edges])
        for batch in batches:
            rows = np.ascontiguousarray(batch, dtype=float)
            count_cells(rows, starts, offsets, low, high, per_width, counts)
        return counts.reshape(self.shape)

    def measure(self, counts: NDArray[np.int64], randomness: Randomness) -> NoisyGrid:
        """Add the noise of ``part`` to true counts, at the cost of epsilon."""
        noisy = add_laplace_scale(counts.reshape(self.shape), self.part.scale, randomness)
        return NoisyGrid(self.axes, self.edges, noisy, self.part.scale)

    def release(self, batches: Iterable[FloatArray], randomness: Randomness) -> NoisyGrid:
        """Return the noisy grid of a table, read once, at the cost of epsilon."""
        return self.measure(self.count(batches), randomness)


@dataclass(frozen=True, eq=False)
class NoisyGrid:
    """Released counts of a grid: everything made from them is post-processing."""

    axes: tuple[BoundedAxis, ...]
    edges: tuple[FloatArray, ...]
    counts: NDArray[np.int64]
    """Noisy counts as they were measured, some of them negative."""
    scale: float
    """Scale of the noise in each of them."""

    @property
    def total(self) -> float:
        """The noisy number of rows, at least 1."""
        return max(float(self.counts.sum()), 1.0)

    @cached_property
    def table(self) -> FloatArray:
        """The nearest non-negative table with the noisy total."""
        return project_counts(self.counts, self.total)

    def above_noise(self, fewest: int) -> FloatArray:
        """Return the counts that noise alone hardly reaches, others 0; all of ``table`` where fewer cells are left.

        Among so many empty cells, about one exceeds scale * ln(cells / 2). In a box that is mostly empty the small
        rests of noise in the table would add up to as much as the rows; whoever looks for clusters leaves them out.
        """
        above = self.counts >= max(self.scale * math.log(max(self.counts.size / 2, 1.0)), 1.0)
        return np.where(above, self.counts, 0.0) if above.sum() >= fewest else self.table

    def draw(self, rows: int, generator: np.random.Generator, table: FloatArray | None = None) -> FloatArray:
        """Return rows by cells' shares, uniform inside their cell; any number of them costs nothing more.

        ``table`` stands for the shares; :attr:`table` unless given.
        """
        upto = np.cumsum((self.table if table is None else table).ravel())
        cell = np.searchsorted(upto, generator.random(rows) * upto[-1], side="right")
        places = np.unravel_index(np.minimum(cell, len(upto) - 1), self.counts.shape)
        drawn = np.empty((rows, len(self.axes)))
        for j, (axis, edges, place) in enumerate(zip(self.axes, self.edges, places, strict=True)):
            inside = edges[place] + generator.random(rows) * (edges[place + 1] - edges[place])
            drawn[:, j] = np.clip(np.floor(inside) if axis.whole else inside, axis.low, axis.high)
        return drawn


@jit
def count_cells(rows: Any, starts: Any, offsets: Any, low: Any, high: Any, per_width: Any, counts: Any) -> None:
    """Count the cells of a grid with any edges: a guess as if they were even, then exact steps to the right cell."""
    for i in range(rows.shape[0]):
        place, known = 0, True
        for j in range(rows.shape[1]):
            first, cells = offsets[j], offsets[j + 1] - offsets[j]
            known &= rows[i, j] == rows[i, j]
            value = min(high[j], max(low[j], rows[i, j])) if known else low[j]
            k = min(cells - 1, np.int64((value - low[j]) * per_width[j]))
            while k > 0 and value < starts[first + k]:
                k -= 1
            while k < cells - 1 and value >= starts[first + k + 1]:
                k += 1
            place = place * cells + k
        if known:
            counts[place] += 1
