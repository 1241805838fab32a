"""Tables 4 and 8 and figure 9: price elasticities with and without the release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.papers.result import Part
from sfumato.papers.two_stage.data import ELASTICITIES, FloatArray, Sample, price_sales
from sfumato.papers.two_stage.price_metrics import mapd, optimal_markup, optimal_profit_ratio
from sfumato.papers.two_stage.published.blending import match
from sfumato.papers.two_stage.published.disclosure_bounds import blended, published_bound
from sfumato.papers.two_stage.trial import Trial, part, trial_of
from sfumato.report.texts import text_file
from sfumato.risk.interval_disclosure import interval_disclosure

if TYPE_CHECKING:
    from sfumato.papers.two_stage.shared_results import SharedResults

ROWS, HELD = 1040, 20
SIZES = (20, 40, 80, 160, 320)
ALPHA, ETA = 0.2, 1e-4
BLENDS = (0.2, 0.5, 0.8, 1.0)
KRR: dict[str, Any] = {"method": "nystrom", "landmarks": 30, "reach": 1.0}
"""One input and a smooth function: 30 landmarks are as good as all rows, and fast."""
PRINTED = text_file("printed", "sfumato.papers.two_stage")["prices"]
"""The numbers of tables 4 and 8, in per cent."""


@dataclass(frozen=True, eq=False)
class Prices:
    """Estimated elasticities by sample, one row a run and one column a brand, and LID by alpha."""

    estimates: Mapping[str, FloatArray]
    by_size: Mapping[int, tuple[float, float]]
    """Mean MAPD of D' and of D' with D*, by the rows of D'."""
    lid: Mapping[float, float]
    greedy: float
    """LID at alpha 0.2 with the published matching."""
    width: float
    """Mean range of the log prices."""

    def mean(self, sample: str) -> FloatArray:
        """Return the mean estimate of each brand."""
        return self.estimates[sample].mean(axis=0)


def estimate(sample: Sample) -> float:
    """Return the elasticity by least squares through the origin."""
    x = sample[0][:, 0]
    return float(x @ sample[1] / (x @ x))


def price_trial(seed: int, beta: float, held: int = HELD, stages: tuple[str, ...] = ("SH",)) -> Trial:
    """Return a trial on one brand."""
    generator = np.random.default_rng([seed, 3])
    original, public = (price_sales(rows, beta, generator) for rows in (ROWS, held))
    return trial_of(original, public, price_sales(ROWS, beta, generator, noisy=False), seed, stages=stages, krr=KRR)


def measured_prices(seed: int, runs: int) -> Prices:
    """Estimate all elasticities from every sample, for so many runs."""
    trials = [
        [price_trial(seed + 100 * run + brand, beta, max(SIZES)) for brand, beta in enumerate(ELASTICITIES)]
        for run in range(runs)
    ]
    found = [[_estimates(trial) for trial in row] for row in trials]
    estimates = {name: np.array([[each[name] for each in row] for row in found]) for name in found[0][0]}
    lid = {a: float(np.mean([t.lid("SH", a, ETA) for row in trials for t in row])) for a in BLENDS[:-1]}
    width = float(np.mean([np.ptp(trial.original[0]) for row in trials for trial in row]))
    by_size = {n: _both_mapd(estimates[f"D' {n}"], estimates[f"D' + D* {n}"]) for n in SIZES}
    greedy = float(np.mean([_greedy_lid(trial) for trial in trials[0]]))
    return Prices(estimates, by_size, lid, greedy, width)


def _greedy_lid(trial: Trial) -> float:
    """Return LID when the same synthetic rows are matched as published."""
    rows, made = trial.original[0], trial.matched["SH"]
    paired = made[match(rows, made, "greedy", np.random.default_rng(trial.seed))]
    return interval_disclosure(rows, blended(rows, paired, ALPHA), ETA).share


