"""The method on tables: exposures are labelled, never summed; private standards are formal; bad input is named."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato import Ledger, PseudoPosterior, Schema
from sfumato.errors import PlanError, SfumatoError
from sfumato.schema import Column
from sfumato.synthesizers.pseudo.design import CoarseCells, Design
from sfumato.synthesizers.pseudo.sequential import family_for

LABEL = "asymptotic, local, draw-based; not differential privacy"


def people(rows: int = 500) -> pd.DataFrame:
    rng = np.random.default_rng(11)
    z = rng.uniform(0, 4, rows)
    return pd.DataFrame({
        "x": np.exp(1 + 0.5 * z + 0.4 * rng.standard_normal(rows)).clip(0.1, 400), "z": z,
        "group": rng.choice(["a", "b", "c"], rows, p=[0.6, 0.3, 0.1]), "member": rng.random(rows) < 0.4,
        "visits": rng.poisson(2, rows).clip(0, 20), "low": 0.5, "high": 1.5,
    })  # fmt: skip


SCHEMA = Schema(name="people", columns=(
    Column("x", "number", bounds=(0.1, 400.0), edges=(0.1, 1.0, 5.0, 20.0, 100.0, 400.0), unit="EUR"),
    Column("z", "number", bounds=(0.0, 4.0)),
    Column("group", "category", values=("a", "b", "c")),
    Column("member", "boolean"),
    Column("visits", "integer", bounds=(0, 20)),
    Column("low", "number", bounds=(0.0, 1.0)),
    Column("high", "number", bounds=(1.0, 3.0)),
))  # fmt: skip


@pytest.fixture
def table():
    return sfumato.read(people(), SCHEMA)


def weighted(**changes) -> PseudoPosterior:
    facts = {"target": "x", "predictors": ["z"], "family": "lognormal", "standard": "weighted", "draws": 200}
    return PseudoPosterior(**(facts | changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"standard": "unweighted"}, {"standard": "weighted"}, {"standard": "weighted", "target_epsilon": 5},
        {"standard": "capped", "target_epsilon": 6}, {"standard": "averaged", "ranges": "brackets"},
        {"standard": "averaged", "ranges": (0.4, 1.8)}, {"standard": "truncated", "ranges": (0.6, 1.2)},
        {"standard": "averaged", "ranges": {"radius": [0.4, 1.8], "tail": [0.2, 2.4], "share": 0.05}},
        {"standard": "averaged", "ranges": {"columns": ["low", "high"]}},
        {"standard": "truncated", "ranges": {"brackets": [0, 10, 500]}},
    ],
)  # fmt: skip
def test_every_published_standard_is_an_exposure(changes, table, tmp_path):
    book = Ledger(tmp_path / "ledger.db")
    book.open_table("people", epsilon=1, adjacency="add-remove")
    made = sfumato.release(table, weighted(**changes), ledger=book)
    assert not made.guarantee.formal
    assert LABEL in made.guarantee.statement()
    account = book.account("people")
    assert (account.spent_epsilon, account.exposures) == ("0", 1)
    facts = made.statistics
    for key in ("claimed_epsilon", "unit", "draws", "records", "sum_of_weights", "share_of_zero_weights",
                "sign_of_highest_log_density", "claim_with_whole_exponent", "oscillation_epsilon",
                "leave_one_out_loss", "added_outlier_loss", "not_synthesised"):  # fmt: skip
        assert key in facts, key
    assert facts["unit"] == "EUR"
    assert facts["not_synthesised"] == ["z"]
    if "target_epsilon" in changes and changes["standard"] == "weighted":
        assert facts["claimed_epsilon"] == pytest.approx(5, rel=2e-3)
    frame = people()
    assert made.data["z"].tolist() == pytest.approx(frame["z"].tolist())
    assert not np.allclose(made.data["x"], frame["x"])


def test_copies_are_counted_and_charged_each(table, tmp_path):
    book = Ledger(tmp_path / "ledger.db")
    book.open_table("people", epsilon=1, adjacency="add-remove")
    made = sfumato.release(table, weighted(copies=3), ledger=book)
    assert len(made.data) == 3
    assert book.account("people").exposures == 3
    total = made.statistics["claimed_epsilon_of_all_copies"]
    assert total == pytest.approx(3 * made.statistics["claimed_epsilon"])


def test_per_record_weights_stay_inside(table):
    made = sfumato.release(table, weighted())
    assert not any(isinstance(value, list | np.ndarray) and len(value) > 50 for value in made.statistics.values())


def test_the_unit_changes_the_claim_and_not_the_data(table):
    """An erratum: a log density has a unit. The same data in thousandths make another claim."""
    whole = sfumato.release(table, weighted(draws=500), seed=1).statistics["claimed_epsilon"]
    small = sfumato.release(table, weighted(draws=500, unit=0.001), seed=1)
    assert small.statistics["claimed_epsilon"] > 1.5 * whole
    assert small.data["x"].median() == pytest.approx(people()["x"].median(), rel=0.5)


def test_the_report_prints_the_label_and_the_outlier(table, tmp_path):
    made = sfumato.release(table, weighted())
    folder = made.save(tmp_path / "bundle")
    page = (folder / "report.html").read_text()
    assert LABEL in page
    for words in ("What the paper calls epsilon", "Does the outlier break the claim?", "Columns released as they are",
                  "Unit of the target", "The unit-free claim"):  # fmt: skip
        assert words in page, words
    assert made.statistics["added_outlier_breaks_the_claim"]
    assert json.loads((folder / "release.json").read_text())["guarantee"]["epsilon"] is None


def test_a_mixed_table_column_by_column(table):
    targets = ["group", "member", "visits", "z", "x"]
    made = sfumato.release(table, PseudoPosterior(targets, "none", "auto", "weighted", draws=100), seed=2)
    frame = people()
    assert made.statistics["family"] == "categorical, binary, counts, normal, lognormal"
    assert made.statistics["not_synthesised"] == []
    true, found = frame["group"].value_counts(normalize=True), made.data["group"].value_counts(normalize=True)
    assert abs(true["a"] - found["a"]) < 0.15
    slope = np.polyfit(made.data["z"], np.log(made.data["x"]), 1)[0]
    assert slope == pytest.approx(np.polyfit(frame["z"], np.log(frame["x"]), 1)[0], abs=0.2)


@pytest.mark.parametrize("standard", ["clipped", "statistics", "private"])
@pytest.mark.parametrize("predictors", [["z"], "none", ["z", "group"]])
def test_private_standards_are_formal_and_whole(standard, predictors, table, tmp_path):
    if standard == "clipped" and predictors == ["z", "group"]:
        pytest.skip("three columns of the design: refused, see below")
    book = Ledger(tmp_path / "ledger.db")
    book.open_table("people", epsilon=10, adjacency="add-remove")
    method = PseudoPosterior("x", predictors, "lognormal", standard, target_epsilon=4)
    made = sfumato.release(table, method, rows=300, ledger=book)
    assert made.guarantee.formal
    assert book.account("people").spent_epsilon == "4"
    assert len(made.data) == 300
    assert made.statistics["not_synthesised"] == []
    if predictors != "none":
        assert not set(made.data["z"]) & set(people()["z"])
    assert abs(np.log(made.data["x"]).mean() - np.log(people()["x"]).mean()) < 0.6


def test_gaussian_statistics_divide_delta(table):
    method = PseudoPosterior("x", ["z"], "lognormal", "statistics", target_epsilon=1, delta="1e-6")
    made = sfumato.release(table, method, rows=50)
    assert {event.kind for event in made.events} == {"discrete-gaussian", "lattice-gaussian"}
    assert made.guarantee.exact_epsilon == 1
    assert float(made.plan.delta) == pytest.approx(1e-6)


def test_private_picks_by_the_public_number_of_rows():
    small = replace(SCHEMA, adjacency="replace", rows=500)
    large = replace(SCHEMA, adjacency="replace", rows=500_000)
    method = PseudoPosterior("x", ["z"], "lognormal", "private", target_epsilon=3)
    assert method.private(small).chosen(None) == "clipped"
    assert method.private(large).chosen(None) == "statistics"


def test_public_predictors_are_an_assumption_of_the_statement(tmp_path):
    public = replace(SCHEMA, adjacency="replace", rows=500)
    method = PseudoPosterior("x", ["z"], "lognormal", "clipped", target_epsilon=2, public_predictors=True)
    made = sfumato.release(sfumato.read(people(), public), method)
    assert "the predictors (z) and the number of rows are public" in made.guarantee.statement()
    assert made.data["z"].tolist() == pytest.approx(people()["z"].tolist())
    with pytest.raises(PlanError, match="replace"):
        sfumato.plan(SCHEMA, method)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"family": "cauchy"}, "cauchy"),
        ({"standard": "magic"}, "magic"),
        ({"standard": "averaged"}, "brackets"),
        ({"standard": "weighted", "ranges": (0.5, 2)}, "ranges"),
        ({"standard": "averaged", "ranges": (1.2, 2)}, "miss"),
        ({"standard": "averaged", "ranges": (0.5,)}, "two factors"),
        ({"standard": "averaged", "ranges": {"radius": [0.5, 2], "share": 2}}, "not understood"),
        ({"standard": "averaged", "ranges": {"brackets": [0, 5]}}, "miss"),
        ({"target": "group"}, "levels"),
        ({"target": "x", "predictors": ["x"]}, "both"),
        ({"predictors": ["shoe"]}, "shoe"),
        ({"predictors": ["low"]}, "constant"),
        ({"draws": 0}, "draws"),
        ({"copies": 2000}, "copies"),
        ({"target_epsilon": -1}, "target_epsilon"),
        ({"standard": "clipped"}, "target_epsilon"),
        ({"standard": "clipped", "target_epsilon": 1, "predictors": ["z", "group", "visits"]}, "statistics"),
        ({"standard": "clipped", "target_epsilon": 1, "target": "visits", "family": "counts"}, "normal or lognormal"),
        ({"standard": "clipped", "target_epsilon": 1, "predictors": "none"}, "rows"),
        ({"scale": 0.001}, "weights sum"),
    ],
)  # fmt: skip
def test_bad_input_is_named_and_nothing_is_spent(changes, message, table, tmp_path):
    book = Ledger(tmp_path / "ledger.db")
    book.open_table("people", epsilon=10, adjacency="add-remove")
    with pytest.raises(SfumatoError, match=message):
        sfumato.release(table, weighted(**changes), ledger=book)
    assert not [entry for entry in book.history() if entry.event.is_formal]


def test_a_lognormal_target_with_values_of_0_is_refused():
    frame = people().assign(x=0.0)
    schema = SCHEMA.replace_columns({"x": {"bounds": (0.0, 400.0), "edges": None}})
    with pytest.raises(SfumatoError, match="above 0"):
        sfumato.release(sfumato.read(frame, schema), weighted())


def test_designs_and_cells_follow_public_facts():
    columns = tuple(SCHEMA[name] for name in ("z", "group"))
    design = Design(columns)
    assert design.names == ("z", "group=b", "group=c")
    matrix = design.matrix({"z": np.array([0.0, 4.0]), "group": np.array([0, 2])}, 2)
    assert matrix.tolist() == [[-1.0, 0.0, 0.0], [1.0, 0.0, 1.0]]
    cells = CoarseCells.of(columns)
    assert cells.size == 12
    assert cells.cells({"z": np.array([0.1, 3.9]), "group": np.array([0, 2])}, 2).tolist() == [0, 11]
    assert family_for(SCHEMA["visits"]) == "counts"


def test_a_sampled_family_reports_its_chains(table):
    pytest.importorskip("numpyro", reason="needs the extra [bayes]")
    method = PseudoPosterior("member", ["z"], "logistic", "unweighted", draws=100)
    made = sfumato.release(table, method, seed=4)
    assert made.statistics["chains"]["r_hat"] < 1.01
    assert made.data["member"].mean() == pytest.approx(people()["member"].mean(), abs=0.15)
    with pytest.raises(PlanError, match="two levels"):
        sfumato.plan(SCHEMA, replace(method, target="group"))
