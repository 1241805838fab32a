"""Prediction from a release: public models, Delta-MSE, total variation, and the printed values of the price metrics."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import RiskError
from sfumato.papers.two_stage.prediction_task import (
    PUBLIC_MODELS,
    delta_mse,
    holdout_error,
    mean_squared_error,
    stacked,
)
from sfumato.papers.two_stage.price_metrics import mapd, optimal_markup, optimal_profit_ratio
from sfumato.papers.two_stage.trial import column_tvds_w20

# Table 4: mark-ups in per cent, given and on D', on D' + D*; profit ratios on D'.
GIVEN = np.array([200.00, 142.86, 99.01, 102.04, 111.11])
PUBLIC = np.array([185.07, 133.23, 94.56, 97.29, 105.10])
COMBINED = np.array([198.81, 142.48, 98.82, 101.71, 111.08])
RATIOS = np.array([99.90, 99.90, 99.95, 99.94, 99.93])

elasticities = st.floats(-20, -1.01)


def elasticity(markup):
    return -1 - 100 / markup


def surface(rows, seed, noise=0.1):
    rng = np.random.default_rng(seed)
    inputs = rng.random((rows, 2))
    return inputs, np.sin(5 * inputs[:, 0]) + inputs[:, 1] ** 2 + noise * rng.normal(size=rows)


def test_elasticities_behind_the_printed_markups():
    assert np.allclose(elasticity(GIVEN), [-1.5, -1.7, -2.01, -1.98, -1.9], atol=2e-4)
    assert np.allclose(100 * optimal_markup([-1.5, -1.7, -2.01, -1.98, -1.9]), GIVEN, atol=0.006)


def test_the_five_printed_profit_ratios():
    assert np.array_equal(np.round(100 * optimal_profit_ratio(elasticity(GIVEN), elasticity(PUBLIC)), 2), RATIOS)
    assert np.all(np.round(100 * optimal_profit_ratio(elasticity(GIVEN), elasticity(COMBINED)), 2) == 100)


def test_the_two_printed_deviations():
    assert round(100 * mapd(elasticity(GIVEN), elasticity(PUBLIC)), 2) == 2.63
    assert round(100 * mapd(elasticity(GIVEN), elasticity(COMBINED)), 2) == 0.12


@given(elasticities, elasticities)
def test_the_profit_ratio_is_that_of_two_profits(beta, estimate):
    def profit(price):
        return price**beta * (price - 1)

    expected = profit(estimate / (estimate + 1)) / profit(beta / (beta + 1))
    ratio = optimal_profit_ratio(beta, estimate)[0]
    assert ratio == pytest.approx(expected, rel=1e-9)
    assert ratio <= 1 + 1e-12


@pytest.mark.parametrize(
    "call",
    [
        lambda: optimal_markup([-1.5, -1.0, 0.2]),
        lambda: optimal_profit_ratio(-1.5, -0.9),
        lambda: optimal_markup(float("nan")),
        lambda: mapd([0.0], [1.0]),
        lambda: mapd([1.0, 2.0], [1.0]),
        lambda: delta_mse(0.0, 1.0),
        lambda: mean_squared_error([1.0, 2.0], [1.0]),
        lambda: column_tvds_w20([[1.0]], [[1.0, 2.0]]),
        lambda: column_tvds_w20([float("nan")], [1.0]),
    ],
)
def test_what_makes_no_sense_is_refused(call):
    with pytest.raises(RiskError):
        call()


def test_total_variation_by_column():
    left = np.column_stack([np.arange(100.0), np.zeros(100)])
    right = np.column_stack([np.arange(100.0), np.ones(100)])
    assert column_tvds_w20(left, right).tolist() == [0.0, 1.0]
    assert column_tvds_w20(np.arange(10.0), np.arange(5.0), bins=2)[0] == pytest.approx(0.5)


def test_blending_unmatched_rows_distorts_and_matching_does_not():
    """Erratum 5: averages of independent uniform pairs have total variation 1/4, where the paper's theorem says 0."""
    rng = np.random.default_rng(3)
    one, other = rng.random(200_000), rng.random(200_000)
    assert 0.24 < column_tvds_w20(one, (one + other) / 2)[0] < 0.26
    assert column_tvds_w20(one, (np.sort(one) + np.sort(other)) / 2)[0] < 0.01


@pytest.mark.parametrize("model", PUBLIC_MODELS)
def test_a_release_helps_a_public_of_few_rows(model):
    original, public, holdout = surface(300, 1), surface(30, 2), surface(200, 3, noise=0.0)
    options = {"trees": 20} if model == "adaboost" else {}
    alone, both = (
        holdout_error(model, rows, holdout, np.random.default_rng(4), **options)
        for rows in (public, stacked(public, original))
    )
    assert delta_mse(alone, both) > 0.1


def test_a_useless_release_does_not_help():
    inputs, targets = surface(300, 1)
    useless, public = (inputs, np.random.default_rng(0).permutation(targets)), surface(100, 2)
    original, released, alone, both = (
        holdout_error("krr", rows, surface(200, 3, 0.0), np.random.default_rng(5))
        for rows in ((inputs, targets), useless, public, stacked(public, useless))
    )
    assert delta_mse(alone, both) < 0 and released > 3 * original
