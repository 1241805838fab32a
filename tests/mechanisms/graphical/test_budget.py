"""The budget against books kept by somebody else: every draw and choice of a run is seen where it is made."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import sfumato
from mechanisms.graphical.watching import Transcript, watch
from sfumato import AIM, MST, Ledger, Schema
from sfumato.errors import AccountingError
from sfumato.mechanisms.graphical import budget as budgets
from sfumato.mechanisms.graphical.budget import Budget
from sfumato.mechanisms.graphical.candidates import count_cliques
from sfumato.mechanisms.graphical.domain_compression import identity_grouping
from sfumato.mechanisms.graphical.one_way_marginals import squared_sensitivity
from sfumato.privacy.accounting.gaussian_and_selection import MOST_COORDINATES, SMALLEST_SIGMA, run_delta
from sfumato.privacy.accounting.gaussian_calibration import ZCDPFilter, gaussian_rho, zcdp_rho
from sfumato.privacy.accounting.sensitivity import histogram_l1
from sfumato.privacy.noise import add_gaussian
from sfumato.privacy.randomness import Randomness

FACTS = """
[table]
name = "clinic"
{table}
[columns.who]
kind = "integer"
bounds = [0, 999]
role = "identifier"
[columns.sex]
kind = "category"
values = ["f", "m"]
[columns.ward]
kind = "category"
values = ["a", "b", "c", "d"]
missing = true
[columns.age]
kind = "integer"
bounds = [0, 99]
[columns.stage]
kind = "ordinal"
values = ["low", "middle", "high"]
"""
SCHEMAS = {
    "add-remove": Schema.parse(FACTS.format(table="")),
    "replace": Schema.parse(FACTS.format(table='adjacency = "replace"\nrows = 300')),
    "three rows a person": Schema.parse(FACTS.format(table='person = "who"\nrows_per_person = 3')),
}
MOVES = {"add-remove": (1, 1), "replace": (2, 2), "three rows a person": (9, 3)}
"""By how much one person moves a table: the square of the L2 distance, and the L1 distance. Written by hand."""


def clinic(rows: int = 300, seed: int = 2) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    sex = generator.choice(["f", "m"], rows)
    return pd.DataFrame(
        {
            "who": np.arange(rows) // 3,
            "sex": sex,
            "ward": np.where(sex == "f", "a", generator.choice(list("bcd"), rows)),
            "age": generator.integers(18, 90, rows),
            "stage": generator.choice(["low", "middle", "high"], rows),
        }
    )


METHODS = {
    "aim": AIM(1, 1e-6, workload="2-way", model="tree"),
    "aim, 3-way": AIM(3, 1e-9, workload="3-way", columns=["sex", "ward", "stage"]),
    "aim, both": AIM("0.4", "1e-9", model="both", bins="schema"),
    "aim, mixture": AIM(1, "1e-9", model="mixture"),
    "mst": MST(1, 1e-6),
}
each_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
each_schema = pytest.mark.parametrize("kind", SCHEMAS)


def spent(seen: Transcript, kind: str) -> tuple[float, float]:
    """mu of all Gaussian noise and rho of all choices, from what was drawn."""
    squared, moved = MOVES[kind]
    return math.sqrt(2 * seen.noise_rho(squared)), seen.choice_rho(moved)


def certified(seen: Transcript, kind: str, epsilon: float, delta: float) -> bool:
    """Whether the theorem, or plain zCDP, gives (epsilon, delta) for what was drawn; room for the lattice only."""
    mu, rho = spent(seen, kind)
    plain = mu * mu / 2 + rho <= float(zcdp_rho(epsilon, delta)) * (1 + 1e-9)
    return plain or run_delta(epsilon, mu, rho) <= delta * (1 + 1e-9)


def watched(method, kind: str, monkeypatch) -> Transcript:
    with monkeypatch.context() as patch:
        seen = watch(patch)
        sfumato.release(sfumato.read(clinic(), SCHEMAS[kind]), method, seed=11)
    return seen


@each_method
@each_schema
def test_what_is_drawn_costs_what_was_claimed_and_no_less(method, kind, monkeypatch):
    seen = watched(method, kind, monkeypatch)
    epsilon, delta = float(method.epsilon), float(method.delta)
    assert certified(seen, kind, epsilon, delta)
    mu, rho = spent(seen, kind)
    used_up = run_delta(epsilon, 1.005 * mu, 1.01 * rho) > delta
    assert used_up and mu * mu / 2 + rho > 0.99 * float(method.planned(SCHEMAS[kind]).budget().rho)
    assert {draw.law for draw in seen.draws} == {"gaussian"}
    assert min(draw.scale for draw in seen.draws) >= SMALLEST_SIGMA
    assert sum(draw.counts.size for draw in seen.draws) <= MOST_COORDINATES


@each_method
def test_nothing_is_drawn_before_the_ledger_has_it_and_it_is_charged_once(method, monkeypatch, tmp_path):
    schema = SCHEMAS["add-remove"]
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open_table(schema.name, epsilon=10, delta="1e-3", adjacency="add-remove")
    recorded: list[int] = []
    with monkeypatch.context() as patch:
        seen = watch(patch, before=lambda: recorded.append(len(ledger.history(schema.name))))
        sfumato.release(sfumato.read(clinic(), schema), method, ledger=ledger, seed=1)
    assert recorded and set(recorded) == {1}
    assert len(recorded) == len(seen.order) == len(seen.draws) + len(seen.choices)
    (entry,) = ledger.history(schema.name)
    assert entry.event.cost == (Fraction(str(method.epsilon)), Fraction(str(method.delta)))
    assert ledger.account(schema.name).spent_epsilon == entry.event.epsilon


def paid_but_half(self, counts, sigma, randomness):
    self.noise.spend(gaussian_rho(sigma, self.squared_sensitivity))
    return add_gaussian(counts * self.units, sigma * self.units / 2, randomness) / self.units


def free_choices(self, rho):
    """Every choice is as strong as if it were the only one; nothing is spent."""
    return Fraction(math.sqrt(8 * float(self.choices.total)))


true_init = Budget.__init__


def all_for_noise(self, *arguments):
    """The noise gets the whole budget, choices theirs on top."""
    true_init(self, *arguments)
    self.noise = ZCDPFilter(self.rho)


MUTANTS = {
    "half noise": ("measure", paid_but_half),
    "choices for free": ("pay_for_selection", free_choices),
    "choices not charged": ("__init__", all_for_noise),
}


@pytest.mark.parametrize("mutant", MUTANTS)
@pytest.mark.parametrize("name", ["aim", "mst"])
def test_mutants_of_the_budget_are_caught(name, mutant, monkeypatch):
    method = METHODS[name]
    monkeypatch.setattr(Budget, *MUTANTS[mutant])
    seen = watched(method, "add-remove", monkeypatch)
    assert not certified(seen, "add-remove", float(method.epsilon), float(method.delta))


@pytest.mark.parametrize("name", ["aim", "mst", "aim, mixture"])
def test_mutant_noise_that_is_not_paid_for_is_refused_by_the_budget_itself(name, monkeypatch):
    true_sigma = Budget.sigma
    monkeypatch.setattr(Budget, "sigma", lambda self, rho: true_sigma(self, rho) / 2)
    with pytest.raises(AccountingError, match="does not fit"):
        sfumato.release(sfumato.read(clinic(), SCHEMAS["add-remove"]), METHODS[name], seed=1)


@each_schema
def test_one_person_moves_counts_by_no_more_than_the_budget_thinks(kind):
    """Every neighbour of a small table, in every table of up to three columns; the bound is reached."""
    schema, frame = SCHEMAS[kind], clinic(12)
    names = ["sex", "ward", "age", "stage"]
    groupings, cliques = [identity_grouping(schema[name]) for name in names], [(0,), (1, 3), (2,), (0, 1, 3)]
    counted = count_cliques(sfumato.read(frame, schema), groupings, cliques)
    one = frame.iloc[[0]].assign(who=500)
    changed = {
        "add-remove": [frame.iloc[1:], pd.concat([frame, one])],
        "replace": [pd.concat([frame.iloc[1:], frame.iloc[[place]]]) for place in range(1, 12)],
        "three rows a person": [frame.iloc[3:], pd.concat([frame, one, one, one])],
    }[kind]
    squared, moved = [], []
    for neighbour in changed:
        other = count_cliques(sfumato.read(neighbour, schema), groupings, cliques)
        squared += [int(((counted[c] - other[c]) ** 2).sum()) for c in cliques]
        moved += [int(np.abs(counted[c] - other[c]).sum()) for c in cliques]
    stated = squared_sensitivity(schema), histogram_l1(schema.adjacency, schema.rows_per_person)
    assert (max(squared), max(moved)) == MOVES[kind] == stated


def test_a_budget_pays_before_it_draws_and_refuses_what_it_cannot(monkeypatch):
    made, drawn = Budget(1, "1e-9", Fraction(1, 10), 1), []
    monkeypatch.setattr(budgets, "add_gaussian", lambda counts, sigma, randomness: drawn.append(sigma) or counts)
    assert made.noise.total + made.choices.total == made.rho
    made.measure(np.arange(3), made.sigma(made.noise.total * Fraction(3, 4)), Randomness.of(1))
    assert made.share_left == pytest.approx(0.25)
    with pytest.raises(AccountingError, match="does not fit"):
        made.measure(np.arange(3), made.sigma(made.noise.total / 2), Randomness.of(1))
    with pytest.raises(AccountingError, match="does not fit"):
        made.pay_for_selection(made.choices.total * 2)
    made.pay_for_selection(made.choices.total)
    with pytest.raises(AccountingError, match="does not fit"):
        made.pay_for_selection(Fraction(1, 10**9))
    assert len(drawn) == 1


def test_a_run_of_more_cells_than_its_proof_covers_stops(monkeypatch):
    monkeypatch.setattr(budgets, "MOST_COORDINATES", 5)
    made = Budget(1, "1e-9", Fraction(0), 1)
    made.measure(np.arange(3), 1000.0, Randomness.of(1))
    with pytest.raises(AccountingError, match="more than 5 cells"):
        made.measure(np.arange(3), 1000.0, Randomness.of(1))


def test_noise_is_what_it_says_in_rows():
    """The standard deviation of 20,000 draws is within 5 standard errors of sigma, and fractions of rows occur."""
    made = Budget(1, "1e-9", Fraction(0), 1)
    sigma = made.sigma(made.noise.total)
    noise = made.measure(np.full(20_000, 7), sigma, Randomness.of(4)) - 7
    assert abs(noise.std() / sigma - 1) < 5 / math.sqrt(2 * 20_000)
    assert np.any(noise != np.rint(noise))
