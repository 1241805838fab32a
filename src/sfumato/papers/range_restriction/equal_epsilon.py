"""Figures 6 to 10: synthesizers scaled to the same claimed epsilon."""

from __future__ import annotations

from functools import partial

import numpy as np

from sfumato.papers.range_restriction.simulation import (
    FIRST_SEED,
    NARROW_TRUNCATED,
    PRINTED_EPSILON,
    PRINTED_SCALES,
    UNWEIGHTED,
    WEIGHTED,
    WIDE_TRUNCATED,
    FloatArray,
    SharedResults,
    simulated_sample,
    statistics,
    synthetic_copies,
)
from sfumato.papers.range_restriction.violins import format_digits, list_values, spread_table, violin_chart
from sfumato.papers.result import Comparison, Part, comparison

SETS = 100
"""Synthetic sets of the one sample behind figures 8 to 10."""
THREE = (WEIGHTED, WIDE_TRUNCATED, NARROW_TRUNCATED)


def figure_6(work: SharedResults) -> Part:
    """Return the bounds of all records at equal epsilon."""
    bounds = {name: fitted.bounds for name, fitted in work.scaled_first.items()}
    epsilons = {name: work.scaled_first[name].epsilon for name in THREE}
    scales, fixed = work.scaled_samples.values["scale"], work.scaled_samples.values["at printed scale"]
    rows = tuple(
        comparison(
            f"scale of {name}",
            str(printed),
            f"{scales[name].mean():.3f} (sd {scales[name].std(ddof=1):.3f})",
            f"agrees; at the fixed {printed} epsilon is {fixed[name].mean():.2f} (sd "
            f"{fixed[name].std(ddof=1):.2f}), so a printed scale does not carry over to another sample",
        )
        for name, printed in PRINTED_SCALES.items()
    )
    return Part(
        text=(f"Scales over {work.repeats} samples; violins of the sample with seed {FIRST_SEED}.",),
        comparisons=(
            comparison(
                "epsilon of all three",
                f"roughly {PRINTED_EPSILON}",
                list_values(epsilons),
                "one sample each, and not the same one",
            ),
            *rows,
        ),
        values=(spread_table("bounds of 2,000 records", bounds),),
        charts=(violin_chart("By-record Lipschitz bounds at equal epsilon", "bound", bounds),),
    )


def figure_7(work: SharedResults) -> Part:
    """Return the weights at equal epsilon."""
    weights = {name: fitted.weights for name, fitted in work.scaled_first.items()}
    means = {name: float(values.mean()) for name, values in weights.items()}
    return Part(
        comparisons=(
            comparison(
                "order of the weights",
                "Unweighted 1, then trunc narrow, trunc wide, Weighted",
                f"mean weight {list_values(means)}",
                "agrees: the scale is all that differs",
            ),
        ),
        values=(spread_table("weights of 2,000 records", weights),),
        charts=(violin_chart("Weights at equal epsilon", "alpha", weights),),
    )


def _statistic(work: SharedResults, measure: str, words: str) -> Part:
    real = simulated_sample(FIRST_SEED).x
    found = {
        each: np.array([statistics(copy)[measure] for copy in synthetic_copies(fitted, FIRST_SEED, SETS)])
        for each, fitted in work.scaled_first.items()
    }
    truth = statistics(real)[measure]
    ratios = {each: float(values.mean() / truth) for each, values in found.items()}
    return Part(
        text=(f"{SETS} synthetic sets of the sample with seed {FIRST_SEED}; the line is the data.",),
        comparisons=(
            comparison(
                words,
                "trunc narrow best, then trunc wide, then Weighted",
                f"ratio to the data: {list_values(ratios)}",
                _verdict(ratios, found),
            ),
            _utility(work),
        ),
        values=(spread_table(words, found),),
        charts=(violin_chart(f"{words} of synthetic sets", words, found, rules=(("data", truth),)),),
    )


def _verdict(ratios: dict[str, float], found: dict[str, FloatArray]) -> str:
    """Say by how many standard errors the best and the worst of the three differ."""
    best, worst = found[NARROW_TRUNCATED], found[WEIGHTED]
    error = float(np.hypot(best.std(ddof=1), worst.std(ddof=1))) / len(best) ** 0.5
    gap = (ratios[NARROW_TRUNCATED] - ratios[WEIGHTED]) / (error / (worst.mean() / ratios[WEIGHTED]))
    return (
        f"no gain to speak of: narrow and Weighted are {format_digits(abs(float(gap)), 2)} standard errors apart, "
        f"and each is "
        f"far below {UNWEIGHTED}"
    )


def _utility(work: SharedResults) -> Comparison:
    scaled = work.scaled_samples.values["ECDF msq"]
    means = {name: 1000 * float(scaled[name].mean()) for name in THREE}
    return comparison(
        f"ECDF msq x 1,000, mean of {work.repeats} samples",
        "higher utility at equal epsilon",
        list_values(means),
        "NOT visible: a scale cancels in the weighted posterior mean, it only widens the posterior",
    )


figure_8 = partial(_statistic, measure="mean", words="mean")
figure_9 = partial(_statistic, measure="median", words="median")
figure_10 = partial(_statistic, measure="Q90", words="90 % quantile")
