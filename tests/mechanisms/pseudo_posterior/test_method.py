"""The method on tables: the class is formal, its published sibling an exposure; bad input is named."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import sfumato
from mechanisms.pseudo_posterior.people import LABEL, PUBLIC, SCHEMA, people, private, weighted
from report.reading import words_of
from sfumato import Ledger, PseudoPosterior, Schema
from sfumato.bundle.verify import verify_bundle
from sfumato.core.method import method_class, methods, published_methods
from sfumato.errors import AccountingError, LedgerError, PlanError, SfumatoError
from sfumato.papers.range_restriction import PseudoPosteriorAsPublished
from sfumato.papers.range_restriction.published.column_models import published_family_for
from sfumato.privacy.accounting.accountant import compose
from sfumato.sampling.design_matrix import CoarsePredictors, DesignMatrix
from sfumato.schema import Column
from sfumato.schema.rules import Rule


@pytest.fixture
def table():
    return sfumato.read(people(), SCHEMA)


def test_the_class_is_formal_and_the_printed_form_is_its_sibling():
    formal, printed = methods()["pseudo-posterior"], published_methods()["pseudo-posterior-as-published"]
    assert (formal.cls, formal.formal) == (PseudoPosterior, True)
    assert (printed.cls, printed.formal) == (PseudoPosteriorAsPublished, False)
    assert method_class("pseudo-posterior-as-published") is PseudoPosterior.as_published
    assert formal.parameters["epsilon"] == "required"
    assert not {"standard", "ranges", "scale", "shift", "draws", "unit"} & set(formal.parameters)
    assert not {"epsilon", "delta", "way", "public_predictors"} & set(printed.parameters)


def test_without_delta_every_way_is_pure():
    for way in ("auto", "clipped", "statistics"):
        assert private(way=way) == private(way=way, delta=None)
        assert sfumato.plan(SCHEMA, private(way=way), rows=50).delta == "0"
    assert private() == PseudoPosterior("x", predictors=["z"], family="lognormal", epsilon=1)


@pytest.mark.parametrize(
    "changes",
    [
        {"standard": "unweighted"},
        {"standard": "weighted"},
        {"standard": "weighted", "target_claim": 5},
        {"standard": "capped", "target_claim": 6},
        {"standard": "averaged", "ranges": "brackets"},
        {"standard": "averaged", "ranges": (0.4, 1.8)},
        {"standard": "truncated", "ranges": (0.6, 1.2)},
        {"standard": "averaged", "ranges": {"radius": [0.4, 1.8], "tail": [0.2, 2.4], "share": 0.05}},
        {"standard": "averaged", "ranges": {"columns": ["low", "high"]}},
        {"standard": "truncated", "ranges": {"brackets": [0, 10, 500]}},
    ],
)
def test_every_published_standard_is_an_exposure(changes, table, tmp_path):
    book = Ledger(tmp_path / "ledger.db")
    book.open_table("people", epsilon=1, adjacency="add-remove")
    made = sfumato.release(table, weighted(**changes), ledger=book)
    assert not made.guarantee.formal
    assert LABEL in made.guarantee.statement()
    account = book.account("people")
    assert (account.spent_epsilon, account.exposures) == ("0", 1)
    about_rows = made.confidential
    for key in (
        "claimed_epsilon",
        "records",
        "sum_of_weights",
        "share_of_zero_weights",
        "sign_of_highest_log_density",
        "claim_with_whole_exponent",
        "oscillation_epsilon",
        "leave_one_out_loss",
        "added_outlier_loss",
    ):
        assert key in about_rows, key
    assert set(made.statistics) == {"unit", "family", "standard", "copies", "draws", "not_synthesised"}
    assert made.statistics["unit"] == "EUR"
    assert made.statistics["not_synthesised"] == ["z"]
    if "target_claim" in changes and changes["standard"] == "weighted":
        assert about_rows["claimed_epsilon"] == pytest.approx(5, rel=2e-3)
    frame = people()
    assert sorted(made.data["z"]) == pytest.approx(sorted(frame["z"]))
    assert not np.allclose(np.sort(made.data["x"]), np.sort(frame["x"]))


def test_copies_are_counted_and_charged_each(table, tmp_path):
    book = Ledger(tmp_path / "ledger.db")
    book.open_table("people", epsilon=1, adjacency="add-remove")
    made = sfumato.release(table, weighted(copies=3), ledger=book)
    assert len(made.data) == 3
    assert book.account("people").exposures == 3
    total = made.confidential["claimed_epsilon_of_all_copies"]
    assert total == pytest.approx(3 * made.confidential["claimed_epsilon"])


def test_a_bundle_of_copies_is_sound(table, tmp_path):
    folder = sfumato.release(table, weighted(copies=3)).save(tmp_path / "bundle")
    assert verify_bundle(folder).problems == ()
    page = words_of((folder / "report.html").read_text())
    assert "3 copies, the first of 500 rows with 2 columns." in page


def test_per_record_weights_stay_inside(table):
    made = sfumato.release(table, weighted())
    shown = [*made.statistics.values(), *made.confidential.values()]
    assert not any(isinstance(value, list | np.ndarray) and len(value) > 50 for value in shown)


def test_the_order_of_released_rows_says_nothing(table):
    """500 rows in the table's order, or a shuffle of each copy by itself: a chance of 1/500! to be wrong."""
    ordered = sfumato.read(people().sort_values("z", ignore_index=True), SCHEMA)
    made = sfumato.release(ordered, weighted(copies=2))
    first, second = (frame["z"].to_numpy() for frame in made.data.values())
    assert not (np.diff(first) >= 0).all()
    assert not np.array_equal(first, second)
    assert sorted(first) == sorted(second)
    slope = np.polyfit(first, np.log(next(iter(made.data.values()))["x"]), 1)[0]
    assert slope == pytest.approx(0.5, abs=0.15), "rows must be shuffled as a whole"


