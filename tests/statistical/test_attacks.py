"""Attacks against known truth. Alpha 1e-6 for each interval; n is stated beside each test.

The likelihood-ratio attack must reach the exact optimum, and no attack may beat what a guarantee allows. The mutant
draws noise of half the scale and must be caught.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.example import codebook, households
from sfumato.metrics.confidence import binomial_interval
from sfumato.papers.reaedp.published import published_pair
from sfumato.privacy.noise import add_laplace
from sfumato.privacy.noise_distributions import DiscreteGaussian, Gaussian, Geometric, Laplace
from sfumato.risk.attacks import (
    AttributeInference,
    FreshReferenceLinkage,
    LikelihoodRatio,
    NearestRowLinkage,
    ShadowModelAttack,
    dp_ceiling,
    optimal_accuracy,
)
from sfumato.risk.simulated import CountWorlds, membership_game
from sfumato.risk.simulated.reference_releases import RandomRows, RawRows
from sfumato.schema.column import Column
from statistical.laws import ALPHA

pytestmark = pytest.mark.statistical
LEVEL = 1 - ALPHA
TRIALS = 20_000
EPSILONS = (0.5, 1.0, 2.0, 4.0)
COUNTS = np.random.default_rng(6).multinomial(1460, np.random.default_rng(7).dirichlet(np.ones(30)))
DONOR, RECEIVER = int(COUNTS.argmax()), int(COUNTS.argmin())
ATTACKS = (
    LikelihoodRatio(),
    ShadowModelAttack(),
    ShadowModelAttack("entropy-total"),
    FreshReferenceLinkage(),
    FreshReferenceLinkage(references=10),
)


@pytest.fixture(scope="module")
def table() -> sfumato.Table:
    return sfumato.read(households(rows=400, seed=3), codebook())


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_on_the_papers_pair_the_likelihood_ratio_reaches_the_closed_form(epsilon):
    pair = published_pair(COUNTS, epsilon, DONOR, RECEIVER)
    result = LikelihoodRatio().run(pair, trials=TRIALS, seed=11, level=LEVEL)
    exact = 1 - math.exp(-epsilon) * (0.5 + epsilon / 4)
    assert result.optimal == pytest.approx(exact, abs=1e-12)
    assert exact in result.interval
    assert 0.5 in result.control_interval
    # One added record is another pair, and n is large enough to see the difference where it is more than 2 points.
    if epsilon >= 1:
        assert 1 - math.exp(-epsilon / 2) / 2 not in result.interval


@pytest.mark.parametrize(
    ("law", "shift"),
    [
        (Geometric(1.0), (0, 1, 0)),
        (Geometric(0.7), (1, -1, 0)),
        (DiscreteGaussian(1.3), (0, 1, 0)),
        (DiscreteGaussian(1.3), (1, -1, 0)),
        (Gaussian(1.3), (1, -1, 0)),
        (Laplace(1.0), (0, 0, 1)),
    ],
)
def test_measured_equals_exact_for_every_law(law, shift):
    base = np.array([10, 5, 7])
    result = LikelihoodRatio().run(CountWorlds.of(base, base + shift, law), trials=TRIALS, seed=5, level=LEVEL)
    assert result.optimal in result.interval
    wrong = replace(law, epsilon=2 * law.epsilon) if hasattr(law, "epsilon") else replace(law, sigma=law.sigma / 2)
    mutant = CountWorlds.of(base, base + shift, wrong)
    found = LikelihoodRatio().run(mutant, trials=TRIALS, seed=5, level=LEVEL)
    assert result.optimal not in found.interval, "half the noise must be seen"


def test_the_real_mechanism_reaches_the_exact_optimum():
    """Secure randomness through add_laplace: n = 4000 draws of each world, one added record, epsilon 1."""
    n, epsilon = 4000, 1.0
    inside, outside = (add_laplace(np.full(n, count), epsilon) for count in (8, 7))
    right = int((inside >= 8).sum() + (outside <= 7).sum())
    optimum = optimal_accuracy(Geometric(epsilon))
    assert optimum == pytest.approx(dp_ceiling(epsilon), abs=1e-12), "discrete Laplace noise meets the ceiling"
    assert optimum in binomial_interval(right, 2 * n, LEVEL)
    secure = CountWorlds.of([7, 3], [8, 3], Geometric(epsilon), epsilon, secure=True)
    assert optimum in LikelihoodRatio().run(secure, trials=2 * n, level=LEVEL).interval


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: repr(attack))
def test_no_attack_beats_the_ceiling(table, attack, epsilon):
    """n = 4000 releases of the real method."""
    played = membership_game(table, sfumato.Histogram("age", epsilon))
    result = attack.run(played, trials=4000, seed=8, level=LEVEL)
    assert not result.refutes_claim
    assert result.ceiling == pytest.approx(1 / (1 + math.exp(-epsilon)))
    assert result.interval.low <= result.optimal, "nor the best attack"


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_half_the_noise_is_caught(table, epsilon):
    """n = 4000: at epsilon 4 ceiling .9820 and truth .9997, eight standard errors apart; elsewhere far more."""
    honest = membership_game(table, sfumato.Histogram("age", epsilon))
    tables = tuple(replace(t, law=Geometric(2 * epsilon)) for t in honest.tables)
    for attack in (LikelihoodRatio(), ShadowModelAttack()):
        result = attack.run(replace(honest, tables=tables), trials=4000, seed=8, level=LEVEL)
        assert result.refutes_claim
        assert "REFUTED" in result.statement()


@dataclass(frozen=True)
class HalfNoise(sfumato.Histogram):
    """Claims epsilon, adds the noise of twice as much."""

    def run(self, table, plan, randomness, rows=None):
        return sfumato.Histogram(self.column, 2 * self.epsilon).run(table, self._honest(table), randomness)

    def _honest(self, table):
        return sfumato.Histogram(self.column, 2 * self.epsilon).plan(table.schema)


def test_a_method_that_cheats_is_caught_by_running_it(table):
    """n = 600 releases: ceiling .7311, truth .8808, eleven standard errors apart."""
    result = ShadowModelAttack().run(table, HalfNoise("age", 1.0), trials=600, seed=4, level=LEVEL)
    assert result.refutes_claim
    honest = ShadowModelAttack().run(game_of_runs(table), trials=600, seed=4, level=LEVEL)
    assert not honest.refutes_claim


def game_of_runs(table):
    """An honest histogram that is run, not recomputed from its plan."""

    @dataclass(frozen=True)
    class Run(sfumato.Histogram):
        """A class of its own, so that nothing is known about it."""

    return membership_game(table, Run("age", 1.0))


def test_replacing_a_record_and_gaussian_noise_stay_below_their_ceilings():
    """n = 10,000; replace adjacency moves two cells, and the discrete Gaussian has a delta."""
    schema = replace(codebook(), adjacency="replace", rows=300)
    private = sfumato.read(households(rows=300, seed=2), schema)
    for method in (sfumato.Histogram("age", 1.0), sfumato.Histogram("age", 1.0, delta=1e-5)):
        result = LikelihoodRatio().run(private, method, trials=10_000, seed=1, level=LEVEL)
        assert result.optimal in result.interval
        assert result.optimal <= result.ceiling
        assert not result.refutes_claim


def test_clamped_counts_give_away_no_more():
    """n = 20,000: a target in an empty cell, negative counts set to 0."""
    pair = replace(CountWorlds.of([0, 3], [1, 3], Geometric(1.0), 1.0), clamped=True)
    result = LikelihoodRatio().run(pair, trials=TRIALS, seed=2, level=LEVEL)
    assert result.optimal in result.interval
    two = replace(CountWorlds.of([0, 0], [2, 2], DiscreteGaussian(2.0)), clamped=True)
    assert two.optimal < replace(two, clamped=False).optimal - 0.001
    assert two.optimal in LikelihoodRatio().run(two, trials=TRIALS, seed=2, level=LEVEL).interval


def uniform(rows: int, seed: int) -> pa.Table:
    """Numbers, a level and a secret that have nothing to do with each other."""
    rng = np.random.default_rng(seed)
    numbers = {name: rng.random(rows) for name in ("x", "z")}
    return pa.table({**numbers, "g": rng.choice(["a", "b"], rows), "s": rng.choice(["no", "yes"], rows)})


COLUMNS = (
    Column("x", "number", bounds=(0.0, 1.0)),
    Column("z", "number", bounds=(0.0, 1.0), bins=4),
    Column("g", "category", values=("a", "b")),
    Column("s", "category", values=("no", "yes")),
)
UNIFORM = sfumato.Schema(name="uniform", columns=COLUMNS)
ROW_ATTACKS = {
    "linkage": lambda private, made, sees: NearestRowLinkage(["x", "z"], sees=sees).run(
        private, made, UNIFORM, level=LEVEL, seed=1
    ),
    "inference": lambda private, made, sees: AttributeInference(["x", "z", "g"], "s", sees=sees).run(
        made, private, schema=UNIFORM, level=LEVEL, seed=1
    ),
}


@pytest.mark.parametrize("attack", ROW_ATTACKS.values(), ids=ROW_ATTACKS.keys())
def test_attacks_on_rows_are_sound_at_both_ends(attack):
    """n = 2000: a copy is attacked with certainty, independent rows of the same law as by guessing, for 5 of them."""
    private = uniform(2000, 0)
    assert attack(private, private, "values").rate == 1.0
    for seed in range(1, 6):
        blind = attack(private, uniform(2000, seed), "values")
        assert blind.interval.low <= blind.baseline and not blind.succeeds
        expected = 1 / 2000 if "Linkage" in blind.attack else 0.5
        assert expected in blind.interval
    mutant = attack(private, private, "bins")
    assert mutant.interval.high < 0.9, "an attacker who sees bins only does not know a copy"


def test_membership_on_rows_is_sound_at_both_ends():
    """n = 200 games: released copies give the target away, released strangers do not."""
    table = sfumato.read(uniform(300, 0), UNIFORM)
    assert ShadowModelAttack().run(table, RawRows(), trials=40, seed=1).rate == 1.0
    noise = ShadowModelAttack().run(table, RandomRows(count=300), trials=200, seed=1, level=LEVEL)
    assert 0.5 in noise.interval and "values themselves" in noise.threat.sees
