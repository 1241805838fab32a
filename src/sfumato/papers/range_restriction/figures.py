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
from sfumato.papers.range_restriction.violins import (
    format_digits,
    list_values,
    part,
    spread_table,
    violin_chart,
    violins,
)
from sfumato.papers.result import Part

ORDER = (WEIGHTED, WIDE_TRUNCATED, NARROW_TRUNCATED, WIDE_AVERAGED, NARROW_AVERAGED)
"""From the largest epsilon to the smallest, as the paper has it."""
IMPLIED = PRINTED_EPSILON / PRINTED_SCALES[WEIGHTED]
"""Epsilon of Weighted by section 4.2: the printed epsilon over the printed scale."""


def in_order(values: dict[str, FloatArray], names: tuple[str, ...] = ORDER) -> FloatArray:
    """Return for each sample whether the values fall from name to name."""
    return np.all([values[a] > values[b] for a, b in pairwise(names)], axis=0)


def falls(values: dict[str, float], names: tuple[str, ...]) -> bool:
    """Say whether the values do not rise from name to name."""
    return all(values[a] >= values[b] for a, b in pairwise(names))


def means_of(samples: dict[str, FloatArray], names: tuple[str, ...] | None = None) -> dict[str, float]:
    """Return the mean of each sample, or of those that are named."""
    return {name: float(samples[name].mean()) for name in names or samples}


def figure_1(work: SharedResults) -> Part:
    """Return the bounds of all records of one sample."""
    bounds = {name: fitted.bounds for name, fitted in work.first.items()}
    epsilons = {name: fitted.epsilon for name, fitted in work.first.items()}
    numbers = {
        "epsilons": list_values(epsilons),
        "order": "agrees" if falls(epsilons, ORDER) else "not in this sample",
        "unweighted": format_digits(epsilons[UNWEIGHTED], 3),
    }
    return part(
        "figure 1", numbers, **violins("By-record Lipschitz bounds", "bound", bounds, "bounds of 2,000 records")
    )


def figure_2(work: SharedResults) -> Part:
    """Return epsilon over repeated samples."""
    epsilons, printed = work.samples.get("epsilon", SIX), work.samples.values["eq 15"]
    means, ordered = means_of(epsilons, ORDER), in_order(epsilons)
    numbers = {
        "repeats": beside_the_paper(work.repeats),
        "means": list_values(means),
        "order": "agrees" if falls(means, ORDER) else "does not hold",
        "ordered": int(ordered.sum()),
        "samples": len(ordered),
        "implied": IMPLIED,
        "weighted": means[WEIGHTED],
        "weighted_sd": epsilons[WEIGHTED].std(ddof=1),
        "equation_15": list_values(means_of(printed)),
        "above": int((printed[WIDE_TRUNCATED] > epsilons[WEIGHTED]).sum()),
    }
    return part("figure 2", numbers, **violins("Epsilon over samples", "epsilon", epsilons))


def figure_3(work: SharedResults) -> Part:
    """Return the ECDF mean squared difference over repeated samples."""
    msq = {name: 1000 * values for name, values in work.samples.get("ECDF msq", SIX).items()}
    means = means_of(msq, (WIDE_AVERAGED, NARROW_AVERAGED, WEIGHTED, UNWEIGHTED))
    numbers = {"repeats": beside_the_paper(work.repeats), "means": list_values(means)}
    title = "ECDF mean squared difference, x 1,000"
    return part("figure 3", numbers, **violins(title, "msq x 1,000", msq, title))


def figure_4(work: SharedResults) -> Part:
    """Return 90 % quantiles over repeated samples, beside those of the data."""
    ratios = {name: work.samples.ratio("Q90", name) for name in (UNWEIGHTED, WEIGHTED, WIDE_AVERAGED, NARROW_AVERAGED)}
    numbers = {"repeats": beside_the_paper(work.repeats), "ratios": list_values(ratios)}
    quantiles = work.samples.get("Q90", (DATA, *SIX))
    return part("figure 4", numbers, **violins("90 % quantile over samples", "Q90", quantiles, "90 % quantile"))


def figure_5(work: SharedResults) -> Part:
    """Return epsilon at four sample sizes."""
    by_size = {f"n = {size:,}": work.by_size[size].get("epsilon", SIX) for size in SIZES}
    numbers = {
        "repeats": work.repeats,
        "means": list_values({size: float(found[WEIGHTED].mean()) for size, found in by_size.items()}),
        "spreads": list_values({size: float(found[WEIGHTED].std(ddof=1)) for size, found in by_size.items()}),
    }
    return part(
        "figure 5",
        numbers,
        values=tuple(spread_table(f"epsilon, {size}", found) for size, found in by_size.items()),
        charts=tuple(violin_chart(size, "epsilon", found) for size, found in by_size.items()),
        charts_a_row=2,
    )


