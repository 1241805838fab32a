"""The costs of zero-concentrated privacy, its filter, and the exact choice by exponential weights."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import logsumexp

from sfumato.errors import AccountingError, PlanError
from sfumato.privacy.accounting.gaussian_calibration import (
    ZCDPFilter,
    concentrated_epsilon,
    exponential_mechanism_epsilon,
    exponential_mechanism_rho,
    gaussian_rho,
    gaussian_sigma_for_rho,
    zcdp_rho,
)
from sfumato.privacy.noise.exponential_sampler import sample_index
from sfumato.privacy.randomness import Randomness
from statistical.laws import ALPHA


@pytest.mark.parametrize(("epsilon", "rho"), [(0.3, 0.00148), (1, 0.01497), (3, 0.12058)])
def test_the_conversion_has_the_known_values(epsilon, rho):
    assert float(zcdp_rho(epsilon, 1e-9)) == pytest.approx(rho, abs=5e-6)


@given(st.floats(0.01, 20), st.floats(1e-15, 0.1))
def test_the_conversion_never_exceeds_what_was_asked_and_is_tight(epsilon, delta):
    rho = float(zcdp_rho(epsilon, delta))
    assert concentrated_epsilon(rho, delta) <= epsilon
    assert concentrated_epsilon(rho * (1 + 1e-6), delta) > epsilon * (1 - 1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 1e-9), (1, 0), (1, 1), (-1, 1e-9), ("x", 1e-9)])
def test_budgets_must_be_sound(epsilon, delta):
    with pytest.raises(PlanError):
        zcdp_rho(epsilon, delta)


@given(st.fractions("1/1000000", 10), st.integers(1, 50))
def test_noise_and_choices_cost_at_most_what_they_may(rho, squared):
    sigma, strength = gaussian_sigma_for_rho(rho, squared), exponential_mechanism_epsilon(rho)
    assert gaussian_rho(sigma, squared) <= rho < gaussian_rho(sigma * (1 - 1e-9), squared)
    assert exponential_mechanism_rho(strength) <= rho < exponential_mechanism_rho(strength * (1 + Fraction(1, 10**9)))


def test_the_discrete_gaussian_costs_no_more_than_its_rho():
    """Renyi divergences of a unit shift, summed term by term, against order times rho."""
    places = np.arange(-400, 401)
    for sigma in (0.7, 5.0, 30.0):
        log_mass, log_shifted = -(places**2) / (2 * sigma**2), -((places - 1) ** 2) / (2 * sigma**2)
        for order in (1.5, 2.0, 8.0):
            moments = logsumexp(order * log_mass + (1 - order) * log_shifted) - logsumexp(log_mass)
            divergence = moments / (order - 1)
            assert divergence <= order * float(gaussian_rho(sigma, 1)) * (1 + 1e-9)


def test_the_filter_refuses_what_exceeds_it_and_keeps_exact_sums():
    budget = ZCDPFilter("1/10")
    for _ in range(10):
        budget.spend(Fraction(1, 100))
    assert budget.left == 0
    with pytest.raises(AccountingError, match="does not fit"):
        budget.spend(Fraction(1, 10**30))
    with pytest.raises(AccountingError, match="does not fit"):
        budget.spend(Fraction(-1))


def chosen(deficits: list[int], rate: Fraction, draws: int, seed: int) -> np.ndarray:
    uniform = Randomness.of(seed).uniform
    return np.bincount([sample_index(deficits, rate, uniform) for _ in range(draws)], minlength=len(deficits))


def law(deficits: list[int], rate: float) -> np.ndarray:
    weight = np.exp(-rate * np.array(deficits, dtype=float))
    return weight / weight.sum()


DEFICITS, RATE, DRAWS = [0, 1, 7, 40, 41, 90, 120], Fraction(1, 37), 5_000


def test_choices_have_exponential_weights():
    """Chi-square, n = 5,000; the rarest item is expected 56 times."""
    observed = chosen(DEFICITS, RATE, DRAWS, seed=3)
    assert stats.chisquare(observed, DRAWS * law(DEFICITS, 1 / 37)).pvalue > ALPHA


def test_mutant_choices_of_another_strength_are_caught():
    observed = chosen(DEFICITS, RATE * 5 / 4, DRAWS, seed=3)
    assert stats.chisquare(observed, DRAWS * law(DEFICITS, 1 / 37)).pvalue < ALPHA


def test_a_hopeless_item_is_never_chosen_and_equal_ones_equally():
    assert set(np.flatnonzero(chosen([0, 10**9], Fraction(1), 500, seed=1))) == {0}
    assert stats.binomtest(int(chosen([5, 5], Fraction(1, 3), 4000, seed=2)[0]), 4000).pvalue > ALPHA
