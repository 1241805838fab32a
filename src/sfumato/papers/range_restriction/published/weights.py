"""Risk weights of records under each standard, and the epsilon the paper claims.

None of these epsilons is differential privacy: each is local to this table, a maximum over draws and records, and
itself a function of the private data. They are kept apart so that a report can print one beside the other.

>>> import numpy as np
>>> from sfumato.papers.range_restriction.families import make_family
>>> generator = np.random.default_rng(1)
>>> family = make_family("lognormal", generator.lognormal(0, 1, 200))
>>> fitted = Weighting("weighted", draws=200).fit(family, generator)
>>> fitted.epsilon < Weighting("unweighted", draws=200).fit(family, generator).epsilon
True
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.core.parameters import word_problems
from sfumato.errors import PlanError
from sfumato.papers.range_restriction.families.interface import (
    Family,
    FloatArray,
    Posterior,
    StandardRandomNumbers,
)
from sfumato.papers.range_restriction.published.ranges import Gammas, Ranges
from sfumato.privacy.exact import shorten_for_message

STANDARDS = ("unweighted", "weighted", "averaged", "truncated", "capped")
WITH_RANGES = ("averaged", "truncated")
CLOSE_ENOUGH = 1e-3
"""A target counts as met within this share of it."""


@dataclass(frozen=True, eq=False)
class Extremes:
    """Each record's smallest and largest log density over the draws."""

    smallest: FloatArray
    largest: FloatArray

    @classmethod
    def of(
        cls,
        posterior: Posterior,
        draws: FloatArray,
        limits: tuple[FloatArray, FloatArray] | None = None,
        weights: FloatArray | None = None,
    ) -> Extremes:
        """Return the extremes of ``w f``, or of ``w f - log P(range)`` where limits are given."""
        low, high = (None, None) if limits is None else limits
        return cls(*posterior.extremes(draws, low, high, weights))

    @property
    def risk(self) -> FloatArray:
        """The largest absolute value, F_i."""
        return np.maximum(np.abs(self.smallest), np.abs(self.largest))

    @property
    def oscillation(self) -> FloatArray:
        """The largest less the smallest: constants, such as a change of unit, cancel."""
        return self.largest - self.smallest


def claimed_epsilon(bounds: FloatArray) -> float:
    """Return the claimed epsilon: twice the largest bound of any record."""
    return float(2 * bounds.max())


def truncated_bounds(conditional: Extremes, weights: FloatArray) -> FloatArray:
    """Return alpha_i max|f_i - log P(R_i)|: the whole truncated likelihood carries the exponent."""
    return weights * conditional.risk


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


@dataclass(frozen=True)
class Weighting:
    """How to weight records: the standard, its scale c and shift g, its ranges, and how many draws look for extremes.

    ``target_claim`` asks for the scale at which the claim meets a target, in at most ``rounds`` rounds. "capped"
    needs it: alpha_i = min(1, K/F_i) with K = target / 2 fixed beforehand; F is found anew in each round, because the
    variance shrinks once outliers weigh less. With ``rounds=0`` the first pass is kept. ``gammas``, the
    custodian's own (equations 20 and 21), take the place of the probabilities outside the ranges in "averaged".
    """

    standard: str = "weighted"
    scale: float = 1.0
    shift: float = 0.0
    ranges: Ranges | None = None
    draws: int = 1000
    target_claim: float | None = None
    rounds: int = 8
    gammas: Gammas | None = None

    def __post_init__(self) -> None:
        problems = _problems(self)
        if problems:
            raise PlanError("the weighting makes no sense", problems, "correct what is listed")

    def numbers(
        self, family: Family, generator: np.random.Generator
    ) -> tuple[StandardRandomNumbers, StandardRandomNumbers]:
        """Draw the numbers of a fit: one set to find risks, one to draw from the weighted posterior."""
        return family.numbers(self.draws, generator), family.numbers(self.draws, generator)

    def fit(self, family: Family, generator: np.random.Generator) -> WeightedPosterior:
        """Weight the records, and return the weighted posterior with the claim and its diagnostics."""
        return self.fit_with(family, self.numbers(family, generator))

    def fit_with(
        self, family: Family, numbers: tuple[StandardRandomNumbers, StandardRandomNumbers]
    ) -> WeightedPosterior:
        """Fit with given numbers: tables that differ in one record share their randomness."""
        setting = _WeightingState.of(self, family, numbers)
        fitted = self._first(setting)
        trail = [(fitted.scale, fitted.epsilon)]
        for _ in range(self.rounds if self.target_claim is not None else 0):
            if _met(fitted.epsilon, self.target_claim):
                break
            fitted = self._next(setting, fitted)
            trail.append((fitted.scale, fitted.epsilon))
        return replace(fitted, trail=tuple(trail))

    def _first(self, setting: _WeightingState) -> WeightedPosterior:
        if self.standard == "unweighted":
            return setting.fitted(np.ones(len(setting.risk)), 1.0)
        if self.standard == "capped":
            return setting.fitted(capped_weights(setting.risk, self._cap), 1.0)
        return setting.fitted(scaled_weights(setting.risk, self.scale, self.shift), self.scale)

    def _next(self, setting: _WeightingState, last: WeightedPosterior) -> WeightedPosterior:
        """Return the next round: risks found anew if capped, the scale moved in proportion otherwise."""
        assert self.target_claim is not None
        if self.standard == "capped":
            return setting.fitted(capped_weights(last.densities.risk, self._cap), 1.0)
        scale = last.scale * self.target_claim / last.epsilon
        return setting.fitted(scaled_weights(setting.risk, scale, self.shift), scale)

    @property
    def _cap(self) -> float:
        assert self.target_claim is not None
        return self.target_claim / 2


