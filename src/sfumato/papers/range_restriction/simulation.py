"""Section 4 data and fits: simulated samples, fatigue data, and every synthesizer's epsilon."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.errors import TableError
from sfumato.evaluate.column_copies import compare_column_copies
from sfumato.papers.data import OTHER_FILE, data_folder, read_numbers
from sfumato.papers.range_restriction.families import make_family
from sfumato.papers.range_restriction.published.ranges import Radius, WiderInTail
from sfumato.papers.range_restriction.published.weights import WeightedPosterior, Weighting

FATIGUE = "fatigue.csv"
ROWS = 22
HELD_OUT = (1, 13, 22)
"""Rows of the file, counted from 1, that the help page of BayesLN's LN_MeanReg holds out."""
PRINTED = {"mean": 57771.0, "median": 15616.0, "Q90": 165385.0}


@dataclass(frozen=True, eq=False)
class Sample:
    """Values to synthesise and their predictors."""

    x: FloatArray
    z: FloatArray


def simulated_sample(seed: int, records: int = 2000) -> Sample:
    """Return z ~ Normal(2, 1) and x ~ Lognormal(z + 1, 1), as in section 4.

    >>> simulated_sample(1000, 3).x.round(2).tolist()
    [104.5, 14.43, 30.64]
    """
    generator = np.random.default_rng(seed)
    z = generator.normal(2.0, 1.0, records)
    return Sample(generator.lognormal(z + 1.0, 1.0), z)


def fatigue_data(folder: Path) -> Sample:
    """Return all 22 rows of the fatigue data: cycles and stress."""
    cycle, stress = read_numbers(folder, FATIGUE, ("cycle", "stress"))
    if len(cycle) != ROWS or not (cycle > 0).all() or not (stress > 0).all():
        problem = f"{len(cycle)} rows; {ROWS} with numbers above 0 are needed"
        raise TableError(f"{FATIGUE} is not the table of fatigue tests", [problem], OTHER_FILE)
    return Sample(cycle, stress)


def used_rows(table: Sample) -> Sample:
    """Return the 19 rows that the paper's statistics come from."""
    keep = np.setdiff1d(np.arange(len(table.x)), np.array(HELD_OUT) - 1)
    return Sample(table.x[keep], table.z[keep])


def statistics(values: FloatArray) -> dict[str, float]:
    """Return mean, median and 90 % quantile.

    >>> statistics(np.arange(11.0))
    {'mean': 5.0, 'median': 5.0, 'Q90': 9.0}
    """
    return {
        "mean": float(values.mean()),
        "median": float(np.median(values)),
        "Q90": float(np.quantile(values, 0.9)),
    }


REPEATS = 30
"""Repeated samples by default."""
PRINTED_REPEATS = 100
"""Repeated samples of the paper."""
FIRST_SEED, CONTRACTION_SEED = 1000, 5000
SIZES = (200, 400, 1600, 6400)
COPIES = 20
DATA, UNWEIGHTED, WEIGHTED = "Data", "Unweighted", "Weighted"
WIDE, NARROW = Radius(0.4, 1.8), Radius(0.6, 1.2)
WIDE_AVERAGED, NARROW_AVERAGED = "(0.4, 1.8) avg", "(0.6, 1.2) avg"
WIDE_TRUNCATED, NARROW_TRUNCATED = "(0.4, 1.8) trunc", "(0.6, 1.2) trunc"
PRINTED_SCALES = {WEIGHTED: 0.73, WIDE_TRUNCATED: 0.88}
PRINTED_EPSILON = 5.7
TOPS = {"Top 1 %": 0.01, "Top 5 %": 0.05, "Top 10 %": 0.10}


