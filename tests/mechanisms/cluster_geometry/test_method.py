"""Cluster geometry and the grid on tables: bounds in every row, levels through clusters, bad input, and audits."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import sfumato
from sfumato import ClusterGeometry, Grid, Ledger, Schema
from sfumato.core.plan import sample_size
from sfumato.errors import PlanError, SfumatoError, TableError
from sfumato.mechanisms.noisy_grid import GridPlan
from sfumato.papers.kmeans_geometry import ClusterGeometryAsPublished, ColumnBounds, published_geometry
from sfumato.privacy.exact import to_fraction
from sfumato.privacy.randomness import Randomness
from sfumato.sampling.public_box import BoundedAxis
from sfumato.schema import Column

ALPHA = 1e-6
RUNS = 40_000
CENTRES = np.array([[1.0, 8.0], [9.0, 2.0], [8.0, 9.0]])


def people(rows: int = 900) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    group = rng.integers(0, 3, rows)
    place = np.clip(CENTRES[group] + rng.normal(0, 0.5, (rows, 2)), 0, 10)
    frame = pd.DataFrame({"x": place[:, 0], "y": place[:, 1], "visits": np.clip(rng.poisson(3 * (group + 1)), 0, 30)})
    frame["grade"] = np.array(["low", "mid", "high"])[group]
    frame["town"] = np.where(rng.random(rows) < 0.9, np.array(["a", "b", "c"])[group], "d")
    frame["extra"], frame["more"] = rng.uniform(0, 1, rows), rng.normal(0, 1, rows).clip(-4, 4)
    return frame


SCHEMA = Schema(
    name="places",
    columns=(
        Column("x", "number", bounds=(0.0, 10.0)),
        Column("y", "number", bounds=(0.0, 10.0)),
        Column("visits", "integer", bounds=(0, 30)),
        Column("grade", "ordinal", values=("low", "mid", "high")),
        Column("town", "category", values=("a", "b", "c", "d")),
        Column("extra", "number", bounds=(0.0, 1.0)),
        Column("more", "number", bounds=(-4.0, 4.0)),
    ),
)


@pytest.fixture
def table():
    return sfumato.read(people(), SCHEMA)


def test_levels_travel_with_their_cluster(table):
    made = sfumato.release(table, ClusterGeometry(3, epsilon=8, columns=["x", "y", "town"]), seed=1)
    nearest = np.argmin(((made.data[["x", "y"]].to_numpy()[:, None] - CENTRES) ** 2).sum(axis=2), axis=1)
    right = made.data["town"].to_numpy() == np.array(["a", "b", "c"])[nearest]
    assert right.mean() > 0.75
    assert {event.kind for event in made.events} == {"discrete-laplace"}
    assert made.guarantee.exact_epsilon == 8


@pytest.mark.parametrize(
    "columns", [["x"], ["x", "visits"], ["x", "y", "grade"], ["x", "y", "visits", "extra", "grade"]]
)
def test_every_row_keeps_bounds_and_wholeness(columns, table):
    method = ClusterGeometry(3, epsilon=2, delta="1e-6", columns=columns, expected_rows=900)
    made = sfumato.release(table, method, rows=3000)
    assert set(made.data.columns) == set(columns)
    from sfumato.bundle.document import released_schema

    assert sfumato.read(made.data, released_schema(SCHEMA, made.data.columns)).check() == ()
    assert made.guarantee.formal


@settings(max_examples=40)
@given(
    low=st.integers(-5, 5),
    span=st.integers(1, 40),
    whole=st.booleans(),
    rows=st.integers(1, 60),
    seed=st.integers(0, 10_000),
    epsilon=st.sampled_from([0.1, 1.0, 10.0]),
)
def test_rows_of_a_grid_stay_in_the_box(low, span, whole, rows, seed, epsilon):
    axis = BoundedAxis(float(low), float(low + span), whole=whole)
    drawn = np.random.default_rng(seed).integers(low, low + span + 1, (rows, 2)).astype(float)
    noisy = GridPlan(axes=(axis, axis), epsilon=epsilon, n_pub=rows).release([drawn], Randomness.of(seed))
    made = noisy.draw(200, np.random.default_rng(seed))
    assert made.min() >= axis.low and made.max() <= axis.high
    assert not whole or np.array_equal(made, np.rint(made))


def test_the_published_form_is_an_exposure(table, tmp_path):
    book = Ledger(tmp_path / "ledger.db")
    book.open_table("places", epsilon=1, adjacency="add-remove")
    method = ClusterGeometry.as_published(3, epsilon=1.6, columns=["x", "y", "visits"])
    made = sfumato.release(table, method, ledger=book)
    assert "heuristic: no differential privacy" in made.guarantee.statement()
    assert made.guarantee.epsilon is None
    assert (book.account("places").spent_epsilon, book.account("places").exposures) == ("0", 1)
    page = (made.save(tmp_path / "bundle") / "report.html").read_text()
    assert "heuristic: no differential privacy" in page
    assert len(made.data) == 900


def test_delta_is_pure_where_that_is_possible_and_shown_where_it_is_not():
    four = ["x", "y", "visits", "extra"]
    assert sfumato.plan(SCHEMA, ClusterGeometry(3, 1, columns=["x", "y", "town"])).delta == "0"
    assert sfumato.plan(SCHEMA, ClusterGeometry(3, 1, delta="1e-6", columns=["x", "y", "town"])).delta == "0"
    by_default, stated = (
        sfumato.plan(SCHEMA, ClusterGeometry(3, 1, delta=delta, columns=four)) for delta in (None, "1e-9")
    )
    assert by_default == stated and to_fraction(by_default.delta) == to_fraction("1e-9")


def test_each_form_has_its_own_fields():
    made = ClusterGeometry.as_published(clusters=3, epsilon=1, reflection="fold", whole_numbers="unbiased")
    assert isinstance(made, ClusterGeometryAsPublished) and (ClusterGeometry.formal, made.formal) == (True, False)
    for cls, other in ((ClusterGeometry, "reflection"), (ClusterGeometry.as_published, "delta")):
        with pytest.raises(TypeError, match=other):
            cls(clusters=3, epsilon=1, **{other: "fold"})


def refused(method, facts, message, table, tmp_path):
    book = Ledger(tmp_path / "ledger.db")
    book.open_table("places", epsilon=10, delta="1e-3", adjacency="add-remove")
    with pytest.raises(SfumatoError, match=message):
        sfumato.release(table, method(**({"clusters": 3, "epsilon": 1, "columns": ["x", "y"]} | facts)), ledger=book)
    assert book.account("places").spent_epsilon == "0"
    assert book.history() == ()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epsilon": None}, "epsilon"),
        ({"clusters": 0}, "clusters"),
        ({"clusters": 2.5}, "clusters"),
        ({"columns": ["x", "shoe"]}, "shoe"),
        ({"columns": ["town"]}, "no ordered column"),
        ({"columns": ["x", "y", "visits", "extra"], "delta": 0}, "delta"),
        ({"clusters": 20, "expected_rows": 10}, "clusters"),
        ({"level_share": 1.5}, "level_share"),
        ({"epsilon": "1e-20"}, "epsilon must lie between"),
        ({"epsilon": "1e300"}, "epsilon must lie between"),
        ({"epsilon": 10**400}, "epsilon must be a finite number"),
        ({"delta": "1/1" + "0" * 400, "columns": ["x", "y", "visits", "extra"]}, "delta must lie between"),
        ({"expected_rows": 10**400}, "expected_rows"),
        ({"clusters": 10**6, "expected_rows": 10**7}, "clusters must be a whole number from 1 to 1,000"),
        ({"clusters": None}, "clusters must be a whole number"),
    ],
)
def test_bad_input_is_named_and_no_budget_is_spent(changes, message, table, tmp_path):
    refused(ClusterGeometry, changes, message, table, tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"columns": ["x", "town"]}, "without an order"),
        ({"clusters": 2000}, "2000"),
        ({"clusters": 1}, "at least 2 clusters"),
        ({"reflection": "never"}, "never"),
        ({"whole_numbers": "up"}, "up"),
        ({"epsilon": None}, "epsilon"),
        ({"epsilon": "1e-20"}, "epsilon must lie between"),
    ],
)
def test_bad_input_of_the_published_form_is_named(changes, message, table, tmp_path):
    refused(ClusterGeometry.as_published, changes, message, table, tmp_path)


def test_all_wrong_types_are_named_at_once():
    formal = {
        "clusters": [3],
        "epsilon": [1],
        "delta": {},
        "columns": [[]],
        "target": ["x"],
        "expected_rows": "many",
        "level_share": [],
    }
    shared = {name: formal[name] for name in ("clusters", "epsilon", "columns", "target")}
    published = shared | {"reflection": None, "whole_numbers": 3}
    for method, wrong in ((ClusterGeometry, formal), (ClusterGeometry.as_published, published)):
        with pytest.raises(PlanError) as caught:
            method(**wrong)
        assert {problem.split()[0] for problem in caught.value.problems} == set(wrong)


@pytest.mark.parametrize("epsilon", ["1e-20", "1e-9", "1e7", "1e300", 10**400])
def test_a_grid_refuses_an_epsilon_without_sense_in_the_plan(epsilon, table, tmp_path):
    book = Ledger(tmp_path / "ledger.db")
    book.open_table("places", epsilon=100, adjacency="add-remove")
    with pytest.raises(PlanError, match="epsilon"):
        sfumato.release(table, Grid(["x", "y"], epsilon=epsilon), ledger=book)
    assert book.history() == ()


METHODS = {
    "grid": lambda epsilon: Grid(["x", "visits"], epsilon),
    "two columns and levels": lambda epsilon: ClusterGeometry(3, epsilon, columns=["x", "visits", "town"]),
    "four columns": lambda epsilon: ClusterGeometry(
        3, epsilon, delta="1e-6", columns=["x", "y", "extra", "more", "town"]
    ),
}


@pytest.mark.parametrize("name", METHODS)
def test_a_noisy_number_of_rows_stays_within_memory(name, table, monkeypatch):
    """At epsilon 1e-4 the noisy number of rows is anything; the memory is that of the plan and little more."""
    method = METHODS[name](1e-4)
    needed = sfumato.plan(SCHEMA, method).memory_bytes + 100_000
    monkeypatch.setenv("SFUMATO_MEMORY", f"{needed}B")
    made = [sfumato.release(table, method, seed=seed).data for seed in range(4)]
    most = needed // (64 * made[0].shape[1])
    assert 1 <= min(len(rows) for rows in made) <= max(len(rows) for rows in made) <= most
    assert sample_size(sfumato.plan(SCHEMA, method), 1e15, made[0].shape[1]) == most
    with pytest.raises(PlanError, match="rows need about"):
        sfumato.plan(SCHEMA, method, rows=100_000)


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("name", METHODS)
def test_formal_forms_release_tables_of_any_size(name, rows):
    made = sfumato.release(sfumato.read(people(rows), SCHEMA), METHODS[name](1))
    assert made.guarantee.formal and len(made.data) >= 1


@pytest.mark.parametrize("rows", [0, -1, 2.5, 10**9])
@pytest.mark.parametrize("name", METHODS)
def test_a_senseless_number_of_rows_is_refused(name, rows):
    with pytest.raises(PlanError, match="rows must be a whole number"):
        sfumato.plan(SCHEMA, METHODS[name](1), rows=rows)


@pytest.mark.parametrize(
    ("bounds", "kind"), [((-1e308, 1e308), "number"), ((0.0, 5e-324), "number"), ((0, 2**60), "integer")]
)
def test_bounds_that_cannot_be_computed_with_are_refused_in_the_plan(bounds, kind):
    for method in (Grid(["x"], 1), ClusterGeometry(2, 1)):
        with pytest.raises(SfumatoError, match=r"too far apart|2\^53|edges|bounds"):
            sfumato.plan(Schema(name="t", columns=(Column("x", kind, bounds=bounds, edges=bounds),)), method)


def test_the_published_form_shuffles_and_keeps_its_measures_to_itself(table):
    method = ClusterGeometry.as_published(3, epsilon="1e6", columns=["x", "y"])
    made = sfumato.release(table, method, seed=1)
    together = np.corrcoef(made.data["x"], people()["x"])[0, 1]
    assert abs(together) < 6 / np.sqrt(900), "row i of the release is not made from row i: six standard errors"
    true = published_geometry(people()[["x", "y"]], 3, 1e6, ColumnBounds.of([0, 0], [10, 10]), np.random.default_rng(1))
    assert np.corrcoef(true.rows[:, 0], people()["x"])[0, 1] > 0.9
    assert made.statistics == {"clusters": 3}
    assert set(made.confidential) == {
        "lid",
        "tolerance",
        "noise_scale",
        "radii_clamped",
        "centroids_outside",
        "rows_left_out_for_rules",
    }
    assert 0 < made.confidential["lid"] < 0.2


def test_constant_and_infinite_values_are_named_before_anything_is_recorded(tmp_path):
    book = Ledger(tmp_path / "ledger.db")
    book.open_table("places", epsilon=1, adjacency="add-remove")
    published = ClusterGeometry.as_published(2, 1, columns=["x", "y"])
    wrong = [
        (people().assign(x=3.0), r"the same value"),
        (people(0), "0 rows"),
        (people(1), "1 rows"),
        (people().assign(x=lambda f: (f["x"] > 5) * 1.0, y=lambda f: (f["x"] > 5) * 1.0), "distinct"),
    ]
    for frame, message in wrong:
        with pytest.raises(TableError, match=message):
            sfumato.release(sfumato.read(frame, SCHEMA), replace(published, clusters=3), ledger=book)
    assert book.history() == ()
    with pytest.raises(TableError, match="outside"):
        sfumato.release(sfumato.read(people().assign(x=np.inf), SCHEMA), ClusterGeometry(2, 1, columns=["x", "y"]))
    with pytest.raises(PlanError, match=r"several rows|may hold"):
        sfumato.plan(replace(SCHEMA, person="town", rows_per_person=3), Grid(["x"], epsilon=1))


def lower_epsilon(hits: int, others: int, runs: int) -> float:
    """Return a lower confidence bound of epsilon from how often an event occurred on two neighbouring tables."""
    least = stats.beta.ppf(ALPHA / 2, hits, runs - hits + 1) if hits else 0.0
    most = stats.beta.ppf(1 - ALPHA / 2, others + 1, runs - others) if others < runs else 1.0
    return math.log(least / most) if least > 0 else 0.0


def far_rows(plan: GridPlan, rows: np.ndarray, runs: int, seed: int) -> np.ndarray:
    """Noisy counts of the corner where one person lives alone, over many releases."""
    counts, randomness = plan.count([rows]), Randomness.of(seed)
    stacked = np.repeat(counts.ravel()[-1:], runs)
    from sfumato.privacy.noise import add_laplace_scale

    return add_laplace_scale(stacked, plan.part.scale, randomness)


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_audited_epsilon_of_the_private_form_is_below_the_claim(epsilon):
    """40,000 runs on two neighbouring tables, alpha 1e-6; a mutant with half the noise is caught."""
    home = np.full((60, 2), 0.5)
    alone = np.vstack([home, [[9.9, 9.9]]])
    plan = GridPlan(axes=(BoundedAxis(0.0, 10.0), BoundedAxis(0.0, 10.0)), epsilon=epsilon, n_pub=400)
    without, within = far_rows(plan, home, RUNS, 1), far_rows(plan, alone, RUNS, 2)
    audited = max(lower_epsilon(int((within >= t).sum()), int((without >= t).sum()), RUNS) for t in range(-2, 5))
    assert 0.7 * epsilon < audited <= epsilon
    mutant = GridPlan(axes=plan.axes, epsilon=2 * epsilon, n_pub=400)
    without, within = far_rows(mutant, home, RUNS, 3), far_rows(mutant, alone, RUNS, 4)
    caught = max(lower_epsilon(int((within >= t).sum()), int((without >= t).sum()), RUNS) for t in range(-2, 5))
    assert caught > epsilon


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_audited_epsilon_of_the_published_form_is_above_its_claim(epsilon):
    """400 runs on two neighbouring tables, alpha 1e-6: one moved record turns k-means, and aligned rows show it."""
    rng = np.random.default_rng(3)
    corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
    square = np.repeat(corners, 25, axis=0) + rng.normal(0, 0.02, (100, 2))
    wide, tall = square.copy(), square.copy()
    wide[0], tall[0] = [-6.0, 0.0], [0.0, -6.0]

    def across(rows: np.ndarray, seed: int) -> bool:
        made = published_geometry(rows, 2, epsilon, None, np.random.default_rng(seed)).rows
        middle = [np.median(made[25 * i + 1 : 25 * i + 25], axis=0) for i in range(4)]
        return np.linalg.norm(middle[0] - middle[1]) < np.linalg.norm(middle[0] - middle[2])

    runs = 400
    hits = sum(across(wide, i) for i in range(runs))
    others = sum(across(tall, 10_000 + i) for i in range(runs))
    assert lower_epsilon(max(hits, others), min(hits, others), runs) > epsilon
