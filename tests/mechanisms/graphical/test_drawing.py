from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mechanisms.graphical.brute_force import joint, models, summed
from sfumato.mechanisms.graphical.junction_tree import graphical_model as tree_model
from sfumato.mechanisms.graphical.junction_tree.graphical_model import GraphicalModel
from sfumato.sampling import values
from statistical.laws import ALPHA

ROWS = 20_000


def counted(model: GraphicalModel, rows: np.ndarray, columns) -> np.ndarray:
    shape = [model.sizes[column] for column in columns]
    flat = np.ravel_multi_index([rows[:, column] for column in columns], shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)


def example() -> GraphicalModel:
    """A chain with a branch: 0 - 1 - 2 and 1 - 3, a free column 4, and one forbidden pair."""
    generator = np.random.default_rng(5)
    sizes = (3, 4, 2, 5, 3)
    cliques = ((0, 1), (1, 2), (1, 3), (4,))
    potentials = [generator.normal(0, 1, [sizes[column] for column in clique]) for clique in cliques]
    potentials[2][1, 2] = -np.inf
    return GraphicalModel(sizes, 1000.0, cliques, tuple(potentials))


def root_and_children(model: GraphicalModel):
    tree = model._schedule.tree
    outer = [tuple(model._axis_order.outer[number] for number in clique) for clique in tree.cliques]
    separators = [tuple(model._axis_order.outer[number] for number in clique) for clique in tree.separators]
    return zip(outer, separators, strict=True)


@settings(max_examples=60)
@given(models(), st.integers(0, 400), st.integers(0, 99))
def test_systematic_rounding_errs_by_less_than_one_row_per_group(model, number, seed):
    rows = model.draw(number, np.random.default_rng(seed))
    assert rows.shape == (number, len(model.sizes)) and rows.dtype == np.int32
    table = joint(model)
    for clique, separator in root_and_children(model):
        found, expected = counted(model, rows, clique), summed(table, clique)
        groups = tuple(axis for axis, column in enumerate(clique) if column not in separator)
        given_rows = found.sum(axis=groups, keepdims=True)
        mass = expected.sum(axis=groups, keepdims=True)
        wanted = given_rows * np.divide(expected, mass, out=np.zeros_like(expected), where=mass > 0)
        assert np.abs(found - wanted).max() < 1 + 1e-6


@settings(max_examples=60)
@given(models(), st.booleans())
def test_rows_never_fall_into_structural_zeros(model, rounding):
    rows = model.draw(300, np.random.default_rng(1), rounding)
    for clique, potential in zip(model.cliques, model.potentials, strict=True):
        assert np.isfinite(potential[tuple(rows[:, column] for column in clique)]).all()
    assert (rows >= 0).all() and (rows < np.array(model.sizes)).all()


def test_all_mass_in_one_cell():
    potential = np.full((3, 4), -np.inf)
    potential[2, 1] = 5.0
    model = GraphicalModel((3, 4), 10.0, ((0, 1),), (potential,))
    for rounding in (True, False):
        assert (model.draw(100, np.random.default_rng(0), rounding) == [2, 1]).all()


def chi_square(model: GraphicalModel, rows: np.ndarray) -> float:
    """Pearson's test over the full joint table; cells that expect under 5 rows are put together."""
    expected = (joint(model) / model.total * len(rows)).ravel()
    found = counted(model, rows, range(len(model.sizes))).ravel()
    rare = expected < 5
    assert found[expected == 0].sum() == 0
    found = np.append(found[~rare], found[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    return float(stats.chi2.sf(((found - expected) ** 2 / expected).sum(), len(expected) - 1))


@pytest.mark.statistical
def test_independent_draws_follow_the_model():
    model = example()
    assert chi_square(model, model.draw(ROWS, np.random.default_rng(11), rounding=False)) > ALPHA


@pytest.mark.statistical
def test_systematic_draws_follow_the_model_too():
    # Their counts vary less than independent ones, so only too large a distance can be tested.
    model = example()
    assert chi_square(model, model.draw(ROWS, np.random.default_rng(11))) > ALPHA


@pytest.mark.statistical
@pytest.mark.parametrize("rounding", [True, False])
def test_a_draw_that_forgets_its_parent_is_caught(monkeypatch, rounding):
    codes_at = values.codes_at
    for module in (tree_model, values):
        monkeypatch.setattr(module, "codes_at", lambda table, groups, points: codes_at(table, groups * 0, points))
    model = example()
    model = GraphicalModel(model.sizes, model.total, model.cliques, tuple(np.maximum(p, -9) for p in model.potentials))
    assert chi_square(model, model.draw(ROWS, np.random.default_rng(11), rounding)) < ALPHA


@pytest.mark.statistical
def test_a_draw_without_shuffled_groups_is_caught(monkeypatch):
    """Rows of a group in their old order: children of the same separator would move together."""

    class InOrder(np.random.Generator):
        def permutation(self, x):
            return np.arange(x)

    model = example()
    assert chi_square(model, model.draw(ROWS, InOrder(np.random.PCG64(11)))) < ALPHA


@pytest.mark.statistical
@pytest.mark.parametrize("rounding", [True, False])
def test_rows_come_in_random_order(rounding):
    """n = 20,000: the mean of a column over the first half; z under 4.9 means alpha above 1e-6."""
    model = example()
    rows = model.draw(ROWS, np.random.default_rng(2), rounding)
    for column in range(len(model.sizes)):
        values = rows[:, column].astype(float)
        z = (values[: ROWS // 2].mean() - values.mean()) / (values.std() / np.sqrt(ROWS))
        assert abs(z) < stats.norm.isf(ALPHA / 2)
        ordered = np.sort(values)
        assert abs(ordered[: ROWS // 2].mean() - values.mean()) / (values.std() / np.sqrt(ROWS)) > 20


def test_rounding_is_closer_than_independent_draws():
    model = example()
    target = model.marginal((0, 1)) / model.total
    errors = [
        np.abs(counted(model, model.draw(ROWS, np.random.default_rng(4), way), (0, 1)) / ROWS - target).sum()
        for way in (True, False)
    ]
    assert errors[0] < errors[1] / 3


def test_no_rows_is_fine():
    assert example().draw(0, np.random.default_rng(0)).shape == (0, 5)
