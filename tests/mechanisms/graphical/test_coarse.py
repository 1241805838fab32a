"""Tables at coarser groups than the model's: the sums themselves, then both fits that compare with them."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mechanisms.graphical.brute_force import sum_to_coarser, summed
from sfumato.errors import PlanError
from sfumato.mechanisms.graphical.junction_tree.linear_measurement import (
    GroupSum,
    LinearMeasurement,
    StructuralZeros,
    coarse_shape,
    query_key,
)
from sfumato.mechanisms.graphical.junction_tree.mirror_descent import estimate, objective
from sfumato.mechanisms.graphical.mixture import objective as mixture_objective
from sfumato.mechanisms.graphical.mixture.fit import BLOCK, MixtureSettings, minimise, noise_threshold
from sfumato.mechanisms.graphical.mixture.model import MixtureModel, fit_mixture
from sfumato.mechanisms.graphical.mixture.objective import MixtureLoss as MixtureObjective
from sfumato.mechanisms.graphical.mixture.objective import half_squares, value_and_gradient
from sfumato.mechanisms.graphical.mixture.targets import (
    CoarseColumns,
    LevelLayout,
    append_coarse,
    fold_coarse,
    split_noise,
    targets_of,
)

SIZES = (4, 2, 6, 3)
TOTAL = 1000.0
HALVES = {size: np.arange(size, dtype=np.int32) * 2 // size for size in (2, 3, 4, 6, 8)}
APART = np.array([0, 0, 1, 1, 1, 2], np.int32)[[5, 0, 1, 2, 3, 4]]
"""Six groups of which the first stands apart: the map does not ascend."""


def truth(seed: int = 0, sizes=SIZES) -> np.ndarray:
    return TOTAL * np.random.default_rng(seed).dirichlet(np.full(int(np.prod(sizes)), 0.3)).reshape(sizes)


def looped(table: np.ndarray, coarse) -> np.ndarray:
    """The sums, cell by cell."""
    maps = [np.arange(size) if groups is None else groups for size, groups in zip(table.shape, coarse, strict=True)]
    found = np.zeros([groups.max() + 1 for groups in maps], table.dtype)
    for cell in np.ndindex(table.shape):
        found[tuple(groups[place] for groups, place in zip(maps, cell, strict=True))] += table[cell]
    return found


def exact(table: np.ndarray, clique, coarse=None, sigma: float = 1.0) -> LinearMeasurement:
    counts = summed(table, clique)
    return LinearMeasurement(clique, counts if coarse is None else looped(counts, coarse), sigma, coarse)


def some_tables(table: np.ndarray, sigma: float = 1.0) -> list[LinearMeasurement]:
    """One table of each kind: fine, coarse, both in one, the same clique at two resolutions, two to four columns."""
    two, three, four = HALVES[3], APART, HALVES[4]
    asked = [
        *(((column,), None) for column in range(4)),
        ((2,), (three,)),
        ((0, 2), None),
        ((0, 2), (four, three)),
        ((0, 3), (None, two)),
        ((0, 1, 2), (four, None, three)),
        ((0, 1, 2, 3), (four, None, three, two)),
    ]
    return [exact(table, clique, coarse, sigma) for clique, coarse in asked]


@st.composite
def coarse_tables(draw):
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    coarse = []
    for size in shape:
        raw = draw(st.one_of(st.none(), st.lists(st.integers(0, 3), min_size=size, max_size=size)))
        coarse.append(None if raw is None else np.unique(raw, return_inverse=True)[1].astype(np.int32))
    counts = np.random.default_rng(draw(st.integers(0, 99))).integers(0, 50, shape)
    return counts, tuple(coarse)


@given(coarse_tables())
def test_sums_equal_those_of_a_loop_and_spreading_is_their_transpose(case):
    counts, coarse = case
    found = sum_to_coarser(counts, coarse)
    np.testing.assert_array_equal(found, looped(counts, coarse))
    assert found.shape == coarse_shape(counts.shape, coarse)
    pool, fine = GroupSum.of(counts.shape, coarse), counts.astype(float)
    other = np.random.default_rng(0).normal(size=pool.shape)
    assert np.vdot(pool.summed(fine), other) == pytest.approx(np.vdot(fine.ravel(), pool.spread(other)), abs=1e-9)


def test_keys_tell_maps_apart_and_know_the_models_own_groups():
    same = np.arange(4, dtype=np.int32)
    assert query_key(None) is query_key((None, None)) is query_key((same, None)) is None
    assert query_key((HALVES[4], None)) == query_key((HALVES[4].astype(np.int64), same)) != query_key((None, HALVES[4]))
    assert query_key((HALVES[4],)) != query_key((HALVES[4][::-1],))


def tree(sizes, tables, total, supports=()):
    return estimate(sizes, tables, total, supports, most_steps=4000, tolerance=1e-9)


def mixture(sizes, tables, total, supports=(), components=60, share=0.01):
    settings = MixtureSettings(components=components)
    return fit_mixture(sizes, tables, total, supports, np.random.default_rng(0), settings, share)


def worst(model, tables) -> float:
    """The largest share of rows that a table has in the wrong cells."""
    found = [sum_to_coarser(model.marginal(table.clique), table.query) for table in tables]
    return max(np.abs(mine - t.noisy_counts).sum() / 2 / model.total for mine, t in zip(found, tables, strict=True))


@pytest.mark.parametrize(("engine", "bound"), [(tree, 1e-3), (mixture, 0.01)])
def test_consistent_tables_of_any_resolution_are_reproduced(engine, bound):
    """The largest columns come last inside the tree, so axes are turned: maps must turn with them."""
    tables = some_tables(truth(), sigma=0.2)
    assert worst(engine(SIZES, tables, TOTAL), tables) < bound


def test_with_the_wrong_sums_the_tree_misses(monkeypatch):
    tables, right = some_tables(truth(), sigma=0.2), GroupSum.summed
    monkeypatch.setattr(GroupSum, "summed", lambda pool, table: right(pool, table)[::-1])
    model = tree(SIZES, tables, TOTAL)
    monkeypatch.undo()
    assert worst(model, tables) > 0.05


def test_with_the_wrong_sums_the_mixture_misses(monkeypatch):
    tables, right = some_tables(truth(), sigma=0.2), CoarseColumns.of
    monkeypatch.setattr(
        CoarseColumns, "of", lambda columns, asked: right(columns, [_backwards(table) for table in asked])
    )
    monkeypatch.setattr(CoarseColumns, "places", lambda views, table: PLACES(views, _backwards(table)))
    model = mixture(SIZES, tables, TOTAL)
    assert worst(model, tables) > 0.05


PLACES = CoarseColumns.places


def _backwards(table: LinearMeasurement) -> LinearMeasurement:
    """The same table with the numbers of its coarse groups the wrong way round."""
    turned = [None if groups is None else groups.max() - groups for groups in table.query or ()]
    return table if table.query is None else replace(table, query=tuple(turned))


def test_between_coarse_cells_the_tree_stays_as_even_as_it_may():
    """The largest entropy under coarse counts: they are shared equally among their cells."""
    table = LinearMeasurement((0, 1), np.array([[60.0, 20.0], [5.0, 15.0]]), 1.0, (HALVES[4], HALVES[8]))
    found = tree((4, 8), [table], 100.0).marginal((0, 1))
    np.testing.assert_allclose(found, np.kron(table.noisy_counts / 8, np.ones((2, 4))), rtol=1e-4)


def test_the_same_groups_are_joined_by_precision_and_others_are_not():
    coarse = (HALVES[4],)
    twice = [
        LinearMeasurement((0,), np.array([30.0, 20.0]), 1.0, coarse),
        LinearMeasurement((0,), np.array([20.0, 30.0]), 2.0, coarse),
    ]
    fine = LinearMeasurement((0,), np.full(4, 12.5), 1.0)
    goal = objective((4,), [(0,)], [*twice, fine, replace(fine, query=(None,))], 50.0)
    assert [target.counts.shape for target in goal.targets] == [(2,), (4,)]
    np.testing.assert_allclose(goal.targets[0].counts, [28.0, 22.0])
    block = targets_of((4,), [*twice, fine], (), 100.0).single
    np.testing.assert_allclose(block.target, [*[0.125] * 4, 0.28, 0.22])
    np.testing.assert_allclose(block.weight, [*[1e4] * 4, *[1.25e4] * 2])


def test_the_trees_gradient_equals_finite_differences():
    factors = [(0, 1, 2, 3)]
    goal = objective(SIZES, factors, some_tables(truth(1), 20.0), TOTAL)
    here = truth(2) / TOTAL
    _, (gradient,) = goal.evaluate([here])
    for cell in np.ndindex(SIZES):
        step = np.zeros(SIZES)
        step[cell] = 1e-5
        up, down = (goal.evaluate([here + sign * step])[0] for sign in (1, -1))
        # The gradient is by expected counts, the step one of probabilities.
        assert gradient[cell] * TOTAL == pytest.approx((up - down) / 2e-5, rel=1e-6, abs=1e-6)


def mixture_problem():
    support = StructuralZeros((1, 2), np.random.default_rng(2).random((2, 6)) < 0.7)
    return targets_of(SIZES, some_tables(truth(1), 20.0), [support], TOTAL)


def goal_in_doubles(targets):
    goal = MixtureObjective.of(targets, 3.0)
    return goal, {name: a if name == "owners" else a.astype(np.float64) for name, a in goal.arrays.items()}


def test_the_mixtures_gradient_equals_finite_differences():
    goal, arrays = goal_in_doubles(mixture_problem())
    logits = np.random.default_rng(3).normal(size=(sum(SIZES) + 1, 5))
    _, _, gradient = value_and_gradient(np, goal, arrays, logits)
    for place in np.ndindex(logits.shape):
        step = np.zeros_like(logits)
        step[place] = 1e-5
        up, down = (value_and_gradient(np, goal, arrays, logits + sign * step)[0] for sign in (1, -1))
        assert gradient[place] == pytest.approx((up - down) / 2e-5, rel=1e-5, abs=1e-8)


def test_the_mixtures_error_is_half_the_squared_errors_in_units_of_noise():
    tables = some_tables(truth(1), 20.0)
    targets = targets_of(SIZES, tables, (), TOTAL)
    found = minimise(targets, 3.0, np.random.default_rng(0), MixtureSettings(5, BLOCK))
    model = mixture_of(found)
    errors = [((sum_to_coarser(model.marginal(t.clique), t.query) - t.noisy_counts) / t.stddev) ** 2 for t in tables]
    expected = sum(error.sum() for error in errors) / 2
    assert found.error == pytest.approx(expected, rel=1e-4)
    goal, arrays = goal_in_doubles(targets)
    logits = np.log(np.vstack([found.levels, found.weights]).astype(np.float64) + 1e-12)
    assert value_and_gradient(np, goal, arrays, logits)[1] * targets.cells == pytest.approx(expected, rel=1e-4)


def test_batches_change_nothing_but_the_time(monkeypatch):
    """Several pairs and triples of unlike sizes fall into one batch; with the limit at one cell each is alone."""
    table, maps = truth(3), [HALVES[4], None, APART, HALVES[3]]
    cliques = [*combinations(range(4), 2), *combinations(range(4), 3)]
    tables = [exact(table, clique, tuple(maps[column] for column in clique), 20.0) for clique in cliques]
    targets = targets_of(SIZES, tables, (), TOTAL)
    logits = np.random.default_rng(3).normal(size=(sum(SIZES) + 1, 5))

    def found():
        goal, arrays = goal_in_doubles(targets)
        return len(goal.wide), value_and_gradient(np, goal, arrays, logits)

    few, (value, _, gradient) = found()
    monkeypatch.setattr(mixture_objective, "MOST_CELLS", 1)
    many, (again, _, same) = found()
    assert few < many == len(cliques)
    assert value == pytest.approx(again)
    np.testing.assert_allclose(gradient, same, atol=1e-12)


def mixture_of(found):
    return MixtureModel(SIZES, TOTAL, found.levels.astype(float), found.weights.astype(float))


def test_views_sum_levels_and_pull_back():
    views = CoarseColumns.of(LevelLayout(SIZES), some_tables(truth()))
    # Coarse groups of column 0, of 2 and of 3: each once, however many tables use them.
    assert views.seen.sizes == (*SIZES, 3, 2, 2)
    levels = np.random.default_rng(0).random((sum(SIZES), 3))
    seen = append_coarse(np, levels, views.sums)
    np.testing.assert_allclose(seen[: sum(SIZES)], levels)
    np.testing.assert_allclose(
        seen[views.seen.block(4)], [levels[7:9].sum(0), levels[9:12].sum(0), levels[6]], rtol=1e-6
    )
    other = np.random.default_rng(1).random(seen.shape)
    assert np.vdot(seen, other) == pytest.approx(np.vdot(levels, fold_coarse(other, views.sums)))


def test_reference_reads_levels_beside_coarse_columns_and_no_coarse_ones():
    counts = np.array([[30.0, 10.0], [20.0, 5.0], [10.0, 5.0], [15.0, 5.0]])
    tables = [LinearMeasurement((0, 1), counts, 0.01, (None, HALVES[4]))]
    found = targets_of((4, 4), tables, (), 100.0).reference
    np.testing.assert_allclose(found, [0.4, 0.25, 0.15, 0.2, *[0.25] * 4], atol=1e-3)


def test_a_coarse_table_has_the_threshold_of_the_same_table_without_finer_levels():
    """Its noise moves coarse groups only: how many levels they have is no matter."""
    coarse = (HALVES[8],) * 2
    cliques = list(combinations(range(12), 2))
    below = [LinearMeasurement(c, np.full((2, 2), 2500.0), 10.0, coarse) for c in cliques]
    alone = [replace(table, query=None) for table in below]

    def mean(sizes, tables):
        targets = targets_of(sizes, tables, (), 1e4)
        return np.mean([noise_threshold(targets, np.random.default_rng(seed)) for seed in range(30)])

    assert mean((8,) * 12, below) == pytest.approx(mean((2,) * 12, alone), rel=0.1)


def test_a_coarse_wide_table_has_a_threshold_too():
    quad = LinearMeasurement((0, 1, 2, 3), np.full((2,) * 4, 625.0), 10.0, (HALVES[8],) * 4)
    below = noise_threshold(targets_of((8,) * 4, [quad], (), 1e4), np.random.default_rng(0))
    alone = noise_threshold(targets_of((2,) * 4, [replace(quad, query=None)], (), 1e4), np.random.default_rng(0))
    assert 0 < below < 4 * alone


def test_thinned_tables_keep_their_groups():
    tables = some_tables(truth())
    for half in split_noise(tables, 0.5, np.random.default_rng(0)):
        assert [query_key(table.query) for table in half] == [query_key(table.query) for table in tables]
        assert [table.noisy_counts.shape for table in half] == [table.noisy_counts.shape for table in tables]


@pytest.mark.parametrize("share", [0.3, None])
def test_maps_that_change_nothing_change_no_bit(share):
    generator = np.random.default_rng(0)
    cliques = [(0,), (1,), (2,), (3,), (0, 2), (1, 2), (0, 1, 3)]
    plain = [exact(truth(), clique, None, 5.0) for clique in cliques]
    plain = [replace(t, noisy_counts=t.noisy_counts + generator.normal(0, 5.0, t.noisy_counts.shape)) for t in plain]
    same = [replace(t, query=(None,) * len(t.clique)) for t in plain[:3]]
    same += [replace(t, query=tuple(np.arange(s, dtype=np.int32) for s in t.noisy_counts.shape)) for t in plain[3:]]
    one, other = (estimate(SIZES, tables, TOTAL) for tables in (plain, same))
    for mine, theirs in zip(one.potentials, other.potentials, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    settings = MixtureSettings(5, 2 * BLOCK)
    left, right = (fit_mixture(SIZES, tables, TOTAL, settings=settings, share=share) for tables in (plain, same))
    np.testing.assert_array_equal(left.levels, right.levels)
    assert left.penalty == right.penalty


def parity_tables(rows: int) -> list[LinearMeasurement]:
    """Three numbers of 8 groups, a fourth that is another draw, and whether an odd number of them is high."""
    generator = np.random.default_rng(7)
    codes = generator.integers(0, 8, (rows, 5))
    codes[:, 4] = (codes[:, :3] >= 4).sum(1) % 2
    sizes, sigma = (8, 8, 8, 8, 2), 20.0
    quad = (0, 1, 2, 4)
    coarse = (HALVES[8],) * 3 + (None,)

    def table(clique, high):
        shape = [2 if high else sizes[column] for column in clique]
        cells = tuple(codes[:, c] // 4 if high and c < 4 else codes[:, c] for c in clique)
        counts = np.bincount(np.ravel_multi_index(cells, shape), minlength=np.prod(shape)).reshape(shape)
        return LinearMeasurement(clique, counts + generator.normal(0, sigma, shape), sigma, coarse if high else None)

    return [*(table((column,), False) for column in range(5)), table(quad, True)]


@pytest.mark.parametrize("engine", [tree, mixture])
@pytest.mark.parametrize("seen", [True, False])
def test_parity_of_three_numbers_is_seen_by_one_coarse_table(engine, seen):
    """Four columns at 2 groups say it all; without them the rows follow chance. 4,000 rows."""
    tables = parity_tables(4000)
    extra = {} if engine is tree else {"share": None, "components": 200}
    model = engine((8, 8, 8, 8, 2), tables if seen else tables[:-1], 4000.0, **extra)
    codes = model.draw(4000, np.random.default_rng(0))
    right = np.mean((codes[:, :3] >= 4).sum(1) % 2 == codes[:, 4])
    assert right > 0.95 if seen else 0.4 < right < 0.6


def test_jax_takes_the_same_steps_with_views():
    pytest.importorskip("jax", reason="needs JAX: pip install 'sfumato[deep]'")
    targets = mixture_problem()
    ends = [
        minimise(targets, 3.0, np.random.default_rng(0), MixtureSettings(5, 2 * BLOCK, 1e-3, backend))
        for backend in ("numpy", "jax")
    ]
    np.testing.assert_allclose(ends[1].levels, ends[0].levels, atol=5e-3)
    assert half_squares(targets, ends[1].levels, ends[1].weights) == pytest.approx(ends[0].error, rel=1e-3)


@pytest.mark.parametrize("engine", [tree, mixture])
def test_all_misfits_of_groups_are_told_at_once(engine):
    wrong = [
        LinearMeasurement((0,), np.zeros(2), 1.0, (np.array([0, 0, 2, 2], np.int32),)),
        LinearMeasurement((0,), np.zeros(2), 1.0, (np.array([0, 1, 1], np.int32),)),
        LinearMeasurement((0,), np.zeros(2), 1.0, (np.array([0.0, 0.0, 1.0, 1.0]),)),
        LinearMeasurement((0,), np.zeros(2), 1.0, (np.array([-1, 0, 1, 1], np.int32),)),
        LinearMeasurement((0,), np.zeros(3), 1.0, (HALVES[4],)),
        LinearMeasurement((0, 1), np.zeros((2, 2)), 1.0, (HALVES[4],)),
        LinearMeasurement((0, 2), np.zeros((2, 2)), 1.0, (np.zeros(4, np.int32), np.array([0] * 5 + [9], np.int32))),
    ]
    with pytest.raises(PlanError) as caught:
        engine(SIZES, wrong, TOTAL)
    assert len(caught.value.problems) == len(wrong)
