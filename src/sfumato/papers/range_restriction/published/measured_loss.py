"""Measured change of the posterior by one record, beside the claimed epsilon.

Both tables, with and without the record, go through the whole weighting with the same random numbers, so the loss
includes what happens to everybody else's weight. The densities are exact; only the smallest epsilon that holds up to
delta is read off draws.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.errors import PlanError
from sfumato.papers.range_restriction.families.interface import (
    Family,
    FloatArray,
    Posterior,
    StandardRandomNumbers,
    distinct,
)
from sfumato.papers.range_restriction.published.weights import WeightedPosterior, Weighting

DELTA = 1e-3
DRAWS = 20_000
RECORDS = 20


@dataclass(frozen=True)
class MeasuredLoss:
    """The loss between two tables: the epsilon that holds up to delta, and the largest log ratio seen in any draw."""

    epsilon: float
    largest: float
    delta: float
    draws: int


@dataclass(frozen=True)
class OutlierLoss:
    """The loss from adding one outlier, beside what is claimed for the larger table."""

    residual: float
    claim: float
    loss: MeasuredLoss

    @property
    def above_claim(self) -> bool:
        """Whether the local guarantee fails here: pure epsilon would imply it up to any delta."""
        return self.loss.epsilon > self.claim


def epsilon_at(losses: FloatArray, delta: float) -> float:
    """Return the smallest epsilon of 0 or more with E[max(0, 1 - e^(epsilon - loss))] at most delta, over the draws.

    >>> import numpy as np
    >>> round(epsilon_at(np.array([2.0, 0.0]), 0.25), 4)  # half of the draws lose 2: half of (1 - e^(epsilon - 2))
    1.3069
    """
    ordered = np.sort(losses)[::-1]
    # With epsilon between two losses, the k losses above it give k - e^epsilon (sum of e^-loss) = n delta.
    logs = np.logaddexp.accumulate(-ordered)
    excess = np.arange(1, len(ordered) + 1) - len(ordered) * delta
    with np.errstate(invalid="ignore", divide="ignore"):
        candidates = np.where(excess > 0, np.log(excess) - logs, -np.inf)
    # The spend falls in epsilon, so the right piece is the one whose candidate is the largest.
    return float(max(candidates.max(), 0.0))


def loss_between(
    one: Posterior, other: Posterior, numbers: StandardRandomNumbers, delta: float = DELTA
) -> MeasuredLoss:
    """Return the larger loss of the two directions between two posteriors."""
    return _loss((one, one.draw(numbers)), (other, other.draw(numbers)), delta)


def _loss(one: tuple[Posterior, FloatArray], other: tuple[Posterior, FloatArray], delta: float) -> MeasuredLoss:
    found: list[FloatArray] = []
    for (here, draws), (there, _) in ((one, other), (other, one)):
        found.append(here.log_density(draws) - there.log_density(draws))
    epsilon = max(epsilon_at(losses, delta) for losses in found)
    return MeasuredLoss(epsilon, float(max(losses.max() for losses in found)), delta, len(one[1]))


def leave_one_out(
    family: Family,
    weighting: Weighting,
    generator: np.random.Generator,
    *,
    records: int = RECORDS,
    draws: int = DRAWS,
    delta: float = DELTA,
) -> MeasuredLoss:
    """Return the worst loss from leaving out one of the records that lie furthest from the fit.

    Each of them costs a whole fit; for millions of records ask for fewer.
    """
    shared, numbers = weighting.numbers(family, generator), _loss_numbers(family, draws, generator)
    fitted = weighting.fit_with(family, shared)
    whole = fitted.posterior, fitted.posterior.draw(numbers)
    losses: list[MeasuredLoss] = []
    for index in _most_surprising(fitted, records):
        less = _less(weighting, index).fit_with(family.without(index), shared).posterior
        losses.append(_loss(whole, (less, less.draw(numbers)), delta))
    return MeasuredLoss(max(x.epsilon for x in losses), max(x.largest for x in losses), delta, draws)


def _most_surprising(fitted: WeightedPosterior, records: int) -> list[int]:
    """Return records furthest from the unweighted fit; of records that agree in everything, one is enough."""
    family = fitted.family
    surprise = family.posterior(np.ones(len(family.values))).surprise()
    first, _ = distinct([surprise, family.values, fitted.exponents, *(fitted.limits or ())])
    return first[np.argsort(-surprise[first], kind="stable")][:records].tolist()


def add_outlier(
    family: Family,
    weighting: Weighting,
    residual: float,
    generator: np.random.Generator,
    *,
    predictors: Any = None,
    draws: int = DRAWS,
    delta: float = DELTA,
) -> OutlierLoss:
    """Return the loss from adding one record ``residual`` standard deviations above the fit, and the larger claim."""
    shared, numbers = weighting.numbers(family, generator), _loss_numbers(family, draws, generator)
    value = family.outlier(residual, predictors)
    more = _more(weighting).fit_with(family.with_record(value, predictors), shared)
    plain = weighting.fit_with(family, shared)
    return OutlierLoss(residual, more.epsilon, loss_between(more.posterior, plain.posterior, numbers, delta))


def _loss_numbers(family: Family, draws: int, generator: np.random.Generator) -> StandardRandomNumbers:
    if draws < 1000:
        raise PlanError(f"{draws} draws cannot show a loss", next_step="use at least 1000, better 20,000")
    return family.numbers(draws, generator)


def _less(weighting: Weighting, index: int) -> Weighting:
    ranges = None if weighting.ranges is None else weighting.ranges.without(index)
    gammas = None if weighting.gammas is None else weighting.gammas.without(index)
    return replace(weighting, ranges=ranges, gammas=gammas)


def _more(weighting: Weighting) -> Weighting:
    ranges = None if weighting.ranges is None else weighting.ranges.extended()
    gammas = None if weighting.gammas is None else weighting.gammas.extended()
    return replace(weighting, ranges=ranges, gammas=gammas)
