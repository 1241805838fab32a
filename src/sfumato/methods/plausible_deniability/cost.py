"""What N records cost together, and the smallest k that a total budget allows.

Each record is (epsilon, delta)-DP by the theorem in :mod:`sfumato.methods.plausible_deniability.law`. The worst
mechanism with that guarantee is randomised response, so composing its privacy loss N times (dp-accounting) is the
optimal composition of Kairouz, Oh and Viswanath; the grid of the loss is chosen so that epsilon lies on it, and
nothing is rounded. Everything here is computed from public parameters.
"""

from __future__ import annotations

import math
from functools import lru_cache

from sfumato.errors import PlanError
from sfumato.methods.plausible_deniability.law import LEAST_NOISE, MOST_NOISE, MOST_SEEDS, ROUNDING, PrivacyTest
from sfumato.privacy.accounting.event_kinds import repeated

DELTA_SHARES = (0.5, 0.2, 0.1, 0.03, 0.01)
"""Shares of the total delta that the tests' own deltas may take; the rest buys a smaller total epsilon."""
SPLITS = 400
"""Points at which the split of a record's epsilon between noise and cells is tried."""
HALVINGS = 50
PLAIN_SUM = 50.0
"""Above this epsilon of one record the optimum is the plain sum but for what machine numbers cannot show."""
LARGEST_EXPONENT = 700.0
"""What exp can still take."""


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


def record_epsilon(total_epsilon: float, total_delta: float, delta: float, records: int) -> float:
    """Return the largest epsilon per record whose composition stays within the total."""
    low, high = total_epsilon / (2 * records), total_epsilon
    if composed_epsilon(low, delta, records, total_delta) > total_epsilon:
        return 0.0
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        fits = composed_epsilon(middle, delta, records, total_delta) <= total_epsilon
        low, high = (middle, high) if fits else (low, middle)
    return low


@lru_cache(maxsize=128)
def smallest_test(total_epsilon: float, total_delta: float, records: int, gamma: float) -> PrivacyTest:
    """Return the test with the smallest k at which ``records`` records cost at most the total.

    A smaller k lets more candidates pass, so it is what utility asks for.

    >>> smallest_test(8.0, 1e-5, 100, 2.0).k
    183
    """
    found = [
        _cheapest(total_epsilon, total_delta, share * total_delta / records, records, gamma) for share in DELTA_SHARES
    ]
    tests = [test for test in found if test is not None]
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
