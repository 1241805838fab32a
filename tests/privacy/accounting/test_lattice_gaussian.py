"""Discrete against rounded continuous Gaussian noise: the lemma, the bound on delta, and the calibration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato.errors import PlanError
from sfumato.privacy.accounting.gaussian_calibration import gaussian_sigma
from sfumato.privacy.accounting.lattice_gaussian import lattice_delta, lattice_epsilon_slack, lattice_sigma


def laws(s: float, reach: float = 8.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Integers, the discrete Gaussian law and the law of the rounded continuous Gaussian on them."""
    k = np.arange(-math.ceil(reach * s), math.ceil(reach * s) + 1)
    everything = np.arange(-math.ceil(40 * s), math.ceil(40 * s) + 1)
    discrete = np.exp(-(k**2) / (2 * s**2)) / np.exp(-(everything**2) / (2 * s**2)).sum()
    low = -np.abs(k)  # both tails as lower ones, where the difference is exact
    return k, discrete, stats.norm.cdf((low + 0.5) / s) - stats.norm.cdf((low - 0.5) / s)


@pytest.mark.parametrize("s", [1.0, 2.0, 5.0, 37.5])
def test_the_lemma_holds_for_every_integer(s: float):
    k, discrete, rounded = laws(s)
    normaliser = math.exp(3 * math.exp(-2 * math.pi**2 * s**2))
    assert (discrete <= math.exp(1 / (8 * s**2)) * rounded * (1 + 1e-12)).all()
    assert (rounded <= normaliser * np.exp(k**2 / (24 * s**4)) * discrete * (1 + 1e-12)).all()


@pytest.mark.parametrize("s", [2.0, 5.0])
def test_sharper_factors_would_be_false(s: float):
    """Mutants: half of either exponent is refuted by some integer, so the lemma is no looser than it must be."""
    k, discrete, rounded = laws(s)
    assert not (discrete <= math.exp(1 / (32 * s**2)) * rounded).all()
    assert not (rounded <= np.exp(k**2 / (48 * s**4) - 1 / (24 * s**2)) * discrete).all()


@settings(max_examples=60)
@given(s=st.floats(3, 60), shift=st.integers(1, 40), epsilon=st.floats(0.3, 4))
def test_delta_bounds_the_exact_delta_on_a_line(s: float, shift: int, epsilon: float):
    k = np.arange(-math.ceil(14 * s) - shift, math.ceil(14 * s) + shift + 1)
    p = np.exp(-((k - shift) ** 2) / (2 * s**2))
    q = np.exp(-(k**2) / (2 * s**2))
    exact = np.maximum(p - math.exp(epsilon) * q, 0).sum() / p.sum()
    assert exact <= lattice_delta(epsilon, s, shift, 1, reach=8.0) * (1 + 1e-9)


def test_delta_bounds_the_exact_delta_in_the_plane():
    """Shifts that are not along an axis, where the discrete law is not the continuous one turned."""
    s, epsilon = 6.0, 0.8
    axis = np.arange(-90, 91)
    x, y = np.meshgrid(axis, axis)
    q = np.exp(-(x**2 + y**2) / (2 * s**2))
    for a, b in itertools.product(range(4), repeat=2):
        p = np.exp(-((x - a) ** 2 + (y - b) ** 2) / (2 * s**2))
        exact = np.maximum(p - math.exp(epsilon) * q, 0).sum() / q.sum()
        assert exact <= lattice_delta(epsilon, s, math.hypot(a, b), 2, reach=8.0)


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-5), ("0.1", "1e-9"), (8, 1e-12), (0.01, 0.1)])
@pytest.mark.parametrize("dimensions", [1, 80, 1000])
def test_sigma_is_certified_and_hardly_above_the_continuous_one(epsilon, delta, dimensions):
    sigma = lattice_sigma(2**24, dimensions, epsilon, delta)
    assert lattice_delta(float(epsilon), sigma, 2**24, dimensions, reach=40.0) <= float(delta)
    assert 1 <= sigma / gaussian_sigma(epsilon, delta, 2.0**24) < 1 + 2e-6
    assert lattice_epsilon_slack(sigma, dimensions, 12.0) < 1e-9


def test_too_little_noise_is_not_certified():
    sigma = lattice_sigma(2**24, 80, 1, 1e-5)
    assert lattice_delta(1.0, 0.999 * sigma, 2**24, 80) > 1e-5
    assert lattice_delta(1.0, 0.5, 1, 1) == 1.0
    assert lattice_delta(1e-12, 10.0, 1, 80) == 1.0


def test_a_coarse_lattice_is_refused():
    with pytest.raises(PlanError, match="too coarse"):
        lattice_sigma(100, 3, 1, 1e-5)
    with pytest.raises(PlanError, match="epsilon"):
        lattice_sigma(2**24, 3, 0, 1e-5)
    with pytest.raises(PlanError, match="delta"):
        lattice_sigma(2**24, 3, 1, 1)
    with pytest.raises(PlanError, match="too small"):
        lattice_sigma(2**16, 10**9, 1, 1e-5)
    with pytest.raises(PlanError, match="smaller than"):
        lattice_sigma(2**16, 10**13, 1, 1e-5)
