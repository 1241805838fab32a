"""Limits in one place: which measure decides, and what is said of it."""

from __future__ import annotations

from sfumato.evaluate.compare.result import ColumnComparison, MetricWithYardstick
from sfumato.evaluate.verdict import verdict_of_comparison


def measure(name: str, value: float, yardstick: float, high: float | None = None) -> MetricWithYardstick:
    top = 1.5 * yardstick if high is None else high
    return MetricWithYardstick(name, "", value, value, value, yardstick, yardstick / 2, top, name == "skill_kept")


def graded(single: float, pairs: float, kept: float | None, skill: float | None, auc: float = 0.5) -> tuple[str, str]:
    found = [
        measure("tvd_1_q16", single, 0.02),
        measure("tvd_2_q16", pairs, 0.05),
        measure("detection_auc", auc, 0.5, 0.52),
    ]
    found += [] if skill is None else [MetricWithYardstick("skill_kept", "", skill, 0, 1, 1.0, 0.9, 1.1, True)]
    return verdict_of_comparison({each.name: each for each in found}, kept)


def test_each_grade_has_its_limits() -> None:
    assert graded(0.03, 0.07, 0.97, 0.95)[0] == "as good as real rows"
    assert graded(0.03, 0.07, 0.97, 0.95, auc=0.8)[0] == "good"
    assert graded(0.09, 0.19, 0.8, 0.8)[0] == "good"
    assert graded(0.09, 0.19, 0.6, 0.8)[0] == "usable in part"
    assert graded(0.03, 0.4, 0.1, 0.1)[0] == "usable in part"
    assert graded(0.2, 0.4, 0.6, 0.1)[0] == "not usable"
    assert graded(0.5, 0.19, 0.9, 0.9)[0] == "not usable"


def test_the_verdict_names_what_decided_and_its_yardstick() -> None:
    _, verdict = graded(0.03, 0.4, 0.1, None)
    assert "single columns are as good as in real rows (tvd_1_q16 0.03, a second real sample 0.02)" in verdict
    assert "not usable for relations (strong ones keep 10 % of their strength; tvd_2_q16 0.4" in verdict
    assert "predictions" not in verdict


def test_a_wrong_column_does_not_hide_behind_the_mean() -> None:
    measures = {"tvd_1_q16": measure("tvd_1_q16", 0.03, 0.02)}
    fine, wrong = (ColumnComparison("k", "category", ("a",), None, (1.0,), (1.0,), tvd, 0.02) for tvd in (0.05, 0.4))
    assert verdict_of_comparison(measures, None, (fine,))[0] == "as good as real rows"
    grade, verdict = verdict_of_comparison(measures, None, (fine, wrong))
    assert grade == "usable in part" and "tvd of k 0.4" in verdict


def test_too_few_rows_to_tell_say_nothing_of_predictions() -> None:
    unsure = MetricWithYardstick("skill_kept", "", 0.0, 0, 1, 1.0, 0.0, 2.0, True)
    grade, verdict = verdict_of_comparison({"tvd_1_q16": measure("tvd_1_q16", 0.01, 0.02), "skill_kept": unsure}, None)
    assert grade == "as good as real rows" and "predictions" not in verdict


def test_broken_rules_are_said() -> None:
    rules = measure("rule_violations", 0.2, 0.0)
    assert (
        "20.0 % of the rows break a rule"
        in verdict_of_comparison({"tvd_1_q16": measure("tvd_1_q16", 0, 0.02), rules.name: rules}, None)[1]
    )
