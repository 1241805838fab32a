"""Calibration by proved ceilings: closed forms, no table, no cost, and what the stated pair would have allowed."""

from __future__ import annotations

import csv
import dataclasses
import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from scipy.stats import norm

import sfumato
from sfumato import AIM, MST, Contingency, Histogram, calibrate
from sfumato.core.method import methods
from sfumato.errors import PlanError
from sfumato.evaluate.calibrate.deployments import DEPLOYMENTS, by_epsilon, nearest_deployments, orientation_text
from sfumato.evaluate.calibrate.explain import explain_value
from sfumato.evaluate.calibrate.proved_ceilings import SAME_FOR_ALL, calibrate_ceiling, largest, readable
from sfumato.evaluate.calibrate.result import Calibration
from sfumato.evaluate.calibrate.target import Target
from sfumato.example import codebook, households
from sfumato.mechanisms.mean_curve.method import MeanCurve
from sfumato.papers.two_stage.published.method import TwoStageAsPublished
from sfumato.privacy.accounting.privacy_curve import privacy_curve
from sfumato.privacy.accounting.strength import odds_factor_text
from sfumato.report.calibration_page import calibration_page, values_grid

FACTS = codebook()
COUNTS = Histogram("age", epsilon=1)
CURVE = MeanCurve.example(FACTS)
NUMBERS = ("epsilon", "delta", "rho")


@pytest.mark.parametrize("text", ["advantage <= 0.2", "hits <= 0.05 at 0.01", "success <= 0.2 at 0.1"])
def test_targets_read_back_as_they_were_written(text):
    assert str(Target.parse(text)) == text
    assert Target.parse(text.replace("<=", "<=  ").replace(" at ", "  at ")) == Target.parse(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hits <= 0.05", "needs the share of false alarms"),
        ("success <= 0.2", "needs the share of success by chance"),
        ("hits <= 0.05 at 1.5", "between 0 and 1"),
        ("hits <= 0.05 at x", "not a finite number"),
        ("hits <= 0.01 at 0.01", "reached without any release"),
        ("advantage <= 0.2 at 0.1", "takes no number behind 'at'"),
        ("tvd_1_bins <= 0.2 at 0.1", "takes no number behind 'at'"),
        ("advantage >= 0.2", "compare by <="),
        ("advantage <= 1", "every release meets"),
        ("advantage <= 0", "no release at all"),
    ],
)
def test_targets_that_make_no_sense_are_named(text, said):
    with pytest.raises(PlanError, match=said):
        Target.parse(text)


def test_pure_counts_have_the_closed_form_of_randomised_response():
    """Hits of a pure epsilon at a false alarms: min(e^epsilon a, 1 - e^-epsilon (1 - a)); advantage tanh(epsilon/2)."""
    for text, edge in (
        ("advantage <= 0.2", 2 * math.atanh(0.2)),
        ("hits <= 0.05 at 0.01", math.log(5)),
        ("success <= 0.9 at 0.5", math.log(0.5 / 0.1)),
    ):
        found = calibrate(COUNTS, text, schema=FACTS)
        assert found.chosen == found.proved.by_pair == readable(edge)
        for point, pair in zip(found.points, found.proved.pair, strict=True):
            assert point.meets == (point.value <= edge) and point.mean == pytest.approx(pair.mean, rel=1e-9)


def test_gaussian_noise_has_the_closed_form_of_its_mu():
    """The ceiling lies above that of continuous noise and within a thousandth of it: 2 Phi(mu / 2) - 1."""
    found = calibrate(CURVE, "advantage <= 0.2", schema=FACTS)
    for point in found.points:
        mu = privacy_curve(dataclasses.replace(CURVE, epsilon=point.value).plan(FACTS).events).mu
        exact = 2 * norm.cdf(mu / 2) - 1
        assert exact <= point.mean <= exact * 1.001 and point.meets == (point.mean <= 0.2)
    assert found.chosen > 4 * found.proved.by_pair  # one point of the curve knows far less


def test_aim_may_take_2_9_where_the_pair_allows_0_4():
    found = calibrate(AIM(epsilon=1), "advantage <= 0.2")
    assert (found.chosen, found.proved.by_pair, found.proved.any_table) == (2.9, 0.4, True)
    assert found.point(2.9).mean <= 0.2 < found.point(3.0).mean
    said = {point.value: point.mean for point in found.points}
    assert said[0.3] <= 0.024 and said[1.0] <= 0.074 and said[3.0] <= 0.206 and said[10.0] <= 0.565
    assert "would have allowed epsilon = 0.4" in found.answer()


