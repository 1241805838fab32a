"""How a plausible-deniability release divides its budget: a share for the model, the rest for the records."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfumato.errors import PlanError
from sfumato.methods.plausible_deniability.cost import composed_epsilon, smallest_test
from sfumato.methods.plausible_deniability.law import NEXT, PrivacyTest, parameter_problems
from sfumato.privacy.exact import Number, exact, positive, round_down, round_up

MODEL_DELTA = Fraction(1, 2)
"""Share of delta that pays for the model's parameters."""


@dataclass(frozen=True)
class Budget:
    """Exact costs of the two parts of a release, and the test that the second one pays for."""

    model_epsilon: Fraction
    model_delta: Fraction
    epsilon: Fraction
    delta: Fraction
    test: PrivacyTest


def total_budget(epsilon: Number, delta: Number, gamma: float, share: Fraction, records: int) -> Budget:
    """Divide a total (epsilon, delta): the smallest k that the records' part allows."""
    whole, slip = exact(epsilon), exact(delta)
    model_delta = slip * MODEL_DELTA if share else Fraction(0)
    rest, rest_delta = whole * (1 - share), slip - model_delta
    test = smallest_test(round_down(rest), round_down(rest_delta), records, gamma)
    return Budget(whole * share, model_delta, rest, rest_delta, test)


def stated_budget(test: PrivacyTest, model_epsilon: Fraction, records: int) -> Budget:
    """Add up what stated parameters of the test cost for a number of records.

    The total delta is twice the sum of the tests' own; the other half lets epsilon compose below the plain sum.
    """
    delta = exact(min(test.delta, 1.0)) * records
    if 3 * delta >= 1:
        raise PlanError(
            f"{records:,} records with delta {test.delta:.3g} each leave no guarantee",
            [f"k - t = {test.k - test.t} at epsilon0 = {test.epsilon0:g} is too small"],
            "raise k, lower t, or ask for fewer rows",
        )
    together = min(composed_epsilon(test.epsilon, test.delta, records, round_down(2 * delta)), records * test.epsilon)
    model_delta = delta if model_epsilon else Fraction(0)
    return Budget(model_epsilon, model_delta, exact(round_up(exact(together))), 2 * delta, test)


def stated_test(k: Number, gamma: Number, epsilon0: Number, delta: Number, t: Number | None) -> PrivacyTest:
    """Return the test of stated parameters; with ``t`` left out, the best t at ``delta`` per record."""
    whole = exact(k, "k")
    problems = parameter_problems(float(whole), float(exact(gamma, "gamma")), float(exact(epsilon0, "epsilon0")))
    if t is not None and not 1 <= exact(t, "t") < max(whole, 2):
        problems.append(f"t must be at least 1 and below k = {whole} (at t = k delta is 1), found {t}")
    if problems:
        raise PlanError("these parameters of the privacy test give no guarantee", problems, NEXT)
    if t is not None:
        return PrivacyTest(int(whole), float(exact(gamma)), float(exact(epsilon0)), int(exact(t, "t")))
    return PrivacyTest.best(int(whole), float(exact(gamma)), float(exact(epsilon0)), float(positive(delta, "delta")))
