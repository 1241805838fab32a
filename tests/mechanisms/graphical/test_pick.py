"""The choice of a table: its law, and that one person moves it by no more than is paid for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import logsumexp

from sfumato.mechanisms.graphical import exponential_mechanism
from sfumato.mechanisms.graphical.exponential_mechanism import UNITS, expected_noise_l1, integer_l1, select_marginal
from sfumato.privacy.randomness import Randomness
from statistical.laws import ALPHA

SHAPES = {(0,): (3,), (1,): (4,), (0, 1): (3, 4), (0, 2): (3, 2), (0, 1, 2): (3, 4, 2)}
CLIQUES = list(SHAPES)


def tables(seed: int) -> tuple[dict, dict, dict]:
    """Counts of forty rows, a model of about as many, and weights."""
    generator = np.random.default_rng(seed)
    joint = generator.multinomial(40, generator.dirichlet(np.full(24, 0.3))).reshape(3, 4, 2)
    counts = {c: joint.sum(axis=tuple(a for a in range(3) if a not in c)) for c in CLIQUES}
    model = {c: generator.exponential(40 / np.prod(SHAPES[c]), SHAPES[c]) for c in CLIQUES}
    return counts, model, {c: int(generator.integers(1, 1001)) for c in CLIQUES}


def logarithms(counts, model, weights, strength, sigma, sensitivity, monkeypatch) -> np.ndarray:
    """The log probability of every table, as the exact sampler is told to draw them."""
    told: list = []
    with monkeypatch.context() as patch:
        patch.setattr(
            exponential_mechanism, "sample_index", lambda deficits, rate, uniform: told.append((deficits, rate)) or 0
        )
        select_marginal(counts, model, weights, CLIQUES, strength, sigma, sensitivity, Randomness.of(1))
    deficits, rate = told[0]
    assert all(isinstance(deficit, int) and deficit >= 0 for deficit in deficits) and min(deficits) == 0
    logits = -np.array([float(rate * deficit) for deficit in deficits])
    return logits - logsumexp(logits)


def moved(counts: dict, cell: tuple[int, ...], by: int) -> dict:
    found = {c: counts[c].copy() for c in counts}
    for c in found:
        found[c][tuple(cell[place] for place in c)] += by
    return found


def widest(seed: int, strength: Fraction, told: int, rows: int, monkeypatch) -> float:
    """The widest range of log ratios over all neighbours that add or remove ``rows`` equal rows."""
    counts, model, weights = tables(seed)
    here = logarithms(counts, model, weights, strength, 2.5, told, monkeypatch)
    ranges = []
    for cell in np.ndindex(3, 4, 2):
        for by in (rows, -rows):
            there = logarithms(moved(counts, cell, by), model, weights, strength, 2.5, told, monkeypatch)
            ranges.append(np.ptp(here - there))
    return max(ranges)


@settings(max_examples=12)
@given(st.integers(0, 10**6), st.fractions("1/100", 3, max_denominator=1000), st.sampled_from([1, 3]))
def test_one_person_moves_the_log_probabilities_within_a_range_of_the_strength(seed, strength, rows):
    with pytest.MonkeyPatch.context() as patch:
        assert widest(seed, strength, rows, rows, patch) <= float(strength) * (1 + 1e-9)


def test_under_replace_the_range_holds_with_twice_the_sensitivity(monkeypatch):
    counts, model, weights = tables(3)
    here = logarithms(moved(counts, (0, 0, 0), 1), model, weights, Fraction(1), 2.5, 2, monkeypatch)
    for cell in np.ndindex(3, 4, 2):
        there = logarithms(moved(counts, cell, 1), model, weights, Fraction(1), 2.5, 2, monkeypatch)
        assert np.ptp(here - there) <= 1 + 1e-9


def test_mutant_a_sensitivity_of_half_is_caught(monkeypatch):
    found = [widest(seed, Fraction(1), 1, 2, monkeypatch) for seed in range(6)]
    assert max(found) > 1


def test_mutant_a_rate_by_the_mean_weight_is_caught(monkeypatch):
    """The score that moves most has the largest weight; a rate by any smaller one exceeds the strength."""

    true_pick = select_marginal

    def by_the_mean(counts, model, weights, allowed, strength, sigma, sensitivity, randomness):
        scale = Fraction(max(weights.values()) * len(weights), sum(weights.values()))
        return true_pick(counts, model, weights, allowed, strength * scale, sigma, sensitivity, randomness)

    monkeypatch.setitem(globals(), "select_marginal", by_the_mean)
    assert max(widest(seed, Fraction(1), 1, 1, monkeypatch) for seed in range(6)) > 1


def distance(counts: np.ndarray, model: np.ndarray) -> float:
    return float(np.abs(counts - model).sum())


def test_tables_are_chosen_with_exponential_weights():
    """Chi-square, n = 4,000, against the law computed by hand from true counts, model and noise."""
    counts, model, weights = tables(5)
    model = {c: np.rint(model[c] * UNITS) / UNITS for c in CLIQUES}
    strength, sigma = Fraction(1, 5), 1.0
    scores = [weights[c] * (distance(counts[c], model[c]) - expected_noise_l1(sigma, counts[c].size)) for c in CLIQUES]
    logits = float(strength) * np.array(scores) / (2 * max(weights.values()))
    expected = 4000 * np.exp(logits - logsumexp(logits))
    randomness = Randomness.of(9)
    picks = [select_marginal(counts, model, weights, CLIQUES, strength, sigma, 1, randomness) for _ in range(4000)]
    assert min(expected) > 20
    assert stats.chisquare([picks.count(c) for c in CLIQUES], expected).pvalue > ALPHA


@given(st.integers(0, 10**6))
def test_distances_are_whole_and_within_rounding_of_the_true_ones(seed):
    counts, model, _ = tables(seed)
    for c in CLIQUES:
        found = integer_l1(counts[c], model[c])
        assert isinstance(found, int)
        assert abs(found / UNITS - np.abs(counts[c] - model[c]).sum()) <= counts[c].size / (2 * UNITS) + 1e-9


def test_the_noise_distance_is_that_of_gaussian_noise():
    """Mean absolute value of 200,000 normal draws, within 5 standard errors."""
    draws = np.abs(np.random.default_rng(1).normal(0, 3.0, 200_000))
    assert abs(draws.mean() - expected_noise_l1(3.0, 1)) < 5 * draws.std() / np.sqrt(200_000)
