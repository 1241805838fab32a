"""The curve of a run: closed forms, independent privacy loss distributions below it, and what is read off it."""

from __future__ import annotations

import itertools
import math
from functools import reduce

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from sfumato.errors import AccountingError
from sfumato.privacy.accounting import privacy_loss
from sfumato.privacy.accounting.accountant import compose, tight_epsilon
from sfumato.privacy.accounting.composition import SELECTIONS_PART, ComposedLoss
from sfumato.privacy.accounting.event import Event, EventPart
from sfumato.privacy.accounting.gaussian_calibration import gaussian_delta
from sfumato.privacy.accounting.privacy_curve import PrivacyCurve, privacy_curve

EPSILONS = (0.0, 0.05, 0.3, 1.0, 2.5)
ALARMS = (1e-6, 0.001, 0.05, 0.3, 0.7, 0.99)
FACTS = {"method": "m", "table": "t", "adjacency": "add-remove"}


def event(kind: str, epsilon: object, delta: object = 0, *scales: float, **more: object) -> Event:
    parts = tuple(EventPart(stage=f"x{i}", cells=3, scale=scale, **more) for i, scale in enumerate(scales))
    return Event(kind=kind, epsilon=epsilon, delta=delta, parts=parts, **FACTS)


def aim(mu: float = 0.055, strength: float = 0.025, epsilon: object = "0.3", delta: object = "1e-9") -> Event:
    """An event of Gaussian noise of total mu and choices of this strength."""
    parts = (EventPart(stage="x", cells=8, scale=1 / mu), EventPart(stage=SELECTIONS_PART, cells=4, scale=1 / strength))
    return Event(kind="gaussian-and-choices", epsilon=epsilon, delta=delta, parts=parts, **FACTS)


@pytest.mark.parametrize("mu", [0.01, 0.3, 1.0, 4.0])
def test_gaussian_noise_has_the_closed_form(mu):
    curve = privacy_curve([event("gaussian", 50, "0.5", 1 / mu)])
    assert curve.mu == pytest.approx(mu, rel=1e-12)
    for epsilon in EPSILONS:
        assert -1e-30 <= curve.delta(epsilon) - gaussian_delta(epsilon, mu) <= 1e-9
    assert curve.advantage == pytest.approx(2 * norm.cdf(mu / 2) - 1, abs=1e-9)
    for alarms in ALARMS:
        assert curve.hits(alarms) == pytest.approx(norm.cdf(norm.ppf(alarms) + mu), abs=1e-9)
        assert curve.success(alarms) == curve.hits(alarms)


@pytest.mark.parametrize("strength", [0.1, 1.0, 5.0])
def test_laplace_noise_has_the_closed_forms(strength):
    continuous = privacy_curve([event("laplace", strength, 0, 1 / strength)])
    discrete = privacy_curve([event("discrete-laplace", strength, 0, 1 / strength)])
    for epsilon in EPSILONS:
        left = max(0.0, strength - epsilon)
        assert 0 <= continuous.delta(epsilon) + math.expm1(-left / 2) <= 1e-9
        exact = -math.expm1(-left) / (1 + math.exp(-strength))
        assert 0 <= discrete.delta(epsilon) - exact <= 1e-9
    assert discrete.hits(0.001) == pytest.approx(min(0.001 * math.exp(strength), 1), abs=1e-9)
    assert discrete.mu is None and not discrete.rho


def test_many_randomised_responses_are_enumerated_exactly():
    """Against all 2^12 outcomes of 12 discrete Laplace tables of three strengths."""
    strengths = [0.1] * 5 + [0.25] * 4 + [0.7] * 3
    curve = privacy_curve([event("discrete-laplace", 10, 0, *(1 / each for each in strengths))])
    signs = np.array(list(itertools.product((1, -1), repeat=len(strengths))))
    losses = signs @ np.array(strengths)
    masses = np.prod(1 / (1 + np.exp(-signs * np.array(strengths))), axis=1)
    for epsilon in EPSILONS:
        exact = float(np.sum(masses * np.maximum(0, -np.expm1(np.minimum(epsilon - losses, 0)))))
        assert 0 <= curve.delta(epsilon) - exact <= 1e-9


def optimistic(*, gaussians=(), laplaces=(), discrete=(), responses=()):
    """Return a privacy loss distribution that is rounded in the attacker's disfavour: no bound may lie below it."""
    parts = [pld.from_gaussian_mechanism(sigma, pessimistic_estimate=False) for sigma in gaussians]
    parts += [pld.from_laplace_mechanism(scale, pessimistic_estimate=False) for scale in laplaces]
    parts += [pld.from_discrete_gaussian_mechanism(sigma, pessimistic_estimate=False) for sigma in discrete]
    parts += [pld.from_randomized_response(2 / (1 + math.exp(e)), 2, pessimistic_estimate=False) for e in responses]
    return reduce(lambda a, b: a.compose(b), parts)


