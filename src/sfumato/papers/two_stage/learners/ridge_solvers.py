"""Exact and Nystrom solvers of kernel ridge regression, with leave-one-out errors.

The estimate is that of equation (7) of the paper on centred targets: coefficients (K + n lambda I)^-1 (y - mean).
scikit-learn's ``KernelRidge`` with ``alpha = n lambda`` is the same. Leave-one-out residuals need no refitting: with
K = U S U' they are c_i / G_ii, where G = (K + n lambda I)^-1 and c = G y, for every lambda of a grid from one S and U.
Lambda 0 is refused: it returns the targets themselves, and an attacker reads membership off them.

With landmarks Z the function is k(x, Z) T w, where T whitens k(Z, Z). All that the rows tell about w are the moments
K'K and K'y with K = k(X, Z). They are summed per fold, so that five-fold cross-validation for the whole grid of
lambdas costs no second pass: the error on a held-out fold is y'y - 2 w'b + w'Aw in that fold's own moments. Memory is
one block of rows and two tables of landmarks per fold, whatever the number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PlanError
from sfumato.papers.two_stage.learners.radial_kernels import BLOCK_ROWS, FloatArray, RadialKernel, blocks

Landmarks = Literal["uniform", "leverage"]
FOLDS = 5
MOST_LANDMARKS = 1500
# Above this many rows two held-out folds measure the error well enough; each costs an eigendecomposition.
MANY_ROWS = 20_000
SAFETY = 10.0
# Three per decade, without 0: the error is flat around its minimum. Long reaches and many rows want the small end.
LAMBDAS: tuple[float, ...] = tuple(float(value) for value in np.geomspace(1e-10, 1.0, 31))
EIGEN_ROWS = 2500


@dataclass(frozen=True, eq=False)
class InputRange:
    """The range of every input column, for scaling to [0, 1]."""

    low: FloatArray
    span: FloatArray

    @classmethod
    def of(cls, inputs: FloatArray) -> InputRange:
        """Measure the rows. A constant column is left where it is: it has no part in any distance."""
        low = inputs.min(axis=0)
        span = inputs.max(axis=0) - low
        return cls(low, np.where(span > 0, span, 1.0))

    def scaled(self, inputs: FloatArray) -> FloatArray:
        """Return rows in units of the ranges."""
        return np.ascontiguousarray((inputs - self.low) / self.span)


@dataclass(frozen=True, eq=False)
class TargetScaler:
    """Mean and standard deviation of every target, so that several targets weigh alike."""

    mean: FloatArray
    sd: FloatArray

    @classmethod
    def of(cls, targets: FloatArray) -> TargetScaler:
        """Measure the targets; a constant one keeps its unit."""
        sd = targets.std(axis=0)
        return cls(targets.mean(axis=0), np.where(sd > 0, sd, 1.0))

    def forward(self, targets: FloatArray) -> FloatArray:
        """Return targets with mean 0 and standard deviation 1."""
        return (targets - self.mean) / self.sd

    def back(self, values: FloatArray) -> FloatArray:
        """Return values in the targets' own units."""
        return values * self.sd + self.mean


@dataclass(frozen=True, eq=False)
class KernelSpace:
    """A kernel, and the units of the inputs and of the targets that are learnt in it."""

    kernel: RadialKernel
    box: InputRange
    standard: TargetScaler

    @classmethod
    def of(cls, kernel: RadialKernel, inputs: FloatArray, targets: FloatArray) -> KernelSpace:
        """Take the units from the rows."""
        return cls(kernel, InputRange.of(inputs), TargetScaler.of(targets))

    def leave_one_out(self, inputs: FloatArray, targets: FloatArray, grid: FloatArray) -> FloatArray:
        """Return the mean squared leave-one-out error for every lambda, in standard deviations of the targets."""
        scaled = self.box.scaled(inputs)
        return leave_one_out(self.kernel.gram(scaled, scaled), self.standard.forward(targets), grid)


@dataclass(frozen=True, eq=False)
class KernelFit:
    """A fitted function: kernels around anchors in scaled inputs, times coefficients."""

    space: KernelSpace
    anchors: FloatArray
    coefficients: FloatArray

    def predict(self, inputs: FloatArray) -> FloatArray:
        """Return predictions, one column per target, in blocks of rows."""
        space = self.space
        return space.standard.back(space.kernel.times(space.box.scaled(inputs), self.anchors, self.coefficients))


@dataclass(frozen=True)
class PenaltyChoice:
    """The chosen lambda, its relative error (1 is predicting the mean) and how both were found."""

    penalty: float
    error: float
    by: str
    at_end_of_grid: bool


