"""The private response of levels: sensitivities by search, canaries with a mutant, chances that are learnt."""

from __future__ import annotations

import functools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import sfumato
from sfumato.errors import PlanError
from sfumato.mechanisms.two_stage.gaussian_copula import InputMarginals, PrivateInputs
from sfumato.mechanisms.two_stage.noise_aware_ridge import CategoricalResponse, Features
from sfumato.mechanisms.two_stage.plan import TwoStagePlan
from sfumato.mechanisms.two_stage.run import TwoStageRun, release_two_stage
from sfumato.privacy.randomness import Randomness
from sfumato.sampling.public_box import BoundedAxis
from sfumato.schema import Schema
from sfumato.schema.column import Column

ALPHA = 1e-6
LEVELS = 3
ADJACENCIES = ("add-remove", "replace")


@functools.cache
def plan_of(
    adjacency: str = "add-remove", rows: int = 20_000, levels: int = LEVELS, epsilon: float = 1
) -> TwoStagePlan:
    return TwoStagePlan(
        axes=(BoundedAxis(-1.0, 1.0), BoundedAxis(-1.0, 1.0)),
        target=BoundedAxis(0, levels - 1, whole=True),
        epsilon=epsilon,
        delta=1e-6,
        n_pub=rows,
        adjacency=adjacency,
        classes=levels,
    )


def fit_of(seed: int) -> tuple[CategoricalResponse, float]:
    """Random numbers in the place of the released ones: sensitivities must hold for all of them."""
    plan, generator = plan_of(), np.random.default_rng(seed)
    noisy = np.concatenate([generator.exponential(size=len(edges) - 1) for edges in plan.edges])
    marginals = InputMarginals.of(plan.axes, plan.edges, noisy)
    synthetic = PrivateInputs(marginals, np.eye(2)).draw(300, generator)
    features = Features.of(marginals, (), synthetic, plan.rank)
    weights = generator.normal(size=(features.count, LEVELS)) / features.longest
    return CategoricalResponse(features, weights, generator.dirichlet(np.ones(LEVELS))), float(
        generator.uniform(0.01, 2)
    )


FITS = [fit_of(seed) for seed in range(3)]


def contributions(record: np.ndarray, fit: CategoricalResponse, reach: float) -> dict[str, np.ndarray]:
    """What one record adds to the residual stages, in lattice units, by the functions that the run uses."""
    run = TwoStageRun(plan_of(), lambda: iter([record[None]]), Randomness.of(0))
    for row in run._chunks():
        moves = run._moves(row, fit, reach)
        return {"first": moves, "spread": run._squares(row, fit, reach), "second": moves}
    return {part.stage: np.zeros(part.cells, np.int64) for part in plan_of().parts}


def square(moved: np.ndarray) -> int:
    return sum(int(v) ** 2 for v in moved.ravel())


values = st.one_of(st.sampled_from([-1.0, 0.0, 1.0, 2.0, 7.0, 1e300, -1e300, math.inf, math.nan]), st.floats(-2, 3))
records = st.tuples(values, values, values)


@settings(max_examples=150)
@given(first=records, second=records, known=st.sampled_from(FITS), adjacency=st.sampled_from(ADJACENCIES))
def test_no_record_moves_a_sum_by_more_than_its_sensitivity(first, second, known, adjacency):
    one, two = (contributions(np.array(record), *known) for record in (first, second))
    for part in plan_of(adjacency).parts:
        if part.stage in ("first", "spread", "second"):
            moved = one[part.stage] - (two[part.stage] if adjacency == "replace" else 0)
            assert square(moved) <= part.sensitivity**2, part.stage