SIX = {
    UNWEIGHTED: Weighting("unweighted"),
    WEIGHTED: Weighting("weighted"),
    WIDE_AVERAGED: Weighting("averaged", ranges=WIDE),
    WIDE_TRUNCATED: Weighting("truncated", ranges=WIDE),
    NARROW_AVERAGED: Weighting("averaged", ranges=NARROW),
    NARROW_TRUNCATED: Weighting("truncated", ranges=NARROW),
}
"""The synthesizers of section 4.1, in the order of the paper's figures."""
TAILS = {name: Weighting("averaged", ranges=WiderInTail(0.4, 1.8, 0.2, 2.4, share)) for name, share in TOPS.items()}
"""Those that section 4.3 adds."""
SAME_DATA = {WIDE_TRUNCATED: WEIGHTED, NARROW_TRUNCATED: WEIGHTED}
"""Range-truncated synthesizers draw from the weighted posterior: only their epsilon differs."""


def fit_synthesizers(sample: Sample, wanted: dict[str, Weighting], seed: int) -> dict[str, WeightedPosterior]:
    """Fit synthesizers to one sample with shared random numbers."""
    family = make_family("lognormal", sample.x, sample.z)
    numbers = next(iter(wanted.values())).numbers(family, np.random.default_rng([seed, 1]))
    return {name: weighting.fit_with(family, numbers) for name, weighting in wanted.items()}


def synthetic_copies(fitted: WeightedPosterior, seed: int, count: int = COPIES) -> list[FloatArray]:
    """Return synthetic columns, each from a parameter draw of its own, at the confidential predictors."""
    generator = np.random.default_rng([seed, 2])
    return [fitted.synthesise(copy, None, generator) for copy in range(count)]


def utility(real: FloatArray, copies: list[FloatArray]) -> dict[str, float]:
    """Return ECDF differences and statistics, averaged over copies."""
    found, rows = compare_column_copies(real, copies, quantiles=()), [statistics(copy) for copy in copies]
    averages = {measure: float(np.mean([row[measure] for row in rows])) for measure in rows[0]}
    return {"ECDF max": found.ecdf_max.mean, "ECDF msq": found.ecdf_msq.mean, **averages}


def scaled_fits(sample: Sample, seed: int) -> dict[str, WeightedPosterior]:
    """Fit the three synthesizers of section 4.2, scaled to the epsilon of the narrow truncated one."""
    narrow = fit_synthesizers(sample, {UNWEIGHTED: SIX[UNWEIGHTED], NARROW_TRUNCATED: SIX[NARROW_TRUNCATED]}, seed)
    target = narrow[NARROW_TRUNCATED].epsilon
    wanted = {name: replace(SIX[name], target_claim=target, rounds=4) for name in (WEIGHTED, WIDE_TRUNCATED)}
    return {
        UNWEIGHTED: narrow[UNWEIGHTED],
        **fit_synthesizers(sample, wanted, seed),
        NARROW_TRUNCATED: narrow[NARROW_TRUNCATED],
    }


@dataclass(frozen=True, eq=False)
class Repeats:
    """One number for each measure, synthesizer and repeated sample."""

    values: dict[str, dict[str, FloatArray]]

    @classmethod
    def of(cls, rows: list[dict[tuple[str, str], float]]) -> Repeats:
        """Collect rows that are keyed by measure and synthesizer."""
        values: dict[str, dict[str, FloatArray]] = {}
        for measure, name in rows[0]:
            values.setdefault(measure, {})[name] = np.array([row[measure, name] for row in rows])
        return cls(values)

    def get(self, measure: str, names: Iterable[str]) -> dict[str, FloatArray]:
        """Return one measure of several synthesizers."""
        return {name: self.values[measure][name] for name in names if name in self.values[measure]}

    def mean(self, measure: str, name: str) -> float:
        """Return the mean over samples."""
        return float(self.values[measure][name].mean())

    def ratio(self, measure: str, name: str) -> float:
        """Return a statistic of the synthetic values over that of the data, averaged over samples."""
        return float((self.values[measure][name] / self.values[measure][DATA]).mean())


