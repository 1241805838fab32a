"""The law of the noise, and whether the intervals hold what they should: against closed forms and by simulation."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from quality.small import facts
from sfumato.evaluate.quality.noisy_metrics import NoisyCounts, _distance, _share  # pyright: ignore[reportPrivateUsage]
from sfumato.evaluate.quality.questions import Questions
from sfumato.metrics.bounded_scores import GRAIN
from sfumato.metrics.noisy_ratio import LinearTest, NoiseTerm, laplace_sum_tail, ratio_interval
from sfumato.privacy.noise import add_laplace_scale
from sfumato.privacy.randomness import Randomness
from statistical.laws import ALPHA

DRAWS = 250
LEAST = 0.95


@pytest.mark.parametrize("t", [0.5, 3.0, 6.0, 12.0])
def test_the_tail_is_that_of_the_sum(t: float):
    assert laplace_sum_tail(t, [1.0]) == pytest.approx(math.exp(-t), abs=2e-5)
    assert laplace_sum_tail(3 * t, [3.0, 3.0]) == pytest.approx(math.exp(-t) * (1 + t / 2), abs=1e-6)
    one, other = 1.0, 0.25  # squares of the scales: partial fractions of the characteristic function
    mixed = (one * math.exp(-t) - other * math.exp(-t / 0.5)) / (one - other)
    assert laplace_sum_tail(t, [1.0, 0.5]) == pytest.approx(mixed, abs=1e-5)


def test_no_noise_is_no_doubt():
    assert (
        laplace_sum_tail(0.0, [1.0]) == 1.0
        and laplace_sum_tail(1.0, [0.0]) == 0.0
        and laplace_sum_tail(500.0, [1.0, 1.0]) == 0.0
    )


def test_an_interval_ends_where_the_test_rejects():
    test = LinearTest(100.0, -1000.0, (NoiseTerm(10.0, 1.0, 0.0, 0.0),))
    best, low, high = ratio_interval(test, 0.05)
    half = 10 * math.log(20) / 1000
    assert (best, low, high) == pytest.approx((0.1, 0.1 - half, 0.1 + half), abs=1e-5)
    unknown = LinearTest(5.0, 3.0, (NoiseTerm(10.0, 1.0, 0.0, 0.0), NoiseTerm(100.0, 0.0, -1.0, 1.0)))
    assert ratio_interval(unknown, 0.05)[1:] == (0.0, 1.0), "a noisy number of rows below 0 says nothing"


def held(scale_factor: float, adjacency: str = "add-remove") -> tuple[int, np.ndarray]:
    """Draw the noise of a statement DRAWS times: how often all four shares are held, and how often each is missed."""
    schema = facts(adjacency, None if adjacency == "add-remove" else 3000)
    asked = Questions(schema, schema["sex"], Fraction(1, 10))
    u1, u2, cells = 120, 400, [1500, 700, 300, 500]
    truth = (u1 / 3000, u2 / 3000, 2200 / 3000, 1800 / 3000)
    misplaced, answers = asked.parts
    seeds = Randomness(7)
    pairs = add_laplace_scale(np.tile([GRAIN * (u1 + u2), GRAIN * (u1 - u2)], DRAWS), misplaced.scale, seeds)
    sums = add_laplace_scale(np.tile(cells, DRAWS), answers.scale, seeds)
    missed = np.zeros((DRAWS, 4), bool)
    for i in range(DRAWS):
        reading = NoisyCounts(asked, [pairs[2 * i : 2 * i + 2].tolist(), sums[4 * i : 4 * i + 4].tolist()])
        rows = reading.rows()
        tests = (
            _distance(reading.misplaced(1), rows),
            _distance(reading.misplaced(-1), rows),
            _share(reading.answers((0, 1)), reading.answers((2, 3))),
            _share(reading.answers((0, 2)), reading.answers((1, 3))),
        )
        for j, test in enumerate(tests):
            stated = LinearTest(
                test.at_zero, test.slope, tuple(t._replace(scale=t.scale * scale_factor) for t in test.terms)
            )
            missed[i, j] = stated.chance(truth[j]) < (1 - LEAST) / 4
    return int((~missed.any(axis=1)).sum()), missed.sum(axis=0)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_intervals_hold_together(adjacency: str):
    """n = 250 statements; refused where 95 % is impossible at alpha 1e-6, or 1.25 % of misses is for one of them."""
    together, missed = held(1.0, adjacency)
    assert together >= stats.binom.ppf(ALPHA, DRAWS, LEAST)
    assert (missed <= stats.binom.isf(ALPHA, DRAWS, 0.0125)).all()
    assert missed.sum() >= 2, "they are not wider than they need be: 12 of 1,000 are expected to miss"


def test_intervals_for_too_small_a_noise_are_caught():
    """The mutant states half the scale."""
    together, _ = held(0.5)
    assert together < stats.binom.ppf(ALPHA, DRAWS, LEAST)
