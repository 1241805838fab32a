"""Table 7 and figures 10 and 11: disclosure and prediction on five real tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfumato.papers.two_stage.data import FloatArray, RealTable, Sample, read_table
from sfumato.papers.two_stage.trial import MODELS, Trial, trial_of
from sfumato.risk.interval_disclosure import blended, interval_disclosure, row_linkage

ALPHA = 0.5
ETA = 0.001
SAMPLES = ("D", "D*", "D'", "D' + D*")


@dataclass(frozen=True, eq=False)
class RealTableResult:
    """Means over trials, for one table."""

    table: RealTable
    inputs: tuple[float, float]
    """LID of the inputs at alpha 0.5, with a tolerance of 0.001 in the unit of the table and of 0.001 of the range."""
    output: tuple[float, float]
    """The same of the output."""
    floor: float
    """LID of the inputs at alpha 0, by range: what no alpha can undercut with these pairs."""
    at_random: float
    """LID of the inputs at alpha 0.5, by range, with pairs dealt at random."""
    withstood: float
    """Largest tolerance, as a share of the range, at which the requirement on inputs still holds at alpha 0.5."""
    linked: float
    """Share of rows whose own released row is the nearest to them."""
    errors: Mapping[str, Mapping[str, float]]
    """Error over that of predicting the mean, by model and training sample."""

    def gain(self, model: str) -> float:
        """Return Delta-MSE of a public model."""
        return 1 - self.errors[model]["D' + D*"] / self.errors[model]["D'"]

    def ceiling(self, model: str) -> float:
        """Return the Delta-MSE that the confidential rows alone would give."""
        return 1 - self.errors[model]["D"] / self.errors[model]["D'"]


def measured_table(table: RealTable, folder: Path, runs: int, seed: int) -> RealTableResult:
    """Deal the rows anew in every trial and take means."""
    rows = read_table(table, folder)
    trials = [_split_rows(table, rows, seed + 100 * run) for run in range(runs)]
    facts = np.mean([_disclosed(trial, table) for trial in trials], axis=0)
    errors = [_errors(trial) for trial in trials]
    means = {
        model: {name: float(np.mean([each[model][name] for each in errors])) for name in SAMPLES} for model in MODELS
    }
    own, wide, out, out_wide, floor, at_random, withstood, linked = (float(value) for value in facts)
    return RealTableResult(table, (own, wide), (out, out_wide), floor, at_random, withstood, linked, means)


def _split_rows(table: RealTable, rows: Sample, seed: int) -> Trial:
    """Deal rows to provider, public and test, and run both stages on the provider's."""
    provider, public, test = np.cumsum(table.rows)
    order = np.random.default_rng([seed, 5]).permutation(len(rows[0]))[:test]
    places = (order[:provider], order[provider:public], order[public:])
    original, held, holdout = ((rows[0][place], rows[1][place]) for place in places)
    return trial_of(original, held, holdout, seed, columns=len(table.numeric), stages=("SH",))


def _disclosed(trial: Trial, table: RealTable) -> tuple[float, ...]:
    """Measure every kind of disclosure in one trial."""
    inputs, outputs = trial.original[0][:, : trial.columns], trial.original[1]
    released, told = trial.released("SH", ALPHA)
    released = released[:, : trial.columns]
    wide, tall = ETA * np.ptp(inputs, axis=0), ETA * float(np.ptp(outputs))
    dealt = np.random.default_rng([trial.seed, 6]).permutation(trial.matched["SH"])
    return (
        interval_disclosure(inputs, released, ETA).share,
        interval_disclosure(inputs, released, wide).share,
        interval_disclosure(outputs, told, ETA).share,
        interval_disclosure(outputs, told, tall).share,
        trial.lid("SH", 0.0, wide),
        interval_disclosure(inputs, blended(inputs, dealt, ALPHA), wide).share,
        tolerance_withstood(inputs, released, table.max_lid[0]),
        row_linkage(inputs, released, (1,))[1],
    )


def tolerance_withstood(original: FloatArray, released: FloatArray, max_lid: float) -> float:
    """Return the tolerance, as a share of the range, just below which LID is at most ``max_lid``: an order statistic.

    >>> x = np.array([[0.0], [1.0]])
    >>> tolerance_withstood(x, x + [[0.1], [0.3]], 0.5)
    0.3
    """
    margins = np.sort((np.abs(original - released) / np.ptp(original, axis=0)).min(axis=1))
    return round(float(margins[min(int(max_lid * len(margins)), len(margins) - 1)]), 12)


def _errors(trial: Trial) -> dict[str, dict[str, float]]:
    """Train every model on every sample; errors are relative to predicting the mean of the test rows."""
    released, unit = trial.released("SH", ALPHA), float(np.var(trial.holdout[1]))
    trains = dict(zip(SAMPLES, (trial.original, released, trial.public, trial.combined(released)), strict=True))
    return {model: {name: trial.error(model, train) / unit for name, train in trains.items()} for model in MODELS}
