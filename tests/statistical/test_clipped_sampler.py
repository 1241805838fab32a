"""The sampler's law is that of the enumerated grid, and what it draws is useful.

alpha = 1e-6. Law: n = 20,000 draws, Pearson's test over all grid points, those that expect fewer than 25 merged.
Utility: the targets are for the mean of 30 tables (private_utility measures it); here fixed seeds, and fewer tables
where 30 would take too long.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from sfumato.mechanisms.pseudo_posterior import grid_sampler
from sfumato.mechanisms.pseudo_posterior.clipped_posterior import ClippedPosterior
from sfumato.mechanisms.pseudo_posterior.grid_sampler import (
    UNITS,
    EnvelopeBlocks,
    GridDistribution,
    GridScores,
    corners,
)
from sfumato.privacy.noise.exponential_sampler import bernoulli_exp, uniform_below
from sfumato.privacy.randomness import Randomness
from statistical.laws import ALPHA
from statistical.private_utility import BOX, simulated, utility

DRAWS, SHAPE = 20_000, (16, 16, 8)
pytestmark = pytest.mark.statistical


@pytest.fixture(scope="module")
def scores() -> GridScores:
    return ClippedPosterior(box=BOX, epsilon=3, grid=SHAPE).scores(*simulated(25, 4))


def grid_law(scores: GridScores, strength: float) -> np.ndarray:
    total = scores.at_points(np.zeros((1, 3), np.int64), SHAPE).ravel() * (strength / UNITS)
    return np.exp(total - np.logaddexp.reduce(total))


def coarse(scores: GridScores, strength: Fraction) -> GridDistribution:
    """An envelope of blocks only: most candidates are rejected, so that every draw tests the acceptance."""
    sizes = (2, 2, 2)
    blocks = corners(SHAPE, sizes)
    return GridDistribution(scores, strength, (EnvelopeBlocks(blocks, scores.at_blocks(blocks, sizes), sizes),))


def law_p(law: GridDistribution, randomness: Randomness, strength: float) -> float:
    """Pearson's test of draws against the enumerated law."""
    uniform = randomness.uniform
    places = np.array([law.draw(uniform) for _ in range(DRAWS)])
    observed = np.bincount(np.ravel_multi_index(tuple(places.T), SHAPE), minlength=math.prod(SHAPE)).astype(float)
    expected = DRAWS * grid_law(law.scores, strength)
    keep = expected >= 25
    o, e = np.append(observed[keep], observed[~keep].sum()), np.append(expected[keep], expected[~keep].sum())
    return float(stats.chi2.sf(((o - e) ** 2 / e).sum(), len(e) - 1))


@pytest.mark.parametrize("seed", [11, None], ids=["seeded", "secure"])
def test_the_sampler_draws_from_the_enumerated_law(scores, seed):
    law = GridDistribution.of(scores, Fraction(3))
    assert law_p(law, Randomness.of(seed), 3.0) > ALPHA


def test_rejection_from_large_blocks_has_the_same_law(scores):
    assert law_p(coarse(scores, Fraction(1)), Randomness.of(12), 1.0) > ALPHA


def test_a_missing_acceptance_step_is_caught(scores, monkeypatch):
    monkeypatch.setattr(grid_sampler, "bernoulli_exp", lambda *_: True)
    assert law_p(coarse(scores, Fraction(1)), Randomness.of(13), 1.0) < ALPHA
    assert law_p(GridDistribution.of(scores, Fraction(3)), Randomness.of(13), 3.0) < ALPHA


def test_a_wrong_strength_is_caught(scores):
    assert law_p(GridDistribution.of(scores, Fraction(33, 10)), Randomness.of(14), 3.0) < ALPHA


@pytest.mark.parametrize(("exponent", "doublings"), [(Fraction(1, 3), 0), (Fraction(7, 2), 5), (Fraction(0), 0)])
def test_an_event_happens_as_often_as_it_should(exponent, doublings):
    uniform = Randomness.of(15).uniform
    hits = sum(bernoulli_exp(exponent, doublings, uniform) for _ in range(DRAWS))
    chance = math.exp(-exponent) * 2**doublings
    assert stats.binomtest(hits, DRAWS, chance).pvalue > ALPHA
    assert stats.binomtest(hits, DRAWS, 0.95 * chance).pvalue < ALPHA, "a twentieth less must be caught"


def test_a_close_comparison_reads_more_bits():
    """A uniform number whose first 53 bits equal those of the probability is decided by the next ones."""

    class Scripted:
        def __init__(self, *words: int) -> None:
            self.words = list(words)

        def random(self, size: int) -> np.ndarray:
            return np.array([self.words.pop(0) * 2.0**-53 for _ in range(size)])

    first = math.floor(Fraction("0.716531310573789250425604096925379845") * 2**53)  # exp(-1/3)
    second = math.floor((Fraction("0.716531310573789250425604096925379845") * 2**53 - first) * 2**53)
    assert bernoulli_exp(Fraction(1, 3), 0, Scripted(first, second - 1))
    assert not bernoulli_exp(Fraction(1, 3), 0, Scripted(first, second + 1))


def test_whole_numbers_are_uniform_beyond_one_word():
    uniform = Randomness.of(16).uniform
    total = 3 * 2**70
    thirds = np.bincount([uniform_below(total, uniform) >> 70 for _ in range(DRAWS)], minlength=3)
    assert stats.chisquare(thirds).pvalue > ALPHA
    assert uniform_below(1, uniform) == 0


@pytest.mark.parametrize(
    ("rows", "epsilon", "most", "tables"),
    [
        (2000, 1.0, 0.035, 4),
        (2000, 3.0, 0.029, 4),
        (2000, 8.0, 0.027, 4),
        (200, 1.0, 0.105, 8),
        (200, 3.0, 0.085, 12),
        (200, 8.0, 0.080, 30),
    ],
)
def test_a_private_draw_is_useful(rows, epsilon, most, tables):
    found = utility("clipped", rows, epsilon, tables)
    assert found.ecdf_max <= most
    if rows == 2000:
        assert found.q90 == pytest.approx(1, abs=0.03)


def test_statistics_are_useful():
    assert utility("statistics", 2000, 1.0, tables=20).ecdf_max <= 0.035
    assert utility("statistics", 20_000, 1.0, tables=6).ecdf_max <= 0.010
