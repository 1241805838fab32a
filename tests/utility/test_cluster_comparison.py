"""The report about clusters: the release beside yardsticks, and its numbers those of the single functions."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import TableError
from sfumato.metrics.cluster_tvd import cluster_tvd
from sfumato.metrics.clusters import aligned_ari, cluster_errors, transfer_ari
from sfumato.papers.kmeans_geometry.cluster_comparison import HALF, UNIFORM_ROWS, WITHOUT_NOISE, compare_clusters

CENTRES = np.array([[2.0, 2.0], [8.0, 3.0], [5.0, 8.0]])
BOUNDS = ((0.0, 0.0), (20.0, 20.0))


def rows(seed: int, size: int = 60) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 0.5, (3 * size, 2)) + np.repeat(CENTRES, size, axis=0)


def test_its_numbers_are_those_of_the_single_functions():
    real, made = rows(1), rows(2, 40)
    found = compare_clusters(real, made, 3, BOUNDS).released
    assert found.transfer_ari == transfer_ari(real, made, 3)
    assert found.cluster_tvd == cluster_tvd(real, made, 3)
    errors = cluster_errors(real, made, 3)
    assert (found.centroid_error, found.radius_error) == (errors.mean_centroid, errors.mean_radius)


def test_yardsticks_and_baselines_stand_beside_the_release():
    found = compare_clusters(rows(1), rows(2), 3, BOUNDS, baseline_epsilon=0.1)
    by_name = {kept.rows: kept for kept in found.kept}
    assert list(by_name)[:4] == ["the release", UNIFORM_ROWS, HALF, WITHOUT_NOISE]
    assert by_name[HALF].transfer_ari == by_name[WITHOUT_NOISE].transfer_ari == 1
    noisy = by_name["the paper's noise on every value, epsilon 0.1"]
    assert noisy.transfer_ari < 0.5 and by_name[UNIFORM_ROWS].cluster_tvd > 0.4 > by_name[HALF].cluster_tvd


def test_the_confusion_matrix_is_paired():
    found = compare_clusters(rows(1), rows(2), 3, BOUNDS)
    assert found.confusion.tolist() == np.diag(np.diag(found.confusion)).tolist()
    assert found.confusion.sum() == 180


def test_the_papers_index_comes_only_where_rows_correspond():
    real, made = rows(1), rows(2)
    assert compare_clusters(real, made, 3, BOUNDS).aligned_ari is None
    kept = compare_clusters(real, made, 3, BOUNDS, same_order=True).aligned_ari
    assert kept == aligned_ari(real, made, 3) == 1
    with pytest.raises(TableError, match="rows do not correspond"):
        compare_clusters(real, made[:100], 3, BOUNDS, same_order=True)
    with pytest.raises(TableError, match="5 rows for 3 clusters"):
        compare_clusters(real[:5], made, 3, BOUNDS)
