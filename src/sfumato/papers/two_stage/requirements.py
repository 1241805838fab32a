"""Table 7 and figures 10 and 11: requirements of provider and public on real tables, each with its reason."""

from __future__ import annotations

import numpy as np

from sfumato.papers.two_stage.data import ELASTICITIES
from sfumato.papers.two_stage.prices import ALPHA as PRICE_ALPHA
from sfumato.papers.two_stage.prices import price_trial
from sfumato.papers.two_stage.real_tables import ALPHA, ETA, RealTableResult
from sfumato.papers.two_stage.results import Comparison, Part, ValueTable, bars, comparison, table
from sfumato.papers.two_stage.shared_results import SharedResults
from sfumato.papers.two_stage.trial import MODELS, SEED

CLOSE = 1.15
"""Errors at most so far apart are called equal: with test sets of 100 to 200 rows they are."""
FAR = 1.5
UNIT_TEXT = (
    "The paper does not say in which unit its tolerance is on real tables. Two readings: 0.001 in the unit of the "
    "table (a year, a dollar), and 0.001 of the range of each column, which is what it means on simulated data."
)


def table_7(work: SharedResults) -> Part:
    """Check every requirement of the provider and of the public."""
    found = work.real
    rows = [row for each in found.values() for row in (*_provider(each), _public(each))]
    return Part(
        name="table 7",
        text=(
            UNIT_TEXT,
            "Released at alpha 0.5. Sexes, regions and the like are released as they are, "
            "as in the paper, and do not count in LID.",
        ),
        comparisons=tuple(rows),
        values=(_disclosures(found), _gains(found)),
    )


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


def _disclosures(found: dict[str, RealTableResult]) -> ValueTable:
    header = (
        "",
        "inputs, unit",
        "inputs, range",
        "at alpha 0",
        "pairs at random",
        "output, unit",
        "output, range",
        "linked, top 1",
    )
    rows = [
        (name, *(_percent(v) for v in (*f.inputs, f.floor, f.at_random, *f.output, f.linked)))
        for name, f in found.items()
    ]
    return table(f"LID at alpha {ALPHA} and tolerance {ETA}", header, rows)


def _gains(found: dict[str, RealTableResult]) -> ValueTable:
    header = ("", *(f"{MODELS[model]} {sample}" for model in MODELS for sample in ("D", "D*", "D'", "D' + D*")))
    rows = [
        (name, *(f"{value:.3f}" for model in MODELS for value in each.errors[model].values()))
        for name, each in found.items()
    ]
    return table("Error over that of predicting the mean", header, rows)


def figure_10(work: SharedResults) -> Part:
    """Return LID against what is required, and Delta-MSE of every model."""
    found = work.real
    own = [
        each.inputs[0] <= each.table.max_lid[0] and each.output[0] <= each.table.max_lid[1] for each in found.values()
    ]
    wide = [
        each.inputs[1] <= each.table.max_lid[0] and each.output[1] <= each.table.max_lid[1] for each in found.values()
    ]
    met = sum(each.gain(model) >= each.table.least_gain for each in found.values() for model in MODELS)
    names = tuple(found)
    return Part(
        name="figure 10",
        text=(UNIT_TEXT,),
        comparisons=(
            comparison(
                "LID below the thresholds at alpha 0.5",
                "all five tables",
                f"{sum(own)} of 5 by unit, {sum(wide)} of 5 by range",
                "the unit decides: 0.001 of a dollar is no attack, and by range matching keeps rows too near",
            ),
            comparison(
                "the public's requirement",
                "met but for a few marked cases",
                f"{met} of 20 (table 7 has reasons)",
                "agrees: most are met, and table 7 has the measured reason of each other one",
            ),
        ),
        charts=(
            bars(
                "(a) LID of inputs",
                "table",
                "LID",
                names,
                {
                    "required": [f.table.max_lid[0] for f in found.values()],
                    "by unit": [f.inputs[0] for f in found.values()],
                    "by range": [f.inputs[1] for f in found.values()],
                },
            ),
            bars(
                "(b) Delta-MSE",
                "table",
                "Delta-MSE",
                names,
                {
                    "required": [f.table.least_gain for f in found.values()],
                    **{MODELS[m]: [f.gain(m) for f in found.values()] for m in MODELS},
                },
            ),
        ),
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
    return Part(
        name="figure 11",
        text=("The test rows are those of figure 10; the paper tests on more when |D'| = 0.",),
        comparisons=(
            comparison(
                "real tables: error on D* over that on D",
                "very close for most",
                f"median {np.median(flat):.2f}; {int((flat <= CLOSE).sum())} of 20 at most {CLOSE}; worst "
                f"{flat.max():.1f} ({MODELS[worst[0]]} on {worst[1]})",
                f"agrees for most. More than {FAR} times: {', '.join(poor) or 'none'}; EIA has heavy tails, "
                "and blends fall where no row is",
            ),
            comparison(
                "prices: #KRR, #NWK",
                "nearly identical",
                ", ".join(f"{MODELS[m]} {pairs[m][1] / pairs[m][0]:.2f}" for m in ("krr", "nadaraya-watson")),
                "error on D* over that on D, brand 1",
            ),
            comparison(
                "prices: #AdaBoost, #RF",
                "lower on D*",
                ", ".join(f"{MODELS[m]} {pairs[m][1] / pairs[m][0]:.2f}" for m in ("adaboost", "forest")),
                f"agrees for {', '.join(better)}: D* has no noise" if better else "NOT reproduced",
            ),
        ),
        charts=(
            bars(
                "(a) Error on D* over that on D",
                "table",
                "ratio",
                tuple(work.real),
                {MODELS[m]: values for m, values in ratios.items()},
            ),
            bars(
                "(b) Prices, brand 1",
                "model",
                "MSE",
                tuple(MODELS.values()),
                {"D": [pairs[m][0] for m in MODELS], "D*": [pairs[m][1] for m in MODELS]},
            ),
        ),
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _met_text(yes: bool) -> str:
    return "met" if yes else "NOT met"
