"""Exponential mechanism that selects the marginal the model approximates worst.

The score of a table r is w_r (|c_r - m_r| - b_r): the L1 distance between its true counts and what the model says, less
what noise alone would leave. m_r, w_r and b_r come from public facts and earlier answers; m_r is rounded to multiples
of 1/UNITS, so that the score is a whole number. Under add-remove one person moves |c_r - m_r| by at most the rows that
a person may hold, under replace by at most 2. So a score moves by at most S = UNITS * max w * that number, and the
choice with probabilities proportional to exp(e score / 2 S) costs e^2 / 8
(:mod:`sfumato.privacy.accounting.gaussian_calibration`).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.privacy.noise.exponential_sampler import sample_index
from sfumato.privacy.randomness import Randomness

Marginal = TypeVar("Marginal", bound=Hashable)
UNITS = 16
"""Scores are counted in sixteenths of a row."""


def expected_noise_l1(sigma: float, cells: int) -> float:
    """Return the expected L1 distance that Gaussian noise alone leaves between two tables."""
    return math.sqrt(2 / math.pi) * sigma * cells


def integer_l1(counts: NDArray[np.int64], model: NDArray[np.float64]) -> int:
    """Return the L1 distance in units; the counts are exact, the model's are rounded beforehand."""
    return int(np.abs(counts * UNITS - np.rint(model * UNITS).astype(np.int64)).sum())


def select_marginal(
    counts: Mapping[Marginal, NDArray[np.int64]],
    model: Mapping[Marginal, NDArray[np.float64]],
    weights: Mapping[Marginal, int],
    allowed: Sequence[Marginal],
    strength: Fraction,
    sigma: float,
    sensitivity: int,
    randomness: Randomness,
) -> Marginal:
    """Return one of the allowed tables; costs strength^2 / 8 of zCDP, which the caller has paid.

    ``sensitivity`` is the most by which one person moves the L1 distance of counts.
    """
    scores = [
        weights[c] * (integer_l1(counts[c], model[c]) - round(UNITS * expected_noise_l1(sigma, counts[c].size)))
        for c in allowed
    ]
    best = max(scores)
    most = max(weights[c] for c in allowed)
    return allowed[
        sample_index(
            [best - score for score in scores], selection_rate(strength, sensitivity, most), randomness.uniform
        )
    ]


def selection_rate(strength: Fraction, sensitivity: int, most_weight: int) -> Fraction:
    """Return the rate of a choice: what one unit of a score weighs, so that one person moves no weight too far."""
    return strength / (2 * UNITS * sensitivity * most_weight)


def select_scored(scores: NDArray[np.int64], strength: Fraction, sensitivity: int, randomness: Randomness) -> int:
    """Return a place among scores computed before, all of weight 1: the law and the cost of :func:`select_marginal`."""
    return sample_index(scores.max() - scores, selection_rate(strength, sensitivity, 1), randomness.uniform)