@pytest.mark.statistical
@pytest.mark.parametrize("mutant", [1.0, 0.5])
def test_the_residual_stages_at_a_canary(mutant):
    """n = 4000 draws: mu of a canary record, at confidence 1 - alpha (1e-6), is not above the plan; half the noise is.

    A mutant that counts one level alone instead of the vector would claim 1 / sqrt(2) of the sensitivity: the canary
    reaches more than that.
    """
    run = TwoStageRun(plan_of(), lambda: iter([]), Randomness.of(3))
    corners = [np.array([a, b, y]) for a in (-1.0, 1.0) for b in (-1.0, 1.0) for y in range(LEVELS)]
    found = [contributions(corner, fit, 0.01) for corner in corners for fit, _ in FITS]
    for part in plan_of().parts:
        if part.stage not in found[0]:
            continue
        reached = math.sqrt(max(square(each[part.stage]) for each in found)) / part.sensitivity
        assert reached > 0.95, (part.stage, reached)
        noise, scale = run.noisy(part.stage, np.zeros(4000, np.int64))
        seen = ((mutant * noise) ** 2).sum()
        least_mu = reached * part.sensitivity / math.sqrt(seen / stats.chi2.ppf(ALPHA, 4000))
        assert (least_mu <= part.sensitivity / scale) == (mutant == 1.0), part.stage


def test_levels_cost_cells_and_no_sensitivity():
    one, many = ({p.stage: p for p in plan_of(levels=k).parts} for k in (2, 9))
    assert many["first"].cells == 9 * one["first"].cells // 2 and many["first"].sensitivity == one["first"].sensitivity
    assert many["target"].cells == 9 and many["first"].scale == pytest.approx(one["first"].scale, rel=1e-3)
    with pytest.raises(PlanError, match="100 are the most"):
        plan_of(levels=101)
    with pytest.raises(PlanError, match="codes of 3 levels"):
        TwoStagePlan(
            axes=(BoundedAxis(0, 1),), target=BoundedAxis(0, 5, whole=True), epsilon=1, delta=1e-6, n_pub=9, classes=3
        )


def table(rows: int, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    x = generator.uniform(-1, 1, (rows, 2))
    level = np.where(x[:, 0] > 0.3, 2.0, np.where(x[:, 1] > 0, 1.0, 0.0))
    flipped = generator.random(rows) < 0.1
    return np.column_stack([x, np.where(flipped, generator.integers(0, 3, rows), level)])


def test_much_data_gives_the_levels_back():
    rows, test = table(12_000, 1), table(1000, 2)
    made = release_two_stage(plan_of(rows=12_000, epsilon=3), lambda: iter([rows]), Randomness.of(1))
    assert np.mean(made.predict(test[:, :2])[:, 0] == test[:, 2]) > 0.8
    chances = made.fit.probabilities(test[:, :2])
    assert np.allclose(chances.sum(axis=1), 1) and chances.min() >= 0
    _, drawn = made.draw(10_000, np.random.default_rng(1))
    shares = [np.bincount(codes.astype(int).ravel(), minlength=3) / len(codes) for codes in (drawn, rows[:, 2])]
    assert np.abs(shares[0] - shares[1]).max() < 0.03


@pytest.mark.parametrize("rows", [0, 1, 30])
def test_tables_with_next_to_nothing_still_give_levels(rows):
    made = release_two_stage(plan_of(rows=1000), lambda: iter([np.full((rows, 3), 1.0)]), Randomness.of(1))
    _, drawn = made.draw(100, np.random.default_rng(1))
    assert set(np.unique(drawn)) <= {0.0, 1.0, 2.0}


SCHEMA = Schema(
    name="people",
    columns=(
        Column("a", "number", bounds=(-1.0, 1.0)),
        Column("b", "number", bounds=(-1.0, 1.0)),
        Column("ill", "boolean"),
        Column("kind", "category", values=("x", "y", "z")),
    ),
)


@pytest.mark.parametrize("target", ["ill", "kind"])
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_a_release_with_a_target_of_levels_has_its_guarantee(target, adjacency):
    found = table(400, 3)
    frame = pd.DataFrame({"a": found[:, 0], "b": found[:, 1], "ill": found[:, 2] > 1})
    frame["kind"] = np.array(["x", "y", "z"])[found[:, 2].astype(int)]
    facts = Schema(
        name="people", columns=SCHEMA.columns, adjacency=adjacency, rows=400 if adjacency == "replace" else None
    )
    method = sfumato.TwoStage(target, epsilon=5, delta="1e-6", inputs=["a", "b"], expected_rows=400)
    made = sfumato.release(sfumato.read(frame, facts), method, rows=300, ledger=False, seed=1)
    assert made.guarantee.formal and list(made.data.columns) == ["a", "b", target]
    assert len(made.data) == 300 and set(made.data[target]) <= set(frame[target])
