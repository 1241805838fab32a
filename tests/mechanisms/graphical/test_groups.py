"""Groups follow noisy counts alone, keep missing apart, and are counted by any engine as their cells add up."""

from __future__ import annotations

import dataclasses
import inspect

import ibis
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import Schema, read
from sfumato.arrays import project_counts
from sfumato.errors import PlanError, TableError
from sfumato.mechanisms.graphical import candidates as counting
from sfumato.mechanisms.graphical.candidates import count_cliques
from sfumato.mechanisms.graphical.domain_compression import (
    Grouping,
    compress_column,
    has_order,
    level_shares,
    ordered_shares,
    sum_to_groups,
)
from sfumato.mechanisms.graphical.one_way_marginals import Discretisation, measured_schema
from sfumato.privacy.noise import add_gaussian
from sfumato.privacy.randomness import Randomness
from sfumato.schema.column import Column
from sfumato.table import Table

SIGMA = 10.0


def levels(count: int, kind: str = "category", missing: bool = False) -> Column:
    return Column("x", kind, values=tuple(f"v{i}" for i in range(count)), missing=missing)


def whole(count: int, missing: bool = False) -> Column:
    return Column("x", "integer", bounds=(0, count - 1), bins=count, missing=missing)


COLUMNS = st.builds(
    lambda make, count, missing: make(count, missing),
    st.sampled_from([lambda n, m: levels(n, "category", m), lambda n, m: levels(n, "ordinal", m), whole]),
    st.integers(1, 40),
    st.booleans(),
)


@settings(max_examples=200)
@given(st.data())
def test_every_grouping_is_a_partition_that_keeps_missing_apart(data):
    column = data.draw(COLUMNS)
    noisy = np.array(data.draw(st.lists(st.integers(-200, 2000), min_size=column.size, max_size=column.size)))
    sigma = data.draw(st.sampled_from([0.0, 0.5, 20.0, 1e6]))
    most = data.draw(st.none() | st.integers(1, 12))
    grouping = compress_column(column, noisy, sigma, float(noisy.sum()), most_groups=most)
    assert np.array_equal(np.unique(grouping.groups), np.arange(grouping.size))
    assert np.allclose(np.bincount(grouping.groups, grouping.shares), 1) and np.all(grouping.shares >= 0)
    assert sum_to_groups(noisy, [grouping]).sum() == noisy.sum()
    if has_order(column):
        assert np.all(np.isin(np.diff(grouping.groups), (0, 1)))
    if column.missing:
        assert grouping.groups[-1] == grouping.size - 1 and np.sum(grouping.groups == grouping.size - 1) == 1
    if most is not None and column.is_ordered:
        assert grouping.size <= most + column.missing


@settings(max_examples=100)
@given(st.lists(st.integers(-100, 3000), min_size=2, max_size=60))
def test_groups_of_an_ordered_column_stand_above_their_noise_or_lie_beside_atoms(counts):
    noisy = np.array(counts)
    total = float(noisy.sum())
    grouping = compress_column(whole(len(counts)), noisy, SIGMA, total)
    sums, cells = sum_to_groups(noisy, [grouping]), np.bincount(grouping.groups)
    atom = (cells == 1) & (sums >= max(total / 32, 4 * SIGMA))
    beside = np.append(True, atom[:-1]) & np.append(atom[1:], True)
    assert np.all((sums >= 1.5 * SIGMA * np.sqrt(cells)) | beside)


def test_rare_levels_are_pooled_by_the_rule_of_the_note():
    grouping = compress_column(levels(6), np.array([500, 3, 400, 14, 15, -8]), SIGMA, 924.0)
    # 3, 14 and -8 lie below 15; their pool of 9 is still below and takes the smallest other level (15) in.
    assert grouping.groups.tolist() == [0, 2, 1, 2, 2, 2]
    assert compress_column(levels(3), np.array([500, 20, 400]), SIGMA, 920.0).size == 3
    assert compress_column(levels(4), np.array([500, 12, 11, 400]), SIGMA, 920.0).groups.tolist() == [0, 2, 2, 1]


