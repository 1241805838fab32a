"""Figures 5, 6, 8, S4 and tables IV, S3: entropy of noisy histograms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.entropy import sensitivity
from sfumato.papers.reaedp.histograms import (
    BINS,
    CELL_TRIALS,
    CELLS,
    MANY,
    MECHANISMS,
    PRICES,
    SEED,
    TRIALS,
    UNRATE,
    Errors,
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
from sfumato.papers.result import Part, ValueTable, value_table
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
        values=_baseline_values(errors, direct),
        drawn=[
            (grid, {"printed bound": (bound,) * len(grid), **entropy, "entropy alone, exact": direct}),
            (grid, counts),
        ],
    )


def _baseline_values(errors: tuple[Errors, ...], direct: tuple[float, ...]) -> tuple[ValueTable, ...]:
    entropy = tuple(
        (f"{e.epsilon:g}", *(f"{x:.4f}" for x in e.entropy), f"{d:.4f}") for e, d in zip(errors, direct, strict=True)
    )
    counts = tuple((f"{e.epsilon:g}", *(f"{x:.2f}" for x in e.counts)) for e in errors)
    return (
        value_table("Mean |H - H noisy|, bits", ("epsilon", *MECHANISMS, "entropy alone"), entropy, words=0),
        value_table("Mean error of a count", ("epsilon", *MECHANISMS), counts, words=0),
    )


def figure_6(sources: Sources) -> Part:
    """Return figure 6: entropy error by number of bins."""
    errors, bound = errors_by_cells(sources.prices), published_bound(len(sources.prices))
    above = [str(cells) for cells, error in zip(CELLS, errors, strict=True) if error > bound]
    places = tuple(str(cells) for cells in CELLS)
    rows = tuple(
        (place, f"{error:.4f}", f"{bound:.5f}", "above" if error > bound else "below")
        for place, error in zip(places, errors, strict=True)
    )
    header = ("bins m", "mean error, bits", "printed bound", "")
    return part(
        "figure 6",
        {"trials": CELL_TRIALS, "seed": SEED, "above": above},
        values=(ValueTable(title="", header=header, rows=rows, numbers=(0, 1, 2)),),
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
    printed, rows = TABLE_S3[0], [_printed_values(TABLE_S3[0])]
    if PRICES in sources.present:
        rows.append(_our_values(TABLE_S3[1], noisy_histogram_run(sources.prices)))
    return part("table IV", {"row": printed}, values=(_table("", rows),))


def table_s3(sources: Sources) -> Part:
    """Return table S3: seven rows as printed, two of them recomputed, and which differences exceed their bound."""
    ours = _recomputed(sources)
    rows = [_printed_values(row) for row in TABLE_S3]
    rows += [_our_values(row, ours[row.column]) for row in TABLE_S3 if row.column in ours]
    over = [row.title for row in TABLE_S3 if row.exceeds]
    again = [{"row": row, "run": ours[row.column]} for row in TABLE_S3 if row.column in ours]
    numbers = {"count": len(over), "over": over, "recomputed": again}
    return part("table S3", numbers, values=(_table("epsilon = 1, 30 bins", rows),))


def _recomputed(sources: Sources) -> dict[str, OneRun]:
    found: dict[str, OneRun] = {}
    if PRICES in sources.present:
        found["SalePrice"] = noisy_histogram_run(sources.prices)
    if UNRATE in sources.present:
        found["UNRATE"] = noisy_histogram_run(sources.unrate)
    return found


def _table(title: str, rows: list[tuple[str, ...]]) -> ValueTable:
    header = ("data", "from", "n", "H", "H noisy", "difference", "printed bound", "difference / bound")
    return value_table(title, header, rows, words=2)


def _printed_values(row: PrintedRow) -> tuple[str, ...]:
    return (
        f"{row.title} ({row.column})",
        "as printed",
        f"{row.records:,}",
        f"{row.entropy:.4f}",
        f"{row.noisy:.4f}",
        f"{row.difference:.4f}",
        f"{row.bound:.5f}",
        f"{row.difference / row.bound:.2f}",
    )


def _our_values(row: PrintedRow, run: OneRun) -> tuple[str, ...]:
    return (
        f"{row.title} ({row.column})",
        "ours",
        f"{run.counts.sum():,}",
        f"{run.entropy:.5f}",
        f"{run.noisy_entropy:.5f}",
        f"{run.difference:.5f}",
        f"{run.bound:.5f}",
        f"{run.difference / run.bound:.2f}",
    )


def figure_s4(sources: Sources) -> Part:
    """Return figure S4: the panels of SalePrice and UNRATE."""
    runs = {"SalePrice": noisy_histogram_run(sources.prices), "UNRATE": noisy_histogram_run(sources.unrate)}
    rows = [_our_values(row, runs[row.column]) for row in TABLE_S3 if row.column in runs]
    return part(
        "figure S4",
        {"columns": [{"name": name, "run": run} for name, run in runs.items()]},
        values=(_table("", rows),),
        drawn=[chart for run in runs.values() for chart in _histogram_values(run)],
        charts_a_row=2,
    )
