"""Protocols of a family and its weighted posterior.

A family holds the private values and their predictors. Given one weight per record it returns a posterior in closed
form. A posterior turns standardised random numbers into parameter draws, so that two posteriors that differ in one
record, or in one weight, can share their randomness.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.errors import PlanError

Kind = Literal["continuous", "counts", "codes"]
ALL = slice(None)
CELLS_AT_ONCE = 1 << 21
"""Draws times records that a reduction holds in memory at once: 16 MiB of doubles."""


@dataclass(frozen=True, eq=False)
class StandardRandomNumbers:
    """Standardised random numbers, S rows: normals of mean 0 and variance 1, and uniforms strictly between 0 and 1."""

    normal: FloatArray
    uniform: FloatArray

    @classmethod
    def drawn(cls, draws: int, normals: int, uniforms: int, generator: np.random.Generator) -> StandardRandomNumbers:
        """Draw numbers once; every posterior that is drawn with them moves along with the others."""
        if draws < 1:
            raise PlanError(f"{draws} draws of the parameters asked for", next_step="ask for at least 1 draw")
        normal = generator.standard_normal((draws, normals))
        # Half a step away from 0 and 1: a quantile there would be infinite.
        uniform = generator.random((draws, uniforms)) * (1 - 2.0**-53) + 2.0**-54
        return cls(normal, uniform)

    def __len__(self) -> int:
        return len(self.normal)


@dataclass(frozen=True, eq=False)
class ParameterDraws:
    """Parameter draws of one posterior: one row per draw, in the family's own coordinates.

    Regression: the intercept, the slopes, then the variance. Categorical and binary: log shares, cell by cell.
    Counts and exponential: one rate per cell.
    """

    theta: FloatArray

    def __len__(self) -> int:
        return len(self.theta)


@runtime_checkable
class Posterior(Protocol):
    """The weighted posterior of one family, in closed form."""

    def draw(self, numbers: StandardRandomNumbers) -> ParameterDraws:
        """Return as many parameter draws as there are rows of numbers."""
        ...

    def log_likelihood(self, draws: ParameterDraws, rows: slice = ALL) -> FloatArray:
        """Return the natural log of the density of each value itself: draws by records, or by some of the records."""
        ...

    def log_range(self, draws: ParameterDraws, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return the log probability of each record's range, both ends included: draws by records."""
        ...

    def extremes(
        self,
        draws: ParameterDraws,
        low: FloatArray | None = None,
        high: FloatArray | None = None,
        weights: FloatArray | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Return each record's smallest and largest ``w f - log P(range)`` over the draws.

        Without ``weights``, w is 1. Without ``low`` and ``high`` the range is everything and its log is 0.
        Draws by records are never held at once.
        """
        ...

    def outside(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return the exact posterior predictive probability that a new value falls outside each record's range."""
        ...

    def log_density(self, draws: ParameterDraws) -> FloatArray:
        """Return the normalised log density of this posterior at each draw."""
        ...

    def surprise(self) -> FloatArray:
        """Return how far each record lies from what its predictors let expect: the larger, the odder."""
        ...

    def synthesise(self, draws: ParameterDraws, index: int, design: Any, generator: np.random.Generator) -> FloatArray:
        """Return one synthetic column from one parameter draw, one value for each row of the given predictors."""
        ...


@runtime_checkable
class Family(Protocol):
    """Private values with their predictors, under one model."""

    @property
    def name(self) -> str:
        """The name that ``make_family`` knows."""
        ...

    @property
    def kind(self) -> Kind:
        """Whether values are continuous, counts or codes: it decides what a range means."""
        ...

    @property
    def values(self) -> FloatArray:
        """The private values, as they are released."""
        ...

    @property
    def parameters(self) -> int:
        """How many weights, summed, the weighted posterior needs more than; 0 with a proper prior."""
        ...

    def numbers(self, draws: int, generator: np.random.Generator) -> StandardRandomNumbers:
        """Draw the standardised random numbers that a posterior of this family consumes."""
        ...

    def posterior(self, weights: FloatArray) -> Posterior:
        """Return the posterior in which record i has the exponent ``weights[i]``."""
        ...

    def without(self, index: int) -> Family:
        """Return the family of the same records, less one."""
        ...

    def with_record(self, value: float, predictors: Any = None) -> Family:
        """Return the family of the same records and one more, which comes last."""
        ...

    def outlier(self, residual: float, predictors: Any = None) -> float:
        """Return a value that lies ``residual`` standard deviations above what its predictors let expect."""
        ...


def draws_in_blocks(draws: ParameterDraws, records: int) -> Iterator[ParameterDraws]:
    """Cut draws so that draws by records are never held at once."""
    step = max(CELLS_AT_ONCE // max(records, 1), 1)
    return (ParameterDraws(draws.theta[start : start + step]) for start in range(0, len(draws), step))


def extremes_in_blocks(
    draws: ParameterDraws, records: int, densities: Callable[[ParameterDraws], FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Return each record's smallest and largest density over the draws, a block of draws at a time."""
    smallest, largest = np.full(records, np.inf), np.full(records, -np.inf)
    for block in draws_in_blocks(draws, records):
        values = densities(block)
        smallest, largest = np.minimum(smallest, values.min(axis=0)), np.maximum(largest, values.max(axis=0))
    return smallest, largest


def checked_weights(weights: FloatArray, records: int) -> FloatArray:
    """Return weights as doubles, or refuse them: one per record, finite, none below 0."""
    array = np.asarray(weights, float)
    problems: list[str] = []
    if array.shape != (records,):
        problems.append(f"{records} weights needed, one per record; the shape given is {array.shape}")
    if not np.isfinite(array).all() or (array < 0).any():
        problems.append("weights must be finite and at least 0")
    if problems:
        raise PlanError("the weights do not fit the records", problems, "give one weight from 0 to 1 per record")
    return array
