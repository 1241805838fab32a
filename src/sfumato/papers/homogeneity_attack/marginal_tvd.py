"""Figure 5: total variation of noisy marginals, by simulation on the Bankruptcy ratings.

The noise comes from a seeded generator: this simulates releases of a public table and is no release itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Counts
from sfumato.metrics.distances import total_variation
from sfumato.risk.homogeneity import gaussian_sigma

SEED = 20240
DRAWS = 40
EPSILONS = (0.1, 1.0, 10.0)
DELTAS = (1e-3, 1e-5)
ORDERS = (1, 2, 3)

Mechanism = Literal["laplace", "geometric", "gaussian-classic", "gaussian-analytic", "gaussian-probabilistic"]
Domain = Literal["whole domain", "occupied cells"]
Distances = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], NDArray[np.float64]]


@dataclass(frozen=True)
class TvdBox:
    """Total variation distance of all marginals of one order: one box of figure 5."""

    mechanism: Mechanism
    delta: float | None
    epsilon: float
    domain: Domain
    order: int
    mean: float
    standard_error: float
    """Monte Carlo error of the mean, from the spread between draws."""
    quantiles: tuple[float, ...]
    """5, 25, 50, 75 and 95 % over draws and marginals."""


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
    """Return the distance of every marginal of an order; a release without counts weighs all cells alike."""
    noisy, axes = released if released.any() else np.ones_like(released), range(table.ndim)
    summed = [tuple(set(axes) - set(kept)) for kept in combinations(axes, order)]
    return np.array([total_variation(table.sum(axis=over), noisy.sum(axis=over)) for over in summed])


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
    by_draw = distances.mean(axis=1)
    return TvdBox(
        mechanism,
        delta,
        epsilon,
        domain,
        order,
        mean=float(by_draw.mean()),
        standard_error=float(by_draw.std(ddof=1) / np.sqrt(len(by_draw))),
        quantiles=tuple(np.quantile(distances, (0.05, 0.25, 0.5, 0.75, 0.95)).tolist()),
    )
