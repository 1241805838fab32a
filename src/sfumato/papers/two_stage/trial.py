"""One trial of both stages, and results shared by several figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.errors import RiskError
from sfumato.metrics.distances import total_variation
from sfumato.papers.texts import written_part
from sfumato.papers.two_stage.data import FloatArray, Sample, simulated_table, target_function
from sfumato.papers.two_stage.learners.regressors import FittedRegressor, fit_regressor
from sfumato.papers.two_stage.prediction_task import delta_mse, mean_squared_error
from sfumato.papers.two_stage.published.blending import match
from sfumato.papers.two_stage.published.disclosure_bounds import blended
from sfumato.papers.two_stage.published.first_stage import synthesise_inputs
from sfumato.risk.interval_disclosure import interval_disclosure

ROWS, PUBLIC_ROWS, TEST_ROWS = 500, 200, 500
"""The second row of table 3, which the paper uses where GAN and diffusion take part."""
MODELS = {"krr": "#KRR", "nadaraya-watson": "#NWK", "adaboost": "#AdaBoost", "forest": "#RF"}
PUBLISHED: dict[str, Any] = {"unit": "published"}
STAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "SH": ("lhs", {}),
    "Random": ("random", PUBLISHED),
    "RanWeibull": ("weibull", PUBLISHED),
    "RanCauchy": ("cauchy", PUBLISHED),
}
"""First stages by the paper's names."""
OPTIONS: dict[str, dict[str, Any]] = {"adaboost": {"trees": 30}, "forest": {"trees": 40}}
"""Fixed where the paper searches 200 settings by cross-validation."""
BINS = 20
SEED = 1
ALPHAS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0)
HALF = 0.5
MOMENTS = ("mean", "sd", "covariance")
part = partial(written_part, "sfumato.papers.two_stage")


@dataclass(frozen=True, eq=False)
class Trial:
    """What one trial works with. Every fit has the trial's own seed, so that no result depends on the others."""

    original: Sample
    public: Sample
    holdout: Sample
    response: FittedRegressor
    """KRR learnt from the original rows: the second stage."""
    matched: Mapping[str, FloatArray]
    """Synthetic rows by first stage, in the order of the original rows."""
    columns: int
    """Inputs that are anonymised: the first ones."""
    krr: Mapping[str, Any]
    seed: int

    def released(self, stage: str, alpha: float, response: FittedRegressor | None = None) -> Sample:
        """Return D* of a first stage at alpha, in the order of the original rows."""
        rows = self.original[0].copy()
        rows[:, : self.columns] = blended(rows[:, : self.columns], self.matched[stage], alpha)
        return rows, (response or self.response).predict(rows)[:, 0]

    def lid(self, stage: str, alpha: float, tolerance: float | FloatArray) -> float:
        """Return LID of the anonymised inputs."""
        rows = self.original[0][:, : self.columns]
        return interval_disclosure(rows, blended(rows, self.matched[stage], alpha), tolerance).share

    def learnt(self, model: str, train: Sample) -> FittedRegressor:
        """Fit a model of the public, or a second stage; KRR on the original rows is there already."""
        if model == "krr" and train is self.original:
            return self.response
        options = {**self.krr, **OPTIONS.get(model, {})} if model == "krr" else OPTIONS.get(model, {})
        return fit_regressor(model, *train, np.random.default_rng(self.seed), **options)

    def error(self, model: str, train: Sample, holdout: Sample | None = None) -> float:
        """Return the mean squared error of a model on the test rows."""
        inputs, targets = holdout or self.holdout
        return mean_squared_error(self.learnt(model, train).predict(inputs)[:, 0], targets)

    @cached_property
    def public_errors(self) -> dict[str, float]:
        """Errors of the models that know the public's own rows only."""
        return {model: self.error(model, self.public) for model in MODELS}

    def combined(self, released: Sample) -> Sample:
        """Return D' and D* as one sample."""
        inputs, targets = zip(self.public, released, strict=True)
        return np.vstack(inputs), np.concatenate(targets)

    def gain(self, model: str, released: Sample) -> float:
        """Return Delta-MSE: the part of its error that the public loses by the release."""
        return delta_mse(self.public_errors[model], self.error(model, self.combined(released)))