def _estimates(trial: Trial) -> dict[str, float]:
    released = trial.released("SH", ALPHA)
    found = {"D": estimate(trial.original)}
    found |= {f"D* {alpha:g}": estimate(trial.released("SH", alpha)) for alpha in BLENDS}
    for size in SIZES:
        held = (trial.public[0][:size], trial.public[1][:size])
        both = (np.vstack([held[0], released[0]]), np.concatenate([held[1], released[1]]))
        found |= {f"D' {size}": estimate(held), f"D' + D* {size}": estimate(both)}
    return found


def _both_mapd(public: FloatArray, combined: FloatArray) -> tuple[float, float]:
    first, second = (float(np.mean([mapd(ELASTICITIES, row) for row in rows])) for rows in (public, combined))
    return first, second


def table_4(work: SharedResults) -> Part:
    """Return the pricing metrics of D' and of D' with D*."""
    found, samples = work.prices, {"D'": f"D' {HELD}", "D' + D*": f"D' + D* {HELD}"}
    numbers = {
        "brands": [
            {"brand": i + 1, "printed": PRINTED["ratio"][i], "ratio": ratio} for i, ratio in enumerate(printed_ratios())
        ],
        "samples": [
            {"name": name, "printed": PRINTED["mapd"][name], "mapd": mapd(ELASTICITIES, found.mean(key))}
            for name, key in samples.items()
        ],
        "rows": ROWS,
        "held": HELD,
        "alpha": ALPHA,
        "printed_lid": PRINTED["lid"],
        "lid": found.lid[ALPHA],
        "greedy": found.greedy,
        "bound": published_bound(ALPHA, 1, ETA, found.width),
        "unit_bound": published_bound(ALPHA, 1, ETA),
        "metrics": list(_metrics(found, samples)),
    }
    return part("table 4", numbers)


def printed_ratios() -> FloatArray:
    """Return the profit ratios of the elasticities behind the printed mark-ups of D'."""
    markups = np.array(PRINTED["markup"]["D'"]) / 100
    return optimal_profit_ratio(ELASTICITIES, -1 - 1 / markups)


def _metrics(found: Prices, samples: Mapping[str, str]) -> Iterator[tuple[str | float, ...]]:
    """Yield, brand by brand, the optimal mark-up and profit ratio in per cent of the mean estimate."""
    for brand, beta in enumerate(ELASTICITIES):
        estimates = [float(found.mean(key)[brand]) for key in samples.values()]
        markups = [100 * float(optimal_markup([value])[0]) for value in (beta, *estimates)]
        ratios = [100 * float(optimal_profit_ratio([beta], [value])[0]) for value in estimates]
        printed = [PRINTED["markup"][name][brand] for name in samples]
        yield (f"brand {brand + 1}", markups[0], *printed, *markups[1:], *ratios)


def table_8(work: SharedResults) -> Part:
    """Return the pricing metrics of the original rows and of the release."""
    found = work.prices
    samples = [
        {
            "name": name.replace("D* ", "D*, alpha "),
            "printed": printed["markup"],
            "deviation": printed["mapd"],
            "ours": optimal_markup(found.mean(name)[:2]),
            "mapd": mapd(ELASTICITIES, found.mean(name)),
        }
        for name, printed in PRINTED["original"].items()
    ]
    gaps = [abs(mapd(ELASTICITIES, found.mean(f"D* {a:g}")) - mapd(ELASTICITIES, found.mean("D"))) for a in BLENDS]
    return part("table 8", {"samples": samples, "gap": 100 * max(gaps)})


def figure_9(work: SharedResults) -> Part:
    """Return the metrics by the rows that the public holds."""
    found = work.prices.by_size
    public, combined = ([100 * found[size][which] for size in SIZES] for which in (0, 1))
    drop = [1 - after / before for before, after in found.values()]
    falls = all(left >= right for left, right in pairwise(public))
    numbers = {
        "drops": (drop[0], drop[-1]),
        "sizes": (SIZES[0], SIZES[-1]),
        "improves": "agrees" if min(drop) > 0 else "NOT at every size",
        "public": (public[0], public[-1]),
        "falls": "agrees: the release stands for 1040 rows" if falls else "agrees but for noise",
    }
    return part(
        "figure 9",
        numbers,
        drawn=[(SIZES, {"D'": public, "D' + D*": combined})],
    )
