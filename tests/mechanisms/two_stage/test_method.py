"""The two-stage method on tables: an exposure with its measures, a private form with a guarantee, named errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato import Ledger, Schema, TwoStage
from sfumato.errors import PlanError, RiskError, SfumatoError
from sfumato.papers.two_stage import TwoStageAsPublished
from sfumato.privacy.exact import to_fraction
from sfumato.report.texts.numbers import statistic_texts
from sfumato.schema import Column
from sfumato.schema.rules import Rule


def people(rows: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(6)
    a, b = rng.uniform(0, 10, rows), rng.uniform(0, 1, rows)
    group = rng.choice(["x", "y"], rows, p=[0.7, 0.3])
    y = 3 * np.sin(a / 2) + 4 * b + 2 * (group == "y") + rng.normal(0, 0.2, rows)
    return pd.DataFrame(
        {"a": a, "b": b, "whole": rng.integers(0, 50, rows), "group": group, "y": y.clip(-10, 15), "high": y > 3}
    )


SCHEMA = Schema(
    name="people",
    columns=(
        Column("a", "number", bounds=(0.0, 10.0)),
        Column("b", "number", bounds=(0.0, 1.0)),
        Column("whole", "integer", bounds=(0, 49)),
        Column("group", "category", values=("x", "y")),
        Column("y", "number", bounds=(-10.0, 15.0)),
        Column("high", "boolean"),
    ),
)


@pytest.fixture
def table():
    return sfumato.read(people(), SCHEMA)


def relative_error(data: pd.DataFrame) -> float:
    """Error of released targets against the noise-free truth at the released inputs, relative to guessing the mean."""
    truth = 3 * np.sin(data["a"] / 2) + 4 * data["b"] + 2 * (data["group"] == "y")
    return float(((data["y"] - truth) ** 2).mean() / truth.var())


def test_the_published_form_is_an_exposure_that_says_what_it_measured(table, tmp_path):
    book = Ledger(tmp_path / "ledger.db")
    book.open_table("people", epsilon=1, adjacency="add-remove")
    made = sfumato.release(table, TwoStage.as_published("y", inputs=["a", "b", "group"]), ledger=book, seed=1)
    assert "heuristic: no differential privacy" in made.guarantee.statement()
    assert (book.account("people").spent_epsilon, book.account("people").exposures) == ("0", 1)
    for key in (
        "lid",
        "lid_floor",
        "alpha",
        "linkage_top_1",
        "linkage_top_10",
        "membership_auc",
        "least_displacement",
        "median_displacement",
        "rows_left_out_for_rules",
        "response_lambda",
    ):
        assert key in made.confidential, key
    assert set(made.statistics) == {"tolerance", "not_synthesised", "chosen_on_private_data"}
    assert 0.5 <= made.confidential["membership_auc"] <= 1
    assert made.confidential["linkage_top_1"] > 10 / 600
    assert relative_error(made.data) < 0.05
    assert made.data["group"].value_counts().to_dict() == people()["group"].value_counts().to_dict()
    assert not np.array_equal(made.data["group"], people()["group"])


def test_the_largest_blend_below_a_disclosure_is_found(table):
    made = sfumato.release(table, TwoStage.as_published("y", inputs=["a", "b"], max_lid=0.2), seed=1)
    assert made.confidential["lid"] <= 0.2
    closer = sfumato.release(
        table, TwoStage.as_published("y", inputs=["a", "b"], blend=made.confidential["alpha"][0] + 0.05), seed=1
    )
    assert closer.confidential["lid"] > made.confidential["lid"]


def ages(rows: int = 500) -> sfumato.table.Table:
    rng = np.random.default_rng(3)
    age = rng.integers(18, 81, rows)
    schema = Schema(
        name="ages", columns=(Column("age", "integer", bounds=(18, 80)), Column("y", "number", bounds=(0.0, 250.0)))
    )
    return sfumato.read(pd.DataFrame({"age": age, "y": 2.0 * age + rng.normal(0, 3, rows)}), schema)


@pytest.mark.parametrize("asked", [0.3, 0.5, 0.8])
def test_a_disclosure_is_kept_for_whole_numbers_as_they_are_released(asked, tmp_path):
    """Rounding makes near ages equal: matched partners cannot meet the target, partners at random meet it exactly."""
    book = Ledger(tmp_path / "ledger.db")
    book.open_table("ages", epsilon=1, adjacency="add-remove")
    with pytest.raises(RiskError, match=r"at alpha 0 already.*floor"):
        sfumato.release(ages(), TwoStage.as_published("y", max_lid=asked), ledger=book)
    assert book.history() == ()
    made = sfumato.release(ages(), TwoStage.as_published("y", max_lid=asked, matching="random"), seed=1)
    assert asked - 0.02 <= made.confidential["lid"] <= asked
    assert made.confidential["lid_floor"] < 0.1


def test_facts_are_about_the_rows_that_are_released():
    made = sfumato.release(ages(), TwoStage.as_published("y", blend=0.5), seed=1)
    assert made.confidential["lid_floor"] > 0.8, "the floor of rounded rows; unrounded ones had 0.112"
    assert made.confidential["least_displacement"] == 0, "a released age equals its own"
    assert made.confidential["median_displacement"] == 0
    whole = sfumato.release(ages(), TwoStage.as_published("y", blend=0.2, matching="random"), seed=1)
    step = 1 / people_spread()
    assert (whole.confidential["median_displacement"] / step) % 1 == pytest.approx(0, abs=1e-9)


def people_spread() -> float:
    return float(np.random.default_rng(3).integers(18, 81, 500).std())


def test_rows_that_break_a_rule_are_neither_released_nor_counted():
    below = people().assign(b=lambda f: f["a"] * f["b"])
    wide = SCHEMA.replace_columns({"b": {"bounds": (0.0, 10.0)}})
    method = TwoStage.as_published("y", inputs=["a", "b"], blend=0.3, matching="random", tolerance=0.05)
    free = sfumato.release(sfumato.read(below, wide), method, seed=1)
    bound = sfumato.release(sfumato.read(below, replace(wide, rules=(Rule("b <= a"),))), method, seed=1)
    broken = int((free.data["b"] > free.data["a"]).sum())
    assert bound.confidential["rows_left_out_for_rules"] == broken > 20
    assert len(bound.data) == 600 - broken
    assert 0 < bound.confidential["lid"] < free.confidential["lid"]
    assert bound.confidential["least_displacement"] >= free.confidential["least_displacement"]


def test_nothing_public_holds_a_number_about_private_rows(table, tmp_path):
    made = sfumato.release(table, TwoStage.as_published("y", inputs=["a", "b"], second="nadaraya-watson"))
    copy = tmp_path / "own.html"
    bundle = made.save(tmp_path / "bundle", private_report=copy, table=table)
    public = "".join(path.read_text(errors="ignore") for path in bundle.rglob("*") if path.is_file())
    assert "Numbers about the private rows" not in public
    assert "Numbers about the private rows" in copy.read_text()
    for key, fact in zip(made.confidential, statistic_texts(made.confidential), strict=True):
        assert f'"{key}"' not in (bundle / "release.json").read_text()
        assert f"<dt>{fact.name}</dt>" not in public
        assert f"<dt>{fact.name}</dt>" in copy.read_text()
    assert not any(key in repr(made) for key in ("linkage", "displacement", "lid_floor", "membership"))


def test_several_targets_whole_inputs_and_classes(table):
    made = sfumato.release(table, TwoStage.as_published(["y", "b"], inputs=["a", "whole"], second="forest"), seed=1)
    assert made.data["whole"].dtype.kind == "i"
    assert set(made.data.columns) == {"a", "whole", "y", "b"}
    labelled = sfumato.release(table, TwoStage.as_published("high", inputs=["a", "b", "group"]), seed=1)
    truth = 3 * np.sin(labelled.data["a"] / 2) + 4 * labelled.data["b"] + 2 * (labelled.data["group"] == "y") > 3
    assert (labelled.data["high"] == truth).mean() > 0.9


def test_the_private_form_is_formal_and_predicts(table, tmp_path):
    book = Ledger(tmp_path / "ledger.db")
    book.open_table("people", epsilon=20, delta="1e-5", adjacency="add-remove")
    method = TwoStage("y", inputs=["a", "b", "group"], epsilon=10, delta="1e-6", expected_rows=600)
    made = sfumato.release(table, method, rows=500, ledger=book)
    assert made.guarantee.formal
    assert book.account("people").spent_epsilon == "10"
    assert len(made.data) == 500
    assert relative_error(made.data) < 0.5
    assert {event.kind for event in made.events} == {"lattice-gaussian"}


def test_delta_has_a_default_that_the_plan_shows():
    by_default, stated = (
        sfumato.plan(SCHEMA, TwoStage("y", inputs=["a", "b"], epsilon=1, delta=delta)) for delta in (None, "1e-9")
    )
    assert by_default == stated and to_fraction(by_default.delta) == to_fraction("1e-9")


def test_each_form_has_its_own_fields():
    made = TwoStage.as_published("y", inputs=["a", "b"], first="random", blend=0.3)
    assert isinstance(made, TwoStageAsPublished) and (TwoStage.formal, made.formal) == (True, False)
    with pytest.raises(TypeError, match="first"):
        TwoStage("y", epsilon=1, first="lhs")
    with pytest.raises(TypeError, match="epsilon"):
        TwoStage("y")
    with pytest.raises(TypeError, match="epsilon"):
        TwoStage.as_published("y", epsilon=1)


def spends_nothing(method, facts, message, table, tmp_path):
    book = Ledger(tmp_path / "ledger.db")
    book.open_table("people", epsilon=10, delta="1e-3", adjacency="add-remove")
    with pytest.raises(SfumatoError, match=message):
        sfumato.release(table, method(**({"target": "y", "inputs": ["a", "b"]} | facts)), ledger=book)
    assert book.account("people").spent_epsilon == "0"
    assert book.history() == ()


COLUMNS = [
    ({"target": "shoe"}, "shoe"),
    ({"inputs": ["a", "y"]}, "both target and input"),
    ({"inputs": ["a", "a"]}, "repeat"),
    ({"inputs": ["group"]}, "numeric input"),
    ({"target": ["y", "high"]}, "numeric"),
]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *COLUMNS,
        ({"first": "magic"}, "magic"),
        ({"second": "magic"}, "magic"),
        ({"matching": "magic"}, "magic"),
        ({"blend": 0.5, "max_lid": 0.1}, "either"),
        ({"blend": 2}, "blend"),
        ({"tolerance": 0}, "tolerance"),
        ({"tolerance": -1}, "tolerance"),
        ({"max_lid": 0.0}, "floor"),
        ({"matching": "optimal", "inputs": ["a", "b"], "first": ["lhs"]}, "first"),
        ({"target": "b", "inputs": ["a", "y"], "blend": 0.5, "second": "krr", "tolerance": "1e-300"}, "tolerance"),
    ],
)
def test_bad_input_of_the_published_form_is_named(changes, message, table, tmp_path):
    spends_nothing(TwoStage.as_published, changes, message, table, tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *COLUMNS,
        ({"epsilon": None}, "epsilon"),
        ({"delta": 0}, "delta"),
        ({"target": ["y", "b"], "inputs": ["a"]}, "one target"),
        ({"epsilon": "1e-20"}, "epsilon must lie between"),
        ({"epsilon": "1e300"}, "epsilon must lie between"),
        ({"epsilon": 10**400}, "epsilon must be a finite number"),
        ({"delta": "1/1" + "0" * 400}, "delta must lie between"),
        ({"expected_rows": 10**400}, "expected_rows"),
    ],
)
def test_bad_input_is_named_and_no_budget_is_spent(changes, message, table, tmp_path):
    spends_nothing(TwoStage, {"epsilon": 1, "delta": 1e-6} | changes, message, table, tmp_path)


def test_all_wrong_types_are_named_at_once():
    shared = {"target": [["y"]], "inputs": [[]]}
    formal = shared | {"expected_rows": [5], "epsilon": [1], "delta": "x"}
    published = shared | {"first": [], "second": {}, "matching": 3, "blend": [1], "max_lid": {}, "tolerance": None}
    for method, wrong in ((TwoStage, formal), (TwoStage.as_published, published)):
        with pytest.raises(PlanError) as caught:
            method(**wrong)
        assert {problem.split()[0] for problem in caught.value.problems} >= set(wrong)


@pytest.mark.parametrize(
    "wrong", [{"inputs": {"a": 1}}, {"inputs": [3]}, {"target": 5}, {"blend": True}, {"target": []}, {"target": None}]
)
def test_what_is_no_name_or_number_is_named(wrong):
    with pytest.raises(PlanError, match=next(iter(wrong))):
        TwoStage.as_published(**({"target": "y"} | wrong))


def refused(
    frame: pd.DataFrame, method: TwoStageAsPublished, message: str, book: Ledger, schema: Schema = SCHEMA
) -> None:
    with pytest.raises(SfumatoError, match=message):
        sfumato.release(sfumato.read(frame, schema), method, ledger=book)
    assert book.history() == (), "even an exposure is not recorded for a run that cannot be made"


def test_small_and_constant_tables_are_named_before_anything_is_recorded(tmp_path):
    book = Ledger(tmp_path / "ledger.db")
    book.open_table("people", epsilon=1, adjacency="add-remove")
    method = TwoStage.as_published("y", inputs=["a", "b"])
    for rows in (0, 1, 12):
        refused(people(rows), method, "at least 20", book)
    refused(people().assign(b=0.5), method, "b: all values are 0.5", book)
    twins = SCHEMA.replace_columns({"b": {"bounds": (0.0, 10.0)}})
    refused(people().assign(b=lambda f: f["a"]), method, r"same up to unit", book, twins)
    refused(people().assign(high=True), TwoStage.as_published("high", inputs=["a", "b"]), "one value only", book)
    refused(people().assign(y=1.0), method, "one value only", book)
    lone = people().assign(b=lambda f: f["b"].where(f["group"] == "x", 0.5))
    refused(lone, TwoStage.as_published("y", inputs=["a", "b", "group"]), "b: all values are 0.5", book)
    refused(people(3100), TwoStage.as_published("y", inputs=["a", "b"], matching="optimal"), "serves up to 3,000", book)
    with pytest.raises(SfumatoError, match=r"missing"):
        sfumato.plan(SCHEMA.replace_columns({"a": {"missing": True}}), method)


@pytest.mark.parametrize("rows", [0, 1])
def test_the_private_form_releases_tables_of_any_size(rows, tmp_path):
    method = TwoStage("y", inputs=["a", "b"], epsilon=1, delta="1e-6")
    assert len(sfumato.release(sfumato.read(people(rows), SCHEMA), method).data) >= 1


def test_a_noisy_number_of_rows_stays_within_memory(table, monkeypatch):
    """At epsilon 1e-4 the noisy number of rows is anything; 1 MB holds 1 MB / (64 bytes x 2 columns) rows."""
    monkeypatch.setenv("SFUMATO_MEMORY", "1MB")
    method = TwoStage("y", inputs=["a"], epsilon="1e-4", delta="1e-6")
    sizes = {len(sfumato.release(table, method, seed=seed).data) for seed in range(4)}
    assert max(sizes) == 1_000_000 // 128


def test_levels_and_bounds_that_cannot_be_computed_with_are_refused_in_the_plan():
    many = SCHEMA.replace_columns({"group": {"values": tuple(f"v{i}" for i in range(4100))}})
    with pytest.raises(PlanError, match="indicators"):
        sfumato.plan(many, TwoStage("y", inputs=["a", "group"], epsilon=1, delta="1e-6"))
    far = {"whole": {"bounds": (0, 2**60)}}
    for method in (TwoStage("y", inputs=["a", "whole"], epsilon=1), TwoStage.as_published("y", inputs=["a", "whole"])):
        with pytest.raises(SfumatoError, match=r"2\^53|bounds"):
            sfumato.plan(SCHEMA.replace_columns(far), method)


def test_one_row_per_person_is_what_is_protected():
    shared = replace(SCHEMA, person="group", rows_per_person=3)
    method = TwoStage("y", inputs=["a", "b"], epsilon=1, delta="1e-6")
    with pytest.raises(SfumatoError, match="3 rows"):
        sfumato.plan(shared, method)
