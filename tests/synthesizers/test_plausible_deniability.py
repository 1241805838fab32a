"""The method: its draws follow the exact law, its counting equals a scan, and bad input costs nothing."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import sfumato
from sfumato import Ledger, PlausibleDeniability
from sfumato.errors import PlanError, TableError
from sfumato.privacy.randomness import Randomness
from sfumato.releases.tree import Edge, TreeModel
from sfumato.schema import Column, Schema
from sfumato.synthesizers.deniability_attempt import attempt
from sfumato.synthesizers.deniability_law import PrivacyTest, cell_index, output_law
from sfumato.synthesizers.proposals import KernelModel, SeedModel, Seeds
from sfumato.table.draft import draft_schema
from statistical.laws import ALPHA

SIZES = (2, 3, 2)
DRAWS = 60_000
NAMES = ("a", "b", "c")
DOMAIN = np.array(list(itertools.product(*map(range, SIZES))))


@pytest.fixture
def tree() -> TreeModel:
    rng = np.random.default_rng(3)
    shares = {name: rng.dirichlet(np.ones(size)) for name, size in zip(NAMES, SIZES, strict=True)}
    edges = (Edge("a", "b", 1.0), Edge("b", "c", 1.0))
    tables = {("a", "b"): rng.dirichlet(np.ones(3), 2), ("b", "c"): rng.dirichlet(np.ones(2), 3)}
    return TreeModel(shares, edges, tables)


def seed_proposals(tree: TreeModel, keep) -> np.ndarray:
    """p_s(y) from the words of the model: draw how many attributes stay, then draw the others one after the other."""
    model = SeedModel(NAMES, tree, keep)
    matrix = np.zeros((len(DOMAIN), len(DOMAIN)))
    for (i, s), (j, y), (kept, weight) in itertools.product(enumerate(DOMAIN), enumerate(DOMAIN), enumerate(keep)):
        p = weight
        for step, name in enumerate(model.order):
            at = NAMES.index(name)
            parent = tree.parents.get(name)
            given = 0 if parent is None else y[NAMES.index(parent)]
            p *= float(s[at] == y[at]) if step < kept else tree.table(name)[given, y[at]]
        matrix[i, j] += p
    return matrix


def kernel_proposals(model: KernelModel) -> np.ndarray:
    return np.array([[np.prod([k[a, b] for k, a, b in zip(model.kernels, s, y, strict=True)]) for y in DOMAIN]
                     for s in DOMAIN])  # fmt: skip


def some_seeds(rows: int) -> tuple[Seeds, np.ndarray]:
    drawn = np.random.default_rng(4).choice(len(DOMAIN), rows, p=np.arange(1, 13) / 78)
    counts = np.bincount(drawn, minlength=len(DOMAIN))
    present = np.flatnonzero(counts)
    return Seeds(DOMAIN[present], counts[present]), drawn


def kernel_model() -> KernelModel:
    columns = (Column("a", "category", values=("x", "y")), Column("b", "integer", bounds=(0, 2)),
               Column("c", "category", values=("x", "y")))  # fmt: skip
    return KernelModel.of(Schema(name="t", columns=columns), NAMES, bandwidth=1.0, stay=0.8)


def drawn_p(model, proposals, rows: int, test: PrivacyTest, claimed: PrivacyTest) -> float:
    """Chi-square of released rows against the exact law of the claimed test."""
    seeds, drawn = some_seeds(rows)
    prior = np.full(len(DOMAIN), 1 / len(DOMAIN))
    randomness = Randomness.of(8)
    fallback = DOMAIN[np.random.default_rng(9).choice(len(DOMAIN), DRAWS, p=prior)]
    released = attempt(seeds, model, fallback, test, randomness)
    found = np.bincount(np.ravel_multi_index(released.T, SIZES), minlength=len(DOMAIN))
    law = output_law(drawn, proposals, k=claimed.k, gamma=claimed.gamma, epsilon0=claimed.epsilon0, prior=prior)
    return float(stats.chisquare(found, law * DRAWS).pvalue)


@pytest.mark.statistical
@pytest.mark.parametrize("rows", [12, 40, 200])
@pytest.mark.parametrize("kind", ["seed", "kernel"])
def test_what_is_released_follows_the_exact_law(kind, rows, tree):
    """alpha 1e-6, n = 60,000 draws: below k, around it and above it; a mutant with another k is caught."""
    keep = (0.2, 0.3, 0.5)
    model = SeedModel(NAMES, tree, keep) if kind == "seed" else kernel_model()
    proposals = seed_proposals(tree, keep) if kind == "seed" else kernel_proposals(model)
    assert proposals.sum(axis=1) == pytest.approx(1)
    test = PrivacyTest(k=20, gamma=2.0, epsilon0=0.2, t=5)
    assert drawn_p(model, proposals, rows, test, test) > ALPHA
    assert drawn_p(model, proposals, rows, replace(test, k=6), test) < ALPHA


@pytest.mark.parametrize("gamma", [1.3, 2.0, 5.0])
@pytest.mark.parametrize("kind", ["seed", "kernel"])
def test_counting_equals_a_scan(kind, gamma, tree):
    keep = (0.1, 0.0, 0.4, 0.5)
    model = SeedModel(NAMES, tree, keep) if kind == "seed" else kernel_model()
    with np.errstate(divide="ignore"):
        cells = cell_index(np.log(seed_proposals(tree, keep) if kind == "seed" else kernel_proposals(model)), gamma)
    seeds, drawn = some_seeds(300)
    rng = np.random.default_rng(1)
    own = rng.choice(drawn, 500)
    candidates = model.propose(DOMAIN[own], rng)
    found = model.plausible(seeds, DOMAIN[own], candidates, gamma)
    at = np.ravel_multi_index(candidates.T, SIZES)
    assert found.tolist() == [int((cells[drawn, y] == cells[s, y]).sum()) for s, y in zip(own, at, strict=True)]


def test_candidates_outside_the_table_are_counted_too(tree):
    """A level that no row of the table holds must not be mistaken for another group."""
    seeds = Seeds(np.array([[0, 0, 0], [1, 0, 0]]), np.array([5, 7]))
    model = SeedModel(NAMES, tree, (0.5, 0.0, 0.0, 0.5))
    own = np.array([[1, 0, 0]] * 12)
    found = model.plausible(seeds, own, DOMAIN, 2.0)
    assert found[np.ravel_multi_index((1, 0, 0), SIZES)] == 7
    assert found[np.ravel_multi_index((1, 2, 1), SIZES)] == 12


def test_secure_draws_come_from_the_operating_system():
    assert not np.array_equal(Randomness.of(None).uniform.random(5), Randomness.of(None).uniform.random(5))
    drawn = Randomness.of(None).uniform.random(20_000)
    assert 0 <= drawn.min() < 0.01 < 0.99 < drawn.max() < 1


def test_a_stated_test_costs_what_its_records_compose_to(schema):
    method = PlausibleDeniability(k=50, gamma=4, epsilon0=1, delta=1e-9, model="kernel")
    assert method.privacy_test().t == 29
    plan = sfumato.plan(schema, method, rows=10)
    one = method.privacy_test().epsilon
    assert float(plan.epsilon) <= 10 * one + 1e-9
    assert (
        sfumato.plan(schema, method, rows=100, allow_weak=True).events[0].cost[0]
        > sfumato.plan(schema, method, rows=10).events[0].cost[0]
    )


def test_replace_costs_the_same(schema, frame):
    public = replace(schema, adjacency="replace", rows=len(frame))
    method = PlausibleDeniability(epsilon=20, delta="1e-5", model="kernel", columns=["age", "sex"])
    ours, theirs = sfumato.plan(schema, method), sfumato.plan(public, method)
    assert (ours.epsilon, ours.delta) == (theirs.epsilon, theirs.delta)
    assert ours.stages == theirs.stages


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 20, "k": 5}, "either"),
        ({"epsilon": 20, "gamma": 1}, "gamma"),
        ({"k": 50, "epsilon0": 1, "gamma": 0.5}, "gamma"),
        ({"k": 50, "epsilon0": 1, "t": 51}, "below k"),
        ({"k": 50, "epsilon0": 1, "t": 50}, "below k"),
        ({"k": 5, "epsilon0": 1, "delta": 1e-9}, "k must be at least"),
        ({"k": 50}, "epsilon0"),
        ({}, "k and epsilon0"),
        ({"epsilon": 20, "model": "magic"}, "magic"),
        ({"epsilon": 20, "delta": 0}, "delta"),
        ({"epsilon": 20, "keep": -1}, "keep"),
        ({"epsilon": 20, "model_share": 1}, "model_share"),
    ],
)
def test_bad_parameters_have_a_name(parameters, message):
    with pytest.raises(PlanError, match=message):
        PlausibleDeniability(**parameters)


def test_a_table_that_is_too_small_is_refused_and_nothing_is_spent(schema, frame, tmp_path):
    book = Ledger(tmp_path / "ledger.db")
    book.open_table(schema.name, epsilon=10_000, delta="0.1", adjacency=schema.adjacency)
    hungry = PlausibleDeniability(k=700, gamma=2, epsilon0=1, delta=1e-9)
    with pytest.raises(TableError, match=r"too small.*600 rows.*k = 700"):
        sfumato.release(sfumato.read(frame, schema), hungry, ledger=book, allow_weak=True)
    with pytest.raises(TableError, match=r"too small(.|\n)*fewer rows"):
        sfumato.release(sfumato.read(frame, schema), PlausibleDeniability(epsilon=1), rows=1000, ledger=book)
    assert book.history() == ()
    public = replace(schema, adjacency="replace", rows=600)
    with pytest.raises(PlanError, match="too small"):
        sfumato.plan(public, hungry)


def test_one_person_with_several_rows_is_refused(schema):
    shared = replace(schema, person="region", rows_per_person=3)
    with pytest.raises(PlanError, match="3 rows"):
        sfumato.plan(shared, PlausibleDeniability(epsilon=20))


def test_passing_and_failing_leave_no_trace(schema, frame):
    """Neither the statistics nor the plan may depend on how many attempts failed."""
    method = PlausibleDeniability(epsilon=20, delta="1e-5", columns=["age", "sex"], keep=1)
    made = sfumato.release(sfumato.read(frame, schema), method, seed=1)
    assert not any("fail" in key or "pass" in key for key in made.statistics)
    assert len(made.data) == 100
    empty = sfumato.release(sfumato.read(frame.assign(age=18, sex="f", hours=None), schema.replace_columns({})),
                            method, seed=1)  # fmt: skip
    assert set(empty.statistics) == set(made.statistics)


def test_adult_in_under_a_minute(shared_data):
    """1000 rows from 48,842, sixteen columns, on one core."""
    path = str(shared_data / "adult.csv.gz")
    schema = replace(draft_schema(path, "adult"), is_draft=False)
    start = time.process_time()
    made = sfumato.release(sfumato.read(path, schema), PlausibleDeniability(epsilon=8, delta="1e-5"), rows=1000)
    assert time.process_time() - start < 60
    assert len(made.data) == 1000
    assert sfumato.read(made.data, schema).check() == ()
