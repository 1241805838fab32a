"""The helper for tests of one's own mechanisms: sound ones pass, and what promises too much fails with a sentence."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import RiskError
from sfumato.testing import audit_mechanism


def laplace(scale: float, seed: int = 1):
    draw = np.random.default_rng(seed)
    return lambda count: count + draw.laplace(scale=scale)


def test_a_sound_mechanism_passes():
    found = audit_mechanism(laplace(1.0), 10, 11, epsilon=1.0)
    assert 0 < found.epsilon_low <= 1
    assert found.mu_low <= found.mu_claimed


@pytest.mark.parametrize("claim", [{"epsilon": 1.0}, {"epsilon": 1.0, "delta": 1e-3}, {"mu": 1.0}])
def test_too_little_noise_fails(claim):
    with pytest.raises(AssertionError, match="gives away at least"):
        audit_mechanism(laplace(0.2), 10, 11, **claim)


def test_gaussian_noise_has_its_mu():
    draw = np.random.default_rng(2)
    found = audit_mechanism(lambda x: x + draw.normal(size=3), np.zeros(3), np.array([1.0, 0, 0]), mu=1.0, runs=4000)
    assert 0.5 < found.mu_low <= 1


def test_answers_of_any_kind_need_a_score():
    def mechanism(word: str) -> str:
        return word

    with pytest.raises(RiskError, match="no numbers"):
        audit_mechanism(mechanism, "a", "b", epsilon=1.0, runs=20)
    with pytest.raises(AssertionError):
        audit_mechanism(mechanism, "a", "b", epsilon=1.0, score=lambda word: word == "a", runs=200)
    with pytest.raises(RiskError, match="claim"):
        audit_mechanism(mechanism, "a", "b")
