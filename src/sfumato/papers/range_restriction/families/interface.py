"""Protocols of a family and its weighted posterior, and what families share: records, cells, extremes over draws.

A family holds the private values and their predictors. Given one weight per record it returns a posterior in closed
form. A posterior turns standardised random numbers into parameter draws, so that two posteriors that differ in one
record, or in one weight, can share their randomness.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Protocol, Self, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import FloatArray
from sfumato.errors import PlanError, TableError

Kind = Literal["continuous", "counts", "codes"]
Codes = NDArray[np.int64]
Rows = slice | Codes
"""Some of the records: a slice, or their numbers."""
ALL = slice(None)
FAMILIES = ("normal", "lognormal", "categorical", "binary", "counts", "exponential")
SAMPLED = ("logistic", "negative-binomial", "student-t")
"""Families that need Markov chains: extra ``[bayes]``, imported when one is asked for."""
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


@runtime_checkable
class Posterior(Protocol):
    """The weighted posterior of one family, in closed form.

    Draws have one row each, in the family's own coordinates. Regression: the intercept, the slopes, then the variance.
    Categorical and binary: log shares, cell by cell. Counts and exponential: one rate per cell.
    """

    def draw(self, numbers: StandardRandomNumbers) -> FloatArray:
        """Return as many parameter draws as there are rows of numbers."""
        ...

    def log_likelihood(self, draws: FloatArray, rows: Rows = ALL) -> FloatArray:
        """Return the natural log of the density of each value itself: draws by records, or by some of the records."""
        ...

    def log_range(self, draws: FloatArray, low: FloatArray, high: FloatArray, rows: Rows = ALL) -> FloatArray:
        """Return the log probability of each record's range, both ends included: draws by records, or by some."""
        ...

    def extremes(
        self,
        draws: FloatArray,
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

    def log_density(self, draws: FloatArray) -> FloatArray:
        """Return the normalised log density of this posterior at each draw."""
        ...

    def surprise(self) -> FloatArray:
        """Return how far each record lies from what its predictors let expect: the larger, the odder."""
        ...

    def synthesise(self, draws: FloatArray, index: int, design: Any, generator: np.random.Generator) -> FloatArray:
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


def draws_in_blocks(draws: FloatArray, records: int) -> Iterator[FloatArray]:
    """Cut draws so that draws by records are never held at once."""
    step = max(CELLS_AT_ONCE // max(records, 1), 1)
    return (draws[start : start + step] for start in range(0, len(draws), step))


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


class Records:
    """What families share: a record leaves or joins every field that holds one entry for each record."""

    by_record: ClassVar[tuple[str, ...]]
    """The names of these fields."""

    def without(self, index: int) -> Self:
        """Return the same family less one record; a prior stays what it was."""
        left = {name: np.delete(getattr(self, name), index, axis=0) for name in self.by_record}
        return cast("Self", replace(cast("Any", self), **left))

    def joined_by(self, *record: Any) -> Self:
        """Return the same family and one more record, last; its entries are in the order of ``by_record``."""
        pairs = zip(self.by_record, record, strict=True)
        longer = {name: np.append(getattr(self, name), [one], axis=0) for name, one in pairs}
        return cast("Self", replace(cast("Any", self), **longer))

    def record_columns(self) -> list[FloatArray]:
        """Return all that is known of the records, column by column."""
        arrays = (np.asarray(getattr(self, name), float) for name in self.by_record)
        return [column for array in arrays for column in np.atleast_2d(array.T)]


class RecordPosterior:
    """What posteriors share: extremes over draws, with records that agree worked out once."""

    family: Any

    def extremes(
        self,
        draws: FloatArray,
        low: FloatArray | None = None,
        high: FloatArray | None = None,
        weights: FloatArray | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Return each record's smallest and largest ``w f - log P(range)`` over the draws, a block at a time."""
        posterior, given = cast("Posterior", self), (low, high, weights)
        first, place = distinct([*self.family.record_columns(), *(each for each in given if each is not None)])
        bottom, top, scale = (None if each is None else np.asarray(each, float)[first] for each in given)
        smallest, largest = np.full(len(first), np.inf), np.full(len(first), -np.inf)
        for block in draws_in_blocks(draws, len(first)):
            values = posterior.log_likelihood(block, first)
            values = values if scale is None else scale * values
            if bottom is not None and top is not None:
                values = values - posterior.log_range(block, bottom, top, first)
            smallest, largest = np.minimum(smallest, values.min(axis=0)), np.maximum(largest, values.max(axis=0))
        return smallest[place], largest[place]


def distinct(columns: list[FloatArray]) -> tuple[Codes, Codes]:
    """Return where each distinct record is first met, and the number of the distinct record that each record is."""
    first, place = np.zeros(1, np.int64), np.zeros(len(columns[0]), np.int64)
    for column in columns:
        if len(first) == len(place):
            break
        levels, codes = np.unique(column, return_inverse=True)
        # Column by column the numbers stay below records times levels, so that they never overflow.
        _, first, place = np.unique(place * len(levels) + codes, return_index=True, return_inverse=True)
    return first, place


class RecordsInCells(Records):
    """What families of coarse predictors share: every record lies in one of a few cells."""

    cells: Codes
    groups: int

    def cells_at(self, design: Any) -> Codes:
        """Return the cells of a design, or the family's own where there is none."""
        return self.cells if design is None else cell_numbers(design, len(design), self.groups)[0]

    def cell_at(self, predictors: Any) -> int:
        """Return the cell of one record, or the most frequent one where nothing is known of it."""
        if predictors is None:
            return int(np.bincount(self.cells, minlength=1).argmax())
        return int(cell_numbers(np.atleast_1d(predictors), 1, self.groups)[0][0])


def cell_numbers(design: Any, records: int, groups: int | None = None) -> tuple[Codes, int]:
    """Return one cell number per record and how many cells there are; no design means a single cell."""
    if design is None:
        return np.zeros(records, np.int64), groups or 1
    cells = whole_numbers(design, "cells of predecessors")
    if cells.shape != (records,):
        raise TableError(f"{records} cells needed, one per record; the shape given is {cells.shape}")
    count = int(cells.max(initial=0)) + 1 if groups is None else groups
    if len(cells) and cells.max() >= count:
        raise TableError(f"cell {cells.max()} does not exist: there are {count}, numbered from 0")
    return cells, count


def whole_numbers(values: Any, what: str) -> Codes:
    """Return whole numbers of 0 or more, or refuse them."""
    array = np.asarray(values)
    whole = array.dtype.kind in "iub" or bool(np.isfinite(array).all() and (array == np.floor(array)).all())
    if not whole or (array.size and array.min() < 0):
        raise TableError(f"the {what} must be whole numbers of 0 or more", next_step="encode the column first")
    return array.astype(np.int64)
