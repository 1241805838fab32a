"""Test whether your own mechanism keeps the epsilon or mu it claims.

Write a test that runs a mechanism on two neighbouring inputs and says what it claims:

>>> import numpy as np
>>> from sfumato.testing import audit_mechanism
>>> draw = np.random.default_rng(1)
>>> found = audit_mechanism(lambda count: count + draw.laplace(scale=1.0), 10, 11, epsilon=1.0)
>>> found.refuted
False

A mechanism that promises more than it keeps makes the test fail with a sentence:

>>> audit_mechanism(lambda count: count + draw.laplace(scale=0.1), 10, 11, epsilon=1.0)
Traceback (most recent call last):
AssertionError: the mechanism claims epsilon 1 at delta 0, and gives away at least ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sfumato.argument_errors import checked_arguments
from sfumato.errors import RiskError
from sfumato.formatting import percent
from sfumato.privacy.exact import at_least
from sfumato.risk.auditing.audit import Audit, check_runs
from sfumato.risk.auditing.lower_bounds import Claim, choose_bound_methods
from sfumato.risk.auditing.runs import PairedRuns, WorldRuns

__all__ = ["audit_mechanism"]


@checked_arguments
def audit_mechanism(
    mechanism: Callable[[Any], Any],
    one: Any,
    other: Any,
    epsilon: float | None = None,
    delta: float = 0.0,
    mu: float | None = None,
    score: Callable[[Any], Any] | None = None,
    runs: int = 2000,
    confidence: float = 1 - 1e-6,
) -> Audit:
    """Run a mechanism on two neighbouring inputs; raise AssertionError where it certainly breaks its claim.

    ``mechanism`` takes an input and returns a number, an array, or what ``score`` makes numbers of. It claims
    (``epsilon``, ``delta``)-DP, or ``mu``-Gaussian DP. Thresholds on each number, and on a score that is learnt from
    them, are tried on one half of the runs; the best of them is judged on the other half, by the bounds of Clopper and
    Pearson. A sound mechanism fails with probability of at most 1 - ``confidence``: one in a million by default. A
    mechanism that passes is not proved: it has withstood these attacks on these inputs.
    """
    check_runs(runs, confidence)
    claim = _claim(epsilon, delta, mu)
    first, last = _runs(mechanism, one, other, score, runs).halves()
    ways, alpha = choose_bound_methods(first, claim, 0.2, lawful=False), (1 - confidence) / 2
    audit = Audit(
        method=getattr(mechanism, "__name__", type(mechanism).__name__),
        epsilon_low=ways.epsilon.bound(last, alpha),
        epsilon_claimed=claim.epsilon,
        mu_low=ways.mu.bound(last, alpha),
        mu_claimed=claim.mu,
        delta=claim.delta,
        confidence=confidence,
        runs=runs,
        case="the two inputs that were given",
        score=ways.mu.name,
        epsilon_score=ways.epsilon.name,
        attack_mu_low=ways.attack_mu.bound(last, alpha),
        attack_score=ways.attack_mu.name,
    )
    if audit.refuted:
        raise AssertionError(_sentence(audit, mu))
    return audit


def _claim(epsilon: float | None, delta: float, mu: float | None) -> Claim:
    if (epsilon is None) == (mu is None):
        raise RiskError("what does the mechanism claim?", next_step="give epsilon= (and delta=), or mu=")
    if mu is not None:
        return Claim.of_mu(mu, delta or 1e-5)
    return Claim.of_pair(float(epsilon or 0.0), delta)


def _runs(mechanism: Callable[[Any], Any], one: Any, other: Any, score: Any, runs: int) -> PairedRuns:
    worlds = [[_numbers(mechanism(world), score) for _ in range(runs)] for world in (one, other)]
    lengths = {len(numbers) for world in worlds for numbers in world}
    if len(lengths) > 1:
        raise RiskError(
            f"the mechanism returned {min(lengths)} to {max(lengths)} numbers",
            next_step="give score=, a function that makes equally many numbers of every answer",
        )
    none = np.zeros(runs)
    within, without = (WorldRuns(none, none, False, np.array(world)) for world in worlds)
    return PairedRuns(within, without)


def _numbers(answer: Any, score: Callable[[Any], Any] | None) -> Any:
    score_value = answer if score is None else score(answer)
    try:
        return np.nan_to_num(np.atleast_1d(np.asarray(score_value, float)).ravel())
    except (TypeError, ValueError) as error:
        raise RiskError(
            f"the mechanism returned {type(score_value).__name__}, of which no numbers can be made",
            next_step="give score=, a function that makes numbers of an answer",
        ) from error


def _sentence(audit: Audit, mu: float | None) -> str:
    shown = f"epsilon {at_least(audit.epsilon_low, 3)}, mu {at_least(audit.mu_low, 3)}"
    claimed = f"mu {mu:.3g}" if mu is not None else f"epsilon {audit.epsilon_claimed:.3g} at delta {audit.delta:.3g}"
    return (
        f"the mechanism claims {claimed}, and gives away at least {shown}: seen in {audit.runs:,} runs on each of two "
        f"inputs, by {audit.score}, {percent(audit.confidence, 6)} sure"
    )
