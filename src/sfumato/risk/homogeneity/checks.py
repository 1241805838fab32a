"""Counts as the risk measures want them, or a named error that says what to do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.arrays import Array, Counts
from sfumato.errors import RiskError

View = Literal["conservative", "record", "any"]
VIEWS = ("conservative", "record", "any")
COUNTS_STEP = "give an integer array with one row per cell and one column per sensitive value (at least two)"


def as_counts(counts: ArrayLike, narrow: bool = False) -> Counts:
    """Return counts as a (cells, K) integer array; all problems are reported at once.

    ``narrow`` keeps the integer type that came in, for callers that only look counts up.
    """
    array = np.asarray(getattr(counts, "counts", counts))
    if array.ndim == 1 and array.size:
        array = array[None, :]
    problems = _problems(array)
    if problems:
        raise RiskError("these are not counts of cells", problems, COUNTS_STEP)
    return array if narrow and array.dtype.kind in "iu" else array.astype(np.int64, copy=False)


def _problems(array: NDArray[Any]) -> list[str]:
    if array.ndim != 2:
        return [f"found {array.ndim} dimensions, two are needed"]
    problems = [f"found K = {array.shape[1]} sensitive values, at least 2 are needed"] if array.shape[1] < 2 else []
    if array.dtype.kind not in "iuf":
        return [*problems, f"found values of type {array.dtype}"]
    if array.dtype.kind == "f":
        broken = int((~np.isfinite(array)).sum())
        fractions = int((array[np.isfinite(array)] % 1 != 0).sum())
        problems += [f"{broken:,} values are NaN or infinite"] if broken else []
        problems += [f"{fractions:,} values are fractions"] if fractions else []
    negative = int((array < 0).sum())
    return problems + ([f"{negative:,} values are negative"] if negative else [])


def require_view(view: str) -> None:
    """Refuse an unknown view."""
    if view not in VIEWS:
        raise RiskError(f"unknown view {view!r}", next_step=f"use one of: {', '.join(VIEWS)}")


def as_probabilities(p: ArrayLike) -> Array:
    """Return class probabilities that sum to one."""
    array = np.asarray(p, dtype=float)
    if array.ndim != 1 or len(array) < 2 or not np.isfinite(array).all() or (array < 0).any():
        raise RiskError(
            f"p must be at least two numbers of 0 or more, found {p!r}", next_step="give p such as [0.7, 0.3]"
        )
    if abs(array.sum() - 1) > 1e-9:
        raise RiskError(f"p must sum to 1, found {array.sum():.6g}", next_step="divide p by its sum")
    return array


def as_alpha(alpha: ArrayLike) -> Array:
    """Return Dirichlet parameters, all above zero."""
    array = np.asarray(alpha, dtype=float)
    if array.ndim != 1 or len(array) < 2 or not np.isfinite(array).all() or (array <= 0).any():
        raise RiskError(
            f"alpha must be at least two numbers above 0, found {alpha!r}", next_step="fit it: fit_dirichlet(counts)"
        )
    return array


def as_size(n: float) -> int:
    """Return the size of a cell: a whole number of at least 0."""
    if isinstance(n, bool) or not math.isfinite(n) or n < 0 or n != int(n):
        raise RiskError(
            f"a cell's size must be a whole number of at least 0, found {n!r}", next_step="give n such as 10"
        )
    return int(n)


def weighted_mean(values: Array, counts: Counts, weights: str) -> float:
    """Average over non-empty cells, by cell or by record."""
    totals = counts.sum(axis=1)
    if weights not in ("cell", "record"):
        raise RiskError(f"unknown weights {weights!r}", next_step="use 'cell' or 'record'")
    share = (totals > 0).astype(float) if weights == "cell" else totals.astype(float)
    if share.sum() == 0:
        raise RiskError("every cell is empty", next_step="give at least one cell with a record in it")
    return float(values @ share / share.sum())


def unique_rows(counts: Counts) -> tuple[Counts, NDArray[np.int64]]:
    """Return distinct cells (classes sorted, which changes no risk) and how often each occurs."""
    ordered: Sequence[Any] = np.unique(np.sort(counts, axis=1), axis=0, return_counts=True)
    return ordered[0], ordered[1]
