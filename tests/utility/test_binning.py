"""Cells depend on the release alone: each private row lies in one of them and moves the distance by at most one."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.metrics.binning import MOST_SETS, Binning, Marginal, column_sets, grouped_counts, q16_edges
from sfumato.metrics.distances import MarginalPair, misplaced_records, total_variation
from sfumato.schema.column import Column

NUMBER = Column("n", "integer", bounds=(0, 29), bins=30, missing=True)
LEVELS = Column("g", "category", values=("a", "b", "c"))
counts = st.lists(st.integers(-3, 40), min_size=93, max_size=93).map(lambda each: np.array(each).reshape(31, 3))
private = st.lists(st.integers(0, 9), min_size=93, max_size=93).map(lambda each: np.array(each).reshape(31, 3))


def grouped(released: np.ndarray, table: np.ndarray) -> MarginalPair:
    """Return both marginals in the cells that follow from released counts."""
    cells = [Binning.q16_of_counts(NUMBER, released.sum(1)), Binning.q16_of_counts(LEVELS, released.sum(0))]
    return MarginalPair(("n", "g"), *(grouped_counts(each, cells) for each in (np.maximum(released, 0), table)))


@settings(max_examples=60)
@given(released=counts, table=private, place=st.integers(0, 92))
def test_grouped_counts_hold_every_row_and_one_row_moves_the_distance_by_at_most_one(released, table, place):
    before, more = grouped(released, table), table.copy()
    more[np.unravel_index(place, table.shape)] += 1
    after = grouped(released, more)
    assert before.private.sum() == table.sum() and before.released.sum() == np.maximum(released, 0).sum()
    assert (before.released == after.released).all(), "cells follow from the release"
    assert abs(misplaced_records(after) - misplaced_records(before)) <= 1


def test_a_mutant_that_cuts_by_private_counts_moves_by_more():
    """One private row more moves the cuts, and with them records that it has nothing to do with."""
    generator, worst = np.random.default_rng(1), Fraction(0)
    for _ in range(200):
        released, table = generator.integers(0, 40, (31, 3)), generator.integers(0, 4, (31, 3))
        more = table.copy()
        more[tuple(generator.integers((31, 3)))] += 1
        pairs = []
        for each in (table, more):
            cells = [Binning.q16_of_counts(NUMBER, each.sum(1)), Binning.q16_of_counts(LEVELS, each.sum(0))]
            pairs.append(MarginalPair(("n", "g"), grouped_counts(released, cells), grouped_counts(each, cells)))
        worst = max(worst, abs(misplaced_records(pairs[0]) - misplaced_records(pairs[1])))
    assert worst > 2


@settings(max_examples=60)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=60), st.lists(st.integers(-5, 45), max_size=40))
def test_frequent_values_have_cells_of_their_own_and_open_ends_hold_no_released_row(released, others):
    values, times = np.unique(np.array(released, float), return_counts=True)
    edges = q16_edges(values, times)
    cells = np.searchsorted(edges, values, side="right")
    assert cells.min() >= 1 and cells.max() < len(edges), "below and above lies nothing released"
    for value, count in zip(values, times, strict=True):
        if 16 * count >= len(released):
            near = np.searchsorted(edges, [value - 1e-9, value, value + 1e-9], side="right")
            assert near[0] < near[1] < near[2]
    outside = [other for other in others if not values[0] <= other <= values[-1]]
    places = np.searchsorted(edges, np.array(outside, float), side="right")
    assert all(place in (0, len(edges)) for place in places)


def test_pooling_cells_without_released_rows_leaves_the_distance():
    generator = np.random.default_rng(2)
    sizes = (300, 300)
    one, other = ([generator.integers(0, 300, 500) for _ in sizes] for _ in range(2))
    pooled = Marginal.of(one, sizes)
    assert pooled.occupied is not None
    dense = [np.bincount(a * 300 + b, minlength=math.prod(sizes)) for a, b in (one, other)]
    assert math.isclose(total_variation(pooled.counts, pooled.count(other)), total_variation(*dense))


def test_column_sets_are_the_same_for_everybody():
    names = tuple(f"c{i}" for i in range(120))
    pairs, triples = column_sets([names], 2), column_sets([names], 3)
    assert len(column_sets([names], 1)) == 120 and len(pairs) == MOST_SETS[2] and len(triples) == MOST_SETS[3]
    assert pairs == column_sets([names], 2) and len(set(pairs)) == len(pairs)
    assert column_sets([("a", "b"), ("b", "a", "c")], 2) == (("a", "b"), ("b", "c"), ("a", "c"))