def checked_grid(lambdas: Sequence[float]) -> FloatArray:
    """Return the grid in order, or refuse it."""
    grid = np.asarray(sorted(lambdas), dtype=float)
    if grid.size == 0 or not np.all(np.isfinite(grid)) or grid[0] <= 0:
        hint = "give positive values, such as 1e-6 to 1 on a logarithmic scale"
        raise PlanError(
            "this grid of lambdas cannot be used",
            ["every lambda must be positive: 0 interpolates, and the outputs then tell who is in the table"],
            hint,
        )
    return grid


def least_error(grid: FloatArray, errors: FloatArray, by: str) -> PenaltyChoice:
    """Return the lambda of least error; the larger one of equals."""
    best = int(len(grid) - 1 - np.argmin(errors[::-1]))
    return PenaltyChoice(float(grid[best]), float(errors[best]), by, len(grid) > 1 and best in (0, len(grid) - 1))


def leave_one_out(gram: FloatArray, targets: FloatArray, grid: FloatArray) -> FloatArray:
    """Return the mean squared leave-one-out error for every lambda, from one eigendecomposition."""
    from scipy.linalg import eigh

    values, vectors = eigh(gram, check_finite=False, driver="evd")
    turned, squares = vectors.T @ targets, vectors * vectors
    errors = np.empty(len(grid))
    for position, penalty in enumerate(grid):
        inverse = 1.0 / (np.maximum(values, 0.0) + len(gram) * penalty)
        coefficients = vectors @ (inverse[:, None] * turned)
        errors[position] = float(np.mean((coefficients / (squares @ inverse)[:, None]) ** 2))
    return errors


def solve(gram: FloatArray, targets: FloatArray, penalty: float) -> FloatArray:
    """Return (K + n lambda I)^-1 y by Cholesky. The memory of ``gram`` is reused: its values are lost."""
    from scipy.linalg import cho_solve, cholesky

    gram.flat[:: len(gram) + 1] += len(gram) * penalty
    # A symmetric table in C order is its own transpose in Fortran order, which LAPACK overwrites without a copy.
    factor = cholesky(gram.T, lower=True, overwrite_a=True, check_finite=False)
    return cho_solve((factor, True), targets, check_finite=False)


def fit_exact(space: KernelSpace, inputs: FloatArray, targets: FloatArray, penalty: float) -> KernelFit:
    """Fit all rows by Cholesky with a given lambda. Inputs and targets are those of the table, unscaled."""
    anchors = space.box.scaled(inputs)
    coefficients = solve(space.kernel.gram(anchors, anchors), space.standard.forward(targets), penalty)
    return KernelFit(space, anchors, coefficients)


def landmark_count(rows: int, most: int = MOST_LANDMARKS) -> int:
    """Return min(sqrt(n) log n, most), never more than the rows.

    >>> [landmark_count(rows) for rows in (50, 10_000, 20_000, 1_000_000)]
    [27, 921, 1400, 1500]
    """
    return max(1, min(rows, most, int(math.sqrt(rows) * math.log(max(rows, 2)))))


