"""Indices of clusters: exact values, what the aligned one measures, and what it takes to be refused."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import PlanError, TableError
from sfumato.metrics.clusters import (
    ALIGNED_WARNING,
    aligned_ari,
    ari,
    ari_from_confusion,
    cluster_errors,
    confusion,
    kmeans,
    nearest_centroid,
    standardise,
    transfer_ari,
)

labellings = st.integers(2, 40).flatmap(
    lambda n: st.tuples(*(st.lists(st.integers(0, 4), min_size=n, max_size=n) for _ in range(2)))
)


def blobs(seed: int = 0, rows: int = 60, gap: float = 6.0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return np.vstack([generator.normal((gap * k, 100 * gap * (k % 2)), (1, 100), (rows, 2)) for k in range(3)])


@given(labellings)
def test_the_index_is_that_of_scikit_learn(pair):
    from sklearn.metrics import adjusted_rand_score

    assert ari(*pair) == pytest.approx(adjusted_rand_score(*pair), abs=1e-12)


@given(labellings)
def test_the_index_is_symmetric_and_blind_to_names(pair):
    first, second = pair
    renamed = [(label + 2) % 5 for label in first]
    assert ari(first, second) == pytest.approx(ari(second, first)) == pytest.approx(ari(renamed, second))
    assert ari(first, renamed) == 1


def test_the_paper_s_matrix_and_a_local_optimum():
    assert ari_from_confusion([[1, 2, 94, 3], [3, 83, 3, 11], [90, 0, 1, 5], [3, 14, 11, 76]]) == pytest.approx(
        0.6656, abs=5e-5
    )
    merged = [[100, 0, 0, 0], [100, 0, 0, 0], [0, 100, 0, 0], [0, 0, 50, 50]]
    assert ari_from_confusion(merged) == pytest.approx(0.6275, abs=5e-5)


def test_a_seed_repeats():
    rows = blobs(gap=1.0)
    first, second = (kmeans(rows, 5, seed=3) for _ in range(2))
    assert (first.labels == second.labels).all() and (first.centroids == second.centroids).all()
    assert transfer_ari(rows, blobs(1), 3, seed=4) == transfer_ari(rows, blobs(1), 3, seed=4)


def test_radii_are_distances_to_the_own_centroid():
    found = kmeans([[0.0, 0.0], [0.0, 2.0], [50.0, 0.0], [50.0, 4.0]], 2, seed=1)
    assert found.radii(np.array([[0.0, 0.0], [0.0, 2.0], [50.0, 0.0], [50.0, 4.0]])).tolist() == [1, 1, 2, 2]


@given(st.integers(0, 1000))
def test_nearest_is_brute_force(seed):
    generator = np.random.default_rng(seed)
    rows, centroids = generator.normal(size=(20, 3)), generator.normal(size=(4, 3))
    gaps = np.linalg.norm(rows[:, None] - centroids[None], axis=2)
    assert (nearest_centroid(rows, centroids) == gaps.argmin(axis=1)).all()


def test_transfer_needs_no_order_and_no_number_of_rows():
    rows, made = blobs(0), blobs(1, 150)
    whole = transfer_ari(rows, made, 3)
    assert whole > 0.95
    assert transfer_ari(rows, np.random.default_rng(1).permutation(made), 3) == pytest.approx(whole, abs=0.03)
    with pytest.raises(TableError, match="transfer"):
        aligned_ari(rows, made, 3)


def test_rows_that_know_nothing_score_zero_only_by_transfer():
    """Each row becomes its own cluster's point, far from where the cluster is: copied labels, nothing learned."""
    rows = blobs()
    labels = kmeans(standardise(rows)(rows), 3, 0).labels
    made = np.array([[1e6, 1e6], [2e6, 4e6], [3e6, 9e6]])[labels] + np.random.default_rng(0).normal(size=rows.shape)
    assert aligned_ari(rows, made, 3) == 1
    assert transfer_ari(rows, made, 3) == pytest.approx(0, abs=0.01)
    assert aligned_ari(rows, np.random.default_rng(0).permutation(made), 3) == pytest.approx(0, abs=0.05)
    assert "copied" in ALIGNED_WARNING and "ALIGNED_WARNING" in aligned_ari.__doc__


