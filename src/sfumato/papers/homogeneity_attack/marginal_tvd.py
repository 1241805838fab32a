"""Figure 5: total variation of noisy marginals, by simulation on the Bankruptcy ratings.

The noise comes from a seeded generator: this simulates releases of a public table and is no release itself.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Counts
from sfumato.papers.homogeneity_attack.results import Domain, Mechanism, TvdBox
from sfumato.risk.homogeneity import gaussian_sigma

SEED = 20240
DRAWS = 40
EPSILONS = (0.1, 1.0, 10.0)
DELTAS = (1e-3, 1e-5)
ORDERS = (1, 2, 3)

Distances = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], NDArray[np.float64]]


def tvd_boxes(table: Counts, draws: int = DRAWS, seed: int = SEED) -> list[TvdBox]:
    """Return every box of figure 5: whole domain (private) and occupied cells only (not private)."""
    found: list[TvdBox] = []
    domains: tuple[Domain, ...] = ("whole domain", "occupied cells")
    for domain in domains:
        for mechanism, delta, epsilon, noise in _mechanisms():
            rng = np.random.default_rng(seed)
            noisy = [_released(table, domain, noise, rng) for _ in range(draws)]
            found += [_box(table, noisy, domain, mechanism, delta, epsilon, order) for order in ORDERS]
    return found


def _mechanisms() -> list[tuple[Mechanism, float | None, float, Draw]]:
    found: list[tuple[Mechanism, float | None, float, Draw]] = []
    for epsilon in EPSILONS:
        found.append(("laplace", None, epsilon, _laplace(epsilon)))
        found.append(("geometric", None, epsilon, _geometric(epsilon)))
        for delta in DELTAS:
            # The classic rule is proved for epsilon below 1 only; from there on the analytic one stands in.
            rule = "classic" if epsilon < 1 else "analytic"
            approximate: Mechanism = "gaussian-classic" if epsilon < 1 else "gaussian-analytic"
            wider = gaussian_sigma(epsilon, delta, rule="probabilistic")
            found.append((approximate, delta, epsilon, _gaussian(gaussian_sigma(epsilon, delta, rule=rule))))
            found.append(("gaussian-probabilistic", delta, epsilon, _gaussian(wider)))
    return found


def _laplace(epsilon: float) -> Draw:
    return lambda rng, shape: rng.laplace(0, 1 / epsilon, shape)


def _geometric(epsilon: float) -> Draw:
    success = 1 - float(np.exp(-epsilon))
    return lambda rng, shape: (rng.geometric(success, shape) - rng.geometric(success, shape)).astype(float)


def _gaussian(sigma: float) -> Draw:
    return lambda rng, shape: rng.normal(0, sigma, shape)


def _released(table: Counts, domain: Domain, noise: Draw, rng: np.random.Generator) -> Counts:
    """Return noisy counts, rounded and clamped at zero."""
    noisy = np.maximum(np.rint(table + noise(rng, table.shape)), 0).astype(np.int64)
    return noisy if domain == "whole domain" else np.where(table > 0, noisy, 0)


def marginal_tvds(table: Counts, released: Counts, order: int) -> Distances:
    """Return the total variation distance of every marginal of an order."""
    axes = range(table.ndim)
    return np.array([_distance(table, released, set(axes) - set(kept)) for kept in combinations(axes, order)])


def _distance(table: Counts, released: Counts, summed: set[int]) -> float:
    true, noisy = (_shares(counts.sum(axis=tuple(summed))) for counts in (table, released))
    return float(np.abs(true - noisy).sum() / 2)


def _shares(counts: Counts) -> Distances:
    total = counts.sum()
    return counts / total if total else np.full(counts.shape, 1 / counts.size)


def _box(
    table: Counts,
    noisy: list[Counts],
    domain: Domain,
    mechanism: Mechanism,
    delta: float | None,
    epsilon: float,
    order: int,
) -> TvdBox:
    distances = np.array([marginal_tvds(table, released, order) for released in noisy])
    low, q1, median, q3, high = (float(q) for q in np.quantile(distances, (0.05, 0.25, 0.5, 0.75, 0.95)))
    by_draw = distances.mean(axis=1)
    return TvdBox(
        mechanism=mechanism,
        delta=delta,
        epsilon=epsilon,
        domain=domain,
        order=order,
        mean=float(by_draw.mean()),
        standard_error=float(by_draw.std(ddof=1) / np.sqrt(len(by_draw))),
        quantiles=(low, q1, median, q3, high),
    )
