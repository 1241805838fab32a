"""Composition of many records, and the smallest k that a total budget allows.

Each record is (epsilon, delta)-DP by the theorem in :mod:`sfumato.mechanisms.plausible_deniability.privacy_test`.
The worst
mechanism with that guarantee is randomised response, so composing its privacy loss N times (dp-accounting) is the
optimal composition of Kairouz, Oh and Viswanath; the grid of the loss is chosen so that epsilon lies on it, and
nothing is rounded. Everything here is computed from public parameters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from sfumato.errors import PlanError
from sfumato.mechanisms.plausible_deniability.privacy_test import (
    LEAST_NOISE,
    MOST_NOISE,
    MOST_SEEDS,
    NEXT,
    ROUNDING,
    PrivacyTest,
    parameter_problems,
)
from sfumato.privacy.accounting.privacy_loss import repeated
from sfumato.privacy.exact import Number, round_down, round_up, to_fraction, to_positive_fraction

DELTA_SHARES = (0.5, 0.2, 0.1, 0.03, 0.01)
"""Shares of the total delta that the tests' own deltas may take; the rest buys a smaller total epsilon."""
SPLITS = 400
"""Points at which the split of a record's epsilon between noise and cells is tried."""
HALVINGS = 50
BACK = 1e-9
"""Share by which the search first steps back where the composition that is promised says that it went too far."""
PLAIN_SUM = 50.0
"""Above this epsilon of one record the optimum is the plain sum but for what machine numbers cannot show."""
LARGEST_EXPONENT = 700.0
"""What exp can still take."""
MODEL_DELTA = Fraction(1, 2)
"""Share of delta that pays for the model's parameters."""


@lru_cache(maxsize=512)
def composed_epsilon(epsilon: float, delta: float, records: int, total_delta: float) -> float:
    """Return the optimal total epsilon at ``total_delta`` of many records; infinite where none holds.

    >>> round(composed_epsilon(0.2, 1e-9, 100, 1e-5), 3)
    9.754
    """
    from dp_accounting.pld import common, privacy_loss_distribution

    if epsilon > PLAIN_SUM:
        return records * epsilon if records * delta <= total_delta else math.inf
    one = privacy_loss_distribution.from_privacy_parameters(
        common.DifferentialPrivacyParameters(epsilon, delta), value_discretization_interval=epsilon
    )
    return float(repeated(one, records).get_epsilon_for_delta(total_delta))


def composed_delta(epsilon: float, delta: float, records: int, total_epsilon: float) -> float:
    """Return the optimal total delta at ``total_epsilon`` of many records, from the binomial law of their losses.

    The same number as that of :func:`composed_epsilon` from the other side, in one pass over the possible losses: quick
    enough to search with, while what is promised stays with the composition that rounds upwards.

    >>> round(composed_delta(0.2, 1e-9, 100, composed_epsilon(0.2, 1e-9, 100, 1e-5)) * 1e5, 6)
    1.0
    """
    from scipy.stats import binom

    towards = np.arange(records + 1)
    losses = (2 * towards - records) * epsilon
    above = losses > total_epsilon
    likely = np.exp(binom.logpmf(towards[above], records, 1 / (1 + math.exp(-epsilon))))
    kept = records * math.log1p(-delta)
    return float(-math.expm1(kept) + math.exp(kept) * np.sum(likely * -np.expm1(total_epsilon - losses[above])))


def record_epsilon(total_epsilon: float, total_delta: float, delta: float, records: int) -> float:
    """Return the largest epsilon per record whose composition stays within the total."""
    low, high = total_epsilon / (2 * records), total_epsilon
    if composed_epsilon(low, delta, records, total_delta) > total_epsilon:
        return 0.0
    least = low
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        fits = composed_delta(middle, delta, records, total_epsilon) <= total_delta
        low, high = (middle, high) if fits else (low, middle)
    back = BACK
    while low > least and composed_epsilon(low, delta, records, total_delta) > total_epsilon:
        low, back = max(low * (1 - back), least), 2 * back
    return low


