"""Sums over rows with a bounded sensitivity: scores of a fixed model, and products of clipped normal scores.

**Scores of a model.** A row gives the model a score r and the guess, which knows no inputs, a score g, both from 0 to
1. For levels a score is 1 where the answer is right; for numbers it is the error as a share of the public range, at
most 1. The row's weight of 1 is then laid on four cells,

    both   min(r, g),     model alone   r - min(r, g),     guess alone   g - min(r, g),     neither   1 - max(r, g),

so that both scores, and the number of rows, are sums of cells. Where a target is a number that may be missing, a row
without it lays its whole weight on a fifth cell and is left out of both means. Weights are whole numbers of GRAIN, and
follow from the values of their row alone: trees compare and add up in a fixed order, in one thread.

**Correlations from normal scores**, by which what a release weakens can be mended. A value is turned into its normal
score among the *released* values (ties in the middle, a missing one 0), cut to [-2, 2] and rounded to a lattice of
1/32: by that value and public rows alone. Summed over the private rows are the products of every pair of scores, P of
them for d columns. One row adds at most 64^2 to each, so the L1 sensitivity is 64^2 P for each row of a person, and
twice that under replace (``sum_norm``). Divided by n, and by the second moments of the released rows in which both are
present, the sum is the correlation of normal scores, as far as the single columns of the release are right.
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
from sfumato.metrics.binning import Values
from sfumato.sampling.design_matrix import DesignMatrix
from sfumato.schema import Schema
from sfumato.schema.column import Column

FEWEST_ROWS, MOST_ROWS = 20, 5000
"""Released rows from which on a model is learnt, and of which it is learnt at most."""
GRAIN = 1024
"""Steps in which the error of a number is counted; a right answer is one step."""
MOST_LEVELS = 20
"""Levels of a column that is predicted without having been named."""
MOST_INPUT_LEVELS = 200
ABSENT = -2.0
"""What a missing number is to the trees; present ones lie between -1 and 1."""
TREES, LEAF, SEED = 60, 5, 20_240_229
CHUNK = 1 << 14
STEPS = 32
"""Lattice steps in one unit of a score."""
CUT = 2
"""Scores are cut to so many standard deviations."""
LONGEST = (STEPS * CUT) ** 2
"""The most that one row adds to one product."""
MOST_RELATED = 8


def default_target(schema: Schema, names: Sequence[str], wanted: str | None) -> tuple[str | None, str]:
    """Return the column to predict and why, by public facts alone; none where there is nothing to predict from."""
    if wanted is not None:
        if wanted not in names or len(names) < 2:
            step = f"name one of: {', '.join(names)}" if len(names) > 1 else "leave the target out"
            raise PlanError(f"{wanted!r} cannot be predicted from the released columns", next_step=step)
        return wanted, "it was named"
    if len(names) < 2:
        return None, "one column alone leaves nothing to predict it from"
    stated = [name for name in schema.targets if name in names]
    if stated:
        return stated[0], "the schema calls it a target"
    levels = [name for name in names if not schema[name].is_ordered and 2 <= schema[name].size <= MOST_LEVELS]
    if levels:
        return levels[-1], f"the last column of 2 to {MOST_LEVELS} levels; no other was named"
    return names[-1], "the last column; no other was named"


@dataclass(frozen=True, eq=False)
class BoundedScores:
    """What a model and the guess answer about the target of a row."""

    target: Column
    design: DesignMatrix
    model: Any
    """A forest; None where the released rows teach nothing but the guess."""
    guess: float
    """The commonest level of the released rows, or their median."""

    @classmethod
    def learnt(cls, schema: Schema, names: Sequence[str], target: str, released: Values) -> BoundedScores:
        """Learn from released rows, a fixed sample of them where there are many."""
        column = schema[target]
        design = DesignMatrix(tuple(schema[name] for name in names if name != target and _is_input(schema[name])))
        known = np.asarray(released[target], float)
        present = np.flatnonzero(~np.isnan(known))
        chosen = np.random.default_rng(SEED).permutation(present)[:MOST_ROWS]
        sample = {name: released[name][chosen] for name in names}
        inputs, truth = _inputs(design, sample, len(chosen)), known[chosen]
        return cls(column, design, _fitted(column, inputs, truth), _guess(column, known[present]))

    @property
    def grain(self) -> int:
        """Steps of one row's weight."""
        return GRAIN if self.target.is_ordered else 1

    @property
    def cells(self) -> int:
        """Cells over which the weights are summed."""
        return score_cells(self.target)

    def sums(self, values: Values) -> IntArray:
        """Return the summed weights of all rows on the cells."""
        rows = len(values[self.target.name])
        total = np.zeros(self.cells, np.int64)
        for start in range(0, rows, CHUNK):
            total += self.weights({name: part[start : start + CHUNK] for name, part in values.items()}).sum(axis=0)
        return total

    def weights(self, values: Values) -> IntArray:
        """Return the weights of each row, one column for each cell."""
        truth = np.asarray(values[self.target.name], float)
        model = self._scores(self._predicted(values, len(truth)), truth)
        guess = self._scores(np.full(len(truth), self.guess), truth)
        both = np.minimum(model, guess)
        cells = [both, model - both, guess - both, self.grain - np.maximum(model, guess)]
        laid = np.column_stack(cells)
        if self.cells == len(cells):
            return laid
        absent = np.isnan(truth)
        return np.column_stack([np.where(absent[:, None], 0, laid), np.where(absent, self.grain, 0)])

    def _predicted(self, values: Values, rows: int) -> FloatArray:
        if self.model is None or not rows:
            return np.full(rows, self.guess)
        inputs = _inputs(self.design, values, rows)
        if self.target.is_ordered:
            return self.model.predict(inputs)
        return self.model.classes_[np.argmax(self.model.predict_proba(inputs), axis=1)]

    def _scores(self, answers: FloatArray, truth: FloatArray) -> IntArray:
        if not self.target.is_ordered:
            return (answers == truth).astype(np.int64)
        low, high = (float(bound) for bound in self.target.numeric_bounds)
        error = np.abs(answers - truth) / max(high - low, 1e-300)
        return np.floor(np.clip(np.nan_to_num(error, nan=1.0), 0.0, 1.0) * self.grain).astype(np.int64)


def _is_input(column: Column) -> bool:
    """Whether a model learns from a column: of one with very many levels it would learn nothing, slowly."""
    return column.is_ordered or column.size <= MOST_INPUT_LEVELS


def score_cells(target: Column) -> int:
    """Return the number of cells: a fifth for a number that may be missing; a missing level is a level."""
    return 5 if target.is_ordered and target.missing else 4


def _inputs(design: DesignMatrix, values: Values, rows: int) -> FloatArray:
    return np.nan_to_num(design.matrix(values, rows), nan=ABSENT)


def _fitted(target: Column, inputs: FloatArray, truth: FloatArray) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    if len(truth) < FEWEST_ROWS or not inputs.shape[1] or len(np.unique(truth)) < 2:
        return None
    forest = RandomForestRegressor if target.is_ordered else RandomForestClassifier
    return forest(TREES, min_samples_leaf=LEAF, random_state=SEED, n_jobs=1).fit(inputs, truth)


def _guess(target: Column, known: FloatArray) -> float:
    if not len(known):
        return float(np.mean([float(bound) for bound in target.numeric_bounds]))
    if target.is_ordered:
        return float(np.median(known))
    levels, times = np.unique(known, return_counts=True)
    return float(levels[np.argmax(times)])


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