def trial_of(
    original: Sample,
    public: Sample,
    holdout: Sample,
    seed: int,
    columns: int | None = None,
    stages: Sequence[str] = tuple(STAGES),
    krr: Mapping[str, Any] | None = None,
) -> Trial:
    """Run both stages. The reach of the kernel is chosen once, on the original rows."""
    generator = np.random.default_rng([seed, 7])
    count = original[0].shape[1] if columns is None else columns
    rows = original[0][:, :count]
    response = fit_regressor("krr", *original, generator, **(krr or {}))
    matched: dict[str, FloatArray] = {}
    for stage in stages:
        name, options = STAGES[stage]
        made = synthesise_inputs(name, rows, len(rows), generator, **options)
        matched[stage] = made[match(rows, made, "rounds", generator)]
    chosen = {**(krr or {}), "reach": response.report["reach"]}
    return Trial(original, public, holdout, response, matched, count, chosen, seed)


def simulated_trial(seed: int, spread: float = 0.1, noise: float = 0.1) -> Trial:
    """Return a trial on the simulated data; the test targets have no noise, as in the paper."""
    generator = np.random.default_rng([seed, 1])
    original, public, test = (
        simulated_table(rows, generator, spread, noise) for rows in (ROWS, PUBLIC_ROWS, TEST_ROWS)
    )
    return trial_of(original, public, (test[0], target_function(test[0])), seed)


def tvd_1_w20(original: FloatArray, released: FloatArray) -> float:
    """Return the mean total variation of columns; what lies outside the original range counts as one bin each side."""
    low, width = original.min(axis=0), np.ptp(original, axis=0)
    edge = width / BINS
    inside = np.clip(released, low - edge, low + width + edge)
    return float(column_tvds_w20(original, inside).mean())


def column_tvds_w20(original: ArrayLike, released: ArrayLike, bins: int = BINS) -> FloatArray:
    """Return half the absolute difference of the histograms, per column, on equal bins over both ranges.

    Two samples of one law differ too. Compare with the value between two halves of the original, or a true holdout.
    """
    left, right = (_as_rows(each) for each in (original, released))
    if left.shape[1] != right.shape[1] or bins < 1 or not (np.all(np.isfinite(left)) and np.all(np.isfinite(right))):
        raise RiskError("total variation needs finite values, the same columns on both sides, and at least one bin")
    return np.asarray([_one_column(a, b, bins) for a, b in zip(left.T, right.T, strict=True)])


def _one_column(left: FloatArray, right: FloatArray, bins: int) -> float:
    """Compare two columns on common bins."""
    ends = (min(left.min(), right.min()), max(left.max(), right.max()))
    counts = [np.histogram(values, bins, ends)[0] for values in (left, right)]
    return total_variation(*counts)


def _as_rows(values: ArrayLike) -> FloatArray:
    """Return numbers as a table of rows and columns."""
    rows = np.asarray(values, dtype=float)
    return rows[:, None] if rows.ndim == 1 else rows


def single_stage(trial: Trial, alpha: float) -> Sample:
    """Return inputs and output synthesized and blended together, as one table: SH in a single stage."""
    generator = np.random.default_rng([trial.seed, 9])
    rows = np.column_stack(trial.original)
    made = synthesise_inputs("lhs", rows, len(rows), generator)
    both = alpha * rows + (1 - alpha) * made[match(rows, made, "rounds", generator)]
    return both[:, :-1], both[:, -1]


def moment_errors(rows: FloatArray, made: FloatArray) -> tuple[float, float, float]:
    """Return mean relative deviations of means, standard deviations and covariances."""
    pairs = np.triu_indices(rows.shape[1], 1)
    facts = [(each.mean(axis=0), each.std(axis=0), np.cov(each.T)[pairs]) for each in (rows, made)]
    first, second, third = (float(np.mean(np.abs((b - a) / a))) for a, b in zip(*facts, strict=True))
    return first, second, third
