"""Four tables whose truth is known: the table itself, a fresh sample, shuffled columns, noise.

Seeds are fixed, so that nothing here is left to chance. A fresh sample is called worse than real rows with a chance of
alpha = 0.1 or so (docs/comparison.md), and the seed is one where it is not; the three others are called right with
overwhelming probability. Each is a mutant of the next: a verdict that gave one of them the grade of another fails.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sfumato
from comparison.people import noise, people, shuffled, table
from sfumato.evaluate.compare.result import Comparison

pytestmark = pytest.mark.xdist_group("known truth")  # computed once, for all tests that look at it

MADE: dict[str, Any] = {
    "itself": lambda: people(1),
    "fresh": lambda: people(2),
    "shuffled": lambda: shuffled(people(1), 3),
    "noise": lambda: noise(4),
}


@pytest.fixture(scope="module")
def known() -> dict[str, Comparison]:
    true = table()
    return {name: sfumato.compare(make(), true, seed=5) for name, make in MADE.items()}


def test_the_table_itself_is_as_good_as_real_rows(known: dict[str, Comparison]) -> None:
    found = known["itself"]
    assert found.grade == "as good as real rows"
    errors = (
        "tvd_1_q16",
        "tvd_2_q16",
        "tvd_3_q16",
        "mean_error_sd",
        "pearson_error",
        "association_error",
        "missing_error",
        "pmse_ratio",
    )
    assert all(found.measures[name].value < 1e-9 for name in errors)
    assert found.equivalent_rows["single"] == found.equivalent_rows["pairs"] == float("inf")
    assert not found.worst_columns and not found.worst_pairs and not found.worst_subgroups


def test_a_fresh_sample_is_as_good_as_real_rows(known: dict[str, Comparison]) -> None:
    found = known["fresh"]
    assert found.grade == "as good as real rows"
    for name in ("tvd_1_q16", "tvd_2_q16", "tvd_3_q16", "detection_auc", "skill_kept"):
        assert found.measures[name].as_good
        assert found.measures[name].value > 0
    assert found.association_kept is not None and found.association_kept > 0.85


def test_shuffled_columns_are_right_one_by_one_and_of_no_use_for_relations(known: dict[str, Comparison]) -> None:
    found = known["shuffled"]
    assert found.grade == "usable in part"
    assert "single columns are as good as in real rows" in found.verdict
    assert "not usable for relations" in found.verdict and "not usable for predictions" in found.verdict
    assert found.measures["tvd_1_q16"].value < 1e-9 and not found.measures["tvd_2_q16"].as_good
    assert found.measures["skill_kept"].value < 0.3 and found.measures["rule_violations"].value > 0.02
    assert ("age", "income") in found.worst_pairs


def test_noise_is_not_usable(known: dict[str, Comparison]) -> None:
    found = known["noise"]
    assert found.grade == "not usable"
    assert "30" in found.verdict and "break a rule" in found.verdict
    assert found.equivalent_rows["single"] < 60 and found.equivalent_rows["prediction"] < 30
    assert set(found.worst_columns) >= {"age", "income"}
    assert found.measures["detection_auc"].value > 0.9


def test_every_measure_lies_in_its_interval_and_has_words(known: dict[str, Comparison]) -> None:
    for found in known.values():
        assert len(found.measures) == 13
        for name, measure in found.measures.items():
            assert measure.name == name and measure.words
            assert measure.low <= measure.value <= measure.high
            assert measure.yardstick_low <= measure.yardstick <= measure.yardstick_high


def test_columns_and_pairs_carry_what_a_page_draws(known: dict[str, Comparison]) -> None:
    found = known["noise"]
    for column in found.columns:
        assert len(column.labels) == len(column.true) == len(column.synthetic)
        assert abs(sum(column.true) - 1) < 1e-9 and abs(sum(column.synthetic) - 1) < 1e-9
        assert (column.edges is None) == (column.kind in ("category", "boolean"))
        if column.edges is not None:
            assert len(column.edges) == len(column.labels) + (column.labels[-1] != "missing")
    strong = found.pairs[0]
    assert set(strong.names) == {"age", "income"} and strong.true > 0.8 and abs(strong.synthetic) < 0.2
    assert abs(float(np.sum(strong.true_table)) - 1) < 1e-9
    assert found.columns[1].numbers["missing"][0] == pytest.approx(0.08, abs=0.03)


def test_predictions_beat_guessing_where_there_is_something_to_learn(known: dict[str, Comparison]) -> None:
    target = known["fresh"].predictions["owner"]
    assert target["guess"] == 0.5 and target["true"] > 0.85 and target["synthetic"] > 0.85
    assert known["shuffled"].predictions["owner"]["synthetic"] < 0.7


def test_plain_values_hold_no_infinity(known: dict[str, Comparison]) -> None:
    body = known["itself"].to_dict()
    assert body["equivalent_rows"]["single"] is None and "schema" not in body
    assert body["measures"]["tvd_1_q16"]["value"] == 0.0
