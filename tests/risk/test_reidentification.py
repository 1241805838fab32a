"""Re-identification in closed form: against enumeration of the noise, closed forms, simulation and its mutant."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import special

from sfumato.errors import RiskError
from sfumato.risk.homogeneity import (
    DiscreteGaussian,
    Gaussian,
    Geometric,
    Laplace,
    NegativeBinomial,
    Poisson,
)
from sfumato.risk.homogeneity.uniqueness import (
    epsilon_for_uniqueness,
    reidentification,
    reidentification_for,
    shown_unique,
)

LAWS = [Geometric(1.3), Geometric(2.0, sensitivity=2), Laplace(1.1), Gaussian(0.8), DiscreteGaussian(0.7)]
ALPHA = 1e-6
BOUND = 4.892
"""Two-sided normal quantile of ALPHA."""


@pytest.mark.parametrize("noise", LAWS, ids=str)
def test_every_cell_agrees_with_enumeration(noise):
    """All noise values within 14 of 0 for up to three counts; what lies beyond is below 1e-5."""
    reach = np.arange(-14, 15)
    for row in ([0], [1], [3], [0, 0], [1, 0], [2, 1], [0, 1, 0]):
        total = 0.0
        for drawn in itertools.product(zip(reach, noise.pmf(reach), strict=True), repeat=len(row)):
            people = sum(max(n + z, 0) for n, (z, _) in zip(row, drawn, strict=True))
            total += math.prod(float(p) for _, p in drawn) if people == 1 else 0.0
        assert shown_unique([row], noise)[0] == pytest.approx(total, abs=3e-5)


def test_a_unique_person_is_seen_with_the_chance_that_the_noise_is_0():
    theta = sum(math.exp(-(k**2) / (2 * 0.7**2)) for k in range(-30, 31))
    for noise, chance in (
        (Geometric(1.3), math.tanh(0.65)),
        (Laplace(1.1), 1 - math.exp(-0.55)),
        (Gaussian(0.8), 2 * special.ndtr(0.5 / 0.8) - 1),
        (DiscreteGaussian(0.7), 1 / theta),
    ):
        assert reidentification([1, 4], noise).seen == pytest.approx(chance, rel=1e-12)


def test_posteriors_are_those_of_bayes_over_the_domain():
    counts, noise, empty = np.array([1, 1, 1, 2, 2, 6]), Geometric(0.9), 10
    found = reidentification(counts, noise, empty)
    joint = {n: ((counts == n).sum() if n else empty) * float(noise.pmf(1 - n)) for n in (0, 1, 2, 6)}
    assert found.right == pytest.approx(joint[1] / sum(joint.values()), rel=1e-12)
    assert found.known == pytest.approx(joint[1] / sum(n * mass for n, mass in joint.items()), rel=1e-12)
    assert (found.alone, found.shown) == (3, pytest.approx(sum(joint.values())))
    assert found.baseline == pytest.approx(3 / 13)
    repeated = reidentification([1, 2, 6], noise, empty, repeats=[3, 2, 1])
    assert repeated == found


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 3.0])
@pytest.mark.parametrize("sizes", [Poisson(0.4), Poisson(6.0), NegativeBinomial(0.8, 0.3)], ids=str)
def test_geometric_noise_has_the_closed_form_of_the_generating_function(sizes, epsilon):
    t, f = math.exp(-epsilon), sizes.pmf(np.array([0, 1]))
    found = reidentification_for(sizes, Geometric(epsilon))
    assert found.right == pytest.approx(f[1] / (f[0] * t + (sizes.pgf(t) - f[0]) / t), rel=1e-9)
    slope = (sizes.pgf(t + 1e-6) - sizes.pgf(t - 1e-6)) / 2e-6
    assert found.known == pytest.approx(f[1] / slope, rel=1e-6)
    if isinstance(sizes, Poisson):
        assert found.known == pytest.approx(math.exp(-sizes.lam * t), rel=1e-9)


def test_noise_hides_and_no_noise_shows_everything():
    counts = [[1, 0], [0, 1], [3, 0], [2, 2]]
    drowned, bare = reidentification(counts, Geometric(1e-6), 6), reidentification(counts, Geometric(60), 6)
    assert drowned.seen < 1e-6 and drowned.known == pytest.approx(drowned.baseline, rel=1e-3)
    assert (bare.seen, bare.named, bare.right, bare.known) == pytest.approx((1, 1, 1, 1))
    half = reidentification(counts, Geometric(1.0), 6)
    assert half.named == pytest.approx(math.tanh(0.5) / (1 + math.exp(-1)))
    assert half.named < half.seen and half.right < half.known


@pytest.mark.statistical
def test_a_simulated_release_agrees_and_the_wrong_scale_does_not():
    """60,000 cells, 30,000 lonely; z tests of two shares at alpha 1e-6; the mutant has epsilon 1.1 instead of 1."""
    sizes = np.repeat([0, 1, 2, 5], [15_000, 30_000, 10_000, 5_000])
    rng, t = np.random.default_rng(5), math.exp(-1.0)
    noisy = sizes + rng.geometric(1 - t, len(sizes)) - rng.geometric(1 - t, len(sizes))
    shown, lonely = noisy == 1, sizes == 1

    def distances(epsilon: float) -> tuple[float, float]:
        found = reidentification(sizes, Geometric(epsilon))
        seen, right = float(shown[lonely].mean()), float(lonely[shown].mean())
        errors = (
            math.sqrt(found.seen * (1 - found.seen) / lonely.sum()),
            math.sqrt(found.right * (1 - found.right) / shown.sum()),
        )
        return abs(seen - found.seen) / errors[0], abs(right - found.right) / errors[1]

    assert max(distances(1.0)) < BOUND
    assert distances(1.1)[0] > BOUND


def test_epsilon_for_the_chance_of_being_seen_reads_no_table():
    assert epsilon_for_uniqueness(0.3).epsilon == pytest.approx(2 * math.atanh(0.3), rel=1e-6)
    assert epsilon_for_uniqueness(0.3, sensitivity=2).epsilon == pytest.approx(4 * math.atanh(0.3), rel=1e-6)
    for mechanism, facts in (("laplace", {}), ("gaussian", {"delta": 1e-6}), ("discrete-gaussian", {"delta": 1e-6})):
        choice = epsilon_for_uniqueness(0.4, 3, mechanism, **facts)
        assert len(choice.intervals) == 1 and choice.floor < 1e-3 and choice.ceiling == pytest.approx(1)
        assert 0.1 < choice.epsilon < 30


def test_counts_that_are_none_are_refused_by_name():
    for wrong in ([], [-1, 2], [0.5], [["a"]], [0, 0], [[[1]]]):
        with pytest.raises(RiskError) as caught:
            reidentification(wrong, Geometric(1.0))
        assert caught.value.next_step
    with pytest.raises(RiskError, match="empty cells"):
        reidentification([1], Geometric(1.0), empty=-1)
    with pytest.raises(RiskError, match="sensitive values"):
        epsilon_for_uniqueness(0.3, 0)
    assert reidentification([2, 3], Geometric(1.0)).seen == 0