def test_a_pool_of_many_levels_does_not_swallow_levels_that_stand_alone():
    noisy = np.append(np.full(2000, 1), [300, 400, 500])
    assert compress_column(levels(2003), noisy, SIGMA, 3200.0).size == 4


def test_levels_are_never_capped_and_ordinals_merge_neighbours_only():
    assert compress_column(levels(10), np.full(10, 500), SIGMA, 5000.0, most_groups=4).size == 10
    noisy = np.array([2, 900, 880, 870, 3, 900, 870])
    grouping = compress_column(levels(7, "ordinal"), noisy, SIGMA, 40_000.0)
    assert grouping.groups.tolist() == [0, 0, 1, 2, 2, 3, 4]


def test_an_atom_stays_alone_among_light_neighbours():
    noisy = np.array([4, 7, 9000, 6, 3, 2, 30, 60, 90])
    for most in (None, 4):
        grouping = compress_column(whole(9), noisy, SIGMA, float(noisy.sum()), most_groups=most)
        assert np.sum(grouping.groups == grouping.groups[2]) == 1


def test_adaptive_bins_have_about_equal_mass():
    generator = np.random.default_rng(1)
    counts = np.bincount(np.minimum(generator.exponential(30, 40_000), 255).astype(int), minlength=256)
    noisy = counts + np.rint(generator.normal(0, SIGMA, 256)).astype(np.int64)
    grouping = compress_column(whole(256), noisy, SIGMA, 40_000.0, most_groups=16)
    masses = sum_to_groups(noisy, [grouping])
    assert grouping.size == 16 and masses.max() < 4 * masses.min()


def test_missing_is_never_merged_even_when_it_is_noise():
    for column in (levels(4, missing=True), levels(4, "ordinal", True), whole(4, True)):
        grouping = compress_column(column, np.array([1, 0, -3, 2, -9]), SIGMA, 0.0)
        assert grouping.groups.tolist() == [0, 0, 0, 0, 1] and grouping.shares[-1] == 1


def test_bad_input_is_refused_with_every_problem():
    with pytest.raises(PlanError) as caught:
        compress_column(levels(3), np.zeros(2, np.int64), -1.0, 0.0, threshold=np.nan, most_groups=0)
    assert len(caught.value.problems) == 4
    column = whole(3, True)
    for groups, shares in (
        ([0, 0, 1, 1], [1, 0, 1, 0]),
        ([0, 2, 2, 3], [1, 1, 0, 1]),
        ([0, 1, 1, 2], [1, 0.5, 0, 1]),
        ([1, 0, 0, 2], [1, 1, 0, 1]),
    ):
        with pytest.raises(PlanError, match="do not fit"):
            Grouping(column, np.array(groups, np.int32), np.array(shares, float), max(groups) + 1)


# Shapes inside groups.


@settings(max_examples=100)
@given(st.lists(st.integers(-500, 2000), min_size=1, max_size=50), st.sampled_from([0.0, 1.0, 50.0, 1e7]))
def test_shapes_are_shares_and_follow_the_counts_as_far_as_noise_allows(counts, sigma):
    noisy = np.array(counts, float)
    equal = np.full(len(counts), 1 / len(counts))
    for shares in (ordered_shares(noisy, np.ones(len(counts)), sigma), level_shares(noisy, sigma)):
        assert np.all(shares >= 0) and np.isclose(shares.sum(), 1)
        if sigma == 1e7 or noisy.sum() <= 0:
            assert np.allclose(shares, equal)
        elif sigma == 0 and noisy.min() >= 0:
            assert np.allclose(shares, noisy / noisy.sum())


@settings(max_examples=100)
@given(st.lists(st.floats(-100, 100), min_size=1, max_size=12), st.floats(0.1, 500))
def test_the_projection_is_the_nearest_point(values, total):
    y = np.array(values)
    x = project_counts(y, total)
    assert np.all(x >= 0) and np.isclose(x.sum(), total)
    # Optimal: all positive parts are lowered alike, and by no less than what the zero ones had.
    lowered = (y - x)[x > 1e-9]
    assert np.allclose(lowered, lowered[0], atol=1e-6) and np.all(y[x <= 1e-9] <= lowered[0] + 1e-6)


