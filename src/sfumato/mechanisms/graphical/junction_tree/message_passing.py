"""Exact clique marginals by message passing on a junction tree (Hugin).

All tables have their axes in ascending column order, so a message moves from one clique to another by a reshape;
nothing is ever transposed.

Long inner loops are fast ones. Users of a model see their own column numbers; tables are turned at the border.

Potentials are exponentiated once; messages are then products and sums of probabilities, each message scaled to sum
to 1. That underflows where potentials differ by many hundreds: hardly any mass is then left in some clique, which is
noticed, and the sweep is done again in log space, which is slower and safe for potentials of any size. A cell that is
lost unnoticed has less than 1e-100 of the mass.
"""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PlanError
from sfumato.mechanisms.graphical.junction_tree.junction_tree import Clique, JunctionTree, clique_cells, junction_tree
from sfumato.mechanisms.graphical.junction_tree.linear_measurement import Query

Shape = tuple[int, ...]

Axes = tuple[int, ...]


@dataclass(frozen=True)
class AxisEmbedding:
    """How a smaller table sits in a larger one: its shape there, for broadcasting, and the axes to sum away."""

    shape: Shape
    axes: Axes


@dataclass(frozen=True)
class Node:
    """One clique of the tree: its table, the factors it hosts, and its links to parent and children."""

    shape: Shape
    parent: int
    up: AxisEmbedding
    """The separator to the parent, seen from this clique."""
    down: AxisEmbedding
    """The same separator, seen from the parent."""
    children: tuple[int, ...]
    factors: tuple[tuple[int, AxisEmbedding], ...]


@dataclass(frozen=True)
class MessageSchedule:
    """The junction tree of some factors, ready for sweeps."""

    sizes: tuple[int, ...]
    cliques: tuple[Clique, ...]
    """The cliques of the factors."""
    tree: JunctionTree
    nodes: tuple[Node, ...]


def axis_embedding(sizes: Sequence[int], inner: Clique, outer: Clique) -> AxisEmbedding:
    """Return how the table of the inner clique sits in that of the outer one."""
    shape = tuple(sizes[column] if column in inner else 1 for column in outer)
    return AxisEmbedding(shape, tuple(axis for axis, column in enumerate(outer) if column not in inner))


def sum_axes(table: NDArray[np.float64], axes: Axes) -> NDArray[np.float64]:
    """Return the table summed over some axes; a new array. Einsum is 3 times as fast where the last axis goes."""
    if table.ndim - 1 not in axes or table.ndim > len(string.ascii_letters):
        return table.sum(axis=axes) if axes else table.copy()
    return np.asarray(np.einsum(_subscripts(table.ndim, axes), table))


def summed_many(table: NDArray[np.float64], wanted: Sequence[Axes]) -> list[NDArray[np.float64]]:
    """Return the table summed over each of several groups of axes; the last axes are summed once for all of them."""
    shorter = [table]
    sums: list[NDArray[np.float64]] = []
    for axes in wanted:
        tail = 0
        while table.ndim - 1 - tail in axes:
            tail += 1
            if len(shorter) == tail:
                shorter.append(sum_axes(shorter[-1], (table.ndim - tail,)))
        sums.append(sum_axes(shorter[tail], tuple(axis for axis in axes if axis < table.ndim - tail)))
    return sums


@cache
def _subscripts(dimensions: int, axes: Axes) -> str:
    letters = string.ascii_letters[:dimensions]
    return letters + "->" + "".join(letter for axis, letter in enumerate(letters) if axis not in axes)


def host(sizes: Sequence[int], clique: Clique, hosts: Sequence[Clique]) -> int:
    """Return the smallest of the hosts that holds the clique."""
    members = set(clique)
    fitting = [index for index, outer in enumerate(hosts) if members.issubset(outer)]
    return min(fitting, key=lambda index: clique_cells(sizes, hosts[index]))


def schedule(sizes: Sequence[int], cliques: Sequence[Clique]) -> MessageSchedule:
    """Build the tree of the factors and work out every shape."""
    tree = junction_tree(sizes, cliques)
    hosted: list[list[int]] = [[] for _ in tree.cliques]
    for index, clique in enumerate(cliques):
        hosted[host(sizes, clique, tree.cliques)].append(index)
    nodes = tuple(_node(sizes, cliques, tree, number, factors) for number, factors in enumerate(hosted))
    return MessageSchedule(tuple(sizes), tuple(cliques), tree, nodes)


def _node(sizes: Sequence[int], cliques: Sequence[Clique], tree: JunctionTree, number: int, hosted: list[int]) -> Node:
    clique, parent, separator = tree.cliques[number], tree.parents[number], tree.separators[number]
    return Node(
        shape=tuple(sizes[column] for column in clique),
        parent=parent,
        up=axis_embedding(sizes, separator, clique),
        down=axis_embedding(sizes, separator, tree.cliques[parent] if parent >= 0 else ()),
        children=tuple(child for child, above in enumerate(tree.parents) if above == number),
        factors=tuple((index, axis_embedding(sizes, cliques[index], clique)) for index in hosted),
    )


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

    def query_inwards(self, clique: Clique, coarse: Query) -> Query:
        """Turn the maps of a table's axes like the table itself."""
        return None if coarse is None else tuple(coarse[axis] for axis in self._axes(clique))

    def table_outwards(self, columns: Sequence[int], table: NDArray[Any]) -> NDArray[Any]:
        """Turn a table with ascending inner numbers so that its axes follow ``columns``."""
        inner = sorted(self.inner[column] for column in columns)
        return np.asarray(table.transpose([inner.index(self.inner[column]) for column in columns]), order="C")

    def _axes(self, clique: Clique) -> list[int]:
        return sorted(range(len(clique)), key=lambda axis: self.inner[clique[axis]])


