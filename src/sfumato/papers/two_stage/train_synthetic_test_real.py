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

from sfumato.arrays import FloatArray
from sfumato.errors import RiskError
from sfumato.formatting import percent_fixed
from sfumato.metrics.evaluation_input import open_evaluation_input, shared_columns
from sfumato.papers.two_stage.prediction_task import PUBLIC_MODELS, PredictionTask, Sample, Score, delta_mse, stacked
from sfumato.schema import Schema

HELD_OUT = 0.25
MOST_ROWS = 5000
"""Rows that a model is trained on, and tested on, at most: a sample where there are more."""


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
        return delta_mse(self.public.error, self.combined.error)


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
    _require_models(models)
    rows = open_evaluation_input(released).require_rows().rows_for(schema)
    task, generator = _task(rows, schema, target, inputs), np.random.default_rng(seed)
    true, lost = task.read(original, "the table")
    made, also = task.read(rows, "the release")
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


def _task(rows: Any, schema: Schema, target: str, inputs: Sequence[str] | None) -> PredictionTask:
    """Return what is predicted from which columns: all others that were released, unless they are named."""
    names, absent = shared_columns(schema, rows)
    if unreleased := [name for name in (target, *(inputs or ())) if name in absent]:
        problems = [f"{name} is not in the release" for name in unreleased]
        raise RiskError("this cannot be predicted", problems, f"released columns are: {', '.join(names)}")
    return PredictionTask.of(schema, target, [name for name in names if name != target] if inputs is None else inputs)


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
