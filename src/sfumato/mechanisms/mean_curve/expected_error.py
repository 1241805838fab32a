"""Expected error of a private mean curve: noise, bias, discretisation and the best rho.

Noise is known exactly from public parameters. Bias is not: it depends on the mean itself. It is bounded for a class of
curves (kernel norm at most ``smoothness``), or measured on a pilot. Both are root mean squares over the grid.

Let H be the kernel's space on [0, 1], T f = integral of f(t) K(., t) dt and T_N f = (1/N) sum of f(t_j) K(., t_j). The
mean x of the curves has ridge mean M* = (T + rho)^-1 T x on the whole axis. A release works on the grid: without noise
it is M_N = (T_N + rho)^-1 T_N x, which is the grid's ridge mean carried to all t by the kernel
(:func:`interpolate_curve`).

**Theorem.** Let ||x||_K <= B, let h be the largest distance between the grid's distribution function and t (1/N on the
even grid), and c a number with ||f'|| <= c ||f||_K for all f in H. If c h < sqrt(rho), then E = M_N - M* has

    sqrt(||E||^2 + rho ||E||_K^2) <= R = (sqrt(5)/2) c h B / (1 - c h / sqrt(rho)),

with plain norms over [0, 1]. So ||E|| <= R, ||E||_K <= R / sqrt(rho), and |E(t)| <= R sqrt(1 + c / sqrt(rho)) at all t.

*Proof.* Put r = x - M* = rho (T + rho)^-1 x, so that rho M* = T r. Then (T_N + rho) E = T_N x - T_N M* - rho M* =
(T_N - T) r. Take the product with E in H: (1/N) sum E(t_j)^2 + rho ||E||_K^2 = Q(r E), where Q(f) = (1/N) sum f(t_j)
less the integral of f. As the grid's distribution function F and t agree at 0 and 1, Q(f) is minus the integral of
(F(t) - t) f'(t), so |Q(f)| <= h integral |f'|. Hence Q(r E) <= h (||r'|| ||E|| + ||r|| ||E'||) <= c h B (||E|| +
||E||_K sqrt(rho)/2): ||r||_K <= B, and ||r|| <= B max rho sqrt(lambda) / (lambda + rho) <= B sqrt(rho)/2. On the other
side (1/N) sum E(t_j)^2 = ||E||^2 + Q(E^2) >= ||E||^2 - 2 c h ||E|| ||E||_K. With S^2 = ||E||^2 + rho ||E||_K^2 and
2 ||E|| ||E||_K <= S^2 / sqrt(rho) this reads (1 - c h / sqrt(rho)) S^2 <= c h B (sqrt(5)/2) S. Last, E(t)^2 <= ||E||^2
+ 2 ||E|| ||E'||, by the mean value; for the Wiener kernel E(0) = 0, the first term is not needed, and |E(t)| <= R /
rho^(1/4). QED

c: 1 (wiener: ||f||_K is ||f'||), sqrt(2 / l) (exponential: 2 ||f||_K^2 = ||f||^2 / l + l ||f'||^2 + f(0)^2 + f(1)^2),
and sqrt(-k''(0)) for smooth ones, as f'(t) is the product of f with a function of that norm: 1 / l (gaussian),
sqrt(3) / l (matern-3/2).

**Of a release.** Noise on the grid is sigma times the kernel's process; carried to t by :func:`interpolate_curve` it is
that process' best linear prediction, whose variance is at most sigma^2 K(t, t). Bias of smoothing, grid and noise add
up: the root mean square error over [0, 1] and over the noise is at most B sqrt(rho)/2 + R + sigma times the root of the
integral of K(t, t), for curves within the clip (replace; under add-remove the noisy number of rows comes on top, as
``noise_sd`` says). Carrying a released curve to other places is post-processing: it has the same guarantee, and no
sensitivity of the continuum enters.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from sfumato.arrays import FloatArray
from sfumato.errors import PlanError
from sfumato.mechanisms.mean_curve.checks import (
    adjacency_problems,
    delta_problems,
    kernel_problems,
    path_matrix,
    position_problems,
    positive_problems,
)
from sfumato.mechanisms.mean_curve.curve_kernels import (
    DEFAULT_LENGTH,
    KERNELS,
    CurveGrid,
    CurveGridParameters,
    KernelBasis,
    clipped,
)
from sfumato.privacy.accounting.gaussian_calibration import gaussian_sigma
from sfumato.privacy.accounting.sensitivity import vector_sum_sensitivity
from sfumato.privacy.exact import Number, at_most, to_fraction

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


def noise_rmse(
    on: KernelBasis, rho: float, n: float, clip: float, epsilon: Number, delta: Number, adjacency: str
) -> float:
    """Return the root mean square of the noise over the grid.

    Under add-remove the number of rows is drawn from the same budget, and a mean of the largest norm is assumed.
    """
    unit = clip * gaussian_sigma(epsilon, delta) / n
    spread = on.reach(rho) * math.sqrt(on.spread)
    counted = 0.0 if adjacency == "replace" else on.largest_mean(rho)
    return unit * (vector_sum_sensitivity(adjacency, spread) + counted)


def bias_per_smoothness(on: KernelBasis, rho: float) -> float:
    """Return the largest bias, as a root mean square, of a mean whose kernel norm is 1: at most sqrt(rho) / 2."""
    return float((rho * np.sqrt(on.values) / (on.values + rho)).max())


def largest_bias(on: KernelBasis, rho: float) -> float:
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
    **grid: Unpack[CurveGridParameters],
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
    **grid: Unpack[CurveGridParameters],
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
    on: KernelBasis,
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


def _smooth_bias(on: KernelBasis, norm: float) -> Callable[[float], float]:
    return lambda rho: norm * bias_per_smoothness(on, rho)


def _pilot_bias(on: KernelBasis, paths: FloatArray, clip: float) -> Callable[[float], float]:
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
    problems = positive_problems(points=grid.steps, **positive) + delta_problems(delta) + adjacency_problems(adjacency)
    problems += kernel_problems(grid.kernel, grid.length_scale) + position_problems(grid.positions, grid.steps)
    if problems:
        raise PlanError("the error of a mean curve cannot be computed", problems, "correct these parameters")


PREDICTED = 1e-12
"""Eigenvalues below this share of the largest are left out where a curve is carried off the grid."""


@dataclass(frozen=True)
class DiscretisationError:
    """How far the grid can lead from the ridge mean of the continuum: infinite where the grid is too coarse for rho."""

    spacing: float
    """h: the largest distance between the grid's distribution function and the axis."""
    slope: float
    """c: how steep a curve of kernel norm 1 can be, as a root mean square."""
    smoothness: float
    """B: the bound on the kernel norm of the mean curve."""
    root_mean_square: float
    """R: bounds the root mean square over the whole axis."""
    kernel_norm: float
    largest: float
    """Bounds the difference at every place."""

    def statement(self) -> str:
        """Return the bound in plain words."""
        if math.isinf(self.root_mean_square):
            return "the grid is too coarse for this rho to bound what it does between its points: use more points"
        return (
            f"between the points: the grid adds at most {at_most(self.root_mean_square, 3)} (root mean square) and "
            f"{at_most(self.largest, 3)} (anywhere) to the error, for a mean of kernel norm {self.smoothness:.3g}"
        )


