"""Pass rates on a pilot: they follow the exact law, stand for larger tables, and are refused in words."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import PlanError, TableError
from sfumato.mechanisms.plausible_deniability import pass_rate, pass_rates
from sfumato.mechanisms.plausible_deniability.privacy_test import PrivacyTest, pass_probability, prior_share
from sfumato.schema import Column, Schema

SCHEMA = Schema(name="t", columns=(Column("x", "integer", bounds=(0, 11)), Column("y", "category", values=("a", "b"))))
SIGMAS = 5.3
"""alpha 1e-7 for each of the points."""


def pilot(rows: int = 300) -> pa.Table:
    rng = np.random.default_rng(2)
    return pa.table({"x": rng.binomial(11, 0.3, rows), "y": rng.choice(["a", "b"], rows, p=[0.8, 0.2])})


def kernel(bandwidth: float) -> np.ndarray:
    near = np.exp(-np.abs(np.subtract.outer(np.arange(12), np.arange(12))) / bandwidth)
    return near / near.sum(axis=1, keepdims=True)


@pytest.mark.statistical
def test_the_kernel_models_rate_is_the_exact_one():
    """alpha 6e-7 in all, n = 4,000 draws: the estimate against the law in full; another gamma or k is caught."""
    table = pilot()
    found = pass_rates(
        table, SCHEMA, columns=["x"], model="kernel", bandwidth=2, k=[20, 60], gamma=[2, 5], epsilon0=0.1, draws=4000
    )
    seeds, exact = table["x"].to_numpy(), {}
    for point in found.points:
        exact[point.k, point.gamma] = pass_rate(seeds, kernel(2), k=point.k, gamma=point.gamma, epsilon0=0.1)
        assert abs(point.rate - exact[point.k, point.gamma]) < SIGMAS * point.error
    other = next(point for point in found.points if (point.k, point.gamma) == (60, 2))
    assert abs(other.rate - exact[20, 2]) > SIGMAS * other.error < abs(other.rate - exact[60, 5])
    assert found.rate(60, 2) == other.rate and other.kept is None


def test_every_point_says_what_the_test_promises():
    point = pass_rates(pilot(), SCHEMA, k=50, gamma=4, epsilon0=1, draws=50).points[0]
    assert point.epsilon == PrivacyTest.best(50, 4, 1, 1e-6).epsilon
    assert point.from_seeds == pytest.approx(point.rate * (1 - prior_share(50, 4, 1)))
    assert pass_rates(pilot(), SCHEMA, k=5, gamma=4, epsilon0=1, draws=50).points[0].epsilon is None


def test_a_pilot_stands_for_a_larger_table():
    """All rows alike, all attributes kept: a cell holds the whole table, so that the rate has a closed form."""
    alike, how = (
        pa.table({"x": [3] * 40, "y": ["a"] * 40}),
        {"keep": 2, "k": 90, "gamma": 2, "epsilon0": 0.2, "draws": 30},
    )
    for rows, cell in ((None, 40), (60, 60), (100, 100)):
        expected = float(pass_probability(cell, 90, 0.2)) * min(1, cell / 90)
        assert pass_rates(alike, SCHEMA, rows=rows, **how).points[0].rate == pytest.approx(expected, rel=1e-12)
    public = Schema(name="t", columns=SCHEMA.columns, adjacency="replace", rows=100)
    assert pass_rates(alike, public, **how).rows == 100


def test_the_seed_model_keeps_less_of_a_seed_where_k_is_larger():
    found = pass_rates(pilot(2000), SCHEMA, k=[5, 1500], gamma=2, draws=200)
    assert found.points[0].kept > found.points[1].kept
    again = pass_rates(pilot(2000), SCHEMA, k=[5, 1500], gamma=2, draws=200)
    assert again == found and "must be public" in found.statement() and found.pilot_rows == 2000


def test_wrong_questions_are_refused_at_once():
    with pytest.raises(PlanError) as caught:
        pass_rates(pilot(), SCHEMA, k=[0, 2.5], gamma=1, epsilon0=0, delta=2, rows=1, draws=1)
    told = " ".join(caught.value.problems)
    assert all(
        word in told for word in ("k must", "gamma must", "epsilon0 must", "delta must", "rows must", "draws must")
    )
    with pytest.raises(PlanError, match="no column 'z'"):
        pass_rates(pilot(), SCHEMA, columns=["z"])
    with pytest.raises(PlanError, match="no schema"):
        pass_rates(pilot())
    with pytest.raises(TableError, match="a pilot of 1 rows shows nothing"):
        pass_rates(pilot(1), SCHEMA)
    with pytest.raises(TableError, match="does not fit"):
        pass_rates(pa.table({"x": [99, 1], "y": ["a", "b"]}), SCHEMA)


def test_a_table_that_was_read_is_a_pilot_too():
    table = sfumato.read(pilot(), SCHEMA)
    assert pass_rates(table, k=10, gamma=2, draws=40) == pass_rates(pilot(), SCHEMA, k=10, gamma=2, draws=40)
