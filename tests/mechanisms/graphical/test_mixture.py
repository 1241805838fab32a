from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mechanisms.graphical.brute_force import summed
from sfumato.errors import MissingExtra, PlanError
from sfumato.mechanisms.graphical.junction_tree.linear_measurement import LinearMeasurement, StructuralZeros
from sfumato.mechanisms.graphical.mixture import fit as penalties
from sfumato.mechanisms.graphical.mixture import model as mixture_model
from sfumato.mechanisms.graphical.mixture.fit import BLOCK, _lowest, minimise, noise_threshold
from sfumato.mechanisms.graphical.mixture.fit import MixtureSettings as of
from sfumato.mechanisms.graphical.mixture.model import MixtureModel, fit_mixture
from sfumato.mechanisms.graphical.mixture.objective import MixtureLoss, centre_logits, shares, value_and_gradient
from sfumato.mechanisms.graphical.mixture.targets import LevelLayout, split_noise, targets_of
from statistical.laws import ALPHA

TOTAL = 1000.0


def mixture(sizes, components, seed, spread=2.0, total=TOTAL) -> MixtureModel:
    generator = np.random.default_rng(seed)
    levels = np.concatenate([generator.dirichlet(np.ones(size) / spread, components).T for size in sizes])
    return MixtureModel(tuple(sizes), total, levels, generator.dirichlet(np.ones(components)))


def joint(model: MixtureModel) -> np.ndarray:
    """The whole distribution, one outer product after the other."""
    table = np.zeros(model.sizes)
    ends = np.cumsum((0, *model.sizes))
    for component, weight in enumerate(model.weights):
        outer = np.array(weight * model.total)
        for low, high in pairwise(ends):
            outer = np.multiply.outer(outer, model.levels[low:high, component])
        table += outer
    return table


def tables_of(model: MixtureModel, cliques, sigma=1.0, generator=None) -> list[LinearMeasurement]:
    exact = model.marginals(cliques)
    noise = {c: 0.0 if generator is None else generator.normal(0, sigma, exact[c].shape) for c in cliques}
    return [LinearMeasurement(clique, exact[clique] + noise[clique], sigma) for clique in cliques]


def ways(sizes, *widths):
    return [clique for width in widths for clique in combinations(range(len(sizes)), width)]


small = st.builds(mixture, st.lists(st.integers(1, 4), min_size=2, max_size=5), st.integers(1, 5), st.integers(0, 999))


@settings(max_examples=60)
@given(small)
def test_every_marginal_equals_brute_force(model):
    table, wanted = joint(model), ways(model.sizes, *range(len(model.sizes) + 1))
    found = model.marginals(wanted)
    assert set(found) == set(wanted)
    for clique in wanted:
        np.testing.assert_allclose(found[clique], summed(table, clique), atol=1e-9 * TOTAL)
        np.testing.assert_allclose(model.marginal(clique[::-1]), summed(table, clique[::-1]), atol=1e-9 * TOTAL)


@settings(max_examples=30)
@given(small)
def test_saved_arrays_come_back(model):
    again = MixtureModel.from_arrays(model.to_arrays())
    assert (again.sizes, again.total, again.steps, again.converged) == (model.sizes, TOTAL, 0, True)
    np.testing.assert_array_equal(again.draw(50, np.random.default_rng(1)), model.draw(50, np.random.default_rng(1)))


@pytest.mark.parametrize(
    "change",
    [
        {"levels": np.ones((3, 2))},
        {"weights": np.array([-1.0, 2.0])},
        {"scalars": np.ones(2)},
        {"sizes": np.array([9])},
        {"weights": np.ones((2, 1))},
        {"levels": np.full((4, 2), np.nan)},
    ],
)
def test_broken_arrays_are_refused(change):
    arrays = mixture((2, 2), 2, 0).to_arrays()
    assert MixtureModel.from_arrays(arrays).sizes == (2, 2)
    with pytest.raises(PlanError, match="cannot be read"):
        MixtureModel.from_arrays(arrays | change)


def a_problem(penalty=3.0, wide=True):
    model = mixture((3, 2, 4, 3), 4, 7)
    cliques = [(0,), (2,), (0, 1), (0, 2), (1, 3), (2, 3)] + ([(0, 1, 3), (0, 1, 2, 3)] if wide else [])
    tables = tables_of(model, cliques, 20.0, np.random.default_rng(1))
    support = StructuralZeros((1, 2), np.random.default_rng(2).random((2, 4)) < 0.7)
    return targets_of(model.sizes, tables, [support], TOTAL), penalty


def doubles(goal: MixtureLoss) -> dict:
    return {k: v if k == "owners" else v.astype(np.float64) for k, v in goal.arrays.items()}


