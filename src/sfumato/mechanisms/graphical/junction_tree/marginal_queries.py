"""Marginals of columns that share no clique, by cached messages.

The columns meet in one clique, chosen with the fewest steps to all of them. Each branch of the tree that leads away
from it tells P(its wanted columns | its separator); these messages are products of matrices and are kept, so that all
pairs or triples of a table share them: for up to three columns every message is about one column alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.graphical.junction_tree.junction_tree import Clique
from sfumato.mechanisms.graphical.junction_tree.message_passing import MessageSchedule, axis_embedding, sum_axes

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
