"""Tables 1 to 4: confusion, baselines, variability over runs, epsilon by target."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.metrics.clusters import ari_from_confusion, confusion, kmeans, standardise
from sfumato.papers.kmeans_geometry.figures import part
from sfumato.papers.kmeans_geometry.simulation import (
    CLUSTERS,
    GRID,
    PAPER_RUNS,
    TARGETS,
    FloatArray,
    SharedResults,
    closest_epsilon,
    first_above,
    without_noise,
)
from sfumato.papers.result import Part, ValueTable, value_table

PRINTED_CONFUSION = ((1, 2, 94, 3), (3, 83, 3, 11), (90, 0, 1, 5), (3, 14, 11, 76))
PRINTED_RUNS = {"mean": 0.629, "sd": 0.108, "min": 0.381, "Q1": 0.576, "median": 0.647, "max": 0.790}
PRINTED_SELECTED = {0.1: (1.70, 0.18), 0.3: (1.91, 0.29), 0.5: (2.48, 0.48)}
MERGED = ((100, 0, 0, 0), (100, 0, 0, 0), (0, 100, 0, 0), (0, 0, 50, 50))
"""Four clusters of 100: two merged, one split in the middle."""


def table_1(work: SharedResults) -> Part:
    """Return the confusion matrix, printed and ours."""
    made = work.example
    again = kmeans(standardise(made.rows)(made.rows), CLUSTERS, 0).labels
    table, printed = confusion(made.labels, again), np.array(PRINTED_CONFUSION)
    numbers = {
        "ari_of_printed": ari_from_confusion(printed),
        "printed_sizes": printed.sum(axis=1),
        "sizes": table.sum(axis=1),
        "ari": ari_from_confusion(table),
    }
    return part("table 1", numbers, values=(_matrix("printed", printed), _matrix("ours, one run", table)))


def _matrix(title: str, table: NDArray[np.int64]) -> ValueTable:
    rows = tuple((str(i), *(str(count) for count in row)) for i, row in enumerate(table))
    header = ("real cluster", *(f"synthetic {j}" for j in range(table.shape[1])))
    return value_table(title, header, rows, words=0)


def table_2(work: SharedResults) -> Part:
    """Return the baselines."""
    best = without_noise(work.rows, 10, "k-means++", work.runs)
    worst = without_noise(work.rows, 1, "random", 2 * work.runs)
    proposed = work.at_paper.aligned
    numbers = {
        "best": _spread(best),
        "best_mean": best.mean(),
        "local": ((worst > 0.55) & (worst < 0.72)).mean(),
        "worst": worst.mean(),
        "merged": ari_from_confusion(MERGED),
        "proposed": _spread(proposed),
        "proposed_mean": proposed.mean(),
        "noisy": _spread(work.coordinate),
    }
    return part("table 2", numbers)


def _spread(values: FloatArray) -> str:
    return f"{values.mean():.3f} +- {values.std(ddof=1):.3f} ({values.min():.3f} to {values.max():.3f})"


def table_3(work: SharedResults) -> Part:
    """Return the distribution over runs."""
    runs = work.at_paper.aligned
    ours = {"first 30": run_statistics(runs[:PAPER_RUNS]), f"all {len(runs)}": run_statistics(runs)}
    names = (*PRINTED_RUNS, "Q3")
    rows = (
        (title, *(f"{each[name]:.3f}" if name in each else "" for name in names))
        for title, each in {"printed": PRINTED_RUNS, **ours}.items()
    )
    numbers = {
        "printed": PRINTED_RUNS,
        "thirty": ours["first 30"],
        "tiny": work.by_epsilon[0.001].aligned.mean(),
    }
    return part("table 3", numbers, values=(value_table("Aligned ARI at epsilon 1.6", ("runs", *names), rows),))


def run_statistics(values: FloatArray) -> dict[str, float]:
    """Return the numbers that table 3 prints, and the upper quartile."""
    low, first, middle, third, high = (float(q) for q in np.quantile(values, (0, 0.25, 0.5, 0.75, 1)))
    spread = {"mean": float(values.mean()), "sd": float(values.std(ddof=1))}
    return {**spread, "min": low, "Q1": first, "median": middle, "max": high, "Q3": third}


def table_4(work: SharedResults) -> Part:
    """Return what the calibration selects."""
    curves = work.curves
    numbers = {
        "seeds": len(curves),
        "first": GRID[0],
        "last": GRID[-1],
        "below": (work.at_paper.aligned <= 0.18).mean(),
        "targets": [
            {
                "target": target,
                "printed": PRINTED_SELECTED[target],
                "closest": _range([closest_epsilon(curve, target) for curve in curves]),
                "smallest": _range([first_above(curve, target) for curve in curves]),
            }
            for target in TARGETS
        ],
    }
    return part("table 4", numbers)


def _range(values: list[float]) -> str:
    return f"mean {np.mean(values):.2f} ({min(values):.1f} to {max(values):.1f})"
