"""Noise as a function of epsilon: the slopes that the inverse search rests on, the rules for sigma, and refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.errors import RiskError
from sfumato.mechanisms.counts.contingency import Contingency
from sfumato.risk.homogeneity import Gaussian, Mechanism, epsilon_for, gaussian_sigma, local
from sfumato.risk.homogeneity.epsilon_search import CLASSICAL_END, STEEPEST, WIDE
from sfumato.schema import Schema

ALL = [
    Mechanism("geometric"),
    Mechanism("laplace"),
    Mechanism("geometric", sensitivity=2),
    *(Mechanism(name, 1e-6, rule) for name in ("gaussian", "discrete-gaussian") for rule in ("analytic", "classical")),
    Mechanism("discrete-gaussian", 1e-3, "probabilistic", math.sqrt(2)),
]
STEP = 1e-4


@pytest.mark.parametrize("mechanism", ALL, ids=str)
def test_no_vanishing_chance_is_steeper_than_the_bound(mechanism):
    """Central differences in ln epsilon at 120 epsilons and six counts, against the bound over that very interval."""
    top = min(math.log(200), math.log(mechanism.largest_epsilon) - STEP)
    counts = np.array([0, 1, 2, 5, 20, 300])
    for u in np.linspace(math.log(1e-4), top, 120):
        low, high = math.exp(u - STEP), math.exp(u + STEP)
        slopes = np.abs(mechanism.law(high).vanishing(counts) - mechanism.law(low).vanishing(counts)) / (2 * STEP)
        bounds = [mechanism.slope(low, high, 1, m + 1) for m in counts]
        assert (slopes <= np.array(bounds) + 1e-8).all(), (math.exp(u), slopes, bounds)


def discrete_slopes(sigma: float) -> np.ndarray:
    """The slope of every r(m), m >= 1, in ln sigma: E[(Z^2 - V) 1(Z <= -m)] / sigma^2."""
    k = np.arange(math.ceil(40 * sigma) + 2)
    mass = np.exp(-(k**2) / (2 * sigma**2))
    mass /= mass[0] + 2 * mass[1:].sum()
    variance = 2 * (mass * k**2).sum()
    return np.cumsum((mass * (k**2 - variance))[::-1])[::-1][1:] / sigma**2


def test_the_discrete_gaussian_is_steeper_than_a_quarter_and_below_its_bound():
    """The mutant K/4, which is right for the other three, would be too small here."""
    grid = np.exp(np.arange(math.log(0.1), math.log(20), 0.02))
    steepest = max(float(np.abs(discrete_slopes(sigma)).max()) for sigma in grid)
    assert steepest > 0.34 > STEEPEST["gaussian"]
    assert steepest + 0.02 / 2 * 3.8 < 0.38 and float(discrete_slopes(0.525).max()) == pytest.approx(0.3414, abs=1e-4)
    near = np.exp(np.arange(math.log(0.45), math.log(0.62), 0.002))
    assert max(float(discrete_slopes(sigma).max()) for sigma in near) + 0.001 * 3.8 < STEEPEST["discrete-gaussian"]


@pytest.mark.parametrize("rule", ["analytic", "classical", "probabilistic"])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-2])
def test_sigma_falls_no_faster_than_epsilon_rises(rule, delta):
    mechanism = Mechanism("gaussian", delta, rule)
    epsilons = np.geomspace(1e-4, 0.99 if rule == "classical" else 1000, 60)
    steps = np.diff(np.log([mechanism.sigma(epsilon) for epsilon in epsilons])) / np.diff(np.log(epsilons))
    assert (steps >= -1 - 1e-9).all() and (steps <= 1e-9).all()


@pytest.mark.parametrize("name", ["gaussian", "discrete-gaussian"])
@pytest.mark.parametrize("view", ["record", "conservative"])
def test_the_intervals_hold_on_a_fine_grid(name, view):
    counts = np.array([[30, 1, 0]] * 6 + [[5, 0, 0], [1, 1, 0], [0, 2, 9]])
    mechanism = Mechanism(name, 1e-6)
    epsilons = np.geomspace(0.01, 60, 80)
    risks = np.array([local(counts, mechanism.law(epsilon), view).mean() for epsilon in epsilons])
    for target in (0.2, 0.3):
        found = epsilon_for(target, counts, name, view, delta=1e-6).intervals
        inside = np.array([any(low <= epsilon <= high for low, high in found) for epsilon in epsilons])
        assert (inside == (risks <= target)).all() or np.abs(risks - target)[inside != (risks <= target)].max() < 1e-6


def test_one_cell_has_its_epsilon_in_closed_form():
    """A cell {n, 0} is read with q(n) r(0); sigma at the end found solves q(3) r(0) = 0.5, and epsilon follows."""
    found = epsilon_for(0.5, [[3, 0]], "gaussian", delta=1e-5)
    noise = Gaussian(gaussian_sigma(found.epsilon, 1e-5))
    assert float(noise.survival(3) * noise.vanishing(0)) == pytest.approx(0.5, abs=1e-6)
    halved = epsilon_for(0.5, [[3, 0]], "gaussian", delta=1e-5, sensitivity=math.sqrt(2))
    assert gaussian_sigma(halved.epsilon, 1e-5, math.sqrt(2)) == pytest.approx(noise.sigma, rel=1e-5)


def test_the_classical_rule_ends_before_one():
    found = epsilon_for(0.9, [[3, 0], [4, 1]], "gaussian", delta=1e-6, rule="classical")
    assert found.intervals == ((0.0, pytest.approx(CLASSICAL_END)),)
    assert epsilon_for(0.9, [[3, 0], [4, 1]], "gaussian", delta=1e-6).epsilon > 1


def test_a_wide_discrete_gaussian_is_a_rounded_one():
    counts = np.arange(0, 40_000, 500)
    exact, rounded = Mechanism("discrete-gaussian", 1e-6), Mechanism("gaussian", 1e-6)
    below = next(e for e in np.geomspace(1e-4, 1e-2, 4000) if exact.sigma(e) <= WIDE)
    assert type(exact.law(below)).__name__ == "DiscreteGaussian"
    assert np.abs(exact.law(below).cdf(counts) - rounded.law(below).cdf(counts)).max() < 2e-10


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_a_release_widens_sigma_by_two_per_cent_at_most(adjacency):
    rows = "" if adjacency == "add-remove" else "rows = 9\n"
    text = (
        f'[table]\nname = "t"\nadjacency = "{adjacency}"\n{rows}[columns.a]\nkind = "category"\nvalues = ["x", "y"]\n'
    )
    changed = 1 if adjacency == "add-remove" else 2
    for epsilon in (0.5, 1.0) if changed == 1 else (0.5,):
        plan = Contingency(columns=["a"], epsilon=epsilon, delta=1e-6).plan(Schema.parse(text))
        stated = Mechanism("discrete-gaussian", 1e-6, sensitivity=math.sqrt(changed)).sigma(epsilon)
        assert 1 - 1e-9 <= plan.events[0].parts[0].scale / stated < 1.02


def test_tables_that_share_a_promise_get_the_noise_of_composition():
    assert Mechanism("geometric").among(4).law(1.0).ratio == Mechanism("geometric").law(0.25).ratio
    gaussian = Mechanism("gaussian", 1e-6)
    assert gaussian.among(4).sigma(1.0) == pytest.approx(2 * gaussian.sigma(1.0))


WRONG = {
    "no delta": ({"name": "gaussian"}, "needs a delta"),
    "delta of geometric": ({"name": "geometric", "delta": 1e-6}, "geometric noise has no delta"),
    "rule of laplace": ({"name": "laplace", "rule": "analytic"}, "laplace noise has no rule"),
    "delta 1": ({"name": "discrete-gaussian", "delta": 1.0}, "between 0 and 1"),
    "rule": ({"name": "gaussian", "delta": 1e-6, "rule": "best"}, "unknown rule 'best'"),
    "name": ({"name": "staircase"}, "unknown mechanism 'staircase'"),
    "sensitivity": ({"sensitivity": 0}, "sensitivity"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_makes_no_sense_is_refused_by_name(case):
    facts, words = WRONG[case]
    with pytest.raises(RiskError, match="no such noise") as caught:
        Mechanism(**facts)
    assert words in " ".join(caught.value.problems)


def test_both_problems_are_told_at_once():
    with pytest.raises(RiskError) as caught:
        epsilon_for(0.35, [[1, 0]], "gaussian", rule="best")
    assert len(caught.value.problems) == 2
