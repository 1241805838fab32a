"""The direct release of an entropy: its noise, its sensitivity over neighbours of every size, and what it refuses."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import sfumato
from sfumato import EntropyRelease, Histogram, Ledger
from sfumato.entropy import renyi, sensitivity, shannon
from sfumato.errors import PlanError
from sfumato.mechanisms.entropy.method import SLACK, UNITS, _pad_to_lower_bound
from sfumato.privacy.randomness import Randomness
from sfumato.schema import Schema

ALPHA = 1e-6
BOUND = 60


@dataclass
class Counted:
    """A table that is its counts."""

    schema: Schema
    counts: np.ndarray

    def marginals(self, sets):
        return {tuple(names): self.counts for names in sets}


@pytest.fixture
def public(schema, frame) -> Schema:
    return replace(schema, adjacency="replace", rows=len(frame))


def test_the_noise_is_the_exact_sensitivity_over_epsilon(public, schema, frame):
    plan = sfumato.plan(public, EntropyRelease("age", epsilon=0.5))
    exact = sensitivity(len(frame), public["age"].size) / 0.5
    assert plan.stages[0].scale == pytest.approx(exact, rel=4e-5)
    private = sfumato.plan(schema, EntropyRelease("age", epsilon=0.5, rows_at_least=500))
    assert private.stages[0].scale == pytest.approx(sensitivity(500, schema["age"].size) / 0.5, rel=4e-5)


def draws(schema, counts, epsilon, n) -> np.ndarray:
    method = EntropyRelease("age", epsilon=epsilon)
    plan, randomness = method.plan(schema, randomness="seeded"), Randomness.of(5)
    table = Counted(schema, counts)
    return np.array([method.run(table, plan, randomness).statistics["released_entropy_bits"] for _ in range(n)])


@pytest.mark.statistical
def test_the_released_entropy_follows_its_laplace_law(public):
    """Kolmogorov-Smirnov, alpha 1e-6, n = 2000; a mutant with half the noise is caught."""
    counts = np.arange(public["age"].size) // 4  # far from both ends, where clamping would show
    law = stats.laplace(shannon(counts), sensitivity(public.rows, counts.size) / 20)
    assert stats.kstest(draws(public, counts, 20, 2000), law.cdf).pvalue > ALPHA
    assert stats.kstest(draws(public, counts, 40, 2000), law.cdf).pvalue < ALPHA


@settings(max_examples=300)
@given(
    counts=st.lists(st.integers(0, 30), min_size=5, max_size=5),
    cell=st.integers(0, 4),
    order=st.sampled_from([0.0, 0.5, 1.0, math.inf]),
)
def test_neighbours_of_every_size_stay_within_the_sensitivity(counts, cell, order):
    """Add-remove with a public lower bound of 60 rows: tables below it, at it and above it."""
    column = sfumato.schema.Column("x", "category", values=tuple("abcde"))
    schema = Schema(name="t", columns=(column,))
    method = EntropyRelease("x", epsilon=1, order=order, rows_at_least=BOUND)
    step = method.bound(schema) / UNITS
    less = np.array(counts)
    more = less + np.eye(5, dtype=int)[cell]
    units = [round(renyi(_pad_to_lower_bound(each, BOUND), order) / step) for each in (less, more)]
    assert abs(units[0] - units[1]) <= UNITS + SLACK


def test_without_filling_up_a_small_table_would_break_the_bound():
    """The mutant of the test above: one row against two rows moves the entropy by a whole bit."""
    change = abs(renyi([1, 1], 1.0) - renyi([1, 0], 1.0))
    assert change > 5 * sensitivity(BOUND, 2)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (lambda: EntropyRelease("age", epsilon=1), "lower bound"),
        (lambda: EntropyRelease("age", epsilon=1, rows_at_least=1), "at least 2"),
        (lambda: EntropyRelease("age", epsilon=1, rows_at_least="2.5"), "whole number"),
        (lambda: EntropyRelease("age", epsilon=1, order=2, rows_at_least=100), "order 2"),
        (lambda: EntropyRelease("age", epsilon=1, order=-1), "order"),
        (lambda: EntropyRelease("age", epsilon=1, order="many"), "order"),
        (lambda: EntropyRelease("shoe", epsilon=1, rows_at_least=100), "shoe"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_spent(method, message, frame, schema, tmp_path):
    book = Ledger(tmp_path / "ledger.db")
    book.open_table(schema.name, epsilon=10, adjacency=schema.adjacency)
    with pytest.raises(PlanError, match=message):
        sfumato.release(sfumato.read(frame, schema), method(), ledger=book)
    assert book.history() == ()


def test_all_orders_and_joint_columns_under_replace(public, frame):
    table = sfumato.read(frame, public)
    for order in (0, 0.5, 1, 2, "inf"):
        made = sfumato.release(table, EntropyRelease("age", epsilon=100, order=order), seed=3, allow_weak=True)
        true = made.method.true_values(table)["entropy",].column("entropy_bits")[0].as_py()
        scale = made.plan.stages[0].scale
        assert abs(made.data["entropy_bits"][0] - true) < 30 * scale
    joint = sfumato.release(table, EntropyRelease(["age", "sex"], epsilon=1000), seed=3, allow_weak=True)
    alone = sfumato.release(table, EntropyRelease("age", epsilon=1000), seed=3, allow_weak=True)
    assert joint.data["entropy_bits"][0] > alone.data["entropy_bits"][0]


def test_the_min_entropy_survives_a_bundle(public, frame, tmp_path):
    from sfumato.bundle.verify import verify_bundle

    table = sfumato.read(frame, public)
    made = sfumato.release(table, EntropyRelease("age", epsilon=1, order=math.inf))
    made.save(tmp_path / "bundle", private_report=tmp_path / "private.html", table=table)
    assert verify_bundle(tmp_path / "bundle").problems == ()
    assert "Custodian" in (tmp_path / "private.html").read_text()


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_synthetic_counts_are_whole_rows_drawn_from_noisy_counts(noise, public, schema, frame):
    delta = 1e-6 if noise == "gaussian" else 0
    method = Histogram("age", epsilon=50, delta=delta, noise=noise, synthetic=True)
    made = sfumato.release(sfumato.read(frame, public), method, seed=1, allow_weak=True)
    assert made.data["count"].sum() == len(frame)
    assert made.data["count"].min() >= 0
    plain = sfumato.release(sfumato.read(frame, public), replace(method, synthetic=False), seed=1, allow_weak=True)
    assert not made.data.equals(plain.data)
    private = sfumato.release(sfumato.read(frame, schema), method, seed=1, allow_weak=True)
    assert abs(private.data["count"].sum() - len(frame)) < 0.2 * len(frame)


@pytest.mark.parametrize("order", [1 - 3e-13, 1 + 1e-8, 0.995])
def test_orders_too_near_to_shannon_are_refused(order):
    """Rounding is magnified by 1 / (1 - order): neighbours would lie further apart than the proof allows."""
    with pytest.raises(PlanError, match="too near 1"):
        EntropyRelease("age", epsilon=1, order=order, rows_at_least=100)


def test_a_sensitivity_below_rounding_is_refused(public):
    with pytest.raises(PlanError, match="too little"):
        sfumato.plan(replace(public, rows=10**14), EntropyRelease("age", epsilon=1))


def test_facts_that_do_not_go_together_are_refused(schema):
    with pytest.raises(sfumato.errors.SchemaError, match="go together"):
        sfumato.plan(replace(schema, rows=600), EntropyRelease("age", epsilon=1, rows_at_least=100))
    with pytest.raises(sfumato.errors.SchemaError, match="go together"):
        sfumato.plan(replace(schema, rows_per_person=3), EntropyRelease("age", epsilon=1, rows_at_least=100))
