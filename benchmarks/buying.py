"""How useful are bought facts? Five tables that the mechanism knows nothing about, at three prices.

python benchmarks/buying.py            # share of rows inside bought bounds, width against the true range, values found
python benchmarks/buying.py --rivals   # bounds by other mechanisms at the same price
python benchmarks/buying.py --steps    # bounds as they were counted, and further out: what a release makes of them

Printed for each table and epsilon, means over three purchases. Inside: share of readable numbers within the bounds.
Width: bought width over true range, the median column. Listed: share of rows whose text is among the values found.
"""

from __future__ import annotations

import itertools
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from graphical_schemas import data_folder

from sfumato import MST, Schema, buy_schema, read, release
from sfumato.dp_schema import domains
from sfumato.dp_schema.domains import ROUND_NUMBERS, occupied_range
from sfumato.errors import PlanError, TooLittleSeenError
from sfumato.privacy.accounting.gaussian_calibration import zcdp_rho

TABLES = {
    "hmeq": "hmeq.csv",
    "california": "california_housing.csv.gz",
    "german": "german_credit.csv",
    "bank": "bank_marketing.csv.gz",
    "adult": "adult.csv.gz",
}
EPSILONS = (0.1, 0.3, 1.0)
REPEATS = 3
MOST_LEVELS = 60
"""Texts with more distinct values are names, not levels."""


@dataclass
class Found:
    """What purchases of one table found, column by column."""

    described: list[float]
    inside: list[float]
    width: list[float]
    listed: list[float]
    levels: list[float]

    def line(self) -> str:
        def mean(values: list[float], digits: int = 3) -> str:
            return f"{statistics.fmean(values):.{digits}f}" if values else "-"

        worst = f"{min(self.inside):.2f}" if self.inside else "-"
        width = f"{statistics.median(self.width):.2f}" if self.width else "-"
        cells = (mean(self.described, 2), mean(self.inside), worst, width, mean(self.listed, 2), mean(self.levels, 2))
        return " | ".join(cells)


def measured(frame: pd.DataFrame, schema: Schema, found: Found) -> None:
    """Compare bought facts with the true values."""
    found.described.append(len(schema.releasable) / frame.shape[1])
    for column in (schema[name] for name in schema.releasable):
        raw = frame[column.name].dropna()
        if column.bounds is not None and column.kind != "date":
            values = pd.to_numeric(raw, errors="coerce").dropna().to_numpy(float)
            found.inside.append(float(np.mean((values >= column.bounds[0]) & (values <= column.bounds[1]))))
            found.width.append((column.bounds[1] - column.bounds[0]) / max(float(np.ptp(values)), 1e-9))
        elif column.values is not None and raw.nunique() <= MOST_LEVELS:
            known = {str(value) for value in column.values}
            found.listed.append(float(raw.astype(str).isin(known).mean()))
            found.levels.append(len(known) / raw.nunique())


def purchases(table: str) -> Iterator[str]:
    """Yield a line for each price."""
    path = data_folder() / TABLES[table]
    frame = pd.read_csv(path, dtype="string", keep_default_na=False, na_values=[""])
    for epsilon in EPSILONS:
        found, start = Found([], [], [], [], []), time.perf_counter()
        for seed in range(REPEATS):
            try:
                measured(frame, buy_schema(path, epsilon, ledger=False, seed=seed), found)
            except TooLittleSeenError:  # a result, too
                found.described.append(0.0)
        seconds = (time.perf_counter() - start) / REPEATS
        yield f"| {table} | {len(frame):,} x {frame.shape[1]} | {epsilon:g} | {found.line()} | {seconds:.1f} |"


Bounds = Callable[[np.ndarray, float, np.random.Generator], tuple[float, float] | None]
"""Bounds of values by a mechanism whose zCDP would buy one histogram with this sigma."""


