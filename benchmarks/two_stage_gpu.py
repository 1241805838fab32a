"""Exact kernel ridge regression on an accelerator: one solve of K + n lambda I in float64, in tiles.

    python benchmarks/two_stage_gpu.py [--rows 50000] [--tile 5120]

Needs JAX, NumPy and SciPy only: ``ridge_solver_jax.py`` is loaded from its file. The first solve compiles six small
programs; the times of the second and third are printed too. A residual at sampled rows says that the answer solves the
system.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from pathlib import Path
from types import ModuleType

import jax
import numpy as np

SOLVER = Path(__file__).parents[1] / "src" / "sfumato" / "methods" / "two_stage" / "published" / "ridge_solver_jax.py"
PENALTY = 1e-5


def surface(inputs: np.ndarray) -> np.ndarray:
    radius = np.linalg.norm(inputs, axis=1)
    return np.maximum(1 - radius, 0) ** 5 * (1 + 5 * radius) + radius**2 / 5


def simulated(rows: int, seed: int, noise: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    pair = rng.random((rows, 2))
    inputs = np.column_stack([pair, (pair**2).sum(axis=1) + 0.1 * rng.normal(size=rows)])
    return inputs, (surface(inputs) + noise * rng.normal(size=rows))[:, None]


def wendland(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    from scipy.spatial.distance import cdist

    distance = cdist(left, right)
    return np.maximum(1 - distance, 0) ** 4 * (4 * distance + 1)


def solver() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ridge_solver_jax", SOLVER)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=[10_000, 20_000, 50_000])
    parser.add_argument("--tile", type=int, nargs="*", default=[5120])
    given = parser.parse_args()
    print(f"device {jax.devices()[0].device_kind}, jax {jax.__version__}")
    solve = solver().solve_in_tiles
    for rows in given.rows:
        inputs, targets = simulated(rows, 7)
        fresh, truth = simulated(2000, 8, noise=0.0)
        low, span, mean = inputs.min(axis=0), np.ptp(inputs, axis=0), targets.mean()
        scaled = np.ascontiguousarray((inputs - low) / span)
        for tile in given.tile:
            seconds = []
            for _ in range(3):
                start = time.perf_counter()
                answer = solve(scaled, targets - mean, PENALTY, "wendland", 1.0, 4, tile)
                seconds.append(time.perf_counter() - start)
            some = np.random.default_rng(1).choice(rows, 200, replace=False)
            residual = wendland(scaled[some], scaled) @ answer + rows * PENALTY * answer[some] - (targets - mean)[some]
            mse = np.mean((wendland((fresh - low) / span, scaled) @ answer + mean - truth) ** 2)
            shown = " ".join(f"{value:.2f}" for value in seconds)
            print(
                f"{rows:,} rows, tile {tile}: {shown} s; largest residual {np.abs(residual).max():.1e}; MSE {mse:.2e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
