from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.optimize import minimize

from mechanisms.graphical.brute_force import TOTAL, joint, models, summed
from sfumato.errors import PlanError
from sfumato.mechanisms.graphical.junction_tree.graphical_model import GraphicalModel
from sfumato.mechanisms.graphical.junction_tree.linear_measurement import LinearMeasurement, StructuralZeros
from sfumato.mechanisms.graphical.junction_tree.mirror_descent import estimate

SIZES = (2, 3, 2)


def noisy(seed: int = 0, sigma: float = 4.0) -> list[LinearMeasurement]:
    generator = np.random.default_rng(seed)
    truth = generator.dirichlet(np.full(12, 0.5)).reshape(SIZES) * TOTAL
    cliques = [(0,), (0, 1), (1, 2), (0, 2), (0, 1)]
    return [
        LinearMeasurement(c, summed(truth, c) + generator.normal(0, sigma, summed(truth, c).shape), sigma)
        for c in cliques
    ]


def loss_of(table: np.ndarray, tables: list[LinearMeasurement]) -> float:
    return sum(float(((summed(table, t.clique) - t.noisy_counts) ** 2).sum()) / (2 * t.stddev**2) for t in tables)


def smallest_loss(tables: list[LinearMeasurement], allowed: np.ndarray | None = None) -> float:
    """An independent optimiser: quadratic programming over all cells of the joint table."""
    cells = np.flatnonzero(np.ones(SIZES) if allowed is None else allowed)

    def spread(weights: np.ndarray) -> np.ndarray:
        table = np.zeros(SIZES)
        table.ravel()[cells] = weights
        return table

    found = minimize(
        lambda weights: loss_of(spread(weights), tables),
        np.full(len(cells), TOTAL / len(cells)),
        bounds=[(0, None)] * len(cells),
        constraints={"type": "eq", "fun": lambda weights: weights.sum() - TOTAL},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    return float(found.fun)


@pytest.mark.parametrize("seed", range(5))
def test_fit_reaches_the_smallest_loss(seed):
    tables = noisy(seed)
    model = estimate(SIZES, tables, TOTAL, most_steps=20_000, tolerance=1e-9)
    assert model.converged
    assert model.loss == pytest.approx(smallest_loss(tables), rel=1e-4, abs=1e-4)
    assert model.loss == pytest.approx(loss_of(joint(model), tables), rel=1e-9)


def test_fit_with_structural_zeros_reaches_the_smallest_loss_among_allowed_tables():
    tables = noisy(1)
    pair = np.array([[True, False, True], [True, True, False]])
    model = estimate(SIZES, tables, TOTAL, [StructuralZeros((0, 1), pair)], most_steps=20_000, tolerance=1e-9)
    allowed = np.broadcast_to(pair[:, :, None], SIZES)
    assert (model.marginal((0, 1))[~pair] == 0).all()
    assert model.loss == pytest.approx(smallest_loss(tables, allowed), rel=1e-4, abs=1e-4)


@settings(max_examples=25)
@given(models(zeros=False))
def test_consistent_tables_with_tiny_noise_are_recovered(model):
    spread = max(np.ptp(potential) for potential in model.potentials)
    wanted = [LinearMeasurement(clique, model.marginal(clique), 0.01 * TOTAL) for clique in model.cliques]
    found = estimate(model.sizes, wanted, TOTAL, most_steps=20_000, tolerance=1e-9)
    assert found.converged
    for table in wanted:
        # Cells far below the others fill slowly; they are close in counts long before they are in logs.
        np.testing.assert_allclose(
            found.marginal(table.clique), table.noisy_counts, atol=2e-3 * TOTAL if spread > 4 else 1e-4 * TOTAL
        )


def test_equal_cliques_are_merged_by_inverse_variance():
    tables = [
        LinearMeasurement((0,), np.array([30.0, 20.0]), 1.0),
        LinearMeasurement((0,), np.array([20.0, 30.0]), 2.0),
    ]
    model = estimate((2,), tables, 50.0, most_steps=1000, tolerance=1e-10)
    np.testing.assert_allclose(model.marginal((0,)), [28.0, 22.0], atol=1e-3)
    assert model.loss == pytest.approx(20.0, rel=1e-6)  # 2 (2^2 / 2 + 8^2 / 8)


def test_a_warm_start_goes_on_where_the_last_fit_stopped():
    tables = noisy(2)
    half = estimate(SIZES, tables, TOTAL, most_steps=30, tolerance=0.0)
    more = estimate(SIZES, tables, TOTAL, start=half, most_steps=30, tolerance=0.0)
    assert half.steps == more.steps == 30 and not half.converged
    assert more.loss < half.loss
    again = estimate(SIZES, tables, TOTAL, start=half, most_steps=0)
    # All but cells below a hundredth of a row, which a start lifts.
    np.testing.assert_allclose(joint(again), joint(half), atol=1e-3)


def test_a_warm_start_may_have_smaller_cliques_and_other_ones():
    tables = noisy(3)
    first = estimate(SIZES, tables[:1] + tables[2:3], TOTAL, most_steps=200)
    warm = estimate(SIZES, tables, TOTAL, start=first, most_steps=5000, tolerance=1e-9)
    back = estimate(SIZES, tables[:2], TOTAL, start=warm, most_steps=5000, tolerance=1e-9)
    assert warm.loss == pytest.approx(smallest_loss(tables), rel=1e-3, abs=1e-3)
    assert back.loss == pytest.approx(smallest_loss(tables[:2]), rel=1e-3, abs=1e-3)


def test_the_loss_never_rises():
    tables, model, losses = noisy(4), None, []
    for _ in range(40):
        model = estimate(SIZES, tables, TOTAL, start=model, most_steps=2, tolerance=0.0)
        losses.append(model.loss)
    assert (np.diff(losses) <= 1e-12).all()


def test_a_few_cold_steps_do_not_count_as_converged():
    assert not estimate(SIZES, noisy(0), TOTAL, most_steps=5).converged


def test_columns_without_any_table_are_uniform():
    model = estimate((2, 4), [LinearMeasurement((0,), np.array([30.0, 20.0]), 1.0)], 50.0, most_steps=500)
    np.testing.assert_allclose(model.marginal((1,)), 12.5)
    np.testing.assert_allclose(estimate((2, 4), [], 50.0).marginal((0, 1)), 50 / 8)


def test_contradictory_supports_are_refused():
    same = np.eye(2, dtype=bool)
    supports = [StructuralZeros((0, 1), same), StructuralZeros((1, 2), same), StructuralZeros((0, 2), ~same)]
    with pytest.raises(PlanError, match="contradict"):
        estimate((2, 2, 2), [], TOTAL, supports)


def test_all_problems_are_told_at_once():
    tables = [
        LinearMeasurement((1, 0), np.zeros((3, 2)), 1.0),
        LinearMeasurement((0,), np.zeros(3), 1.0),
        LinearMeasurement((1,), np.zeros(3), 0.0),
        LinearMeasurement((9,), np.zeros(3), 1.0),
    ]
    with pytest.raises(PlanError) as caught:
        estimate(SIZES, tables, -1.0, [StructuralZeros((0,), np.zeros(2, bool))])
    assert len(caught.value.problems) == 6


def test_huge_counts_and_tiny_noise_do_not_overflow():
    tables = [LinearMeasurement((0, 1), np.array([[1e9, -1e6, 0.0], [0.0, 2e9, 3.0]]), 0.1)]
    model = estimate(SIZES, tables, 3e9, most_steps=500)
    assert np.isfinite(model.loss)
    np.testing.assert_allclose(model.marginal((0, 1)) / 3e9, [[1 / 3, 0, 0], [0, 2 / 3, 0]], atol=1e-3)


def test_underflow_during_a_fit_goes_on_in_log_space():
    start = GraphicalModel(SIZES, TOTAL, ((0, 1), (1, 2)), (_fight(2, 3), _fight(3, 2)[::-1]))
    model = estimate(SIZES, noisy(0), TOTAL, start=start, most_steps=20)
    assert np.isfinite(model.loss)
    assert model.marginal((0, 2)).sum() == pytest.approx(TOTAL)


def _fight(rows: int, columns: int) -> np.ndarray:
    return -2000.0 * np.arange(rows * columns, dtype=float).reshape(rows, columns)
