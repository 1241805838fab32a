"""zCDP budget of one run: Gaussian measurements and exponential-mechanism selections.

Two totals are fixed beforehand, one for Gaussian noise and one for choices; together they are (epsilon, delta)-DP by
the theorem of :mod:`sfumato.privacy.accounting.gaussian_and_selection`. Counts are cut into public lattice units, so
that noise is a whole number of them.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import LARGEST
from sfumato.errors import AccountingError
from sfumato.privacy.accounting.gaussian_and_selection import MOST_COORDINATES, adaptive_rho, units_per_count
from sfumato.privacy.accounting.gaussian_calibration import (
    ZCDPFilter,
    exponential_mechanism_epsilon,
    exponential_mechanism_rho,
    gaussian_rho,
    gaussian_sigma_for_rho,
)
from sfumato.privacy.exact import Number
from sfumato.privacy.noise import add_gaussian
from sfumato.privacy.randomness import Randomness


class Budget:
    """What is left for noise and for choices. ``squared_sensitivity`` is the square of the L2 move of any table."""

    def __init__(self, epsilon: Number, delta: Number, choices: Fraction, squared_sensitivity: int) -> None:
        self.rho = adaptive_rho(epsilon, delta, choices)
        self.noise = ZCDPFilter(self.rho * (1 - choices))
        self.choices = ZCDPFilter(self.rho * choices)
        self.squared_sensitivity = squared_sensitivity
        self.units = units_per_count(gaussian_sigma_for_rho(self.noise.total, squared_sensitivity))
        self._cells = 0

    @property
    def share_left(self) -> float:
        """Share of the noise's total that is left."""
        return float(self.noise.left / self.noise.total)

    def sigma(self, rho: Fraction) -> float:
        """Return the noise that costs rho."""
        return gaussian_sigma_for_rho(rho, self.squared_sensitivity)

    def measure(self, counts: NDArray[np.int64], sigma: float, randomness: Randomness) -> NDArray[np.float64]:
        """Pay for one table and return it with discrete Gaussian noise, in rows."""
        self._cells += counts.size
        if self._cells > MOST_COORDINATES or int(counts.max(initial=0)) > LARGEST // (4 * self.units):
            raise AccountingError(
                f"the run has measured more than {MOST_COORDINATES:,} cells, or a count beyond {LARGEST // 4:,} "
                "lattice units: its proof was made for less",
                next_step="use fewer columns, coarser bins or a smaller epsilon",
            )
        self.noise.spend(gaussian_rho(sigma, self.squared_sensitivity))
        return add_gaussian(counts * self.units, sigma * self.units, randomness) / self.units

    def pay_for_selection(self, rho: Fraction) -> Fraction:
        """Pay for one selection by the exponential mechanism and return its epsilon."""
        epsilon = exponential_mechanism_epsilon(rho)
        self.choices.spend(exponential_mechanism_rho(epsilon))
        return epsilon