def test_the_unit_changes_the_claim_and_not_the_data(table):
    """An erratum: a log density has a unit. The same data in thousandths make another claim."""
    whole = sfumato.release(table, weighted(draws=500), seed=1).confidential["claimed_epsilon"]
    small = sfumato.release(table, weighted(draws=500, unit=0.001), seed=1)
    assert small.confidential["claimed_epsilon"] > 1.5 * whole
    assert small.data["x"].median() == pytest.approx(people()["x"].median(), rel=0.5)


def test_public_files_hold_the_label_and_no_number_about_private_rows(table, tmp_path):
    made = sfumato.release(table, weighted())
    folder = made.save(tmp_path / "bundle")
    page, document = (folder / "report.html").read_text(), (folder / "release.json").read_text()
    assert LABEL in page
    for words in ("Columns released as they are", "Unit of the target", "z: released as they are; x: synthetic"):
        assert words in page, words
    assert made.confidential["added_outlier_breaks_the_claim"]
    for key, value in made.confidential.items():
        assert f'"{key}"' not in document
        if isinstance(value, float) and value not in (0.0, 1.0):
            assert repr(value) not in document + page, key
    assert json.loads(document)["guarantee"]["epsilon"] is None
    assert "z: released as they are" in json.loads(document)["notes"]
    assert "z: released as they are" in json.loads(document)["events"][0]["note"]


def test_a_mixed_table_column_by_column(table):
    targets = ["group", "member", "visits", "z", "x"]
    made = sfumato.release(table, PseudoPosterior.as_published(targets, "none", "auto", "weighted", draws=100), seed=2)
    frame = people()
    assert made.statistics["family"] == "categorical, binary, counts, normal, lognormal"
    assert made.statistics["not_synthesised"] == []
    true, found = frame["group"].value_counts(normalize=True), made.data["group"].value_counts(normalize=True)
    assert abs(true["a"] - found["a"]) < 0.15
    slope = np.polyfit(made.data["z"], np.log(made.data["x"]), 1)[0]
    assert slope == pytest.approx(np.polyfit(frame["z"], np.log(frame["x"]), 1)[0], abs=0.2)


