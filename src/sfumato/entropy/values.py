"""Entropy of counts in bits, and how far it can move with the distribution."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import PlanError


def shannon(counts: ArrayLike) -> float:
    """Return the Shannon entropy in bits of non-negative counts; 0 for an empty table.

    >>> shannon([1, 1, 1, 1])
    2.0
    """
    shares = _shares(counts)
    return float(-(shares * np.log2(shares)).sum()) + 0.0


def renyi(counts: ArrayLike, order: float) -> float:
    """Return the Renyi entropy in bits; order 0 is log2 of the support, 1 Shannon, infinity the min-entropy.

    >>> renyi([1, 1, 1, 1], 2)
    2.0
    """
    check_order(order)
    shares = _shares(counts)
    if shares.size == 0:
        return 0.0
    if order == 1:
        return shannon(counts)
    if math.isinf(order):
        return float(-np.log2(shares.max())) + 0.0
    return float(np.log2((shares**order).sum()) / (1 - order)) + 0.0


def _shares(counts: ArrayLike) -> NDArray[np.float64]:
    weights = np.asarray(counts, dtype=float).ravel()
    if weights.size and (not np.isfinite(weights).all() or weights.min() < 0):
        raise PlanError(
            "entropy needs counts of 0 or more", next_step="clamp noisy counts at 0 first: np.maximum(counts, 0)"
        )
    weights = weights[weights > 0]
    return weights / weights.sum() if weights.size else weights


def check_order(order: float) -> None:
    """Refuse what is no order of an entropy."""
    if math.isnan(order) or order < 0:
        raise PlanError(f"the order must be 0 or more, found {order!r}", next_step="use 1 for Shannon, 2, or math.inf")


def continuity_bound(tv: float, cells: int) -> float:
    """Return the most by which Shannon entropy can differ at a total variation distance (Fannes and Audenaert)."""
    if not 0 <= tv <= 1 or cells < 1:
        raise PlanError(
            f"tv must lie in [0, 1] and cells be at least 1, found {tv!r}, {cells!r}", next_step="check both"
        )
    distance = min(tv, 1 - 1 / cells)
    if distance == 0 or cells == 1:
        return 0.0
    return distance * math.log2(cells - 1) + shannon([distance, 1 - distance])