def discretisation_error(
    rho: Number, *, clip: Number = 1, smoothness: float | None = None, **grid: Unpack[CurveGridParameters]
) -> DiscretisationError:
    """Return how far the ridge mean on a grid can be from that on the whole axis, for every mean of a smoothness.

    From public parameters, by the theorem above. ``smoothness`` is a bound on the kernel norm of the mean: unless
    stated, that of the smoothest curve as long as ``clip``, as in ``best_rho``.

    >>> found = discretisation_error(0.1, smoothness=1, steps=80)
    >>> round(found.root_mean_square, 5), round(found.largest, 5)
    (0.01455, 0.02588)
    """
    on = CurveGrid(**grid)
    problems = positive_problems(rho=rho, clip=clip, points=on.steps) + kernel_problems(on.kernel, on.length_scale)
    problems += position_problems(on.positions, len(on.positions or ()))
    problems += positive_problems(smoothness=smoothness) if smoothness is not None else []
    if problems:
        raise PlanError("the error of a grid cannot be computed", problems, "correct these parameters")
    basis, penalty = on.basis(), float(to_fraction(rho))
    bound = float(to_fraction(clip)) / math.sqrt(basis.values[0]) if smoothness is None else float(smoothness)
    return _bound(spacing(basis.positions), slope_bound(on.kernel, on.length_scale), bound, penalty, on.kernel)


def _bound(h: float, c: float, smoothness: float, rho: float, kernel: str) -> DiscretisationError:
    left = 1 - c * h / math.sqrt(rho)
    total = math.sqrt(5) / 2 * c * h * smoothness / left if left > 0 else math.inf
    off = rho**-0.25 if kernel == "wiener" else math.sqrt(1 + c / math.sqrt(rho))
    return DiscretisationError(h, c, smoothness, total, total / math.sqrt(rho), total * off)


def spacing(positions: FloatArray) -> float:
    """Return the largest distance between the distribution function of the positions and that of the axis.

    >>> spacing(np.array([0.25, 0.5, 0.75, 1.0])), spacing(np.array([0.25, 0.75]))
    (0.25, 0.25)
    """
    steps = np.arange(len(positions) + 1) / len(positions)
    return float(max(np.abs(steps[1:] - positions).max(), np.abs(positions - steps[:-1]).max()))


def slope_bound(kernel: str, length_scale: float | None) -> float:
    """Return c: the largest root mean square of the slope of a curve of kernel norm 1, or a bound on it."""
    length = DEFAULT_LENGTH if length_scale is None else float(length_scale)
    return {
        "wiener": 1.0,
        "exponential": math.sqrt(2 / length),
        "gaussian": 1 / length,
        "matern-3/2": math.sqrt(3) / length,
    }[kernel]


def interpolate_curve(curve: ArrayLike, at: ArrayLike, **grid: Unpack[CurveGridParameters]) -> FloatArray:
    """Return a released curve at any places in [0, 1]: the smoothest curve of the kernel through its points.

    Post-processing: it costs nothing. For the Wiener kernel these are straight lines from 0 at 0, level after the last.

    >>> interpolate_curve([1.0, 3.0], [0.25, 0.75], steps=2).round(6).tolist()
    [0.5, 2.0]
    """
    values, places = np.asarray(curve, float), np.asarray(at, float)
    on = replace(CurveGrid(**grid), steps=values.size)
    problems = kernel_problems(on.kernel, on.length_scale) + position_problems(on.positions, values.size)
    problems += [] if values.size and np.isfinite(values).all() else ["the curve must be finite numbers, at least one"]
    if not (np.isfinite(places).all() and (places >= 0).all() and (places <= 1).all()):
        problems.append("places must lie between 0 and 1")
    if problems:
        raise PlanError("the curve cannot be carried to these places", problems, "give the grid of the release")
    basis, length = on.basis(), DEFAULT_LENGTH if on.length_scale is None else float(on.length_scale)
    kept = basis.values > PREDICTED * basis.values[0]
    weights = basis.vectors[:, kept] @ (basis.vectors[:, kept].T @ values / (basis.size * basis.values[kept]))
    return (KERNELS[on.kernel](places.ravel(), basis.positions, length) @ weights).reshape(places.shape)
