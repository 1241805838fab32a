"""What a sweep over the junction tree needs to know, worked out once per model: shapes, axes and hosts.

All tables have their axes in ascending column order, so a message moves from one clique to another by a reshape;
nothing is ever transposed.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from sfumato.methods.graphical.tree.junction import Clique, JunctionTree, junction_tree, table_cells

Shape = tuple[int, ...]
Axes = tuple[int, ...]


@dataclass(frozen=True)
class Link:
    """How a smaller table sits in a larger one: its shape there, for broadcasting, and the axes to sum away."""

    shape: Shape
    axes: Axes


@dataclass(frozen=True)
class Node:
    """One clique of the tree: its table, the factors it hosts, and its links to parent and children."""

    shape: Shape
    parent: int
    up: Link
    """The separator to the parent, seen from this clique."""
    down: Link
    """The same separator, seen from the parent."""
    children: tuple[int, ...]
    factors: tuple[tuple[int, Link], ...]


@dataclass(frozen=True)
class Schedule:
    """The junction tree of some factors, ready for sweeps."""

    sizes: tuple[int, ...]
    cliques: tuple[Clique, ...]
    """The cliques of the factors."""
    tree: JunctionTree
    nodes: tuple[Node, ...]


def link(sizes: Sequence[int], inner: Clique, outer: Clique) -> Link:
    """Return how the table of the inner clique sits in that of the outer one."""
    shape = tuple(sizes[column] if column in inner else 1 for column in outer)
    return Link(shape, tuple(axis for axis, column in enumerate(outer) if column not in inner))


def summed(table: NDArray[np.float64], axes: Axes) -> NDArray[np.float64]:
    """Return the table summed over some axes; a new array. Einsum is 3 times as fast where the last axis goes."""
    if table.ndim - 1 not in axes or table.ndim > len(string.ascii_letters):
        return table.sum(axis=axes) if axes else table.copy()
    return np.asarray(np.einsum(_subscripts(table.ndim, axes), table))


def summed_many(table: NDArray[np.float64], wanted: Sequence[Axes]) -> list[NDArray[np.float64]]:
    """Return the table summed over each of several groups of axes; the last axes are summed once for all of them."""
    shorter = [table]
    found: list[NDArray[np.float64]] = []
    for axes in wanted:
        tail = 0
        while table.ndim - 1 - tail in axes:
            tail += 1
            if len(shorter) == tail:
                shorter.append(summed(shorter[-1], (table.ndim - tail,)))
        found.append(summed(shorter[tail], tuple(axis for axis in axes if axis < table.ndim - tail)))
    return found


@cache
def _subscripts(dimensions: int, axes: Axes) -> str:
    letters = string.ascii_letters[:dimensions]
    return letters + "->" + "".join(letter for axis, letter in enumerate(letters) if axis not in axes)


def host(sizes: Sequence[int], clique: Clique, hosts: Sequence[Clique]) -> int:
    """Return the smallest of the hosts that holds the clique."""
    members = set(clique)
    fitting = [index for index, outer in enumerate(hosts) if members.issubset(outer)]
    return min(fitting, key=lambda index: table_cells(sizes, hosts[index]))


def schedule(sizes: Sequence[int], cliques: Sequence[Clique]) -> Schedule:
    """Build the tree of the factors and work out every shape."""
    tree = junction_tree(sizes, cliques)
    hosted: list[list[int]] = [[] for _ in tree.cliques]
    for index, clique in enumerate(cliques):
        hosted[host(sizes, clique, tree.cliques)].append(index)
    nodes = tuple(_node(sizes, cliques, tree, number, factors) for number, factors in enumerate(hosted))
    return Schedule(tuple(sizes), tuple(cliques), tree, nodes)


def _node(sizes: Sequence[int], cliques: Sequence[Clique], tree: JunctionTree, number: int, hosted: list[int]) -> Node:
    clique, parent, separator = tree.cliques[number], tree.parents[number], tree.separators[number]
    return Node(
        shape=tuple(sizes[column] for column in clique),
        parent=parent,
        up=link(sizes, separator, clique),
        down=link(sizes, separator, tree.cliques[parent] if parent >= 0 else ()),
        children=tuple(child for child, above in enumerate(tree.parents) if above == number),
        factors=tuple((index, link(sizes, cliques[index], clique)) for index in hosted),
    )
