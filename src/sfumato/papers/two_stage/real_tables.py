"""Table 7 and figures 10 and 11: disclosure and prediction on five real tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sfumato.papers.result import Comparison, Part, comparison
from sfumato.papers.two_stage.data import ELASTICITIES, FloatArray, RealTable, Sample, read_table
from sfumato.papers.two_stage.prices import ALPHA as PRICE_ALPHA
from sfumato.papers.two_stage.prices import price_trial
from sfumato.papers.two_stage.published.disclosure_bounds import blended
from sfumato.papers.two_stage.trial import MODELS, SEED, Trial, part, trial_of
from sfumato.risk.interval_disclosure import interval_disclosure, row_linkage

if TYPE_CHECKING:
    from sfumato.papers.two_stage.shared_results import SharedResults

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
    released, predicted = trial.released("SH", ALPHA)
    released = released[:, : trial.columns]
    wide, tall = ETA * np.ptp(inputs, axis=0), ETA * float(np.ptp(outputs))
    dealt = np.random.default_rng([trial.seed, 6]).permutation(trial.matched["SH"])
    return (
        interval_disclosure(inputs, released, ETA).share,
        interval_disclosure(inputs, released, wide).share,
        interval_disclosure(outputs, predicted, ETA).share,
        interval_disclosure(outputs, predicted, tall).share,
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


CLOSE = 1.15
"""Errors at most so far apart are called equal: with test sets of 100 to 200 rows they are."""
FAR = 1.5


def table_7(work: SharedResults) -> Part:
    """Check every requirement of the provider and of the public."""
    found = work.real
    rows = [row for each in found.values() for row in (*_provider(each), _public(each))]
    numbers = {
        "disclosures": [
            (name, *map(_percent, (*f.inputs, f.floor, f.at_random, *f.output, f.linked))) for name, f in found.items()
        ],
        "errors": [(name, *(error for m in MODELS for error in f.errors[m].values())) for name, f in found.items()],
    }
    return part("table 7", numbers, more=rows)


def _provider(found: RealTableResult) -> tuple[Comparison, Comparison]:
    """Compare LID of inputs and output with what the provider asks for."""
    asked, name = found.table.max_lid, found.table.name
    words = [
        f"{_percent(own)} by unit: {_met_text(own <= limit)}; {_percent(wide)} by range: {_met_text(wide <= limit)}"
        for (own, wide), limit in zip((found.inputs, found.output), asked, strict=True)
    ]
    inputs = (
        "met in both readings"
        if found.inputs[1] <= asked[0]
        else (
            f"by range no alpha meets it: matching alone has {_percent(found.floor)} at alpha 0"
            if found.floor > asked[0]
            else f"by range alpha must fall below {ALPHA}: {_percent(found.floor)} at alpha 0"
        )
    )
    inputs += f"; at alpha {ALPHA} it holds for tolerances below {found.withstood:.1e} of the range"
    skewed = "a skewed target: many values lie within 0.001 of its range, and a good prediction is near its value"
    output = "met in both readings" if found.output[1] <= asked[1] else f"by range: {skewed}"
    return (
        comparison(f"{name}: LID of inputs", f"at most {_percent(asked[0])}", words[0], inputs),
        comparison(f"{name}: LID of output", f"at most {_percent(asked[1])}", words[1], output),
    )


def _public(found: RealTableResult) -> Comparison:
    """Compare Delta-MSE of every model with what the public asks for."""
    asked = found.table.least_gain
    missed = [model for model in MODELS if found.gain(model) < asked]
    ours = ", ".join(f"{MODELS[model]} {_percent(found.gain(model))}" for model in MODELS)
    why = "; ".join(reason(found, model) for model in missed) or "met by every model"
    return comparison(f"{found.table.name}: Delta-MSE", f"at least {_percent(asked)}", ours, why)


def reason(found: RealTableResult, model: str) -> str:
    """Say why a model misses the requirement, by what was measured."""
    errors, name = found.errors[model], MODELS[model]
    if found.ceiling(model) < found.table.least_gain:
        return f"{name} misses it: D itself gives {_percent(found.ceiling(model))} only"
    if errors["D*"] > CLOSE * errors["D"]:
        ratio = errors["D*"] / errors["D"]
        return f"{name} misses it: trained on D* its error is {ratio:.1f} times that on D"
    return f"{name} misses it by {100 * (found.table.least_gain - found.gain(model)):.0f} points, D* being as good as D"


def figure_10(work: SharedResults) -> Part:
    """Return LID against what is required, and Delta-MSE of every model."""
    found = work.real
    met = [
        sum(
            each.inputs[unit] <= each.table.max_lid[0] and each.output[unit] <= each.table.max_lid[1]
            for each in found.values()
        )
        for unit in (0, 1)
    ]
    gained = sum(each.gain(model) >= each.table.least_gain for each in found.values() for model in MODELS)
    lids = {
        "required": [each.table.max_lid[0] for each in found.values()],
        "by unit": [each.inputs[0] for each in found.values()],
        "by range": [each.inputs[1] for each in found.values()],
    }
    gains = {"required": [each.table.least_gain for each in found.values()]}
    gains |= {MODELS[m]: [each.gain(m) for each in found.values()] for m in MODELS}
    return part(
        "figure 10",
        {"by_unit": met[0], "by_range": met[1], "met": gained},
        drawn=[(tuple(found), lids), (tuple(found), gains)],
    )


def figure_11(work: SharedResults) -> Part:
    """Return errors on D and on D* alone: real tables, then prices."""
    ratios = {m: [f.errors[m]["D*"] / f.errors[m]["D"] for f in work.real.values()] for m in MODELS}
    flat = np.array(list(ratios.values())).ravel()
    worst = max(((m, n) for m in MODELS for n in work.real), key=lambda k: ratios[k[0]][list(work.real).index(k[1])])
    poor = [f"{MODELS[m]} on {n}" for m in MODELS for n, v in zip(work.real, ratios[m], strict=True) if v > FAR]
    trial = price_trial(SEED, ELASTICITIES[0])
    pairs = {m: (trial.error(m, trial.original), trial.error(m, trial.released("SH", PRICE_ALPHA))) for m in MODELS}
    better = [MODELS[m] for m, (first, second) in pairs.items() if second < first]
    numbers = {
        "median": np.median(flat),
        "close": int((flat <= CLOSE).sum()),
        "limit": CLOSE,
        "worst": flat.max(),
        "where": f"{MODELS[worst[0]]} on {worst[1]}",
        "far": FAR,
        "poor": poor or "none",
        "smooth": {MODELS[m]: pairs[m][1] / pairs[m][0] for m in ("krr", "nadaraya-watson")},
        "trees": {MODELS[m]: pairs[m][1] / pairs[m][0] for m in ("adaboost", "forest")},
        "better": f"agrees for {', '.join(better)}: D* has no noise" if better else "NOT reproduced",
    }
    return part(
        "figure 11",
        numbers,
        drawn=[
            (tuple(work.real), {MODELS[m]: values for m, values in ratios.items()}),
            (tuple(MODELS.values()), {"D": [pairs[m][0] for m in MODELS], "D*": [pairs[m][1] for m in MODELS]}),
        ],
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _met_text(yes: bool) -> str:
    return "met" if yes else "NOT met"
