"""Mechanism F in exact numbers: test vectors, the guarantee over thousands of small worlds, and mutants of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from sfumato.errors import PlanError
from sfumato.mechanisms.plausible_deniability.method import hockey_stick_divergence, output_distribution
from sfumato.mechanisms.plausible_deniability.privacy_test import PrivacyTest, pass_probability, prior_share
from sfumato.mechanisms.plausible_deniability.record_composition import cheapest_test, composed_epsilon

UNIVERSES = 2500
SLACK = 1e-12
THREE = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]


def test_vector_a_one_attempt_against_the_loop():
    """Ten distinct records with point masses: the loop always returns a raw record."""
    less, more = (output_distribution(range(n), np.eye(11), k=10, gamma=2, epsilon0=1) for n in (10, 11))
    stated = PrivacyTest(k=10, gamma=2, epsilon0=1, t=5)
    assert (stated.epsilon, stated.delta) == (pytest.approx(1.3364722366), pytest.approx(0.0067379470))
    assert less[:-1].sum() == pytest.approx(9.02e-5, rel=1e-3)
    assert hockey_stick_divergence(less, more, stated.epsilon) == pytest.approx(8.2e-6, rel=1e-2)
    assert hockey_stick_divergence(looped(less), looped(more), stated.epsilon) == pytest.approx(1 / 11)


def test_vector_b_the_law_itself():
    six = output_distribution([0] * 6, THREE, k=6, gamma=2, epsilon0=1)
    assert six == pytest.approx([0.58484686, 0.07310586, 0.07310586, 0.26894142], abs=5e-9)
    seven = output_distribution([0] * 6 + [2], THREE, k=6, gamma=2, epsilon0=1)
    assert seven == pytest.approx([0.50136768, 0.09010620, 0.06322512, 0.34530101], abs=5e-9)


def test_vector_c_a_visible_failure():
    less = output_distribution([0] * 50, np.eye(2), k=20, gamma=2, epsilon0=1)
    more = output_distribution([0] * 50 + [1], np.eye(2), k=20, gamma=2, epsilon0=1)
    stated = PrivacyTest(k=20, gamma=2, epsilon0=1, t=10)
    assert (stated.epsilon, stated.delta) == (pytest.approx(1.1823, abs=5e-5), pytest.approx(4.54e-5, rel=1e-3))
    assert hockey_stick_divergence(less[:-1], more[:-1], stated.epsilon) == pytest.approx(8.0e-11, rel=1e-2)
    assert hockey_stick_divergence(less, more, stated.epsilon) == pytest.approx(1 / 51)
    prior = [0.5, 0.5]
    repaired = [
        output_distribution(s, np.eye(2), k=20, gamma=2, epsilon0=1, prior=prior) for s in ([0] * 50, [0] * 50 + [1])
    ]
    assert hockey_stick_divergence(*repaired, stated.epsilon) <= stated.delta


def test_the_threshold_law():
    """Goldens at epsilon0 = .5 for k - |C| = 3, 0 and -2."""
    found = pass_probability([7, 10, 12], k=10, epsilon0=0.5)
    assert found == pytest.approx([0.138889450257, 0.622459331202, 0.861110549743], abs=1e-11)


def test_the_best_t():
    best = PrivacyTest.best(k=50, gamma=4, epsilon0=1, delta=1e-6)
    assert best.t == 36
    assert best.epsilon == pytest.approx(1.105360515658, abs=1e-11)
    assert best.delta <= 1e-6
    for t in range(1, 50):
        other = PrivacyTest(50, 4, 1, t)
        assert other.delta > 1e-6 or other.epsilon >= best.epsilon


@dataclass(frozen=True)
class Universe:
    """A small world: proposals, seeds, two records that may join, a prior and the parameters of the test."""

    proposals: np.ndarray
    seeds: list[int]
    joins: tuple[int, int]
    prior: np.ndarray
    parameters: dict[str, float]

    def law(self, *more: int, prior: bool = True) -> np.ndarray:
        public = {"prior": self.prior} if prior else {}
        return output_distribution([*self.seeds, *more], self.proposals, **self.parameters, **public)

    def tests(self) -> list[PrivacyTest]:
        return [PrivacyTest(**self.parameters, t=t) for t in range(1, self.parameters["k"])]


def universes(count: int = UNIVERSES, seed: int = 0):
    """Draw worlds of 2 to 5 records: soft and hard proposals, equal and mixed seeds, tables below and above k."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        size, k = int(rng.integers(2, 6)), int(rng.integers(2, 12))
        soft = rng.dirichlet(np.full(size, rng.choice([0.05, 0.3, 1.0])), size)
        proposals = np.eye(size) if rng.random() < 0.3 else soft
        n = int(rng.integers(1, 25))
        seeds = rng.integers(0, size, n) if rng.random() < 0.6 else np.full(n, rng.integers(0, size))
        yield Universe(
            proposals,
            seeds.tolist(),
            (int(rng.integers(0, size)), int(rng.integers(0, size))),
            rng.dirichlet(np.full(size, rng.choice([0.05, 1.0]))),
            {"k": k, "gamma": float(rng.choice([1.2, 2, 4, 8])), "epsilon0": float(rng.choice([0.1, 0.3, 1, 2]))},
        )


