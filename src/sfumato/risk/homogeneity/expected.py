"""Expected risk for known class probabilities or a Dirichlet prior, and the fit of the prior.

Every term is positive: class counts are independent given a Poisson (or negative binomial) size, and the coefficient
at the true size is read off by truncated convolutions. For the geometric law everything factorises into closed forms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from sfumato.arrays import Counts, FloatArray
from sfumato.errors import RiskError
from sfumato.privacy.noise_distributions import Geometric, NoiseLaw
from sfumato.risk.homogeneity.cells import View, as_alpha, as_probabilities, as_size, check_counts, require_view

START = 0.5
STEPS = 200
TOLERANCE = 1e-10
SMALLEST, LARGEST = 1e-8, 1e8


@dataclass(frozen=True)
class DirichletFit:
    """Fitted parameters, how they were found, and the boundary case where the data decide nothing more."""

    alpha: FloatArray
    method: Literal["mle", "moments"]
    iterations: int
    boundary: str | None = None
    """None, or what the data look like: "homogeneous", "singletons", "common"."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
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
    array = check_counts(counts)
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


def _moments(array: Counts, shares: FloatArray) -> DirichletFit:
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


def _log_likelihood(array: Counts, alpha: FloatArray) -> float:
    sizes, total = array.sum(axis=1), alpha.sum()
    per_class = (special.gammaln(array + alpha) - special.gammaln(alpha)).sum()
    return float((special.gammaln(total) - special.gammaln(sizes + total)).sum() + per_class)


def _newton_step(array: Counts, alpha: FloatArray) -> FloatArray:
    """Return the Newton step: the Hessian is diagonal plus rank one, so solving it costs O(K)."""
    sizes, total, cells = array.sum(axis=1), alpha.sum(), len(array)
    gradient = (special.psi(array + alpha) - special.psi(alpha)).sum(axis=0)
    gradient = gradient + cells * special.psi(total) - special.psi(sizes + total).sum()
    diagonal = (special.polygamma(1, array + alpha) - special.polygamma(1, alpha)).sum(axis=0)
    common = cells * special.polygamma(1, total) - special.polygamma(1, sizes + total).sum()
    shift = (gradient / diagonal).sum() / (1 / common + (1 / diagonal).sum())
    return -(gradient - shift) / diagonal


def _fixed_point(array: Counts, alpha: FloatArray) -> tuple[FloatArray, float, float]:
    """Take Minka's fixed-point step, which always rises."""
    sizes, total = array.sum(axis=1), alpha.sum()
    rise = (special.psi(array + alpha) - special.psi(alpha)).sum(axis=0)
    fresh = np.maximum(alpha * rise / (special.psi(sizes + total) - special.psi(total)).sum(), SMALLEST)
    return fresh, _log_likelihood(array, fresh), float(np.abs(fresh / alpha - 1).max())


def _damped(array: Counts, alpha: FloatArray, value: float, step: FloatArray) -> tuple[FloatArray, float, float]:
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


SIZE_TAIL = 1e-14
MOST_IN_ONE_PASS = 600


class SizeLaw:
    """A law of the number of records in a cell."""

    @property
    def law(self) -> Any:
        """The law as a distribution of SciPy."""
        raise NotImplementedError

    def pgf(self, x: float) -> float:
        """Return the expectation of x to the power of the size."""
        raise NotImplementedError

    def pmf(self, n: NDArray[np.int64]) -> FloatArray:
        """Return the probability of each size."""
        return self.law.pmf(n)

    def largest(self) -> int:
        """Return a size beyond which the mass is negligible."""
        return int(self.law.isf(SIZE_TAIL)) + 1


@dataclass(frozen=True)
class Poisson(SizeLaw):
    """Poisson cell sizes with mean ``lam``."""

    lam: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.lam) and self.lam > 0):
            raise RiskError(f"lam must be above 0, found {self.lam!r}", next_step="give the mean size of a cell")

    @property
    def law(self) -> Any:
        """The law as a distribution of SciPy."""
        return stats.poisson(self.lam)

    def pgf(self, x: float) -> float:
        """Return the expectation of x to the power of the size."""
        return math.exp(self.lam * (x - 1))


@dataclass(frozen=True)
class NegativeBinomial(SizeLaw):
    """Negative binomial cell sizes: ``r`` successes with probability ``pi``; mean r (1 - pi) / pi."""

    r: float
    pi: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.r) and self.r > 0 and 0 < self.pi < 1):
            raise RiskError(
                f"r must be above 0 and pi in (0, 1), found {self.r!r}, {self.pi!r}",
                next_step="give NegativeBinomial(r=2.0, pi=0.3)",
            )

    @property
    def law(self) -> Any:
        """The law as a distribution of SciPy."""
        return stats.nbinom(self.r, self.pi)

    def pgf(self, x: float) -> float:
        """Return the expectation of x to the power of the size."""
        return (self.pi / (1 - (1 - self.pi) * x)) ** self.r


def expected(n: int | SizeLaw, p: ArrayLike, noise: NoiseLaw, view: View = "conservative") -> float:
    """Return the expected risk of a cell of ``n`` records whose classes have probabilities ``p``.

    With a law of sizes instead of a number, the expectation is over non-empty cells.
    """
    require_view(view)
    shares = as_probabilities(p)
    if not isinstance(n, int | float | np.integer):
        return _over_sizes(n, lambda sizes: _expected_at(sizes, shares, noise, view), True)
    size = as_size(n)
    if size == 0:
        return 0.0
    if isinstance(noise, Geometric) and view == "conservative":
        return _geometric_expected(size, shares, noise)
    whole = np.arange(size + 1)
    weights = [stats.poisson.pmf(whole, size * share) for share in shares]
    return float(_coefficients(weights, noise, view)[size] / stats.poisson.pmf(size, size))


