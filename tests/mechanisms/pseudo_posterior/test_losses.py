"""The measured loss of one record against closed forms, and against the claim it is printed beside."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, stats

from sfumato.errors import PlanError
from sfumato.papers.range_restriction.families import Family, make_family
from sfumato.papers.range_restriction.published.measured_loss import (
    add_outlier,
    epsilon_at,
    leave_one_out,
    loss_between,
)
from sfumato.papers.range_restriction.published.ranges import Brackets, Radius
from sfumato.papers.range_restriction.published.weights import Weighting

AVERAGED = Weighting("averaged", ranges=Radius(0.6, 1.2))
FIRST_PASS = Weighting("capped", target_claim=8.0, rounds=0)
ITERATED = Weighting("capped", target_claim=8.0)


@pytest.fixture(scope="module")
def family() -> Family:
    """The note's own data: seed 1000."""
    generator = np.random.default_rng(1000)
    z = generator.normal(2, 1, 2000)
    return make_family("lognormal", generator.lognormal(z + 1, 1), z)


def outlier(family: Family, weighting: Weighting, residual: float):
    return add_outlier(family, weighting, residual, np.random.default_rng(7), predictors=[2.0])


def test_epsilon_of_a_gaussian_loss_is_the_exact_curve() -> None:
    """Loss N(mu^2/2, mu^2), quantiles instead of draws: the curve of Gaussian differential privacy."""
    mu, delta = 0.8, 1e-3
    losses = stats.norm.ppf((np.arange(400_000) + 0.5) / 400_000, mu**2 / 2, mu)
    found = epsilon_at(losses, delta)
    curve = stats.norm.cdf(mu / 2 - found / mu) - math.exp(found) * stats.norm.cdf(-mu / 2 - found / mu)
    assert curve == pytest.approx(delta, rel=1e-3)


def test_epsilon_solves_its_own_equation() -> None:
    losses = np.random.default_rng(1).normal(0, 3, 5000)
    for delta in (1e-4, 1e-3, 0.1):
        found = epsilon_at(losses, delta)
        assert np.maximum(0, 1 - np.exp(found - losses)).mean() == pytest.approx(delta, rel=1e-9)
    assert epsilon_at(np.full(10, -1.0), 1e-3) == 0


def test_equal_posteriors_lose_nothing(family: Family) -> None:
    posterior = family.posterior(np.ones(2000))
    loss = loss_between(posterior, posterior, family.numbers(2000, np.random.default_rng(1)))
    assert (loss.epsilon, loss.largest) == (0, 0)


def test_the_loss_between_two_betas_is_exact() -> None:
    """Beta(4, 3) against Beta(3, 3): the ratio of densities is 2 p, so both directions have exact curves."""
    family = make_family("binary", [1, 1, 1, 0, 0])
    whole, less = family.posterior(np.ones(5)), family.without(0).posterior(np.ones(4))
    loss = loss_between(whole, less, family.numbers(200_000, np.random.default_rng(2)))
    more, fewer = stats.beta(4, 3), stats.beta(3, 3)

    def upwards(epsilon: float) -> float:
        return more.sf(math.exp(epsilon) / 2) - math.exp(epsilon) * fewer.sf(math.exp(epsilon) / 2)

    def downwards(epsilon: float) -> float:
        return fewer.cdf(math.exp(-epsilon) / 2) - math.exp(epsilon) * more.cdf(math.exp(-epsilon) / 2)

    exact = max(optimize.brentq(lambda e, f=f: f(e) - 1e-3, 1e-6, 5) for f in (upwards, downwards))
    assert loss.epsilon == pytest.approx(exact, rel=0.02)
    assert loss.largest > loss.epsilon


@pytest.mark.parametrize(
    ("residual", "weighted", "averaged", "capped"),
    [(5, 12.4, 0.90, 0.29), (10, 34.9, 4.33, 0.69), (50, 45.8, 550, 8.6)],
)
def test_adding_an_outlier_repeats_the_note(
    family: Family, residual: float, weighted: float, averaged: float, capped: float
) -> None:
    """Within 8 %: the note's own run had other draws, and the loss at r = 5 rises by 60 % from r = 5 to r = 6."""
    assert outlier(family, Weighting(), residual).loss.epsilon == pytest.approx(weighted, rel=0.08)
    assert outlier(family, AVERAGED, residual).loss.epsilon == pytest.approx(averaged, rel=0.08)
    assert outlier(family, FIRST_PASS, residual).loss.epsilon == pytest.approx(capped, rel=0.08)


