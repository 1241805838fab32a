"""Levels with a guarantee: an exact audit of the noisy counts under both adjacencies, and what is drawn from them."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

import sfumato
from mechanisms.pseudo_posterior.people import PUBLIC, SCHEMA, people
from sfumato import Ledger, PseudoPosterior
from sfumato.bundle.verify import verify_bundle
from sfumato.mechanisms.pseudo_posterior.dirichlet_levels import NoisyLevelCounts
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.accounting.event_kinds import understated_cost
from sfumato.privacy.randomness import Randomness
from statistical.laws import ALPHA, chi_square_p, discrete_laplace_pmf

ADJACENCIES = ("add-remove", "replace")
PLACES = tuple(product(range(2), range(2)))
"""Every record there can be: (level, cell)."""


def counts(method: NoisyLevelCounts, table: tuple[tuple[int, int], ...]) -> np.ndarray:
    levels, cells = np.array(table, np.int64).reshape(-1, 2).T
    return method.total([(levels, cells)])


def neighbours(adjacency: str):
    """All tables of three records over four places, with every table that one change makes of each."""
    for table in combinations_with_replacement(PLACES, 3):
        for record in PLACES:
            yield table, ((*table, record) if adjacency == "add-remove" else (record, *table[1:]))


def worst_loss(method: NoisyLevelCounts, scale: float) -> float:
    """The largest log ratio of the exact laws of all four noisy counts, over all neighbours and a box of outcomes."""
    outcomes = np.array(list(product(range(-1, 5), repeat=4)))
    logs = [
        [np.log(discrete_laplace_pmf(outcomes - counts(method, side), scale)).sum(axis=1) for side in pair]
        for pair in neighbours(method.adjacency)
    ]
    return max(float(np.abs(one - other).max()) for one, other in logs)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("epsilon", [0.5, 2])
def test_the_exact_loss_of_every_pair_of_neighbours_is_epsilon(adjacency, epsilon):
    method = NoisyLevelCounts(levels=2, cells=2, epsilon=epsilon, adjacency=adjacency)
    assert worst_loss(method, method.part.scale) == pytest.approx(epsilon, abs=1e-9)


def test_a_scale_for_the_other_adjacency_is_caught():
    """The mutant: noise for one moved count where a replaced record moves two."""
    replaced = NoisyLevelCounts(levels=2, cells=2, epsilon=1, adjacency="replace")
    mutant = replace(replaced, adjacency="add-remove").part
    assert worst_loss(replaced, mutant.scale) > 1.9
    facts = {"kind": "discrete-laplace", "method": "m", "table": "t", "adjacency": "replace", "epsilon": "1"}
    assert understated_cost(Event(parts=(replaced.part,), **facts)) is None
    assert understated_cost(Event(parts=(replaced.part.model_copy(update={"scale": mutant.scale}),), **facts))


def test_the_noise_that_is_drawn_has_the_recorded_scale():
    """Chi-square at alpha 1e-6 over 20,000 noisy counts of an empty table; a scale 1.2 times as large fails."""
    method = NoisyLevelCounts(levels=10, cells=2000, epsilon=0.5)
    drawn = method.release([], Randomness.of(3)).counts.ravel()
    assert chi_square_p(drawn, discrete_laplace_pmf, method.part.scale) > ALPHA
    assert chi_square_p(drawn, discrete_laplace_pmf, 1.2 * method.part.scale) < ALPHA


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_gaussian_counts_are_certified(adjacency):
    part = NoisyLevelCounts(levels=3, cells=2, epsilon=1, delta="1e-6", adjacency=adjacency).part
    facts = {"kind": "discrete-gaussian", "method": "m", "table": "t", "epsilon": "1", "delta": "1e-6"}
    assert part.changed_cells == (2 if adjacency == "replace" else 1)
    assert understated_cost(Event(parts=(part,), adjacency=adjacency, **facts)) is None
    smaller = part.model_copy(update={"scale": part.scale * 0.9})
    assert understated_cost(Event(parts=(smaller,), adjacency=adjacency, **facts))


def test_without_noise_shares_are_the_conditional_ones():
    """At epsilon 1e5 no noise is left: the posterior mean is (count + 1/2 of the pooled share) over all."""
    levels, cells = np.repeat([0, 1, 0], [600, 200, 200]), np.repeat([0, 0, 1], [600, 200, 200])
    shares = NoisyLevelCounts(levels=2, cells=2, epsilon=1e5).release([(levels, cells)], Randomness.of(1))
    assert shares.concentration == pytest.approx(np.array([[600.8, 200.2], [200.8, 0.2]]), abs=0.01)
    drawn = shares.draw(np.random.default_rng(2)).synthesise(np.repeat([0, 1], 5000), np.random.default_rng(3))
    assert drawn[:5000].mean() == pytest.approx(0.25, abs=0.07)
    assert drawn[5000:].mean() < 0.02


def test_cells_that_noise_drowns_fall_back_on_all_cells():
    noisy = NoisyLevelCounts(levels=2, cells=40, epsilon=0.05, adjacency="replace")
    levels = (np.random.default_rng(4).random(200_000) < 0.9).astype(int)
    cells = np.where(np.arange(200_000) < 199_000, 0, np.arange(200_000) % 39 + 1)
    found = noisy.release([(levels, cells)], Randomness.of(5)).concentration
    assert (found > 0).all()
    assert (found / found.sum(axis=1, keepdims=True))[:, 1].mean() == pytest.approx(0.85, abs=0.1)


@pytest.mark.parametrize(
    ("schema", "target", "facts"),
    [
        (SCHEMA, "group", {"family": "auto", "predictors": ["z", "member"]}),
        (SCHEMA, "member", {"family": "binary", "predictors": "none"}),
        (PUBLIC, "group", {"family": "auto", "predictors": ["member"]}),
        (PUBLIC, "group", {"family": "categorical", "predictors": ["z"], "public_predictors": True}),
    ],
)
def test_levels_are_released_with_a_guarantee(schema, target, facts, tmp_path):
    book = Ledger(tmp_path / "ledger.db")
    book.open_table("people", epsilon=4, adjacency=schema.adjacency)
    method = PseudoPosterior(target, epsilon=4, **facts)
    made = sfumato.release(sfumato.read(people(), schema), method, rows=500, ledger=book, seed=6)
    assert (made.guarantee.formal, book.account("people").spent_epsilon) == (True, "4")
    assert (made.statistics["way"], len(made.data)) == ("statistics", 500)
    shares, truth = (frame[target].value_counts(normalize=True) for frame in (made.data, people()))
    assert shares.sub(truth).abs().max() < 0.15
    assert verify_bundle(made.save(tmp_path / "bundle")).ok


def test_copies_of_levels_cost_once():
    method = PseudoPosterior("member", ["z"], "auto", epsilon=2, delta="1e-6", copies=2)
    made = sfumato.release(sfumato.read(people(), SCHEMA), method, rows=400, seed=8)
    assert {event.kind for event in made.events} == {"discrete-gaussian"}
    assert (made.plan.epsilon, float(made.plan.delta), len(made.data)) == ("2", 1e-6, 2)


def test_levels_follow_their_predictors():
    frame = people(3000).assign(member=lambda f: f["z"] > 2)
    made = sfumato.release(sfumato.read(frame, SCHEMA), PseudoPosterior("member", ["z"], "auto", epsilon=3), seed=7)
    assert made.data.groupby(made.data["z"] > 2)["member"].mean().tolist() == pytest.approx([0, 1], abs=0.1)
