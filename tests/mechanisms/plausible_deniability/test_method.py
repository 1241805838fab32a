"""The method: its draws follow the exact law, its counting equals a scan, and bad input costs nothing."""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import sfumato
from sfumato import Ledger, PlausibleDeniability
from sfumato.errors import PlanError
from sfumato.mechanisms.plausible_deniability.privacy_test import (
    PrivacyTest,
    cell_index,
    hockey_stick_divergence,
    output_distribution,
    pass_probability,
    prior_share,
)
from sfumato.mechanisms.plausible_deniability.proposals import KernelProposal, PrefixProposal, SeedRows, attempt_rows
from sfumato.mechanisms.plausible_deniability.seed_counting import DEAREST, cell_width, whole_costs
from sfumato.mechanisms.tree_model import TreeEdge, TreeModel
from sfumato.privacy.randomness import Randomness
from sfumato.schema import Column, Schema
from sfumato.table.drafting.draft import draft_schema
from statistical.laws import ALPHA

SIZES = (2, 3, 2)
DRAWS = 60_000
NAMES = ("a", "b", "c")
DOMAIN = np.array(list(itertools.product(*map(range, SIZES))))


@pytest.fixture
def tree() -> TreeModel:
    rng = np.random.default_rng(3)
    shares = {name: rng.dirichlet(np.ones(size)) for name, size in zip(NAMES, SIZES, strict=True)}
    edges = (TreeEdge("a", "b", 1.0), TreeEdge("b", "c", 1.0))
    tables = {("a", "b"): rng.dirichlet(np.ones(3), 2), ("b", "c"): rng.dirichlet(np.ones(2), 3)}
    return TreeModel(shares, edges, tables)


def seed_proposals(tree: TreeModel, keep) -> np.ndarray:
    """p_s(y) from the words of the model: draw how many attributes stay, then draw the others one after the other."""
    model = PrefixProposal(NAMES, tree, keep)
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


def kernel_proposals(model: KernelProposal) -> np.ndarray:
    return np.array(
        [[np.prod([k[a, b] for k, a, b in zip(model.kernels, s, y, strict=True)]) for y in DOMAIN] for s in DOMAIN]
    )


def some_seeds(rows: int) -> tuple[SeedRows, np.ndarray]:
    drawn = np.random.default_rng(4).choice(len(DOMAIN), rows, p=np.arange(1, 13) / 78)
    counts = np.bincount(drawn, minlength=len(DOMAIN))
    present = np.flatnonzero(counts)
    return SeedRows(DOMAIN[present], counts[present]), drawn


def kernel_model() -> KernelProposal:
    columns = (
        Column("a", "category", values=("x", "y")),
        Column("b", "integer", bounds=(0, 2)),
        Column("c", "category", values=("x", "y")),
    )
    return KernelProposal.of(Schema(name="t", columns=columns), NAMES, bandwidth=1.0, stay=0.8)


def drawn_p(model, proposals, rows: int, test: PrivacyTest, claimed: PrivacyTest) -> float:
    """Chi-square of released rows against the exact law of the claimed test."""
    seeds, drawn = some_seeds(rows)
    prior = np.full(len(DOMAIN), 1 / len(DOMAIN))
    randomness = Randomness.of(8)
    fallback = DOMAIN[np.random.default_rng(9).choice(len(DOMAIN), DRAWS, p=prior)]
    released = attempt_rows(seeds, model, fallback, test, randomness)
    found = np.bincount(np.ravel_multi_index(released.T, SIZES), minlength=len(DOMAIN))
    law = output_distribution(
        drawn, proposals, k=claimed.k, gamma=claimed.gamma, epsilon0=claimed.epsilon0, prior=prior
    )
    return float(stats.chisquare(found, law * DRAWS).pvalue)


