"""Junction trees: which columns are modelled together, and how those groups hang together.

A model with a potential on each clique of columns is tractable through a tree of larger cliques with the running
intersection property: the cliques that hold a column form a connected part of the tree. Columns are eliminated
greedily, always the one with the smallest clique; the same elimination sizes a model and builds its tree.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.methods.graphical.tree.elimination import eliminate

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
        return sum(table_cells(sizes, clique) for clique in self.cliques)


def table_cells(sizes: Sequence[int], clique: Iterable[int]) -> int:
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
    return eliminate(adjacency, sizes, members, maximal), members, maximal


def junction_tree(sizes: Sequence[int], cliques: Iterable[Clique]) -> JunctionTree:
    """Build the tree whose cliques cover every given clique and every column; the largest clique is the root."""
    _, members, maximal = _eliminated(np.asarray(sizes, np.float64), cliques)
    found = [frozenset(np.flatnonzero(row).tolist()) for row in members[maximal]]
    found.sort(key=lambda clique: (-table_cells(sizes, clique), sorted(clique)))
    order, parents = _spanning_tree(found)
    placed = [found[index] for index in order]
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
