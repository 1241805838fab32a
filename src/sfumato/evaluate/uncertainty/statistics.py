"""Statistics of rows: shares, means, quantiles, spreads, also by group; correlations, coefficients, an AUC.

A value that is missing is left out, in each statistic where it is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.arrays import FloatArray
from sfumato.metrics.association import correlations, ranks
from sfumato.metrics.auc import roc_auc
from sfumato.schema import Schema
from sfumato.schema.column import Column

Codes = NDArray[np.int64]
Answer = Mapping[str, float]
FEWEST = 2
"""Values from which on a statistic is reckoned."""


class ColumnValues:
    """Rows whose columns are converted once, whatever is asked of them. Dates count in days since 1970-01-01."""

    def __init__(self, rows: pa.Table, schema: Schema) -> None:
        self.rows, self.schema = rows, schema
        self._numbers: dict[str, FloatArray] = {}
        self._codes: dict[str, Codes] = {}

    @cached_property
    def size(self) -> int:
        """How many rows there are."""
        return self.rows.num_rows

    def numbers(self, name: str) -> FloatArray:
        """Return a column as numbers; NaN where there is none."""
        if name not in self._numbers:
            self._numbers[name] = _numbers(self.rows.column(name))
        return self._numbers[name]

    def codes(self, name: str) -> Codes:
        """Return the places of the levels in the schema's list; -1 where there is none."""
        if name not in self._codes:
            levels = pa.array(levels_of(self.schema[name]), self.rows.schema.field(name).type)
            places = pc.index_in(self.rows.column(name), value_set=levels)  # pyright: ignore
            self._codes[name] = _numbers(places, -1).astype(np.int64)
        return self._codes[name]

    def taken(self, places: Codes) -> ColumnValues:
        """Return some of the rows, with repeats."""
        return ColumnValues(self.rows.take(pa.array(places)), self.schema)


def levels_of(column: Column) -> list[str | int | bool]:
    """Return the levels of a column without the missing one; the integers of a short range are levels, too."""
    return [label for label in column.labels if label is not None]  # pyright: ignore[reportReturnType]


def _numbers(column: pa.ChunkedArray, nothing: float = np.nan) -> FloatArray:
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    filled = pc.fill_null(column.cast(pa.float64()), nothing)  # pyright: ignore
    return np.asarray(filled.to_numpy(), float)


Compute = Callable[[ColumnValues], Answer]


@dataclass(frozen=True)
class Question:
    """A statistic of rows: its words, its sort, the columns that it needs and how it is computed."""

    words: str
    kind: str
    columns: tuple[str, ...]
    compute: Compute
    notes: tuple[str, ...] = ()
    bounds: tuple[float, float] = (-math.inf, math.inf)
    """Public bounds that the number cannot leave."""
    step: float = 0.0
    """How far apart the values of the column lie, where they are whole: a median cannot move by less."""


def column_statistic(kind: str, share: float = 0.5) -> Callable[[FloatArray], float]:
    """Return what turns the numbers of one column into one: mean, median, quantile or sd.

    >>> column_statistic("quantile", 0.75)(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    4.0
    """
    if kind == "mean":
        return lambda x: float(np.mean(x)) if len(x) else math.nan
    if kind == "sd":
        return lambda x: float(np.std(x, ddof=1)) if len(x) >= FEWEST else math.nan
    return lambda x: float(np.quantile(x, share)) if len(x) else math.nan


def of_column(name: str, words: str, reduce: Callable[[FloatArray], float]) -> Compute:
    """Return a statistic of one column of numbers."""

    def compute(values: ColumnValues) -> Answer:
        numbers = values.numbers(name)
        return {words: reduce(numbers[~np.isnan(numbers)])}

    return compute


def by_group(
    name: str, group: str, words: str, labels: Sequence[object], reduce: Callable[[FloatArray], float]
) -> Compute:
    """Return a statistic of one column in each group of another one."""

    def compute(values: ColumnValues) -> Answer:
        numbers, codes = values.numbers(name), values.codes(group)
        there = ~np.isnan(numbers)
        return {
            f"{words}, {group} = {label}": reduce(numbers[there & (codes == code)]) for code, label in enumerate(labels)
        }

    return compute