MIXES = {
    "gaussians": ([event("gaussian", 9, "0.1", 4.0), event("gaussian", 9, "0.1", 7.0)], {"gaussians": (4.0, 7.0)}),
    "gaussian and laplace": (
        [event("gaussian", 9, "0.1", 3.0), event("laplace", 9, 0, 2.0)],
        {"gaussians": (3.0,), "laplaces": (2.0,)},
    ),
    "gaussian and responses": (
        [event("gaussian", 9, "0.1", 3.0), event("discrete-laplace", 9, 0, 2.0, 4.0)],
        {"gaussians": (3.0,), "responses": (0.5, 0.25)},
    ),
    "whole counts": (
        [event("discrete-gaussian", 9, "0.1", 3.0, 3.0), event("discrete-laplace", 9, 0, 2.0)],
        {"discrete": (3.0, 3.0), "responses": (0.5,)},
    ),
    "choices": ([aim(0.5, 0.3, 9, "0.1")], {"gaussians": (2.0,), "responses": (0.15,)}),
    "choices and laplace": (
        [aim(0.5, 0.3, 9, "0.1"), event("laplace", 9, 0, 2.0)],
        {"gaussians": (2.0,), "responses": (0.15,), "laplaces": (2.0,)},
    ),
    "choices and responses": (
        [aim(0.5, 0.3, 9, "0.1"), aim(0.5, 0.3, 9, "0.1"), event("discrete-laplace", 9, 0, 2.0)],
        {"gaussians": (2.0, 2.0), "responses": (0.15, 0.15, 0.5)},
    ),
}


@pytest.mark.parametrize("mix", MIXES)
def test_no_composed_curve_lies_below_an_independent_one(mix):
    """A choice of strength e has losses of +-e/2 at worst in one pair: the real loss lies below what rho allows."""
    events, parts = MIXES[mix]
    curve, below = privacy_curve(events), optimistic(**parts)
    found = [(curve.delta(e), float(below.get_delta_for_epsilon(e))) for e in (0.0, 0.2, 0.7, 1.5, 2.5)]
    assert all(ours >= theirs - 1e-12 for ours, theirs in found), found
    room = 1.6 if "choices" in mix else 1.01
    assert found[0][0] <= room * found[0][1]  # and it is no bound that always holds
    without = PrivacyCurve(ComposedLoss(mu_squared=curve.run.mu_squared))
    assert without.delta(0.7) < found[2][1] or mix == "gaussians"  # a part that is left out would show


@settings(max_examples=12, deadline=None)
@given(mu=st.floats(0, 3), rho=st.sampled_from([0.0, 0.001, 0.2]), strengths=st.lists(st.floats(0.01, 2), max_size=2))
def test_every_curve_is_one(mu, rho, strengths):
    pairs = tuple((strength, 1e-6, 1) for strength in sorted(set(strengths)))
    curve = PrivacyCurve(ComposedLoss(mu_squared=mu * mu, rho=rho, pairs=pairs))
    found = [curve.delta(epsilon) for epsilon in (-3.0, -0.5, *EPSILONS)]
    assert all(0 <= each <= 1 for each in found)
    assert all(later <= earlier + 1e-12 for earlier, later in itertools.pairwise(found))
    few = ALARMS[1:4]
    hits = [curve.hits(alarms) for alarms in few]
    assert all(a <= b <= min(1, a + curve.advantage) + 1e-12 for a, b in zip(few, hits, strict=True))
    assert hits == sorted(hits)
    assert curve.delta(-0.5) == pytest.approx(min(1, 1 - math.exp(-0.5) * (1 - curve.delta(0.5))))


def test_what_was_stated_is_taken_where_it_says_more():
    stated = privacy_curve([event("declared", 1, "1e-6"), event("declared", 0.5)])
    assert stated.delta(1.5) == pytest.approx(1e-6)
    assert stated.delta(0) < PrivacyCurve.of_pair(1.5, 1e-6).delta(0)
    assert stated.epsilon(1.001e-6) == pytest.approx(1.5, rel=1e-6)
    assert stated.epsilon(1e-7) is None
    better = privacy_curve([event("gaussian", 0.1, "1e-6", 1.0)]).delta(0.1)  # a stated pair is believed here
    assert better == pytest.approx(1e-6)


def test_more_atoms_than_are_enumerated_go_onto_the_grid(monkeypatch):
    events = [event("discrete-laplace", 9, 0, *(1 / each for each in (0.1, 0.2, 0.3, 0.4)))]
    exact = [privacy_curve(events).delta(epsilon) for epsilon in EPSILONS]
    monkeypatch.setattr(privacy_loss, "MAX_ATOMS", 1)
    privacy_loss.loss_distribution.cache_clear()
    gridded = [privacy_curve(events).delta(epsilon) for epsilon in EPSILONS]
    privacy_loss.loss_distribution.cache_clear()
    assert all(0 <= b - a <= 1e-3 for a, b in zip(exact, gridded, strict=True))


