"""The compiled loop behind the junction tree: greedy elimination of columns from the graph of cliques.

Hundreds of candidate models are sized in every round of AIM, so this is compiled; it runs in microseconds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.compiled import compiled


@compiled
def _cells(adjacency: Any, sizes: Any, column: int) -> float:
    """Return the cells of the clique that arises when the column is eliminated now."""
    cells = sizes[column]
    for other in range(sizes.shape[0]):
        if adjacency[column, other]:
            cells *= sizes[other]
    return cells


@compiled
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


@compiled
def eliminate(adjacency: Any, sizes: Any, members: Any, maximal: Any) -> float:
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


@compiled
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
