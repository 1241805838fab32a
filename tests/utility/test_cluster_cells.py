"""The distance of released clusters: what one row can do to it, under both adjacencies, and what it sees."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import TableError
from sfumato.evaluate.calibrate import Target
from sfumato.evaluate.calibrate.private_selection import GRAIN, NoisyScore
from sfumato.metrics.catalogue import metric
from sfumato.metrics.cluster_tvd import ClusterCells, cluster_tvd, misplaced_cluster_records
from sfumato.metrics.clusters import kmeans, nearest_centroid
from sfumato.metrics.distances import MarginalPair, misplaced_records
from sfumato.privacy.noise import laplace_scale
from sfumato.schema import Column, Schema

CORNERS = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
MADE = np.random.default_rng(3).normal(0, 0.3, (60, 2)) + np.repeat(CORNERS, 15, axis=0)
FOUND = ClusterCells.of(MADE, 4)
RELEASED = FOUND.counts(MADE)
BOUND = Fraction(1, 4)
numbers = st.one_of(st.floats(-3, 3), st.just(float("nan")))
rows_of_two = st.tuples(numbers, numbers)


def misplaced(rows) -> Fraction:
    return misplaced_records(MarginalPair(("cluster",), RELEASED, FOUND.counts(np.array(rows, float).reshape(-1, 2))))


def score(adjacency: str) -> NoisyScore:
    facts = {"adjacency": adjacency} | ({"rows": 10} if adjacency == "replace" else {})
    schema = Schema(name="t", columns=(Column("a", "number", bounds=(-3.0, 3.0)),), **facts)
    return NoisyScore(Target(metric("cluster_tvd"), "<=", float(BOUND)), schema, 0.5, (1.0,))


@settings(max_examples=150, deadline=None)
@given(st.lists(rows_of_two, min_size=1, max_size=12), rows_of_two)
def test_one_row_moves_the_distance_by_at_most_one_record(rows, other):
    before = misplaced(rows)
    assert abs(misplaced([*rows, other]) - before) <= 1, "a row more"
    assert abs(misplaced([other, *rows[1:]]) - before) <= 1, "a row replaced"


@settings(max_examples=60, deadline=None)
@given(st.lists(rows_of_two, min_size=1, max_size=30))
def test_the_cell_of_a_row_depends_on_that_row_alone(rows):
    values = np.array(rows, float)
    together = FOUND.cells(values)
    assert together.tolist() == [int(FOUND.cells(row.reshape(1, -1))[0]) for row in values]


def test_a_mutant_that_clusters_the_true_rows_has_no_such_bound():
    """Four corners, two clusters: one record more turns the cut of the square, and half of the rows change theirs."""
    square = np.repeat(CORNERS, 25, axis=0)
    made = kmeans(np.vstack([square, [[0.0, 5.0]] * 3]), 2, 0).centroids

    def changed(rows) -> int:
        own = nearest_centroid(rows, kmeans(rows, 2, 0).centroids)
        other = nearest_centroid(rows, made)
        same = int((own == other).sum())
        return len(rows) - max(same, len(rows) - same)

    one = [changed(np.vstack([square, far])) for far in ([[0.0, 9.0]], [[9.0, 0.0]])]
    assert abs(one[0] - one[1]) > 1


def test_the_noise_of_the_score_covers_the_worst_row_and_no_less_would():
    """Exact audit: the log ratio of two neighbours is (change in units) / scale; nearly epsilon, and never above."""
    near = np.random.default_rng(1).normal(0, 0.1, (990, 1))
    far = np.random.default_rng(2).normal(50, 0.1, (10, 1))
    made = np.vstack([near, far])
    more = np.vstack([near, [[50.0]]])
    change = _excess(near, made) - _excess(more, made)
    wide = score("add-remove")
    ratio = change / wide.scale
    assert 0.95 * 0.5 < ratio <= 0.5
    mutant = laplace_scale(0.5, GRAIN)  # forgets that n, too, moves under add-remove
    assert change / mutant > 0.5
    swapped = np.vstack([near[1:], [[50.0]]])
    assert 0.95 * 0.5 < (_excess(near, made) - _excess(swapped, made)) / score("replace").scale <= 0.5
    assert score("replace").units == GRAIN and wide.units == ceil(GRAIN * (1 + BOUND))


def _excess(rows, made) -> int:
    return floor((misplaced_cluster_records(rows, made, 2) - BOUND * len(rows)) * GRAIN)


def test_it_is_nought_for_the_rows_themselves_and_all_where_the_clusters_are_elsewhere():
    assert cluster_tvd(MADE, MADE, 4) == 0
    assert cluster_tvd(np.full((40, 2), 9.0), MADE, 4) > 0.9
    assert cluster_tvd(MADE, MADE[:3], 4) == 1, "too few rows to cluster"
    assert cluster_tvd(np.empty((0, 2)), MADE, 4) == 0


def test_it_sees_sizes_radii_and_displaced_centres():
    made, again = (
        np.random.default_rng(seed).normal(0, 0.3, (600, 2)) + np.repeat(CORNERS, 150, axis=0) for seed in (4, 5)
    )
    good = cluster_tvd(again, made, 4)
    wide = cluster_tvd(again * 1.6, made, 4)
    shifted = cluster_tvd(again + np.array([0.6, 0.0]), made, 4)
    uneven = cluster_tvd(again[:350], made, 4)
    assert good < 0.12 < 0.25 < min(wide, shifted, uneven)
    assert cluster_tvd(again * 1.1, made, 4, rings=1) < 0.02 < 0.25 < cluster_tvd(again[:350], made, 4, rings=1)


def test_missing_numbers_are_a_cell_of_their_own():
    holes = MADE.copy()
    holes[:15, 0] = np.nan
    assert ClusterCells.of(holes, 3).counts(holes)[-1] == 15
    assert cluster_tvd(holes, holes, 3) == 0


def test_rows_that_do_not_belong_together_are_refused():
    with pytest.raises(TableError, match="2 original columns and 1 synthetic"):
        cluster_tvd(MADE, MADE[:, :1], 2)
    with pytest.raises(TableError, match="not rows and columns"):
        cluster_tvd(MADE[:, 0], MADE, 2)