def test_a_falling_tail_is_seen_though_most_of_its_cells_are_noise():
    # 128 cells, the largest at twice the noise: mean largest gap of the cumulative shares over 20 seeds.
    true, sigma = 80 * np.exp(-np.arange(128) / 20), 40.0
    gaps = np.zeros((20, 3))
    for seed in range(20):
        noisy = true + np.random.default_rng(seed).normal(0, sigma, 128)
        cut = np.maximum(noisy, 0)
        shapes = (ordered_shares(noisy, np.ones(128), sigma), np.full(128, 1 / 128), cut / cut.sum())
        gaps[seed] = [np.abs(np.cumsum(shape) - np.cumsum(true) / true.sum()).max() for shape in shapes]
    halving, width, face_value = gaps.mean(axis=0)
    assert halving < 0.6 * width and halving < 0.7 * face_value


# Counting groups.


def grouped(schema: Schema, table: Table, names: list[str], most: int | None = 6) -> list[Grouping]:
    fine = measured_schema(schema, names, Discretisation(64, None))
    counts = dataclasses.replace(table, schema=fine).marginals([(name,) for name in names])
    randomness = Randomness.of(3)
    noisy = {name: add_gaussian(counts[(name,)], 4.0, randomness) for name in names}
    return [
        compress_column(fine[name], noisy[name], 4.0, float(table_rows(counts)), most_groups=most) for name in names
    ]


def table_rows(counts: dict) -> int:
    return int(next(iter(counts.values())).sum())


NAMES = ["region", "age", "education", "hours", "income", "insured", "moved_in"]
CLIQUES = [(0,), (3,), (1, 3), (2, 4), (0, 5), (1, 4, 6), (2, 3, 4)]


def brute_force(schema, table, groupings, clique) -> np.ndarray:
    fine = measured_schema(schema, NAMES, Discretisation(64, None))
    names = tuple(NAMES[i] for i in clique)
    counts = dataclasses.replace(table, schema=fine).marginals([names])[names]
    result = np.zeros([groupings[i].size for i in clique], np.int64)
    cells = np.indices(counts.shape)
    np.add.at(result, tuple(groupings[i].groups[cell] for i, cell in zip(clique, cells, strict=True)), counts)
    return result


def test_every_source_counts_groups_as_fine_cells_add_up(frame, schema, tmp_path):
    table = read(frame, schema)
    groupings = grouped(schema, table, NAMES)
    expected = {clique: brute_force(schema, table, groupings, clique) for clique in CLIQUES}
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    remote = ibis.polars.connect().create_table("t", ibis.memtable(frame).to_pyarrow())
    for source in (frame, tmp_path / "t.csv", tmp_path / "t.parquet", remote):
        counts = count_cliques(read(source, schema), groupings, CLIQUES)
        assert list(counts) == CLIQUES
        for clique in CLIQUES:
            assert counts[clique].dtype == np.int64
            assert np.array_equal(counts[clique], expected[clique]), (type(source), clique)


@pytest.mark.parametrize("limit", [1, 60, 400])
def test_a_small_memory_limit_changes_passes_and_nothing_else(frame, schema, monkeypatch, limit):
    table = read(frame, schema)
    groupings = grouped(schema, table, NAMES)
    whole_pass = count_cliques(table, groupings, CLIQUES)
    remote = read(ibis.polars.connect().create_table("t", ibis.memtable(frame).to_pyarrow()), schema)
    monkeypatch.setattr(counting, "PASS_CELLS", limit)
    for source in (table, remote):
        parts = count_cliques(source, groupings, CLIQUES)
        assert all(np.array_equal(parts[clique], whole_pass[clique]) for clique in CLIQUES)


def test_one_pass_counts_all_cliques(frame, schema, monkeypatch):
    table = read(frame, schema)
    groupings = grouped(schema, table, NAMES)
    calls: list[int] = []
    original = Table.marginals

    def spy(self, sets):
        calls.append(len(list(sets)))
        for name in ("age", "income", "hours"):
            assert self.schema[name].present_size <= 6, "a fine grid is never counted"
        return original(self, sets)

    monkeypatch.setattr(Table, "marginals", spy)
    count_cliques(table, groupings, CLIQUES)
    assert calls == [len(CLIQUES)]


