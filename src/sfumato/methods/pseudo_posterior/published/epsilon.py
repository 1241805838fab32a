"""What the paper calls epsilon, form by form, from the extremes of log densities over the draws.

None of these is differential privacy: each is local to this table, a maximum over draws and records, and itself a
function of the private data. They are kept apart so that a report can print one beside the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.methods.pseudo_posterior.families.interface import Array, Draws, Posterior


@dataclass(frozen=True, eq=False)
class Extremes:
    """Each record's smallest and largest log density over the draws."""

    smallest: Array
    largest: Array

    @classmethod
    def of(
        cls,
        posterior: Posterior,
        draws: Draws,
        limits: tuple[Array, Array] | None = None,
        weights: Array | None = None,
    ) -> Extremes:
        """Return the extremes of ``w f``, or of ``w f - log P(range)`` where limits are given."""
        low, high = (None, None) if limits is None else limits
        return cls(*posterior.extremes(draws, low, high, weights))

    @property
    def risk(self) -> Array:
        """The largest absolute value, F_i."""
        return np.maximum(np.abs(self.smallest), np.abs(self.largest))

    @property
    def oscillation(self) -> Array:
        """The largest less the smallest: constants, such as a change of unit, cancel."""
        return self.largest - self.smallest


def claimed(bounds: Array) -> float:
    """Return the claimed epsilon: twice the largest bound of any record."""
    return float(2 * bounds.max())


def weighted_bounds(densities: Extremes, weights: Array) -> Array:
    """Return alpha_i max|f_i|, the bound of the plain weighted posterior."""
    return weights * densities.risk


def averaged_bounds(densities: Extremes, weights: Array, outside: Array) -> Array:
    """Return (1 - lambda_i) alpha_i max|f_i|, equation 7.

    It bounds the posterior with that exponent; the release is drawn with alpha + lambda (1 - alpha) instead.
    """
    return (1 - outside) * weights * densities.risk


def truncated_bounds(conditional: Extremes, weights: Array) -> Array:
    """Return alpha_i max|f_i - log P(R_i)|: the whole truncated likelihood carries the exponent."""
    return weights * conditional.risk


def published_truncated_bounds(
    posterior: Posterior, draws: Draws, limits: tuple[Array, Array], weights: Array
) -> Array:
    """Return max|alpha_i f_i - log P(R_i)|, equation 15 as printed: a diagnostic, not a bound we stand for.

    It exceeds the plain weighted bound and grows as the range narrows: a record of weight 0 costs -log P(R_i).
    """
    return Extremes.of(posterior, draws, limits, weights).risk


def whole_exponent_bounds(densities: Extremes, exponents: Array) -> Array:
    """Return alpha*_i max|f_i|: the bound of the posterior that the release is really drawn from."""
    return exponents * densities.risk


def oscillation_bounds(densities: Extremes, exponents: Array) -> Array:
    """Return exponent_i (max f_i - min f_i).

    With the other weights fixed, the ratio of the two posteriors is e^{w f} over its mean, so it lies within this
    width of 1 in logs: no factor 2, and no unit. It ignores that weights move together.
    """
    return exponents * densities.oscillation


@dataclass(frozen=True)
class Diagnostics:
    """What a report prints beside the claim. No field belongs to a single record."""

    epsilon: float
    whole_exponent_epsilon: float
    oscillation_epsilon: float
    published_truncated_epsilon: float | None
    highest_log_density: float
    records: int
    draws: int
    sum_of_weights: float
    sum_of_exponents: float
    share_of_zero_weights: float

    @property
    def density_above_one(self) -> bool:
        """Whether some log density is positive: then the unit is small, and epsilon depends on it all the more."""
        return self.highest_log_density > 0
