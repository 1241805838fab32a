"""Train models on a release and test them on private rows, for one target column.

The four public models of the two-stage paper are trained on true rows (the yardstick), on the release, and, where the
public holds rows of its own, on those and on both together; all are tested on the same true rows. Numbers are judged by
the mean squared error, levels by accuracy and by the area under the curve. The test rows are those given, which were
not in the release, or a part of the table: then the release may have seen them, and the result says so. All of it is
measured on confidential rows, for the custodian.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import FloatArray
from sfumato.errors import RiskError
from sfumato.evaluate.utility.prediction import PUBLIC_MODELS, Sample, stacked
from sfumato.formatting import percent_fixed
from sfumato.metrics.auc import roc_auc_one_vs_rest
from sfumato.metrics.rows_view import read_rows_view
from sfumato.sampling.design_matrix import DesignMatrix
from sfumato.schema import Schema
from sfumato.schema.column import Column

HELD_OUT = 0.25
MOST_ROWS = 5000
"""Rows that a model is trained on, and tested on, at most: a sample where there are more."""
FEWEST_ROWS = 20


@dataclass(frozen=True)
class Score:
    """How well one model does on the test rows."""

    error: float | None
    """Mean squared error of a number."""
    accuracy: float | None
    auc: float | None
    """Area under the curve of levels: the mean over levels, each against all others."""


@dataclass(frozen=True)
class ModelScores:
    """One public model, by what it was trained on; ``public`` and ``combined`` where the public holds rows."""

    model: str
    original: Score
    released: Score
    public: Score | None
    combined: Score | None

    @property
    def delta(self) -> float | None:
        """Delta-MSE: the part of its error that the public loses by the release."""
        if self.public is None or self.combined is None or not self.public.error or self.combined.error is None:
            return None
        return (self.public.error - self.combined.error) / self.public.error


@dataclass(frozen=True)
class TrainTestResult:
    """What every model reaches, beside the guess that knows no inputs."""

    target: str
    inputs: tuple[str, ...]
    classes: bool
    guess: Score
    """The mean of the true rows, or their commonest level."""
    models: tuple[ModelScores, ...]
    test_rows: int
    test_rows_seen: bool
    """Whether the test rows belong to the table that was released: models of the release may then look too good."""
    left_out: int
    """Rows with a missing number or target."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        models = [{**asdict(each), "delta": each.delta} for each in self.models]
        return {**asdict(self), "models": models}

    def statement(self) -> str:
        """Return the result in plain words."""
        return f"{self._best()}\n{self._tested()}"

    def _best(self) -> str:
        if self.classes:
            best = max(self.models, key=lambda each: cast(float, each.released.accuracy))
            parts = [cast(float, part.accuracy) for part in (best.released, best.original, self.guess)]
            shares = [percent_fixed(part) for part in parts]
            return (
                f"Trained on the release, {best.model} is best: right in {shares[0]}, {shares[1]} when trained on true "
                f"rows. The commonest level is right in {shares[2]}."
            )
        best = min(self.models, key=lambda each: cast(float, each.released.error))
        errors = [cast(float, part.error) for part in (best.released, best.original, self.guess)]
        return (
            f"Trained on the release, {best.model} is best: mean squared error {errors[0]:.4g}, {errors[1]:.4g} when "
            f"trained on true rows. Predicting the mean has {errors[2]:.4g}."
        )

    def _tested(self) -> str:
        if not self.test_rows_seen:
            return f"Tested on {self.test_rows:,} true rows that were not in the table."
        return (
            f"Tested on {self.test_rows:,} rows of the table itself, which the release has seen: a release that copies "
            "rows looks too good. Give rows that were not in it for a fair test."
        )


def train_and_test(
    original: Any,
    released: Any,
    schema: Schema,
    target: str,
    inputs: Sequence[str] | None = None,
    test: Any = None,
    public: Any = None,
    models: Sequence[str] = PUBLIC_MODELS,
    seed: int | None = None,
) -> TrainTestResult:
    """Train every model on true rows, on the release, and on the public's rows without and with it."""
    task, generator = PredictionTask.of(schema, target, inputs), np.random.default_rng(seed)
    _require_models(models)
    true, lost = task.read(original, "the table")
    made, also = task.read(released, "the release")
    train, tested = (true, task.read(test, "the test rows")[0]) if test is not None else _split(true, generator)
    samples = {"original": train, "released": made}
    if public is not None:
        own = task.read(public, "the public's rows")[0]
        samples |= {"public": own, "combined": stacked(own, made)}
    small = {name: _sampled(sample, generator) for name, sample in samples.items()}
    held = _sampled(tested, generator)
    seed_of = int(generator.integers(1 << 62))
    found = [{name: task.score(model, train, held, seed_of) for name, train in small.items()} for model in models]
    served = tuple(
        ModelScores(model, each["original"], each["released"], each.get("public"), each.get("combined"))
        for model, each in zip(models, found, strict=True)
    )
    guess = task.guess(small["original"], held)
    return TrainTestResult(target, task.names, task.classes, guess, served, len(held[0]), test is None, lost + also)


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
        if whole.sum() < FEWEST_ROWS:
            raise RiskError(
                f"{what}: {int(whole.sum())} complete rows; at least {FEWEST_ROWS} are needed",
                next_step="give more rows, or inputs without missing values",
            )
        return (self.design.matrix(values, len(seen))[whole], seen.points[whole, -1]), int((~whole).sum())

    def score(self, model: str, train: Sample, test: Sample, seed: int) -> Score:
        """Train a model and measure it; levels that a sample lacks are never predicted."""
        from sfumato.metrics.learners.regressors import fit_regressor

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


def _require_models(models: Sequence[str]) -> None:
    bad = [f"no model {name!r}" for name in models if name not in PUBLIC_MODELS]
    if bad or not models:
        raise RiskError(
            "the models are not known", bad or ["none is named"], f"use some of: {', '.join(PUBLIC_MODELS)}"
        )


def _split(rows: Sample, generator: np.random.Generator) -> tuple[Sample, Sample]:
    inputs, targets = np.asarray(rows[0]), np.asarray(rows[1])
    order = generator.permutation(len(inputs))
    cut = round(HELD_OUT * len(inputs))
    return (inputs[order[cut:]], targets[order[cut:]]), (inputs[order[:cut]], targets[order[:cut]])


def _sampled(rows: Sample, generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    inputs, targets = np.asarray(rows[0], float), np.asarray(rows[1], float).ravel()
    kept = generator.permutation(len(inputs))[:MOST_ROWS]
    return inputs[kept], targets[kept]