def _histogram(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    places = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
    return np.bincount(places, minlength=len(edges) - 1)


def _between(values: np.ndarray, edges: np.ndarray, sigma: float, rng: np.random.Generator) -> tuple[int, int] | None:
    noisy = _histogram(values, edges) + np.rint(rng.normal(0, sigma, len(edges) - 1)).astype(np.int64)
    return occupied_range(noisy, sigma)


def round_numbers(values: np.ndarray, sigma: float, rng: np.random.Generator) -> tuple[float, float] | None:
    """Noisy counts between 1, 2, 5, 10, ...: one histogram."""
    edges = np.array(ROUND_NUMBERS)
    found = _between(values, edges, sigma, rng)
    return (edges[found[0]], edges[found[1]]) if found else None


def equal_cells(values: np.ndarray, sigma: float, rng: np.random.Generator) -> tuple[float, float] | None:
    """Half of the price finds the decades, half 500 equal cells between them."""
    half, decades = sigma * math.sqrt(2), np.array([e for e in ROUND_NUMBERS if math.log10(abs(e) or 1) % 1 == 0])
    coarse = _between(values, decades, half, rng)
    if coarse is None:
        return None
    edges = np.linspace(decades[coarse[0]], decades[coarse[1]], 501)
    fine = _between(values, edges, half, rng)
    return (edges[fine[0]], edges[fine[1]]) if fine else (edges[0], edges[-1])


def exponential(values: np.ndarray, sigma: float, rng: np.random.Generator) -> tuple[float, float] | None:
    """Two choices among the round numbers, each by how near the rows beyond it are to a number of rows.

    That number is as small as it may be for a choice beyond all rows to be unlikely (1 in 10). Numbers nearer to 0 are
    likelier by a public weight: otherwise all that lie beyond the rows would tie.
    """
    grid = np.array(ROUND_NUMBERS)
    public = -2 * np.log1p(np.abs(np.arange(len(grid)) - len(grid) // 2))
    strength = math.sqrt(8 * (1 / (2 * sigma**2)) / 2)
    target = 2 / strength * math.log(10 * len(grid))
    chosen: list[float] = []
    for beyond in ((values[:, None] < grid).sum(0), (values[:, None] > grid).sum(0)):
        score = -np.abs(beyond - target) * strength / 2
        score = score + public
        weights = np.exp(score - score.max())
        chosen.append(float(rng.choice(grid, p=weights / weights.sum())))
    return (chosen[0], chosen[1]) if chosen[0] < chosen[1] else None


RIVALS: dict[str, Bounds] = {
    "round numbers, noisy counts": round_numbers,
    "equal cells, noisy counts": equal_cells,
    "round numbers, exponential mechanism": exponential,
}


def rivals() -> Iterator[str]:
    """Yield a line for each mechanism and price, over all columns of numbers of all tables."""
    frames = {name: pd.read_csv(data_folder() / file) for name, file in TABLES.items()}
    for epsilon in EPSILONS:
        for name, mechanism in RIVALS.items():
            inside, width, none = [], [], 0
            for frame in frames.values():
                sigma = math.sqrt(frame.shape[1] / (2 * float(zcdp_rho(epsilon, 5e-10)) * 0.8))
                wide = [c for c in frame if frame[c].dtype.kind in "if" and frame[c].nunique() > 12]
                for seed, column in enumerate(wide * REPEATS):
                    values = frame[column].dropna().to_numpy(float)
                    found = mechanism(values, sigma, np.random.default_rng(seed))
                    none += found is None
                    if found:
                        inside.append(float(np.mean((values >= found[0]) & (values <= found[1]))))
                        width.append((found[1] - found[0]) / max(float(np.ptp(values)), 1e-9))
            shown = f"{statistics.fmean(inside):.3f} | {statistics.median(width):.2f} | {none}"
            yield f"| {epsilon:g} | {name} | {shown} |"


REST = 0.7
"""Epsilon of the release that follows a purchase."""
RULES = {"as counted": math.inf, "further out": 0.0, "by the rule": domains.HIDDEN_SHARE}
"""Share of rows that noise may hide before bounds go one round number further out."""


def errors(frame: pd.DataFrame, schema: Schema, path: Path, seed: int) -> Iterator[tuple[float, float, float]]:
    """Yield, for each column of numbers: inside, and the errors of mean and deviation of rows by MST."""
    made = release(read(path, schema), MST(epsilon=REST), ledger=False, seed=seed)
    for column in (each for each in schema if each.bounds is not None and each.kind != "date"):
        true = pd.to_numeric(frame[column.name], errors="coerce").dropna().to_numpy(float)
        drawn = pd.to_numeric(made.data[column.name], errors="coerce").dropna().to_numpy(float)
        inside = np.mean((true >= column.bounds[0]) & (true <= column.bounds[1]))
        yield float(inside), abs(drawn.mean() - true.mean()) / true.std(), abs(drawn.std() / true.std() - 1)


def steps() -> Iterator[str]:
    """Yield a line for each table, price and rule."""
    for table, file in TABLES.items():
        path = data_folder() / file
        frame = pd.read_csv(path)
        for epsilon, (rule, share) in itertools.product(EPSILONS, RULES.items()):
            domains.HIDDEN_SHARE, lines = share, []
            for seed in range(REPEATS):
                try:
                    lines += errors(frame, buy_schema(path, epsilon, ledger=False, seed=seed), path, seed)
                except (TooLittleSeenError, PlanError):  # nothing to release
                    continue
            if lines:
                means = " | ".join(f"{value:.3f}" for value in np.mean(lines, axis=0))
                yield f"| {table} | {epsilon:g} | {rule} | {means} |"


def main() -> None:
    """Print the tables."""
    if "--rivals" in sys.argv:
        print("| epsilon | bounds by | inside | width | none found |\n|---|---|---|---|---|")
        for line in rivals():
            print(line, flush=True)
        return
    if "--steps" in sys.argv:
        print("| table | epsilon | bounds | inside | error of mean | of deviation |\n|---|---|---|---|---|---|")
        for line in steps():
            print(line, flush=True)
        return
    heads = ("table", "rows x columns", "epsilon", "described", "inside", "worst", "width", "listed", "values", "s")
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for table in TABLES:
        for line in purchases(table):
            print(line, flush=True)


if __name__ == "__main__":
    main()