def test_wide_noise_and_several_rows_of_a_person_count():
    narrow = privacy_curve([event("discrete-gaussian", 9, "0.1", 5.0)])
    lattice = privacy_curve([event("lattice-gaussian", 9, "0.1", 5.0 * 2**20, sensitivity=2**20)])
    wide = privacy_curve([event("discrete-gaussian", 9, "0.1", 5.0 * 2**20, sensitivity=2**20)])
    several = privacy_curve([event("discrete-gaussian", 9, "0.1", 10.0, sensitivity=2)])
    assert lattice.advantage == pytest.approx(2 * norm.cdf(0.1) - 1, rel=1e-6) and lattice.mu == pytest.approx(0.2)
    assert wide.advantage == lattice.advantage
    assert narrow.advantage == pytest.approx(lattice.advantage, rel=0.01) and narrow.mu == pytest.approx(0.2)
    assert several.rho == pytest.approx(0.02) and several.advantage > lattice.advantage


def test_thresholds_leave_a_chance_that_no_epsilon_bounds():
    plain = event("discrete-gaussian", 1, "1e-6", 10.0)
    shown = event("thresholded-gaussian", 1, "1e-3", 10.0, threshold=45)
    chance = privacy_curve([shown]).delta(50)
    assert 1e-6 < chance < 1e-4 and privacy_curve([plain]).delta(50) < 1e-12
    several = privacy_curve([event("thresholded-gaussian", 9, "1e-3", 20.0, threshold=90, sensitivity=2)])
    assert several.rho and several.delta(50) > 1e-6


def test_ten_runs_of_aim_compose_by_the_sums_of_mu_squared_and_rho():
    from sfumato.privacy.accounting.gaussian_and_selection import run_delta

    ten = privacy_curve([aim()] * 10)
    assert ten.run.mu_squared == pytest.approx(10 * 0.055**2) and ten.rho == pytest.approx(10 * 0.025**2 / 8)
    assert ten.delta(1.0) == pytest.approx(run_delta(1.0, ten.run.mu, ten.rho), rel=1e-3)
    assert float(tight_epsilon([aim()] * 10, "1e-9")) <= 1.01
    assert compose([aim()] * 10, "1e-9").curve.advantage == ten.advantage


def test_a_kind_from_elsewhere_brings_its_law_or_its_stated_pair(monkeypatch):
    """A symmetric law is used as it is; one that favours a direction is not, for a curve holds in both."""
    from sfumato.privacy.accounting import event as events

    def register(name: str, loss) -> None:
        kind = events.EventKind(name=name, formal=True, guarantee="approximate", loss=loss)
        monkeypatch.setitem(events._KINDS, name, kind)

    register("elsewhere", lambda _: pld.from_gaussian_mechanism(2.0))
    register("one-sided", lambda _: pld.from_gaussian_mechanism(2.0, sampling_prob=0.1))
    fair, skewed = (privacy_curve([event(kind, 2, "1e-3", 1.0)]) for kind in ("elsewhere", "one-sided"))
    assert fair.delta(0.3) == pytest.approx(gaussian_delta(0.3, 0.5), abs=1e-6)
    assert skewed.delta(0.3) == pytest.approx(PrivacyCurve.of_pair(2.0, 1e-3).delta(0.3), abs=1e-3)


def test_exposures_and_odd_numbers_are_refused():
    with pytest.raises(AccountingError, match="heuristic"):
        privacy_curve([Event(kind="heuristic", **FACTS)])
    with pytest.raises(AccountingError, match="between 0 and 1"):
        PrivacyCurve.of_pair(1).hits(1.5)
    with pytest.raises(AccountingError, match="number"):
        PrivacyCurve.of_pair(1).delta(math.nan)


def test_riskcal_agrees_on_gaussian_noise():
    """An oracle by other hands: trade-off curves of Gaussian DP, and of a PLD of two Gaussian releases."""
    conversions = pytest.importorskip("riskcal.analysis.conversions")
    for mu in (0.1, 1.0, 3.0):
        curve = PrivacyCurve.of_gaussian(mu)
        assert curve.advantage == pytest.approx(float(conversions.get_advantage_from_gdp(mu)), abs=1e-9)
        for alarms in ALARMS:
            miss = float(conversions.get_beta_from_gdp(mu, alarms))
            assert curve.hits(alarms) == pytest.approx(1 - miss, abs=1e-9)
    two = privacy_curve([event("gaussian", 9, "0.1", 2.0), event("gaussian", 9, "0.1", 3.0)])
    theirs = pld.from_gaussian_mechanism(2.0).compose(pld.from_gaussian_mechanism(3.0))
    assert two.advantage == pytest.approx(float(conversions.get_advantage_from_pld(theirs)), abs=1e-4)
    assert two.hits(0.05) == pytest.approx(1 - float(conversions.get_beta_from_pld(theirs, alpha=0.05)), abs=1e-3)
