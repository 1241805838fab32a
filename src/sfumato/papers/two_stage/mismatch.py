"""Figures 12 and 13: test rows from a shifted distribution."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.papers.result import Part
from sfumato.papers.two_stage.data import ELASTICITIES, FloatArray, Sample, target_function
from sfumato.papers.two_stage.prediction_task import delta_mse, mean_squared_error
from sfumato.papers.two_stage.prices import price_trial
from sfumato.papers.two_stage.shared_results import COMPARED, FEW_ALPHAS, SharedResults
from sfumato.papers.two_stage.trial import MODELS, SEED, TEST_ROWS, Trial, part, tvd_1_w20

MEANS = tuple(round(0.1 * step, 1) for step in range(1, 11))
SPREAD = 0.14
NOISES = tuple(round(0.2 * step, 1) for step in range(1, 11))
"""Standard deviations of the noise on the test prices."""
ALPHA = 0.5
UNIFORM = "our test rows keep x1 and x2 uniform, the paper says nothing of them"
FAR_AWAY = "far outside the prices that anybody has seen, local models have nothing to gain"


def figure_12(work: SharedResults) -> Part:
    """Return total variation of the third input and the gain, as the test rows move."""
    far = np.mean([[_shifted_test_rows(trial, mean)[1] for mean in MEANS] for trial in work.trials], axis=0)
    errors = np.mean([_errors(trial) for trial in work.trials], axis=0)
    gains = {m: [delta_mse(*pair) for pair in errors[i]] for i, m in enumerate(MODELS)}
    losses = [MODELS[m] for m in MODELS if min(gains[m]) < 0]
    rising = [MODELS[m] for m in MODELS if np.corrcoef(far, gains[m])[0, 1] > 0]
    order = np.argsort(far)
    drawn = {MODELS[m]: [gains[m][place] for place in order] for m in MODELS}
    prices = price_gains(work)
    helps = min(map(min, prices.values())) > 0
    numbers = {
        "gains": {MODELS[m]: _percent_range(gain) for m, gain in gains.items()},
        "losses": f"NOT for {', '.join(losses)}" if losses else "agrees",
        "correlations": {MODELS[m]: np.corrcoef(far, gain)[0, 1] for m, gain in gains.items()},
        "rising": f"NOT for {', '.join(rising)}; {UNIFORM}" if rising else "agrees",
        "price_gains": {MODELS[m]: _percent_range(gain) for m, gain in prices.items()},
        "prices": "the release helps at every noise" if helps else FAR_AWAY,
    }
    return part(
        "figure 12",
        numbers,
        drawn=[
            ([float(f"{far[place]:.3f}") for place in order], drawn),
            (MEANS, {"D'": errors[0][:, 0], "D' + D*": errors[0][:, 1]}),
            (NOISES, {MODELS[m]: gain for m, gain in prices.items()}),
        ],
    )


def _percent_range(gains: Sequence[float]) -> str:
    return f"{100 * min(gains):.0f} to {100 * max(gains):.0f} %"


def price_gains(work: SharedResults) -> dict[str, list[float]]:
    """Return Delta-MSE of each model on price data whose test prices are spoilt by more and more noise."""
    trials = [price_trial(SEED + 100 * run, ELASTICITIES[0]) for run in range(max(1, work.runs // 2))]
    errors = np.mean([_price_errors(trial) for trial in trials], axis=0)
    return {model: [delta_mse(*pair) for pair in errors[i]] for i, model in enumerate(MODELS)}


def _price_errors(trial: Trial) -> FloatArray:
    """Return errors of D' and of D' with D*, by model and noise."""
    generator, prices = np.random.default_rng([trial.seed, 13]), trial.holdout[0]
    tests = [prices + generator.normal(0.0, noise, prices.shape) for noise in NOISES]
    samples = [(x, ELASTICITIES[0] * x[:, 0]) for x in tests]
    return _trained_once(trial, trial.combined(trial.released("SH", ALPHA)), samples)


def _shifted_test_rows(trial: Trial, mean: float) -> tuple[FloatArray, float]:
    """Return test inputs with another third column, and how far that column is from the original one."""
    generator = np.random.default_rng([trial.seed, round(10 * mean)])
    rows = generator.random((TEST_ROWS, 3))
    rows[:, 2] = generator.normal(mean, SPREAD, TEST_ROWS)
    return rows, tvd_1_w20(trial.original[0][:, 2:], rows[:, 2:])


def _errors(trial: Trial) -> FloatArray:
    """Return errors of D' and of D' with D*, by model and mean."""
    samples = [(x, target_function(x)) for x in (_shifted_test_rows(trial, mean)[0] for mean in MEANS)]
    return _trained_once(trial, trial.combined(trial.released("SH", ALPHA)), samples)


def _trained_once(trial: Trial, combined: Sample, tests: Sequence[Sample]) -> FloatArray:
    """Return errors of D' and of D' with D*, by model and test; every model is trained once."""
    found: list[list[tuple[float, ...]]] = []
    for model in MODELS:
        learnt = [trial.learnt(model, train) for train in (trial.public, combined)]
        found.append([tuple(mean_squared_error(each.predict(x)[:, 0], y) for each in learnt) for x, y in tests])
    return np.array(found)


def figure_13(work: SharedResults) -> Part:
    """Return Delta-MSE over alpha for SH and Random: prices, and the simulated data of figure 5."""
    trials = [price_trial(SEED + 100 * run, ELASTICITIES[0], stages=COMPARED) for run in range(max(1, work.runs // 2))]
    prices = {
        (stage, m): np.array([np.mean([t.gain(m, t.released(stage, a)) for t in trials]) for a in FEW_ALPHAS])
        for stage in COMPARED
        for m in MODELS
    }
    both = {"prices": prices, "nonlinear": work.gains}
    flat = {name: 100 * max(float(np.ptp(each["SH", m])) for m in MODELS) for name, each in both.items()}
    numbers = {
        "stages": [{"stage": stage} for stage in COMPARED],
        "flat": flat,
        "verdict": "agrees for KRR; trees on 500 rows move a little" if flat["nonlinear"] > 10 else "agrees",
        "blind": {name: [100 * each["Random", m][0] for m in MODELS] for name, each in both.items()},
    }
    return part(
        "figure 13",
        numbers,
        drawn=[(FEW_ALPHAS, {MODELS[m]: prices[stage, m].tolist() for m in MODELS}) for stage in COMPARED],
    )
