"""GraphicalModel: clique potentials, their marginals, and rows drawn from them.

Rows are drawn clique by clique from the root of the junction tree. Given the columns that a clique shares with its
parent, its new columns are drawn together. By default this is systematic rounding inside each group of rows with the
same shared values: with n rows in a group and conditional probabilities p(x), cell x covers an interval of length
n p(x), and gets the rows k with k + u inside it, u uniform.

Bound. An interval of length L holds floor(L) or ceil(L) points of a unit grid, so in every group each cell's count
differs from n p(x) by less than 1. Hence for a clique with cell x, separator value s and errors e = count - rows P:
|e(x)| < 1 + p(x | s) |e(s)|; in the root |e(x)| < 1. The expectation of each count is n p(x): u is uniform.
Inside a group rows get their cells in random order, so that they depend on earlier columns through s alone.

Marginals of columns that share no clique are asked of :class:`MarginalQueries`. The columns meet in one clique, chosen
with the fewest steps to all of them. Each branch of the tree that leads away from it tells P(its wanted columns | its
separator); these messages are products of matrices and are kept, so that all pairs or triples of a table share them:
for up to three columns every message is about one column alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PlanError
from sfumato.mechanisms.graphical.junction_tree.junction_tree import Clique
from sfumato.mechanisms.graphical.junction_tree.message_passing import (
    AxisOrder,
    MessagePassing,
    MessageSchedule,
    axis_embedding,
    schedule,
    sum_axes,
)
from sfumato.sampling.values import codes_at, draw_conditional, evenly_spaced

Table = NDArray[np.float64]
Table = NDArray[np.float64]
Labelled = tuple[Table, Clique]
"""A table and the column of each of its axes."""


class MarginalQueries:
    """Answers questions about a calibrated tree; keeps the messages that several answers share."""

    def __init__(
        self, schedule: MessageSchedule, beliefs: Sequence[Table], starts: Mapping[int, Sequence[int]] | None = None
    ) -> None:
        """Take ``starts`` of coarse groups by column: answers then have these columns at coarse groups."""
        self._schedule, self._beliefs = schedule, beliefs
        self._starts = starts or {}
        self._parts: dict[tuple[int, Clique], Table] = {}
        self._cliques = schedule.tree.cliques
        self._messages: dict[tuple[int, int, Clique], Labelled] = {}
        self._beyond: dict[tuple[int, int], frozenset[int]] = {}
        self._ways: dict[int, NDArray[np.int32]] = {}

    def marginal(self, clique: Clique) -> Table:
        """Return the probabilities of the clique's cells; axes ascending."""
        meeting = self._meeting(clique)
        table, columns = self._gather(meeting, -1, clique, ())
        return table.transpose([columns.index(column) for column in clique])

    def _meeting(self, clique: Clique) -> int:
        """Return the clique of the tree with the fewest steps to all columns; of these the one with most inside."""
        far = self._distances[:, list(clique)]
        return int(np.lexsort((self._cells, (far > 0).sum(axis=1), far.sum(axis=1)))[0])

    def _gather(self, node: int, towards: int, wanted: Clique, separator: Clique) -> Labelled:
        """Return P(wanted, separator), where the wanted columns lie in this clique or beyond it."""
        branches: list[Labelled] = []
        needed = {column for column in wanted if column in self._cliques[node]}.union(separator)
        for neighbour, message in self._told(node, wanted):
            if neighbour != towards:
                branches.append(self._message(neighbour, node, message))
        told_through = {column for _, columns in branches for column in columns}
        inside = needed.union(told_through).intersection(self._cliques[node])
        result = self._within(node, tuple(sorted(inside)))
        loose = [column for column in wanted if column in inside and column not in separator]
        result = self._pooled(result, [column for column in loose if column not in told_through])
        for position, branch in enumerate(branches):
            later = {column for _, columns in branches[position + 1 :] for column in columns}
            result = multiply_and_sum(result, branch, needed.union(later, wanted))
        return self._pooled(result, [column for column in loose if column in told_through])

    def _pooled(self, labelled: Labelled, columns: Sequence[int]) -> Labelled:
        """Sum columns to their coarse groups, as soon as nothing else of the tree hangs on their finer ones."""
        table, axes = labelled
        for column in columns:
            if column in self._starts:
                table = np.add.reduceat(table, self._starts[column], axis=axes.index(column))
        return table, axes

    def _message(self, node: int, towards: int, wanted: Clique) -> Labelled:
        """Return P(wanted | separator) for columns on this node's side of the edge."""
        key = (node, towards, wanted)
        if key not in self._messages:
            separator = self._separator(node, towards)
            table, columns = self._gather(node, towards, wanted, separator)
            order = [columns.index(column) for column in separator + wanted]
            table = table.transpose(order)
            mass = self._within(node, separator)[0].reshape(table.shape[: len(separator)] + (1,) * len(wanted))
            message = np.divide(table, mass, out=np.zeros(table.shape), where=mass > 0)
            self._messages[key] = (message, separator + wanted)
        return self._messages[key]

    def _within(self, node: int, columns: Clique) -> Labelled:
        """Return the marginal of some columns of one clique."""
        if (node, columns) not in self._parts:
            axes = axis_embedding(self._schedule.sizes, columns, self._cliques[node]).axes
            belief = self._beliefs[node]
            self._parts[node, columns] = sum_axes(belief, axes) if axes else belief
        return self._parts[node, columns], columns

    def _separator(self, node: int, neighbour: int) -> Clique:
        tree = self._schedule.tree
        return tree.separators[node if tree.parents[node] == neighbour else neighbour]

    def _told(self, node: int, wanted: Clique) -> list[tuple[int, Clique]]:
        """Return the neighbours through which wanted columns are seen, each with those columns."""
        if node not in self._ways:
            ways = self._ways[node] = np.full(len(self._schedule.sizes), -1, np.int32)
            for neighbour in self._neighbours[node]:
                ways[list(self._side(neighbour, node))] = neighbour
        columns_by_way: dict[int, Clique] = {}
        for column in wanted:
            way = int(self._ways[node][column])
            columns_by_way[way] = (*columns_by_way.get(way, ()), column)
        return sorted((way, columns) for way, columns in columns_by_way.items() if way >= 0)

    def _side(self, node: int, towards: int) -> frozenset[int]:
        """Return the columns that are seen through this node alone: beyond the edge and not in its separator."""
        key = (node, towards)
        if key not in self._beyond:
            sides = [self._side(other, node) for other in self._neighbours[node] if other != towards]
            reached = frozenset(self._cliques[node]).union(*sides)
            self._beyond[key] = reached.difference(self._separator(node, towards))
        return self._beyond[key]

    @cached_property
    def _neighbours(self) -> list[list[int]]:
        neighbours: list[list[int]] = [[] for _ in self._cliques]
        for node, parent in enumerate(self._schedule.tree.parents):
            if parent >= 0:
                neighbours[node].append(parent)
                neighbours[parent].append(node)
        return neighbours

    @cached_property
    def _cells(self) -> NDArray[np.int64]:
        return np.array([belief.size for belief in self._beliefs])

    @cached_property
    def _distances(self) -> NDArray[np.int64]:
        """Steps from each clique of the tree to the nearest one that holds each column."""
        parents = self._schedule.tree.parents
        far = len(self._cliques) + 1
        distances = np.full((len(self._cliques), len(self._schedule.sizes)), far)
        for node, clique in enumerate(self._cliques):
            distances[node, list(clique)] = 0
        # Up and down once: the nearest holder of a column lies below or above, and parents come first.
        for node in range(len(parents) - 1, 0, -1):
            distances[parents[node]] = np.minimum(distances[parents[node]], distances[node] + 1)
        for node in range(1, len(parents)):
            distances[node] = np.minimum(distances[node], distances[parents[node]] + 1)
        return distances