@pytest.mark.parametrize("way", ["clipped", "statistics", "auto"])
@pytest.mark.parametrize("predictors", [["z"], "none", ["z", "group"]])
def test_every_way_is_formal_and_whole(way, predictors, table, tmp_path):
    if way == "clipped" and predictors == ["z", "group"]:
        pytest.skip("three columns of the design: refused, see below")
    book = Ledger(tmp_path / "ledger.db")
    book.open_table("people", epsilon=10, adjacency="add-remove")
    method = private(predictors=predictors, way=way, epsilon=4)
    made = sfumato.release(table, method, rows=300, ledger=book)
    assert made.guarantee.formal
    assert book.account("people").spent_epsilon == "4"
    assert len(made.data) == 300
    assert made.statistics["not_synthesised"] == []
    if predictors != "none":
        assert not set(made.data["z"]) & set(people()["z"])
    assert abs(np.log(made.data["x"]).mean() - np.log(people()["x"]).mean()) < 0.6


def test_gaussian_statistics_divide_delta(table):
    method = private(way="statistics", delta="1e-6")
    made = sfumato.release(table, method, rows=50)
    assert {event.kind for event in made.events} == {"discrete-gaussian", "lattice-gaussian"}
    assert made.guarantee.exact_epsilon == 1
    assert float(made.plan.delta) == pytest.approx(1e-6)


def test_auto_picks_by_the_public_number_of_rows():
    small = replace(SCHEMA, adjacency="replace", rows=500)
    large = replace(SCHEMA, adjacency="replace", rows=500_000)
    method = private(epsilon=3)
    assert method.private_target(small).chosen(None) == "clipped"
    assert method.private_target(large).chosen(None) == "statistics"


def with_public_predictors(way: str = "statistics", **changes) -> PseudoPosterior:
    facts = {"predictors": ["z", "group"], "epsilon": 2, "way": way, "public_predictors": True}
    return private(**(facts | changes))


def test_public_predictors_are_an_assumption_of_the_statement():
    method = with_public_predictors("clipped", predictors=["z"])
    made = sfumato.release(sfumato.read(people(), PUBLIC), method)
    assert "the predictors (z) and the number of rows are public" in made.guarantee.statement()
    assert sorted(made.data["z"]) == pytest.approx(sorted(people()["z"]))
    assert made.data["z"].tolist() != people()["z"].tolist(), "the order of the table may say what no column says"
    with pytest.raises(PlanError, match="replace"):
        sfumato.plan(SCHEMA, method)


def test_public_predictors_have_a_unit_of_their_own(tmp_path):
    """What is hidden is x in a row, not the row: every place that names the unit or the columns must say so."""
    table = sfumato.read(people(), PUBLIC)
    made = sfumato.release(table, with_public_predictors())
    unit, said = "the value of x in one row", "z, group: released as they are"
    assert made.plan.unit == made.guarantee.unit == unit
    assert [event.unit for event in made.events] == [unit]
    assert said in made.events[0].note
    assert said in made.notes
    folder = made.save(tmp_path / "bundle")
    document = json.loads((folder / "release.json").read_text())
    assert (document["unit"], document["statistics"]["not_synthesised"]) == (unit, ["z", "group"])
    page = (folder / "report.html").read_text()
    assert "500 rows with 3 columns." in words_of(page)
    assert f"{said}; x: synthetic." in page
    assert verify_bundle(folder).ok
    with pytest.raises(AccountingError, match="different unit"):
        compose([*made.events, *sfumato.plan(PUBLIC, sfumato.Histogram("z", epsilon=1)).events])


@pytest.mark.parametrize("first", ["histogram", "posterior"])
def test_a_ledger_does_not_add_targets_to_rows(first, tmp_path):
    book = Ledger(tmp_path / "ledger.db")
    book.open_table("people", epsilon=10, adjacency="replace")
    table = sfumato.read(people(), PUBLIC)
    methods = [sfumato.Histogram("z", epsilon=1), with_public_predictors(epsilon=1)]
    allowed, refused = methods if first == "histogram" else methods[::-1]
    sfumato.release(table, allowed, ledger=book)
    with pytest.raises(LedgerError, match="do not add up"):
        sfumato.release(table, refused, ledger=book)
    account = book.account("people")
    assert (account.spent_epsilon, account.events, len(book.history())) == ("1", 1, 1)
    assert account.unit == ("row" if first == "histogram" else "the value of x in one row")
    other = with_public_predictors(target="visits", family="normal", predictors=["z"], epsilon=1)
    with pytest.raises(LedgerError, match="do not add up"):
        sfumato.release(table, other, ledger=book)


