"""Looks: which tables are offered at which resolution, and that counts and models agree on what a look is."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from mechanisms.graphical.brute_force import sum_to_coarser
from sfumato import AIM, Schema
from sfumato.mechanisms.graphical import candidates as candidates_module
from sfumato.mechanisms.graphical.aim import offers_larger
from sfumato.mechanisms.graphical.candidates import count_candidates
from sfumato.mechanisms.graphical.coarsened_marginals import (
    CoarsenedMarginal,
    Resolutions,
    candidate_marginals,
    candidate_weight,
    model_marginals,
)
from sfumato.mechanisms.graphical.domain_compression import Grouping, nested_groups
from sfumato.mechanisms.graphical.junction_tree.linear_measurement import LinearMeasurement
from sfumato.mechanisms.graphical.junction_tree.mirror_descent import estimate

EIGHT = nested_groups(np.ones(32), np.zeros((32, 32)), 8, 1.5)
SIX = nested_groups(np.ones(32), np.zeros((32, 32)), 5, 1.5).with_missing()
RESOLUTIONS = Resolutions((8, 6, 3, 8), (EIGHT.coarser, SIX.coarser, {}, EIGHT.coarser))


def test_a_look_sums_the_columns_that_have_its_resolution():
    assert RESOLUTIONS.shape(CoarsenedMarginal((0, 1, 2))) == (8, 6, 3)
    assert RESOLUTIONS.shape(CoarsenedMarginal((0, 1, 2), 4)) == (4, 5, 3), (
        "missing stays a group, categories keep their levels"
    )
    assert RESOLUTIONS.shape(CoarsenedMarginal((0, 1, 2), 2)) == (2, 3, 3)
    assert RESOLUTIONS.query(CoarsenedMarginal((2,), 2)) is None


def test_pairs_are_offered_at_about_half_their_groups_and_larger_sets_at_few():
    offered = candidate_marginals([(2,), (0, 3), (0, 1, 3), (0, 1, 2, 3)], RESOLUTIONS, 100)
    assert [look for look in offered if look.clique == (2,)] == [CoarsenedMarginal((2,))]
    assert [look.groups for look in offered if look.clique == (0, 3)] == [None, 4]
    assert [look.groups for look in offered if look.clique == (0, 1, 3)] == [4, 2]
    assert [look.groups for look in offered if len(look.clique) == 4] == [2], "4 x 5 x 3 x 4 cells are too many"


def test_coarser_looks_at_pairs_weigh_a_little_less():
    assert candidate_weight(CoarsenedMarginal((0, 3)), 1000) == 1000
    assert candidate_weight(CoarsenedMarginal((0, 3), 4), 1000) == 850
    assert candidate_weight(CoarsenedMarginal((0, 1, 3), 4), 500) == 500


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.lists(st.sampled_from(list(combinations(range(4), 2))), min_size=1, max_size=4))
def test_what_a_model_says_of_a_look_is_its_table_summed(seed, cliques):
    """Also of columns that share no clique: coarse answers are the sums of the fine ones."""
    generator = np.random.default_rng(seed)
    sizes = RESOLUTIONS.sizes
    shapes = {clique: tuple(sizes[c] for c in clique) for clique in set(cliques)}
    tables = [LinearMeasurement(c, generator.exponential(10, shape), 1.0) for c, shape in shapes.items()]
    model = estimate(sizes, tables, 500.0, most_steps=5)
    wanted = [
        CoarsenedMarginal(clique, groups)
        for n in (1, 2, 3, 4)
        for clique in combinations(range(4), n)
        for groups in (None, 4, 2)
    ]
    for look, found in model_marginals(model, wanted, RESOLUTIONS).items():
        assert np.allclose(found, sum_to_coarser(model.marginal(look.clique), RESOLUTIONS.query(look)))


SCHEMA = Schema.parse("""
[table]
name = "t"
[columns.x]
kind = "number"
bounds = [0.0, 32.0]
bins = 32
[columns.y]
kind = "number"
bounds = [0.0, 32.0]
bins = 32
missing = true
[columns.z]
kind = "category"
values = ["a", "b", "c"]
""")


def test_true_counts_of_looks_are_those_of_the_rows():
    """Counted at the finest of each order and summed, against counting by hand at every resolution."""
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "x": generator.uniform(0, 32, 400),
            "y": generator.uniform(0, 32, 400),
            "z": generator.choice(list("abc"), 400),
        }
    )
    frame.loc[:20, "y"] = np.nan
    groupings = [
        Grouping(SCHEMA["x"], EIGHT.groups, np.full(32, 0.25), 8),
        Grouping(SCHEMA["y"], SIX.groups, _even(SIX.groups), 6),
        Grouping(SCHEMA["z"], np.arange(3, dtype=np.int32), np.ones(3), 3),
    ]
    resolutions = Resolutions((8, 6, 3), (EIGHT.coarser, SIX.coarser, {}))
    wanted = [
        CoarsenedMarginal((0, 1)),
        CoarsenedMarginal((0, 1), 4),
        CoarsenedMarginal((0, 1, 2), 4),
        CoarsenedMarginal((0, 1, 2), 2),
        CoarsenedMarginal((2,)),
    ]
    found = count_candidates(sfumato.read(frame, SCHEMA), groupings, resolutions, wanted)
    codes = [
        EIGHT.groups[np.floor(frame["x"]).astype(int)],
        SIX.groups[np.where(frame["y"].isna(), 32, np.floor(frame["y"].fillna(0))).astype(int)],
        frame["z"].map({"a": 0, "b": 1, "c": 2}).to_numpy(),
    ]
    for look, counts in found.items():
        cells = np.zeros([resolutions.sizes[c] for c in look.clique], np.int64)
        np.add.at(cells, tuple(codes[c] for c in look.clique), 1)
        assert np.array_equal(counts, sum_to_coarser(cells, resolutions.query(look)))
        assert counts.dtype == np.int64


def _even(groups):
    return 1.0 / np.bincount(groups)[groups]


PAIR, TRIPLE = CoarsenedMarginal((0, 1)), CoarsenedMarginal((0, 1, 2))


@pytest.mark.parametrize(
    ("larger", "chosen", "rounds"),
    [
        (3, [PAIR] * 7, {0, 1, 2, 3, 4, 5, 6, 7}),
        (600, [PAIR] * 15, {0, 2, 6, 14}),
        (600, [TRIPLE] * 4, {0, 1, 2, 3, 4}),
        (600, [PAIR, PAIR, TRIPLE, PAIR, PAIR, PAIR, TRIPLE], {0, 2, 3, 5}),
    ],
)
def test_many_larger_sets_are_offered_more_seldom_until_one_is_chosen(larger, chosen, rounds):
    offered = [CoarsenedMarginal(clique) for clique in list(combinations(range(20), 3))[:larger]]
    assert {done for done in range(len(chosen) + 1) if offers_larger(offered, chosen[:done])} == rounds


def parity(rows: int, seed: int) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    numbers = generator.uniform(-1, 1, (rows, 5))
    label = np.where(numbers[:, :2].prod(axis=1) > 0, "even", "odd")
    return pd.DataFrame({f"x{i}": numbers[:, i] for i in range(5)} | {"label": label})


COLUMNS = "".join(f'[columns.x{i}]\nkind = "number"\nbounds = [-1.0, 1.0]\nbins = 32\n' for i in range(5))
PARITY = Schema.parse(f'[table]\nname = "p"\n{COLUMNS}[columns.label]\nkind = "category"\nvalues = ["even", "odd"]\n')


def right_share(made: pd.DataFrame) -> float:
    return float(((made["x0"] * made["x1"] > 0) == (made["label"] == "even")).mean())


def test_structure_that_no_pair_shows_is_found_by_default(monkeypatch):
    """8,000 rows, epsilon 1, one seed: chance is .5. Mutant: without larger sets it stays there."""
    table = sfumato.read(parity(8000, 1), PARITY)
    found = sfumato.release(table, AIM(epsilon=1, delta=1e-5), seed=4, ledger=False)
    assert ["x0", "x1", "label"] in [names[:2] + names[-1:] for names in found.statistics["measured_tables"]]
    assert right_share(found.data) > 0.9
    monkeypatch.setattr(
        candidates_module,
        "candidate_marginals",
        lambda cliques, *rest: candidate_marginals([c for c in cliques if len(c) < 3], *rest),
    )
    blind = sfumato.release(table, AIM(epsilon=1, delta=1e-5), seed=4, ledger=False)
    assert right_share(blind.data) < 0.6


def test_a_target_is_taken_from_the_schema_or_from_the_call():
    named = AIM(epsilon=1, target="label").planned(PARITY)
    role = Schema.parse(PARITY.to_toml().replace('kind = "category"', 'kind = "category"\nrole = "target"'))
    assert AIM(epsilon=1).planned(role).targets == named.targets == ("label",)
    assert all(5 in clique for clique in named.weights if len(clique) > 2)
    with pytest.raises(sfumato.errors.PlanError, match="no synthesised column 'lable'"):
        AIM(epsilon=1, target="lable").planned(PARITY)
