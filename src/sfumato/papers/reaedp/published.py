"""Mechanism F and the entropy bounds as printed, with counterexamples (no guarantee).

They exist to reproduce the paper and to teach. The mechanism with a proof is ``sfumato.PlausibleDeniability``: one
attempt, and a public prior that answers in place of a failure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import PlanError, RiskError
from sfumato.mechanisms.plausible_deniability import hockey_stick_divergence, output_distribution
from sfumato.privacy.noise_distributions import Laplace
from sfumato.risk.simulated import CountWorlds

Law = NDArray[np.float64]
Seeds = Sequence[int] | NDArray[np.int64]


def visible_failure_law(seeds: Seeds, proposals: ArrayLike, *, k: int, gamma: float, epsilon0: float) -> Law:
    """Return the exact law of one attempt whose failure can be seen; its last entry is the failure. NO GUARANTEE.

    Theorem 4 is proved for sets of records only. A failure is an output too: an outlier that joins n equal records
    makes the test fail with probability up to 1/(n + 1) where it never failed before, whatever delta is stated. A
    missing row, a counted attempt or the time taken show the same.

    >>> visible_failure_law([0] * 3, [[1.0]], k=3, gamma=2, epsilon0=1).round(4).tolist()
    [0.7311, 0.2689]
    """
    return output_distribution(seeds, proposals, k=k, gamma=gamma, epsilon0=epsilon0)


def resampling_law(seeds: Seeds, proposals: ArrayLike, *, k: int, gamma: float, epsilon0: float) -> Law:
    """Return the exact law of F that tries again until a candidate passes, as printed in Algorithm 1. NO GUARANTEE.

    The loop conditions on passing: every probability, and with it delta, is divided by the pass rate, which depends
    on the private table and can be as small as one likes. Lemma 1 and Theorem 4 are about one attempt.

    >>> resampling_law(range(10), np.eye(11), k=10, gamma=2, epsilon0=1).round(4).tolist()[:2]
    [0.1, 0.1]
    """
    attempt = output_distribution(seeds, proposals, k=k, gamma=gamma, epsilon0=epsilon0)[:-1]
    passed = float(attempt.sum())
    if passed <= 0:
        raise PlanError("no candidate can ever pass: the loop never ends", next_step="lower k, or add seeds")
    return attempt / passed


def stated_guarantee(k: int, t: int, gamma: float, epsilon0: float) -> tuple[float, float]:
    """Return epsilon and delta as Theorem 4 states them."""
    return epsilon0 + math.log1p(gamma / t), math.exp(-epsilon0 * (k - t))


@dataclass(frozen=True)
class Counterexample:
    """Two neighbouring tables on which a published variant breaks its stated delta, computed exactly."""

    name: str
    tables: str
    variant: str
    epsilon: float
    stated_delta: float
    one_attempt_delta: float
    """Exact delta of one attempt on records alone: what Theorem 4 is about."""
    exact_delta: float
    """Exact smallest delta of the variant at the stated epsilon."""
    pass_rate: float
    """How often one attempt passes on the smaller table."""


def loop_counterexample() -> Counterexample:
    """Ten distinct records, each proposing itself: the loop always publishes a raw record (counterexample A)."""
    tables = "10 distinct records, each proposing itself; an 11th is added; k = 10, t = 5, gamma = 2, epsilon0 = 1"
    pair = (range(10), range(11))
    return _counterexample("A", tables, "resample until a candidate passes", resampling_law, pair, 11, k=10, t=5)


def failure_counterexample() -> Counterexample:
    """Fifty equal records and one outlier: a failure gives the outlier away (counterexample C)."""
    tables = "50 equal records; 1 outlier is added; k = 20, t = 10, gamma = 2, epsilon0 = 1"
    pair = ([0] * 50, [0] * 50 + [1])
    return _counterexample("C", tables, "one attempt, failure visible", visible_failure_law, pair, 2, k=20, t=10)


def _counterexample(
    name: str, tables: str, variant: str, law: Callable[..., Law], pair: Sequence[Seeds], cells: int, *, k: int, t: int
) -> Counterexample:
    """Measure two tables at gamma 2 and epsilon0 1, where each record proposes itself."""
    epsilon, stated = stated_guarantee(k, t, 2.0, 1.0)
    attempts, laws = (
        [each(seeds, np.eye(cells), k=k, gamma=2.0, epsilon0=1.0) for seeds in pair]
        for each in (visible_failure_law, law)
    )
    records = [attempt[:-1] for attempt in attempts]
    one, exact = (hockey_stick_divergence(*each, epsilon=epsilon) for each in (records, laws))
    return Counterexample(name, tables, variant, epsilon, stated, one, exact, float(records[0].sum()))


def published_pair(counts: ArrayLike, epsilon: float, donor: int, receiver: int) -> CountWorlds:
    """Return the pair of the REAEDP paper: one record less in one cell against one more in another.

    Its noise is continuous Laplace of scale 1 / epsilon. The two worlds are two records apart, so they are neighbours
    under neither adjacency, and the guarantee that covers them is twice epsilon.
    """
    base = np.asarray(counts).ravel()
    if base.dtype.kind not in "iu" or not 0 <= donor < len(base) or not 0 <= receiver < len(base) or base[donor] < 1:
        raise RiskError(
            f"the pair needs whole counts and two of their cells, the donor not empty; found {donor} and {receiver} of "
            f"{len(base)}",
            next_step="choose a donor with counts[donor] >= 1",
        )
    without, within = base.astype(np.int64), base.astype(np.int64)
    without[donor] -= 1
    within[receiver] += 1
    return CountWorlds.of(without, within, Laplace(epsilon), epsilon, records_apart=2)


def published_bound(n: int) -> float:
    """Return the Shannon bound as printed (REAEDP, equation 4): valid, but about twice the exact value."""
    return (2 + 1 / math.log(2) + 2 * math.log2(n)) / n


def published_renyi_bound(n: int, order: float) -> float:
    """Return the Renyi bound as printed (REAEDP, equations 15 to 17): false for orders below 1 and beyond a few cells.

    A diagnostic for comparison only; never calibrate noise with it.
    """
    if order == 1 or order < 0 or math.isnan(order):
        raise PlanError(
            f"the printed bound has no value at order {order!r}", next_step="use sensitivity(n, cells, order)"
        )
    constant = 2 / math.log(2) if math.isinf(order) else 2 * order / (abs(1 - order) * math.log(2))
    return constant / n