RULED = Schema(
    name="ruled",
    adjacency="replace",
    rows=300,
    rules=(Rule("low <= high"),),
    columns=(
        Column("low", "number", bounds=(0.0, 10.0)),
        Column("high", "number", bounds=(0.0, 20.0)),
        Column("g", "category", values=("a", "b")),
    ),
)


def ruled(high) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    low = rng.uniform(0, 10, 300)
    return pd.DataFrame({"low": low, "high": np.maximum(high(low, rng), low), "g": rng.choice(["a", "b"], 300)})


@pytest.mark.parametrize("way", ["statistics", "clipped"])
@pytest.mark.parametrize("copies", [1, 3])
def test_rules_hold_with_public_predictors(way, copies, tmp_path):
    """Targets are drawn again for their own predictors; nothing is lost after the spend."""
    book = Ledger(tmp_path / "ledger.db")
    book.open_table("ruled", epsilon=10, adjacency="replace")
    frame = ruled(lambda low, rng: np.clip(low + 1 + rng.normal(0, 1, 300), 0, 20))
    method = PseudoPosterior("high", ["low", "g"], "normal", epsilon=3, way=way, public_predictors=True, copies=copies)
    made = sfumato.release(sfumato.read(frame, RULED), method, ledger=book, seed=1)
    assert book.account("ruled").spent_epsilon == "3"
    assert made.statistics["rows_redrawn_for_rules"] > 0
    pairs = set(zip(frame["low"], frame["g"], strict=True))
    left_out = made.statistics["rows_left_out_for_rules"]
    frames = list(made.data.values()) if copies > 1 else [made.data]
    assert sum(map(len, frames)) + left_out == 300 * copies
    for one in frames:
        assert (one["low"] <= one["high"]).all()
        assert set(zip(one["low"], one["g"], strict=True)) <= pairs, "predictors stay together"
        assert np.corrcoef(one["low"], one["high"])[0, 1] > 0.8, "targets belong to their own predictors"