def test_gradient_equals_finite_differences():
    goal = MixtureLoss.of(*a_problem())
    arrays = doubles(goal)
    logits = np.random.default_rng(3).normal(size=(goal.layout.levels + 1, 5))
    _, _, gradient = value_and_gradient(np, goal, arrays, logits)
    for place in np.ndindex(logits.shape):
        step = np.zeros_like(logits)
        step[place] = 1e-5
        up, down = (value_and_gradient(np, goal, arrays, logits + sign * step)[0] for sign in (1, -1))
        assert gradient[place] == pytest.approx((up - down) / 2e-5, rel=1e-5, abs=1e-8)


def test_the_error_is_half_the_squared_errors_in_units_of_noise():
    model, other = mixture((3, 2, 4), 4, 7), mixture((3, 2, 4), 3, 8)
    cliques = ways(model.sizes, 1, 2, 3)
    targets = targets_of(model.sizes, tables_of(model, cliques, 5.0), (), TOTAL)
    goal = MixtureLoss.of(targets, 2.0)
    logits = np.log(np.vstack([other.levels, other.weights]) + 1e-12)
    value, error, _ = value_and_gradient(np, goal, doubles(goal), logits)
    mine, theirs = model.marginals(cliques), other.marginals(cliques)
    expected = sum(((mine[c] - theirs[c]) ** 2).sum() for c in cliques) / 50
    information = (other.weights * other.levels * np.log((other.levels + 1e-12) / targets.reference[:, None])).sum()
    assert error * targets.cells == pytest.approx(expected, rel=1e-5)
    assert value * targets.cells == pytest.approx(expected + 2 * information, rel=1e-5)