@pytest.mark.statistical
@pytest.mark.parametrize("rows", [12, 40, 200])
@pytest.mark.parametrize("kind", ["seed", "kernel"])
def test_what_is_released_follows_the_exact_law(kind, rows, tree):
    """alpha 1e-6, n = 60,000 draws: below k, around it and above it; a mutant with another k is caught."""
    keep = (0.2, 0.3, 0.5)
    model = PrefixProposal(NAMES, tree, keep) if kind == "seed" else kernel_model()
    proposals = seed_proposals(tree, keep) if kind == "seed" else kernel_proposals(model)
    assert proposals.sum(axis=1) == pytest.approx(1)
    test = PrivacyTest(k=20, gamma=2.0, epsilon0=0.2, t=5)
    assert drawn_p(model, proposals, rows, test, test) > ALPHA
    assert drawn_p(model, proposals, rows, replace(test, k=6), test) < ALPHA


@pytest.mark.parametrize("gamma", [1.3, 2.0, 5.0])
@pytest.mark.parametrize("kind", ["seed", "kernel"])
def test_counting_equals_a_scan(kind, gamma, tree):
    keep = (0.1, 0.0, 0.4, 0.5)
    model = PrefixProposal(NAMES, tree, keep) if kind == "seed" else kernel_model()
    with np.errstate(divide="ignore"):
        cells = cell_index(np.log(seed_proposals(tree, keep) if kind == "seed" else kernel_proposals(model)), gamma)
    seeds, drawn = some_seeds(300)
    rng = np.random.default_rng(1)
    own = rng.choice(drawn, 500)
    candidates = model.propose(DOMAIN[own], rng)
    found = model.plausible(seeds, DOMAIN[own], candidates, gamma)
    at = np.ravel_multi_index(candidates.T, SIZES)
    assert found.tolist() == [int((cells[drawn, y] == cells[s, y]).sum()) for s, y in zip(own, at, strict=True)]


BANDWIDTH = 1.0955790961432328
"""At gamma 2 a float sum of costs lies on the end of a cell in one order of the columns, and below it in another."""
NEAR_A_CELL_END = (3, 9, 6)
ALIKE = {
    "one": ({(0, 8, 8): 60, (6, 8, 7): 60, (1, 0, 7): 4, (7, 2, 11): 11, (0, 10, 11): 9, (4, 4, 1): 5}, (0, 7, 1)),
    "two": (
        {
            (0, 8, 8): 600,
            (5, 9, 9): 600,
            (1, 1, 2): 31,
            (2, 10, 11): 132,
            (6, 3, 10): 6,
            (7, 4, 11): 45,
            (5, 3, 0): 2,
            (3, 10, 2): 4,
        },
        (0, 8, 1),
    ),
}
"""Pairs of neighbours, as rows with their counts and the record that is added: it flips the order of the columns."""


def whole_numbers() -> KernelProposal:
    columns = tuple(Column(name, "integer", bounds=(0, most)) for name, most in zip(NAMES, (9, 10, 11), strict=True))
    return KernelProposal.of(Schema(name="t", columns=columns), NAMES, bandwidth=BANDWIDTH, stay=0.8)


def seeds_of(rows: dict[tuple[int, ...], int]) -> SeedRows:
    return SeedRows.of(np.array(list(rows)), np.array(list(rows.values())))


@pytest.mark.parametrize("pair", list(ALIKE))
def test_one_record_moves_the_count_of_a_cell_by_at_most_one(pair):
    """The order in which columns are added up follows the private rows; the sum must not."""
    rows, record = ALIKE[pair]
    model, own = whole_numbers(), np.array(list(rows))
    candidates = np.tile(NEAR_A_CELL_END, (len(own), 1))
    alone = model.plausible(seeds_of(rows), own, candidates, 2.0)
    more = model.plausible(seeds_of(rows | {record: rows.get(record, 0) + 1}), own, candidates, 2.0)
    assert ((more - alone >= 0) & (more - alone <= 1)).all()


def law_of_a_row(model: KernelProposal, table: SeedRows, test: PrivacyTest) -> np.ndarray:
    """The exact law of one released row, from the counts that the program itself finds for every seed and record."""
    domain = np.array(list(itertools.product(*(range(len(kernel)) for kernel in model.kernels))))
    own = np.repeat(table.codes, len(domain), axis=0)
    candidates = np.tile(domain, (len(table.codes), 1))
    counts = model.plausible(table, own, candidates, test.gamma).reshape(len(table.codes), -1)
    p = np.prod([kernel[own[:, i], candidates[:, i]] for i, kernel in enumerate(model.kernels)], axis=0)
    passes = pass_probability(counts, test.k, test.epsilon0)
    places = max(table.total, test.k)
    released = (table.counts[:, None] * p.reshape(counts.shape) * passes).sum(axis=0) / places
    prior, share = np.full(len(domain), 1 / len(domain)), prior_share(test.k, test.gamma, test.epsilon0)
    return (1 - share) * (released + (1 - released.sum()) * prior) + share * prior


