"""The noise of a mean curve is Brownian, and no audit finds more than the claimed epsilon.

alpha = 1e-6 throughout. Covariance: n = 3,000 released curves on 12 points. Audit: n = 400,000 runs on each of two
neighbours, half of them to choose the threshold.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from sfumato.mechanisms.mean_curve.curve_kernels import KERNELS
from sfumato.mechanisms.mean_curve.integer_sums import count_weight
from sfumato.mechanisms.mean_curve.method import KEY, MeanCurve
from sfumato.privacy.noise import add_gaussian
from sfumato.privacy.randomness import Randomness
from sfumato.schema import Schema
from sfumato.schema.column import Column
from statistical.laws import ALPHA

POINTS, CURVES, RUNS, ROWS = 12, 3_000, 400_000, 20
GRID = np.arange(1, POINTS + 1) / POINTS
COLUMNS = tuple(Column(f"t{i}", "number", bounds=(-50.0, 50.0)) for i in range(POINTS))
SCHEMAS = {
    "replace": Schema(name="paths", columns=COLUMNS, adjacency="replace", rows=ROWS),
    "add-remove": Schema(name="paths", columns=COLUMNS),
}
pytestmark = pytest.mark.statistical


def covariance_p(curves: np.ndarray, covariance: np.ndarray) -> float:
    """Exact test that curves are draws from N(0, covariance), corrected for the number of comparisons.

    Whitened by the claimed covariance they are independent standard normal. Sums of squares are then chi-square,
    and a sum of products, divided by the length of one factor, is standard normal whatever that factor is.
    """
    white = np.linalg.solve(np.linalg.cholesky(covariance), curves.T)
    squares = (white**2).sum(axis=1)
    chi = stats.chi2(curves.shape[0])
    every = stats.chi2(curves.size)
    levels = [
        2 * np.minimum(chi.cdf(squares), chi.sf(squares)),
        2 * np.atleast_1d(min(every.cdf(squares.sum()), every.sf(squares.sum()))),
    ]
    products = (white @ white.T) / np.sqrt(squares)
    levels.append(2 * stats.norm.sf(np.abs(products[np.triu_indices(len(white), 1)])))
    together = np.concatenate(levels)
    return float(min(1.0, together.min() * together.size))


def noise_curves(method: MeanCurve, randomness: Randomness) -> tuple[np.ndarray, float]:
    """Released curves of an all-zero table, and the sigma that the plan's event stands for."""
    made = method.plan(SCHEMAS["replace"])
    zero = np.zeros(POINTS, np.int64)
    curves = [
        method.measure(zero, ROWS, ROWS, made, randomness).tables[KEY].column("mean").to_numpy() for _ in range(CURVES)
    ]
    return np.array(curves), made.events[0].parts[0].scale * method.lattice(POINTS).step / ROWS


@pytest.mark.parametrize("randomness", [Randomness.of(11), Randomness.of(None)], ids=["seeded", "secure"])
def test_the_noise_is_brownian(randomness):
    curves, sigma = noise_curves(MeanCurve(epsilon=1, delta=1e-5, rho=0.1, clip=1), randomness)
    brownian = sigma**2 * np.minimum.outer(GRID, GRID)
    assert covariance_p(curves, brownian) > ALPHA
    assert covariance_p(curves / 1.05, brownian) < ALPHA, "a twentieth less noise must be caught"
    loose = np.random.default_rng(3).normal(size=curves.shape) * np.sqrt(np.diag(brownian))
    assert covariance_p(loose, brownian) < ALPHA, "independent noise of the right variance must be caught"


@pytest.mark.parametrize("kernel", [name for name in KERNELS if name != "gaussian"])
def test_the_noise_has_the_covariance_of_its_kernel(kernel):
    method = MeanCurve(epsilon=1, delta=1e-5, rho=0.1, clip=1, kernel=kernel)
    curves, sigma = noise_curves(method, Randomness.of(12))
    assert covariance_p(curves, sigma**2 * KERNELS[kernel](GRID, GRID, 0.2)) > ALPHA
    assert covariance_p(curves, sigma**2 * (KERNELS[kernel](GRID, GRID, 0.2) + 0.1 * np.eye(POINTS))) < ALPHA


