"""Equations 12 to 29 of the homogeneity-attack paper, as printed.

Equations (12) to (17) and (22) to (27) are printed as upper bounds. Their second term keeps only part of the patterns
that can look homogeneous, so that all but (27) lie below what they claim to bound; (27) lacks a factor and can lie
either way. Use the exact measures instead.
In terms of the survival q and the vanishing r of a count, the Laplace and the Gaussian versions are one formula.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from sfumato.arrays import FloatArray
from sfumato.errors import RiskError
from sfumato.privacy.accounting.gaussian_calibration import gaussian_sigma
from sfumato.privacy.noise_distributions import Gaussian, Laplace, NoiseLaw
from sfumato.risk.homogeneity.cells import as_alpha, as_probabilities, as_size, check_counts
from sfumato.risk.homogeneity.expected import SizeLaw

LABEL = "as printed"


class Published(float):
    """A number from a printed formula, labelled so that it is never taken for ours."""

    equation: int
    label: str = LABEL

    @classmethod
    def of(cls, value: float, equation: int) -> Published:
        """Return the value with its equation number."""
        made = cls(value)
        made.equation = equation
        return made


def published(measure: int, noise: NoiseLaw | None = None, **facts: Any) -> Published:
    """Return a formula of the paper as printed; ``measure`` is its equation number, 12 to 29.

    (12), (15), (22), (25) take ``counts`` or ``n`` and ``p``; (13), (16), (23), (26) ``n`` and ``alpha``; (14), (17),
    (24), (27) ``alpha`` and ``sizes``; (18), (28) ``n`` and ``classes``; (19), (29) ``sizes``; (20), (21) ``epsilon``
    and ``delta``.
    """
    if measure in (20, 21):
        return Published.of(_evaluate(_sigma, measure, measure, **facts), measure)
    if measure not in FORMULAS:
        raise RiskError(f"the paper has no measure {measure!r}", next_step="give an equation number from 12 to 29")
    wanted = Laplace if measure <= 19 else Gaussian
    if not isinstance(noise, wanted):
        raise RiskError(
            f"equation ({measure}) is about {wanted.__name__} noise", next_step=f"give {wanted.__name__}(...)"
        )
    return Published.of(_evaluate(FORMULAS[measure], measure, noise, **facts), measure)


def _evaluate(formula: Callable[..., float], measure: int, *arguments: Any, **facts: Any) -> float:
    """Evaluate a formula; sizes must be sizes, and facts that it does not know are refused by name."""
    if facts.get("n") is not None:
        facts["n"] = np.array([as_size(float(size)) for size in np.atleast_1d(np.asarray(facts["n"]))])
    try:
        inspect.signature(formula).bind(*arguments, **facts)
    except TypeError as error:
        wanted = ", ".join(list(inspect.signature(formula).parameters)[len(arguments) :])
        raise RiskError(f"equation ({measure}): {error}", next_step=f"give {wanted}") from error
    return formula(*arguments, **facts)


def _sigma(measure: int, epsilon: float, delta: float) -> float:
    probabilistic = gaussian_sigma(epsilon, delta, rule="probabilistic")  # refuses senseless parameters for both
    if measure == 21:
        return probabilistic
    return float(np.sqrt(2 * np.log(1.25 / delta)) / epsilon)


def _scenario_1(n: NDArray[np.int64], classes: int, noise: NoiseLaw) -> FloatArray:
    return float(noise.vanishing(0)) ** (classes - 1) * noise.survival(n)


def _scenario_8(n: NDArray[np.int64], classes: int, noise: NoiseLaw) -> FloatArray:
    others = float(noise.vanishing(1)) * float(noise.vanishing(0)) ** (classes - 2)
    return np.where(n >= 2, noise.survival(n - 1) * others, 0.0)


def _expected(
    noise: NoiseLaw, counts: ArrayLike | None = None, n: ArrayLike | None = None, p: ArrayLike | None = None
) -> float:
    if counts is not None:
        array = check_counts(counts)
        array = array[array.sum(axis=1) > 0]
        sizes = array.sum(axis=1)
        shares = array / sizes[:, None]
    else:
        shares, sizes = as_probabilities([] if p is None else p)[None, :], np.atleast_1d(np.asarray(n))
    classes = shares.shape[1]
    same = (shares ** sizes[:, None]).sum(axis=1)
    nearly = (shares ** np.maximum(sizes - 1, 0)[:, None] * (1 - shares)).sum(axis=1)
    return float((same * _scenario_1(sizes, classes, noise) + nearly * _scenario_8(sizes, classes, noise)).mean())


def _dirichlet_terms(n: NDArray[np.int64], alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
    total, sizes = alpha.sum(), n[:, None]
    base = special.gammaln(total) - special.gammaln(total + sizes) - special.gammaln(alpha)
    same = np.exp(base + special.gammaln(alpha + sizes)).sum(axis=1)
    nearly = (np.exp(base + special.gammaln(sizes + alpha - 1)) * (total - alpha)).sum(axis=1)
    return same, nearly


def _shrinkage(noise: NoiseLaw, n: ArrayLike, alpha: ArrayLike) -> float:
    sizes, prior = np.atleast_1d(np.asarray(n)), as_alpha(alpha)
    same, nearly = _dirichlet_terms(sizes, prior)
    first, second = _scenario_1(sizes, len(prior), noise), _scenario_8(sizes, len(prior), noise)
    return float((same * first + nearly * second).mean())


def _global(noise: NoiseLaw, alpha: ArrayLike, sizes: SizeLaw) -> float:
    return _global_with(noise, as_alpha(alpha), sizes, lambda n, k: _scenario_8(n, k, noise))


def _global_27(noise: NoiseLaw, alpha: ArrayLike, sizes: SizeLaw) -> float:
    """Equation (27) lacks the factor 1 + erf(-0.5 / sigma sqrt 2) that (24) has, so a half stands in its place."""
    return _global_with(noise, as_alpha(alpha), sizes, lambda n, k: np.where(n >= 2, noise.survival(n - 1) / 2, 0.0))


def _global_with(noise: NoiseLaw, alpha: FloatArray, sizes: SizeLaw, second: Callable[[Any, int], FloatArray]) -> float:
    n = np.arange(1, sizes.largest() + 1)
    same, nearly = _dirichlet_terms(n, alpha)
    return float(sizes.pmf(n) @ (same * _scenario_1(n, len(alpha), noise) + nearly * second(n, len(alpha))))


def _homogeneous(noise: NoiseLaw, n: ArrayLike, classes: int = 2) -> float:
    return float(_scenario_1(np.atleast_1d(np.asarray(n)), classes, noise).mean())


def _homogeneous_global(noise: NoiseLaw, sizes: SizeLaw) -> float:
    """Equations (19) and (29) as printed hold for two classes only, and count empty cells."""
    n = np.arange(1, sizes.largest() + 1)
    return float(sizes.pmf(n) @ _scenario_1(n, 2, noise))


FORMULAS: dict[int, Callable[..., float]] = {
    **dict.fromkeys((12, 15, 22, 25), _expected),
    **dict.fromkeys((13, 16, 23, 26), _shrinkage),
    **dict.fromkeys((14, 17, 24), _global),
    27: _global_27,
    **dict.fromkeys((18, 28), _homogeneous),
    **dict.fromkeys((19, 29), _homogeneous_global),
}


def moment_terms(counts: ArrayLike, pooled: bool = False) -> tuple[FloatArray, FloatArray]:
    """Return numerators and denominators of the moment estimates of alpha in appendix B, one for each class.

    ``pooled`` takes the empirical variance of the form for two classes, n p (1 - p), with which every denominator is
    0; otherwise that of the form for two or more, the variance over cells.

    >>> [terms.tolist() for terms in moment_terms([[3, 1], [0, 4], [5, 5], [2, 0]], pooled=True)]
    [[14.5, 14.5], [0.0, 0.0]]
    """
    array = check_counts(counts)
    sizes, total = array.sum(axis=1), array.sum()
    shares = array.sum(axis=0) / total
    variance = total * shares * (1 - shares) if pooled else array.var(axis=0, ddof=1)
    return shares**2 * (1 - shares) * (sizes**2).sum() - shares * variance, variance - total * shares * (1 - shares)
