"""Exact laws of the noise and the acceptance region of the tests that compare draws with them."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

ALPHA = 1e-6


def discrete_laplace_pmf(k: np.ndarray, scale: float) -> np.ndarray:
    r = math.exp(-1 / scale)
    return (1 - r) / (1 + r) * r ** np.abs(k)


def discrete_gaussian_pmf(k: np.ndarray, sigma: float) -> np.ndarray:
    reach = np.arange(-math.ceil(40 * sigma) - 1, math.ceil(40 * sigma) + 2)
    return np.exp(-(k.astype(float) ** 2) / (2 * sigma**2)) / np.exp(-(reach**2) / (2 * sigma**2)).sum()


def chi_square_p(draws: np.ndarray, pmf, *parameters: float) -> float:
    """Pearson's test of integer draws against a law; tails are merged so that every bin expects at least 25."""
    n = len(draws)
    reach = int(np.abs(draws).max()) + 2
    k = np.arange(-reach, reach + 1)
    expected = n * pmf(k, *parameters)
    observed = np.bincount(draws + reach, minlength=2 * reach + 1).astype(float)
    keep = expected >= 25
    rest = max(n - expected[keep].sum(), 0.0)
    bins = [(observed[keep], expected[keep])]
    if rest >= 25:
        bins.append((np.array([observed[~keep].sum()]), np.array([rest])))
    o, e = (np.concatenate(column) for column in zip(*bins, strict=True))
    # Bins below 25 that cannot be merged are left out on both sides; the statistic keeps its degrees of freedom.
    return float(stats.chi2.sf(((o - e) ** 2 / e).sum(), len(e) - 1))
