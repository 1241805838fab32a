"""Prediction by four public models, and Delta-MSE: the evaluation protocol of the two-stage paper.

**model_mse, model_accuracy, model_auc, delta_mse** judge one model for one target by a :class:`PredictionTask`: numbers
by the mean squared error, levels by accuracy and by the area under the curve. Delta-MSE is the part of its error that
the public loses by adding a release to its own rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.arrays import FloatArray
from sfumato.errors import RiskError
from sfumato.metrics.auc import roc_auc_one_vs_rest
from sfumato.metrics.rows_view import read_rows_view
from sfumato.papers.two_stage.learners.regressors import fit_regressor
from sfumato.sampling.design_matrix import DesignMatrix
from sfumato.schema import Schema
from sfumato.schema.column import Column

Sample = tuple[ArrayLike, ArrayLike]
"""Inputs and targets."""
PUBLIC_MODELS = ("krr", "nadaraya-watson", "adaboost", "forest")
FEWEST_COMPLETE = 20


@dataclass(frozen=True)
class Score:
    """How well one model does on the test rows."""

    error: float | None
    """Mean squared error of a number."""
    accuracy: float | None
    auc: float | None
    """Area under the curve of levels: the mean over levels, each against all others."""


@dataclass(frozen=True)
class PredictionTask:
    """Which column is predicted from which."""

    schema: Schema
    target: Column
    design: DesignMatrix

    @classmethod
    def of(cls, schema: Schema, target: str, inputs: Sequence[str] | None) -> PredictionTask:
        """Return the task, or refuse with every problem."""
        fits = [name for name in schema.releasable if name != target and not schema[name].is_open]
        names = list(fits if inputs is None else inputs)
        problems = [f"no column {name!r}" for name in (target, *names) if name not in schema]
        problems += [f"{name}: has no values or bounds" for name in (target, *names) if _is_open(schema, name)]
        problems += [f"{target} is the target and an input"] if target in names else []
        problems += [] if names else ["no input"]
        if problems:
            raise RiskError("this cannot be predicted", problems, f"columns are: {', '.join(schema.names)}")
        return cls(schema, schema[target], DesignMatrix(tuple(schema[name] for name in names)))

    @property
    def names(self) -> tuple[str, ...]:
        """The inputs."""
        return tuple(column.name for column in self.design.columns)

    @property
    def classes(self) -> bool:
        """Whether levels are predicted."""
        return not self.target.is_ordered

    def read(self, source: Any, what: str) -> tuple[Sample, int]:
        """Return inputs and targets of the rows without a missing number or target, and how many had one."""
        seen = read_rows_view(source, self.schema, (*self.names, self.target.name))
        whole, values = np.ones(len(seen), bool), dict[str, NDArray[Any]]()
        for place, column in enumerate(self.design.columns):
            values[column.name] = seen.points[:, place] if column.is_ordered else seen.codes[:, place]
            whole &= ~np.isnan(seen.points[:, place]) | (not column.is_ordered)
        whole &= ~np.isnan(seen.points[:, -1])
        if whole.sum() < FEWEST_COMPLETE:
            raise RiskError(
                f"{what}: {int(whole.sum())} complete rows; at least {FEWEST_COMPLETE} are needed",
                next_step="give more rows, or inputs without missing values",
            )
        return (self.design.matrix(values, len(seen))[whole], seen.points[whole, -1]), int((~whole).sum())

    def score(self, model: str, train: Sample, test: Sample, seed: int) -> Score:
        """Train a model and measure it; levels that a sample lacks are never predicted."""
        levels = np.unique(np.asarray(train[1]))
        if self.classes and len(levels) < 2:
            predicted = np.ones((len(np.asarray(test[1])), 1))
            return self._judged(predicted, levels, np.asarray(test[1]))
        fitted = fit_regressor(model, train[0], train[1], np.random.default_rng(seed), classes=self.classes)
        return self._judged(fitted.predict(test[0]), levels, np.asarray(test[1], float))

    def guess(self, train: Sample, test: Sample) -> Score:
        """Return what is reached without inputs."""
        known, truth = np.asarray(train[1], float), np.asarray(test[1], float)
        if not self.classes:
            return Score(float(np.mean((truth - known.mean()) ** 2)), None, None)
        levels, counts = np.unique(known, return_counts=True)
        return Score(None, float(np.mean(truth == levels[np.argmax(counts)])), 0.5)

    def _judged(self, predicted: FloatArray, levels: NDArray[Any], truth: FloatArray) -> Score:
        if not self.classes:
            return Score(float(np.mean((predicted[:, 0] - truth) ** 2)), None, None)
        right = float(np.mean(levels[np.argmax(predicted, axis=1)] == truth))
        return Score(None, right, roc_auc_one_vs_rest(predicted, levels, truth))


def _is_open(schema: Schema, name: str) -> bool:
    return name in schema and schema[name].is_open


def mean_squared_error(predicted: ArrayLike, truth: ArrayLike) -> float:
    """Return the mean of squared differences over all rows and targets."""
    left, right = _column(predicted), _column(truth)
    if left.shape != right.shape:
        raise RiskError(f"predictions of shape {left.shape} do not go with targets of shape {right.shape}")
    return float(np.mean((left - right) ** 2))


def holdout_error(model: str, train: Sample, holdout: Sample, generator: np.random.Generator, **options: Any) -> float:
    """Train a public model and return its mean squared error on the holdout."""
    response = fit_regressor(model, train[0], train[1], generator, **options)
    return mean_squared_error(response.predict(holdout[0]), holdout[1])


def stacked(first: Sample, second: Sample) -> tuple[FloatArray, FloatArray]:
    """Return the rows of both samples as one."""
    inputs, targets = ([_column(sample[part]) for sample in (first, second)] for part in (0, 1))
    return np.vstack(inputs), np.vstack(targets)


def delta_mse(public: float, combined: float) -> float:
    """Return (MSE on D' - MSE on D' and D*) / MSE on D': positive where the release helps the public.

    >>> delta_mse(0.5, 0.25)
    0.5
    """
    if not public > 0:
        raise RiskError(f"the error on the public rows must be positive, not {public}")
    return (public - combined) / public


def _column(values: ArrayLike) -> FloatArray:
    """Return numbers as a table of rows and columns."""
    found = np.asarray(values, dtype=float)
    return found[:, None] if found.ndim == 1 else found
