"""How well one private parameter draw serves: the paper's simulation, confidential against synthetic values.

z is normal (2, 1), log x normal (z + 1, 1); the predictor is kept. The public box and bounds are facts of the
simulation, not read off the tables. Run this file for the full measurement: 30 tables, about three minutes.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np

from sfumato.mechanisms.pseudo_posterior.clipped_posterior import ClippedPosterior, ParameterBox, RegressionDraw
from sfumato.mechanisms.pseudo_posterior.plan import PREDICTOR_SHARE
from sfumato.mechanisms.pseudo_posterior.sufficient_statistics import NoisyStatistics
from sfumato.metrics.distances import ecdf_max, ecdf_msq
from sfumato.privacy.exact import to_fraction
from sfumato.privacy.randomness import Randomness

FIRST_SEED = 1000
BOX = ParameterBox(((0.0, 6.0), (-1.0, 3.0)), (0.5, 2.0), centres=(2.0,), bounds=((-3.0, 7.0),))
PREDICTOR_BOX = ParameterBox(((0.0, 4.0),), (0.5, 2.0), scale="normal")
TARGET, PREDICTOR = (math.exp(-3), math.exp(9)), (-2.0, 6.0)


@dataclass(frozen=True)
class Utility:
    """Means over tables and draws."""

    ecdf_max: float
    ecdf_msq: float
    mean: float
    median: float
    q90: float


def simulated(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return x and z of one simulated table."""
    generator = np.random.default_rng(seed)
    z = generator.normal(2, 1, rows)
    return np.exp(z + 1 + generator.standard_normal(rows)), z


def private_draws(
    method: str,
    x: np.ndarray,
    z: np.ndarray,
    epsilon: float,
    seed: int,
    draws: int,
) -> list[RegressionDraw]:
    randomness = Randomness.of(seed)
    if method == "clipped":
        posterior = ClippedPosterior(box=BOX, epsilon=epsilon)
        law = posterior.law(x, z)
        return [posterior.release(law, randomness.uniform) for _ in range(draws)]
    delta = 1e-6 if method == "gaussian statistics" else 0
    statistics = NoisyStatistics(target=TARGET, predictors=(PREDICTOR,), epsilon=epsilon, delta=delta)
    total = statistics.total([(x, z)])
    return [statistics.measure(total, randomness).draw(randomness.generator) for _ in range(draws)]


def whole_table(
    x: np.ndarray, z: np.ndarray, epsilon: float, randomness: Randomness, generator: np.random.Generator
) -> np.ndarray:
    """Return synthetic x at synthetic z: a third of the budget for z by itself, the rest for x given it."""
    share = to_fraction(epsilon) * PREDICTOR_SHARE
    alone = ClippedPosterior(box=PREDICTOR_BOX, epsilon=share).draw(z, None, randomness)
    given = ClippedPosterior(box=BOX, epsilon=to_fraction(epsilon) - share).draw(x, z, randomness)
    return given.synthesise(np.clip(alone.synthesise((), generator, len(x)), *BOX.bounds[0]), generator)


def synthetic(method: str, x: np.ndarray, z: np.ndarray, epsilon: float, seed: int, draws: int) -> list[np.ndarray]:
    """Return synthetic columns, each from a parameter draw of its own."""
    generator = np.random.default_rng(seed + 1)
    if method == "whole table":
        return [whole_table(x, z, epsilon, Randomness.of(seed + d), generator) for d in range(draws)]
    return [drawn.synthesise(z, generator) for drawn in private_draws(method, x, z, epsilon, seed, draws)]


def utility(method: str, rows: int, epsilon: float, tables: int = 30, draws: int = 5) -> Utility:
    found: list[list[float]] = []
    for seed in range(FIRST_SEED, FIRST_SEED + tables):
        x, z = simulated(rows, seed)
        for column in synthetic(method, x, z, epsilon, 10 * seed, draws):
            ratios = [f(column) / f(x) for f in (np.mean, np.median, lambda v: np.quantile(v, 0.9))]
            found.append([ecdf_max(x, column), 1e3 * ecdf_msq(x, column), *ratios])
    return Utility(*np.mean(found, axis=0).tolist())


if __name__ == "__main__":
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    for size in (2000, 200):
        for name in ("clipped", "statistics", "gaussian statistics", "whole table"):
            for budget in (1.0, 3.0, 8.0):
                print(
                    size, name, budget, utility(name, size, budget, sets, 1 if name == "whole table" else 5), flush=True
                )
