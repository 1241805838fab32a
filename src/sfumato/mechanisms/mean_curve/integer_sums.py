"""Exact integer sums of smoothed paths, with bounded norm per record.

Proof note. Every record becomes an integer vector by itself, and its length is checked in integers:

1. The path is scaled to Euclidean length at most E = clip sqrt(N) and rounded: u = round(2^24 x / E).
2. C = round(2^28 * gains / largest gain * eigenvectors) is public. Each entry of u C is a sum of products of whole
   numbers, and every partial sum is at most (2^24 + sqrt(N)/2) (2^28 + sqrt(N)/2) < 2^53 in size (Cauchy-Schwarz), so
   that 64-bit floats hold it exactly: the order of summation, and with it the other records of the batch, cannot
   change the result.
3. q = round(u C / 2^28) has length at most U = 2^24 + ceil(sqrt(N) + N/32) + 1: the rounding of u and of q each add
   sqrt(N)/2, that of C adds N 2^-29 (2^24 + sqrt(N)/2). A vector longer than U, checked as sum q^2 <= U^2 in 64-bit
   integers, would contribute nothing. So the bound holds whatever the floating-point arithmetic did.

One unit is clip * reach / 2^24 of kernel norm: the whitened coordinates of the smoothed path are q times that unit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import FloatArray
from sfumato.mechanisms.mean_curve.curve_kernels import KernelBasis

UNITS = 2**24
"""Lattice units in the largest contribution of one record; a 64-bit sum holds 2^38 such records."""
FINE = 2.0**28
WEIGHT_STEP = 2**10
"""The count's weight is a multiple of this, so that the last digit of an eigenvalue does not decide it."""
CHUNK = 1 << 13
LARGEST_GRID = 1 << 13
"""Grid points for which sums of squares surely fit into 64-bit integers, and the eigenvectors into memory."""


def largest_norm(points: int) -> int:
    """Return U: the largest length, in units, of one record's integer vector on a grid of so many points."""
    return UNITS + math.ceil(math.sqrt(points) + points / 32) + 1


def count_weight(basis: KernelBasis, rho: float) -> int:
    """Return the weight, in units, with which each record counts itself where the number of rows is private.

    With weight w the joint sensitivity is sqrt(B^2 + w^2) and a mean of norm at most A has noise of mean square
    proportional to (B^2 + w^2) (k + A^2 / w^2), k the mean of K(t, t): smallest at w^2 = A B / sqrt(k), where it is
    (B sqrt(k) + A)^2. All of these are public.
    """
    ratio = basis.largest_mean(rho) / (basis.reach(rho) * math.sqrt(basis.spread))
    return max(1, round(UNITS * math.sqrt(ratio) / WEIGHT_STEP)) * WEIGHT_STEP


def _within(vectors: FloatArray, length: int) -> NDArray[np.int64]:
    """Return whole vectors as integers; one that is longer than ``length``, or not a number, becomes 0."""
    vectors[~(np.abs(vectors) <= length).all(axis=1)] = 0  # first, so that no square leaves the 64-bit integers
    units = vectors.astype(np.int64)
    units[(units * units).sum(axis=1) > length**2] = 0
    return units


@dataclass(frozen=True, eq=False)
class CurveLattice:
    """The public lattice on which smoothed, clipped paths are summed."""

    basis: KernelBasis
    rho: float
    clip: float

    @property
    def step(self) -> float:
        """One unit in terms of whitened coordinates."""
        return self.clip * self.basis.reach(self.rho) / UNITS

    @cached_property
    def _matrix(self) -> FloatArray:
        gains = self.basis.gains(self.rho)
        return np.rint(FINE * self.basis.vectors * (gains / gains.max()))

    def quantise(self, paths: FloatArray) -> NDArray[np.int64]:
        """Return each path's whitened coordinates in lattice units, each by itself."""
        edge = self.clip * math.sqrt(self.basis.size)
        with np.errstate(over="ignore", under="ignore"):
            squares = np.zeros(len(paths))
            for column in paths.T:  # one column after the other: no sum whose order depends on the batch
                squares += column * column
            factors = np.minimum(1.0, edge / np.maximum(np.sqrt(squares), np.finfo(float).tiny))
            scaled = np.rint(paths * factors[:, None] * (UNITS / edge))
        return _within(np.rint(scaled @ self._matrix / FINE), largest_norm(self.basis.size))

    def total(self, batches: Iterable[FloatArray]) -> tuple[NDArray[np.int64], int]:
        """Return the integer sum over all paths, and their number."""
        sums, rows = np.zeros(self.basis.size, np.int64), 0
        for batch in batches:
            for start in range(0, len(batch), CHUNK):
                sums += self.quantise(batch[start : start + CHUNK]).sum(axis=0)
            rows += len(batch)
        return sums, rows

    def mean(self, units: NDArray[np.int64], rows: float) -> FloatArray:
        """Return integer sums as the mean curve on the grid."""
        return self.basis.curve(units.astype(float) * self.step) / rows
