"""Gaussian copula of the inputs: noisy histograms and a noisy correlation of normal scores.

Every record becomes whole numbers by itself (:mod:`.compiled_loops`); the noise is added in :mod:`.run`.
Everything else here is post-processing of released numbers. A categorical column holds codes 0, 1, ...; its order in
the copula is that of the codes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
from scipy.special import ndtr, ndtri

from sfumato.arrays import IntArray, nearest_correlation, project_counts
from sfumato.mechanisms.lattice_sums import STEPS
from sfumato.mechanisms.two_stage.compiled_loops import quantise_vectors
from sfumato.sampling.public_box import BoundedAxis, FloatArray

FARTHEST_SCORE = 2.5
SCORE_NORM = 1.5
"""Times sqrt(d): the norm to which the normal scores of a record are shrunk."""
FEWEST_BINS, MOST_BINS = 8, 40
LEAST_EIGENVALUE = 0.02
LEAST_SLOPE = 0.05
ROUNDS = 5
CALIBRATION_ROWS = 6000
SMALLEST_SHARE = 1e-9


def bins_for(axis: BoundedAxis, n_pub: int, sigma: float, *, categorical: bool = False) -> int:
    """Return how many cells a column gets: one per level, or sqrt(n_pub / sigma) between 8 and 40.

    >>> bins_for(BoundedAxis(0, 100), 10_000, 10.0), bins_for(BoundedAxis(0, 3, whole=True), 10_000, 10.0)
    (31, 4)
    """
    if categorical:
        return round(axis.high - axis.low) + 1
    wanted = min(MOST_BINS, max(FEWEST_BINS, int(math.sqrt(n_pub / sigma))))
    return int(min(wanted, axis.most_cells))


def cells_of(column: FloatArray, axis: BoundedAxis, edges: FloatArray) -> IntArray:
    """Return the cell of each value; what lies outside the bounds counts at the nearest one. Comparisons only."""
    inside = np.clip(np.rint(column) if axis.whole else column, axis.low, axis.high)
    return np.minimum(np.searchsorted(edges, inside, side="right") - 1, len(edges) - 2).astype(np.int64)


def count_columns(rows: FloatArray, axes: tuple[BoundedAxis, ...], edges: tuple[FloatArray, ...]) -> IntArray:
    """Return the histograms of all columns, one behind the other."""
    columns = zip(rows.T, axes, edges, strict=True)
    return np.concatenate([np.bincount(cells_of(c, a, e), minlength=len(e) - 1) for c, a, e in columns])


def score_steps(rows: FloatArray, marginals: InputMarginals) -> IntArray:
    """Return the normal scores of each record as whole steps, shrunk to norm 1.5 sqrt(d)."""
    scores = marginals.scores(rows)
    whole = np.empty(scores.shape, np.int64)
    quantise_vectors(scores, SCORE_NORM * math.sqrt(scores.shape[1]), whole)
    return whole


def sum_scores(whole: IntArray) -> IntArray:
    """Return the products of the steps of every two columns, summed over the records.

    Sums of whole numbers below 2^53 are exact in floating point: at most 2^22 records at once.
    """
    steps = whole.astype(np.float64)
    return (steps.T @ steps)[np.triu_indices(whole.shape[1], 1)].astype(np.int64)


@dataclass(frozen=True, eq=False)
class InputMarginals:
    """The released histograms of the columns."""

    axes: tuple[BoundedAxis, ...]
    edges: tuple[FloatArray, ...]
    shares: tuple[FloatArray, ...]
    """Share of each cell, column by column; they sum to 1 in each."""

    @classmethod
    def of(cls, axes: tuple[BoundedAxis, ...], edges: tuple[FloatArray, ...], noisy: FloatArray) -> InputMarginals:
        """Return the nearest proper histograms of noisy ones that lie one behind the other."""
        ends = np.cumsum([len(edge) - 1 for edge in edges])
        pieces = np.split(noisy, ends[:-1])
        tables = (project_counts(piece) for piece in pieces)
        return cls(axes, edges, tuple(table / table.sum() for table in tables))

    @cached_property
    def _upto(self) -> tuple[FloatArray, ...]:
        return tuple(np.concatenate([[0.0], np.minimum(np.cumsum(share), 1.0)]) for share in self.shares)

    def scores(self, rows: FloatArray) -> FloatArray:
        """Return normal scores, clipped at 2.5: a whole value counts at the middle of its place in the cell."""
        scores = np.empty(rows.shape)
        for j, (axis, edges, upto) in enumerate(zip(self.axes, self.edges, self._upto, strict=True)):
            cell = cells_of(rows[:, j], axis, edges)
            inside = np.clip(np.rint(rows[:, j]) + 0.5 if axis.whole else rows[:, j], edges[0], edges[-1])
            place = np.clip((inside - edges[cell]) / (edges[cell + 1] - edges[cell]), 0, 1)
            share = upto[cell] + place * (upto[cell + 1] - upto[cell])
            scores[:, j] = np.clip(
                ndtri(np.clip(share, SMALLEST_SHARE, 1 - SMALLEST_SHARE)), -FARTHEST_SCORE, FARTHEST_SCORE
            )
        return scores

    def values(self, uniforms: FloatArray) -> FloatArray:
        """Return the values at which the released distribution functions reach ``uniforms``."""
        drawn = np.empty(uniforms.shape)
        for j, (axis, edges, upto) in enumerate(zip(self.axes, self.edges, self._upto, strict=True)):
            cell = np.clip(np.searchsorted(upto, uniforms[:, j], side="right") - 1, 0, len(edges) - 2)
            share = upto[cell + 1] - upto[cell]
            place = np.clip((uniforms[:, j] - upto[cell]) / np.where(share > 0, share, 1.0), 0, 1)
            value = edges[cell] + place * (edges[cell + 1] - edges[cell])
            drawn[:, j] = np.clip(np.floor(value) if axis.whole else value, axis.low, axis.high)
        return drawn


@dataclass(frozen=True, eq=False)
class PrivateInputs:
    """Released histograms and copula correlation: rows from them cost nothing more."""

    marginals: InputMarginals
    correlation: FloatArray

    @cached_property
    def _root(self) -> FloatArray:
        return cast(FloatArray, np.linalg.cholesky(self.correlation))

    def draw(self, rows: int, generator: np.random.Generator) -> FloatArray:
        """Return synthetic inputs, all inside the bounds."""
        normals = generator.standard_normal((rows, len(self.marginals.axes))) @ self._root.T
        return self.marginals.values(ndtr(normals))


def copula_correlation(marginals: InputMarginals, noisy: FloatArray, sigma: float, total: float) -> FloatArray:
    """Return a correlation matrix from noisy sums of products of score steps.

    Coarse columns, clipping and shrinking make the products smaller than those of normals, the more so the stronger
    the correlation. So the matrix is moved until rows drawn from it give the noisy products by the same steps: free,
    as it sees released numbers only. Products within the noise are shrunk to 0 first.
    """
    columns = len(marginals.axes)
    unit = SCORE_NORM**2 * columns / (STEPS**2 * total)
    raw = noisy * unit
    wanted = raw * np.maximum(0.0, 1 - (sigma * unit) ** 2 / np.maximum(raw**2, 1e-300))
    normals, pairs = _white_normals(columns), np.triu_indices(columns, 1)
    kept, attainable = _attainable_scores(marginals, normals)
    slope = np.maximum(kept[pairs[0]] * kept[pairs[1]], LEAST_SLOPE)
    reached, matrix = np.zeros(len(wanted)), np.eye(columns)
    for _ in range(ROUNDS):
        reached = np.clip(reached + (wanted - attainable) / slope, -0.98, 0.98)
        matrix = np.eye(columns)
        matrix[pairs] = reached
        matrix = nearest_correlation(matrix + np.triu(matrix, 1).T, LEAST_EIGENVALUE)
        _, attainable = _attainable_scores(marginals, normals @ np.linalg.cholesky(matrix).T)
    return matrix


def _white_normals(columns: int) -> FloatArray:
    """Return public normals whose sample covariance is exactly the identity."""
    normals = np.random.default_rng(0).standard_normal((CALIBRATION_ROWS, columns))
    normals -= normals.mean(axis=0)
    root = np.linalg.cholesky(normals.T @ normals / len(normals))
    return cast(FloatArray, np.linalg.solve(root, normals.T).T)


def _attainable_scores(marginals: InputMarginals, normals: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return, for rows at given normals, the slope of each score on its normal, and the mean products of scores."""
    steps = score_steps(marginals.values(ndtr(normals)), marginals)
    scores = steps * (SCORE_NORM * math.sqrt(steps.shape[1]) / STEPS)
    products = (scores.T @ scores)[np.triu_indices(steps.shape[1], 1)]
    return np.abs((scores * normals).mean(axis=0)), products / len(scores)
