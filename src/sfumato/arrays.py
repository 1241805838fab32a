"""NumPy array types for annotations, the check that an array holds integer counts, and their projection."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import PlanError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Counts = NDArray[np.int64]
"""Whole numbers that count records."""
BoolArray = NDArray[np.bool_]
LARGEST = int(np.iinfo(np.int64).max)
LARGEST_INVERTED_SCALE = 1 << 50
"""Up to here noise stays within 64 bits but for a probability below exp(-8000); beyond it OpenDP draws."""


def as_counts(counts: ArrayLike) -> Counts:
    """Return whole counts as 64-bit integers, not copied where they are so already, or refuse what is no count."""
    array = np.asarray(counts)
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu" or (array.dtype.kind == "u" and array.max() > LARGEST):
        raise PlanError(
            f"noise is added to whole counts only, found values of type {array.dtype}",
            next_step="round each record to whole steps of a public size first, and sum those",
        )
    return array.astype(np.int64, copy=False)


def project_counts(counts: NDArray[np.int64] | FloatArray, total: float | None = None) -> FloatArray:
    """Return the nearest (least squares) non-negative table with the given total, or with its own and at least 1.

    >>> project_counts(np.array([3.0, -1.0]), 2.0).tolist()
    [2.0, 0.0]
    """
    flat = np.asarray(counts, dtype=float).ravel()
    total = max(float(np.sum(counts)), 1.0) if total is None else total
    descending = np.sort(flat)[::-1]
    excess = (np.cumsum(descending) - total) / np.arange(1, flat.size + 1)
    last = int(np.flatnonzero(descending - excess > 0)[-1]) if np.any(descending - excess > 0) else 0
    return np.maximum(flat - excess[last], 0.0).reshape(np.shape(counts))


def raise_eigenvalues(matrix: FloatArray, least: float, part: float = 0.0) -> FloatArray:
    """Return a symmetric matrix whose eigenvalues are at least ``least``, and at least a part of the largest."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, max(least, part * float(np.abs(values).max())))) @ vectors.T


def nearest_correlation(matrix: FloatArray, least: float) -> FloatArray:
    """Return a matrix of correlations near the given one, which need not belong to any law, with such eigenvalues."""
    raised = raise_eigenvalues(matrix, least)
    spread = np.sqrt(np.diag(raised))
    return raised / np.outer(spread, spread)
