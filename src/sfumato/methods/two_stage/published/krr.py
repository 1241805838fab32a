"""Kernel ridge regression, exactly: lambda by leave-one-out from one eigendecomposition, or one Cholesky solve.

The estimate is that of equation (7) of the paper on centred targets: coefficients (K + n lambda I)^-1 (y - mean).
scikit-learn's ``KernelRidge`` with ``alpha = n lambda`` is the same. Leave-one-out residuals need no refitting: with
K = U S U' they are c_i / G_ii, where G = (K + n lambda I)^-1 and c = G y, for every lambda of a grid from one S and U.
Lambda 0 is refused: it returns the targets themselves, and an attacker reads membership off them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.errors import PlanError
from sfumato.methods.two_stage.published.kernels import Array, Kernel

# Three per decade, without 0: the error is flat around its minimum. Long reaches and many rows want the small end.
LAMBDAS: tuple[float, ...] = tuple(float(value) for value in np.geomspace(1e-10, 1.0, 31))
EIGEN_ROWS = 2500


@dataclass(frozen=True, eq=False)
class Box:
    """The range of every input column, for scaling to [0, 1]."""

    low: Array
    span: Array

    @classmethod
    def of(cls, inputs: Array) -> Box:
        """Measure the rows. A constant column is left where it is: it has no part in any distance."""
        low = inputs.min(axis=0)
        span = inputs.max(axis=0) - low
        return cls(low, np.where(span > 0, span, 1.0))

    def scaled(self, inputs: Array) -> Array:
        """Return rows in units of the ranges."""
        return np.ascontiguousarray((inputs - self.low) / self.span)


@dataclass(frozen=True, eq=False)
class Standard:
    """Mean and standard deviation of every target, so that several targets weigh alike."""

    mean: Array
    sd: Array

    @classmethod
    def of(cls, targets: Array) -> Standard:
        """Measure the targets; a constant one keeps its unit."""
        sd = targets.std(axis=0)
        return cls(targets.mean(axis=0), np.where(sd > 0, sd, 1.0))

    def forward(self, targets: Array) -> Array:
        """Return targets with mean 0 and standard deviation 1."""
        return (targets - self.mean) / self.sd

    def back(self, values: Array) -> Array:
        """Return values in the targets' own units."""
        return values * self.sd + self.mean


@dataclass(frozen=True, eq=False)
class KernelFit:
    """A fitted function: kernels around anchors in scaled inputs, times coefficients."""

    kernel: Kernel
    box: Box
    standard: Standard
    anchors: Array
    coefficients: Array

    def predict(self, inputs: Array) -> Array:
        """Return predictions, one column per target, in blocks of rows."""
        return self.standard.back(self.kernel.times(self.box.scaled(inputs), self.anchors, self.coefficients))


@dataclass(frozen=True)
class Choice:
    """The chosen lambda, its relative error (1 is predicting the mean) and how both were found."""

    penalty: float
    error: float
    by: str
    at_end_of_grid: bool


def checked_grid(lambdas: Sequence[float]) -> Array:
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


def pick(grid: Array, errors: Array, by: str) -> Choice:
    """Return the lambda of least error; the larger one of equals."""
    best = int(len(grid) - 1 - np.argmin(errors[::-1]))
    return Choice(float(grid[best]), float(errors[best]), by, len(grid) > 1 and best in (0, len(grid) - 1))


def leave_one_out(gram: Array, targets: Array, grid: Array) -> Array:
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


def solve(gram: Array, targets: Array, penalty: float) -> Array:
    """Return (K + n lambda I)^-1 y by Cholesky. The memory of ``gram`` is reused: its values are lost."""
    from scipy.linalg import cho_solve, cholesky

    gram.flat[:: len(gram) + 1] += len(gram) * penalty
    # A symmetric table in C order is its own transpose in Fortran order, which LAPACK overwrites without a copy.
    factor = cholesky(gram.T, lower=True, overwrite_a=True, check_finite=False)
    return cho_solve((factor, True), targets, check_finite=False)


def fit_exact(kernel: Kernel, box: Box, standard: Standard, inputs: Array, targets: Array, penalty: float) -> KernelFit:
    """Fit all rows by Cholesky with a given lambda. Inputs and targets are those of the table, unscaled."""
    anchors = box.scaled(inputs)
    coefficients = solve(kernel.gram(anchors, anchors), standard.forward(targets), penalty)
    return KernelFit(kernel, box, standard, anchors, coefficients)
