"""Real-valued sums under integer noise: each record is rounded to a public lattice before it is summed.

Proof note. Let ``bound`` be the public bound on one record's contribution and ``step`` the public lattice step.
Each record is clamped to [-bound, bound] and rounded to a whole multiple of ``step``, by itself, so that the sum is
an integer whose sensitivity is exactly round(bound / step) lattice units under add-remove (twice that under
replace). Integer noise at that sensitivity then gives the guarantee of the integer mechanism; floating-point
summation, whose rounding depends on all records, never enters. Public: bound, step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import PlanError

LARGEST_UNITS = 2**40
"""Units per record: leaves room for eight million full records in a 64-bit sum."""


@dataclass(frozen=True)
class Lattice:
    """A public fixed-point lattice for contributions in [-bound, bound].

    >>> lattice = Lattice(bound=1.0, step=0.25)
    >>> lattice.units, lattice.quantise([0.3, -2.0]).tolist()
    (4, [1, -4])
    """

    bound: float
    step: float

    def __post_init__(self) -> None:
        sound = math.isfinite(self.bound) and math.isfinite(self.step) and 0 < self.step <= self.bound
        if not sound or self.bound / self.step > LARGEST_UNITS:
            raise PlanError(
                f"a lattice needs 0 < step <= bound and at most 2^40 steps, found bound {self.bound}, step {self.step}",
                next_step="choose a public bound, and a step of about a thousandth of the wanted precision",
            )

    @property
    def units(self) -> int:
        """Largest contribution of one record in lattice units: the add-remove sensitivity of the sum."""
        return round(self.bound / self.step)

    def sensitivity(self, adjacency: str) -> int:
        """Return the sensitivity of the integer sum in lattice units."""
        return self.units if adjacency == "add-remove" else 2 * self.units

    def quantise(self, values: ArrayLike) -> NDArray[np.int64]:
        """Round each record to the lattice by itself; what is not a number contributes nothing."""
        array = np.nan_to_num(np.asarray(values, dtype=float), nan=0.0, posinf=self.bound, neginf=-self.bound)
        clipped = np.clip(array, -self.bound, self.bound)
        return np.clip(np.rint(clipped / self.step), -self.units, self.units).astype(np.int64)

    def restore(self, units: ArrayLike) -> NDArray[np.float64]:
        """Return lattice units as real numbers."""
        return np.asarray(units, dtype=np.int64).astype(np.float64) * self.step