def test_the_stated_deviation_is_that_of_the_noise():
    """Add-remove: the quotient's spread, stated from released values, against what happens (500 rows, 3,000 runs)."""
    method, rows = MeanCurve(epsilon=1, delta=1e-5, rho=0.1, clip=1), 500
    lattice = method.lattice(POINTS)
    total = lattice.quantise(np.ones((1, POINTS)))[0] * rows
    made, randomness = method.plan(SCHEMAS["add-remove"]), Randomness.of(5)
    tables = [method.measure(total, rows, None, made, randomness).tables[KEY] for _ in range(CURVES)]
    means = np.array([table.column("mean").to_numpy() for table in tables])
    stated = np.array([table.column("noise_sd").to_numpy() for table in tables]).mean(axis=0)
    assert means.std(axis=0) == pytest.approx(stated, rel=0.1)
    assert means.mean(axis=0) == pytest.approx(lattice.mean(total, rows), abs=0.1 * stated.max())


def neighbours(method: MeanCurve, adjacency: str) -> tuple[np.ndarray, np.ndarray]:
    """The true integer vectors of two neighbouring tables that are as far apart as any."""
    lattice = method.lattice(POINTS)
    strongest = int(np.argmax(lattice.basis.gains(lattice.rho)))
    extreme = lattice.quantise(100 * lattice.basis.vectors[:, [strongest]].T)[0]
    if adjacency == "replace":
        return ROWS * extreme, (ROWS - 2) * extreme
    counted = np.append(extreme, count_weight(lattice.basis, lattice.rho))
    return ROWS * counted, (ROWS - 1) * counted


def attacked(method: MeanCurve, adjacency: str, weaker: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """What an attacker computes from releases of two neighbours: the noisy vector along their difference."""
    near, far = neighbours(method, adjacency)
    along = (near - far) / np.linalg.norm((near - far).astype(float))
    scale = method.plan(SCHEMAS[adjacency]).events[0].parts[0].scale / weaker
    tiled = [np.broadcast_to(vector, (RUNS, len(vector))) for vector in (near, far)]
    first, second = (add_gaussian(tiled[i], scale, Randomness.of(21 + i)) @ along for i in range(2))
    return first, second


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_a_release_is_the_audited_vector(adjacency):
    """The curve and the noisy number of rows are the noisy vector and nothing else: what is audited is what leaves."""
    method = MeanCurve(epsilon=1, delta=1e-5, rho=0.1, clip=1)
    lattice, made = method.lattice(POINTS), method.plan(SCHEMAS[adjacency])
    near, _ = neighbours(method, adjacency)
    noisy = add_gaussian(near, made.events[0].parts[0].scale, Randomness.of(9))
    output = method.measure(near[:POINTS], ROWS, ROWS if adjacency == "replace" else None, made, Randomness.of(9))
    rows = ROWS if adjacency == "replace" else noisy[-1] / count_weight(lattice.basis, lattice.rho)
    assert output.tables[KEY].column("mean").to_numpy() == pytest.approx(lattice.mean(noisy[:POINTS], max(rows, 1)))
    assert output.statistics.get("noisy_rows", ROWS) == rows


def audited_epsilon(near: np.ndarray, far: np.ndarray, delta: float) -> float:
    """Lower confidence bound (1 - alpha) on epsilon at delta, at a threshold chosen on the first half of the runs."""
    half = len(near) // 2
    cuts = np.quantile(np.concatenate([near[:half], far[:half]]), np.linspace(0.02, 0.995, 40))

    def lower(a: np.ndarray, b: np.ndarray, cut: float, level: float) -> float:
        hits, misses, n = int((a > cut).sum()), int((b > cut).sum()), len(a)
        low = stats.beta.ppf(level / 2, hits, n - hits + 1) if hits else 0.0
        high = stats.beta.ppf(1 - level / 2, misses + 1, n - misses) if misses < n else 1.0
        return math.log((low - delta) / high) if low > delta else -math.inf

    best = max(cuts, key=lambda cut: lower(near[:half], far[:half], cut, 0.1))
    return lower(near[half:], far[half:], best, ALPHA)


BUDGETS = [(1.0, 1e-5), (0.5, 0.1)]


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_the_audited_epsilon_stays_below_the_claimed_one(adjacency, epsilon, delta):
    near, far = attacked(MeanCurve(epsilon=epsilon, delta=delta, rho=0.1, clip=1), adjacency)
    assert 0.3 * epsilon < audited_epsilon(near, far, delta) <= epsilon, "the audit has power, and finds no breach"
    assert audited_epsilon(-far, -near, delta) <= epsilon


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_the_audit_catches_half_the_noise(adjacency, epsilon, delta):
    near, far = attacked(MeanCurve(epsilon=epsilon, delta=delta, rho=0.1, clip=1), adjacency, weaker=2.0)
    assert audited_epsilon(near, far, delta) > epsilon