def test_recentred_logits_are_the_same_distribution():
    goal = MixtureLoss.of(*a_problem())
    logits = np.random.default_rng(0).normal(30, 3, (goal.layout.levels + 1, 4)).astype(np.float32)
    again = centre_logits(goal.layout, logits)
    assert again.max() == 0
    for one, other in zip(shares(np, goal, doubles(goal), logits), shares(np, goal, doubles(goal), again), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_a_cell_measured_twice_is_joined_by_its_precision():
    twice = [
        LinearMeasurement((0, 1), np.full((2, 2), 10.0), 1.0),
        LinearMeasurement((0, 1), np.full((2, 2), 20.0), 2.0),
    ]
    block = targets_of((2, 2), twice, (), 100.0).pairs
    np.testing.assert_allclose(block.target[:2, 2:], 0.12)
    np.testing.assert_allclose(block.weight[2:, :2], 100.0**2 * 1.25)


def test_reference_reads_every_table_and_is_even_where_nothing_was_measured():
    counts = np.array([[60.0, 20.0], [15.0, 5.0]])
    cube = np.stack([counts / 4, counts * 3 / 4], axis=2)
    tables = [LinearMeasurement((0, 1), counts, 0.01), LinearMeasurement((0, 1, 3), cube, 0.01)]
    targets = targets_of((2, 2, 3, 2), tables, (), 100.0)
    np.testing.assert_allclose(targets.reference, [0.8, 0.2, 0.75, 0.25, *[1 / 3] * 3, 0.25, 0.75], atol=1e-3)


def test_consistent_tables_are_recovered():
    model = mixture((4, 3, 5, 2, 3), 3, 11, total=1e5)
    cliques = [*ways(model.sizes, 1, 2), (0, 2, 4)]
    tables = tables_of(model, cliques, 20.0)
    found = fit_mixture(model.sizes, tables, 1e5, generator=np.random.default_rng(0), settings=of(60), share=0.01)
    assert found.converged
    for clique, table in found.marginals(cliques).items():
        assert np.abs(table - model.marginal(clique)).sum() / 2e5 < 0.01


def test_the_penalty_keeps_noise_out_and_thinning_finds_a_good_share():
    """At the threshold the pairs of independent columns stay independent; without it their noise is fitted."""
    sizes, total, sigma = (6,) * 8, 1e4, 50.0
    alone = MixtureModel(sizes, total, np.full((48, 1), 1 / 6), np.ones(1))
    tables = tables_of(alone, ways(sizes, 1, 2), sigma, np.random.default_rng(4))

    def error(share):
        found = fit_mixture(sizes, tables, total, generator=np.random.default_rng(1), settings=of(50), share=share)
        pairs = found.marginals(ways(sizes, 2)).values()
        return np.mean([np.abs(pair / total - 1 / 36).sum() / 2 for pair in pairs])

    kept, loose, chosen = error(1.0), error(0.0), error(None)
    assert kept < 0.3 * loose
    assert chosen < 0.5 * loose


def test_the_threshold_is_the_edge_of_the_noise():
    """For even shares the forces are a random symmetric matrix with zero blocks: its edge is 2 s sqrt(free levels)."""
    sizes = (8,) * 30
    tables = [LinearMeasurement(c, np.full((8, 8), 1e4 / 64), 10.0) for c in ways(sizes, 2)]
    targets = targets_of(sizes, tables, (), 1e4)
    expected = 2 * (1e4 / 10.0) / 8 * sqrt(7 * 29)
    assert noise_threshold(targets, np.random.default_rng(0)) == pytest.approx(expected, rel=0.05)


def test_a_wide_table_has_a_threshold_too_and_many_levels_go_the_sparse_way(monkeypatch):
    cube = [LinearMeasurement((0, 1, 2), np.full((6, 6, 6), 50.0), 5.0)]
    targets = targets_of((6, 6, 6), cube, (), 10800.0)
    dense = noise_threshold(targets, np.random.default_rng(0))
    monkeypatch.setattr(penalties, "DENSE_LEVELS", 3)
    assert 0 < dense == pytest.approx(noise_threshold(targets, np.random.default_rng(0)), rel=0.05)


def test_thinned_tables_keep_their_mean_and_have_independent_noise():
    """alpha 1e-6 on 40,000 cells: two variances and one correlation. A mutant that adds twice must be caught."""
    generator = np.random.default_rng(5)
    table = LinearMeasurement((0, 1), generator.normal(7.0, 3.0, (200, 200)), 3.0)

    def rejected(first, second):
        one, two = first.noisy_counts.ravel() - 7.0, second.noisy_counts.ravel() - 7.0
        bound = stats.norm.isf(ALPHA / 6)
        size = one.size
        off = [(one.var() / first.stddev**2 - 1) / sqrt(2 / size), (two.var() / second.stddev**2 - 1) / sqrt(2 / size)]
        return max(map(abs, [*off, np.corrcoef(one, two)[0, 1] * sqrt(size)])) > bound

    first, second = (parts[0] for parts in split_noise([table], 0.5, generator))
    assert not rejected(first, second)
    assert rejected(first, replace(second, noisy_counts=2 * table.noisy_counts - second.noisy_counts))


@given(st.floats(0, 8), st.integers(0, 8))
def test_the_walk_finds_the_lowest_place_of_a_valley(lowest, start):
    """Half-way between the last two places both the valley and the last place are right."""
    found = _lowest(lambda place: (place - lowest) ** 2, 9, start)
    right = [lowest] if 0.5 <= lowest <= 7.5 else []
    right += [float(end) for end in (0, 8) if abs(lowest - end) <= 0.5]
    assert any(found == pytest.approx(place, abs=1e-6) for place in right)


def test_a_flat_valley_stays_where_it_is():
    assert _lowest(lambda place: 1.0, 9, 3) == 3


def test_the_reported_loss_is_that_of_the_marginals():
    tables = tables_of(mixture((3, 2, 4), 4, 7), ways((3, 2, 4), 1, 2, 3), 20.0, np.random.default_rng(1))
    found = fit_mixture((3, 2, 4), tables, TOTAL, settings=of(10), share=0.3)
    errors = [((found.marginal(t.clique) - t.noisy_counts) / t.stddev) ** 2 for t in tables]
    assert found.loss == pytest.approx(sum(e.sum() for e in errors) / 2, rel=1e-4)
    assert found.steps % BLOCK == 0


def test_forbidden_cells_are_nearly_empty_but_not_exactly():
    sizes, total = (3, 4), 5000.0
    allowed = np.array([[1, 1, 0, 1], [1, 0, 1, 1], [0, 1, 1, 1]], bool)
    tables = [
        LinearMeasurement((0,), np.full(3, total / 3), 30.0),
        LinearMeasurement((1,), np.full(4, total / 4), 30.0),
    ]
    inside = fit_mixture(sizes, tables, total, [StructuralZeros((0, 1), allowed)], settings=of(30), share=0.1).marginal(
        (0, 1)
    )
    without = fit_mixture(sizes, tables, total, settings=of(30), share=0.1).marginal((0, 1))
    assert inside[~allowed].sum() < 0.01 * total
    assert without[~allowed].sum() > 0.2 * total


def chi_square(rows, model, columns):
    """Pearson's test over the cells that expect at least 25 rows, the rest as one."""
    shape = [model.sizes[column] for column in columns]
    observed = np.bincount(np.ravel_multi_index(tuple(rows[:, c] for c in columns), shape), minlength=np.prod(shape))
    expected = model.marginal(columns).ravel() / model.total * len(rows)
    keep = expected >= 25
    seen, due = (np.append(v[keep], v[~keep].sum()) for v in (observed, expected))
    due[-1] = max(due[-1], 1e-9)
    seen, due = (seen, due) if due[-1] >= 25 else (seen[:-1], due[:-1])
    return stats.chi2.sf(((seen - due) ** 2 / due).sum(), len(due) - 1)


DRAWN = mixture((3, 4, 2, 5), 6, 21, spread=0.5)


def test_independent_draws_follow_the_model():
    """alpha 1e-6, 200,000 rows, the whole joint table of 120 cells."""
    rows = DRAWN.draw(200_000, np.random.default_rng(1), rounding=False)
    assert chi_square(rows, DRAWN, (0, 1, 2, 3)) > ALPHA


def test_rounded_draws_follow_the_model_when_few_rows_are_drawn_often():
    """Batches of 2 rows: the first of each is an independent draw of the joint. alpha 1e-6, 4,000 batches."""
    generator = np.random.default_rng(2)
    rows = np.array([DRAWN.draw(2, generator)[0] for _ in range(4_000)])
    assert chi_square(rows, DRAWN, (0, 1, 3)) > ALPHA


def test_rounding_keeps_columns_independent_within_a_component(monkeypatch):
    """One component: pairs of rounded columns must not be tied. The mutant forgets the shuffle. alpha 1e-6."""
    alone = mixture((4, 5), 1, 3, spread=0.5)
    fresh = alone.draw(50_000, np.random.default_rng(3))
    assert chi_square(fresh, alone, (0, 1)) > ALPHA
    monkeypatch.setattr(mixture_model, "_shuffled_within", lambda owner, generator: np.arange(len(owner)))
    assert chi_square(alone.draw(50_000, np.random.default_rng(3)), alone, (0, 1)) < ALPHA


@pytest.mark.parametrize("rows", [0, 1, 7, 1000])
def test_rounded_rows_miss_each_component_and_level_by_less_than_one(rows):
    model = mixture((3, 4), 1, 5)
    codes = model.draw(rows, np.random.default_rng(0))
    assert codes.shape == (rows, 2)
    assert codes.dtype == np.int32
    for column in (0, 1):
        found = np.bincount(codes[:, column], minlength=model.sizes[column])
        assert np.abs(found - model.marginal((column,)) / TOTAL * rows).max() < 1
    counts = mixture_model._row_counts(DRAWN.weights, rows, np.random.default_rng(1), True)
    assert counts.sum() == rows
    assert np.abs(counts - DRAWN.weights * rows).max() < 1


def test_a_level_without_share_is_never_drawn():
    levels = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]).T
    model = MixtureModel((3,), 10.0, levels, np.array([0.5, 0.5]))
    assert set(model.draw(999, np.random.default_rng(0)).ravel()) == {0, 1}


