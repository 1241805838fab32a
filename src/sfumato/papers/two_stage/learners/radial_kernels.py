"""Radial kernels (Wendland, Gaussian, Matern) on scaled inputs.

``wendland`` is the kernel of the paper, (1 - r)^4 (4 r + 1) within its reach and 0 beyond, with value 1 at distance 0.
That polynomial is positive definite up to three inputs only. With more inputs the power rises as Wendland's family
asks: (1 - r)^p (p r + 1) with p = floor(d / 2) + 3. ``gaussian`` is exp(-r^2 / 2), ``matern`` the one with smoothness
5/2. Distances r are in units of the reach.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.errors import PlanError

KernelName = Literal["wendland", "gaussian", "matern"]

# Numbers of one tile: 128 Ki of eight bytes fit the second-level cache, where six passes cost little.
TILE = 1 << 17
BLOCK_ROWS = 8192


def wendland_power(inputs: int) -> int:
    """Return the smallest power for which Wendland's kernel is positive definite; 4, the paper's, up to 3 inputs.

    >>> [wendland_power(inputs) for inputs in (1, 3, 4, 12)]
    [4, 4, 5, 9]
    """
    return max(4, inputs // 2 + 3)


@dataclass(frozen=True)
class RadialKernel:
    """A radial kernel with its reach, for a number of inputs."""

    name: KernelName
    reach: float
    inputs: int

    def __post_init__(self) -> None:
        """Refuse unknown names and reaches that are not positive."""
        problems = [f"kernel {self.name!r} is unknown"] if self.name not in _SHAPES else []
        if not (np.isfinite(self.reach) and self.reach > 0):
            problems.append(f"reach must be positive, not {self.reach}")
        if problems:
            raise PlanError("this kernel cannot be used", problems, f"kernels: {', '.join(_SHAPES)}")

    def gram(self, left: FloatArray, right: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Return the kernel between all rows of ``left`` and all rows of ``right``."""
        table = np.empty((len(left), len(right))) if out is None else out[: len(left)]
        near = np.ascontiguousarray(right / self.reach)
        norms = np.einsum("ij,ij->i", near, near)
        step = max(1, TILE // max(1, len(right)))
        for start in range(0, len(left), step):
            self._tile(left[start : start + step] / self.reach, near, norms, table[start : start + step])
        return table

    def times(self, left: FloatArray, right: FloatArray, coefficients: FloatArray) -> FloatArray:
        """Return ``gram(left, right) @ coefficients`` without holding the whole of it."""
        answer = np.empty((len(left), coefficients.shape[1]))
        rows = max(1, min(BLOCK_ROWS, (1 << 24) // max(1, len(right))))
        work = np.empty((min(rows, len(left)), len(right)))
        for block in blocks(len(left), rows):
            answer[block] = self.gram(left[block], right, work) @ coefficients
        return answer

    def _tile(self, rows: FloatArray, near: FloatArray, norms: FloatArray, tile: FloatArray) -> None:
        """Write the kernel of a few rows in place."""
        np.matmul(rows, near.T, out=tile)
        tile *= -2.0
        tile += norms
        tile += np.einsum("ij,ij->i", rows, rows)[:, None]
        np.maximum(tile, 0.0, out=tile)
        _SHAPES[self.name](tile, wendland_power(self.inputs))


def blocks(rows: int, size: int = BLOCK_ROWS) -> Iterator[slice]:
    """Yield slices that cover the rows in order."""
    for start in range(0, rows, size):
        yield slice(start, min(start + size, rows))


def _wendland(square: FloatArray, power: int) -> None:
    """Turn squared distances into Wendland's kernel in place."""
    distance = np.sqrt(square, out=square)
    inside = np.maximum(1.0 - distance, 0.0)
    distance *= power
    distance += 1.0
    factor = inside * inside
    for _ in range(power // 2):
        distance *= factor
    if power % 2:
        distance *= inside


def _gaussian(square: FloatArray, power: int) -> None:
    """Turn squared distances into the Gaussian kernel in place."""
    square *= -0.5
    np.exp(square, out=square)


def _matern(square: FloatArray, power: int) -> None:
    """Turn squared distances into the Matern kernel of smoothness 5/2 in place."""
    scaled = np.sqrt(5.0 * square)
    square *= 5.0 / 3.0
    square += scaled
    square += 1.0
    np.negative(scaled, out=scaled)
    square *= np.exp(scaled, out=scaled)


_SHAPES: dict[str, Callable[[FloatArray, int], None]] = {
    "wendland": _wendland,
    "gaussian": _gaussian,
    "matern": _matern,
}
KERNELS = tuple(_SHAPES)