def one_sample(seed: int) -> dict[tuple[str, str], float]:
    """Return everything about one sample of 2,000 records."""
    sample = simulated_sample(seed)
    found: dict[tuple[str, str], float] = {(m, DATA): value for m, value in statistics(sample.x).items()}
    for name, fitted in fit_synthesizers(sample, {**SIX, **TAILS}, seed).items():
        found["epsilon", name] = fitted.epsilon
        facts = fitted.diagnostics()
        found["whole exponent", name] = facts.whole_exponent_epsilon
        found["oscillation", name] = facts.oscillation_epsilon
        if facts.published_truncated_epsilon is not None:
            found["eq 15", name] = facts.published_truncated_epsilon
        if name not in SAME_DATA:
            found |= {(m, name): value for m, value in utility(sample.x, synthetic_copies(fitted, seed)).items()}
    return found | {
        (m, name): found[m, same]
        for name, same in SAME_DATA.items()
        for m in ("ECDF max", "ECDF msq", "mean", "median", "Q90")
    }


def one_scaled_sample(seed: int) -> dict[tuple[str, str], float]:
    """Return scales, epsilons and ECDF differences at equal epsilon, and epsilon at the paper's scales."""
    sample, found = simulated_sample(seed), dict[tuple[str, str], float]()
    for name, fitted in scaled_fits(sample, seed).items():
        found["scale", name], found["epsilon", name] = fitted.scale, fitted.epsilon
        made = utility(sample.x, synthetic_copies(fitted, seed))
        found |= {(measure, name): made[measure] for measure in ("ECDF max", "ECDF msq")}
    fixed = {name: replace(SIX[name], scale=scale) for name, scale in PRINTED_SCALES.items()}
    return found | {
        ("at printed scale", name): each.epsilon for name, each in fit_synthesizers(sample, fixed, seed).items()
    }


def beside_the_paper(repeats: int) -> str:
    """Say how many repeated samples there are, and how many the paper has.

    >>> beside_the_paper(30), beside_the_paper(100)
    ("30 instead of the paper's 100", '100, as in the paper')
    """
    same = repeats == PRINTED_REPEATS
    return f"{repeats}, as in the paper" if same else f"{repeats} instead of the paper's {PRINTED_REPEATS}"


@dataclass(frozen=True)
class SharedResults:
    """What several figures share, computed when it is first asked for."""

    folder: Path | None = None
    """Where the fatigue data are, unless where the papers' data usually are."""
    repeats: int = REPEATS

    @cached_property
    def fatigue(self) -> Sample:
        """The fatigue data, all 22 rows."""
        return fatigue_data(data_folder(self.folder))

    @property
    def seeds(self) -> range:
        """Seeds of the repeated samples."""
        return range(FIRST_SEED, FIRST_SEED + self.repeats)

    @cached_property
    def first(self) -> dict[str, WeightedPosterior]:
        """The synthesizers of section 4.1 on the first sample."""
        return fit_synthesizers(simulated_sample(FIRST_SEED), SIX, FIRST_SEED)

    @cached_property
    def samples(self) -> Repeats:
        """All synthesizers on every repeated sample."""
        return Repeats.of([one_sample(seed) for seed in self.seeds])

    @cached_property
    def scaled_first(self) -> dict[str, WeightedPosterior]:
        """The synthesizers of section 4.2 on the first sample."""
        return scaled_fits(simulated_sample(FIRST_SEED), FIRST_SEED)

    @cached_property
    def scaled_samples(self) -> Repeats:
        """The synthesizers of section 4.2 on every repeated sample."""
        return Repeats.of([one_scaled_sample(seed) for seed in self.seeds])

    @cached_property
    def by_size(self) -> dict[int, Repeats]:
        """Epsilon of the synthesizers of section 4.1 at four sample sizes."""
        return {size: Repeats.of([self._epsilons(size, i) for i in range(self.repeats)]) for size in SIZES}

    def _epsilons(self, size: int, place: int) -> dict[tuple[str, str], float]:
        seed = CONTRACTION_SEED + place
        fitted = fit_synthesizers(simulated_sample(seed, size), SIX, seed)
        return {("epsilon", name): each.epsilon for name, each in fitted.items()}
