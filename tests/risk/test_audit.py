"""The audit: sound methods stand, near their claims; mutants fall at alpha 1e-6; the registry can be walked.

AIM is audited on two columns and MST on three, so that a run takes milliseconds; n is the runs of each world.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import sfumato
from mechanisms.graphical.mutants import half_noise, with_true_groups, with_true_total
from sfumato import AIM, MST, Histogram, Schema
from sfumato.errors import RiskError
from sfumato.mechanisms.graphical import aim, exponential_mechanism, mst
from sfumato.mechanisms.graphical import method as graphical_run
from sfumato.mechanisms.graphical.budget import Budget
from sfumato.mechanisms.two_stage import run as two_stage_run
from sfumato.metrics.confidence import binomial_lower, binomial_upper
from sfumato.privacy import noise
from sfumato.privacy.accounting.gaussian_calibration import ZCDPFilter
from sfumato.privacy.noise.noise_recorder import active_recorder
from sfumato.risk.auditing.lower_bounds import Claim, Point, betting_lower_bound
from sfumato.risk.auditing.runs import audit_schema, worst_cases

pytestmark = pytest.mark.statistical

ALPHA = 1e-6
LISTED = """
[columns.{}]
kind = "category"
values = ["0", "1", "2"]
"""
THREE = Schema.parse('[table]\nname = "t"\n' + "".join(map(LISTED.format, "abc")))
TWO = Schema.parse('[table]\nname = "t"\n' + "".join(map(LISTED.format, "ab")))
KINDS = Schema.parse("""
[table]
name = "kinds"
[columns.region]
kind = "category"
values = ["north", "east", "south"]
[columns.member]
kind = "boolean"
[columns.age]
kind = "integer"
bounds = [0, 9]
[columns.income]
kind = "number"
bounds = [0.0, 1000.0]
bins = 4
[columns.weight]
kind = "number"
bounds = [0.0, 100.0]
bins = 4
""")
SUBJECTS = [pytest.param(AIM(1, "0.01"), TWO, id="aim"), pytest.param(MST(1, "0.01"), THREE, id="mst")]
FEW = 40


@pytest.mark.parametrize(("method", "schema"), SUBJECTS)
def test_most_of_the_claimed_mu_is_found_and_never_more(method, schema):
    found = sfumato.risk.audit(method, schema, runs=FEW, confidence=0.95, seed=3)
    assert 0.85 * found.mu_claimed <= found.mu_low <= found.mu_claimed
    assert found.epsilon_low <= found.epsilon_claimed == 1
    assert found.delta == 0.01
    assert not found.refuted
    assert "not refuted" in found.statement()


def half_below(counts: Any, scale: Any, law: str, randomness: Any) -> Any:
    """Says that it draws with one scale, and draws with half of it."""
    draw, heard = partial(noise.current_sampler().gaussian, counts, scale / 2), active_recorder()
    return draw(randomness) if heard is None else heard.noise(counts, scale, law, draw)


def true_worst(counts: Any, model: Any, weights: Any, allowed: Any, strength: Any, sigma: float, *_: Any) -> Any:
    """The table that fits worst, without noise and without charge."""
    less = {
        c: round(exponential_mechanism.UNITS * exponential_mechanism.expected_noise_l1(sigma, counts[c].size))
        for c in allowed
    }
    scores = [weights[c] * (exponential_mechanism.integer_l1(counts[c], model[c]) - less[c]) for c in allowed]
    return allowed[int(np.argmax(scores))]


made_budget = Budget.__init__


def free_choices(self: Budget, *arguments: Any) -> None:
    """Noise gets the whole budget, and choices are made beside it."""
    made_budget(self, *arguments)
    self.noise = ZCDPFilter(self.rho)


MUTANTS = {
    "half the noise": ([(Budget, "measure", half_noise)], FEW),
    "half the noise below": ([(noise, "_add", half_below)], FEW),
    "the true worst table": ([(module, "select_marginal", true_worst) for module in (aim, mst)], 24),
    "groups of true counts": ([(graphical_run, "measure_one_way_marginals", with_true_groups)], 20),
    "the true number of rows": ([(graphical_run, "measure_one_way_marginals", with_true_total)], 20),
}


@pytest.mark.parametrize(("method", "schema"), SUBJECTS)
@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_are_refuted(method, schema, mutant, monkeypatch):
    if mutant == "half the noise below" and method.name == "aim":
        pytest.skip("the sampler is the same for both, and MST is faster")
    changes, runs = MUTANTS[mutant]
    for change in changes:
        monkeypatch.setattr(*change)
    found = sfumato.risk.audit(method, schema, runs=runs, confidence=1 - ALPHA, seed=1)
    assert found.refuted
    assert "REFUTED" in found.statement()


def test_a_choice_that_is_not_charged_is_refuted(monkeypatch):
    """A third of MST's budget: the mean loss is known to a few per cent after 80 runs."""
    monkeypatch.setattr(Budget, "__init__", free_choices)
    found = sfumato.risk.audit(MST(1, "0.01"), THREE, runs=80, confidence=1 - ALPHA, seed=1)
    assert found.mu_low > found.mu_claimed


