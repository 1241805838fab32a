"""Homogeneity attack on any release, measured on its released cells."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sfumato.arrays import FloatArray
from sfumato.errors import RiskError
from sfumato.metrics.confidence import wilson_interval


@dataclass(frozen=True)
class AttackRate:
    """A measured rate over non-empty cells with its 95 % interval."""

    rate: float
    low: float
    high: float


@dataclass(frozen=True)
class HomogeneityRates:
    """What the attack achieved: readings that look certain, those that are right, and the baseline."""

    cells: int
    any: AttackRate
    conservative: AttackRate
    record: AttackRate
    ppv: float
    """Share of readings that are right for a random record of the cell."""
    baseline: float
    """Share of records that always naming the overall majority value gets right."""
    success: FloatArray
    """Per cell: the share of its records that the reading gets right (0 where nothing is read)."""


def attack(original_counts: ArrayLike, released_counts: ArrayLike) -> HomogeneityRates:
    """Run the attack: where exactly one released count is at least 1, the attacker reads that value.

    ``released_counts`` may be noisy counts or the counts of a synthetic table, in the order of the original cells.
    """
    from sfumato.risk.homogeneity.cells import check_counts

    original = check_counts(original_counts)
    released = np.asarray(getattr(released_counts, "counts", released_counts))
    if released.shape != original.shape or released.dtype.kind not in "iu":
        raise RiskError(
            f"released counts must be whole numbers of shape {original.shape}, found {released.dtype} {released.shape}",
            next_step="align the released table with the original cells: cells.aligned(Cells.of(released_table))",
        )
    occupied = original.sum(axis=1) > 0
    if not occupied.any():
        raise RiskError("every cell is empty", next_step="give at least one cell with a record in it")
    return _measure(original[occupied], released[occupied])


def _measure(original: np.ndarray, released: np.ndarray) -> HomogeneityRates:
    survivors = released >= 1
    read = survivors.sum(axis=1) == 1
    named = np.argmax(survivors, axis=1)
    held = original[np.arange(len(original)), named]
    success = np.where(read, held / original.sum(axis=1), 0.0)
    return HomogeneityRates(
        cells=len(original),
        any=_rate(read.astype(float)),
        conservative=_rate((read & (held > 0)).astype(float)),
        record=_rate(success),
        ppv=float(success.sum() / read.sum()) if read.any() else math.nan,
        baseline=float(original.sum(axis=0).max() / original.sum()),
        success=success,
    )


def _rate(values: FloatArray) -> AttackRate:
    """Return the mean with Wilson's interval; for values between 0 and 1 that is conservative."""
    mean = float(values.mean())
    interval = wilson_interval(mean, len(values))
    return AttackRate(mean, interval.low, interval.high)