@dataclass(frozen=True, eq=False)
class WeightedPosterior:
    """A weighted posterior, the draws that were looked at, and the claim. Per-record arrays stay inside the process.

    ``weights`` are alpha, ``exponents`` are what the posterior was drawn with (alpha* for "averaged"), ``outside`` is
    lambda. ``bounds`` are the records' own bounds; the claim is twice the largest. ``trail`` holds scale and epsilon of
    every round.
    """

    weighting: Weighting
    family: Family
    weights: FloatArray
    exponents: FloatArray
    outside: FloatArray | None
    posterior: Posterior
    draws: FloatArray
    densities: Extremes
    bounds: FloatArray
    scale: float
    limits: tuple[FloatArray, FloatArray] | None
    trail: tuple[tuple[float, float], ...] = ()

    @property
    def epsilon(self) -> float:
        """The claim: asymptotic, local, draw-based; not differential privacy."""
        return claimed_epsilon(self.bounds)

    @property
    def met_target(self) -> bool:
        """Whether the claim reached its target; True where none was set."""
        return _met(self.epsilon, self.weighting.target_claim)

    def diagnostics(self) -> Diagnostics:
        """Return what a report prints beside the claim.

        The whole exponent gives alpha*_i max|f_i|, the bound of the posterior that the release is really drawn from.
        The oscillation is exponent_i (max f_i - min f_i): with the other weights fixed, the ratio of the two posteriors
        is e^{w f} over its mean, so it lies within this width of 1 in logs: no factor 2, and no unit. It ignores that
        weights move together. Equation 15 as printed, max|alpha_i f_i - log P(R_i)|, is no bound we stand for: it
        exceeds the plain weighted bound and grows as the range narrows, since a record of weight 0 costs -log P(R_i).
        """
        published = None
        if self.weighting.standard == "truncated" and self.limits is not None:
            published = claimed_epsilon(Extremes.of(self.posterior, self.draws, self.limits, self.weights).risk)
        return Diagnostics(
            epsilon=self.epsilon,
            whole_exponent_epsilon=claimed_epsilon(self.exponents * self.densities.risk),
            oscillation_epsilon=float((self.exponents * self.densities.oscillation).max()),
            published_truncated_epsilon=published,
            highest_log_density=float(self.densities.largest.max()),
            records=len(self.weights),
            draws=len(self.draws),
            sum_of_weights=float(self.weights.sum()),
            sum_of_exponents=float(self.exponents.sum()),
            share_of_zero_weights=float((self.weights == 0).mean()),
        )

    def synthesise(self, copy: int, design: Any, generator: np.random.Generator) -> FloatArray:
        """Return synthetic data set number ``copy``: each has a parameter draw of its own."""
        if not 0 <= copy < len(self.draws):
            raise PlanError(f"copy {copy} asked for, of {len(self.draws)} draws", next_step="ask for more draws")
        return self.posterior.synthesise(self.draws, copy, design, generator)


def scaled_weights(risk: FloatArray, scale: float = 1.0, shift: float = 0.0) -> FloatArray:
    """Return clip(c (1 - risk moved to [0, 1]) + g, 0, 1); equal risks all count as the smallest.

    >>> import numpy as np
    >>> scaled_weights(np.array([1.0, 2.0, 5.0])).tolist()
    [1.0, 0.75, 0.0]
    """
    spread = risk.max() - risk.min()
    relative = (risk - risk.min()) / spread if spread > 0 else np.zeros(len(risk))
    return np.clip(scale * (1 - relative) + shift, 0.0, 1.0)


