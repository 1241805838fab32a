"""Exact risk under plurality and proportional guessing from noisy counts.

Published counts are X_j = max(0, n_j + noise). The hard attacker names the largest X_j (ties split evenly), the soft
one names class j with probability X_j / sum X. Both guess wherever anything survives, so both include the homogeneity
attack. Appendix D of the homogeneity-attack paper, made exact. Their averages over a table have bounded work: exact
where it fits, on a stated sample of cells where not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.arrays import Counts, FloatArray
from sfumato.errors import RiskError
from sfumato.privacy.noise_distributions import NoiseLaw
from sfumato.risk.homogeneity.cells import check_counts, weighted_mean

SOFT_NODES = 400
"""Gauss-Legendre nodes after the substitution s = 1 - y^2; the error is below 1e-13."""
LARGEST_WORK = 4_000_000
LARGEST_SUPPORT = 200_000_000
MOST_WORK = 300_000_000
"""Terms of the sums behind all averages together: a few seconds."""
MOST_TABLE = 50_000_000
LONGEST = 40_000
"""Largest count plus the reach of the noise: beyond it the tables behind the sums grow too large."""
SEED = 20240229


@dataclass(frozen=True)
class GuessingRisk:
    """Exact guessing risk of every cell, and the baseline of always naming the overall majority class."""

    guesses: FloatArray
    """(cells, K): the probability that each class is named."""
    risk: FloatArray
    """(cells,): the probability that a random record of the cell is named rightly."""
    cell_average: float
    record_average: float
    baseline: float

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        return np.asarray(self.risk, dtype=dtype)


def plurality(counts: ArrayLike, noise: NoiseLaw) -> GuessingRisk:
    """Return the exact risk under an attacker who names the largest noisy count."""
    return _per_distinct_row(check_counts(counts), noise, _hard)


def soft(counts: ArrayLike, noise: NoiseLaw) -> GuessingRisk:
    """Return the exact risk under an attacker who names classes in proportion to the noisy counts."""
    return _per_distinct_row(check_counts(counts), noise, _soft)


def _per_distinct_row(
    counts: Counts, noise: NoiseLaw, measure: Callable[[Counts, NoiseLaw], FloatArray]
) -> GuessingRisk:
    rows, place = np.unique(counts, axis=0, return_inverse=True)
    guesses = measure(rows, noise)[place.ravel()]
    totals = counts.sum(axis=1)
    risk = (guesses * counts).sum(axis=1) / np.maximum(totals, 1)
    baseline = float(counts.sum(axis=0).max() / max(totals.sum(), 1))
    return GuessingRisk(
        guesses, risk, weighted_mean(risk, counts, "cell"), weighted_mean(risk, counts, "record"), baseline
    )


@lru_cache(maxsize=32)
def _unit_nodes(count: int) -> tuple[FloatArray, FloatArray]:
    """Return Gauss-Legendre nodes and weights on [0, 1]; kept, because finding them is an eigenvalue problem."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


def _support(values: NDArray[np.int64], noise: NoiseLaw) -> int:
    """Return how many published values must be summed over; refuse what would not fit into memory."""
    length = int(values.max()) + noise.reach() + 1
    if length * max(len(values), SOFT_NODES) > LARGEST_SUPPORT:
        raise RiskError(
            f"cells of up to {int(values.max()):,} records with noise of up to {noise.reach():,} are too large for the "
            "exact guessing risk",
            next_step="measure smaller cells (more identifiers), a larger epsilon, or the homogeneity risk: local()",
        )
    return length


def _published_law(values: NDArray[np.int64], noise: NoiseLaw, length: int) -> FloatArray:
    """Return P(max(0, n + noise) = x) for every distinct count n and x = 0 .. length - 1."""
    x = np.arange(length)
    mass = noise.pmf(x[None, :] - values[:, None])
    mass[:, 0] = noise.cdf(-values)
    return mass