def test_known_labels_are_used():
    rows = blobs()
    truth = np.repeat([0, 1, 2], 60)
    assert transfer_ari(rows, rows, 3, labels=truth) == transfer_ari(rows, rows, 3)
    assert abs(transfer_ari(rows, rows, 3, labels=np.arange(180) % 3)) < 0.05


def test_the_unit_is_a_choice():
    """x2 is a hundred times as wide and tells two of the three clusters apart: without a unit x1 is not seen."""
    rows = blobs()
    assert transfer_ari(rows, rows, 3, scale="none") == pytest.approx(1)
    truth = np.repeat([0, 1, 2], 60)
    assert ari(truth, kmeans(standardise(rows)(rows), 3, 0).labels) == 1 > ari(truth, kmeans(rows, 3, 0).labels)
    stretched = rows * (1, 50)
    by_own = aligned_ari(rows, stretched, 3), aligned_ari(rows, stretched, 3, scale="original")
    assert by_own[0] == 1 > by_own[1]


def test_errors_of_clusters_are_measured_in_standard_deviations():
    rows = blobs()
    same = cluster_errors(rows, rows[::-1], 3)
    assert same.mean_centroid == pytest.approx(0, abs=1e-12) and same.mean_radius == pytest.approx(0, abs=1e-12)
    moved = cluster_errors(rows, rows + rows.std(axis=0) * (0.3, 0.4), 3)
    assert moved.centroid == pytest.approx([0.5] * 3) and sorted(moved.pairs) == [0, 1, 2]
    mean = rows.reshape(3, 60, 2).mean(axis=1, keepdims=True)
    wide = cluster_errors(rows, ((rows.reshape(3, 60, 2) - mean) * 1.5 + mean).reshape(-1, 2), 3)
    assert wide.mean_centroid == pytest.approx(0, abs=0.05) and (wide.radius > 0).all()
    fewer = cluster_errors(rows, rows[30:], 3)
    assert sorted(fewer.size.round(3)) == [-0.133, 0.067, 0.067]


def test_fewer_distinct_rows_than_clusters_are_scored_not_refused():
    rows = blobs()
    assert transfer_ari(rows, np.ones((30, 2)), 3) == 0
    assert cluster_errors(rows, np.ones((30, 2)), 3).centroid.shape == (3,)


def test_confusion_counts_pairs():
    assert confusion([0, 1, 1, 2], [1, 0, 0, 1]).tolist() == [[0, 1], [2, 0], [0, 1]]
    for wrong in (([0], [0, 1]), ([], []), ([-1], [0]), ([0], [-1])):
        with pytest.raises(TableError, match="labels cannot be compared"):
            confusion(*wrong)


@pytest.mark.parametrize(
    ("original", "problem"),
    [
        ([[1.0], [np.nan]], "missing or infinite"),
        ([[1.0], [np.inf]], "missing or infinite"),
        ([[1.0]], "1 rows for 2 clusters"),
        ([1.0, 2.0], "shape"),
        ([["a"], ["b"]], "not numbers"),
    ],
)
def test_bad_rows_are_named(original, problem):
    with pytest.raises(TableError, match=problem):
        transfer_ari(original, [[1.0], [2.0]], 2)


def test_bad_settings_are_named():
    with pytest.raises(PlanError, match="clusters"):
        kmeans([[1.0]], 0, seed=1)
    with pytest.raises(PlanError, match="scale"):
        transfer_ari([[1.0], [2.0]], [[1.0], [2.0]], 2, scale="own")
    with pytest.raises(TableError, match="1 original columns and 2"):
        transfer_ari([[1.0], [2.0]], [[1.0, 1.0], [2.0, 2.0]], 2)


def test_importing_stays_light():
    code = "import sys, sfumato.metrics.clusters; assert 'sklearn' not in sys.modules and 'scipy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
