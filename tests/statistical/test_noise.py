"""The noise has exactly the stated law. alpha = 1e-6 for each test; n is stated where draws are made."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfumato.errors import PlanError
from sfumato.privacy import noise
from sfumato.privacy.randomness import Randomness
from statistical.laws import ALPHA, chi_square_p, discrete_gaussian_pmf, discrete_laplace_pmf

N = 60_000
SEEDED_N = 2_000_000
pytestmark = pytest.mark.statistical


def laplace_draws(epsilon: float, sensitivity: int = 1, randomness: Randomness | None = None, n: int = N) -> np.ndarray:
    counts = np.full(n, 1000)
    return noise.add_laplace(counts, epsilon, sensitivity, randomness) - counts


@pytest.mark.parametrize(("epsilon", "sensitivity"), [(0.1, 1), (1.0, 1), (1.0, 2), (3.0, 1), (1 / 3, 5)])
def test_discrete_laplace_has_its_exact_law(epsilon: float, sensitivity: int):
    draws = laplace_draws(epsilon, sensitivity)
    assert chi_square_p(draws, discrete_laplace_pmf, sensitivity / epsilon) > ALPHA


@pytest.mark.parametrize("sigma", [0.7, 3.7306316, 20.0])
def test_discrete_gaussian_has_its_exact_law(sigma: float):
    counts = np.full(N, -50)
    assert chi_square_p(noise.add_gaussian(counts, sigma) - counts, discrete_gaussian_pmf, sigma) > ALPHA


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 2.0])
def test_seeded_laplace_has_the_same_law(epsilon: float):
    draws = laplace_draws(epsilon, randomness=Randomness.of(1), n=SEEDED_N)
    assert chi_square_p(draws, discrete_laplace_pmf, 1 / epsilon) > ALPHA


@pytest.mark.parametrize("sigma", [0.7, 5.0, 100.0])
def test_seeded_gaussian_has_the_same_law(sigma: float):
    counts = np.zeros(SEEDED_N, dtype=np.int64)
    draws = noise.add_gaussian(counts, sigma, Randomness.of(1))
    assert chi_square_p(draws, discrete_gaussian_pmf, sigma) > ALPHA


# Mutants: each must be rejected by the very test that the true mechanism passes.


def test_mutant_with_twice_the_scale_is_caught():
    assert chi_square_p(laplace_draws(0.5), discrete_laplace_pmf, 1.0) < ALPHA


def test_mutant_with_half_the_scale_is_caught():
    assert chi_square_p(laplace_draws(2.0), discrete_laplace_pmf, 1.0) < ALPHA


def test_mutant_with_sensitivity_off_by_one_is_caught():
    assert chi_square_p(laplace_draws(1.0, sensitivity=1), discrete_laplace_pmf, 2.0) < ALPHA
    assert chi_square_p(laplace_draws(1.0, sensitivity=3), discrete_laplace_pmf, 2.0) < ALPHA


def test_mutant_with_ten_percent_more_sigma_is_caught():
    counts = np.zeros(N, dtype=np.int64)
    assert chi_square_p(noise.add_gaussian(counts, 5.5), discrete_gaussian_pmf, 5.0) < ALPHA


def test_mutant_continuous_laplace_rounded_is_caught():
    rounded = np.rint(np.random.default_rng(0).laplace(0, 1.0, N)).astype(np.int64)
    assert chi_square_p(rounded, discrete_laplace_pmf, 1.0) < ALPHA


LARGEST = np.iinfo(np.int64).max


def at_the_end_of_the_range(add) -> bool:
    """Whether noise at the end of the integer range clamps: a wrapped count would turn negative."""
    noisy = add(np.full(200, LARGEST))
    return bool((noisy > LARGEST - 10_000).all())


@pytest.mark.parametrize("randomness", [None, Randomness.of(3)])
def test_noise_is_added_inside_the_measurement(randomness):
    assert at_the_end_of_the_range(lambda counts: noise.add_laplace(counts, 0.1, randomness=randomness))
    assert at_the_end_of_the_range(lambda counts: noise.add_gaussian(counts, 5.0, randomness=randomness))
    low = noise.add_laplace(np.full(200, -LARGEST), 0.1, randomness=randomness)
    assert (low < -LARGEST + 10_000).all()


def test_mutant_x_plus_noise_at_zero_is_caught():
    """``x + M(0)`` wraps; 200 draws all miss a positive value with probability below 2^-180."""
    with np.errstate(over="ignore"):
        assert not at_the_end_of_the_range(lambda counts: counts + noise.add_laplace(np.zeros_like(counts), 0.1))


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_the_sampler_sees_the_counts_themselves(law: str, monkeypatch):
    seen: list[int] = []
    true_sampler = noise.current_sampler()

    def spying(counts, scale, randomness):
        seen.extend(np.asarray(counts).ravel().tolist())
        return getattr(true_sampler, law)(counts, scale, randomness)

    monkeypatch.setattr(noise, "current_sampler", lambda: replace(true_sampler, **{law: spying}))
    (noise.add_laplace if law == "laplace" else noise.add_gaussian)(np.array([[3, 1], [4, 1]]), 1.0)
    assert seen == [3, 1, 4, 1]


@pytest.mark.parametrize(("epsilon", "sensitivity"), [(0.1, 1), (1 / 3, 2), (7.0, 1), (0.001, 3)])
def test_opendp_s_own_privacy_map_agrees(epsilon: float, sensitivity: int):
    claimed = noise.privacy_map("laplace", noise.laplace_scale(epsilon, sensitivity), sensitivity)
    assert claimed <= epsilon * (1 + 1e-12)
    assert noise.privacy_map("gaussian", 2.0, 1.0) == pytest.approx(1 / 8)


@pytest.mark.parametrize("counts", [[1.5], [True], ["a"], np.array([2**63], dtype=np.uint64)])
def test_only_whole_counts_are_noised(counts):
    with pytest.raises(PlanError, match="whole counts"):
        noise.add_laplace(counts, 1.0)


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), "x"])
def test_epsilon_must_be_a_positive_number(epsilon):
    with pytest.raises(PlanError, match="epsilon"):
        noise.add_laplace([1], epsilon)


def test_secure_noise_is_never_repeated_and_seeded_noise_always():
    counts = np.zeros(64, dtype=np.int64)
    assert not np.array_equal(noise.add_laplace(counts, 0.1), noise.add_laplace(counts, 0.1))
    seeded = [noise.add_laplace(counts, 0.1, randomness=Randomness.of(9)) for _ in range(2)]
    assert np.array_equal(*seeded)
    assert noise.add_laplace(np.zeros((0, 3), dtype=int), 1.0).shape == (0, 3)