@pytest.mark.parametrize("method", [AIM(epsilon=1), MST(epsilon=1)], ids=["aim", "mst"])
def test_what_is_proved_without_a_schema_is_proved_with_any(method):
    """People with three rows, replaced or added: noise grows with them, and the curve stays."""
    assert method.name in SAME_FOR_ALL
    others = (FACTS, dataclasses.replace(FACTS, adjacency="replace", rows=1000))
    alone = calibrate_ceiling(method, Target.parse("advantage <= 0.2"), grid=[1.0]).points[0].mean
    for schema in others:
        with_one = calibrate_ceiling(method, Target.parse("advantage <= 0.2"), schema, grid=[1.0]).points[0].mean
        assert with_one == pytest.approx(alone, rel=1e-6)


@pytest.mark.parametrize("name", [name for name in methods() if name not in ("aim", "mst", "plausible-deniability")])
def test_every_formal_method_keeps_what_it_was_asked_for(name):
    method = methods()[name].cls.example(FACTS)
    found = calibrate(method, "advantage <= 0.2", schema=FACTS, grid=[0.2, 0.4, 3.0])
    assert found.chosen is not None and found.point(found.chosen).mean <= 0.2
    means = [point.mean for point in found.points]
    assert means == sorted(means) and all(
        point.mean <= pair.mean * (1 + 1e-9) for point, pair in zip(found.points, found.proved.pair, strict=True)
    )


def test_only_the_schema_of_a_table_is_read():
    table: Any = SimpleNamespace(schema=FACTS)  # whoever asks it for rows fails
    found = calibrate(COUNTS, "advantage <= 0.2", table)
    assert found.chosen == 0.4 and found.cost == "public" and not found.private_data_used and found.charge is None
    assert "no table was looked at" in found.statement()


def test_a_range_and_a_grid_are_kept_to():
    assert calibrate(COUNTS, "advantage <= 0.2", schema=FACTS, bisection=(0.01, 0.3)).chosen == 0.3
    found = calibrate(COUNTS, "advantage <= 0.2", schema=FACTS, grid=[0.1, 0.35, 0.5])
    assert found.chosen == 0.35 and [point.value for point in found.points] == [0.1, 0.35, 0.5]
    missed = calibrate(COUNTS, "advantage <= 0.01", schema=FACTS, bisection=(1, 5))
    assert missed.chosen is None and "is not kept by any epsilon from 1 up" in missed.statement()
    assert "The target was not reached" in calibration_page(missed)


def test_other_parameters_are_looked_for_in_a_range():
    method = Contingency(["age", "sex"], epsilon=1, delta=1e-6)
    with pytest.raises(PlanError, match="values of 'delta' must be given"):
        calibrate(method, "advantage <= 0.13", schema=FACTS, parameter="delta")
    found = calibrate(method, "advantage <= 0.13", schema=FACTS, parameter="delta", bisection=(1e-12, 1e-2))
    assert found.point(found.chosen).meets and not found.points[-1].meets and found.proved.by_pair is None
    assert found.answer().startswith(f"delta = {found.chosen:g} is the largest") and "pair" not in found.answer()


def test_an_answer_is_never_rounded_up():
    """A mutant that rounds to the nearest answers 0.41 and 0.42; one that trusts the root alone misses an edge."""
    assert [readable(value) for value in (0.4099, 0.999, 19.99, 0.0123)] == [0.4, 0.99, 19.0, 0.012]
    assert largest(lambda value: value, 0.4199, 0.001, 20) == 0.41
    assert largest(lambda value: value, 0.4, 0.001, 20) == 0.4


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"cost": "private"}, "costs nothing"),
        ({"cost": "declared"}, "looks at no table"),
        ({"ledger": "budget.db"}, "nothing to record"),
        ({"prefer": "smallest"}, "no answer"),
        ({"options": {"clusters": 3}}, "takes no option 'clusters'"),
        ({"grid": [1], "bisection": True}, "not both"),
        ({"table": SimpleNamespace(schema=FACTS)}, "give one of"),
    ],
)
def test_what_belongs_to_a_run_is_refused(changed, said):
    with pytest.raises(PlanError, match=said):
        calibrate(COUNTS, "advantage <= 0.2", **{"schema": FACTS, **changed})