@pytest.mark.parametrize(("residual", "weighted", "averaged"), [(5, 12.3, 2.62), (10, 24.0, 3.23), (50, 29.6, 2.80)])
def test_the_claims_beside_the_outliers_repeat_the_note(
    family: Family, residual: float, weighted: float, averaged: float
) -> None:
    assert outlier(family, Weighting(), residual).claim == pytest.approx(weighted, rel=0.03)
    assert outlier(family, AVERAGED, residual).claim == pytest.approx(averaged, rel=0.03)


def test_erratum_one_outlier_breaks_the_local_guarantee(family: Family) -> None:
    """The published standards lose more than they claim; the outlier itself has weight 0 under "weighted"."""
    assert outlier(family, Weighting(), 10).above_claim
    assert outlier(family, AVERAGED, 10).above_claim
    assert outlier(family, AVERAGED, 50).loss.epsilon > 100 * outlier(family, AVERAGED, 50).claim
    more = Weighting().fit(family.with_record(family.outlier(10, [2.0]), [2.0]), np.random.default_rng(7))
    assert more.weights[-1] == 0


@pytest.mark.parametrize("residual", [4, 10, 50])
def test_iterated_caps_hold_the_outlier(family: Family, residual: float) -> None:
    """Found anew from round to round, the cap sees how far out the record is once it no longer widens the variance."""
    found = outlier(family, ITERATED, residual)
    assert found.claim == pytest.approx(8.0, rel=2e-3)
    assert found.loss.epsilon < 0.5
    assert not found.above_claim


def test_leaving_one_out_repeats_the_note(family: Family) -> None:
    """The claims 28, 8 and 2 are loose on ordinary data, and averaged is no more private than weighted."""
    weightings = (Weighting("unweighted"), Weighting(), AVERAGED)
    plain, weighted, averaged = (leave_one_out(family, w, np.random.default_rng(3)) for w in weightings)
    assert (plain.epsilon, weighted.epsilon, averaged.epsilon) == pytest.approx((0.57, 0.41, 0.56), rel=0.08)
    assert (plain.largest, weighted.largest, averaged.largest) == pytest.approx((1.12, 0.88, 1.05), rel=0.2)
    assert averaged.epsilon > weighted.epsilon


@pytest.mark.parametrize("name", ["categorical", "counts", "exponential", "binary"])
def test_other_families_are_measured_too(name: str) -> None:
    generator = np.random.default_rng(6)
    values = {
        "categorical": generator.choice(4, 500, p=[0.6, 0.3, 0.09, 0.01]),
        "binary": generator.integers(0, 2, 500),
        "counts": generator.poisson(3, 500),
        "exponential": generator.exponential(2, 500),
    }[name]
    brackets = Brackets([0, 2, 4]) if name == "categorical" else Brackets([0, 1, 3, 1000])
    fitted = Weighting("averaged", ranges=brackets, draws=200).fit(make_family(name, values), generator)
    left = leave_one_out(fitted.family, fitted.weighting, generator)
    added = add_outlier(fitted.family, fitted.weighting, 4.0, generator)
    assert 0 < left.epsilon <= left.largest < 10
    assert 0 < added.loss.epsilon <= added.loss.largest < 10


def test_a_record_of_its_own_radius_can_be_left_out(family: Family) -> None:
    radius = Radius(np.linspace(0.4, 0.8, 2000), np.full(2000, 1.5))
    weighting = Weighting("averaged", ranges=radius, draws=200)
    assert leave_one_out(family, weighting, np.random.default_rng(3), records=2).epsilon > 0
    assert add_outlier(family, weighting, 4.0, np.random.default_rng(3)).loss.epsilon > 0


def test_too_few_draws_are_refused(family: Family) -> None:
    with pytest.raises(PlanError, match="100 draws cannot show a loss"):
        leave_one_out(family, Weighting(), np.random.default_rng(1), draws=100)
