"""Figures 5, 6, 8, S4 and tables IV, S3: entropy of noisy histograms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.entropy import sensitivity
from sfumato.papers.reaedp.histograms import (
    BINS,
    CELL_TRIALS,
    CELLS,
    COLUMNS,
    MANY,
    MECHANISMS,
    PRICES,
    SEED,
    TRIALS,
    OneRun,
    Sources,
    baseline_errors,
    bins_from_data,
    entropy_errors,
    errors_by_cells,
    moved_by_one_price,
    noisy_histogram_run,
    part,
)
from sfumato.papers.reaedp.published import published_bound
from sfumato.papers.result import Part
from sfumato.papers.texts import DrawnValues
from sfumato.report.texts import text_file


@dataclass(frozen=True)
class PrintedRow:
    """One row of table S3 as printed."""

    title: str
    column: str
    records: int
    entropy: float
    noisy: float
    bound: float

    @property
    def difference(self) -> float:
        """The printed change of entropy."""
        return abs(self.entropy - self.noisy)

    @property
    def ratio(self) -> float:
        """The printed change over the printed bound."""
        return self.difference / self.bound

    @property
    def exceeds(self) -> bool:
        """Whether the printed change is above the printed bound."""
        return round(self.difference, 4) > self.bound


TABLE_S3 = tuple(PrintedRow(**row) for row in text_file("printed", "sfumato.papers.reaedp")["rows"])


def figure_5(sources: Sources) -> Part:
    """Return figure 5: four baselines against epsilon."""
    prices = sources.prices
    errors, bound = baseline_errors(bins_from_data(prices)), published_bound(len(prices))
    direct = tuple(sensitivity(len(prices), BINS) / e.epsilon for e in errors)
    below = [
        f"{name} at epsilon {e.epsilon:g}"
        for e in errors
        for name, error in zip(MECHANISMS, e.entropy, strict=True)
        if error <= bound
    ]
    at_one = next(i for i, e in enumerate(errors) if e.epsilon == 1)
    grid = tuple(e.epsilon for e in errors)
    entropy = {name: [e.entropy[i] for e in errors] for i, name in enumerate(MECHANISMS)}
    counts = {name: [e.counts[i] for e in errors] for i, name in enumerate(MECHANISMS)}
    numbers = {
        "baselines": [{"row": row, "alone": alone} for row, alone in zip(errors, direct, strict=True)],
        "bins": BINS,
        "trials": TRIALS,
        "seed": SEED,
        "count": len(below),
        "below": below,
        "at_one": errors[at_one].entropy,
        "direct": direct[at_one],
    }
    return part(
        "figure 5",
        numbers,
        drawn=[
            (grid, {"printed bound": (bound,) * len(grid), **entropy, "entropy alone, exact": direct}),
            (grid, counts),
        ],
    )


def figure_6(sources: Sources) -> Part:
    """Return figure 6: entropy error by number of bins."""
    errors, bound = errors_by_cells(sources.prices), published_bound(len(sources.prices))
    above = [str(cells) for cells, error in zip(CELLS, errors, strict=True) if error > bound]
    places = tuple(str(cells) for cells in CELLS)
    cells = [
        {"place": place, "error": error, "bound": bound, "verdict": "above" if error > bound else "below"}
        for place, error in zip(places, errors, strict=True)
    ]
    return part(
        "figure 6",
        {"cells": cells, "trials": CELL_TRIALS, "seed": SEED, "above": above},
        drawn=[(places, {"printed bound": (bound,) * len(CELLS), "mean error": errors})],
    )


def figure_8(sources: Sources) -> Part:
    """Return figure 8: one noisy histogram, on SalePrice."""
    counts, bound = bins_from_data(sources.prices), published_bound(len(sources.prices))
    errors = {
        "Lap(1/epsilon), epsilon 1": entropy_errors(counts, 1.0),
        "Lap(2/epsilon), true 1-DP when replacing": entropy_errors(counts, 2.0),
    }
    numbers = {
        "bins": BINS,
        "seed": SEED,
        "draws": MANY,
        "bound": bound,
        "moved": moved_by_one_price(sources.prices),
        "most": 2 * len(sources.prices),
        "scales": [{"words": w, "error": e.mean(), "above": (e > bound).mean()} for w, e in errors.items()],
    }
    return part("figure 8", numbers, _histogram_values(noisy_histogram_run(sources.prices)))


def _histogram_values(run: OneRun) -> list[DrawnValues]:
    counts, noisy = (tuple(float(v) for v in np.round(values, 2)) for values in (run.counts, run.noisy))
    bins = [str(i) for i in range(1, len(counts) + 1)]
    entropies = {"original": [run.entropy], "noisy, epsilon 1": [run.noisy_entropy]}
    return [(bins, {"original": counts, "noisy, epsilon 1": noisy}), (["H"], entropies)]


def table_iv(sources: Sources) -> Part:
    """Return table IV: the printed row, whose difference exceeds its bound, and the same pipeline on SalePrice."""
    ours = [each for each in _recomputed(sources) if each["row"].column == COLUMNS[PRICES]]
    return part("table IV", {"row": TABLE_S3[0], "printed": TABLE_S3[:1], "recomputed": ours})


def table_s3(sources: Sources) -> Part:
    """Return table S3: seven rows as printed, two of them recomputed, and which differences exceed their bound."""
    over = [row.title for row in TABLE_S3 if row.exceeds]
    numbers = {"count": len(over), "over": over, "printed": TABLE_S3, "recomputed": _recomputed(sources)}
    return part("table S3", numbers)


def figure_s4(sources: Sources) -> Part:
    """Return figure S4: the panels of SalePrice and UNRATE."""
    runs = _recomputed(sources)
    return part(
        "figure S4",
        {"columns": runs},
        [chart for each in runs for chart in _histogram_values(each["run"])],
        charts_a_row=2,
    )


def _recomputed(sources: Sources) -> list[dict[str, Any]]:
    """Return the printed rows whose files are there, each with a run of our own."""
    columns = {COLUMNS[file]: file for file in COLUMNS if file in sources.present}
    return [
        {"row": row, "run": noisy_histogram_run(sources.column(columns[row.column]))}
        for row in TABLE_S3
        if row.column in columns
    ]
