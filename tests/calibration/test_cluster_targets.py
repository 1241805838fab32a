"""Targets about clusters: one that can be charged, the paper's own as a diagnostic, and what is refused unspent."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato import ClusterGeometry, TwoStage
from sfumato.errors import PlanError, SfumatoError
from sfumato.evaluate.calibrate import calibrate
from sfumato.evaluate.calibrate.trial import Trial
from sfumato.mechanisms.counts.histogram import Histogram
from sfumato.metrics.catalogue import metric
from sfumato.metrics.cluster_tvd import cluster_tvd
from sfumato.metrics.clusters import ALIGNED_WARNING
from sfumato.privacy.ledger import Ledger
from sfumato.schema import Column, Schema

CENTRES = np.array([[2.0, 2.0], [8.0, 2.0], [5.0, 8.0]])
COLUMNS = (
    Column("a", "number", bounds=(0.0, 10.0), bins=10),
    Column("b", "number", bounds=(0.0, 10.0), bins=10),
    Column("k", "category", values=("x", "y")),
)
SCHEMA = Schema(name="points", columns=COLUMNS)
METHOD = ClusterGeometry(3, epsilon=1, columns=["a", "b"], expected_rows=1200)


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    made = np.random.default_rng(1).normal(0, 0.6, (1200, 2)) + np.repeat(CENTRES, 400, axis=0)
    return pd.DataFrame({"a": made[:, 0].clip(0, 10), "b": made[:, 1].clip(0, 10), "k": "x"})


def opened(place, **more) -> Ledger:
    book = Ledger(place / "budget.db")
    book.open_table("points", epsilon=9, **more)
    return book


@pytest.fixture
def book(tmp_path) -> Ledger:
    return opened(tmp_path)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_a_choice_by_clusters_can_be_charged(rows, adjacency, tmp_path):
    from sfumato.bundle.verify import verify_bundle

    book = opened(tmp_path, adjacency=adjacency)

    # Of 60 releases at 0.01 none was below .25, of 40 at 1 none above .14: far from .2 for the noise of the choice.
    facts = {"adjacency": adjacency} | ({"rows": 1200} if adjacency == "replace" else {})
    table = sfumato.read(rows, Schema(name="points", columns=COLUMNS, **facts))
    asked = {"cost": "private", "grid": [0.01, 1, 4], "options": {"clusters": 3}, "score_epsilon": "0.5"}
    found = calibrate(METHOD, "cluster_tvd <= 0.2", table, ledger=book, rows=3000, **asked)
    run = found.charge.candidates_run
    assert run > 1 and found.chosen in (1, 4) and found.points[0].meets is False
    assert Fraction(found.charge.epsilon) == sum(map(Fraction, ("0.01", "1", "4")[:run])) + run * Fraction(1, 2)
    assert len(book.history("points")) == 2 * run
    scale = {event.parts[0].sensitivity for event in found.release.events if event.method == "calibrate"}
    assert scale == {1229 if adjacency == "add-remove" else 1024}, "1024 (1 + t) lattice units, or 1024"
    released = found.release.data[["a", "b"]]
    assert cluster_tvd(rows[["a", "b"]], released, 3) <= 0.2
    result = verify_bundle(found.release.save(tmp_path / "bundle"), book)
    assert result.ok, result.problems


def test_the_metric_is_the_share_of_misplaced_rows(rows):
    table = sfumato.read(rows, SCHEMA)
    trial = Trial(table, METHOD, 7, 900, {"clusters": "3", "columns": "a,b"})
    made = next(iter(trial.tables.values())).to_pandas()[["a", "b"]]
    assert metric("cluster_tvd").measure(trial) == cluster_tvd(rows[["a", "b"]], made, 3)


@pytest.mark.parametrize(
    ("method", "target", "options", "words"),
    [
        (METHOD, "cluster_tvd <= 0.3", {"clusters": "many"}, "clusters must be a whole number"),
        (METHOD, "cluster_tvd <= 0.3", {"clusters": 3, "columns": "c"}, "no column 'c'"),
        (METHOD, "cluster_tvd <= 0.3", {"clusters": 3, "columns": "k"}, "no numeric column is released"),
        (METHOD, "cluster_tvd <= 0.3", {}, "option 'clusters' is missing"),
        (METHOD, "transfer_ari >= 0.3", {"clusters": 3}, "no sensitivity is proved for transfer_ari"),
        (Histogram("a", 1.0), "tvd_2_bins <= 0.3", {}, "histogram releases no table of 2 columns"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_anything_is_spent(rows, book, method, target, options, words):
    table = sfumato.read(rows, SCHEMA)
    with pytest.raises(SfumatoError, match=words):
        calibrate(method, target, table, cost="private", grid=[0.5], ledger=book, options=options)
    assert book.history("points") == ()


def test_the_papers_own_index_is_a_diagnostic_with_a_warning(rows):
    table = sfumato.read(rows, SCHEMA)
    published = ClusterGeometry.as_published(3, epsilon=1, columns=["a", "b"])
    found = calibrate(published, "aligned_ari >= 0.2", table, grid=[0.001, 1], repeats=2, seed=1)
    assert found.points[0].mean > 0.2, "met by noise alone, which is why it is no more than a diagnostic"
    assert ALIGNED_WARNING in found.statement()
    with pytest.raises(PlanError, match="cluster-geometry has no aligned index"):
        calibrate(METHOD, "aligned_ari >= 0.2", table, grid=[1])


def test_a_grid_takes_0_where_the_parameter_does(rows):
    from sfumato.report.calibration_page import calibration_page

    table = sfumato.read(rows.head(120), SCHEMA)
    method = TwoStage.as_published("b", inputs=["a"], blend=0.5)
    found = calibrate(method, "lid <= 0.9", table, parameter="blend", grid=[0, 0.5], repeats=2, seed=1)
    assert [point.value for point in found.points] == [0, 0.5] and found.points[0].mean < found.points[1].mean
    page = calibration_page(found)
    assert "(log scale)" not in page and "target: lid &lt;= 0.9" in page
    with pytest.raises(PlanError, match="epsilon must lie between"):
        calibrate(METHOD, "tvd_1_bins <= 0.3", table, grid=[0, 1])
