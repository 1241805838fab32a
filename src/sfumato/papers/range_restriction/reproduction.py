"""Parts, errata and settings of the range-restriction reproduction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfumato.papers.compute import PaperParts, PartEntry, require_repeats
from sfumato.papers.data import data_folder, missing_files
from sfumato.papers.range_restriction import fatigue, figures
from sfumato.papers.range_restriction.families import Family, make_family
from sfumato.papers.range_restriction.fatigue import rows_used
from sfumato.papers.range_restriction.figures import IMPLIED, in_order
from sfumato.papers.range_restriction.published.measured_loss import (
    MeasuredLoss,
    OutlierLoss,
    add_outlier,
    leave_one_out,
)
from sfumato.papers.range_restriction.published.weights import (
    Extremes,
    WeightedPosterior,
    Weighting,
    claimed_epsilon,
    truncated_bounds,
)
from sfumato.papers.range_restriction.simulation import (
    CONTRACTION_SEED,
    COPIES,
    FATIGUE,
    FIRST_SEED,
    NARROW,
    NARROW_AVERAGED,
    NARROW_TRUNCATED,
    PRINTED_EPSILON,
    REPEATS,
    SIX,
    UNWEIGHTED,
    WEIGHTED,
    WIDE,
    WIDE_AVERAGED,
    WIDE_TRUNCATED,
    FloatArray,
    SharedResults,
    beside_the_paper,
    simulated_sample,
)
from sfumato.papers.range_restriction.violins import format_digits, list_values
from sfumato.papers.result import Erratum, Reproduction
from sfumato.papers.texts import read_errata

RESIDUALS = (4.0, 5.0, 6.0, 10.0, 20.0, 50.0)
AT_Z = 2.0
CAPPED = Weighting("capped", target_claim=8.0)
UNITS = (0.001, 0.1, 1.0, 10.0, 1000.0, 1e6)
DRAWS = (100, 1000, 10_000, 100_000)
SHARES = (0.6, 0.3, 0.09, 0.01)
FIT_DRAWS = 1000


def first_family(unit: float = 1.0) -> Family:
    """Return the first sample under the paper's model, in another unit of x if asked for."""
    sample = simulated_sample(FIRST_SEED)
    return make_family("lognormal", unit * sample.x, sample.z)


def generator(stream: int) -> np.random.Generator:
    """Return the random numbers of one measurement."""
    return np.random.default_rng([FIRST_SEED, stream])


def loss_of_added_record(weighting: Weighting, residuals: tuple[float, ...] = RESIDUALS) -> list[OutlierLoss]:
    """Return the loss from adding one record at z = 2 with a large residual, weights computed anew."""
    family = first_family()
    return [add_outlier(family, weighting, r, generator(4), predictors=[AT_Z]) for r in residuals]


def loss_of_left_out_record(names: tuple[str, ...]) -> dict[str, MeasuredLoss]:
    """Return the loss from leaving out one of the 20 records furthest from the fit."""
    family = first_family()
    return {name: leave_one_out(family, SIX[name], generator(5)) for name in names}


def by_unit() -> dict[float, WeightedPosterior]:
    """Return the weighted fit of the same data in other units."""
    return {unit: SIX["Weighted"].fit(first_family(unit), generator(1)) for unit in UNITS}


def of_logs() -> WeightedPosterior:
    """Return the weighted fit of log x under a normal model: the same model without the Jacobian."""
    sample = simulated_sample(FIRST_SEED)
    return SIX["Weighted"].fit(make_family("normal", np.log(sample.x), sample.z), generator(1))


def truncated_in_tenths() -> tuple[float, float]:
    """Return the epsilons of both truncated synthesizers with x in units ten times as large."""
    family = first_family(0.1)
    wide, narrow = (Weighting("truncated", ranges=ranges).fit(family, generator(1)) for ranges in (WIDE, NARROW))
    return wide.epsilon, narrow.epsilon


def by_draws() -> dict[int, float]:
    """Return the weighted epsilon by the number of draws that are looked at."""
    family = first_family()
    return {draws: Weighting("weighted", draws=draws).fit(family, generator(6)).epsilon for draws in DRAWS}


@dataclass(frozen=True, eq=False)
class RareCategory:
    """The rarest of four categories: its weight and its shares before and after."""

    weight: float
    share: float
    synthetic: float


