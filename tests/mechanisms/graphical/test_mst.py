"""MST: a spanning tree of pairs, found where columns hang together, measured once."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from mechanisms.graphical.watching import QUICK, watch
from sfumato import MST, Schema
from sfumato.mechanisms.graphical import mst
from sfumato.mechanisms.graphical.budget import Budget
from sfumato.mechanisms.graphical.candidates import Candidates
from sfumato.mechanisms.graphical.coarsened_marginals import CoarsenedMarginal, Resolutions
from sfumato.mechanisms.graphical.fitted_model.fitted_model import FittedModel
from sfumato.mechanisms.graphical.junction_tree.linear_measurement import LinearMeasurement, StructuralZeros
from sfumato.mechanisms.graphical.junction_tree.mirror_descent import estimate
from sfumato.privacy.randomness import Randomness


def is_spanning_tree(edges: list[tuple[int, ...]], columns: int) -> bool:
    """d - 1 pairs from which every column can be reached."""
    reached, before = {0}, set[int]()
    while reached != before:
        before = set(reached)
        reached |= {place for edge in edges if reached & set(edge) for place in edge}
    return len(edges) == len(set(edges)) == columns - 1 and len(reached) == columns


def problem(codes: np.ndarray, sizes: tuple[int, ...]) -> Candidates:
    """Counts of every column and pair."""
    cliques = [(i,) for i in range(len(sizes))] + [(i, j) for i in range(len(sizes)) for j in range(i + 1, len(sizes))]
    counts = {}
    for clique in cliques:
        shape = tuple(sizes[i] for i in clique)
        cells = np.ravel_multi_index(tuple(codes[:, clique].T), shape)
        counts[clique] = np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)
    looks = {CoarsenedMarginal(clique): table for clique, table in counts.items()}
    return Candidates(Resolutions(sizes), float(len(codes)), looks, dict.fromkeys(looks, 1), 1)


def first_tables(given_problem: Candidates) -> list[LinearMeasurement]:
    ones = [(look.clique, counts) for look, counts in given_problem.counts.items() if len(look.clique) == 1]
    return [LinearMeasurement(clique, counts.astype(float), 1.0) for clique, counts in ones]


@settings(max_examples=40)
@given(st.lists(st.integers(1, 4), min_size=2, max_size=7), st.integers(0, 10**6), st.sampled_from(["0.01", 1, 50]))
def test_the_chosen_pairs_always_span_all_columns(sizes, seed, epsilon):
    generator = np.random.default_rng(seed)
    posed = problem(np.stack([generator.integers(0, size, 30) for size in sizes], axis=1), tuple(sizes))
    budget = Budget(epsilon, "1e-6", Fraction(1, 3), 1)
    found = mst.run_mst(posed, first_tables(posed), budget, QUICK, Randomness.of(seed))
    edges = [done.marginal.clique for done in found.rounds]
    assert is_spanning_tree(edges, len(sizes))
    assert [table.clique for table in found.measurements[len(sizes) :]] == edges
    assert budget.share_left < 1e-9 and budget.choices.left < budget.choices.total / 10**9


CHAIN = 6


def chain(rows: int = 4000) -> np.ndarray:
    """Each column follows the one before it, but for a tenth of the rows."""
    generator = np.random.default_rng(2)
    columns = [generator.integers(0, 3, rows)]
    for _ in range(CHAIN - 1):
        columns.append(np.where(generator.random(rows) < 0.1, generator.integers(0, 3, rows), columns[-1]))
    return np.stack(columns, axis=1)


def test_a_chain_of_dependence_is_found():
    posed = problem(chain(), (3,) * CHAIN)
    found = mst.run_mst(posed, first_tables(posed), Budget(5, "1e-9", Fraction(1, 3), 1), QUICK, Randomness.of(1))
    assert {done.marginal.clique for done in found.rounds} == {(i, i + 1) for i in range(CHAIN - 1)}


def test_without_a_budget_for_choices_any_tree_may_come():
    """The test above could fail: at a tiny epsilon the tree is hardly ever the chain."""
    posed = problem(chain(), (3,) * CHAIN)
    budgets = [Budget("0.001", "1e-9", Fraction(1, 3), 1) for _ in range(5)]
    found = [
        mst.run_mst(posed, first_tables(posed), budget, QUICK, Randomness.of(seed))
        for seed, budget in enumerate(budgets)
    ]
    trees = [{done.marginal.clique for done in one.rounds} for one in found]
    assert len({frozenset(tree) for tree in trees}) > 1


NAMES = [f"c{i}" for i in range(CHAIN)]
SCHEMA = Schema.parse(
    "[table]\nname = 'chain'\n"
    + "".join(f"[columns.{name}]\nkind = 'category'\nvalues = ['0', '1', '2']\n" for name in NAMES)
)
FRAME = pd.DataFrame(chain().astype(str), columns=NAMES)


def test_neighbours_in_the_chain_agree_in_the_release_and_its_model_can_be_drawn_again(tmp_path):
    made = sfumato.release(sfumato.read(FRAME, SCHEMA), MST(3), seed=1)
    assert len(made.statistics["measured_tables"]) == CHAIN - 1
    assert made.statistics["rounds"] == CHAIN - 1
    for left, right in pairwise(NAMES):
        true, ours = (float((data[left] == data[right]).mean()) for data in (FRAME, made.data))
        assert abs(true - ours) < 0.06
    again = FittedModel.load(made.model.save(tmp_path / "model.sfumato"))
    assert again.sample(100, seed=2).equals(made.model.sample(100, seed=2))


def test_choices_come_before_measurements_and_no_pair_is_measured_twice(monkeypatch):
    seen = watch(monkeypatch)
    sfumato.release(sfumato.read(FRAME, SCHEMA), MST(1), seed=1)
    assert seen.order == ["draw"] * CHAIN + ["choice"] * (CHAIN - 1) + ["draw"] * (CHAIN - 1)
    offered = [len(choice.deficits) for choice in seen.choices]
    assert offered[0] == CHAIN * (CHAIN - 1) // 2 and offered == sorted(offered, reverse=True)


@pytest.mark.parametrize("columns", [NAMES[:2], [NAMES[4], NAMES[1], NAMES[0]]])
def test_chosen_columns_come_in_the_order_of_the_schema(columns):
    made = sfumato.release(sfumato.read(FRAME, SCHEMA), MST(1, columns=columns), rows=10, seed=1)
    assert list(made.data.columns) == sorted(columns)
    assert len(made.data) == 10


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_many_columns_choose_the_same_tree_as_few_do(seed, monkeypatch):
    """Scores that are computed once, block by block, are those of every choice: the same law, draw by draw."""
    posed = problem(chain(), (3,) * CHAIN)
    asked: list[int] = []

    def count(looks):
        asked.append(len(looks))
        return {look: posed.counts[look] for look in looks}

    wide = dataclasses.replace(posed, counts={}, count=count)
    trees = []
    for few, each in ((2000, posed), (0, wide)):
        monkeypatch.setattr(mst, "FEW_PAIRS", few)
        monkeypatch.setattr(mst, "BLOCK_PAIRS", 4)
        budget = Budget(1, "1e-9", Fraction(1, 3), 1)
        found = mst.run_mst(each, first_tables(posed), budget, QUICK, Randomness.of(seed))
        trees.append(
            [
                (done.marginal, table.noisy_counts.tolist())
                for done, table in zip(found.rounds, found.measurements[CHAIN:], strict=True)
            ]
        )
    assert trees[0] == trees[1]
    assert asked == [4, 4, 4, 3, CHAIN - 1], "no block is larger than it may be, and the tree is counted at the end"


def test_pairs_that_a_rule_ties_are_scored_by_the_model_and_not_as_a_product():
    posed = problem(chain(), (3,) * CHAIN)
    allowed = np.eye(3, dtype=bool)
    model = estimate(posed.sizes, first_tables(posed), posed.total, [StructuralZeros((0, 1), allowed)])
    products = mst.ProductMarginals(model)
    for pair in (CoarsenedMarginal((0, 1)), CoarsenedMarginal((0, 2)), CoarsenedMarginal((3, 5))):
        np.testing.assert_allclose(products.table(pair, posed.resolutions), model.marginal(pair.clique), atol=1e-6)


def test_a_thousand_columns_are_planned_within_two_gigabytes():
    facts = "".join(f"[columns.c{i}]\nkind = 'category'\nvalues = ['a', 'b']\n" for i in range(1000))
    plan = MST(1).planned(Schema.parse(f"[table]\nname = 'wide'\n{facts}"))
    plan.refuse()
    assert len(plan.weights) == 500_500 and plan.in_blocks
    assert plan.memory(20_000) < 2e9