def test_what_needs_a_schema_a_table_or_a_guarantee_says_so():
    with pytest.raises(PlanError, match="no schema was given"):
        calibrate(COUNTS, "advantage <= 0.2")
    with pytest.raises(PlanError, match="no schema was given"):
        calibrate(AIM(epsilon=1, columns=["age", "sex"]), "advantage <= 0.2")
    with pytest.raises(PlanError, match="schema= is for ceilings on risk"):
        calibrate(COUNTS, "tvd_1_bins <= 0.2", schema=FACTS)
    with pytest.raises(PlanError, match="give one table"):
        calibrate(COUNTS, "tvd_1_bins <= 0.2")
    exposed = TwoStageAsPublished.example(FACTS)
    with pytest.raises(PlanError, match=r"exposure|no parameter"):
        calibrate(exposed, "advantage <= 0.2", schema=FACTS)


def test_frequencies_are_said_and_never_below_what_is_proved():
    found = calibrate(CURVE, "success <= 0.2 at 0.1", schema=FACTS)
    asked, proved = explain_value(found)
    assert asked.endswith("of 100 attempts that would succeed by chance in 10, at most 20 succeed with the release.")
    assert proved.startswith("Proved at") and "at most 20 succeed" in proved
    few = explain_value(calibrate(CURVE, "hits <= 0.004 at 0.001", schema=FACTS))[0]
    assert "wrongly names 1 of 1,000 people who are not in the table finds at most 4 of 1,000 who are" in few


def test_the_tail_that_only_epsilon_bounds_stands_beside_it():
    found = calibrate(CURVE, "advantage <= 0.2", schema=FACTS)
    tail = f"at most {odds_factor_text(Fraction(str(found.chosen)))} times as likely with the"
    assert tail in found.statement() and tail in calibration_page(found)
    pure = calibrate(COUNTS, "advantage <= 0.2", schema=FACTS).statement()
    assert "even odds become at most 59.9 %" in pure


def test_page_table_and_json_hold_both_answers():
    found = calibrate(CURVE, "advantage <= 0.2", schema=FACTS)
    page = calibration_page(found)
    assert "What others took" in page and "your choice" in page and "stated pair alone" in page
    assert "Do not publish" not in page and "OpenDP Deployments Registry" in page
    assert values_grid(found).header == ("epsilon", "advantage, proved", "by the stated pair", "meets the target")
    assert Calibration.model_validate_json(found.model_dump_json()) == found


def test_a_release_says_that_its_epsilon_came_from_public_facts(household_release):
    found = calibrate(COUNTS, "advantage <= 0.2", schema=FACTS)
    assert found.assumption in found.declare(household_release).guarantee.assumptions
    assert not found.declare(household_release).guarantee.uncharged


@pytest.fixture
def household_release():
    return sfumato.release(sfumato.read(households(200), FACTS), COUNTS, ledger=False)


def test_the_facts_of_others_are_those_of_the_registry(shared_data):
    place = shared_data / "standards" / "dp_deployments.csv"
    if not place.exists():
        pytest.skip("the registry's facts are not here")
    with place.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    stated = [
        (r["name"], r["curator"], int(r["year"]), r["unit"], *(float(r[k]) if r[k] else None for k in NUMBERS))
        for r in rows
    ]
    assert [tuple(each) for each in DEPLOYMENTS] == stated


def test_others_are_counted_on_both_sides():
    epsilons = [epsilon for epsilon, _ in by_epsilon(1e-9)]
    assert epsilons == sorted(epsilons) and len(epsilons) == len(DEPLOYMENTS)
    assert [epsilon for epsilon, _ in nearest_deployments(2.9, 1e-9)] == [2.0, 2.19, 2.64, 4.0, 4.0, 4.0]
    assert len(nearest_deployments(0.001, 1e-9)) == len(nearest_deployments(1e6, 1e-9)) == 3
    below = sum(epsilon < 2.9 for epsilon in epsilons)
    assert f"{below} state a smaller epsilon than 2.9" in orientation_text(2.9, 1e-9)[0]
    assert "proves nothing about your table" in orientation_text(2.9, 1e-9)[-1]
