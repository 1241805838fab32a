"""The private response: a ridge whose noise is known, from a noisy Gram matrix and two noisy passes over residuals.

The functions that see records return sums of whole numbers (:mod:`.two_stage_kernel`); all others see released numbers
only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.methods.two_stage.private.features import CHUNK, Features
from sfumato.methods.two_stage.private.kernel import STEPS, UNIT, residual_steps
from sfumato.rows.box import Array
from sfumato.rows.tree import project

Whole = NDArray[np.int64]
ACROSS, ALONG = 17, 12
"""Weights of the products of two features and of squares. ALONG / ACROSS is just below 1 / sqrt(2), so that one record
moves the weighted triangle by sqrt(289 / 2) |phi|^2 in every direction: products get half of the noise variance that a
plain triangle would give them."""
TAIL = 0.005
REACH = 3.0
"""Residuals of the second pass are clipped at so many noisy root mean squares."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A released response: middle + weights on the features."""

    features: Features
    weights: Array
    middle: float
    low: float
    high: float

    def predict(self, rows: Array) -> Array:
        """Return the fitted target of each row, inside the bounds."""
        fitted = np.empty(len(rows))
        for start in range(0, len(rows), CHUNK):
            piece = slice(start, start + CHUNK)
            fitted[piece] = self.middle + self.features.steps(rows[piece]) @ (self.weights * self.features.step)
        return np.clip(fitted, self.low, self.high)


def triangle_weights(count: int) -> Whole:
    """Return the weight of each entry of an upper triangle, row by row."""
    rows, columns = np.triu_indices(count)
    return np.where(rows == columns, ALONG, ACROSS).astype(np.int64)


def sum_gram(steps: Whole) -> Whole:
    """Return the weighted upper triangle of the products of features; exact, see ``sum_scores``."""
    real = steps.astype(np.float64)
    triangle = (real.T @ real)[np.triu_indices(steps.shape[1])].astype(np.int64)
    return triangle * triangle_weights(steps.shape[1])


def residuals(targets: Array, steps: Whole, fit: Fit, reach: float) -> Whole:
    """Return what the fit leaves of each target, clipped to ``reach``, in whole steps."""
    whole = np.empty(len(steps), np.int64)
    inside = np.clip(targets, fit.low, fit.high)
    residual_steps(inside, steps, fit.weights * fit.features.step, fit.middle, reach, whole)
    return whole


def sum_moves(steps: Whole, left: Whole) -> Whole:
    """Return the products of features and residuals, summed; exact, see ``sum_scores``."""
    return (steps.T.astype(np.float64) @ left.astype(np.float64)).astype(np.int64)


def target_range(noisy: Array, edges: Array) -> tuple[float, float]:
    """Return the mean of a noisy histogram, and how far its outer half per cent lie from it."""
    shares = project(noisy, max(float(noisy.sum()), 1.0))
    shares = shares / shares.sum()
    middle = float(shares @ (edges[1:] + edges[:-1])) / 2
    upto = np.concatenate([[0.0], np.cumsum(shares)])
    low, high = np.interp([TAIL, 1 - TAIL], upto, edges)
    return middle, max(float(high) - middle, middle - float(low), float(edges[1] - edges[0]) / 2)


def shrunk_gram(noisy: Array, sigma: float, features: Features, total: float, synthetic: Array) -> Array:
    """Return the noisy Gram matrix, shrunk to that of synthetic rows by how much of the gap is noise."""
    count = features.count
    weights = triangle_weights(count)
    unit = features.longest**2 / (UNIT * total)
    triangle, noise = noisy / weights * unit, sigma / weights * unit
    rows, columns = np.triu_indices(count)
    twice = np.where(rows == columns, 1.0, 2.0)
    gap = triangle - synthetic[rows, columns]
    kept = max(0.0, 1 - float(twice @ noise**2) / max(float(twice @ gap**2), 1e-300))
    matrix = np.zeros((count, count))
    matrix[rows, columns] = matrix[columns, rows] = kept * gap
    return _positive(synthetic + matrix)


def _positive(matrix: Array) -> Array:
    values, vectors = cast(tuple[Any, Any], np.linalg.eigh(matrix))
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


def updated(weights: Array, moves: Array, noise: float, gram: Array, prior: Array) -> Array:
    """Return weights after one noise-aware step.

    ``moves`` = gram (true - weights) + N(0, noise^2 I). With true - weights ~ N(0, v diag(prior)), v by the marginal
    likelihood of ``moves``, the step is the posterior mean. The error of the noisy ``gram`` is not in this: counting
    it in full made three of the measured cases worse and was left out.
    """
    spread = (gram * prior) @ gram
    values, vectors = cast(tuple[Any, Any], np.linalg.eigh(spread))
    values, along = np.maximum(values, 0.0), vectors.T @ moves
    factor = _likeliest(values, along**2, noise**2)
    return weights + factor * prior * (gram @ (vectors @ (along / (factor * values + noise**2))))


def _likeliest(values: Array, squares: Array, noise: float) -> float:
    """Return the factor v at which squares ~ (v values + noise) chi^2_1 are likeliest, on a grid of factors."""
    grid = (noise / max(float(values.max()), 1e-300)) * np.logspace(-3, 10, 131)
    total = grid[:, None] * values + noise
    return float(grid[int(np.argmin((np.log(total) + squares / total).sum(axis=1)))])


def next_reach(noisy: float, sigma: float, reach: float, total: float) -> float:
    """Return where the second pass clips: three noisy root mean squares, at least one noise deviation of them."""
    square = max(noisy, sigma) / (UNIT * total)
    return reach * min(1.0, REACH * float(np.sqrt(square)))


def real_moves(noisy: Array, features: Features, reach: float, total: float) -> Array:
    """Return noisy sums of products of features and residuals as a mean in real units."""
    return noisy * (features.step * reach / (STEPS * total))
