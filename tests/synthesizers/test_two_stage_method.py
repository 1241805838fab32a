"""The two-stage method on tables: an exposure with its measures, a private form with a guarantee, named errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato import Ledger, Schema, TwoStage
from sfumato.errors import SfumatoError
from sfumato.schema import Column


def people(rows: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(6)
    a, b = rng.uniform(0, 10, rows), rng.uniform(0, 1, rows)
    group = rng.choice(["x", "y"], rows, p=[0.7, 0.3])
    y = 3 * np.sin(a / 2) + 4 * b + 2 * (group == "y") + rng.normal(0, 0.2, rows)
    return pd.DataFrame({"a": a, "b": b, "whole": rng.integers(0, 50, rows), "group": group, "y": y.clip(-10, 15),
                         "high": y > 3})  # fmt: skip


SCHEMA = Schema(name="people", columns=(
    Column("a", "number", bounds=(0.0, 10.0)), Column("b", "number", bounds=(0.0, 1.0)),
    Column("whole", "integer", bounds=(0, 49)), Column("group", "category", values=("x", "y")),
    Column("y", "number", bounds=(-10.0, 15.0)), Column("high", "boolean"),
))  # fmt: skip


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
    made = sfumato.release(table, TwoStage("y", inputs=["a", "b", "group"]), ledger=book, seed=1)
    assert "heuristic: no differential privacy" in made.guarantee.statement()
    assert (book.account("people").spent_epsilon, book.account("people").exposures) == ("0", 1)
    for key in ("lid", "tolerance", "alpha", "linkage_top_1", "linkage_top_10", "membership_auc", "least_displacement",
                "chosen_on_private_data", "response_lambda"):  # fmt: skip
        assert key in made.statistics, key
    assert 0.5 <= made.statistics["membership_auc"] <= 1
    assert made.statistics["linkage_top_1"] > 10 / 600
    assert relative_error(made.data) < 0.05
    assert made.data["group"].value_counts().to_dict() == people()["group"].value_counts().to_dict()
    assert not np.array_equal(made.data["group"], people()["group"])


def test_the_largest_blend_below_a_disclosure_is_found(table):
    made = sfumato.release(table, TwoStage("y", inputs=["a", "b"], max_lid=0.2), seed=1)
    assert made.statistics["lid"] <= 0.2
    closer = sfumato.release(table, TwoStage("y", inputs=["a", "b"], blend=made.statistics["alpha"][0] + 0.05), seed=1)
    assert closer.statistics["lid"] > made.statistics["lid"]


def test_several_targets_whole_inputs_and_classes(table):
    made = sfumato.release(table, TwoStage(["y", "b"], inputs=["a", "whole"], second="forest"), seed=1)
    assert made.data["whole"].dtype.kind == "i"
    assert set(made.data.columns) == {"a", "whole", "y", "b"}
    labelled = sfumato.release(table, TwoStage("high", inputs=["a", "b", "group"]), seed=1)
    truth = 3 * np.sin(labelled.data["a"] / 2) + 4 * labelled.data["b"] + 2 * (labelled.data["group"] == "y") > 3
    assert (labelled.data["high"] == truth).mean() > 0.9


def test_the_private_form_is_formal_and_predicts(table, tmp_path):
    book = Ledger(tmp_path / "ledger.db")
    book.open_table("people", epsilon=20, delta="1e-5", adjacency="add-remove")
    method = TwoStage("y", inputs=["a", "b", "group"], private=True, epsilon=10, delta="1e-6", expected_rows=600)
    made = sfumato.release(table, method, rows=500, ledger=book)
    assert made.guarantee.formal
    assert book.account("people").spent_epsilon == "10"
    assert len(made.data) == 500
    assert relative_error(made.data) < 0.5
    assert {event.kind for event in made.events} == {"lattice-gaussian"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"first": "magic"}, "magic"),
        ({"second": "magic"}, "magic"),
        ({"matching": "magic"}, "magic"),
        ({"blend": 0.5, "max_lid": 0.1}, "either"),
        ({"blend": 2}, "blend"),
        ({"tolerance": 0}, "tolerance"),
        ({"tolerance": -1}, "tolerance"),
        ({"target": "shoe"}, "shoe"),
        ({"inputs": ["a", "y"]}, "both target and input"),
        ({"inputs": ["a", "a"]}, "twice"),
        ({"inputs": ["group"]}, "numeric input"),
        ({"target": ["y", "high"]}, "numeric"),
        ({"private": True}, "epsilon"),
        ({"epsilon": 1}, "private"),
        ({"private": True, "epsilon": 1}, "delta"),
        ({"private": True, "epsilon": 1, "delta": 1e-6, "target": "high"}, "one numeric target"),
        ({"max_lid": 0.0}, "floor"),
    ],
)
def test_bad_input_is_named_and_no_budget_is_spent(changes, message, table, tmp_path):
    book = Ledger(tmp_path / "ledger.db")
    book.open_table("people", epsilon=10, delta="1e-3", adjacency="add-remove")
    facts = {"target": "y", "inputs": ["a", "b"]} | changes
    with pytest.raises(SfumatoError, match=message):
        sfumato.release(table, TwoStage(**facts), ledger=book)
    assert book.account("people").spent_epsilon == "0"


def test_small_and_constant_tables_are_named():
    with pytest.raises(SfumatoError, match="at least 20"):
        sfumato.release(sfumato.read(people(12), SCHEMA), TwoStage("y", inputs=["a", "b"]))
    constant = people().assign(b=0.5)
    with pytest.raises(SfumatoError, match="constant"):
        sfumato.release(sfumato.read(constant, SCHEMA), TwoStage("y", inputs=["a", "b"]))
    twins = SCHEMA.replace_columns({"b": {"bounds": (0.0, 10.0)}})
    with pytest.raises(SfumatoError, match=r"same|duplicate|equal"):
        sfumato.release(sfumato.read(people().assign(b=lambda f: f["a"]), twins), TwoStage("y", inputs=["a", "b"]))
    with pytest.raises(SfumatoError, match=r"missing"):
        sfumato.plan(SCHEMA.replace_columns({"a": {"missing": True}}), TwoStage("y", inputs=["a", "b"]))


def test_one_row_per_person_is_what_is_protected():
    shared = replace(SCHEMA, person="group", rows_per_person=3)
    method = TwoStage("y", inputs=["a", "b"], private=True, epsilon=1, delta="1e-6")
    with pytest.raises(SfumatoError, match="3 rows"):
        sfumato.plan(shared, method)