def test_jax_takes_the_same_steps():
    pytest.importorskip("jax", reason="needs JAX: pip install 'sfumato[deep]'")
    targets, penalty = a_problem()
    ends = [minimise(targets, penalty, np.random.default_rng(0), of(5, 2 * BLOCK, 1e-3, b)) for b in ("numpy", "jax")]
    assert ends[0].steps == ends[1].steps == 2 * BLOCK
    np.testing.assert_allclose(ends[1].levels, ends[0].levels, atol=5e-3)
    assert ends[1].error == pytest.approx(ends[0].error, rel=1e-3)


def test_without_jax_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "jax", None)
    with pytest.raises(MissingExtra, match=r"sfumato\[deep\]"):
        fit_mixture((2,), [LinearMeasurement((0,), np.ones(2), 1.0)], 2.0, settings=of(2, backend="jax"), share=1.0)


def test_all_that_is_wrong_is_said_at_once():
    with pytest.raises(PlanError) as caught:
        fit_mixture((2,), [], 0.0, settings=of(0, most_steps=0), share=-1.0)
    assert len(caught.value.problems) == 4
    wrong = [
        LinearMeasurement((1, 0), np.ones((2, 2)), 1.0),
        LinearMeasurement((0, 5), np.ones((2, 2)), 1.0),
        LinearMeasurement((0,), np.ones(3), 1.0),
        LinearMeasurement((0,), np.ones(2), 0.0),
    ]
    with pytest.raises(PlanError) as caught:
        fit_mixture((2, 2), wrong, 4.0)
    assert len(caught.value.problems) == 4


def test_no_table_at_all_gives_even_shares():
    np.testing.assert_allclose(fit_mixture((2, 4), [], 8.0, settings=of(3)).marginal((0, 1)), 1.0, atol=0.5)


def test_same_generator_same_model():
    tables = tables_of(mixture((3, 3), 2, 0), [(0, 1)], 10.0, np.random.default_rng(0))
    one, other = (
        fit_mixture((3, 3), tables, TOTAL, generator=np.random.default_rng(9), settings=of(5)) for _ in range(2)
    )
    np.testing.assert_array_equal(one.levels, other.levels)


def test_layout_places_the_levels():
    layout = LevelLayout((2, 3))
    assert (layout.levels, layout.block(1), layout.shape((1, 0))) == (5, slice(2, 5), (3, 2))
    np.testing.assert_array_equal(layout.members, [[1, 1, 0, 0, 0], [0, 0, 1, 1, 1]])
