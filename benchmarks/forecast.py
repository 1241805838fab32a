"""Is the forecast right? What ``plan.forecast`` says before a release, over what is measured after it.

    .venv/bin/python benchmarks/forecast.py [--tables hmeq,insurance] [--seeds 1,2] [--fitted] [--keep FILE]

Default AIM at epsilon .3, 1 and 3 on real tables of ../shared/data (or SFUMATO_DATA), with the schemas that
``Schema.draft`` proposes, confirmed as they stand. Measured is what ``sfumato.compare`` measures: tvd_1, tvd_2,
mean_error; and the error of the mean as a share of the public range. Each number is forecast / measured, the latter as
a mean over seeds; a star marks what is beyond a factor of 2.

The constants of the forecast were fitted on the tables of FITTED, so the others, HELD_OUT, are what counts. With
``--fitted`` the former are run instead. With ``--keep`` what was measured is kept in a file and not measured again. It
holds errors of confidential tables: keep it as you keep them.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import sfumato
from sfumato.evaluate.compare.run import read_comparison_input
from sfumato.metrics.distances import marginal_tvds, moment_errors
from sfumato.schema import Schema

EPSILONS = (0.3, 1.0, 3.0)
MEASURES = ("tvd_1_q16", "tvd_2_q16", "mean_error_sd", "mean_error_range")
SAMPLE_SEED = 0


@dataclass(frozen=True)
class Source:
    """A file, what means missing in it, and how many rows are drawn from it; all of them unless said."""

    file: str
    missing: tuple[str, ...] = ("",)
    rows: int | None = None
    without: tuple[str, ...] = ()


FITTED = {
    "adult": Source("adult.csv.gz", ("?", ""), 10_000, ("split",)),
    "bank": Source("bank_marketing.csv.gz", rows=10_000),
    "census_casc": Source("census_casc.csv"),
    "german_credit": Source("german_credit.csv"),
    "cps_85_wages": Source("cps_85_wages.csv"),
    "diamonds": Source("diamonds.csv.gz", rows=12_000),
    "tarragona": Source("tarragona.csv"),
    "sdc_testdata": Source("sdc_testdata.csv"),
}
HELD_OUT = {
    "hmeq": Source("hmeq.csv"),
    "compas": Source("compas_two_years.csv"),
    "acs_ma2019": Source("acs_ma2019.csv", ("N", "")),
    "california_housing": Source("california_housing.csv.gz"),
    "insurance": Source("insurance.csv"),
    "house_prices": Source("house_prices.csv"),
    "pums_ca_1000": Source("pums_ca_1000.csv"),
    "adult_dr_ha": Source("adult_dr_ha.csv.gz"),
    "eia": Source("eia.csv"),
    "unrate": Source("unrate.csv"),
}
Measured = dict[str, float]


@cache
def drafted(name: str) -> tuple[pd.DataFrame, Schema]:
    """Read a table, draft its schema and confirm it."""
    source = (FITTED | HELD_OUT)[name]
    folder = Path(os.environ.get("SFUMATO_DATA", Path(__file__).parents[2] / "shared" / "data"))
    frame = pd.read_csv(folder / source.file, keep_default_na=False, na_values=list(source.missing))
    frame = frame.drop(columns=list(source.without))
    if source.rows is not None:
        frame = frame.sample(source.rows, random_state=SAMPLE_SEED).reset_index(drop=True)
    return frame, Schema.draft(frame, name=name).confirm(accept_unchanged=True, person=False)


def forecast(name: str, epsilon: float) -> Any:
    """Return the forecast of default AIM: no row is read for it but to count them."""
    frame, schema = drafted(name)
    method = sfumato.AIM(epsilon=epsilon)
    return method.plan(schema).foreseen_by(schema, method, len(frame)).forecast


def measured(name: str, epsilon: float, seed: int) -> Measured:
    """Release once and return the errors."""
    frame, schema = drafted(name)
    table = sfumato.read(frame, schema)
    made = sfumato.release(table, sfumato.AIM(epsilon=epsilon), ledger=False, seed=seed)
    both = read_comparison_input(made, table, None, None)
    sides = both.layout, both.true, both.synthetic
    sets = {"tvd_1_q16": both.layout.singles, "tvd_2_q16": both.layout.pairs}
    kept = {name: float(marginal_tvds(*sides, each).mean()) for name, each in sets.items()}
    numbers = moment_errors(*sides)
    if not numbers:
        return kept
    ranges = [_of_range(both, place) for place in both.layout.numbers]
    return kept | {"mean_error_sd": numbers["mean_error_sd"], "mean_error_range": float(np.mean(ranges))}


def _of_range(both: Any, place: int) -> float:
    """Return the error of a mean as a share of the public range."""
    low, high = both.layout.columns[place].numeric_bounds
    true, made = (side.points[:, place][~np.isnan(side.points[:, place])] for side in (both.true, both.synthetic))
    return abs(made.mean() - true.mean()) / (high - low) if len(made) else 0.0


def all_measured(names: list[str], seeds: list[int], keep: Path | None) -> dict[str, Measured]:
    """Return what every run measured by name, epsilon and seed."""
    found: dict[str, Measured] = json.loads(keep.read_text()) if keep is not None and keep.exists() else {}
    for name in names:
        for epsilon in EPSILONS:
            for seed in seeds:
                key = f"{name}|{epsilon:g}|{seed}"
                if key not in found:
                    found[key] = measured(name, epsilon, seed)
                    if keep is not None:
                        keep.write_text(json.dumps(found))
    return found


def ratios(name: str, epsilon: float, runs: list[Measured]) -> dict[str, float]:
    """Return forecast over measured, for every measure that the table has."""
    foreseen = forecast(name, epsilon)
    return {
        measure: getattr(foreseen, measure) / float(np.mean([run[measure] for run in runs]))
        for measure in MEASURES
        if measure in runs[0]
    }


def within(ratio: float, factor: float = 2.0) -> bool:
    """Say whether a forecast is within a factor of what was measured."""
    return 1 / factor <= ratio <= factor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", help="names, with commas between them")
    parser.add_argument("--seeds", default="1,2")
    parser.add_argument("--fitted", action="store_true", help="the tables on which the constants were fitted")
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args()
    names = asked.tables.split(",") if asked.tables else list(FITTED if asked.fitted else HELD_OUT)
    seeds = [int(seed) for seed in asked.seeds.split(",")]
    runs = all_measured(names, seeds, asked.keep)
    print("| table (rows x columns) | epsilon | " + " | ".join(MEASURES) + " |")
    print("|---|---|" + "---|" * len(MEASURES))
    found: list[dict[str, float]] = []
    for name in names:
        frame, schema = drafted(name)
        for epsilon in EPSILONS:
            found.append(ratios(name, epsilon, [runs[f"{name}|{epsilon:g}|{seed}"] for seed in seeds]))
            shown = [_shown(found[-1].get(measure)) for measure in MEASURES]
            size = f"{name} ({len(frame):,} x {len(schema.releasable)})"
            print(f"| {size} | {epsilon:g} | " + " | ".join(shown) + " |")
    for measure in MEASURES:
        there = [each[measure] for each in found if measure in each]
        print(f"{measure}: {sum(map(within, there))} of {len(there)} within a factor of 2")


def _shown(ratio: float | None) -> str:
    if ratio is None:
        return ""
    return f"{ratio:.2f}" + ("" if within(ratio) else " *")


if __name__ == "__main__":
    main()
