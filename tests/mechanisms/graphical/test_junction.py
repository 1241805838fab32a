from __future__ import annotations

import math

import pytest
from hypothesis import given, settings

from mechanisms.graphical.brute_force import shapes
from sfumato.mechanisms.graphical.junction_tree.junction_tree import (
    MOST_CELLS,
    JunctionTree,
    ModelSize,
    junction_tree,
    maximal_cliques,
    model_cells,
)


def path(tree: JunctionTree, start: int, end: int) -> list[int]:
    ways = []
    for node in (start, end):
        way = [node]
        while tree.parents[way[-1]] >= 0:
            way.append(tree.parents[way[-1]])
        ways.append(way)
    meeting = next(node for node in ways[0] if node in ways[1])
    return ways[0][: ways[0].index(meeting) + 1] + ways[1][: ways[1].index(meeting)]


@settings(max_examples=300)
@given(shapes())
def test_running_intersection(shape):
    tree = junction_tree(*shape)
    for start, one in enumerate(tree.cliques):
        for end, other in enumerate(tree.cliques):
            shared = set(one) & set(other)
            assert all(shared <= set(tree.cliques[node]) for node in path(tree, start, end))


@settings(max_examples=300)
@given(shapes())
def test_tree_covers_every_clique_and_is_as_large_as_foretold(shape):
    sizes, cliques = shape
    tree = junction_tree(sizes, cliques)
    for clique in [*cliques, *((column,) for column in range(len(sizes)))]:
        assert any(set(clique) <= set(outer) for outer in tree.cliques)
    assert maximal_cliques(tree.cliques) == sorted(tree.cliques)
    cells = sum(math.prod(sizes[column] for column in clique) for clique in tree.cliques)
    assert model_cells(sizes, cliques) == tree.cells(sizes) == cells


@settings(max_examples=100)
@given(shapes())
def test_parents_come_first_and_separators_are_what_is_shared(shape):
    tree = junction_tree(*shape)
    assert tree.parents[0] == -1
    for node, parent in enumerate(tree.parents[1:], start=1):
        assert 0 <= parent < node
        assert set(tree.separators[node]) == set(tree.cliques[node]) & set(tree.cliques[parent])


@pytest.mark.parametrize(
    ("sizes", "cliques", "cells"),
    [
        ((2, 3, 4), [], 9),
        ((7,), [], 7),
        ((2, 2, 2, 2), [(0, 1), (1, 2), (2, 3), (0, 3)], 16),  # a cycle needs one chord
        ((2, 3, 4, 5), [(0, 1, 2, 3), (1, 2), (3,)], 120),
        ((5, 2, 2, 5), [(0, 1), (1, 3), (3, 2), (0, 2)], 40),  # the chord joins the two small columns
    ],
)
def test_known_sizes(sizes, cliques, cells):
    assert model_cells(sizes, cliques) == cells


def test_a_star_of_many_columns_stays_small():
    sizes = [10] * 80
    assert model_cells(sizes, [(0, column) for column in range(1, 80)]) == 79 * 100


def test_a_hopeless_model_has_a_size_too():
    sizes = [1000] * 30
    everything = [(one, other) for one in range(30) for other in range(one + 1, 30)]
    assert model_cells(sizes, everything) == MOST_CELLS


@settings(max_examples=200)
@given(shapes())
def test_one_clique_more_is_sized_as_the_whole_model(shape):
    sizes, cliques = shape
    held = cliques[:-1]
    sizing = ModelSize(sizes, held)
    assert sizing.cells == model_cells(sizes, held)
    for one in range(len(sizes)):
        for other in range(one + 1, len(sizes)):
            pair = (one, other)
            assert sizing.cells_with(pair) == model_cells(sizes, [*held, pair])
            assert sizing.holds(pair) == any(set(pair) <= set(clique) for clique in held)
