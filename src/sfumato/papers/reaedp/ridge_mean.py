"""Ridge mean of curves without privacy, and its sensitivity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from sfumato.arrays import FloatArray
from sfumato.mechanisms.mean_curve.checks import (
    adjacency_problems,
    kernel_problems,
    path_matrix,
    position_problems,
    positive_problems,
    refuse,
)
from sfumato.mechanisms.mean_curve.curve_kernels import basis, clipped, continuum_reach, even_positions, wiener_values
from sfumato.privacy.accounting.sensitivity import mean_sensitivity


def ridge_mean_sensitivity(
    n: int,
    rho: float,
    clip: float = 1.0,
    steps: int = 80,
    adjacency: str = "replace",
    continuum: bool = False,
    kernel: str = "wiener",
    length_scale: float | None = None,
) -> float:
    """Return by how much, in kernel norm, one path can move the ridge mean of ``n`` paths.

    (2 clip / n) max sqrt(lambda) / (lambda + rho), with n + 1 in place of n under add-remove (from n to n + 1 paths).
    ``continuum`` takes the eigenvalues of the Wiener kernel itself instead of the grid's: use it where the mean
    is evaluated off the grid. At most clip / (n sqrt(rho)).

    >>> round(ridge_mean_sensitivity(50, 0.1), 8), round(ridge_mean_sensitivity(50, 0.1, continuum=True), 8)
    (0.0586675, 0.05852698)
    """
    problems = positive_problems(n=n, rho=rho, clip=clip, steps=steps) + kernel_problems(kernel, length_scale)
    problems += adjacency_problems(adjacency)
    problems += ["the continuum is known for the Wiener kernel only"] if continuum and kernel != "wiener" else []
    refuse(problems, "")
    return mean_sensitivity(adjacency, clip, n) * _reach(rho, steps, continuum, kernel, length_scale)


def _reach(rho: float, steps: int, continuum: bool, kernel: str, length_scale: float | None) -> float:
    if continuum:
        return continuum_reach(rho)
    if kernel == "wiener":
        values = wiener_values(steps)
        return float((np.sqrt(values) / (values + rho)).max())
    return basis(even_positions(steps), kernel, length_scale).reach(rho)


def ridge_mean(
    paths: ArrayLike,
    rho: float,
    clip: float = 1.0,
    kernel: str = "wiener",
    length_scale: float | None = None,
    positions: Sequence[float] | None = None,
) -> FloatArray:
    """Return the clipped, smoothed mean of paths, one row each, *without* privacy: for pilots and comparisons."""
    matrix = path_matrix(paths)
    problems = positive_problems(rho=rho, clip=clip) + kernel_problems(kernel, length_scale)
    refuse(problems + position_problems(positions, matrix.shape[1]), "")
    on = basis(positions or even_positions(matrix.shape[1]), kernel, length_scale)
    return on.smooth(clipped(matrix, clip).mean(axis=0), rho)