def test_targets_that_the_model_never_draws_right_are_mended_around_their_predictors(tmp_path):
    """All targets of the model may lie below the rule: they are mended, and no predictor changes or is lost."""
    frame = ruled(lambda low, rng: low).sort_values("low")
    schema = replace(RULED, rules=(Rule("high >= 19"),))
    frame = frame.assign(high=19.5)
    method = PseudoPosterior("high", ["low"], "normal", 0.001, way="clipped", public_predictors=True)
    made = sfumato.release(sfumato.read(frame, schema), method, seed=3)
    assert made.statistics["rows_left_out_for_rules"] == 0
    assert made.statistics["rows_repaired_for_rules"]["high >= 19"] > 0
    assert sorted(made.data["low"]) == sorted(frame["low"])
    assert (made.data["high"] >= 19).all()
    made.save(tmp_path / "bundle")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"family": "cauchy"}, "cauchy"),
        ({"standard": "magic"}, "magic"),
        ({"standard": "averaged"}, "brackets"),
        ({"standard": "weighted", "ranges": (0.5, 2)}, "ranges belong to"),
        ({"standard": "averaged", "ranges": {"columns": ["high", "low"]}}, "factors of at most 1"),
        ({"standard": "averaged", "ranges": {"columns": ["group", "high"]}}, "a number in every row"),
        ({"target": "visits", "family": "lognormal"}, "not above 0"),
        ({"target": "group", "family": "categorical", "standard": "averaged", "ranges": (0.5, 2)}, "needs numbers"),
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
        ({"target_claim": -1}, "target_claim"),
        ({"scale": 0.001}, "weights sum"),
    ],
)
def test_bad_input_is_named_and_no_exposure_is_recorded(changes, message, table, tmp_path):
    """What the rows cannot give is found by a fit before the record."""
    book = Ledger(tmp_path / "ledger.db")
    book.open_table("people", epsilon=10, adjacency="add-remove")
    with pytest.raises(SfumatoError, match=message):
        sfumato.release(table, weighted(**changes), ledger=book)
    assert book.history() == ()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epsilon": -1}, "epsilon"),
        ({"way": "magic"}, "way 'magic' is unknown; use one of auto, clipped, statistics"),
        ({"way": "clipped", "predictors": ["z", "group", "visits"]}, "statistics"),
        ({"target": "visits", "family": "counts"}, "normal, lognormal, categorical, binary, auto"),
        ({"target": "group", "family": "auto", "way": "clipped"}, "noisy counts"),
        ({"target": "group", "family": "binary"}, "needs two levels"),
        ({"target": "group", "family": "normal"}, "levels"),
        ({"way": "clipped", "predictors": "none"}, "rows"),
        ({"predictors": ["shoe"]}, "shoe"),
        ({"predictors": ["x"]}, "both"),
        ({"public_predictors": True}, "replace"),
    ],
)
def test_bad_input_is_named_and_nothing_is_spent(changes, message, table, tmp_path):
    book = Ledger(tmp_path / "ledger.db")
    book.open_table("people", epsilon=10, adjacency="add-remove")
    with pytest.raises(SfumatoError, match=message):
        sfumato.release(table, private(**changes), ledger=book)
    assert book.history() == ()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target": [["x"]]}, "target must be a text or a list of names"),
        ({"target": {"x": 1}}, "target must be a text or a list of names"),
        ({"target": 3}, "target must be a text or a list of names"),
        ({"predictors": [["z"]]}, "predictors must be a list of names"),
        ({"family": ["lognormal"]}, "family"),
        ({"family": {"x": "cauchy"}}, "cauchy"),
        ({"family": {"y": "normal"}}, "no target"),
        ({"family": 3}, "family must be a text or a SampledModel or a mapping, found 3"),
        ({"standard": ["weighted"]}, "standard must be a text"),
        ({"ranges": [[1, 2], 3], "standard": "averaged"}, "not understood"),
        ({"ranges": (float("nan"), 2), "standard": "averaged"}, "miss"),
        ({"ranges": {"brackets": [[1]]}, "standard": "averaged"}, "bracket"),
        ({"ranges": {"brackets": 5}, "standard": "averaged"}, "not understood"),
        ({"ranges": {"radius": [0.5, 2], "tail": [0.1, 3], "share": 7}, "standard": "averaged"}, "share"),
        ({"ranges": {"columns": "low"}, "standard": "averaged"}, "not understood"),
        ({"ranges": 5, "standard": "averaged"}, "not understood"),
        ({"target_claim": -1}, "target_claim must lie between .* found -1"),
        ({"target_claim": float("nan")}, "target_claim must"),
        ({"draws": 2.5}, "draws must be a whole number"),
        ({"draws": "many"}, "draws must be a whole number"),
        ({"copies": 0}, "copies must be a whole number"),
        ({"copies": 500}, "at most draws"),
        ({"scale": float("inf")}, "scale must"),
        ({"shift": None}, "shift must"),
        ({"unit": -1}, "unit must"),
        ({"unit": "0"}, "unit must"),
    ],
)
def test_the_published_constructor_refuses_what_makes_no_sense(changes, message):
    with pytest.raises(PlanError, match=message):
        weighted(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target": ["x", "visits"]}, "target must be a text"),
        ({"target": 3}, "target must be a text"),
        ({"predictors": [["z"]]}, "predictors must be a list of names"),
        ({"family": {"x": "normal"}}, "family must be a text"),
        ({"family": "cauchy"}, "cauchy"),
        ({"way": ["clipped"]}, "way must be a text"),
        ({"epsilon": None}, "epsilon must"),
        ({"epsilon": -1}, "epsilon must lie between .* found -1"),
        ({"epsilon": 0}, "epsilon must"),
        ({"epsilon": float("nan")}, "epsilon must"),
        ({"epsilon": "1e-300"}, "epsilon must"),
        ({"epsilon": 10**400}, "epsilon must"),
        ({"epsilon": True}, "epsilon must"),
        ({"delta": -1}, "delta must"),
        ({"delta": 1}, "delta must"),
        ({"copies": 0}, "copies must be a whole number"),
        ({"copies": 2000}, "copies must be a whole number"),
        ({"public_predictors": "yes"}, "true or false"),
    ],
)
def test_the_constructor_refuses_what_makes_no_sense(changes, message):
    with pytest.raises(PlanError, match=message):
        private(**changes)


