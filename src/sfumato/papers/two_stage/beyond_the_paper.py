"""Additions to the paper: linkage beside LID, and the influence of the kernel's reach."""

from __future__ import annotations

import numpy as np

from sfumato.papers.result import Part, value_table
from sfumato.papers.two_stage.data import FloatArray, Sample
from sfumato.papers.two_stage.learners.radial_kernels import RadialKernel
from sfumato.papers.two_stage.learners.regressors import FittedRegressor
from sfumato.papers.two_stage.learners.ridge_solvers import (
    InputRange,
    KernelFit,
    KernelSpace,
    TargetScaler,
    fit_exact,
    least_error,
)
from sfumato.papers.two_stage.prediction_task import mean_squared_error
from sfumato.papers.two_stage.published.blending import match
from sfumato.papers.two_stage.published.disclosure_bounds import blended
from sfumato.papers.two_stage.published.first_stage import midpoints
from sfumato.papers.two_stage.shared_results import ETA, SharedResults
from sfumato.papers.two_stage.trial import MODELS, SEED, Trial, part, simulated_trial
from sfumato.risk.interval_disclosure import interval_disclosure, row_linkage

DIMENSIONS = (1, 2, 3, 5)
BLENDS = (0.2, 0.5, 0.8)
ROWS = 1000
PUBLISHED_LAMBDAS: FloatArray = np.linspace(0.0002, 0.002, 10)
"""The published grid, without its 0."""


def uniform_pairs(
    columns: int, matching: str = "greedy", seed: int = SEED, rows: int = ROWS
) -> tuple[FloatArray, FloatArray]:
    """Return uniform rows and the Latin hypercube rows that they are paired with."""
    generator = np.random.default_rng([seed, columns])
    original, made = generator.random((rows, columns)), midpoints(rows, columns, generator)
    return original, made[match(original, made, matching, generator, scaled=False)]


def linkage(work: SharedResults) -> Part:
    """Return LID and linkage by the number of columns and alpha."""
    found: dict[tuple[int, float], tuple[float, float, float]] = {}
    for columns in DIMENSIONS:
        x, s = uniform_pairs(columns)
        for alpha in BLENDS:
            made = blended(x, s, alpha)
            linked = row_linkage(x, made)
            found[columns, alpha] = (interval_disclosure(x, made, ETA).share, linked[1], linked[10])
    trial = work.trials[0]
    simulated = row_linkage(trial.original[0], blended(trial.original[0], trial.matched["SH"], 0.5))
    copy = np.random.default_rng(SEED).permutation(trial.original[0])
    permuted = interval_disclosure(trial.original[0], copy, ETA).share
    return part(
        "beyond 1",
        {
            "one": found[1, 0.5],
            "five": found[5, 0.5],
            "simulated": simulated,
            "permuted": permuted,
            "uniform": [(*what, *measured) for what, measured in found.items()],
        },
    )


def published_krr(train: Sample, centred: bool = False) -> KernelFit:
    """Fit KRR as printed: reach 1 in the units of the table, lambda on the published grid without its 0.

    Equation (7) has no intercept: far from all rows the answer is 0. ``centred`` mends that.
    """
    rows, targets = train[0], train[1][:, None]
    count = rows.shape[1]
    standard = TargetScaler.of(targets) if centred else TargetScaler(np.zeros(1), np.ones(1))
    space = KernelSpace(RadialKernel("wendland", 1.0, count), InputRange(np.zeros(count), np.ones(count)), standard)
    errors = space.leave_one_out(rows, targets, PUBLISHED_LAMBDAS)
    chosen = least_error(PUBLISHED_LAMBDAS, errors, "leave-one-out")
    return fit_exact(space, rows, targets, chosen.penalty)


def printed_errors(trial: Trial) -> dict[str, float]:
    """Return errors of both forms of KRR, and of every model on D and on the releases that either form makes."""
    forms = {"KRR (7)": published_krr(trial.original), "centred": published_krr(trial.original, centred=True)}
    x, y = trial.holdout
    found = {name: mean_squared_error(fit.predict(x)[:, 0], y) for name, fit in forms.items()}
    made = trial.released("SH", 0.5, FittedRegressor("krr", forms["KRR (7)"], {}))
    for m, name in MODELS.items():
        found |= {
            f"{name} D": trial.error(m, trial.original),
            f"{name} D*": trial.error(m, trial.released("SH", 0.5)),
            f"{name} D* (7)": trial.error(m, made),
        }
    return found


def as_printed(work: SharedResults) -> Part:
    """Return errors with the printed noise, with the printed kernel and with a chosen reach."""
    found: dict[float, dict[str, float]] = {}
    for noise in (0.1, 1.0):
        each = [printed_errors(simulated_trial(SEED + 100 * run, 1.0, noise)) for run in range(work.runs - 1)]
        found[noise] = {name: float(np.mean([one[name] for one in each])) for name in each[0]}
    rows = [(f"noise {noise}", *(f"{value:.4f}" for value in each.values())) for noise, each in found.items()]
    small = found[0.1]
    by_ours, by_printed = (
        {name: small[f"{name} {sample}"] / small[f"{name} D"] for name in MODELS.values()}
        for sample in ("D*", "D* (7)")
    )
    return part(
        "beyond 2",
        {"errors": small, "by_ours": by_ours, "by_printed": by_printed},
        values=(value_table("Mean squared error", ("", *small), rows),),
    )