def test_the_exact_law_of_neighbours_keeps_the_guarantee():
    """Every record of the domain, k between the two counts that an order of columns could give: 9e-4 with floats."""
    rows, record = ALIKE["two"]
    test, model = PrivacyTest(k=900, gamma=2.0, epsilon0=0.2, t=800), whole_numbers()
    laws = [law_of_a_row(model, seeds_of(table), test) for table in (rows, rows | {record: 1})]
    assert laws[0].sum() == pytest.approx(1)
    assert hockey_stick_divergence(*laws, test.epsilon) <= test.delta < 3e-9


@given(data=st.data())
@settings(max_examples=60)
def test_cells_are_those_of_whole_costs_in_any_order(data):
    """Counts equal a scan with Python's whole numbers, columns added up in the order of the schema."""
    gamma = data.draw(st.sampled_from([1.000001, 1.3, 2.0, 64.0]))
    bandwidth = data.draw(st.sampled_from([0.001, 0.7, BANDWIDTH, 5.0]))
    columns = tuple(Column(name, "integer", bounds=(0, most)) for name, most in zip(NAMES, (2, 5, 3), strict=True))
    model = KernelProposal.of(Schema(name="t", columns=columns), NAMES, bandwidth, 0.8)
    rows = data.draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5), st.integers(0, 3)), min_size=1))
    own = np.array(rows)
    candidates = model.propose(own, np.random.default_rng(data.draw(st.integers(0, 99))))
    found = model.plausible(SeedRows.of(*np.unique(own, axis=0, return_counts=True)), own, candidates, gamma)
    costs, width = whole_costs(model.kernels), cell_width(gamma, 3)

    def cell(seed: np.ndarray, candidate: np.ndarray) -> int | None:
        terms = [int(costs[i, candidate[i], seed[i]]) for i in range(3)]
        return None if max(terms) > 3 * DEAREST else sum(terms) // width

    expected = [sum(cell(other, y) == cell(s, y) for other in own) for s, y in zip(own, candidates, strict=True)]
    assert found.tolist() == expected


@pytest.mark.parametrize("gamma", [1.000001, 1.3, 2.0, 1e9])
def test_two_costs_of_one_cell_differ_by_a_factor_of_gamma_at_most(gamma):
    """In exact terms: the widest difference within a cell, plus what rounding can hide in each of d columns."""
    for columns in (1, 3, 1000):
        width = cell_width(gamma, columns)
        assert width >= 1
        assert width - 1 + columns <= math.log(gamma) * 2**40


def test_candidates_outside_the_table_are_counted_too(tree):
    """A level that no row of the table holds must not be mistaken for another group."""
    seeds = SeedRows(np.array([[0, 0, 0], [1, 0, 0]]), np.array([5, 7]))
    model = PrefixProposal(NAMES, tree, (0.5, 0.0, 0.0, 0.5))
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
        ({"epsilon": "1e-300"}, "epsilon must"),
        ({"epsilon": 1e-300}, "epsilon must"),
        ({"epsilon": 1e300}, "epsilon must"),
        ({"epsilon": 10**400}, "epsilon must"),
        ({"epsilon": float("nan")}, "epsilon must"),
        ({"epsilon": True}, "epsilon must"),
        ({"epsilon": [1]}, "epsilon must"),
        ({"epsilon": 20, "gamma": 10**400}, "gamma must"),
        ({"epsilon": 20, "gamma": "two"}, "gamma must"),
        ({"epsilon": 20, "bandwidth": 0}, "bandwidth must"),
        ({"epsilon": 20, "bandwidth": "1e-30"}, "bandwidth must"),
        ({"epsilon": 20, "delta": "1e-299"}, "delta must"),
        ({"epsilon": 20, "model_epsilon": -1}, "model_epsilon must"),
        ({"epsilon": 20, "columns": [["age", "sex"]]}, "columns must be a list of names"),
        ({"epsilon": 20, "columns": {"age": 1}}, "columns must be a list of names"),
        ({"epsilon": 20, "columns": []}, "no column"),
        ({"k": "50.5", "epsilon0": 1}, "k must be a whole number"),
        ({"k": 50, "epsilon0": [1]}, "epsilon0 must"),
        ({"k": 50, "epsilon0": 1, "t": "five"}, "t must be a finite number"),
    ],
)
def test_bad_parameters_have_a_name(parameters, message):
    with pytest.raises(PlanError, match=message):
        PlausibleDeniability(**parameters)


