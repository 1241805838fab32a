"""``sfumato.calibrate``: answers that are known, curves that mislead, intervals that hold, words that must be said."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

import sfumato
from sfumato.errors import PlanError, SchemaError
from sfumato.evaluate.calibrate import Calibration, Target, calibrate
from sfumato.evaluate.calibrate.search import CalibrationRequest, Curve
from sfumato.mechanisms.counts.contingency import Contingency
from sfumato.mechanisms.counts.histogram import Histogram
from sfumato.metrics.catalogue import CATALOGUE, Metric
from sfumato.metrics.confidence import student_quantile
from sfumato.risk.homogeneity import Cells, epsilon_for
from sfumato.schema import Schema
from statistical.laws import ALPHA, discrete_laplace_pmf

COIN = """
[table]
name = "coins"
[columns.side]
kind = "category"
values = ["heads", "tails"]
"""
N = 100_000


@pytest.fixture(scope="module")
def coins():
    return sfumato.read(pd.DataFrame({"side": ["heads", "tails"] * (N // 2)}), Schema.parse(COIN))


@pytest.fixture(scope="module")
def people(frame, schema):
    return sfumato.read(frame, schema)


def theory(epsilon: float) -> float:
    """Expected distance of a fair coin: |Z1 - Z2| / 2n, as the noisy total is n up to a ten-thousandth."""
    k = np.arange(-2000, 2001)
    law = discrete_laplace_pmf(k, 1 / epsilon)
    apart = np.convolve(law, law)
    return float(np.abs(np.arange(-4000, 4001)) @ apart) / (2 * N)


def test_the_curve_is_the_one_that_theory_gives(coins):
    found = calibrate(
        Histogram("side", 1.0),
        "tvd_1_bins <= 0.001",
        pilot=coins,
        grid=[0.05, 0.2, 1.0],
        repeats=60,
        level=1 - ALPHA,
        seed=3,
    )
    for point in found.points:
        assert point.low <= theory(point.value) <= point.high
    # A mutant that adds the noise of half the budget would be seen: alpha 1e-6, 60 runs at each of 3 values.
    assert any(not point.low <= theory(point.value / 2) <= point.high for point in found.points)
    assert found.monotone and found.points[0].sd > 0


def test_bisection_finds_the_epsilon_that_theory_gives(coins):
    wanted = optimize.brentq(lambda epsilon: theory(epsilon) - 2e-5, 0.05, 20)
    found = calibrate(
        Histogram("side", 1.0), "tvd_1_bins <= 2e-5", pilot=coins, bisection=(0.05, 20), repeats=200, seed=5
    )
    # The upper end of the interval must meet the target, so the answer lies above theory, by not much.
    assert wanted * 0.95 < found.chosen < wanted * 1.45
    assert found.search == "bisection" and len(found.intervals) == 1
    assert found.intervals[0] == (found.chosen, 20)


def test_a_closed_form_needs_one_run_and_agrees_with_the_exact_inverse(people):
    known = ["region", "age", "sex", "education"]
    method, options = Contingency([*known, "insured"], 1.0), {"identifiers": known, "sensitive": "insured"}
    wanted = epsilon_for(0.35, Cells.of(people, known, "insured").counts).epsilon
    found = calibrate(method, "homogeneity_record <= 0.35", people, bisection=(0.05, 5), options=options)
    assert all(point.exact and point.repeats == 1 for point in found.points)
    assert wanted is not None and wanted / 1.06 < found.chosen <= wanted
    assert found.prefer == "largest" and found.kind == "risk"


def bump(trial) -> float:
    """Good at small and at large epsilon, bad between."""
    noise = np.random.default_rng(trial.seed).normal(0, 0.01)
    return math.exp(-(math.log(trial.method.epsilon) ** 2)) + noise


def normal(trial) -> float:
    return float(np.random.default_rng(trial.seed).normal(0.5, 0.1))


@pytest.fixture
def artificial(monkeypatch):
    monkeypatch.setitem(CATALOGUE, "bump", Metric("bump", "a bump", kind="risk", function=bump))
    monkeypatch.setitem(CATALOGUE, "normal", Metric("normal", "noise around one half", kind="utility", function=normal))


def test_a_curve_that_rises_and_falls_is_reported_with_all_intervals(coins, artificial):
    grid = [0.05, 0.1, 0.3, 1, 3, 10, 20]
    found = calibrate(Histogram("side", 1.0), "bump <= 0.5", pilot=coins, grid=grid, seed=1)
    assert not found.monotone
    assert found.intervals == ((0.05, 0.3), (3.0, 20.0))
    assert found.chosen == 0.3 and "the largest value of the lowest interval" in found.answer()
    said = found.statement()
    assert "not monotone" in said and "2 separate intervals: 0.05 to 0.3, 3 to 20." in said
    upwards = calibrate(Histogram("side", 1.0), "bump <= 0.5", pilot=coins, grid=grid[3:], seed=1)
    assert upwards.monotone and upwards.intervals == ((3.0, 20.0),)
    assert "Some smaller values miss the target again" in upwards.statement()
    searched = calibrate(Histogram("side", 1.0), "bump <= 0.5", pilot=coins, bisection=(0.05, 20), seed=1)
    exact = math.exp(math.sqrt(math.log(2)))
    (first, second) = searched.intervals
    assert first[1] == pytest.approx(1 / exact, rel=0.08) and second[0] == pytest.approx(exact, rel=0.08)


def test_chance_alone_is_not_called_a_shape(coins, artificial):
    """Level 1 - 1e-6 for 8 points of 10 runs: a flat curve is called monotone."""
    found = calibrate(Histogram("side", 1.0), "normal <= 5", pilot=coins, level=1 - ALPHA, seed=2)
    assert found.monotone and found.chosen == found.points[0].value
    assert "values below it may do as well" in found.statement()


def test_the_intervals_of_all_points_hold_together(coins):
    """400 curves of 8 normal points with 5 runs: all intervals hold in at least 95 %, at alpha 1e-6."""
    rng, points, runs, curves = np.random.default_rng(11), 8, 5, 400
    request = CalibrationRequest(Histogram("side", 1.0), Target.parse("tvd_1_bins <= 0.5"), coins, level=0.95, seed=0)
    curve = Curve(request, runs, points)

    def held(together: int) -> int:
        curve.most = together
        draws = rng.normal(0.5, 0.2, (curves, points, runs))
        summaries = [[curve._summary(1.0, values) for values in one] for one in draws]
        return sum(all(p.low <= 0.5 <= p.high for p in one) for one in summaries)

    least = stats.binom.ppf(ALPHA, curves, 0.95)
    assert held(points) >= least
    assert held(1) < least, "a mutant with one interval at a time must be caught"
    assert student_quantile(0.95, 10) == pytest.approx(2.262157, abs=1e-6)


def test_a_target_out_of_reach_says_the_best(coins):
    found = calibrate(Histogram("side", 1.0), "tvd_1_bins <= 1e-9", coins, grid=[0.1, 1.0], seed=1)
    assert found.chosen is None and not found.feasible and found.intervals == ()
    assert found.best.value == 1.0
    assert "was not reached by any of 2 values of epsilon from 0.1 to 1. The best is epsilon = 1 with" in (
        found.statement()
    )


def test_a_seed_repeats_and_json_holds_everything(coins):
    first, again = (
        calibrate(Histogram("side", 1.0), "tvd_1_bins <= 1e-4", pilot=coins, grid=[0.1, 1.0], seed=9) for _ in range(2)
    )
    other = calibrate(Histogram("side", 1.0), "tvd_1_bins <= 1e-4", pilot=coins, grid=[0.1, 1.0], seed=10)
    alone = calibrate(Histogram("side", 1.0), "tvd_1_bins <= 1e-4", pilot=coins, grid=[1.0], seed=9)
    assert first == again and first.points != other.points
    assert alone.points[0].mean == first.points[1].mean, "a value has its runs whatever else is tried"
    body = json.loads(first.model_dump_json())
    assert "release" not in body and Calibration.model_validate(body) == first


def test_the_words_say_whether_private_rows_were_used(coins):
    pilot = calibrate(Histogram("side", 1.0), "tvd_1_bins <= 0.1", pilot=coins, grid=[1.0], seed=1)
    declared = calibrate(Histogram("side", 1.0), "tvd_1_bins <= 0.1", coins, grid=[1.0], seed=1)
    assert (pilot.cost, pilot.private_data_used) == ("pilot", False)
    assert (declared.cost, declared.private_data_used) == ("declared", True)
    assert "was not looked at" in pilot.assumption
    assert "this choice was not charged" in declared.assumption and declared.charge is None
    assert "for the custodian" in declared.statement() and "for the custodian" not in pilot.statement()


def test_a_declared_choice_stands_in_the_guarantee_of_a_bundle(coins, tmp_path):
    from sfumato.bundle.verify import verify_bundle

    found = calibrate(Histogram("side", 1.0), "tvd_1_bins <= 0.1", coins, grid=[1.0])
    made = found.declare(sfumato.release(coins, Histogram("side", found.chosen)))
    assert "It rests on this: epsilon was chosen by looking at the private table 'coins'" in made.guarantee.statement()
    result = verify_bundle(made.save(tmp_path / "bundle"))
    assert result.ok, result.problems


def test_another_parameter_can_be_looked_for(coins, artificial, monkeypatch):
    monkeypatch.setitem(
        CATALOGUE, "delta", Metric("delta", "delta", kind="risk", function=lambda trial: 1e6 * trial.method.delta)
    )
    found = calibrate(
        Histogram("side", 1.0, delta=1e-6, noise="gaussian"),
        "delta <= 5",
        pilot=coins,
        parameter="delta",
        grid=[1e-6, 4e-6, 6e-6],
        repeats=2,
    )
    assert found.chosen == 4e-6 and found.parameter == "delta"


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("nonsense <= 1", "there is no metric 'nonsense'"),
        ("tvd_1_bins == 0.1", "compares by '=='"),
        ("tvd_1_bins < 0.1", "use <= or >="),
        ("tvd_1_bins", "is not a target"),
        ("tvd_1_bins <= many", "not a finite number"),
        ("tvd_1_bins <= nan", "not a finite number"),
    ],
)
def test_bad_targets_are_named(target, words):
    with pytest.raises(PlanError, match=words) as caught:
        Target.parse(target)
    assert caught.value.next_step
    if "no metric" in words:
        assert all(name in caught.value.next_step for name in ("tvd_2_bins", "membership_auc", "transfer_ari"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"grid": [0.1], "bisection": True}, "not both"),
        ({"grid": [0.1, -1]}, "-1 is not a finite number of at least 0"),
        ({"grid": []}, "the grid is empty"),
        ({"bisection": (3, 1)}, "the smaller first"),
        ({"repeats": 1}, "one draw is not a curve"),
        ({"level": 1.0}, "level must lie"),
        ({"cost": "declared"}, "a pilot costs nothing"),
        ({"cost": "free"}, "unknown cost"),
        ({"ledger": "nowhere.db"}, "nothing to record"),
        ({"parameter": "delta"}, "must be given"),
        ({"parameter": "colour", "grid": [1.0]}, "has no parameter 'colour'"),
        ({"options": {"clusters": 3}}, "unknown option 'clusters'"),
        ({"prefer": "middle"}, "prefer must be"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_bad_questions_are_refused_with_reasons(coins, change, words):
    arguments = {"pilot": coins, "grid": None, **change}
    with pytest.raises(PlanError, match=words):
        calibrate(Histogram("side", 1.0), "tvd_1_bins <= 0.1", **arguments)


def test_what_a_method_does_not_release_cannot_be_measured(coins, people):
    with pytest.raises(PlanError, match="give one table"):
        calibrate(Histogram("side", 1.0), "tvd_1_bins <= 0.1")
    with pytest.raises(PlanError, match="releases no table of 2 columns"):
        calibrate(Histogram("side", 1.0), "tvd_2_bins <= 0.1", pilot=coins, grid=[1.0])
    with pytest.raises(PlanError, match="histogram releases counts, transfer_ari needs rows, clusters=") as caught:
        calibrate(Histogram("side", 1.0), "transfer_ari >= 0.5", pilot=coins)
    assert "option 'clusters' is missing" in str(caught.value)
    with pytest.raises((PlanError, SchemaError), match="no column 'wrong'"):
        calibrate(Histogram("wrong", 1.0), "tvd_1_bins <= 0.1", pilot=coins)