def _expected_at(sizes: NDArray[np.int64], p: FloatArray, noise: NoiseLaw, view: View) -> FloatArray:
    """Return the expected risk at every size: in one pass where no weight of it underflows."""
    largest = int(sizes.max())
    if largest > MOST_IN_ONE_PASS or (isinstance(noise, Geometric) and view == "conservative"):
        return np.array([expected(int(size), p, noise, view) for size in sizes])
    # The coefficient at n, divided by the weight of n, is the same for every rate.
    rate, whole = largest / 2, np.arange(largest + 1)
    weights = [stats.poisson.pmf(whole, rate * share) for share in p]
    return (_coefficients(weights, noise, view) / stats.poisson.pmf(whole, rate))[sizes]


def _geometric_expected(n: int, p: FloatArray, noise: Geometric) -> float:
    """Closed form, O(K): r(m) = g t^m for all m, so that everything factorises."""
    t = noise.ratio
    g = 1 / (1 + t)
    gone = (t * (1 - p)) ** n
    return float(g ** (len(p) - 1) * ((p + t * (1 - p)) ** n - gone - g * (t**n - gone)).sum())


def shrinkage(n: int | ArrayLike, alpha: ArrayLike, noise: NoiseLaw, view: View = "conservative") -> float | FloatArray:
    """Return the expected risk of cells of size ``n`` when class probabilities follow a Dirichlet(alpha) law.

    One pass gives the risk for every size up to the largest, so an array of sizes costs no more than its maximum.
    """
    require_view(view)
    prior = as_alpha(alpha)
    sizes = np.atleast_1d(np.asarray(n))
    for size in np.unique(sizes):
        as_size(float(size))
    risks = _shrinkage_up_to(int(sizes.max(initial=0)), prior, noise, view)[sizes.astype(np.int64)]
    return float(risks[0]) if np.ndim(n) == 0 else risks


def _shrinkage_up_to(largest: int, alpha: FloatArray, noise: NoiseLaw, view: View) -> FloatArray:
    if largest == 0:
        return np.zeros(1)
    total = float(alpha.sum())
    if isinstance(noise, Geometric) and view == "conservative":
        return np.array([0.0, *(_geometric_shrinkage(size, alpha, noise) for size in range(1, largest + 1))])
    x = largest / (largest + total)
    whole = np.arange(largest + 1)
    weights = [np.exp(_log_weight(whole, a, x)) for a in alpha]
    risks = _coefficients(weights, noise, view) / np.exp(_log_weight(whole, total, x))
    risks[0] = 0.0
    return risks


def _log_weight(m: NDArray[np.int64], a: float, x: float) -> FloatArray:
    """Return the log of the negative binomial weight Gamma(m + a) / (Gamma(a) m!) x^m (1 - x)^a."""
    return special.gammaln(m + a) - special.gammaln(a) - special.gammaln(m + 1.0) + m * math.log(x) + a * math.log1p(-x)


def _geometric_shrinkage(n: int, alpha: FloatArray, noise: Geometric) -> float:
    t = noise.ratio
    g, total = 1 / (1 + t), float(alpha.sum())
    whole = np.arange(n + 1)
    powers = t**whole
    value = 0.0
    for a in alpha:
        law = stats.betabinom.pmf(whole, n, total - a, a)
        value += float(law @ powers) - powers[n] * law[n] - g * powers[n] * (1 - law[n])
    return g ** (len(alpha) - 1) * value


def _coefficients(weights: list[FloatArray], noise: NoiseLaw, view: View) -> FloatArray:
    """Return the unnormalised risk at every size: two accumulators, truncated convolutions."""
    length = len(weights[0])
    whole = np.arange(length)
    survive, vanish = noise.survival(whole), noise.vanishing(whole)
    if view == "conservative":
        survive = survive * (whole > 0)
    elif view == "record":
        survive = survive * whole
    some, none = np.zeros(length), np.eye(1, length)[0]
    for weight in weights:
        some = _product(some, weight * vanish) + _product(none, weight * survive)
        none = _product(none, weight * vanish)
    return some / np.maximum(whole, 1) if view == "record" else some


def _product(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.convolve(a, b)[: len(a)]


def overall(
    alpha: ArrayLike, noise: NoiseLaw, sizes: SizeLaw | ArrayLike, truncated: bool = True, view: View = "conservative"
) -> float:
    """Return the risk averaged over cells: Dirichlet(alpha) classes, sizes from a law or as observed.

    Cells exist only where there is a record, so ``truncated=True`` conditions on non-empty cells; ``False`` keeps the
    empty ones at risk 0, which is what the published formulas do.
    """
    prior = as_alpha(alpha)

    def risk(values: NDArray[np.int64]) -> FloatArray:
        return np.atleast_1d(shrinkage(values, prior, noise, view))

    if not hasattr(sizes, "pmf"):
        observed = np.asarray(sizes)
        if observed.size == 0:
            raise RiskError("no cell sizes given", next_step="give the sizes of the observed cells, or Poisson(lam)")
        kept = observed[observed > 0] if truncated else observed
        return float(risk(kept).mean()) if kept.size else 0.0
    return _over_sizes(sizes, risk, truncated)  # pyright: ignore[reportArgumentType]


def _over_sizes(law: SizeLaw, risk: Callable[[NDArray[np.int64]], FloatArray], truncated: bool) -> float:
    values = np.arange(1, law.largest() + 1)
    average = float(law.pmf(values) @ risk(values))
    return average / (1 - law.pgf(0.0)) if truncated else average
