"""Junction tree of a set of cliques by greedy elimination, and the size of a model.

A model with a potential on each clique of columns is tractable through a tree of larger cliques with the running
intersection property: the cliques that hold a column form a connected part of the tree. Columns are eliminated
greedily, always the one with the smallest clique; the same elimination sizes a model and builds its tree. Hundreds of
candidate models are sized in every round of AIM, so it is compiled and runs in microseconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.jit import jit


@jit
def _cells(adjacency: Any, sizes: Any, column: int) -> float:
    """Return the cells of the clique that arises when the column is eliminated now."""
    cells = sizes[column]
    for other in range(sizes.shape[0]):
        if adjacency[column, other]:
            cells *= sizes[other]
    return cells


@jit
def _join_neighbours(adjacency: Any, column: int, members: Any) -> int:
    """Take the column out of the graph, join its neighbours with each other, and return how many they are."""
    degree = 0
    for other in range(members.shape[0]):
        members[other] = adjacency[column, other]
        if members[other]:
            degree += 1
            adjacency[other, column] = False
    for one in range(members.shape[0]):
        if members[one]:
            for other in range(members.shape[0]):
                if members[other] and other != one:
                    adjacency[one, other] = True
    return degree


@jit
def eliminate_columns(adjacency: Any, sizes: Any, members: Any, maximal: Any) -> float:
    """Eliminate the column with the smallest clique again and again; return the cells of the maximal cliques.

    Row v of ``members`` receives the clique of column v, and ``maximal`` says which of them lie in no other. The
    clique of v lies in another one exactly if a column u with v as its next eliminated neighbour has a clique with
    one member more (Blair and Peyton, 1993). ``adjacency`` is used up.
    """
    columns = sizes.shape[0]
    costs, degrees = np.empty(columns), np.zeros(columns, np.int64)
    turn = np.full(columns, columns, np.int64)
    for column in range(columns):
        costs[column] = _cells(adjacency, sizes, column)
        maximal[column] = True
    kept = np.empty(columns)
    for step in range(columns):
        chosen = -1
        for column in range(columns):
            if turn[column] == columns and (chosen < 0 or costs[column] < costs[chosen]):
                chosen = column
        turn[chosen] = step
        kept[chosen] = costs[chosen]
        degrees[chosen] = _join_neighbours(adjacency, chosen, members[chosen])
        for column in range(columns):
            if members[chosen, column]:
                costs[column] = _cells(adjacency, sizes, column)
    return _maximal_cells(members, turn, degrees, kept, maximal)


@jit
def _maximal_cells(members: Any, turn: Any, degrees: Any, kept: Any, maximal: Any) -> float:
    """Mark the cliques that lie in another one, add each column to its own clique, and sum the maximal cells."""
    columns = turn.shape[0]
    for column in range(columns):
        following = -1
        for other in range(columns):
            if members[column, other] and (following < 0 or turn[other] < turn[following]):
                following = other
        if following >= 0 and degrees[following] == degrees[column] - 1:
            maximal[following] = False
    total = 0.0
    for column in range(columns):
        members[column, column] = True
        if maximal[column]:
            total += kept[column]
    return total


Clique = tuple[int, ...]
MOST_CELLS = 2**62
"""Models beyond this have no exact size in floating point; they fit on no machine either."""


@dataclass(frozen=True)
class JunctionTree:
    """Cliques of columns in an order where every parent stands before its children; the root has parent -1.

    >>> tree = junction_tree((2, 3, 4), [(0, 1), (1, 2)])
    >>> tree.cliques, tree.parents, tree.separators
    (((1, 2), (0, 1)), (-1, 0), ((), (1,)))
    """

    cliques: tuple[Clique, ...]
    parents: tuple[int, ...]
    separators: tuple[Clique, ...]

    def cells(self, sizes: Sequence[int]) -> int:
        """Return the number of cells of all clique tables."""
        return sum(clique_cells(sizes, clique) for clique in self.cliques)


def clique_cells(sizes: Sequence[int], clique: Iterable[int]) -> int:
    """Return the cells of one table."""
    return math.prod(sizes[column] for column in clique)


def maximal_cliques(cliques: Iterable[Iterable[int]]) -> list[Clique]:
    """Return the cliques that lie in no other one, sorted.

    >>> maximal_cliques([(0,), (1, 0), (2,), (0, 1)])
    [(0, 1), (2,)]
    """
    kept: list[frozenset[int]] = []
    for clique in sorted({frozenset(clique) for clique in cliques}, key=len, reverse=True):
        if not any(clique <= other for other in kept):
            kept.append(clique)
    return sorted(tuple(sorted(clique)) for clique in kept)


def model_cells(sizes: Sequence[int], cliques: Iterable[Clique]) -> int:
    """Return the cells of the junction tree over all columns, without building it.

    >>> model_cells((2, 3, 4), [(0, 1), (1, 2)])
    18
    """
    cells, _, _ = _eliminated(np.asarray(sizes, np.float64), cliques)
    return int(min(cells, MOST_CELLS))


class ModelSize:
    """Sizes of a model with one clique more, for many such cliques: only what hangs together with it is sized anew.

    Columns that no path of cliques joins have no part in each other's elimination, so that the cells of a model are the
    sum over its parts, whatever the order in which those are eliminated.

    >>> ModelSize((2, 3, 4, 5), [(0, 1), (1, 2)]).cells_with((2, 3))
    38
    >>> model_cells((2, 3, 4, 5), [(0, 1), (1, 2), (2, 3)])
    38
    """

    def __init__(self, sizes: Sequence[int], cliques: Iterable[Clique]) -> None:
        self._sizes, held = tuple(sizes), list(cliques)
        self._part: list[int] = connected_parts(len(self._sizes), held).tolist()
        self._cliques: dict[int, list[Clique]] = {part: [] for part in self._part}
        self._columns: dict[int, list[int]] = {part: [] for part in self._part}
        self._holding: list[set[int]] = [set() for _ in self._sizes]
        for column, part in enumerate(self._part):
            self._columns[part].append(column)
        for place, clique in enumerate(held):
            self._cliques[self._part[clique[0]]].append(clique)
            for column in clique:
                self._holding[column].add(place)
        self._cells = {part: self._sized([part]) for part in self._columns}
        self.cells = sum(self._cells.values())

    def holds(self, clique: Clique) -> bool:
        """Whether a clique lies inside one that is there."""
        return bool(set.intersection(*(self._holding[column] for column in clique)))

    def cells_with(self, clique: Clique) -> int:
        """Return the cells of the model with a clique more."""
        touched = sorted({self._part[column] for column in clique})
        return min(self.cells - sum(self._cells[part] for part in touched) + self._sized(touched, clique), MOST_CELLS)

    def _sized(self, parts: Sequence[int], more: Clique | None = None) -> int:
        columns = sorted(column for part in parts for column in self._columns[part])
        place = {column: i for i, column in enumerate(columns)}
        cliques = [clique for part in parts for clique in self._cliques[part]] + ([more] if more else [])
        inside = (tuple(place[column] for column in clique) for clique in cliques)
        return model_cells([self._sizes[column] for column in columns], inside)


def connected_parts(columns: int, cliques: Iterable[Clique]) -> NDArray[np.intp]:
    """Return for each column the lowest column that a path of cliques joins it with."""
    return reduce(join_columns, cliques, np.arange(columns))


def join_columns(part: NDArray[np.intp], clique: Clique) -> NDArray[np.intp]:
    """Return the part of each column, with those that a clique joins as one."""
    joined = part[list(clique)]
    return np.where(np.isin(part, joined), joined.min(), part)


def _eliminated(
    sizes: NDArray[np.float64], cliques: Iterable[Clique]
) -> tuple[float, NDArray[np.bool_], NDArray[np.bool_]]:
    columns = len(sizes)
    adjacency = np.zeros((columns, columns), np.bool_)
    for clique in cliques:
        for column in clique:
            for other in clique:
                if other != column:
                    adjacency[column, other] = True
    members, maximal = np.zeros((columns, columns), np.bool_), np.zeros(columns, np.bool_)
    return eliminate_columns(adjacency, sizes, members, maximal), members, maximal


def junction_tree(sizes: Sequence[int], cliques: Iterable[Clique]) -> JunctionTree:
    """Build the tree whose cliques cover every given clique and every column; the largest clique is the root."""
    _, members, maximal = _eliminated(np.asarray(sizes, np.float64), cliques)
    unordered = [frozenset(np.flatnonzero(row).tolist()) for row in members[maximal]]
    unordered.sort(key=lambda clique: (-clique_cells(sizes, clique), sorted(clique)))
    order, parents = _spanning_tree(unordered)
    placed = [unordered[index] for index in order]
    separators = [
        clique & placed[parent] if parent >= 0 else frozenset[int]()
        for clique, parent in zip(placed, parents, strict=True)
    ]
    return JunctionTree(
        tuple(tuple(sorted(clique)) for clique in placed),
        tuple(parents),
        tuple(tuple(sorted(separator)) for separator in separators),
    )


def _spanning_tree(cliques: Sequence[frozenset[int]]) -> tuple[list[int], list[int]]:
    """Grow a tree of largest separators from the first clique; for a chordal graph this is a junction tree."""
    order, parents = [0], [-1]
    shared = {index: (len(cliques[index] & cliques[0]), 0) for index in range(1, len(cliques))}
    while shared:
        index = max(shared, key=lambda index: (shared[index][0], -index))
        parents.append(shared.pop(index)[1])
        order.append(index)
        for other, (size, _) in shared.items():
            common = len(cliques[other] & cliques[index])
            if common > size:
                shared[other] = (common, len(order) - 1)
    return order, parents
