"""Planning from public facts: the three risks, by the functions they stand for; the choice; refusals."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import RiskError
from sfumato.risk.homogeneity import (
    Geometric,
    Mechanism,
    NegativeBinomial,
    Poisson,
    PublicFacts,
    expected,
    overall,
    planned,
    shrinkage,
)
from sfumato.risk.homogeneity.uniqueness import reidentification_for

CASES = {
    "expected, one size": (PublicFacts(4, p=[0.7, 0.3]), lambda n, v: expected(4, [0.7, 0.3], n, v)),
    "expected, sizes": (PublicFacts(Poisson(2.0), p=[0.7, 0.3]), lambda n, v: expected(Poisson(2.0), [0.7, 0.3], n, v)),
    "shrinkage": (PublicFacts(5, alpha=[1.4, 0.3, 0.2]), lambda n, v: shrinkage(5, [1.4, 0.3, 0.2], n, v)),
    "global": (
        PublicFacts(NegativeBinomial(0.5, 0.2), alpha=[1.4, 0.6]),
        lambda n, v: overall([1.4, 0.6], n, NegativeBinomial(0.5, 0.2), view=v),
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("mechanism", [Mechanism("geometric"), Mechanism("gaussian", 1e-6)], ids=str)
def test_the_points_are_the_risks_of_the_paper(case, mechanism):
    facts, exact = CASES[case]
    found = planned(facts, [0.5, 2.0], mechanism=mechanism.name, delta=mechanism.delta)
    assert found.measure == case.split(",")[0]
    for point in found.points:
        law = mechanism.law(point.epsilon)
        for view in ("record", "conservative", "any"):
            assert getattr(point, view) == pytest.approx(exact(law, view), rel=1e-12)


def test_the_choice_keeps_the_target_and_the_floor_is_that_of_the_view():
    facts = PublicFacts(Poisson(1.5), alpha=[0.9, 0.4])
    found = planned(facts, [0.5, 2.0], target=0.4, sensitivity=2)
    assert found.choice is not None and found.choice.floor == pytest.approx(0.25, abs=1e-6)
    assert facts.risk(Geometric(found.choice.safe[1], 2)) == pytest.approx(0.4, abs=1e-6)
    assert found.choice.ceiling == pytest.approx(found.ceiling.record)
    assert found.mean_size == pytest.approx(1.5 / (1 - 2.718281828**-1.5), rel=1e-6)


def test_one_pass_over_sizes_is_the_sum_over_sizes():
    law, shares, noise = NegativeBinomial(0.5, 0.1), [0.6, 0.4, 0.0], Mechanism("gaussian", 1e-6).law(2.0)
    sizes = np.arange(1, law.largest() + 1)
    for view in ("record", "conservative"):
        slow = law.pmf(sizes) @ [expected(int(size), shares, noise, view) for size in sizes] / (1 - law.pgf(0.0))
        assert len(sizes) > 200 and expected(law, shares, noise, view) == pytest.approx(slow, rel=1e-11)


def test_laws_of_sizes_bring_re_identification_along():
    found = planned(PublicFacts(Poisson(0.5), p=[0.5, 0.5]), [1.0, 2.0])
    assert found.alone[0].known == reidentification_for(Poisson(0.5), Geometric(1.0)).known
    assert planned(PublicFacts(3, p=[0.5, 0.5]), [1.0, 2.0]).alone == ()


@pytest.mark.parametrize(
    "wrong",
    [
        {"sizes": 3},
        {"sizes": 3, "p": [0.5, 0.5], "alpha": [1, 1]},
        {"sizes": 3, "p": [0.5, 0.6]},
        {"sizes": 3, "alpha": [1, 0]},
        {"sizes": 0, "p": [0.5, 0.5]},
        {"sizes": 5000, "p": [0.5, 0.5]},
        {"sizes": Poisson(900), "alpha": [1, 1]},
    ],
)
def test_facts_that_do_not_hold_together_are_refused(wrong):
    with pytest.raises(RiskError) as caught:
        PublicFacts(**wrong)
    assert caught.value.next_step