TAIL_NAMES = (UNWEIGHTED, WEIGHTED, WIDE_AVERAGED, *TOPS)
WIDER_RANGES = (WIDE_AVERAGED, *TOPS)


def figure_11(work: SharedResults) -> Part:
    """Return epsilon over repeated samples."""
    epsilons = work.samples.get("epsilon", TAIL_NAMES)
    steps = [epsilons[a] <= epsilons[b] for a, b in pairwise(WIDER_RANGES)]
    chain = np.all([*steps, epsilons[WIDER_RANGES[-1]] < epsilons[WEIGHTED]], axis=0)
    means = list_values(means_of(epsilons, (*WIDER_RANGES, WEIGHTED)))
    numbers = {"means": means, "chain": int(chain.sum()), "samples": len(chain)}
    return part("figure 11", numbers, **violins("Epsilon over samples", "epsilon", epsilons))


def _tail_utility(work: SharedResults, measure: str, words: str, factor: float = 1.0) -> Part:
    """Return an ECDF difference: small is good."""
    differences = {each: factor * values for each, values in work.samples.get(measure, TAIL_NAMES).items()}
    means = means_of(differences, (*WIDER_RANGES, WEIGHTED))
    rising = falls(means, WIDER_RANGES[::-1])
    numbers = {"means": list_values(means), "order": "agrees in the means" if rising else "does not hold in the means"}
    return part("figures 12 and 17", numbers, **violins(words, words, differences))


def _tail_statistic(work: SharedResults, measure: str, words: str) -> Part:
    """Return a statistic beside that of the data: near is good."""
    ratios = {each: work.samples.ratio(measure, each) for each in (*WIDER_RANGES, WEIGHTED)}
    order = "agrees" if falls(ratios, WIDER_RANGES) else "does not hold"
    shown = violins(f"{words} over samples", words, work.samples.get(measure, (DATA, *TAIL_NAMES)))
    return part("figures 13, 14 and 18", {"ratios": list_values(ratios), "order": order}, **shown)


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
    scales, fixed = work.scaled_samples.values["scale"], work.scaled_samples.values["at printed scale"]
    numbers = {
        "repeats": work.repeats,
        "seed": FIRST_SEED,
        "printed_epsilon": PRINTED_EPSILON,
        "epsilons": list_values({name: work.scaled_first[name].epsilon for name in THREE}),
        "scales": [
            {
                "name": name,
                "printed": printed,
                "scale": scales[name].mean(),
                "sd": scales[name].std(ddof=1),
                "fixed": fixed[name].mean(),
                "fixed_sd": fixed[name].std(ddof=1),
            }
            for name, printed in PRINTED_SCALES.items()
        ],
    }
    title = "By-record Lipschitz bounds at equal epsilon"
    return part("figure 6", numbers, **violins(title, "bound", bounds, "bounds of 2,000 records"))


def figure_7(work: SharedResults) -> Part:
    """Return the weights at equal epsilon."""
    weights = {name: fitted.weights for name, fitted in work.scaled_first.items()}
    shown = violins("Weights at equal epsilon", "alpha", weights, "weights of 2,000 records")
    return part("figure 7", {"means": list_values(means_of(weights))}, **shown)


def _statistic(work: SharedResults, measure: str, words: str) -> Part:
    copies = {
        each: np.array([statistics(copy)[measure] for copy in synthetic_copies(fitted, FIRST_SEED, SETS)])
        for each, fitted in work.scaled_first.items()
    }
    truth = statistics(simulated_sample(FIRST_SEED).x)[measure]
    scaled = work.scaled_samples.values["ECDF msq"]
    numbers = {
        "sets": SETS,
        "seed": FIRST_SEED,
        "statistic": words,
        "ratios": list_values({each: float(values.mean() / truth) for each, values in copies.items()}),
        "errors": format_digits(_standard_errors_apart(copies[NARROW_TRUNCATED], copies[WEIGHTED]), 2),
        "repeats": work.repeats,
        "equal_epsilon": list_values({name: 1000 * float(scaled[name].mean()) for name in THREE}),
    }
    shown = violins(f"{words} of synthetic sets", words, copies, rules=(("data", truth),))
    return part("figures 8 to 10", numbers, **shown)


def _standard_errors_apart(best: FloatArray, worst: FloatArray) -> float:
    """Return by how many standard errors two means differ."""
    error = float(np.hypot(best.std(ddof=1), worst.std(ddof=1))) / len(best) ** 0.5
    return abs(float(best.mean() - worst.mean())) / error


figure_8 = partial(_statistic, measure="mean", words="mean")
figure_9 = partial(_statistic, measure="median", words="median")
figure_10 = partial(_statistic, measure="Q90", words="90 % quantile")