def test_two_columns_with_thousands_of_levels_are_counted_without_their_grid():
    generator = np.random.default_rng(0)
    values = tuple(f"id{i}" for i in range(6000))
    schema = Schema("t", (Column("a", "category", values=values), Column("b", "category", values=values)))
    rows = pd.DataFrame({name: np.array(values)[np.minimum(generator.geometric(0.1, 5000), 5999)] for name in "ab"})
    noisy = [rows[name].value_counts().reindex(values, fill_value=0).to_numpy() for name in "ab"]
    groupings = [compress_column(schema[name], noise, 20.0, 5000.0) for name, noise in zip("ab", noisy, strict=True)]
    counts = count_cliques(read(rows, schema), groupings, [(0, 1), (0,)])
    assert counts[0, 1].sum() == 5000 and counts[0, 1].shape == (groupings[0].size, groupings[1].size)
    assert np.array_equal(counts[0, 1].sum(axis=1), counts[(0,)])
    strange = rows.assign(b="id9999")
    with pytest.raises(TableError, match="outside the schema"):
        count_cliques(read(strange, schema), groupings, [(0, 1)])


# Groups come from noise that was paid for, never from true counts.


def test_grouping_sees_no_table(frame, schema, monkeypatch):
    assert "table" not in inspect.signature(compress_column).parameters
    table = read(frame, schema)
    counts = table.marginals([("age",)])[("age",)]
    monkeypatch.setattr(Table, "marginals", lambda *_: pytest.fail("true counts were read"))
    noisy = add_gaussian(counts, 5.0, Randomness.of(1))
    first, second = (compress_column(schema["age"], noisy, 5.0, 600.0) for _ in range(2))
    assert np.array_equal(first.groups, second.groups) and np.array_equal(first.shares, second.shares)


def pooled_with_canary(count: int, draws: int, learn_from_data: bool) -> np.ndarray:
    """Whether the last level, of ``count`` rows, is pooled, draw by draw; a mutant learns it from the true counts."""
    true = np.array([500, 400, 3, 14, count], np.int64)
    randomness = Randomness.of(11)
    pooled = np.zeros(draws, bool)
    for draw in range(draws):
        noisy = true if learn_from_data else add_gaussian(true, SIGMA, randomness)
        groups = compress_column(levels(5), noisy, SIGMA, 930.0).groups
        pooled[draw] = np.sum(groups == groups[-1]) > 1
    return pooled


@pytest.mark.statistical
def test_a_canary_shows_in_groups_learnt_from_data_and_not_in_noisy_ones():
    """Neighbouring tables on either side of the threshold of 1.5 sigma: 14 and 15 rows of one level.

    Noisy: P(pooled) differs by at most total variation 1 / (2 sigma) = .05 between the two (Gaussian, shift 1), so
    with n = 2000 draws each the shares differ by less than .05 + 4.9 sqrt(.5 / n) = .128, alpha = 1e-6.
    """

    def leak(learn_from_data: bool) -> float:
        below, above = (pooled_with_canary(count, 2000, learn_from_data) for count in (14, 15))
        return abs(float(below.mean()) - float(above.mean()))

    assert leak(learn_from_data=False) < 0.128
    assert leak(learn_from_data=True) == 1.0, "the mutant tells the two tables apart with certainty"


def test_a_mass_below_its_noise_is_split_by_width():
    """83 rows in six cells, noise of 55 a cell: over 200 draws no cell is far from a sixth, as it would be if drawn."""
    true, generator = np.array([3.0, 36.0, 11.0, 14.0, 15.0, 4.0]), np.random.default_rng(5)
    shares = [ordered_shares(true + generator.normal(0, 55, 6), np.ones(6), 55.0) for _ in range(200)]
    far = [float(np.abs(each - 1 / 6).max()) for each in shares]
    assert np.median(far) < 0.1
    seen = ordered_shares(100 * true, np.ones(6), 55.0)
    assert np.abs(seen - true / true.sum()).max() < 0.05
