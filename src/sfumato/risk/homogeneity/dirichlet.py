"""Fitting a Dirichlet-multinomial law to cells: Newton with the rank-one Hessian, or moments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from sfumato.arrays import Array, Counts
from sfumato.errors import RiskError
from sfumato.risk.homogeneity.checks import as_counts

START = 0.5
STEPS = 200
TOLERANCE = 1e-10
SMALLEST, LARGEST = 1e-8, 1e8


@dataclass(frozen=True)
class DirichletFit:
    """Fitted parameters, how they were found, and the boundary case where the data decide nothing more."""

    alpha: Array
    method: Literal["mle", "moments"]
    iterations: int
    boundary: str | None = None
    """None, or what the data look like: "homogeneous", "singletons", "common"."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.alpha, dtype=dtype)

    @property
    def concentration(self) -> float:
        """Return A = sum of alpha: near 0 means homogeneous cells, large means that cells share one law."""
        return float(self.alpha.sum())


def fit_dirichlet(counts: ArrayLike, method: Literal["mle", "moments"] = "mle") -> DirichletFit:
    """Fit alpha to (cells, K) counts; empty cells carry no information and are left out.

    Boundary cases are reported, not hidden: all cells homogeneous (A goes to 0), all cells of one record (alpha is
    identified only up to scale), classes mixed alike in every cell (A goes to infinity).
    """
    array = as_counts(counts)
    array = array[array.sum(axis=1) > 0]
    if not len(array):
        raise RiskError("every cell is empty", next_step="give at least one cell with a record in it")
    if method not in ("mle", "moments"):
        raise RiskError(f"unknown method {method!r}", next_step="use 'mle' or 'moments'")
    shares = np.maximum(array.sum(axis=0) / array.sum(), SMALLEST)
    if (array.sum(axis=1) == 1).all():
        return DirichletFit(shares / shares.sum(), method, 0, "singletons")
    if ((array > 0).sum(axis=1) == 1).all():
        return DirichletFit(SMALLEST * shares / shares.sum(), method, 0, "homogeneous")
    return _moments(array, shares) if method == "moments" else _maximum_likelihood(array)


def _moments(array: Counts, shares: Array) -> DirichletFit:
    """Pairs within cells agree more often than pairs between cells: the excess is 1 / (1 + A)."""
    sizes, totals = array.sum(axis=1).astype(float), array.sum(axis=0).astype(float)
    squares, n = float((array.astype(float) ** 2).sum()), float(sizes.sum())
    within = float((array.astype(float) * (array - 1)).sum()) / float((sizes * (sizes - 1)).sum())
    between = (float((totals**2).sum()) - squares) / (n * n - float((sizes**2).sum()))
    excess = (within - between) / (1 - between) if len(array) > 1 else 0.0
    if excess <= 0:
        return DirichletFit(LARGEST * shares, "moments", 0, "common")
    return DirichletFit((1 / excess - 1) * totals / n, "moments", 0)


def _maximum_likelihood(array: Counts) -> DirichletFit:
    kept = array.sum(axis=0) > 0
    inner = array[:, kept]
    alpha = np.full(inner.shape[1], START)
    value = _log_likelihood(inner, alpha)
    iterations, moved = 0, 1.0
    while iterations < STEPS and moved >= TOLERANCE and alpha.sum() < LARGEST:
        iterations += 1
        start = value
        alpha, value, moved = _damped(inner, alpha, value, _newton_step(inner, alpha))
        if value <= start:
            # Not concave here, or at the top: the fixed point never lowers the likelihood and decides which.
            alpha, value, moved = _fixed_point(inner, alpha)
    full = np.full(array.shape[1], SMALLEST)
    full[kept] = alpha
    return DirichletFit(full, "mle", iterations, "common" if alpha.sum() > LARGEST / 10 else None)


def _log_likelihood(array: Counts, alpha: Array) -> float:
    sizes, total = array.sum(axis=1), alpha.sum()
    per_class = (special.gammaln(array + alpha) - special.gammaln(alpha)).sum()
    return float((special.gammaln(total) - special.gammaln(sizes + total)).sum() + per_class)


def _newton_step(array: Counts, alpha: Array) -> Array:
    """Return the Newton step: the Hessian is diagonal plus rank one, so solving it costs O(K)."""
    sizes, total, cells = array.sum(axis=1), alpha.sum(), len(array)
    gradient = (special.psi(array + alpha) - special.psi(alpha)).sum(axis=0)
    gradient = gradient + cells * special.psi(total) - special.psi(sizes + total).sum()
    diagonal = (special.polygamma(1, array + alpha) - special.polygamma(1, alpha)).sum(axis=0)
    common = cells * special.polygamma(1, total) - special.polygamma(1, sizes + total).sum()
    shift = (gradient / diagonal).sum() / (1 / common + (1 / diagonal).sum())
    return -(gradient - shift) / diagonal


def _fixed_point(array: Counts, alpha: Array) -> tuple[Array, float, float]:
    """Take Minka's fixed-point step, which always rises."""
    sizes, total = array.sum(axis=1), alpha.sum()
    rise = (special.psi(array + alpha) - special.psi(alpha)).sum(axis=0)
    fresh = np.maximum(alpha * rise / (special.psi(sizes + total) - special.psi(total)).sum(), SMALLEST)
    return fresh, _log_likelihood(array, fresh), float(np.abs(fresh / alpha - 1).max())


def _damped(array: Counts, alpha: Array, value: float, step: Array) -> tuple[Array, float, float]:
    """Take the step, halved until alpha stays positive and the likelihood does not fall."""
    scale = 1.0
    for _ in range(60):
        trial = alpha + scale * step
        if (trial > SMALLEST).all():
            reached = _log_likelihood(array, trial)
            if reached > value:
                return trial, reached, float(np.abs(scale * step / trial).max())
        scale /= 2
    return alpha, value, 0.0