def choose_landmarks(
    kernel: RadialKernel, scaled: FloatArray, count: int, by: Landmarks, generator: np.random.Generator
) -> FloatArray:
    """Return landmarks among the scaled rows, drawn alike or by their ridge leverage."""
    if by not in ("uniform", "leverage"):
        raise PlanError(f"landmarks {by!r} are unknown", next_step="landmarks: uniform, leverage")
    if by == "uniform":
        return scaled[generator.choice(len(scaled), count, replace=False)]
    candidates = scaled[generator.choice(len(scaled), min(len(scaled), 10 * count), replace=False)]
    chances = leverage(kernel, candidates, candidates[: max(1, count // 2)], penalty=1e-4)
    return candidates[generator.choice(len(candidates), count, replace=False, p=chances / chances.sum())]


def leverage(kernel: RadialKernel, rows: FloatArray, pilot: FloatArray, penalty: float) -> FloatArray:
    """Return approximate ridge leverage scores: what a pilot sample leaves unexplained of every row."""
    from scipy.linalg import cholesky, solve_triangular

    inner = kernel.gram(pilot, pilot)
    inner.flat[:: len(inner) + 1] += len(pilot) * penalty
    factor = cholesky(inner, lower=True, check_finite=False)
    scores = np.empty(len(rows))
    for block in blocks(len(rows)):
        explained = solve_triangular(factor, kernel.gram(pilot, rows[block]), lower=True, check_finite=False)
        scores[block] = 1.0 - np.einsum("ij,ij->j", explained, explained)
    return np.maximum(scores, 1e-12)


def whitening(inner: FloatArray) -> tuple[FloatArray, float]:
    """Return T with T' k(Z, Z) T = I, and the smallest lambda that rounding leaves a meaning.

    Rounding errors of K'K are about n eps sqrt(m) and grow by 1 / s in a direction of eigenvalue s. Directions are
    left out where that exceeds the lambda at which they begin to matter, s / m.
    """
    values, vectors = np.linalg.eigh(inner)
    rounding = SAFETY * np.finfo(float).eps * math.sqrt(len(inner))
    kept = values > min(math.sqrt(rounding * len(inner)), 0.5 * values[-1])
    return vectors[:, kept] / np.sqrt(values[kept]), float(rounding / values[kept][0])


@dataclass(frozen=True, eq=False)
class Moments:
    """What the rows of one fold tell: how many, K'K, K'y and the mean of y'y per target, in whitened directions."""

    rows: int
    square: FloatArray
    cross: FloatArray
    energy: float

    def __add__(self, other: Moments) -> Moments:
        """Add another fold."""
        return Moments(
            self.rows + other.rows, self.square + other.square, self.cross + other.cross, self.energy + other.energy
        )

    def error(self, weights: FloatArray) -> float:
        """Return the mean squared error of weights on these rows and all targets."""
        fitted = np.sum(weights * (self.square @ weights)) - 2 * np.sum(weights * self.cross)
        return float(max(self.energy + fitted, 0.0) / (self.rows * self.cross.shape[1]))


def moments_of(
    space: KernelSpace,
    landmarks: FloatArray,
    white: FloatArray,
    inputs: FloatArray,
    targets: FloatArray,
    order: NDArray[np.int64],
) -> Moments:
    """Sum the moments of the rows named in ``order``, block by block."""
    count = len(landmarks)
    square, cross, energy = np.zeros((count, count)), np.zeros((count, targets.shape[1])), 0.0
    work = np.empty((min(BLOCK_ROWS, len(order)), count))
    for block in blocks(len(order)):
        chosen = order[block]
        table = space.kernel.gram(space.box.scaled(inputs[chosen]), landmarks, work)
        values = space.standard.forward(targets[chosen])
        square += table.T @ table
        cross += table.T @ values
        energy += float(np.sum(values * values))
    return Moments(len(order), white.T @ square @ white, white.T @ cross, energy)


def ridge_path(moments: Moments, grid: FloatArray) -> list[FloatArray]:
    """Return the weights for every lambda from one eigendecomposition."""
    values, vectors = np.linalg.eigh(moments.square)
    turned = vectors.T @ moments.cross
    shrunk = [1.0 / (np.maximum(values, 0.0) + moments.rows * penalty) for penalty in grid]
    return [vectors @ (factor[:, None] * turned) for factor in shrunk]


def cross_validate(folds: list[Moments], grid: FloatArray) -> PenaltyChoice:
    """Return the lambda whose error on held-out folds is least."""
    whole = _total(folds)
    held_out = folds if whole.rows <= MANY_ROWS else folds[:2]
    errors = np.zeros(len(grid))
    for fold in held_out:
        rest = _total([other for other in folds if other is not fold])
        errors += [fold.error(weights) for weights in ridge_path(rest, grid)]
    return least_error(grid, errors / len(held_out), f"{len(folds)}-fold cross-validation, {len(held_out)} held out")


def _total(folds: list[Moments]) -> Moments:
    """Add folds up."""
    return reduce(add, folds)


def fit_nystrom(
    space: KernelSpace,
    inputs: FloatArray,
    targets: FloatArray,
    grid: FloatArray,
    landmarks: FloatArray,
    generator: np.random.Generator,
) -> tuple[KernelFit, PenaltyChoice]:
    """Fit all rows on landmarks (scaled) with the lambda of the grid that predicts held-out folds best."""
    white, floor = whitening(space.kernel.gram(landmarks, landmarks))
    usable = grid[grid >= floor] if grid[-1] >= floor else np.asarray([floor])
    order = generator.permutation(len(inputs))
    folds = [moments_of(space, landmarks, white, inputs, targets, part) for part in np.array_split(order, FOLDS)]
    choice = cross_validate(folds, usable)
    choice = replace(choice, by=f"{choice.by}, on {len(landmarks)} landmarks")
    weights = ridge_path(_total(folds), np.asarray([choice.penalty]))[0]
    return KernelFit(space, landmarks, white @ weights), choice
