"""Expected total variation of low-order marginals under noise, by simulation.

Two ways to get a marginal at the same epsilon. "cross": sum the noisy cross table whose risk is measured, every cell of
its public domain included, counts below 0 set to 0. "direct": publish all marginals of that order instead of the cross
table, epsilon shared equally among them. The gap between the two is the price of the cross table.

Expected distances are means over simulated releases. Only occupied cells are simulated one by one: the noise that a
slice of m empty cells adds up to is drawn at once, from its exact law (for Gaussian noise from the normal law of the
same mean and variance where more than 64 of them survive). So memory does not grow with the domain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import IntArray
from sfumato.metrics.confidence import FrozenModel
from sfumato.metrics.distances import total_variation
from sfumato.privacy.noise_distributions import NoiseLaw
from sfumato.risk.homogeneity.cells import Cells
from sfumato.risk.homogeneity.epsilon_search import Mechanism

Way = Literal["cross", "direct"]
ORDERS = (1, 2, 3)
MOST_SETS, FEWEST_SETS = 20, 5
"""Column sets of one order that are looked at; where there are more, a seeded sample of them."""
MOST_CELLS = 50_000
"""Marginals with more cells are left out."""
MOST_DRAWS, FEWEST_DRAWS = 8, 2
WORK = 100_000
"""Cells to simulate for one marginal at one epsilon: large tables get fewer draws and fewer marginals."""
MOST_SUMMED = 64
MOST_EMPTY = 10**15
"""A slice with more empty cells is cut here: by then the noise has long drowned every count."""
SEED = 20240229


class MarginalTvd(FrozenModel):
    """Expected total-variation distance of the marginals of one order: mean and largest over the column sets."""

    epsilon: float
    way: Way
    order: int
    mean: float
    largest: float


class Utility(FrozenModel):
    """How much of the 1-, 2- and 3-way marginals is left, and how it was simulated."""

    points: tuple[MarginalTvd, ...]
    draws: int
    sets: dict[int, int]
    """Marginals of each order that were looked at."""
    all_sets: dict[int, int]
    """Marginals of each order that there are."""


def marginal_distances(cells: Cells, epsilons: Sequence[float], mechanism: Mechanism | None = None) -> Utility:
    """Return the expected distances of 1-, 2- and 3-way marginals of identifiers and sensitive column."""
    occupied = _Occupied.of(cells)
    rng = np.random.default_rng(SEED)
    orders = [order for order in ORDERS if order <= len(occupied.shape)]
    chosen = {order: _sample(occupied, order, rng) for order in orders}
    largest = max((occupied.size_of(columns) for sets in chosen.values() for columns in sets), default=0)
    draws = int(np.clip(WORK // max(len(occupied.counts), largest, 1), FEWEST_DRAWS, MOST_DRAWS))
    all_sets = {order: math.comb(len(occupied.shape), order) for order in orders}
    noise = mechanism or Mechanism()
    found: list[MarginalTvd] = []
    for order, sets in chosen.items():
        ways: dict[Way, Mechanism] = {"cross": noise, "direct": noise.among(all_sets[order])}
        found += _of_order(occupied, sets, order, epsilons, ways, draws, rng) if sets else []
    looked = {order: len(sets) for order, sets in chosen.items()}
    return Utility(points=tuple(found), draws=draws, sets=looked, all_sets=all_sets)


def _sampler(mechanism: Mechanism, epsilon: float) -> _Noise | _TabulatedNoise:
    law = mechanism.law(epsilon)
    return _TabulatedNoise(law) if mechanism.with_delta else _Noise(law, epsilon / mechanism.sensitivity)


@dataclass(frozen=True)
class _Noise:
    """Seeded noise of a law whose positive part is geometric: discrete Laplace, and Laplace rounded."""

    law: NoiseLaw
    rate: float

    def on(self, counts: IntArray, rng: np.random.Generator) -> IntArray:
        """Return counts with noise, below 0 as 0."""
        return np.maximum(counts + self._signed(counts.shape, rng), 0)

    def _signed(self, shape: tuple[int, ...], rng: np.random.Generator) -> IntArray:
        """The noise is 0, or a geometric number of either sign."""
        survives = float(self.law.survival(0))
        side = rng.random(shape)
        size = rng.geometric(-math.expm1(-self.rate), shape)
        return np.where(side < survives, size, np.where(side > 1 - survives, -size, 0))

    def on_empty(self, cells: IntArray, rng: np.random.Generator) -> IntArray:
        """Return the sum over so many empty cells at once: a binomial number of them survive, each geometric."""
        survivors = rng.binomial(cells, float(self.law.survival(0)))
        return survivors + rng.poisson(rng.standard_gamma(survivors) / math.expm1(self.rate))


@dataclass(frozen=True)
class _TabulatedNoise:
    """Seeded noise of any law, by inversion of its table: Gaussian noise, discrete or rounded."""

    law: NoiseLaw

    @cached_property
    def _beyond(self) -> NDArray[np.float64]:
        """Return P(noise >= k) for k = 1, 2, ..., falling."""
        return self.law.cdf(-np.arange(1, self.law.reach() + 1))

    def _sizes(self, heights: NDArray[np.float64]) -> IntArray:
        """Return how many of the falling chances lie above each height: the size of the noise on one side."""
        return len(self._beyond) - np.searchsorted(self._beyond[::-1], heights)

    def on(self, counts: IntArray, rng: np.random.Generator) -> IntArray:
        """Return counts with noise, below 0 as 0."""
        height = rng.random(counts.shape)
        noise = np.where(height < 0.5, self._sizes(height), -self._sizes(1 - height))
        return np.maximum(counts + noise, 0)

    def on_empty(self, cells: IntArray, rng: np.random.Generator) -> IntArray:
        """Return the sum over so many empty cells at once: a binomial number of them survive."""
        survivors = rng.binomial(cells, self._beyond[0])
        few = np.where(survivors <= MOST_SUMMED, survivors, 0)
        drawn = self._sizes(rng.random(int(few.sum())) * self._beyond[0])
        sums = np.bincount(np.repeat(np.arange(len(few)), few), drawn, minlength=len(few))
        mean, variance = self._moments()
        bell = rng.normal(survivors * mean, np.sqrt(survivors * variance)).round()
        return np.where(few == survivors, sums, bell).astype(np.int64)

    def _moments(self) -> tuple[float, float]:
        """Return mean and variance of the noise, given that it is 1 or more."""
        tail, whole = self._beyond / self._beyond[0], np.arange(1, len(self._beyond) + 1)
        mean = float(tail.sum())
        return mean, max(float((2 * whole - 1) @ tail) - mean**2, 0.0)


@dataclass(frozen=True)
class _Occupied:
    """The occupied cells of the cross table of identifiers and sensitive column."""

    codes: IntArray
    counts: IntArray
    shape: tuple[int, ...]

    @classmethod
    def of(cls, cells: Cells) -> _Occupied:
        cell, value = np.nonzero(cells.counts)
        codes = np.column_stack([cells.keys[cell], value])
        shape = cells.schema.shape((*cells.identifiers, cells.column))
        return cls(codes, cells.counts[cell, value], shape)

    def size_of(self, columns: tuple[int, ...]) -> int:
        return math.prod(self.shape[i] for i in columns)

    def slice_of(self, columns: tuple[int, ...]) -> _Slice:
        shape = tuple(self.shape[i] for i in columns)
        size = math.prod(shape)
        place = np.ravel_multi_index(tuple(self.codes[:, i] for i in columns), shape)
        depth = min(math.prod(self.shape) // size, MOST_EMPTY)
        empty = np.maximum(depth - np.bincount(place, minlength=size), 0)
        counts = np.bincount(place, self.counts, minlength=size).astype(np.int64)
        return _Slice(place, empty, counts)


@dataclass(frozen=True)
class _Slice:
    """One marginal: where each occupied cell goes, how many empty cells are beside it, and the true counts."""

    place: IntArray
    empty: IntArray
    counts: IntArray

    def distance(
        self, way: Way, noise: _Noise | _TabulatedNoise, occupied: IntArray, rng: np.random.Generator
    ) -> float:
        if way == "direct":
            return _distance(noise.on(self.counts, rng), self.counts)
        kept = np.bincount(self.place, noise.on(occupied, rng), minlength=len(self.empty))
        return _distance(kept + noise.on_empty(self.empty, rng), self.counts)


def _distance(released: NDArray[Any], true: IntArray) -> float:
    """A release in which nothing survived says nothing: it is read as the uniform law."""
    return total_variation(released if released.any() else np.ones(len(true)), true)


def _sample(occupied: _Occupied, order: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    sets = [c for c in combinations(range(len(occupied.shape)), order) if occupied.size_of(c) <= MOST_CELLS]
    most = int(np.clip(40 * WORK // max(len(occupied.counts), 1), FEWEST_SETS, MOST_SETS))
    if len(sets) <= most:
        return sets
    return [sets[i] for i in sorted(rng.choice(len(sets), most, replace=False))]


def _of_order(
    occupied: _Occupied,
    sets: Sequence[tuple[int, ...]],
    order: int,
    epsilons: Sequence[float],
    ways: dict[Way, Mechanism],
    draws: int,
    rng: np.random.Generator,
) -> list[MarginalTvd]:
    keys: list[tuple[Way, float]] = [(way, epsilon) for way in ways for epsilon in epsilons]
    means = np.zeros((len(sets), len(keys)))
    for row, columns in enumerate(sets):
        part = occupied.slice_of(columns)
        for column, (way, epsilon) in enumerate(keys):
            noise = _sampler(ways[way], epsilon)
            drawn = [part.distance(way, noise, occupied.counts, rng) for _ in range(draws)]
            means[row, column] = np.mean(drawn)
    return [
        MarginalTvd(
            epsilon=epsilon, way=way, order=order, mean=float(means[:, i].mean()), largest=float(means[:, i].max())
        )
        for i, (way, epsilon) in enumerate(keys)
    ]
