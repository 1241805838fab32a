"""Likelihood-ratio attack on noisy counts, and its exact accuracy (Neyman-Pearson).

Two equally likely tables give release laws P and Q. The likelihood-ratio test is right in (1 + TV) / 2 of all games,
where TV is the total variation distance of P and Q, and no other test is right more often (Neyman and Pearson 1933).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import FloatArray
from sfumato.errors import RiskError
from sfumato.privacy.noise_distributions import DiscreteGaussian, Gaussian, Geometric, Laplace

Law = Laplace | Geometric | Gaussian | DiscreteGaussian
MOST_TERMS = 5_000_000
SAME_LOSS = 1e-9
"""Log-likelihood ratios closer than this are one outcome: sums of equal noise scales meet again."""


def optimal_accuracy(
    noise: Law | Sequence[Law], shifts: Sequence[int] = (1,), zeros: Sequence[int] | None = None
) -> float:
    """Return how often the best attacker tells two tables apart whose counts differ by ``shifts``, cell by cell.

    ``noise`` is one law for all cells, or one for each. ``Laplace`` and ``Gaussian`` are read as continuous, not
    rounded; the discrete laws are what Sfumato releases. ``zeros`` are the counts without the target where negative
    released counts are clamped to 0. (1,) is one record more; (1, 1) one record less here and one more there.

    >>> from sfumato.privacy.noise_distributions import Geometric, Laplace
    >>> round(optimal_accuracy(Laplace(1.0), (1, 1)), 4), round(optimal_accuracy(Laplace(1.0)), 4)
    (0.7241, 0.6967)
    >>> round(optimal_accuracy(Geometric(1.0)), 6)   # the ceiling itself
    0.731059
    """
    moved = [(law, abs(shift)) for law, shift in zip(_laws(noise, len(shifts)), shifts, strict=True) if shift]
    if not moved:
        return 0.5
    laws = [law for law, _ in moved]
    if all(isinstance(law, Geometric | DiscreteGaussian) for law in laws):
        return _sum_over_outcomes(noise, shifts, zeros)
    if zeros is None and all(isinstance(law, Gaussian) for law in laws):
        return _gaussian(moved)
    if zeros is None and all(isinstance(law, Laplace) for law in laws):
        return _laplace(moved)
    raise RiskError(
        "no exact optimum is known for this mixture of laws",
        next_step="use laws of one kind; clamped counts need Geometric or DiscreteGaussian noise",
    )


def _laws(noise: Law | Sequence[Law], cells: int) -> Sequence[Law]:
    if not isinstance(noise, Sequence):
        return [noise] * cells
    if len(noise) != cells:
        raise RiskError(f"{cells} shifts need {cells} laws, found {len(noise)}", next_step="give one law per shift")
    return noise


def _gaussian(moved: Sequence[tuple[Law, int]]) -> float:
    squares = math.fsum((shift / law.sigma) ** 2 for law, shift in moved if isinstance(law, Gaussian))
    return 0.5 * math.erfc(-math.sqrt(squares) / 2 / math.sqrt(2))


def _laplace(moved: Sequence[tuple[Law, int]]) -> float:
    rates = [shift * law.epsilon / law.sensitivity for law, shift in moved if isinstance(law, Laplace)]
    if len(rates) == 1:
        return 1 - math.exp(-rates[0] / 2) / 2
    if len(rates) == 2 and math.isclose(*rates):
        return 1 - math.exp(-rates[0]) * (0.5 + rates[0] / 4)
    raise RiskError(
        "continuous Laplace noise has a closed form for one cell, or two cells that move alike",
        next_step="use Geometric, what Sfumato releases: any cells are summed exactly",
    )


def _sum_over_outcomes(noise: Law | Sequence[Law], shifts: Sequence[int], zeros: Sequence[int] | None) -> float:
    """Sum over all outcomes, cell by cell; outcomes of equal likelihood ratio are merged on the way."""
    laws = _laws(noise, len(shifts))
    p, q, losses = np.ones(1), np.ones(1), np.zeros(1)
    for i, (law, shift) in enumerate(zip(laws, shifts, strict=True)):
        if not shift:
            continue
        fresh = outcome_probabilities(law, shift, None if zeros is None else zeros[i])
        if len(p) * len(fresh[0]) > MOST_TERMS:
            raise RiskError(
                f"the exact optimum needs more than {MOST_TERMS:,} terms", next_step="measure it with LikelihoodRatio()"
            )
        p, q = np.outer(p, fresh[0]).ravel(), np.outer(q, fresh[1]).ravel()
        p, q, losses = _merged(p, q, np.add.outer(losses, fresh[2]).ravel())
    return float(0.5 + np.abs(p - q).sum() / 4)


def outcome_probabilities(law: Law, shift: int, zero: int | None = None) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the probabilities of one released count with and without the target, and their log ratio, merged."""
    reach = law.reach() + abs(shift)
    noise = np.arange(-reach, reach + 1)
    low = -reach if zero is None else max(-zero, -reach)
    noise = noise[noise >= low]
    q, p = law.pmf(noise), law.pmf(noise - shift)
    losses = log_density(law, noise - shift) - log_density(law, noise)
    q[0], p[0] = law.cdf(low), law.cdf(low - shift)
    if zero is not None:
        losses[0] = np.log(max(float(p[0]), 1e-300)) - np.log(max(float(q[0]), 1e-300))
    return _merged(p, q, losses)


def log_density(law: Law, noise: NDArray[np.generic]) -> FloatArray:
    """Return the log density of noise, up to a constant of the law."""
    values = noise.astype(float)
    if isinstance(law, Laplace | Geometric):
        return -np.abs(values) * (law.epsilon / law.sensitivity)
    return -(values**2) / (2 * law.sigma**2)


def _merged(p: FloatArray, q: FloatArray, losses: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    keys, place = np.unique(np.round(losses / SAME_LOSS), return_inverse=True)
    sums = [np.asarray(np.bincount(place.ravel(), mass, len(keys)), float) for mass in (p, q)]
    return sums[0], sums[1], keys * SAME_LOSS
