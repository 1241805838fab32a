"""Figures 5, 6, 8, S4 and tables IV, S3: entropy of noisy histograms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.entropy import sensitivity
from sfumato.papers.charts import Chart, bar_chart, line_chart
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
)
from sfumato.papers.reaedp.published import published_bound
from sfumato.papers.result import Comparison, Part, ValueTable, comparison, value_table

NO_AMAZON = "The Amazon and Google reviews are not here; SalePrice (1,460 houses) takes their place."
WRONG_CLAIM = "a sensitivity is about one record; noise moves all cells, so it bounds nothing here"


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


TABLE_S3 = (
    PrintedRow("Amazon and Google reviews", "y", 100_000, 3.0279, 3.0286, 0.00037),
    PrintedRow("House Prices", "SalePrice", 1460, 3.4873, 3.5155, 0.01676),
    PrintedRow("Home Credit", "AMT_INCOME_TOTAL", 100_000, 0.0004, 0.0034, 0.00037),
    PrintedRow("Tabular feature engineering", "y_1", 10_000, 4.6645, 4.6640, 0.00300),
    PrintedRow("r_diff", "y_1", 10_000, 0.0237, 0.0459, 0.00300),
    PrintedRow("pow", "y_1", 10_000, 4.7066, 4.7065, 0.00300),
    PrintedRow("US unemployment", "UNRATE", 601, 4.0457, 4.0894, 0.03645),
)


def figure_5(sources: Sources) -> Part:
    """Return figure 5: four baselines against epsilon."""
    prices, counts = sources.prices, bins_from_data(sources.prices)
    errors, bound = baseline_errors(counts), published_bound(len(prices))
    direct = tuple(sensitivity(len(prices), BINS) / e.epsilon for e in errors)
    return Part(
        text=(
            f"{NO_AMAZON} {BINS} bins between the smallest and the largest price, as in the authors' code (edges "
            f"from data are not private), {TRIALS} draws a point, seed {SEED}, Gaussian at delta 1e-5.",
            "Added: an entropy released by itself with Laplace noise of scale h2(1/n)/epsilon, n public. That is "
            "what 'entropy-calibrated' can soundly mean; its mean error is exact.",
        ),
        comparisons=_baseline_statements(errors, bound, direct),
        values=_baseline_values(errors, direct),
        charts=_baseline_charts(errors, bound, direct),
    )


def _baseline_statements(errors: tuple[Errors, ...], bound: float, direct: tuple[float, ...]) -> tuple[Comparison, ...]:
    below = [
        f"{name} at epsilon {e.epsilon:g}"
        for e in errors
        for name, error in zip(MECHANISMS, e.entropy, strict=True)
        if error <= bound
    ]
    at_one = next(i for i, e in enumerate(errors) if e.epsilon == 1)
    return (
        comparison(
            "points whose entropy error is below the bound",
            "all 20",
            f"{len(below)} of 20: {', '.join(below)}",
            WRONG_CLAIM,
        ),
        comparison(
            "privacy of Lap(1/epsilon) on counts",
            "epsilon, replacement adjacency",
            "2 epsilon",
            "one replaced record moves two counts: scale 2/epsilon, or add-remove adjacency",
        ),
        comparison(
            "Laplace against Gaussian",
            "comparable trends",
            f"{errors[at_one].entropy[0]:.4f} against {errors[at_one].entropy[1]:.4f} at epsilon 1",
            "Laplace is scaled for a sensitivity of 1, Gaussian for sqrt 2, by the loose rule",
        ),
        comparison(
            "entropy alone at epsilon 1",
            "not given",
            f"mean error {direct[at_one]:.4f}",
            "exact sensitivity, its own budget, true epsilon-DP when n is public",
        ),
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


def _baseline_charts(errors: tuple[Errors, ...], bound: float, direct: tuple[float, ...]) -> tuple[Chart, ...]:
    grid = tuple(e.epsilon for e in errors)
    entropy = {name: [e.entropy[i] for e in errors] for i, name in enumerate(MECHANISMS)}
    counts = {name: [e.counts[i] for e in errors] for i, name in enumerate(MECHANISMS)}
    return (
        line_chart(
            "entropy error",
            ("epsilon", "bits"),
            grid,
            {"printed bound": (bound,) * len(grid), **entropy, "entropy alone, exact": direct},
            "Entropy error of five mechanisms against epsilon.",
            muted_first=True,
        ),
        line_chart(
            "count error",
            ("epsilon", "mean error of a count"),
            grid,
            counts,
            "Mean error of counts of four mechanisms against epsilon.",
        ),
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
    return Part(
        text=(f"{NO_AMAZON} Laplace noise of scale 1 (epsilon = 1), {CELL_TRIALS} draws a point, seed {SEED}.",),
        comparisons=(
            comparison(
                "mean error against the bound",
                "below for every m, 'regardless of discretization'",
                f"above for m = {', '.join(above)}",
                "the error tends to grow with the number of cells; the bound does not know m",
            ),
        ),
        values=(
            ValueTable(
                title="", header=("bins m", "mean error, bits", "printed bound", ""), rows=rows, numbers=(0, 1, 2)
            ),
        ),
        charts=(
            bar_chart(
                "",
                ("bins m", "bits"),
                places,
                {"printed bound": (bound,) * len(CELLS), "mean error": errors},
                "Entropy error and printed bound by number of bins.",
            ),
        ),
    )


def figure_8(sources: Sources) -> Part:
    """Return figure 8: one noisy histogram, on SalePrice."""
    run = noisy_histogram_run(sources.prices)
    return Part(
        text=(f"{NO_AMAZON} Same pipeline: {BINS} bins, Lap(1), clipped at 0, seed {SEED}.",),
        comparisons=(
            comparison(
                "what justifies the noise scale",
                "theorem 3 and sensitivity 1",
                "the sensitivity of counts only",
                "algorithm 1 computes the entropy bound in line 3 and never uses it",
            ),
            comparison(
                "bin edges",
                "not said",
                f"one dearer house moves {moved_by_one_price(sources.prices):,} of {2 * len(sources.prices):,} in L1",
                "edges from the smallest and largest value are private "
                "data: with them nothing is private; give public edges",
            ),
            *_spread_statements(sources),
        ),
        charts=_histogram_charts("SalePrice", run),
    )


def _spread_statements(sources: Sources) -> tuple[Comparison, ...]:
    counts, bound = bins_from_data(sources.prices), published_bound(len(sources.prices))
    once, twice = entropy_errors(counts, 1.0), entropy_errors(counts, 2.0)
    return tuple(
        comparison(
            f"{words}, {MANY:,} draws",
            "difference below the bound",
            f"mean error {errors.mean():.4f}, above {bound:.4f} in {100 * (errors > bound).mean():.0f} %",
            WRONG_CLAIM,
        )
        for words, errors in (("Lap(1/epsilon), epsilon 1", once), ("Lap(2/epsilon), true 1-DP when replacing", twice))
    )


def _histogram_charts(name: str, run: OneRun) -> tuple[Chart, ...]:
    counts, noisy = (tuple(float(v) for v in np.round(values, 2)) for values in (run.counts, run.noisy))
    return (
        bar_chart(
            f"{name}: counts",
            ("bin", "count"),
            [str(i) for i in range(1, len(counts) + 1)],
            {"original": counts, "noisy, epsilon 1": noisy},
            f"Original and noisy counts of {name} by bin.",
        ),
        bar_chart(
            f"{name}: entropy",
            ("", "bits"),
            ["H"],
            {"original": [run.entropy], "noisy, epsilon 1": [run.noisy_entropy]},
            f"Entropy of {name} before and after noise.",
        ),
    )


def table_iv(sources: Sources) -> Part:
    """Return table IV: the printed row, whose difference exceeds its bound, and the same pipeline on SalePrice."""
    printed, rows = TABLE_S3[0], [_printed_values(TABLE_S3[0])]
    if PRICES in sources.present:
        rows.append(_our_values(TABLE_S3[1], noisy_histogram_run(sources.prices)))
    return Part(
        text=("The reviews are not here: the row is shown as printed, and below it the same pipeline on SalePrice.",),
        comparisons=(
            comparison(
                "difference against the bound",
                "not above it",
                f"{printed.difference:.4f} against {printed.bound:.5f}",
                WRONG_CLAIM,
            ),
        ),
        values=(_table("", rows),),
    )


def table_s3(sources: Sources) -> Part:
    """Return table S3: seven rows as printed, two of them recomputed, and which differences exceed their bound."""
    ours = _recomputed(sources)
    rows = [_printed_values(row) for row in TABLE_S3]
    rows += [_our_values(row, ours[row.column]) for row in TABLE_S3 if row.column in ours]
    over = [row.title for row in TABLE_S3 if row.exceeds]
    again = tuple(
        comparison(
            f"{row.title}: H, H noisy",
            f"{row.entropy:.4f}, {row.noisy:.4f}",
            f"{run.entropy:.5f}, {run.noisy_entropy:.5f}",
            "agrees: 30 bins from data, Lap(1), clip at 0, seed 42",
        )
        for row in TABLE_S3
        if (run := ours.get(row.column)) is not None
    )
    return Part(
        text=("House Prices and US unemployment are recomputed where given; the other five files are not here.",),
        comparisons=(
            comparison(
                "rows whose difference is above the bound",
                "0 of 7",
                f"{len(over)} of 7: {', '.join(over)}",
                WRONG_CLAIM,
            ),
            *again,
        ),
        values=(_table("epsilon = 1, 30 bins", rows),),
    )


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
    return Part(
        text=("Panels (b) and (d); the files of (a) and (c) are not here.",),
        comparisons=tuple(
            comparison(
                f"{name}: change of entropy",
                "the bound is respected",
                f"{run.difference:.4f} against {run.bound:.4f}",
                WRONG_CLAIM,
            )
            for name, run in runs.items()
        ),
        values=(_table("", rows),),
        charts=tuple(chart for name, run in runs.items() for chart in _histogram_charts(name, run)),
        charts_a_row=2,
    )
