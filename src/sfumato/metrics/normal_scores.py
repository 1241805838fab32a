"""Correlations from clipped normal scores, as sums with a bounded sensitivity: what a release weakens can be mended.

A value is turned into its normal score among the *released* values (ties in the middle, a missing one 0), cut to
[-2, 2] and rounded to a lattice of 1/32: by that value and public rows alone. Summed over the private rows are the
products of every pair of scores, P of them for d columns. One row adds at most 64^2 to each, so the L1 sensitivity is
64^2 P for each row of a person, and twice that under replace (``sum_norm``). Divided by n, and by the second moments of
the released rows in which both are present, the sum is the correlation of normal scores, as far as the single columns
of the release are right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import FloatArray, IntArray
from sfumato.errors import PlanError
from sfumato.schema import Schema
from sfumato.schema.column import Column

STEPS = 32
"""Lattice steps in one unit of a score."""
CUT = 2
"""Scores are cut to so many standard deviations."""
LONGEST = (STEPS * CUT) ** 2
"""The most that one row adds to one product."""
MOST_RELATED = 8


def score_pairs(names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the pairs of which correlations are bought."""
    return tuple(combinations(names, 2))


def require_score_columns(schema: Schema, released: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Refuse columns of which no correlation can be bought."""
    wanted = tuple(dict.fromkeys(names))
    fits = [name for name in released if schema[name].is_ordered or schema[name].kind in ("boolean", "ordinal")]
    problems = [f"{name!r} is no released number, date, boolean or ordinal" for name in wanted if name not in fits]
    problems += [f"at most {MOST_RELATED} columns, found {len(wanted)}"] if len(wanted) > MOST_RELATED else []
    problems += ["two columns at least"] if len(wanted) == 1 else []
    if problems:
        raise PlanError("these correlations cannot be bought", problems, f"name some of: {', '.join(fits)}")
    return wanted


@dataclass(frozen=True, eq=False)
class NormalScores:
    """Named columns with their released values in order, from which scores follow."""

    columns: tuple[Column, ...]
    released: Mapping[str, FloatArray]
    rows: Mapping[str, FloatArray]
    """The released rows themselves, NaN where a value is missing."""

    @classmethod
    def of(cls, columns: Sequence[Column], values: Mapping[str, NDArray[Any]]) -> NormalScores:
        """Keep the released values of the named columns."""
        rows = {column.name: _numbers(column, values[column.name]) for column in columns}
        return cls(tuple(columns), {name: np.sort(each[~np.isnan(each)]) for name, each in rows.items()}, rows)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(self.released)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs, in the order of their sums."""
        return score_pairs(self.names)

    def scores(self, name: str, values: FloatArray) -> IntArray:
        """Return normal scores of numbers in whole steps: each by its own value."""
        from scipy.special import ndtri

        known = self.released[name]
        ranks = np.searchsorted(known, values, "left") + np.searchsorted(known, values, "right")
        levels = np.arange(2 * len(known) + 1) / max(2 * len(known), 1)  # computed once, so the same in any company
        steps = np.rint(np.clip(ndtri(levels), -CUT, CUT) * STEPS).astype(np.int64)
        return np.where(np.isnan(values), 0, steps[ranks])

    def sums(self, values: Mapping[str, NDArray[Any]]) -> IntArray:
        """Return the summed products of all pairs."""
        scored = {each.name: self.scores(each.name, _numbers(each, values[each.name])) for each in self.columns}
        return np.array([int(scored[a] @ scored[b]) for a, b in self.pairs], np.int64)

    def unit(self, pair: tuple[str, str]) -> float:
        """Return what one row of correlation 1 adds to the sum of a pair, in steps: by the released rows."""
        scored = [self.scores(name, self.rows[name]) for name in pair]
        both = ~(np.isnan(self.rows[pair[0]]) | np.isnan(self.rows[pair[1]]))
        squares = [float(np.square(each[both]).sum()) for each in scored]
        return max(math.sqrt(squares[0] * squares[1]) / max(len(both), 1), 1.0)


def _numbers(column: Column, values: NDArray[Any]) -> FloatArray:
    """Return values as numbers, levels by their place; a missing one is NaN."""
    numbers = np.asarray(values, float)
    return numbers if column.is_ordered else np.where(numbers == column.present_size, np.nan, numbers)