Table = NDArray[np.float64]

LEAST_MASS = 1e-200
"""Cells under 1e-300 are lost; below this mass they could matter."""


class MessagePassing:
    """Beliefs of every clique of the tree for any potentials on the factors. Its tables are reused by each sweep."""

    def __init__(self, schedule: MessageSchedule) -> None:
        self.schedule = schedule
        self.log_space = False
        """Set by the first underflow: the potentials of a fit change slowly, the next sweep would underflow too."""
        self._tables = [np.empty(node.shape) for node in schedule.nodes]
        self._messages = [np.empty(0) for _ in schedule.nodes]

    def beliefs(self, potentials: Sequence[Table]) -> list[Table]:
        """Return the probabilities of each clique's cells. They are overwritten by the next call."""
        if not self.log_space:
            peaks = [float(potential.max()) for potential in potentials]
            if all(math.isfinite(peak) for peak in peaks):
                factors = [np.exp(potential - peak) for potential, peak in zip(potentials, peaks, strict=True)]
                if self._collect(factors):
                    self._distribute()
                    return self._tables
            self.log_space = True
        return log_space_marginals(self.schedule, potentials)

    def marginals(self, beliefs: Sequence[Table]) -> list[Table]:
        """Return the probabilities of each factor's cells."""
        marginals: list[Table] = [np.empty(0)] * len(self.schedule.cliques)
        for node, table in zip(self.schedule.nodes, beliefs, strict=True):
            sums = summed_many(table, [inner.axes for _, inner in node.factors])
            for (index, _), marginal in zip(node.factors, sums, strict=True):
                marginals[index] = marginal
        return marginals

    def _collect(self, factors: Sequence[Table]) -> bool:
        """Send messages from the leaves to the root; return False where too little mass is left."""
        for number in range(len(self.schedule.nodes) - 1, -1, -1):
            node, table = self.schedule.nodes[number], self._tables[number]
            self._multiply(node, factors, table)
            message = sum_axes(table, node.up.axes)
            mass = float(message.sum())
            if not LEAST_MASS < mass < math.inf:
                return False
            # The table itself is scaled when the message comes back from the parent.
            self._messages[number] = message
        return True

    def _multiply(self, node: Node, factors: Sequence[Table], table: Table) -> None:
        """Write the product of the clique's factors and its children's messages into its table."""
        parts = [factors[index].reshape(inner.shape) for index, inner in node.factors]
        for child in node.children:
            message = self._messages[child]
            parts.append((message / message.sum()).reshape(self.schedule.nodes[child].down.shape))
        # The largest axis comes in last: until then all products are small.
        parts.sort(key=lambda part: part.shape[::-1])
        product = parts[0] if parts else np.ones(1)
        for part in parts[1:]:
            whole = product is table or np.broadcast_shapes(product.shape, part.shape) == table.shape
            product = np.multiply(product, part, out=table if whole else None)
        if product is not table:
            np.copyto(table, product)

    def _distribute(self) -> None:
        """Send the beliefs of the root to the leaves; each clique then holds its exact probabilities."""
        tables = self._tables
        tables[0] /= self._messages[0]
        for node, table, message in zip(self.schedule.nodes[1:], tables[1:], self._messages[1:], strict=True):
            known = sum_axes(tables[node.parent], node.down.axes)
            ratio = np.divide(known, message, out=np.zeros_like(message), where=message > 0)
            table *= ratio.reshape(node.up.shape)


def log_space_marginals(schedule: MessageSchedule, potentials: Sequence[Table]) -> list[Table]:
    """Return the probabilities of each clique's cells; PlanError where the structural zeros leave nothing."""
    tables, messages = _collected(schedule, potentials)
    if not np.isfinite(messages[0]):
        raise PlanError(
            "the rules between columns contradict each other: they leave no row",
            [f"columns {clique} are bound by rules or measured" for clique in schedule.cliques[:10]],
            "drop or mend one of the rules",
        )
    tables[0] -= messages[0]
    for node, table, message in zip(schedule.nodes[1:], tables[1:], messages[1:], strict=True):
        known = log_sum(tables[node.parent], node.down.axes)
        ratio = np.subtract(known, message, out=np.full_like(message, -np.inf), where=message > -np.inf)
        table += ratio.reshape(node.up.shape)
    return [np.exp(table) for table in tables]


def _collected(schedule: MessageSchedule, potentials: Sequence[Table]) -> tuple[list[Table], list[Table]]:
    tables = [np.zeros(node.shape) for node in schedule.nodes]
    messages: list[Table] = [np.empty(0)] * len(tables)
    for number in range(len(tables) - 1, -1, -1):
        node, table = schedule.nodes[number], tables[number]
        for index, inner in node.factors:
            table += potentials[index].reshape(inner.shape)
        for child in node.children:
            table += messages[child].reshape(schedule.nodes[child].down.shape)
        messages[number] = log_sum(table, node.up.axes)
    return tables, messages


def log_sum(table: Table, axes: tuple[int, ...]) -> Table:
    """Return log(sum(exp(table))) over the axes; -inf where there is nothing.

    >>> round(float(log_sum(np.array([-2000.0, -2000.0]), (0,))), 6)
    -1999.306853
    """
    peak = np.asarray(table.max(axis=axes, keepdims=True))
    peak = np.where(np.isfinite(peak), peak, 0.0)
    mass = np.exp(table - peak).sum(axis=axes)
    shift = peak.reshape(mass.shape)
    return np.add(np.log(mass, out=np.full_like(mass, -np.inf), where=mass > 0), shift)
