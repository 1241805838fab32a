"""Kernels of curves on a grid: Gram matrix, eigenbasis and ridge smoother.

A path is a vector x of N values at public positions. Its norm is the grid's own, ||x||^2 = (1/N) sum x^2. With K the
Gram matrix and K/N = V diag(lambda) V^T, the smoothest curve near a mean (penalty rho ||M||_K^2) is S x with
S = K (K + N rho I)^-1 = V diag(lambda / (lambda + rho)) V^T, and the whitened coordinates

    z_j = sqrt(lambda_j) / (lambda_j + rho) * (v_j . x) / sqrt(N)

are an isometry: ||z|| is the kernel norm of S x, and M = sqrt(N) V diag(sqrt(lambda)) z leads back to the grid.
Independent noise of variance sigma^2 on z is noise with covariance sigma^2 K on the grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypedDict

import numpy as np

from sfumato.arrays import FloatArray

KernelName = Literal["wiener", "exponential", "gaussian", "matern-3/2"]
DEFAULT_LENGTH = 0.2
"""Length scale of the stationary kernels, as a share of the whole axis, unless stated."""
NEGLIGIBLE = 1e-14
"""Eigenvalues below this share of the largest are rounding errors of the decomposition and count as 0."""


Kernel = Callable[[FloatArray, FloatArray, float], FloatArray]
"""Takes places s and t and a length scale; returns K(s, t), a row for each s."""


def _stationary(shape: Callable[[FloatArray], FloatArray]) -> Kernel:
    def gram(s: FloatArray, t: FloatArray, length: float) -> FloatArray:
        return shape(np.abs(s[:, None] - t[None, :]) / length)

    return gram


def _wiener(s: FloatArray, t: FloatArray, length: float) -> FloatArray:
    return np.minimum(s[:, None], t[None, :])


KERNELS: dict[str, Kernel] = {
    "wiener": _wiener,
    "exponential": _stationary(lambda r: np.exp(-r)),
    "gaussian": _stationary(lambda r: np.exp(-(r**2) / 2)),
    "matern-3/2": _stationary(lambda r: (1 + math.sqrt(3) * r) * np.exp(-math.sqrt(3) * r)),
}


@dataclass(frozen=True, eq=False)
class KernelBasis:
    """A kernel on a grid in its own coordinates: eigenvalues of K/N, largest first, and eigenvectors as columns."""

    positions: FloatArray
    values: FloatArray
    vectors: FloatArray

    @property
    def size(self) -> int:
        """The number of grid points."""
        return len(self.positions)

    @property
    def spread(self) -> float:
        """The mean of K(t, t) over the grid: noise sigma on the coordinates has mean square sigma^2 times this."""
        return float(self.values.sum())

    @property
    def variances(self) -> FloatArray:
        """K(t, t) at every grid point."""
        return self.size * (self.vectors**2 @ self.values)

    def gains(self, rho: float) -> FloatArray:
        """Return sqrt(lambda) / (lambda + rho): how far a path of norm 1 reaches in each whitened coordinate."""
        return np.sqrt(self.values) / (self.values + rho)

    def reach(self, rho: float) -> float:
        """Return the largest kernel norm of a smoothed path of norm 1."""
        return float(self.gains(rho).max())

    def largest_mean(self, rho: float) -> float:
        """Return the largest norm of a smoothed path of norm 1."""
        return float(self.values[0] / (self.values[0] + rho))

    def coefficients(self, path: FloatArray) -> FloatArray:
        """Return a path in the eigenbasis, at the scale of the grid norm."""
        return path @ self.vectors / math.sqrt(self.size)

    def smooth(self, path: FloatArray, rho: float) -> FloatArray:
        """Return the ridge smooth S x of a path."""
        return math.sqrt(self.size) * (self.vectors @ (self.values / (self.values + rho) * self.coefficients(path)))

    def curve(self, coordinates: FloatArray) -> FloatArray:
        """Return whitened coordinates as a curve on the grid."""
        return math.sqrt(self.size) * (self.vectors @ (np.sqrt(self.values) * coordinates))


def basis(positions: Sequence[float], kernel: str = "wiener", length_scale: float | None = None) -> KernelBasis:
    """Return the eigenbasis of a kernel on a grid of positions."""
    return _basis(tuple(float(p) for p in positions), kernel, length_scale or DEFAULT_LENGTH)


@lru_cache(maxsize=16)
def _basis(positions: tuple[float, ...], kernel: str, length: float) -> KernelBasis:
    points = np.array(positions)
    values, vectors = np.linalg.eigh(KERNELS[kernel](points, points, length) / len(points))
    values, vectors = values[::-1], np.ascontiguousarray(vectors[:, ::-1])
    return KernelBasis(points, np.where(values > NEGLIGIBLE * values[0], values, 0.0), vectors)


def even_positions(steps: int) -> tuple[float, ...]:
    """Return i / N for i = 1 .. N: the start, where a Wiener path is 0, is left out."""
    return tuple(float(p) for p in np.arange(1, steps + 1) / steps)


class CurveGridParameters(TypedDict, total=False):
    """What may be said about the grid of curves and its kernel; see :class:`CurveGrid`."""

    steps: int
    kernel: str
    length_scale: float | None
    positions: Sequence[float] | None


@dataclass(frozen=True)
class CurveGrid:
    """The public grid of curves and the kernel on it: ``steps`` even points unless their positions are given."""

    steps: int = 80
    kernel: str = "wiener"
    length_scale: float | None = None
    positions: Sequence[float] | None = None

    def basis(self) -> KernelBasis:
        """Return the eigenbasis of the kernel on the grid."""
        return basis(self.positions or even_positions(self.steps), self.kernel, self.length_scale)


def wiener_values(steps: int) -> FloatArray:
    """Return the eigenvalues of min(s, t) / N on the even grid in closed form, largest first.

    >>> bool(np.allclose(wiener_values(8), basis(even_positions(8)).values))
    True
    """
    j = np.arange(1, steps + 1)
    return 1 / (4 * steps**2 * np.sin((2 * j - 1) * math.pi / (2 * (2 * steps + 1))) ** 2)


def continuum_reach(rho: float) -> float:
    """Return the largest sqrt(lambda) / (lambda + rho) over the Wiener eigenvalues 1 / ((j - 1/2) pi)^2.

    The expression peaks where lambda equals rho, so that only the two neighbours of that place compete.
    """
    place = 1 / (math.pi * math.sqrt(rho)) + 0.5
    nearest = {max(1, math.floor(place)), max(1, math.ceil(place))}
    roots = [1 / ((j - 0.5) * math.pi) for j in nearest]
    return max(root / (root * root + rho) for root in roots)


def clipped(paths: FloatArray, clip: float) -> FloatArray:
    """Return paths scaled down to grid norm ``clip`` where they are longer."""
    norms = np.sqrt((paths**2).mean(axis=1))
    return paths * np.minimum(1.0, clip / np.maximum(norms, np.finfo(float).tiny))[:, None]