def test_the_constructors_list_all_problems():
    with pytest.raises(PlanError) as caught:
        weighted(target_claim=-1, draws=0, shift=None, family="cauchy", standard="magic")
    assert len(caught.value.problems) == 5
    with pytest.raises(PlanError) as caught:
        private(epsilon=-1, delta=7, copies=0, family="cauchy", way="magic")
    assert len(caught.value.problems) == 5


@pytest.mark.parametrize("way", ["clipped", "statistics"])
@pytest.mark.parametrize("budget", ["0.0001", 0.01, 1e4, 1e6])
def test_an_odd_budget_is_released_or_refused_before_the_spend(way, budget, tmp_path):
    book = Ledger(tmp_path / "ledger.db")
    book.open_table("people", epsilon="1e12", delta="0.5", adjacency="add-remove")
    method = private(way=way, epsilon=budget)
    try:
        made = sfumato.release(sfumato.read(people(50), SCHEMA), method, rows=20, ledger=book, allow_weak=True)
    except PlanError:
        assert book.history() == ()
    else:
        assert made.data["x"].between(0.1, 400).all()


@pytest.mark.parametrize("way", ["clipped", "statistics", "auto"])
@pytest.mark.parametrize("predictors", [["z"], "none"])
@pytest.mark.parametrize("rows", [0, 1, 2])
def test_tiny_tables_are_not_told_apart(way, predictors, rows):
    method = private(predictors=predictors, way=way)
    made = sfumato.release(sfumato.read(people(500).head(rows), SCHEMA), method, rows=30)
    assert len(made.data) == 30
    assert made.confidential == {}


def advice(schema, method) -> str:
    with pytest.raises(PlanError) as caught:
        sfumato.plan(schema, method)
    return caught.value.next_step


def test_auto_is_advised_only_where_it_helps():
    lacking = SCHEMA.replace_columns({"visits": {"missing": True}})
    printed = {"predictors": ["z"], "standard": "weighted"}
    assert "auto" not in advice(lacking, weighted(target="visits", family="auto", **printed)), "it was asked for"
    assert "auto" not in advice(lacking, weighted(target="visits", family="normal", **printed)), "it fails as well"
    assert "'auto'" in advice(SCHEMA, weighted(target="group", family="normal", **printed))
    assert "'auto'" in advice(SCHEMA, private(target="group", family="normal")), "levels have a way"
    assert "'auto'" in advice(SCHEMA, private(target="visits", family="lognormal"))
    model = private(target="visits", family="auto").private_target(SCHEMA).model
    assert model.family == "normal", "no way has a family of counts"


def test_a_lognormal_target_with_values_of_0_is_refused():
    frame = people().assign(x=0.0)
    schema = SCHEMA.replace_columns({"x": {"bounds": (0.0, 400.0), "edges": None}})
    with pytest.raises(SfumatoError, match="above 0"):
        sfumato.release(sfumato.read(frame, schema), weighted())


def test_designs_and_cells_follow_public_facts():
    columns = tuple(SCHEMA[name] for name in ("z", "group"))
    design = DesignMatrix(columns)
    assert design.names == ("z", "group=b", "group=c")
    matrix = design.matrix({"z": np.array([0.0, 4.0]), "group": np.array([0, 2])}, 2)
    assert matrix.tolist() == [[-1.0, 0.0, 0.0], [1.0, 0.0, 1.0]]
    cells = CoarsePredictors.of(columns)
    assert cells.size == 12
    assert cells.cells({"z": np.array([0.1, 3.9]), "group": np.array([0, 2])}, 2).tolist() == [0, 11]
    assert published_family_for(SCHEMA["visits"]) == "counts"


def test_a_sampled_family_reports_its_chains(table):
    pytest.importorskip("numpyro", reason="needs the extra [bayes]")
    method = PseudoPosterior.as_published("member", ["z"], "logistic", "unweighted", draws=100)
    made = sfumato.release(table, method, seed=4)
    assert made.confidential["chains"]["r_hat"] < 1.01
    assert made.data["member"].mean() == pytest.approx(people()["member"].mean(), abs=0.15)
    with pytest.raises(PlanError, match="keep 4,000"):
        sfumato.plan(SCHEMA, replace(method, draws=5000))
    with pytest.raises(PlanError, match="two levels"):
        sfumato.plan(SCHEMA, replace(method, target="group"))
