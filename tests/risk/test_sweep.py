"""A sweep: the same attacks as one by one, yardsticks that are exact, and alarms that many points do not raise."""

from __future__ import annotations

from dataclasses import replace

import pytest

import sfumato
from sfumato.errors import RiskError
from sfumato.example import codebook, households
from sfumato.mechanisms.counts.histogram import Histogram
from sfumato.mechanisms.mean_curve import MeanCurve
from sfumato.privacy.noise_distributions import Geometric
from sfumato.risk.attacks import LikelihoodRatio, dp_ceiling, optimal_accuracy
from sfumato.risk.simulated.epsilon_sweep import MOST_RESULTS, epsilon_sweep


@pytest.fixture(scope="module")
def table() -> sfumato.Table:
    return sfumato.read(households(rows=120), codebook())


def test_each_point_is_what_the_attack_alone_says(table):
    found = epsilon_sweep(table, Histogram("sex", epsilon=9), [2, 0.5, 2], trials=100, seed=3)
    assert [point.epsilon for point in found.points] == [0.5, 2.0] and len(found.attacks) == 4
    for epsilon, result in found.of("Membership, likelihood ratio"):
        alone = LikelihoodRatio().run(table, Histogram("sex", epsilon=epsilon), trials=100, seed=3)
        assert result.rate == alone.rate and result.ceiling == pytest.approx(dp_ceiling(epsilon))
        assert result.optimal == pytest.approx(optimal_accuracy(Geometric(epsilon)), abs=1e-9)
        assert result.interval.low < alone.interval.low and result.interval.high > alone.interval.high
        assert 1 - result.interval.level == pytest.approx(0.05 / (2 * MOST_RESULTS))
    assert "guessing 50.0 %" in found.statement() and "private rows" in found.notice


def test_what_does_not_fit_is_left_out_and_said(table):
    plain = replace(codebook(), columns=tuple(replace(c, role=None) for c in codebook().columns))
    blind = epsilon_sweep(sfumato.read(households(rows=60), plain), Histogram("sex", epsilon=1), [1], trials=20, seed=1)
    assert "Inference is left out" in blind.left_out[0] and "--sensitive" in blind.left_out[0]
    shown = epsilon_sweep(
        table, Histogram("sex", epsilon=1), [1], known=["age"], sensitive="insured", trials=20, seed=1
    )
    assert "no released table shows 'insured'" in shown.left_out[0]
    curve = MeanCurve(columns=["age"], epsilon=1, rho=0.1, clip=100)
    numbers = epsilon_sweep(table, curve, [1], known=["age"], sensitive="insured", trials=20, seed=1)
    assert "releases numbers" in numbers.left_out[0] and len(numbers.attacks) == 2


def test_wrong_questions_are_refused_at_once(table):
    with pytest.raises(RiskError) as caught:
        epsilon_sweep(table, Histogram("sex", epsilon=1), [0, "x", -1])
    assert len(caught.value.problems) == 3
    with pytest.raises(RiskError, match="no epsilons"):
        epsilon_sweep(table, Histogram("sex", epsilon=1), [])
    with pytest.raises(RiskError, match="columns of the attack"):
        epsilon_sweep(table, Histogram("sex", epsilon=1), [1], known=["agee"], sensitive="insured")
    with pytest.raises(RiskError, match="level"):
        epsilon_sweep(table, Histogram("sex", epsilon=1), [1], level=1)
