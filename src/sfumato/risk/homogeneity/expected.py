"""Expected risk before any cell is seen: for a known law of the classes, for a Dirichlet prior, over cell sizes.

Every term is positive: class counts are independent given a Poisson (or negative binomial) size, and the coefficient
at the true size is read off by truncated convolutions. For the geometric law everything factorises into closed forms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from sfumato.arrays import Array
from sfumato.errors import RiskError
from sfumato.privacy.noise.laws import Geometric, NoiseLaw
from sfumato.risk.homogeneity.checks import View, as_alpha, as_probabilities, as_size, require_view

SIZE_TAIL = 1e-14
MOST_IN_ONE_PASS = 600


class SizeLaw(Protocol):
    """A law of the number of records in a cell."""

    def pmf(self, n: NDArray[np.int64]) -> Array:
        """Return the probability of each size."""
        ...

    def largest(self) -> int:
        """Return a size beyond which the mass is negligible."""
        ...

    def pgf(self, x: float) -> float:
        """Return the expectation of x to the power of the size."""
        ...


@dataclass(frozen=True)
class Poisson:
    """Poisson cell sizes with mean ``lam``."""

    lam: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.lam) and self.lam > 0):
            raise RiskError(f"lam must be above 0, found {self.lam!r}", next_step="give the mean size of a cell")

    def pmf(self, n: NDArray[np.int64]) -> Array:
        """Return the probability of each size."""
        return stats.poisson.pmf(n, self.lam)

    def largest(self) -> int:
        """Return a size beyond which the mass is negligible."""
        return int(stats.poisson.isf(SIZE_TAIL, self.lam)) + 1

    def pgf(self, x: float) -> float:
        """Return the expectation of x to the power of the size."""
        return math.exp(self.lam * (x - 1))


@dataclass(frozen=True)
class NegativeBinomial:
    """Negative binomial cell sizes: ``r`` successes with probability ``pi``; mean r (1 - pi) / pi."""

    r: float
    pi: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.r) and self.r > 0 and 0 < self.pi < 1):
            raise RiskError(
                f"r must be above 0 and pi in (0, 1), found {self.r!r}, {self.pi!r}",
                next_step="give NegativeBinomial(r=2.0, pi=0.3)",
            )

    def pmf(self, n: NDArray[np.int64]) -> Array:
        """Return the probability of each size."""
        return stats.nbinom.pmf(n, self.r, self.pi)

    def largest(self) -> int:
        """Return a size beyond which the mass is negligible."""
        return int(stats.nbinom.isf(SIZE_TAIL, self.r, self.pi)) + 1

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


def _expected_at(sizes: NDArray[np.int64], p: Array, noise: NoiseLaw, view: View) -> Array:
    """Return the expected risk at every size: in one pass where no weight of it underflows."""
    largest = int(sizes.max())
    if largest > MOST_IN_ONE_PASS or (isinstance(noise, Geometric) and view == "conservative"):
        return np.array([expected(int(size), p, noise, view) for size in sizes])
    # The coefficient at n, divided by the weight of n, is the same for every rate.
    rate, whole = largest / 2, np.arange(largest + 1)
    weights = [stats.poisson.pmf(whole, rate * share) for share in p]
    return (_coefficients(weights, noise, view) / stats.poisson.pmf(whole, rate))[sizes]


def _geometric_expected(n: int, p: Array, noise: Geometric) -> float:
    """Closed form, O(K): r(m) = g t^m for all m, so that everything factorises."""
    t = noise.ratio
    g = 1 / (1 + t)
    gone = (t * (1 - p)) ** n
    return float(g ** (len(p) - 1) * ((p + t * (1 - p)) ** n - gone - g * (t**n - gone)).sum())


def shrinkage(n: int | ArrayLike, alpha: ArrayLike, noise: NoiseLaw, view: View = "conservative") -> float | Array:
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


def _shrinkage_up_to(largest: int, alpha: Array, noise: NoiseLaw, view: View) -> Array:
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


def _log_weight(m: NDArray[np.int64], a: float, x: float) -> Array:
    """Return the log of the negative binomial weight Gamma(m + a) / (Gamma(a) m!) x^m (1 - x)^a."""
    return special.gammaln(m + a) - special.gammaln(a) - special.gammaln(m + 1.0) + m * math.log(x) + a * math.log1p(-x)


def _geometric_shrinkage(n: int, alpha: Array, noise: Geometric) -> float:
    t = noise.ratio
    g, total = 1 / (1 + t), float(alpha.sum())
    whole = np.arange(n + 1)
    powers = t**whole
    value = 0.0
    for a in alpha:
        law = stats.betabinom.pmf(whole, n, total - a, a)
        value += float(law @ powers) - powers[n] * law[n] - g * powers[n] * (1 - law[n])
    return g ** (len(alpha) - 1) * value


def _coefficients(weights: list[Array], noise: NoiseLaw, view: View) -> Array:
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


def _product(a: Array, b: Array) -> Array:
    return np.convolve(a, b)[: len(a)]


def overall(
    alpha: ArrayLike, noise: NoiseLaw, sizes: SizeLaw | ArrayLike, truncated: bool = True, view: View = "conservative"
) -> float:
    """Return the risk averaged over cells: Dirichlet(alpha) classes, sizes from a law or as observed.

    Cells exist only where there is a record, so ``truncated=True`` conditions on non-empty cells; ``False`` keeps the
    empty ones at risk 0, which is what the published formulas do.
    """
    prior = as_alpha(alpha)

    def risk(values: NDArray[np.int64]) -> Array:
        return np.atleast_1d(shrinkage(values, prior, noise, view))

    if not hasattr(sizes, "pmf"):
        observed = np.asarray(sizes)
        if observed.size == 0:
            raise RiskError("no cell sizes given", next_step="give the sizes of the observed cells, or Poisson(lam)")
        kept = observed[observed > 0] if truncated else observed
        return float(risk(kept).mean()) if kept.size else 0.0
    return _over_sizes(sizes, risk, truncated)  # pyright: ignore[reportArgumentType]


def _over_sizes(law: SizeLaw, risk: Callable[[NDArray[np.int64]], Array], truncated: bool) -> float:
    values = np.arange(1, law.largest() + 1)
    average = float(law.pmf(values) @ risk(values))
    return average / (1 - law.pgf(0.0)) if truncated else average
