"""Figures 1 to 14, 17 and 18: epsilon and utility over repeated samples, and at equal epsilon."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np

from sfumato.papers.range_restriction.simulation import (
    DATA,
    FIRST_SEED,
    NARROW_AVERAGED,
    NARROW_TRUNCATED,
    PRINTED_EPSILON,
    PRINTED_SCALES,
    SIX,
    SIZES,
    TOPS,
    UNWEIGHTED,
    WEIGHTED,
    WIDE_AVERAGED,
    WIDE_TRUNCATED,
    FloatArray,
    SharedResults,
    beside_the_paper,
    simulated_sample,
    statistics,
    synthetic_copies,
)
from sfumato.papers.range_restriction.violins import format_digits, list_values, spread_table, violin_chart
from sfumato.papers.result import Comparison, Part, comparison

ORDER = (WEIGHTED, WIDE_TRUNCATED, NARROW_TRUNCATED, WIDE_AVERAGED, NARROW_AVERAGED)
"""From the largest epsilon to the smallest, as the paper has it."""
IMPLIED = PRINTED_EPSILON / PRINTED_SCALES[WEIGHTED]
"""Epsilon of Weighted by section 4.2: the printed epsilon over the printed scale."""
PROTOCOL = "n = 2,000, S = 1,000 draws in closed form, exact lambda; repeated samples: {repeats}."


def in_order(values: dict[str, FloatArray], names: tuple[str, ...] = ORDER) -> FloatArray:
    """Return for each sample whether the values fall from name to name."""
    return np.all([values[a] > values[b] for a, b in pairwise(names)], axis=0)


def figure_1(work: SharedResults) -> Part:
    """Return the bounds of all records of one sample."""
    bounds = {name: fitted.bounds for name, fitted in work.first.items()}
    epsilons = {name: fitted.epsilon for name, fitted in work.first.items()}
    falls = [epsilons[name] for name in ORDER]
    return Part(
        text=(
            "One sample, seed 1000. Epsilon is twice the largest bound. Per-record bounds say who is risky: they "
            "are drawn for this simulated table only, and never published.",
        ),
        comparisons=(
            comparison(
                "order of epsilon",
                "Weighted, (0.4, 1.8) trunc, (0.6, 1.2) trunc, then the two averaged",
                list_values(epsilons),
                "agrees" if falls == sorted(falls, reverse=True) else "not in this sample",
            ),
            comparison(
                "Weighted has the highest",
                "as stated",
                f"Unweighted has {format_digits(epsilons[UNWEIGHTED], 3)}",
                "the paper does not count the synthesizer without weights",
            ),
        ),
        values=(spread_table("bounds of 2,000 records", bounds),),
        charts=(violin_chart("By-record Lipschitz bounds", "bound", bounds),),
    )


def figure_2(work: SharedResults) -> Part:
    """Return epsilon over repeated samples."""
    found = work.samples.get("epsilon", SIX)
    means = {name: float(found[name].mean()) for name in ORDER}
    holds, rates = in_order(found), list(means.values())
    return Part(
        text=(PROTOCOL.format(repeats=beside_the_paper(work.repeats)),),
        comparisons=(
            comparison(
                "order of the means",
                "Weighted > trunc wide > trunc narrow > avg wide > avg narrow",
                list_values(means),
                "agrees" if rates == sorted(rates, reverse=True) else "does not hold",
            ),
            comparison(
                "order in every sample",
                "not stated",
                f"{int(holds.sum())} of {len(holds)} samples",
                "where it fails, a tiny x has f - log P above 0, and the narrow truncated bound exceeds the wide",
            ),
            comparison(
                "epsilon of Weighted",
                f"5.7 / 0.73 = {IMPLIED:.1f}, from section 4.2",
                f"{means[WEIGHTED]:.2f} (sd {found[WEIGHTED].std(ddof=1):.2f})",
                "agrees for risks moved to 0 .. 1 by smallest and largest, not for the printed weights (erratum j)",
            ),
            _equation_15(work),
        ),
        values=(spread_table("epsilon", found),),
        charts=(violin_chart("Epsilon over samples", "epsilon", found),),
    )


def _equation_15(work: SharedResults) -> Comparison:
    printed = {name: float(values.mean()) for name, values in work.samples.values["eq 15"].items()}
    above = work.samples.values["eq 15"][WIDE_TRUNCATED] > work.samples.values["epsilon"][WEIGHTED]
    return comparison(
        "truncated, by eq. 15 as printed",
        "below Weighted",
        f"{list_values(printed)}; above Weighted in {int(above.sum())} of {len(above)} samples",
        "eq. 15 lacks the weight on log P; the figures fit alpha (f - log P), which stands above",
    )


def figure_3(work: SharedResults) -> Part:
    """Return the ECDF mean squared difference over repeated samples."""
    found = {name: 1000 * values for name, values in work.samples.get("ECDF msq", SIX).items()}
    means = {name: float(values.mean()) for name, values in found.items()}
    return Part(
        text=(
            f"{PROTOCOL.format(repeats=beside_the_paper(work.repeats))} Averages over 20 synthetic copies. "
            "The differences are squared, as the name of the measure says; the text says average.",
        ),
        comparisons=(
            comparison(
                "averaged synthesizers",
                "highest utility",
                list_values({k: means[k] for k in (WIDE_AVERAGED, NARROW_AVERAGED, WEIGHTED, UNWEIGHTED)})
                + " (x 1,000)",
                "agrees, and it is no amplification: the riskiest records get a weight near 1 (erratum b)",
            ),
            comparison(
                "Weighted and truncated",
                "the same up to Monte Carlo error",
                "identical",
                "agrees: they draw from one posterior, here with shared random numbers",
            ),
            comparison(
                "a shorter range",
                "improves utility for either standard",
                "for averaged only",
                "truncated ranges do not enter the posterior at all",
            ),
        ),
        values=(spread_table("ECDF mean squared difference, x 1,000", found),),
        charts=(violin_chart("ECDF mean squared difference, x 1,000", "msq x 1,000", found),),
    )


def figure_4(work: SharedResults) -> Part:
    """Return 90 % quantiles over repeated samples, beside those of the data."""
    names = (DATA, *SIX)
    found = work.samples.get("Q90", names)
    ratios = {name: work.samples.ratio("Q90", name) for name in (UNWEIGHTED, WEIGHTED, WIDE_AVERAGED, NARROW_AVERAGED)}
    return Part(
        text=(f"{PROTOCOL.format(repeats=beside_the_paper(work.repeats))} Averages over 20 synthetic copies.",),
        comparisons=(
            comparison(
                "closest to the data",
                "the averaged synthesizers",
                f"ratio to the data: {list_values(ratios)}",
                "agrees; Weighted loses a sixth of the tail, since tail records have weights near 0",
            ),
        ),
        values=(spread_table("90 % quantile", found),),
        charts=(violin_chart("90 % quantile over samples", "Q90", found),),
    )


def figure_5(work: SharedResults) -> Part:
    """Return epsilon at four sample sizes."""
    by_size = {size: each.get("epsilon", SIX) for size, each in work.by_size.items()}
    weighted = {f"n = {size:,}": float(found[WEIGHTED].mean()) for size, found in by_size.items()}
    spreads = {f"n = {size:,}": float(found[WEIGHTED].std(ddof=1)) for size, found in by_size.items()}
    return Part(
        text=(f"{work.repeats} samples of each size, seeds from 5000. The square root of 6400 / 200 is 5.7.",),
        comparisons=(
            comparison(
                "as n grows",
                "the local epsilon contracts onto the global one",
                f"means of Weighted: {list_values(weighted)}",
                "NOT reproduced: means rise with n. The largest |log density| of a sample "
                "from an unbounded law has no finite limit, so there is nothing to contract onto",
            ),
            comparison(
                "spread",
                "shrinks like n^(-1/2)",
                f"sd of Weighted: {list_values(spreads)}",
                "NOT reproduced: it does not shrink",
            ),
        ),
        values=tuple(spread_table(f"epsilon, n = {size:,}", by_size[size]) for size in SIZES),
        charts=tuple(violin_chart(f"n = {size:,}", "epsilon", by_size[size]) for size in SIZES),
        charts_a_row=2,
    )


TAIL_NAMES = (UNWEIGHTED, WEIGHTED, WIDE_AVERAGED, *TOPS)
WIDER_RANGES = (WIDE_AVERAGED, *TOPS)
TAIL_TEXT = "The top 1, 5 or 10 % of the values have the range (0.2, 2.4), all others (0.4, 1.8); range-averaged."


def figure_11(work: SharedResults) -> Part:
    """Return epsilon over repeated samples."""
    found = work.samples.get("epsilon", TAIL_NAMES)
    means = {name: float(found[name].mean()) for name in (*WIDER_RANGES, WEIGHTED)}
    steps = [found[a] <= found[b] for a, b in pairwise(WIDER_RANGES)]
    chain = np.all([*steps, found[WIDER_RANGES[-1]] < found[WEIGHTED]], axis=0)
    return Part(
        text=(TAIL_TEXT,),
        comparisons=(
            comparison(
                "more records with a wider range",
                "epsilon rises, and stays below Weighted",
                list_values(means),
                f"agrees in the means; with shared draws the whole chain in {int(chain.sum())} of {len(chain)} "
                "samples; 5 and 10 % hardly differ",
            ),
        ),
        values=(spread_table("epsilon", found),),
        charts=(violin_chart("Epsilon over samples", "epsilon", found),),
    )


def _tail_utility(work: SharedResults, measure: str, words: str, factor: float = 1.0) -> Part:
    """Return an ECDF difference: small is good."""
    found = {each: factor * values for each, values in work.samples.get(measure, TAIL_NAMES).items()}
    means = {each: float(found[each].mean()) for each in (*WIDER_RANGES, WEIGHTED)}
    rising = [means[each] for each in WIDER_RANGES]
    return Part(
        text=(TAIL_TEXT,),
        comparisons=(
            comparison(
                "more records with a wider range",
                "utility falls",
                list_values(means),
                "agrees in the means" if rising == sorted(rising) else "does not hold in the means",
            ),
        ),
        values=(spread_table(words, found),),
        charts=(violin_chart(words, words, found),),
    )


def _tail_statistic(work: SharedResults, measure: str, words: str) -> Part:
    """Return a statistic beside that of the data: near is good."""
    found = work.samples.get(measure, (DATA, *TAIL_NAMES))
    ratios = {each: work.samples.ratio(measure, each) for each in (*WIDER_RANGES, WEIGHTED)}
    falling = [ratios[each] for each in WIDER_RANGES]
    return Part(
        text=(TAIL_TEXT,),
        comparisons=(
            comparison(
                "more records with a wider range",
                "further from the data",
                f"ratio to the data: {list_values(ratios)}",
                "agrees" if falling == sorted(falling, reverse=True) else "does not hold",
            ),
        ),
        values=(spread_table(words, found),),
        charts=(violin_chart(f"{words} over samples", words, found),),
    )


figure_12 = partial(_tail_utility, measure="ECDF max", words="ECDF maximum difference")
figure_13 = partial(_tail_statistic, measure="median", words="median")
figure_14 = partial(_tail_statistic, measure="Q90", words="90 % quantile")
figure_17 = partial(_tail_utility, measure="ECDF msq", words="ECDF msq x 1,000", factor=1000.0)
figure_18 = partial(_tail_statistic, measure="mean", words="mean")


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