def test_all_bad_parameters_are_listed_at_once():
    with pytest.raises(PlanError) as caught:
        PlausibleDeniability(epsilon=-1, delta=2, gamma=None, columns=[3], keep=0.5, model="magic")  # type: ignore[arg-type]
    assert len(caught.value.problems) == 6


@pytest.mark.parametrize("epsilon", ["0.001", 1e3, 1e6])
def test_an_odd_budget_is_planned_or_refused_by_name(epsilon, schema):
    method = PlausibleDeniability(epsilon=epsilon, columns=["age"])
    try:
        assert sfumato.plan(schema, method, rows=1, allow_weak=True).epsilon
    except PlanError as error:
        assert "cannot pay" in str(error)


def test_a_public_number_of_rows_below_k_is_refused_in_the_plan(schema):
    public = replace(schema, adjacency="replace", rows=600)
    with pytest.raises(PlanError, match=r"too small.*600 rows.*k = 700"):
        sfumato.plan(public, PlausibleDeniability(k=700, gamma=2, epsilon0=1, delta=1e-9))
    with pytest.raises(PlanError, match=r"too small(.|\n)*fewer rows"):
        sfumato.plan(public, PlausibleDeniability(epsilon=1), rows=1000)


@pytest.mark.parametrize("model", ["seed", "kernel"])
@pytest.mark.parametrize("rows", [0, 1, 30, 600])
def test_a_private_number_of_rows_is_neither_refused_nor_told(rows, model, schema, frame, tmp_path):
    """The theorem covers tables below k, so nothing that is said or recorded may depend on their size."""
    book = Ledger(tmp_path / "ledger.db")
    book.open_table(schema.name, epsilon=10_000, delta="0.1", adjacency=schema.adjacency)
    method = PlausibleDeniability(k=700, gamma=2, epsilon0=1, delta=1e-9, columns=["age", "sex"], model=model)
    made = sfumato.release(sfumato.read(frame.head(rows), schema), method, rows=20, ledger=book, allow_weak=True)
    assert len(made.data) == 20
    assert made.plan == sfumato.plan(schema, method, rows=20, ledger=None, allow_weak=True).model_copy(
        update={"left_before": made.plan.left_before, "left_after": made.plan.left_after}
    )
    assert any("k = 700" in note for note in made.notes)


def test_identifiers_are_never_released(schema):
    """The kernel model measures nothing, so it must look at the roles by itself."""
    named = schema.replace_columns({"sex": {"role": "identifier"}})
    for model in ("seed", "kernel"):
        method = PlausibleDeniability(epsilon=20, columns=["age", "sex"], model=model)
        with pytest.raises(PlanError, match="identifies people"):
            sfumato.plan(named, method)


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
    empty = sfumato.release(
        sfumato.read(frame.assign(age=18, sex="f", hours=None), schema.replace_columns({})), method, seed=1
    )
    assert set(empty.statistics) == set(made.statistics)


def test_adult_in_under_a_minute(shared_data):
    """1000 rows from 48,842, sixteen columns, on one core."""
    path = str(shared_data / "adult.csv.gz")
    schema = draft_schema(path, "adult").confirm(accept_unchanged=True, person=False)
    start = time.process_time()
    made = sfumato.release(sfumato.read(path, schema), PlausibleDeniability(epsilon=8, delta="1e-5"), rows=1000)
    assert time.process_time() - start < 60
    assert len(made.data) == 1000
    assert sfumato.read(made.data, schema).check() == ()