def violations(world: Universe, first: np.ndarray, second: np.ndarray) -> int:
    """Count the t at which the exact smallest delta is above the stated one."""
    return sum(hockey_stick_divergence(first, second, t.epsilon) > t.delta + SLACK for t in world.tests())


def looped(law: np.ndarray) -> np.ndarray:
    """The mutant: try again until a candidate passes."""
    return law[:-1] / law[:-1].sum()


def without_lambda(law: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """The mutant: fall back on the prior, but never without an attempt."""
    return law[:-1] + law[-1] * prior


def test_the_repaired_mechanism_keeps_its_guarantee_everywhere():
    """2500 worlds, every t, adding and replacing one record, tables smaller and larger than k: no violation."""
    small = 0
    for world in universes():
        alone, one, other = world.law(), world.law(world.joins[0]), world.law(world.joins[1])
        assert one.sum() == pytest.approx(1)
        assert violations(world, alone, one) == 0, world
        assert violations(world, one, other) == 0, world
        small += len(world.seeds) < world.parameters["k"]
    assert small > UNIVERSES / 10


def test_one_attempt_keeps_it_where_a_record_was_released():
    for world in universes(600, seed=1):
        if len(world.seeds) >= world.parameters["k"]:
            alone, one = world.law(prior=False), world.law(world.joins[0], prior=False)
            assert violations(world, alone[:-1], one[:-1]) == 0


@pytest.mark.parametrize("mutant", ["loop", "visible failure", "no lambda"])
def test_the_same_search_finds_the_mutants(mutant):
    found = 0
    for world in universes():
        if len(world.seeds) < world.parameters["k"]:
            continue
        laws = world.law(prior=False), world.law(world.joins[0], prior=False)
        if mutant == "loop" and min(law[:-1].sum() for law in laws) > 0:
            found += violations(world, looped(laws[0]), looped(laws[1])) > 0
        elif mutant == "visible failure":
            found += violations(world, *laws) > 0
        elif mutant == "no lambda":
            found += violations(world, *(without_lambda(law, world.prior) for law in laws)) > 0
    assert found >= 5


def test_lambda_is_as_stated():
    k, gamma, epsilon0 = 20, 2.0, 0.5
    share = prior_share(k, gamma, epsilon0)
    assert share / (1 - share) == pytest.approx(1 / (k * math.expm1(epsilon0 + math.log1p(gamma / k))))


@pytest.mark.parametrize(
    ("epsilon", "records", "golden"),
    [
        (1.1054, 10, 11.05),
        (1.1054, 100, 91.80),
        (1.1054, 1000, 680.6),
        (0.2, 100, 9.754),
        (0.2, 1000, 45.99),
        (0.05, 100, 1.969),
        (0.05, 1000, 7.533),
    ],
)
def test_composition_goldens(epsilon, records, golden):
    assert composed_epsilon(epsilon, 1e-9, records, 1e-5) == pytest.approx(golden, rel=1e-2)


@pytest.mark.parametrize(
    ("total", "records", "published_k"),
    [(8.0, 10, 44), (8.0, 100, 209), (8.0, 1000, 677), (1.0, 10, 353), (1.0, 100, 1316), (1.0, 1000, 4222)],
)
def test_the_smallest_k_for_a_total(total, records, published_k):
    """The note fixes delta per record at 1e-9; dividing the total delta better gives a smaller k."""
    test = cheapest_test(total, 1e-5, records, 2.0)
    assert 0.7 * published_k < test.k <= published_k
    assert composed_epsilon(test.epsilon, test.delta, records, 1e-5) <= total
    smaller = PrivacyTest(int(0.9 * test.k), 2.0, test.epsilon0, min(test.t, int(0.9 * test.k) - 1))
    assert composed_epsilon(smaller.epsilon, smaller.delta, records, 1e-5) > total


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"k": 2.5},
        {"gamma": 1.0},
        {"gamma": math.nan},
        {"epsilon0": 0.0},
        {"epsilon0": -1.0},
        {"seeds": []},
        {"seeds": [3]},
        {"seeds": [-1]},
        {"proposals": [[0.9, 0.2], [0.5, 0.5]]},
        {"proposals": [[-0.1, 0.2], [0.5, 0.5]]},
        {"prior": [0.5, 0.6]},
        {"prior": [1.0]},
    ],
)
def test_bad_input_has_a_name(wrong):
    sound = {"seeds": [0, 1], "proposals": np.eye(2), "k": 2, "gamma": 2.0, "epsilon0": 1.0, "prior": [0.5, 0.5]}
    given = sound | wrong
    with pytest.raises(PlanError):
        output_distribution(given.pop("seeds"), given.pop("proposals"), **given)


def test_a_threshold_of_k_or_more_is_refused():
    for t in (0, 10, 11):
        with pytest.raises(PlanError, match="below k"):
            PrivacyTest(k=10, gamma=2, epsilon0=1, t=t)
    with pytest.raises(PlanError, match="at least 15"):
        PrivacyTest.best(k=14, gamma=2, epsilon0=1, delta=1e-6)
