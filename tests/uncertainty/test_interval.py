"""Expected errors and intervals, against the formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t

from sfumato.evaluate.uncertainty.interval import ALONE, RELATED, rerun_interval, restored_interval, within
from sfumato.metrics.expected_errors import attenuated

RERUNS = [9.0, 12.0, 10.5, 13.0, 11.0]


def test_error_joins_shift_and_scatter_of_the_reruns():
    moved = np.array(RERUNS) - 10.0
    error = math.sqrt(moved.mean() ** 2 + moved.var(ddof=1))
    found = rerun_interval("mean", 10.0, RERUNS, 0.95)
    assert found.error == pytest.approx(error)
    reach = ALONE * t.ppf(0.975, 4) * error
    assert (found.low, found.high) == pytest.approx((10 - reach, 10 + reach))


def test_a_relation_gets_the_wider_interval():
    one, two = rerun_interval("mean", 10.0, RERUNS, 0.9), rerun_interval("group mean", 10.0, RERUNS, 0.9)
    assert two.error == one.error
    assert (two.high - 10) / (one.high - 10) == pytest.approx(RELATED / ALONE)


def test_chance_of_the_sample_is_added_and_a_known_error_is_the_least():
    drawn = [8.0, 12.0, 10.0, 14.0]
    plain, population = rerun_interval("mean", 10.0, RERUNS, 0.95), rerun_interval("mean", 10.0, RERUNS, 0.95, drawn)
    assert population.error**2 - plain.error**2 == pytest.approx(np.var(drawn, ddof=1))
    assert rerun_interval("share", 0.2, [0.2, 0.2, 0.2], 0.95).error == 0
    assert rerun_interval("share", 0.2, [0.2, 0.2, 0.2], 0.95, (), 0.05).error == pytest.approx(0.05)


def test_spreads_correlations_and_shares_keep_to_what_is_possible():
    spread = rerun_interval("sd", 1.0, [0.2, 3.0, 0.4, 5.0], 0.95)
    assert 0 < spread.low < 1 < spread.high < math.inf
    assert spread.low * spread.high == pytest.approx(1.0)  # alike on both sides of the logarithm
    strong = rerun_interval("correlation", 0.95, [0.9, 0.99, 0.93, 0.97], 0.95)
    assert -1 <= strong.low < 0.95 < strong.high <= 1
    rare = rerun_interval("share", 0.01, [0.03, 0.0, 0.02, 0.05], 0.95)
    assert rare.low == 0
    assert within(rerun_interval("mean", 1.0, [9.0, -9.0, 4.0], 0.95), 0.0, 5.0)[1:] == (0.0, 5.0)


def test_a_spread_of_nothing_and_numbers_that_nobody_knows():
    assert rerun_interval("sd", 0.0, [0.0, 0.0, 0.0], 0.95) == (0.0, 0.0, 0.0)
    assert all(math.isnan(each) for each in rerun_interval("mean", math.nan, RERUNS, 0.95))
    assert all(math.isnan(each) for each in rerun_interval("mean", 1.0, [math.nan, math.nan, 1.0], 0.95))
    assert rerun_interval("mean", 10.0, [math.nan, *RERUNS], 0.95) == rerun_interval("mean", 10.0, RERUNS, 0.95)


def test_a_correlation_gets_back_what_the_release_may_have_taken():
    reruns = [0.2, 0.1, 0.15, 0.25]
    plain = rerun_interval("correlation", 0.2, reruns, 0.95)
    clear, dim = (rerun_interval("correlation", 0.2, reruns, 0.95, smallest=each) for each in (0.01, 0.4))
    assert plain.error == clear.error == dim.error
    assert clear.high < plain.high  # the smaller factor does
    assert attenuated(dim.high, 0.4) == pytest.approx(
        attenuated(clear.high, 0.01)
    )  # the same end, seen through more noise
    assert rerun_interval("correlation", 0.2, reruns, 0.95, smallest=1.0)[1:] == (-1.0, 1.0)
    assert rerun_interval("mean", 0.2, reruns, 0.95, smallest=0.4) == rerun_interval("mean", 0.2, reruns, 0.95)


def test_the_nearer_end_of_a_correlation_stays_on_either_side():
    above, below = restored_interval(0.3, 0.6, 0.2), restored_interval(-0.6, -0.3, 0.2)
    assert above[0] == 0.3 and above[1] > 0.6
    assert below == pytest.approx((-above[1], -above[0]))
