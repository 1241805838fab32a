from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mechanisms.graphical.brute_force import TOTAL, joint, models, summed
from sfumato.errors import PlanError
from sfumato.mechanisms.graphical.junction_tree.graphical_model import GraphicalModel
from sfumato.mechanisms.graphical.junction_tree.message_passing import MessagePassing, log_space_marginals, schedule


@settings(max_examples=150)
@given(models())
def test_every_marginal_equals_brute_force(model):
    table = joint(model)
    columns = range(len(model.sizes))
    wanted = [clique for width in range(len(model.sizes) + 1) for clique in combinations(columns, width)]
    found = model.marginals(wanted)
    assert set(found) == set(wanted)
    for clique in wanted:
        np.testing.assert_allclose(found[clique], summed(table, clique), atol=1e-9 * TOTAL)


@settings(max_examples=50)
@given(models(), st.randoms())
def test_axes_come_in_the_order_asked_for(model, random):
    columns = list(range(len(model.sizes)))
    random.shuffle(columns)
    table = joint(model)
    for width in range(1, 4):
        np.testing.assert_allclose(model.marginal(columns[:width]), summed(table, columns[:width]), atol=1e-9 * TOTAL)


@settings(max_examples=50)
@given(models())
def test_log_space_equals_probability_space(model):
    plan = schedule(model.sizes, model.cliques)
    sweeper = MessagePassing(plan)
    plain = sweeper.beliefs(model.potentials)
    assert not sweeper.log_space
    for one, other in zip(plain, log_space_marginals(plan, model.potentials), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def chain(potential: float) -> GraphicalModel:
    """Three columns whose potentials fight: the best cells of one clique are the worst ones of the next."""
    first = np.array([[0.0, potential], [potential, 0.3 * potential]])
    second = np.array([[potential, 2 * potential], [1.5 * potential, 0.0]])
    third = np.array([[0.0, potential], [0.5, potential]])
    return GraphicalModel((2, 2, 2, 2), TOTAL, ((0, 1), (1, 2), (2, 3)), (first, second, third))


@pytest.mark.parametrize(("potential", "underflows"), [(-3.0, False), (-2000.0, True), (-1e6, True)])
def test_underflow_is_noticed_and_mended(potential, underflows):
    model = chain(potential)
    sweeper = MessagePassing(schedule(model.sizes, model.cliques))
    sweeper.beliefs(model.potentials)
    assert sweeper.log_space == underflows
    for columns in [(0, 1), (0, 3), (1, 2), (0, 2, 3), (0, 1, 2, 3)]:
        np.testing.assert_allclose(model.marginal(columns), summed(joint(model), columns), atol=1e-9 * TOTAL)


def test_overflow_of_very_many_columns_is_no_problem():
    columns = 400
    model = GraphicalModel((8,) * columns, TOTAL, tuple((c,) for c in range(columns)), (np.zeros(8),) * columns)
    np.testing.assert_allclose(model.marginal((0, 399)), TOTAL / 64)


def test_contradictory_zeros_are_refused():
    nothing = -np.inf
    equal = np.array([[0.0, nothing], [nothing, 0.0]])
    unequal = np.array([[nothing, 0.0], [0.0, nothing]])
    model = GraphicalModel((2, 2, 2), TOTAL, ((0, 1), (0, 2), (1, 2)), (equal, equal, unequal))
    with pytest.raises(PlanError, match="contradict"):
        model.marginal((0,))


def test_a_column_may_be_asked_for_twice_only_by_mistake():
    with pytest.raises(PlanError, match="marginal"):
        chain(-1.0).marginal((0, 0))
    with pytest.raises(PlanError, match="marginal"):
        chain(-1.0).marginal((0, 4))


@settings(max_examples=30)
@given(models())
def test_saved_arrays_come_back_the_same(model):
    again = GraphicalModel.from_arrays(model.to_arrays())
    assert (again.sizes, again.total, again.cliques) == (model.sizes, model.total, model.cliques)
    assert (again.loss, again.steps, again.converged) == (model.loss, model.steps, model.converged)
    for one, other in zip(again.potentials, model.potentials, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(again.marginal((0, 1)), model.marginal((0, 1)))
    rows = [m.draw(50, np.random.default_rng(3)) for m in (again, model)]
    np.testing.assert_array_equal(*rows)


@pytest.mark.parametrize("broken", ["sizes", "potential_0", "clique_1", "scalars"])
def test_broken_arrays_are_refused(broken):
    arrays = chain(-1.0).to_arrays()
    del arrays[broken]
    with pytest.raises(PlanError, match="cannot be read"):
        GraphicalModel.from_arrays(arrays)
    arrays = chain(-1.0).to_arrays() | {"potential_0": np.zeros((2, 3))}
    with pytest.raises(PlanError, match="differ"):
        GraphicalModel.from_arrays(arrays)