@lru_cache(maxsize=128)
def cheapest_test(total_epsilon: float, total_delta: float, records: int, gamma: float) -> PrivacyTest:
    """Return the test with the smallest k at which ``records`` records cost at most the total.

    A smaller k lets more candidates pass, so it is what utility asks for.

    >>> cheapest_test(8.0, 1e-5, 100, 2.0).k
    183
    """
    candidates = [
        _cheapest(total_epsilon, total_delta, share * total_delta / records, records, gamma) for share in DELTA_SHARES
    ]
    tests = [test for test in candidates if test is not None]
    if not tests:
        raise PlanError(
            f"epsilon {total_epsilon:g} and delta {total_delta:g} cannot pay for {records:,} records",
            next_step="ask for fewer rows, or allow a larger epsilon",
        )
    return min(tests, key=lambda test: test.k)


def _cheapest(total_epsilon: float, total_delta: float, delta: float, records: int, gamma: float) -> PrivacyTest | None:
    """Split a record's epsilon between the noise and the cells where k is smallest."""
    epsilon = record_epsilon(total_epsilon, total_delta, delta, records)
    best: PrivacyTest | None = None
    for i in range(1, SPLITS):
        noise = min(epsilon * i / SPLITS, MOST_NOISE)
        if noise < LEAST_NOISE or not noise < epsilon:
            continue
        growth = math.expm1(min(epsilon - noise, LARGEST_EXPONENT))
        t = max(math.ceil(gamma * (1 + 2 * ROUNDING) / growth), 1)
        k = max(math.ceil(t + math.log(1 / delta) / noise), t + 1)
        if k <= MOST_SEEDS and (best is None or k < best.k):
            best = PrivacyTest(k, gamma, noise, t)
    return best


@dataclass(frozen=True)
class RecordBudget:
    """Exact costs of the two parts of a release, and the test that the second one pays for."""

    model_epsilon: Fraction
    model_delta: Fraction
    epsilon: Fraction
    delta: Fraction
    test: PrivacyTest


def total_budget(epsilon: Number, delta: Number, gamma: float, share: Fraction, records: int) -> RecordBudget:
    """Divide a total (epsilon, delta): the smallest k that the records' part allows."""
    whole, slip = to_fraction(epsilon), to_fraction(delta)
    model_delta = slip * MODEL_DELTA if share else Fraction(0)
    rest, rest_delta = whole * (1 - share), slip - model_delta
    test = cheapest_test(round_down(rest), round_down(rest_delta), records, gamma)
    return RecordBudget(whole * share, model_delta, rest, rest_delta, test)


def budget_from_parameters(test: PrivacyTest, model_epsilon: Fraction, records: int) -> RecordBudget:
    """Add up what stated parameters of the test cost for a number of records.

    The total delta is twice the sum of the tests' own; the other half lets epsilon compose below the plain sum.
    """
    delta = to_fraction(min(test.delta, 1.0)) * records
    if 3 * delta >= 1:
        raise PlanError(
            f"{records:,} records with delta {test.delta:.3g} each leave no guarantee",
            [f"k - t = {test.k - test.t} at epsilon0 = {test.epsilon0:g} is too small"],
            "raise k, lower t, or ask for fewer rows",
        )
    together = min(composed_epsilon(test.epsilon, test.delta, records, round_down(2 * delta)), records * test.epsilon)
    model_delta = delta if model_epsilon else Fraction(0)
    return RecordBudget(model_epsilon, model_delta, to_fraction(round_up(to_fraction(together))), 2 * delta, test)


def privacy_test_from_parameters(
    k: Number, gamma: Number, epsilon0: Number, delta: Number, t: Number | None
) -> PrivacyTest:
    """Return the test of stated parameters; with ``t`` left out, the best t at ``delta`` per record."""
    whole = to_fraction(k, "k")
    problems = parameter_problems(
        float(whole), float(to_fraction(gamma, "gamma")), float(to_fraction(epsilon0, "epsilon0"))
    )
    if t is not None and not 1 <= to_fraction(t, "t") < max(whole, 2):
        problems.append(f"t must be at least 1 and below k = {whole} (at t = k delta is 1), found {t}")
    if problems:
        raise PlanError("these parameters of the privacy test give no guarantee", problems, NEXT)
    if t is not None:
        return PrivacyTest(
            int(whole), float(to_fraction(gamma)), float(to_fraction(epsilon0)), int(to_fraction(t, "t"))
        )
    return PrivacyTest.best(
        int(whole), float(to_fraction(gamma)), float(to_fraction(epsilon0)), float(to_positive_fraction(delta, "delta"))
    )