def multiply_and_sum(one: Labelled, other: Labelled, kept: Iterable[int]) -> Labelled:
    """Multiply two tables and sum away the shared columns that are not kept, by one batched matrix product."""
    (left, left_columns), (right, right_columns) = one, other
    stay = set(kept)
    shared = [column for column in left_columns if column in right_columns]
    batch, gone = [c for c in shared if c in stay], [c for c in shared if c not in stay]
    rest = [column for column in left_columns if column not in shared]
    extra = [column for column in right_columns if column not in shared]
    left = left.transpose([left_columns.index(column) for column in batch + rest + gone])
    right = right.transpose([right_columns.index(column) for column in batch + gone + extra])
    several, some, all_ = len(batch), len(rest), len(gone)
    blocks, terms = left.shape[:several], left.shape[several + some :]
    rows, columns = left.shape[several : several + some], right.shape[several + all_ :]
    flat = (prod(blocks), prod(rows), prod(terms), prod(columns))
    product = left.reshape(flat[:3]) @ right.reshape(flat[0], flat[2], flat[3])
    return product.reshape(blocks + rows + columns), tuple(batch + rest + extra)


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
        cells = (_systematic_sampling if rounding else draw_conditional)(table, groups, generator)
        for column, values in zip(new, np.unravel_index(cells, choices), strict=True):
            codes[column] = values
    return np.ascontiguousarray(codes[:, generator.permutation(rows)].T)


def _systematic_sampling(table: Table, groups: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
    """Draw a cell for each row by one grid of points in each group."""
    shuffled = generator.permutation(len(groups))
    order = shuffled[np.argsort(groups[shuffled], kind="stable")]
    members = groups[order]
    cells = np.empty(len(groups), np.int64)
    cells[order] = codes_at(
        table, members, evenly_spaced(members, np.bincount(members, minlength=len(table)), generator)
    )
    return cells
