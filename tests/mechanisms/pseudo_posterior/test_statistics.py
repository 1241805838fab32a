"""Noisy sufficient statistics: sensitivities by search over the corners and the inside, sums exact, fits right."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize

from sfumato.errors import PlanError
from sfumato.mechanisms.pseudo_posterior.sufficient_statistics import UNIT, NoisyStatistics
from sfumato.privacy.randomness import Randomness

BOUNDS = (math.exp(-3), math.exp(9))


def data(rows: int, seed: int, predictors: int = 1) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    z = generator.normal(2, 1, (rows, predictors))
    return np.exp(3 + (z - 2).sum(axis=1) / predictors + generator.standard_normal(rows)), z


def statistics(predictors: int, **facts) -> NoisyStatistics:
    return NoisyStatistics(
        **{"target": (-1, 1), "predictors": ((-1, 1),) * predictors, "scale": "normal", "epsilon": 1, **facts}
    )


def moved(method: NoisyStatistics, records: np.ndarray, norm: int) -> np.ndarray:
    """How far each record, or each pair of records, moves the sums."""
    q = method.columns
    first = method.quantise(records[:, q - 1], records[:, : q - 1])
    if method.adjacency == "replace":
        first = (first - method.quantise(records[:, -1], records[:, q:-1]))[:, 1:]
    return np.linalg.norm(first.astype(float), norm, axis=1)


@pytest.mark.parametrize("predictors", [0, 1, 2, 3])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_no_record_moves_the_sums_by_more_than_the_sensitivity(predictors, adjacency, delta):
    method = statistics(predictors, adjacency=adjacency, delta=delta, rows=10 if adjacency == "replace" else None)
    width = (predictors + 1) * (2 if adjacency == "replace" else 1)
    generator = np.random.default_rng(predictors)
    inside = generator.uniform(-1.2, 1.2, (20_000, width))
    corner = generator.choice([-1.0, -0.5, 0.0, 0.5, 1.0], (40_000, width))
    reached = moved(method, np.vstack([inside, corner, np.ones((1, width))]), 2 if delta else 1).max()
    assert reached <= method.part.sensitivity
    if adjacency == "add-remove":
        assert reached >= method.part.sensitivity - 2, "the bound is reached by a record at a corner"


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_known_sensitivities(delta):
    part = statistics(1, delta=delta).part
    expected = 5 if not delta else math.sqrt(4.5)
    assert part.sensitivity / UNIT == pytest.approx(expected, abs=1e-8)
    assert part.cells == 6


def test_the_bounds_of_the_proof_note():
    one = optimize.brute(lambda p: -abs(p[0] - p[1]) * (1 + abs(p[0] + p[1])), ((-1, 1), (-1, 1)), Ns=101, finish=None)
    assert abs(one[0] - one[1]) * (1 + abs(one[0] + one[1])) == pytest.approx(9 / 4, abs=1e-3)
    grid = np.linspace(-1, 1, 401)
    a, b = np.meshgrid(grid, grid)
    assert ((a - b) ** 2 * (1 + (a + b) ** 2)).max() == pytest.approx(4)


def test_sums_do_not_depend_on_batches_or_order():
    x, z = data(70_000, 1)
    method = NoisyStatistics(target=BOUNDS, predictors=((-2, 6),), epsilon=1)
    whole = method.total([(x, z)])
    order = np.random.default_rng(2).permutation(len(x))
    batches = [(x[order][i : i + 997], z[order][i : i + 997]) for i in range(0, len(x), 997)]
    assert (method.total(batches) == whole).all()
    assert whole[0] == len(x) * UNIT


def test_a_record_with_a_missing_value_contributes_nothing():
    method = NoisyStatistics(target=BOUNDS, predictors=((-2, 6),), epsilon=1)
    assert not method.quantise([np.nan, 3.0], [[1.0], [np.nan]]).any()
    assert method.quantise([-5.0, np.inf], [[1.0], [-np.inf]])[:, 0].tolist() == [UNIT, UNIT]


@pytest.mark.parametrize("facts", [{"delta": 0}, {"delta": 1e-6}, {"adjacency": "replace", "rows": 50_000}])
def test_many_records_give_the_least_squares_fit(facts):
    x, z = data(50_000, 3, predictors=2)
    method = NoisyStatistics(target=BOUNDS, predictors=((-2, 6), (-2, 6)), epsilon=5, **facts)
    drawn = method.release([(x, z)], Randomness.of(4)).draw(np.random.default_rng(5))
    assert drawn.centres == (2, 2)
    assert drawn.coefficients == pytest.approx((3, 0.5, 0.5), abs=0.05)
    assert drawn.spread == pytest.approx(1, abs=0.03)


def test_without_noise_the_posterior_is_the_textbook_one():
    """20,000 draws at an epsilon that leaves no noise: mean and deviation of the closed form (n = 60)."""
    x, z = data(60, 6)
    moments = NoisyStatistics(target=BOUNDS, predictors=((-2, 6),), epsilon=1e7).release([(x, z)], Randomness.of(7))
    generator = np.random.default_rng(8)
    drawn = np.array([(*d.coefficients, d.spread**2) for d in (moments.draw(generator) for _ in range(20_000))])
    design = np.column_stack([np.ones(60), z - 2])
    fit, rest, *_ = np.linalg.lstsq(design, np.log(x), rcond=None)
    assert drawn.mean(axis=0) == pytest.approx((*fit, rest[0] / 56), abs=0.01)
    spread = np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * rest[0] / 56)
    assert drawn[:, :2].std(axis=0) == pytest.approx(spread, rel=0.03)


def test_pure_noise_still_gives_a_draw():
    method = NoisyStatistics(target=BOUNDS, predictors=((-2, 6),) * 4, epsilon=0.01)
    for seed in range(50):
        drawn = method.release([], Randomness.of(seed)).draw(np.random.default_rng(seed))
        assert drawn.spread > 0
        assert np.isfinite(drawn.coefficients).all()


def test_bad_input_is_refused_with_every_problem():
    with pytest.raises(PlanError) as caught:
        NoisyStatistics(target=(0, 9), predictors=((3, 1),), epsilon=1, adjacency="replace", delta=2)
    assert len(caught.value.problems) == 4
    with pytest.raises(PlanError, match="epsilon"):
        NoisyStatistics(target=(1, 9), epsilon=0)
