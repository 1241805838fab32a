"""Per-row scores of a fixed model, bounded so that their sums have a known sensitivity: weights on four cells.

A row gives the model a score r and the guess, which knows no inputs, a score g, both from 0 to 1. For levels a score is
1 where the answer is right; for numbers it is the error as a share of the public range, at most 1. The row's weight of
1 is then laid on four cells,

    both   min(r, g),     model alone   r - min(r, g),     guess alone   g - min(r, g),     neither   1 - max(r, g),

so that both scores, and the number of rows, are sums of cells. Where a target is a number that may be missing, a row
without it lays its whole weight on a fifth cell and is left out of both means. Weights are whole numbers of GRAIN, and
follow from the values of their row alone: trees compare and add up in a fixed order, in one thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

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
