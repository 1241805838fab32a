"""The paper's columns, and simulated noisy histograms with their entropy errors.

Noise comes from a seeded generator: this simulates releases of public columns and is no release itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Counts
from sfumato.entropy import shannon
from sfumato.papers.data import data_folder, missing_files, read_numbers
from sfumato.papers.reaedp.published import published_bound
from sfumato.papers.texts import written_part

PRICES, UNRATE = "house_prices.csv", "unrate.csv"
COLUMNS = {PRICES: "SalePrice", UNRATE: "UNRATE"}
SEED = 42
"""The paper's seed."""
BINS = 30
PUBLIC_RANGE = (0.0, 800_000.0)
"""Edges for SalePrice that do not look at the prices."""
Numbers = NDArray[np.float64]
part = partial(written_part, "sfumato.papers.reaedp")


@dataclass(frozen=True)
class Sources:
    """A folder with some or all of the tables; a column is read when it is first asked for."""

    folder: Path
    present: frozenset[str] = frozenset()

    @classmethod
    def find(cls, folder: Path | None = None) -> Sources:
        """Look which tables are there."""
        place = data_folder(folder)
        return cls(place, frozenset(COLUMNS) - set(missing_files(place, tuple(COLUMNS))))

    @cached_property
    def prices(self) -> Numbers:
        """Sale prices of 1,460 houses, in the order of the file."""
        return self.column(PRICES)

    def column(self, file: str) -> Numbers:
        """Return the column of a file: sale prices, or 601 monthly unemployment rates."""
        return read_numbers(self.folder, file, [COLUMNS[file]])[0]


def bins_from_data(values: Numbers, bins: int = BINS) -> Counts:
    """Count as the paper's code does, in equal bins between the smallest and the largest value: not private."""
    return np.histogram(values, bins=bins)[0].astype(np.int64)


def public_bins(values: Numbers, bins: int = BINS) -> NDArray[np.int64]:
    """Return the public bin of each price; prices beyond the last edge count in the last bin."""
    low, high = PUBLIC_RANGE
    return np.clip(np.floor((values - low) / (high - low) * bins), 0, bins - 1).astype(np.int64)


EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)
CELLS = (10, 20, 30, 50, 80)
DELTA = 1e-5
TRIALS, CELL_TRIALS, MANY = 10, 15, 4000
MECHANISMS = ("Laplace", "Gaussian", "synthetic, Laplace", "synthetic, Gaussian")
FLOOR = 1e-9
"""The authors' code lifts counts to this before it samples."""
Noise = Callable[[], Numbers]


@dataclass(frozen=True)
class Errors:
    """Mean errors of the four baselines of figure 5 at one epsilon, in the order of MECHANISMS."""

    epsilon: float
    entropy: tuple[float, ...]
    counts: tuple[float, ...]


@dataclass(frozen=True)
class OneRun:
    """One histogram with and without noise: a row of table S3."""

    counts: Counts
    noisy: Numbers
    entropy: float
    noisy_entropy: float
    bound: float

    @property
    def difference(self) -> float:
        """How far the noise moved the entropy."""
        return abs(self.entropy - self.noisy_entropy)

    @property
    def ratio(self) -> float:
        """The change over the printed bound."""
        return self.difference / self.bound

    @property
    def records(self) -> int:
        """How many records were counted."""
        return int(self.counts.sum())


def noisy_histogram_run(values: Numbers, epsilon: float = 1.0, seed: int = SEED) -> OneRun:
    """Count in 30 bins, add Lap(1/epsilon), clip at 0: one run of the paper's pipeline."""
    counts = bins_from_data(values)
    noisy = np.maximum(counts + np.random.default_rng(seed).laplace(0, 1 / epsilon, len(counts)), 0)
    return OneRun(counts, noisy, shannon(counts), shannon(noisy), published_bound(len(values)))


def baseline_errors(
    counts: Counts,
    epsilons: Sequence[float] = EPSILONS,
    trials: int = TRIALS,
    seed: int = SEED,
) -> tuple[Errors, ...]:
    """Return the mean error of entropy and counts of the four baselines, by the paper's protocol."""
    rng = np.random.default_rng(seed)
    found: list[Errors] = []
    for epsilon in epsilons:
        draws = [_four_releases(counts, epsilon, rng) for _ in range(trials)]
        entropy = [[abs(shannon(counts) - shannon(each)) for each in draw] for draw in draws]
        moved = [[float(np.abs(each - counts).mean()) for each in draw] for draw in draws]
        found.append(Errors(epsilon, _means(entropy), _means(moved)))
    return tuple(found)


def _means(errors: list[list[float]]) -> tuple[float, ...]:
    return tuple(float(mean) for mean in np.mean(errors, axis=0))


def _four_releases(counts: Counts, epsilon: float, rng: np.random.Generator) -> tuple[Numbers, ...]:
    sigma = math.sqrt(2) * math.sqrt(2 * math.log(1.25 / DELTA)) / epsilon

    def laplace() -> Numbers:
        return rng.laplace(0, 1 / epsilon, len(counts))

    def gaussian() -> Numbers:
        return rng.normal(0, sigma, len(counts))

    direct = tuple(np.maximum(counts + noise(), 0) for noise in (laplace, gaussian))
    return (*direct, *(_sampled(counts, noise, rng) for noise in (laplace, gaussian)))


def _sampled(counts: Counts, noise: Noise, rng: np.random.Generator) -> Numbers:
    """Return a synthetic table's counts: noisy counts as weights, as many records as there are."""
    weights = np.maximum(counts + noise(), FLOOR)
    return rng.multinomial(int(counts.sum()), weights / weights.sum()).astype(float)


def errors_by_cells(
    values: Numbers,
    cells: Sequence[int] = CELLS,
    epsilon: float = 1.0,
    seed: int = SEED,
) -> tuple[float, ...]:
    """Return figure 6: the mean entropy error of Laplace noise by number of bins."""
    rng, found = np.random.default_rng(seed), list[float]()
    for bins in cells:
        counts = bins_from_data(values, bins)
        noisy = [np.maximum(counts + rng.laplace(0, 1 / epsilon, bins), 0) for _ in range(CELL_TRIALS)]
        found.append(float(np.mean([abs(shannon(counts) - shannon(each)) for each in noisy])))
    return tuple(found)


def entropy_errors(counts: Counts, scale: float, draws: int = MANY, seed: int = SEED) -> NDArray[np.float64]:
    """Return the entropy errors of many releases with Laplace noise of a scale, clipped at 0."""
    noisy = np.maximum(counts + np.random.default_rng(seed).laplace(0, scale, (draws, len(counts))), 0)
    shares = noisy / noisy.sum(axis=1, keepdims=True)
    terms = shares * np.log2(np.where(shares > 0, shares, 1.0))
    return np.abs(shannon(counts) + terms.sum(axis=1))


def moved_by_one_price(values: Numbers, factor: float = 10.0) -> int:
    """Return by how much the counts move in L1 when the dearest house becomes ten times as dear: edges from data."""
    changed = values.copy()
    changed[changed.argmax()] *= factor
    return int(np.abs(bins_from_data(values) - bins_from_data(changed)).sum())