def rare_category(records: int = 2000, copies: int = 20) -> RareCategory:
    """Return what becomes of a category of 1 % under risk weights."""
    numbers = generator(7)
    codes = numbers.choice(len(SHARES), records, p=SHARES)
    fitted = Weighting("weighted").fit(make_family("categorical", codes), numbers)
    made: list[FloatArray] = [fitted.synthesise(copy, None, numbers) for copy in range(copies)]
    rarest = codes == len(SHARES) - 1
    return RareCategory(
        weight=float(fitted.weights[rarest].max()),
        share=float(rarest.mean()),
        synthetic=float(np.mean([(copy == len(SHARES) - 1).mean() for copy in made])),
    )


PRINTED_WEIGHT_SEEDS = range(FIRST_SEED, FIRST_SEED + 20)


def claims_of_printed_weights(seeds: Iterable[int]) -> FloatArray:
    """Return the claims where alpha is 1 / max |f| with 1 as the largest: Weighted, wide and narrow truncated."""
    return np.array([_printed_claims(seed) for seed in seeds])


def _printed_claims(seed: int) -> list[float]:
    sample = simulated_sample(seed)
    family, numbers = make_family("lognormal", sample.x, sample.z), np.random.default_rng([seed, 8])
    plain = family.posterior(np.ones(len(sample.x)))
    risk = Extremes.of(plain, plain.draw(family.numbers(FIT_DRAWS, numbers))).risk
    weights = risk.min() / risk
    posterior = family.posterior(weights)
    draws = posterior.draw(family.numbers(FIT_DRAWS, numbers))
    limits = (None, *(ranges.limits(family.values, family.kind) for ranges in (WIDE, NARROW)))
    return [claimed_epsilon(truncated_bounds(Extremes.of(posterior, draws, each), weights)) for each in limits]


def errata(work: SharedResults) -> tuple[Erratum, ...]:
    """Return all items: a to j as on the docs page, then what does not reproduce."""
    numbers = {**_claims(work), **_records(), **_units_and_draws(), **_printed_weights(), **_experiments(work)}
    return read_errata("sfumato.papers.range_restriction", numbers)


def _claims(work: SharedResults) -> dict[str, object]:
    samples = work.samples
    printed, weighted = samples.values["eq 15"], samples.values["epsilon"][WEIGHTED]
    above = printed[WIDE_TRUNCATED] > weighted
    averaged, four = (WIDE_AVERAGED, NARROW_AVERAGED), (UNWEIGHTED, WEIGHTED, WIDE_AVERAGED, NARROW_AVERAGED)
    return {
        "weighted": weighted.mean(),
        "above": int(above.sum()),
        "samples": len(above),
        "equation_15": list_values({name: float(values.mean()) for name, values in printed.items()}),
        "averaged_claims": list_values({name: samples.mean("epsilon", name) for name in averaged}),
        "whole_exponent": list_values({name: samples.mean("whole exponent", name) for name in averaged}),
        "unweighted": samples.mean("epsilon", UNWEIGHTED),
        "left_out": list_values({name: loss.epsilon for name, loss in loss_of_left_out_record(four).items()}),
        "claims": list_values({name: samples.mean("epsilon", name) for name in four}),
        "oscillation": list_values({name: samples.mean("oscillation", name) for name in four}),
        "copies": COPIES,
        "printed_epsilon": PRINTED_EPSILON,
        "all_copies": COPIES * PRINTED_EPSILON,
    }


def _printed_weights() -> dict[str, object]:
    claims = claims_of_printed_weights(PRINTED_WEIGHT_SEEDS)
    means = zip((WEIGHTED, WIDE_TRUNCATED, NARROW_TRUNCATED), claims.mean(axis=0).tolist(), strict=True)
    return {
        "printed_weights": list_values(dict(means)),
        "printed_samples": len(claims),
        "narrow_above": int((claims[:, 2] > claims[:, 0]).sum()),
        "most_weighted": claims[:, 0].max(),
        "implied": IMPLIED,
    }


def _records() -> dict[str, object]:
    numbers: dict[str, object] = {}
    for name, weighting in (("weighted", SIX[WEIGHTED]), ("averaged", SIX[NARROW_AVERAGED]), ("capped", CAPPED)):
        losses = loss_of_added_record(weighting)
        numbers[f"{name}_losses"] = ", ".join(
            f"r = {each.residual:g}: {format_digits(each.loss.epsilon, 3)} / {format_digits(each.claim, 3)}"
            for each in losses
        )
        numbers[f"{name}_from"] = next((f"{each.residual:g}" for each in losses if each.above_claim), "none")
    rare = rare_category()
    return numbers | {"rare_weight": rare.weight, "rare_share": rare.share, "rare_synthetic": rare.synthetic}


