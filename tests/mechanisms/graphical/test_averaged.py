"""The average of a tree and a mixture is the average of what they say, and rows come from both halves."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.errors import PlanError
from sfumato.mechanisms.graphical.junction_tree.graphical_model import GraphicalModel
from sfumato.mechanisms.graphical.mixture.model import AveragedModel, MixtureModel

SIZES, TOTAL = (2, 3, 4), 500.0


def parts(seed: int = 1) -> tuple[GraphicalModel, MixtureModel]:
    generator = np.random.default_rng(seed)
    cliques = ((0, 1), (1, 2))
    tree = GraphicalModel(SIZES, TOTAL, cliques, (generator.normal(size=(2, 3)), generator.normal(size=(3, 4))), 2.5, 7)
    levels = np.concatenate([generator.dirichlet(np.ones(size), 5).T for size in SIZES])
    return tree, MixtureModel(SIZES, TOTAL, levels, generator.dirichlet(np.ones(5)), steps=30)


TREE, MIXTURE = parts()
MODEL = AveragedModel(TREE, MIXTURE)
CLIQUES = [(0,), (0, 2), (1, 2), (0, 1, 2)]


@pytest.mark.parametrize("columns", [*CLIQUES, (2, 0)])
def test_marginals_are_the_average_of_the_parts(columns):
    found = MODEL.marginal(columns)
    assert found == pytest.approx((TREE.marginal(columns) + MIXTURE.marginal(columns)) / 2)
    assert found.sum() == pytest.approx(TOTAL)
    assert found != pytest.approx(TREE.marginal(columns))


def test_many_marginals_at_once_are_the_same():
    found = MODEL.marginals(CLIQUES)
    assert list(found) == CLIQUES
    assert all(np.allclose(found[clique], MODEL.marginal(clique)) for clique in CLIQUES)


def test_facts_come_from_the_parts():
    assert (MODEL.sizes, MODEL.total, MODEL.loss, MODEL.steps) == (SIZES, TOTAL, 2.5, 37)
    assert MODEL.converged
    unsettled = GraphicalModel(SIZES, TOTAL, TREE.cliques, TREE.potentials, converged=False)
    assert not AveragedModel(unsettled, MIXTURE).converged


@pytest.mark.parametrize("rounding", [True, False])
@pytest.mark.parametrize("rows", [1, 2, 7, 40_001])
def test_rows_follow_the_average(rows, rounding):
    """Cells of 40,001 rows are within 6 standard deviations of the average's, and not of the tree's alone."""
    codes = MODEL.draw(rows, np.random.default_rng(3), rounding)
    assert codes.shape == (rows, 3)
    assert codes.dtype == np.int32
    assert np.all((codes >= 0) & (codes < SIZES))
    if rows < 1000:
        return
    counts = np.bincount(np.ravel_multi_index(tuple(codes.T), SIZES), minlength=24).reshape(SIZES)
    spread = 6 * math.sqrt(rows) / 2
    assert np.abs(counts - MODEL.marginal((0, 1, 2)) * rows / TOTAL).max() < spread
    assert np.abs(counts - TREE.marginal((0, 1, 2)) * rows / TOTAL).max() > spread


def test_rows_are_shuffled_and_repeatable():
    one, two, other = (MODEL.draw(2000, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert np.array_equal(one, two) and not np.array_equal(one, other)
    shares = [np.mean(half[:, 0]) for half in (one[:1000], one[1000:])]
    assert abs(shares[0] - shares[1]) < 6 * math.sqrt(0.5 / 1000)


def test_arrays_bring_both_parts_back():
    again = AveragedModel.from_arrays(MODEL.to_arrays())
    assert all(np.array_equal(again.marginal(clique), MODEL.marginal(clique)) for clique in CLIQUES)
    assert np.array_equal(again.draw(50, np.random.default_rng(1)), MODEL.draw(50, np.random.default_rng(1)))


@pytest.mark.parametrize("lost", ["tree.sizes", "mixture.weights"])
def test_arrays_that_lack_something_are_refused(lost):
    arrays = {name: array for name, array in MODEL.to_arrays().items() if name != lost}
    with pytest.raises(PlanError, match="cannot be read"):
        AveragedModel.from_arrays(arrays)