def capped_weights(risk: FloatArray, cap: float) -> FloatArray:
    """Return min(1, K/F_i): no record's weight depends on another's except through the posterior.

    >>> import numpy as np
    >>> capped_weights(np.array([1.0, 4.0, 0.0]), 2.0).tolist()
    [1.0, 0.5, 1.0]
    """
    return cap / np.maximum(risk, cap)


@dataclass(frozen=True, eq=False)
class _WeightingState:
    """What stays the same from round to round: risks, ranges and random numbers."""

    weighting: Weighting
    family: Family
    risk: FloatArray
    limits: tuple[FloatArray, FloatArray] | None
    outside: FloatArray | None
    numbers: StandardRandomNumbers

    @classmethod
    def of(
        cls, weighting: Weighting, family: Family, numbers: tuple[StandardRandomNumbers, StandardRandomNumbers]
    ) -> _WeightingState:
        ranges = weighting.ranges
        limits = None if ranges is None else ranges.limits(family.values, family.kind)
        posterior = family.posterior(np.ones(len(family.values)))
        # No weights, no risks to find; the draws below are looked at all the same.
        plain = weighting.standard == "unweighted"
        risk = np.zeros(len(family.values)) if plain else Extremes.of(posterior, posterior.draw(numbers[0])).risk
        outside = None if weighting.gammas is None else weighting.gammas.of(family.values)
        if weighting.standard == "averaged" and limits is not None:
            outside = np.clip(posterior.outside(*limits), 0.0, 1.0)
        return cls(weighting, family, risk, limits, outside, numbers[1])

    def fitted(self, weights: FloatArray, scale: float) -> WeightedPosterior:
        """Return the posterior under given weights, and what its draws say."""
        exponents = weights if self.outside is None else self.outside + (1 - self.outside) * weights
        posterior = self.family.posterior(exponents)
        draws = posterior.draw(self.numbers)
        densities = Extremes.of(posterior, draws)
        bounds = self._bounds(weights, posterior, draws, densities)
        return WeightedPosterior(
            self.weighting,
            self.family,
            weights,
            exponents,
            self.outside,
            posterior,
            draws,
            densities,
            bounds,
            scale,
            self.limits,
        )

    def _bounds(self, weights: FloatArray, posterior: Posterior, draws: FloatArray, densities: Extremes) -> FloatArray:
        """Return alpha_i max|f_i|; times 1 - lambda_i for "averaged" (equation 7), whose release is drawn with more."""
        if self.outside is not None:
            return (1 - self.outside) * weights * densities.risk
        if self.weighting.standard == "truncated":
            return truncated_bounds(Extremes.of(posterior, draws, self.limits), weights)
        return weights * densities.risk


def _met(epsilon: float, target: float | None) -> bool:
    return target is None or abs(epsilon - target) <= CLOSE_ENOUGH * target


def standard_problems(standard: Any, ranges: Any, gamma: Any, target_claim: Any) -> list[str]:
    """Return why a standard does not go with ranges, a gamma or a target, as far as they are given at all."""
    problems, named = word_problems(standard, "standard", STANDARDS), shorten_for_message(standard)
    if gamma is not None and (standard != "averaged" or ranges is not None):
        problems.append("gamma belongs to the standard averaged, in place of ranges")
    if ranges is not None and standard not in WITH_RANGES:
        problems.append(f"ranges belong to the standards {' and '.join(WITH_RANGES)}, found {named}")
    if ranges is None and gamma is None and standard in WITH_RANGES:
        brackets = "give ranges='brackets', the schema's public bins of the target"
        problems.append(f"the standard {named} needs ranges: {brackets}")
    if target_claim is not None and standard == "unweighted":
        problems.append("without weights no target can be met")
    if target_claim is None and standard == "capped":
        problems.append("the standard 'capped' needs a target claim")
    return problems


def _problems(weighting: Weighting) -> list[str]:
    """Return everything that is wrong with a weighting."""
    target = weighting.target_claim
    problems = standard_problems(weighting.standard, weighting.ranges, weighting.gammas, target)
    if not (np.isfinite(weighting.scale) and weighting.scale > 0 and np.isfinite(weighting.shift)):
        problems.append("the scale must be above 0, the shift finite")
    if weighting.draws < 2 or weighting.rounds < 0:
        problems.append("at least 2 draws are needed, and no negative number of rounds")
    if target is not None and not (np.isfinite(target) and target > 0):
        problems.append(f"the target claim must be finite and above 0; {target} is given")
    return problems
