"""Averages of the guessing attackers with bounded work: exact where it fits, on a stated sample of cells where not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Array, Counts
from sfumato.privacy.noise.laws import NoiseLaw
from sfumato.risk.homogeneity.thresholds import plurality, soft

MOST_WORK = 300_000_000
"""Terms of the sums behind all averages together: a few seconds."""
MOST_TABLE = 50_000_000
LONGEST = 40_000
"""Largest count plus the reach of the noise: beyond it the tables behind the sums grow too large."""
SEED = 20240229


@dataclass(frozen=True)
class Guess:
    """Average risk by cell and by record of both attackers, and the number of distinct cells behind it."""

    epsilon: float
    plurality: tuple[float, float]
    soft: tuple[float, float]
    cells: int


def guesses(rows: Counts, repeats: NDArray[np.int64], laws: Mapping[float, NoiseLaw]) -> list[Guess]:
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


def _guess(sample: tuple[Counts, Array, Array], epsilon: float, law: NoiseLaw) -> Guess:
    rows, by_cell, by_record = sample
    return Guess(
        epsilon,
        _averages(plurality(rows, law).risk, by_cell, by_record),
        _averages(soft(rows, law).risk, by_cell, by_record),
        len(rows),
    )


def _averages(risk: Array, by_cell: Array, by_record: Array) -> tuple[float, float]:
    return float(risk @ by_cell / by_cell.sum()), float(risk @ by_record / by_record.sum())


def _sample(rows: Counts, repeats: NDArray[np.int64], most: int) -> tuple[Counts, Array, Array]:
    """Return rows with weights by cell and by record; where they are too many a sample, drawn by both alike."""
    by_cell = repeats / repeats.sum()
    by_record = repeats * rows.sum(axis=1)
    by_record = by_record / by_record.sum()
    if len(rows) <= most:
        return rows, by_cell, by_record
    chance = (by_cell + by_record) / 2
    drawn, times = np.unique(np.random.default_rng(SEED).choice(len(rows), most, p=chance), return_counts=True)
    return rows[drawn], by_cell[drawn] / chance[drawn] * times, by_record[drawn] / chance[drawn] * times