def _hard(rows: Counts, noise: NoiseLaw) -> FloatArray:
    """h_k = sum over x of f_k(x) times the integral of prod (F_j(x-1) + u f_j(x)) du, a polynomial in u."""
    values, place = np.unique(rows, return_inverse=True)
    length = _support(values, noise)
    mass = _published_law(values, noise, length)
    below = np.cumsum(mass, axis=1) - mass
    nodes, weights = _unit_nodes(rows.shape[1] // 2 + 1)
    at = place.reshape(rows.shape)
    step = max(1, LARGEST_WORK // (length * len(nodes) * rows.shape[1]))
    parts = [_hard_block(at[i : i + step], mass, below, nodes, weights) for i in range(0, len(rows), step)]
    return np.concatenate(parts)


def _hard_block(
    at: NDArray[np.int64], mass: FloatArray, below: FloatArray, nodes: FloatArray, weights: FloatArray
) -> FloatArray:
    """Classes on axis 1; products over the other classes by prefixes and suffixes, without division."""
    f = mass[at][..., 1:]
    factors = below[at][..., 1:, None] + f[..., None] * nodes
    classes = at.shape[1]
    before = np.ones_like(factors)
    after = np.ones_like(factors)
    for k in range(1, classes):
        before[:, k] = before[:, k - 1] * factors[:, k - 1]
        after[:, classes - 1 - k] = after[:, classes - k] * factors[:, classes - k]
    return np.einsum("rkx,rkxu,u->rk", f, before * after, weights)


def _soft(rows: Counts, noise: NoiseLaw) -> FloatArray:
    """s_k = integral of G_k'(s) prod G_j(s) ds over the generating functions of the published counts."""
    values, place = np.unique(rows, return_inverse=True)
    length = _support(values, noise)
    mass = _published_law(values, noise, length)
    y, weights = _unit_nodes(SOFT_NODES)
    x = np.arange(length)
    log_s = np.log1p(-(y**2))
    powers = np.exp(x[:, None] * log_s)
    slopes = x[:, None] * np.exp(np.maximum(x[:, None] - 1, 0) * log_s)
    generating, derivative = mass @ powers, mass @ slopes
    at = place.reshape(rows.shape)
    result = np.empty(rows.shape)
    for k in range(rows.shape[1]):
        others = np.prod(generating[np.delete(at, k, axis=1)], axis=1)
        result[:, k] = (derivative[at[:, k]] * others) @ (weights * 2 * y)
    return result


@dataclass(frozen=True)
class GuessingAverage:
    """Average risk by cell and by record of both attackers, and the number of distinct cells behind it."""

    epsilon: float
    plurality: tuple[float, float]
    soft: tuple[float, float]
    cells: int


def guessing_averages(
    rows: Counts, repeats: NDArray[np.int64], laws: Mapping[float, NoiseLaw]
) -> list[GuessingAverage]:
    """Return the averages over distinct cells for each epsilon; none where counts are too large for the sums."""
    fitting = {epsilon: law for epsilon, law in laws.items() if _fits(rows, law)}
    costs = {epsilon: _length(rows, law) * _terms(rows) for epsilon, law in fitting.items()}
    enough = sum(costs.values()) * len(rows) <= MOST_WORK
    share = MOST_WORK // max(len(fitting), 1)
    most = {epsilon: len(rows) if enough else max(share // cost, 1) for epsilon, cost in costs.items()}
    return [_guess(_sample(rows, repeats, most[epsilon]), epsilon, law) for epsilon, law in fitting.items()]


def _length(rows: Counts, law: NoiseLaw) -> int:
    return int(rows.max()) + law.reach() + 1


def _terms(rows: Counts) -> int:
    classes = rows.shape[1]
    return classes * (classes // 2 + 1)


def _fits(rows: Counts, law: NoiseLaw) -> bool:
    length = _length(rows, law)
    return length <= LONGEST and length * len(np.unique(rows)) <= MOST_TABLE


def _guess(sample: tuple[Counts, FloatArray, FloatArray], epsilon: float, law: NoiseLaw) -> GuessingAverage:
    rows, by_cell, by_record = sample
    return GuessingAverage(
        epsilon,
        _averages(plurality(rows, law).risk, by_cell, by_record),
        _averages(soft(rows, law).risk, by_cell, by_record),
        len(rows),
    )


def _averages(risk: FloatArray, by_cell: FloatArray, by_record: FloatArray) -> tuple[float, float]:
    return float(risk @ by_cell / by_cell.sum()), float(risk @ by_record / by_record.sum())


def _sample(rows: Counts, repeats: NDArray[np.int64], most: int) -> tuple[Counts, FloatArray, FloatArray]:
    """Return rows with weights by cell and by record; where they are too many a sample, drawn by both alike."""
    by_cell = repeats / repeats.sum()
    by_record = repeats * rows.sum(axis=1)
    by_record = by_record / by_record.sum()
    if len(rows) <= most:
        return rows, by_cell, by_record
    chance = (by_cell + by_record) / 2
    drawn, times = np.unique(np.random.default_rng(SEED).choice(len(rows), most, p=chance), return_counts=True)
    return rows[drawn], by_cell[drawn] / chance[drawn] * times, by_record[drawn] / chance[drawn] * times