def shares(name: str, labels: Sequence[object], only: object = None) -> Compute:
    """Return the share of each level, or of one, among the rows that have one."""

    def compute(values: ColumnValues) -> Answer:
        codes = values.codes(name)
        present = max(int((codes >= 0).sum()), 1)
        counts = np.bincount(codes[codes >= 0], minlength=len(labels))
        return {
            f"share of {name} = {label}": float(counts[code] / present)
            for code, label in enumerate(labels)
            if only is None or label == only
        }

    return compute


def share_where(name: str, words: str, holds: Callable[[FloatArray], FloatArray]) -> Compute:
    """Return the share of numbers for which something holds, among the rows that have one."""

    def compute(values: ColumnValues) -> Answer:
        numbers = values.numbers(name)
        present = numbers[~np.isnan(numbers)]
        return {words: float(np.mean(holds(present))) if len(present) else math.nan}

    return compute


def missing_share(name: str, words: str) -> Compute:
    """Return the share of rows without a value."""
    return lambda values: {words: values.rows.column(name).null_count / max(values.size, 1)}


def correlation(one: str, other: str, words: str, ranked: bool) -> Compute:
    """Return Pearson's correlation of two columns of numbers, or that of their ranks (Spearman's)."""

    def compute(values: ColumnValues) -> Answer:
        pair = np.column_stack([values.numbers(one), values.numbers(other)])
        pair = pair[~np.isnan(pair).any(axis=1)]
        if len(pair) <= FEWEST:
            return {words: math.nan}
        return {words: float(correlations(ranks(pair) if ranked else pair)[0, 1])}

    return compute


@dataclass(frozen=True)
class Inputs:
    """Inputs of a regression: numbers as they are, levels as indicators beside the first level."""

    numbers: tuple[str, ...]
    levels: tuple[tuple[str, tuple[object, ...]], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What each coefficient belongs to."""
        return (*self.numbers, *(f"{name} = {label}" for name, labels in self.levels for label in labels[1:]))

    def matrix(self, values: ColumnValues) -> FloatArray:
        """Return one column for each name; NaN in every row where a value is missing."""
        parts = [values.numbers(name)[:, None] for name in self.numbers]
        for name, labels in self.levels:
            codes = values.codes(name)
            each = (codes[:, None] == np.arange(1, len(labels))).astype(float)
            each[codes < 0] = np.nan
            parts.append(each)
        return np.hstack(parts)


def regression(target: str, inputs: Inputs) -> Compute:
    """Return the coefficients of least squares; one that the rows cannot tell is NaN."""

    def compute(values: ColumnValues) -> Answer:
        solved, _, _ = least_squares(inputs.matrix(values), values.numbers(target))
        return {f"{target} on {name}": float(b) for name, b in zip(inputs.names, solved[1:], strict=True)}

    return compute


def least_squares(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Return intercept and coefficients, the fitted values, and which rows are whole."""
    whole = ~(np.isnan(x).any(axis=1) | np.isnan(y))
    x, y = x[whole], y[whole]
    moves = x.std(axis=0) > 0 if len(x) else np.zeros(x.shape[1], bool)
    solved = np.full(1 + x.shape[1], np.nan)
    design = np.column_stack([np.ones(len(x)), x[:, moves]])
    if len(x) > design.shape[1]:
        solved[np.concatenate([[True], moves])] = np.linalg.lstsq(design, y, rcond=None)[0]
    return solved, design @ solved[~np.isnan(solved)] if len(x) > design.shape[1] else np.zeros(len(x)), whole


def auc_of_level(target: str, level: object, place: int, inputs: Inputs) -> Compute:
    """Return the area under the curve of a least-squares score for one level of the target."""
    words = f"auc of {target} = {level}"

    def compute(values: ColumnValues) -> Answer:
        codes = values.codes(target)
        own = np.where(codes < 0, np.nan, (codes == place).astype(float))
        _, score, whole = least_squares(inputs.matrix(values), own)
        yes = own[whole] == 1
        if not yes.any() or yes.all():
            return {words: math.nan}
        return {words: roc_auc(score[yes], score[~yes])}

    return compute
