"""How wrong a private mean curve is: noise against bias, and the rho that balances them.

Noise is known exactly from public parameters. Bias is not: it depends on the mean itself. It is bounded for a class of
curves (kernel norm at most ``smoothness``), or measured on a pilot. Both are root mean squares over the grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from sfumato.arrays import Array
from sfumato.errors import PlanError
from sfumato.methods.mean_curve.checks import (
    above_zero,
    adjacency_problems,
    delta_problems,
    kernel_problems,
    path_matrix,
    position_problems,
)
from sfumato.methods.mean_curve.kernels import Basis, CurveGrid, GridFacts, clipped
from sfumato.privacy.accounting.calibration import gaussian_sigma
from sfumato.privacy.accounting.sensitivity import sum_norm
from sfumato.privacy.exact import Number

SEARCH = (-9.0, 4.0)
"""Powers of ten, times the largest eigenvalue, among which rho is sought."""
POINTS = 157
"""80 even points under the Wiener kernel."""


@dataclass(frozen=True)
class ErrorSplit:
    """Error of a private mean curve at one rho, as root mean squares over the grid."""

    rho: float
    noise: float
    bias: float

    @property
    def total(self) -> float:
        """Noise and bias together; the noise has mean 0, so that squares add up."""
        return math.hypot(self.noise, self.bias)


@dataclass(frozen=True)
class RhoChoice:
    """The rho with the smallest error, and the U-shaped curve from which it was read."""

    best: ErrorSplit
    source: str
    """Where the bias comes from: a public bound on the smoothness, or a pilot."""
    curve: tuple[ErrorSplit, ...]

    @property
    def rho(self) -> float:
        """The penalty to use."""
        return self.best.rho

    def statement(self) -> str:
        """Return the choice in plain words."""
        b = self.best
        return f"rho {b.rho:.3g}: error {b.total:.3g} = noise {b.noise:.3g} and bias {b.bias:.3g} ({self.source})"


def noise_rmse(on: Basis, rho: float, n: float, clip: float, epsilon: Number, delta: Number, adjacency: str) -> float:
    """Return the root mean square of the noise over the grid.

    Under add-remove the number of rows is drawn from the same budget, and a mean of the largest norm is assumed.
    """
    unit = clip * gaussian_sigma(epsilon, delta) / n
    spread = on.reach(rho) * math.sqrt(on.spread)
    counted = 0.0 if adjacency == "replace" else on.largest_mean(rho)
    return unit * (sum_norm(adjacency, spread) + counted)


def bias_per_smoothness(on: Basis, rho: float) -> float:
    """Return the largest bias, as a root mean square, of a mean whose kernel norm is 1: at most sqrt(rho) / 2."""
    return float((rho * np.sqrt(on.values) / (on.values + rho)).max())


def largest_bias(on: Basis, rho: float) -> float:
    """Return the largest bias of a mean whose norm is 1, however rough it is."""
    return float((rho / (on.values + rho)).max())


def error_split(
    pilot: ArrayLike,
    n: int,
    rho: Number,
    clip: Number,
    epsilon: Number,
    delta: Number,
    *,
    adjacency: str = "replace",
    **grid: Unpack[GridFacts],
) -> ErrorSplit:
    """Return noise and bias for ``n`` paths like those of a pilot; the bias includes what clipping takes away.

    The pilot is used as it is: it must be public, or its own release.
    """
    paths = path_matrix(pilot)
    on_grid = replace(CurveGrid(**grid), steps=paths.shape[1])
    _refuse(on_grid, adjacency, delta, n=n, clip=clip, epsilon=epsilon, rho=rho)
    on = on_grid.basis()
    measured = _pilot_bias(on, paths, float(clip))
    noise = noise_rmse(on, float(rho), n, float(clip), epsilon, delta, adjacency)
    return ErrorSplit(float(rho), noise, measured(float(rho)))


def best_rho(
    n: int,
    clip: Number,
    epsilon: Number,
    delta: Number,
    *,
    adjacency: str = "replace",
    smoothness: float | None = None,
    pilot: ArrayLike | None = None,
    **grid: Unpack[GridFacts],
) -> RhoChoice:
    """Return the rho with the smallest error, without looking at the private paths.

    With a ``pilot`` the bias is measured on it. Otherwise it is the worst bias of a mean whose kernel norm is at most
    ``smoothness``: unless stated, that of the smoothest curve as long as ``clip``, clip / sqrt(largest eigenvalue).
    ``steps`` (80 unless stated; a pilot brings its own), ``positions``, ``kernel`` and ``length_scale`` are those of
    the curves.
    """
    paths = None if pilot is None else path_matrix(pilot)
    on_grid = CurveGrid(**grid) if paths is None else replace(CurveGrid(**grid), steps=paths.shape[1])
    sought = 1 if smoothness is None else smoothness
    _refuse(on_grid, adjacency, delta, n=n, clip=clip, epsilon=epsilon, smoothness=sought)
    on = on_grid.basis()
    if paths is not None:
        bias, source = _pilot_bias(on, paths, float(clip)), f"bias measured on a pilot of {len(paths)} paths"
    else:
        norm = float(clip) / math.sqrt(on.values[0]) if smoothness is None else float(smoothness)
        bias, source = _smooth_bias(on, norm), f"bias of the worst mean of kernel norm {norm:.3g}"
    noise = _noise_of(on, n, float(clip), epsilon, delta, adjacency)
    curve = _search(noise, bias, float(on.values[0]))
    return RhoChoice(min(curve, key=lambda split: split.total), source, curve)


def _noise_of(
    on: Basis,
    n: int,
    clip: float,
    epsilon: Number,
    delta: Number,
    adjacency: str,
) -> Callable[[float], float]:
    unit = noise_rmse(on, 1.0, n, clip, epsilon, delta, "replace") / on.reach(1.0)  # one calibration for all rho
    share = 1 / (2 * math.sqrt(on.spread))
    if adjacency == "replace":
        return lambda rho: unit * on.reach(rho)
    return lambda rho: unit * (on.reach(rho) / 2 + share * on.largest_mean(rho))


def _smooth_bias(on: Basis, norm: float) -> Callable[[float], float]:
    return lambda rho: norm * bias_per_smoothness(on, rho)


def _pilot_bias(on: Basis, paths: Array, clip: float) -> Callable[[float], float]:
    """Return the distance from the smoothed mean of the clipped paths to the plain mean of the paths as they are."""
    kept, true = on.coefficients(clipped(paths, clip).mean(axis=0)), on.coefficients(paths.mean(axis=0))

    def bias(rho: float) -> float:
        return float(np.linalg.norm(on.values / (on.values + rho) * kept - true))

    return bias


def _search(noise: Callable[[float], float], bias: Callable[[float], float], scale: float) -> tuple[ErrorSplit, ...]:
    """Return the errors on a coarse grid of rho, with a fine one around the best."""

    def split(rho: float) -> ErrorSplit:
        return ErrorSplit(rho, noise(rho), bias(rho))

    coarse = scale * np.logspace(*SEARCH, POINTS)
    errors = [split(float(rho)) for rho in coarse]
    best = min(range(POINTS), key=lambda i: errors[i].total)
    low, high = coarse[max(best - 1, 0)], coarse[min(best + 1, POINTS - 1)]
    errors += [split(float(rho)) for rho in np.geomspace(low, high, POINTS)[1:-1]]
    return tuple(sorted(errors, key=lambda error: error.rho))


def _refuse(grid: CurveGrid, adjacency: str, delta: Number, **positive: Any) -> None:
    problems = above_zero(points=grid.steps, **positive) + delta_problems(delta) + adjacency_problems(adjacency)
    problems += kernel_problems(grid.kernel, grid.length_scale) + position_problems(grid.positions, grid.steps)
    if problems:
        raise PlanError("the error of a mean curve cannot be computed", problems, "correct these parameters")