SLOW = ("two-stage", "plausible-deniability", "cluster-geometry")
FORMAL = [info for info in sfumato.methods().values() if info.formal and info.name not in ("aim", "mst")]


@pytest.mark.parametrize("info", FORMAL, ids=lambda info: info.name)
def test_every_formal_method_can_be_audited(info, monkeypatch):
    monkeypatch.setattr(two_stage_run, "SYNTHETIC_ROWS", 300)  # of them a second stage learns: post-processing
    runs = 8 if info.name in SLOW else 20
    found = sfumato.risk.audit(info.cls.example(KINDS), KINDS, runs=runs, seed=1)
    assert not found.refuted, found.statement()
    assert found.mu_low <= found.mu_claimed


@pytest.mark.parametrize(
    "table",
    ['adjacency = "replace"\nrows = 500', 'person = "id"\nrows_per_person = 3'],
    ids=["replace", "several rows"],
)
def test_other_adjacencies_have_neighbours_of_their_own(table):
    person = '[columns.id]\nkind = "integer"\nbounds = [0, 999]\n' if "person" in table else ""
    schema = Schema.parse(f'[table]\nname = "t"\n{table}\n{person}' + "".join(map(LISTED.format, "ab")))
    for case in worst_cases(audit_schema(schema, MST(1))):
        sizes = [int(world.marginals([("a",)])[("a",)].sum()) for world in (case.within, case.without)]
        assert sizes[0] - sizes[1] == (0 if "replace" in table else 3)
    found = sfumato.risk.audit(Histogram("a", epsilon=1), schema, runs=20, seed=1)
    assert 0.6 * found.mu_claimed < found.mu_low <= found.mu_claimed


def test_bounds_of_means_hold_as_often_as_stated():
    """Coverage of the betting bound: 400 samples of 60 numbers, error at most 0.1; Clopper and Pearson beside it."""
    draw = np.random.default_rng(1)
    lows = [betting_lower_bound(draw.random(60) < 0.3, 0.1, 1.0) for _ in range(400)]
    wrong = sum(low > 0.3 for low in lows)
    assert binomial_lower(wrong, 400, 1e-6) <= 0.1
    assert np.mean(lows) > 0.15
    assert binomial_lower(5, 10, 0.025) == pytest.approx(0.1871, abs=1e-4)
    assert binomial_upper(5, 10, 0.025) == pytest.approx(0.8129, abs=1e-4)


def test_points_and_claims_speak_one_currency():
    claim, pair = Claim.of_mu(1.0, 1e-5), Claim.of_pair(1.0, 1e-3)
    assert claim.mu == pytest.approx(1)
    assert claim.mean_loss == pytest.approx(0.5)
    assert pair.mean_loss is None
    assert Point(0.5, 0.5).epsilon(0.0) == 0 == Point(0.4, 0.5).mean_loss
    assert claim.mu_of(Point(0.69, 0.31)) < 1  # what mu 1 allows at the middle


def test_what_cannot_be_audited_is_said():
    with pytest.raises(RiskError, match="runs must be"):
        sfumato.risk.audit(MST(1), TWO, runs=3, confidence=2)
    published = sfumato.ClusterGeometry.as_published
    with pytest.raises(RiskError):
        sfumato.risk.audit(published.example(KINDS), KINDS, runs=20)