def _units_and_draws() -> dict[str, object]:
    wide, narrow = truncated_in_tenths()
    return {
        "by_unit": ", ".join(f"k = {unit:g}: {fitted.epsilon:.2f}" for unit, fitted in by_unit().items()),
        "of_logs": of_logs().epsilon,
        "tenths_wide": wide,
        "tenths_narrow": narrow,
        "by_draws": list_values({f"S = {draws:,}": value for draws, value in by_draws().items()}),
    }


def _experiments(work: SharedResults) -> dict[str, object]:
    scaled = work.scaled_samples.values["ECDF msq"]
    gain = {name: 1000 * float(scaled[name].mean()) for name in (WEIGHTED, WIDE_TRUNCATED, NARROW_TRUNCATED)}
    return {
        "fatigue": fatigue_text(work),
        "ordered": int(in_order(work.samples.get("epsilon", SIX)).sum()),
        "by_size": list_values({f"n = {n:,}": each.mean("epsilon", WEIGHTED) for n, each in work.by_size.items()}),
        "equal_epsilon": list_values(gain),
    }


def fatigue_text(work: SharedResults) -> str:
    """Return what is known about section 5, with or without its data."""
    if missing_files(data_folder(work.folder), (FATIGUE,)):
        return f"not recomputed: {FATIGUE} is missing"
    data = "printed {printed_data}; {used_data}".format_map(rows_used(work))
    return f"{data}. Table 1 is not reproduced by a flat-prior regression on stress"


TAIL = "with wider ranges in the tail"
PARTS = PaperParts[SharedResults](
    paper="range-restriction",
    entries=(
        PartEntry("figure 1", "Lipschitz bounds of the records of one sample", figures.figure_1),
        PartEntry("figure 2", "epsilon over repeated samples", figures.figure_2),
        PartEntry("figure 3", "ECDF mean squared difference over repeated samples", figures.figure_3),
        PartEntry("figure 4", "90 % quantiles over repeated samples", figures.figure_4),
        PartEntry("figure 5", "epsilon at four sample sizes", figures.figure_5),
        PartEntry("figure 6", "Lipschitz bounds at equal epsilon", figures.figure_6),
        PartEntry("figure 7", "weights at equal epsilon", figures.figure_7),
        PartEntry("figure 8", "means at equal epsilon", figures.figure_8),
        PartEntry("figure 9", "medians at equal epsilon", figures.figure_9),
        PartEntry("figure 10", "90 % quantiles at equal epsilon", figures.figure_10),
        PartEntry("figure 11", f"epsilon {TAIL}", figures.figure_11),
        PartEntry("figure 12", f"ECDF maximum difference {TAIL}", figures.figure_12),
        PartEntry("figure 13", f"medians {TAIL}", figures.figure_13),
        PartEntry("figure 14", f"90 % quantiles {TAIL}", figures.figure_14),
        PartEntry("figure 15", "Lipschitz bounds of the fatigue records", fatigue.figure_15, (FATIGUE,)),
        PartEntry("figure 16", "fatigue: synthetic values", fatigue.figure_16, (FATIGUE,)),
        PartEntry("figure 17", f"ECDF mean squared difference {TAIL}", figures.figure_17),
        PartEntry("figure 18", f"means {TAIL}", figures.figure_18),
        PartEntry("figure 19", "fatigue: probabilities outside the range", fatigue.figure_19, (FATIGUE,)),
        PartEntry("figure 20", "fatigue: weights", fatigue.figure_20, (FATIGUE,)),
        PartEntry("table 1", "fatigue: mean, median and 90 % quantile", fatigue.table_1, (FATIGUE,)),
    ),
    errata=errata,
)
parts = PARTS.parts


def reproduce(folder: Path | None = None, only: str | None = None, repeats: int | None = None) -> Reproduction:
    """Compute every part, or ``only`` one; parts whose data are absent are left out and say so.

    A part that is asked for by name needs its data: without them this is an error. ``repeats`` is the number of
    repeated samples: 30 by default, where the paper has 100; time grows with it.
    """
    work = SharedResults(folder, require_repeats(repeats, REPEATS))
    numbers = {"samples": beside_the_paper(work.repeats), "contraction_seed": CONTRACTION_SEED}
    return PARTS.compute(work, only, data_folder(folder), numbers, FIRST_SEED, work.repeats)
