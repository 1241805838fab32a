"""GraphicalModel: clique potentials, their marginals, and rows drawn from them.

Rows are drawn clique by clique from the root of the junction tree. Given the columns that a clique shares with its
parent, its new columns are drawn together. By default this is systematic rounding inside each group of rows with the
same shared values: with n rows in a group and conditional probabilities p(x), cell x covers an interval of length
n p(x), and gets the rows k with k + u inside it, u uniform.

Bound. An interval of length L holds floor(L) or ceil(L) points of a unit grid, so in every group each cell's count
differs from n p(x) by less than 1. Hence for a clique with cell x, separator value s and errors e = count - rows P:
|e(x)| < 1 + p(x | s) |e(s)|; in the root |e(x)| < 1. The expectation of each count is n p(x): u is uniform.
Inside a group rows get their cells in random order, so that they depend on earlier columns through s alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PlanError
from sfumato.mechanisms.graphical.junction_tree.junction_tree import Clique
from sfumato.mechanisms.graphical.junction_tree.marginal_queries import MarginalQueries
from sfumato.mechanisms.graphical.junction_tree.message_passing import (
    AxisOrder,
    MessagePassing,
    MessageSchedule,
    schedule,
)

Table = NDArray[np.float64]
Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class GraphicalModel:
    """The distribution proportional to exp(sum of potentials), scaled to a total. Never changed once made.

    >>> potentials = (np.log([[3.0, 1.0], [1.0, 3.0]]), np.zeros((2, 2)))
    >>> model = GraphicalModel((2, 2, 2), 8.0, ((0, 1), (1, 2)), potentials)
    >>> model.marginal([1, 0]).round(6)
    array([[3., 1.],
           [1., 3.]])
    """

    sizes: tuple[int, ...]
    total: float
    cliques: tuple[Clique, ...]
    """The cliques with potentials: none lies in another one."""
    potentials: tuple[Table, ...] = field(repr=False)
    loss: float = 0.0
    """Half the sum of squared errors of the fitted tables, each in units of its noise."""
    steps: int = 0
    converged: bool = True

    def marginal(self, columns: Sequence[int]) -> Table:
        """Return expected counts of any columns; axes in the order given."""
        if len(set(columns)) < len(columns) or not all(0 <= column < len(self.sizes) for column in columns):
            problem = f"columns {tuple(columns)}: each once, below {len(self.sizes)}"
            raise PlanError("no such marginal", [problem], "ask for columns of the model")
        axis_order = self._axis_order
        table = self._queries.marginal(axis_order.inwards(tuple(columns)))
        return axis_order.table_outwards(columns, table) * self.total

    def marginals(self, wanted: Sequence[Clique]) -> dict[Clique, Table]:
        """Return expected counts of many cliques at once; they share their messages."""
        return {clique: self.marginal(clique) for clique in wanted}

    def coarse_marginals(
        self, wanted: Sequence[Clique], groups: Mapping[int, NDArray[np.int32]]
    ) -> dict[Clique, Table]:
        """Return expected counts of many cliques, with some columns summed to coarser groups (runs of their own)."""
        inner = self._axis_order.inner
        starts = {inner[column]: np.searchsorted(runs, np.arange(runs[-1] + 1)) for column, runs in groups.items()}
        queries = MarginalQueries(self._schedule, self._beliefs, starts)
        return {
            clique: self._axis_order.table_outwards(clique, queries.marginal(self._axis_order.inwards(clique)))
            * self.total
            for clique in wanted
        }

    def draw(self, rows: int, generator: np.random.Generator, rounding: bool = True) -> Codes:
        """Return codes of ``rows`` rows in random order; rounded systematically, or independent of each other."""
        inner = _drawn_rows(self._schedule, self._beliefs, rows, generator, rounding)
        return np.ascontiguousarray(inner[:, list(self._axis_order.inner)])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the model as plain arrays, for saving without pickle."""
        arrays: dict[str, NDArray[Any]] = {
            "sizes": np.array(self.sizes, np.int64),
            "scalars": np.array([self.total, self.loss]),
            "progress": np.array([self.steps, int(self.converged)], np.int64),
        }
        for number, (clique, potential) in enumerate(zip(self.cliques, self.potentials, strict=True)):
            arrays[f"clique_{number}"] = np.array(clique, np.int64)
            arrays[f"potential_{number}"] = potential
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> GraphicalModel:
        """Read what :meth:`to_arrays` wrote; PlanError where the arrays do not fit together."""
        try:
            sizes = tuple(int(size) for size in arrays["sizes"])
            total, loss = (float(number) for number in arrays["scalars"])
            steps, converged = (int(number) for number in arrays["progress"])
            count = sum(name.startswith("clique_") for name in arrays)
            cliques = tuple(tuple(int(column) for column in arrays[f"clique_{number}"]) for number in range(count))
            potentials = tuple(np.array(arrays[f"potential_{number}"], np.float64) for number in range(count))
            shapes = [tuple(sizes[column] for column in clique) for clique in cliques]
        except (KeyError, ValueError, IndexError) as error:
            raise PlanError("the saved model cannot be read", [repr(error)], "save the model again") from error
        if [potential.shape for potential in potentials] != shapes:
            raise PlanError("the saved model cannot be read", ["potentials and sizes differ"], "save the model again")
        return cls(sizes, total, cliques, potentials, loss, steps, bool(converged))

    @cached_property
    def _axis_order(self) -> AxisOrder:
        return AxisOrder.of(self.sizes)

    @cached_property
    def _schedule(self) -> MessageSchedule:
        return schedule(self._axis_order.sizes, [self._axis_order.inwards(clique) for clique in self.cliques])

    @cached_property
    def _beliefs(self) -> list[Table]:
        turned = [self._axis_order.table_inwards(*pair) for pair in zip(self.cliques, self.potentials, strict=True)]
        return MessagePassing(self._schedule).beliefs(turned)

    @cached_property
    def _queries(self) -> MarginalQueries:
        return MarginalQueries(self._schedule, self._beliefs)


def _drawn_rows(
    schedule: MessageSchedule, beliefs: Sequence[Table], rows: int, generator: np.random.Generator, rounding: bool
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
        cells = _systematic_sampling(table, groups, generator) if rounding else _independent(table, groups, generator)
        for column, values in zip(new, np.unravel_index(cells, choices), strict=True):
            codes[column] = values
    return np.ascontiguousarray(codes[:, generator.permutation(rows)].T)


def _systematic_sampling(table: Table, groups: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
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
