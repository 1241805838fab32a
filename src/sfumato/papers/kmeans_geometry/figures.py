"""Figures 1 to 5, one run of algorithm 1 step by step, and tables 1 to 4, many runs of it."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from sfumato.metrics.clusters import aligned_ari, ari_from_confusion, confusion, kmeans, standardise
from sfumato.papers.charts import Chart, Series
from sfumato.papers.kmeans_geometry.published.algorithm import largest_distance
from sfumato.papers.kmeans_geometry.sensitivity import failures, simulated_failures
from sfumato.papers.kmeans_geometry.simulation import (
    CLUSTERS,
    EPSILON,
    GRID,
    HIGH,
    LOW,
    PAPER_RUNS,
    PRINTED_CENTROIDS,
    PRINTED_EPSILON,
    RECORDS,
    TARGETS,
    FloatArray,
    SharedResults,
    closest_epsilon,
    first_above,
    without_noise,
)
from sfumato.papers.result import Part, ValueTable, value_table
from sfumato.papers.texts import written_part

FAILURE_EPSILONS = (0.1, 0.5, 1.0, 1.6, 2.5, 5.0)
PRINTED_DELTA, PRINTED_SCALE = 2.84, 3.55
PRINTED_MOVES = (0.23, 3.64, 0.80, 2.86)
MOVE_DRAWS = 100_000
DRAWS = 20_000

part = partial(written_part, "sfumato.papers.kmeans_geometry")


def chart(
    title: str,
    label: str,
    series: tuple[Series, ...],
    marks: tuple[Series, ...] = (),
    bounds: tuple[float, ...] = (),
    standardised: bool = True,
) -> Chart:
    """Return a chart of rows, by default in standard deviations."""
    unit = ", standardised" if standardised else ""
    return Chart(
        kind="points", title=title, label=label, x=f"x1{unit}", y=f"x2{unit}", series=series, marks=marks, bounds=bounds
    )


def scatter_series(rows: FloatArray, labels: NDArray[np.int64] | None = None) -> tuple[Series, ...]:
    """Return rows of two columns as points, one name for each label."""
    groups = {"rows": rows} if labels is None else {f"cluster {k}": rows[labels == k] for k in np.unique(labels)}
    return tuple(points(name, each) for name, each in groups.items())


def points(name: str, rows: FloatArray) -> Series:
    """Return rows of two columns under one name, with the digits that a drawing needs."""
    x, y = (tuple(float(f"{v:.4g}") for v in column) for column in rows.T)
    return Series(name=name, x=x, y=y)


def edges(work: SharedResults) -> tuple[float, float]:
    """Return the standardised bounds of x1."""
    standard = work.example.standard
    return float(standard.low[0]), float(standard.high[0])


def figure_1(work: SharedResults) -> Part:
    """Return the rows, as they are and standardised."""
    low, high = edges(work)
    sizes = np.bincount(work.labels)
    numbers = {
        "records": RECORDS,
        "rows": len(work.rows),
        "smallest": sizes.min(),
        "largest": sizes.max(),
        "low": low,
        "high": high,
        "width": high - low,
    }
    return part(
        "figure 1",
        numbers,
        charts=(
            chart(
                "Original rows",
                "400 rows in four clusters between the bounds -15 and 10 of x1.",
                scatter_series(work.rows),
                bounds=(LOW[0], HIGH[0]),
                standardised=False,
            ),
            chart(
                "Standardised rows",
                "The same rows in standard deviations, with the bounds.",
                scatter_series(work.example.standard.forward(work.rows)),
                bounds=(low, high),
            ),
        ),
    )


def figure_2(work: SharedResults) -> Part:
    """Return clusters, and what the noise does to their centroids."""
    made, scaled = work.example, work.example.standard.forward(work.rows)
    moves = np.sort(np.linalg.norm(made.noisy_centroids - made.true_centroids, axis=1))
    mean_move, chance = printed_moves()
    before, after = points("centroid", made.true_centroids), points("with noise", made.noisy_centroids)
    numbers = {
        "printed_centroids": _pairs(np.array(PRINTED_CENTROIDS)),
        "centroids": _pairs(_in_printed_order(made.true_centroids)),
        "printed_delta": PRINTED_DELTA,
        "delta": made.delta,
        "delta_of_printed": largest_distance(np.array(PRINTED_CENTROIDS)),
        "printed_scale": PRINTED_SCALE,
        "printed_epsilon": PRINTED_EPSILON,
        "scale": made.noise_scale,
        "scale_of_printed": 2 * PRINTED_DELTA / PRINTED_EPSILON,
        "printed_moves": PRINTED_MOVES,
        "moves": moves,
        "mean_move": mean_move,
        "chance": chance,
    }
    return part(
        "figure 2",
        numbers,
        charts=(
            chart(
                "K-means",
                "Four clusters with their centroids.",
                scatter_series(scaled, made.labels),
                (before,),
                edges(work),
            ),
            chart(
                "Laplace noise on the centroids",
                "Centroids before and after the noise, which takes some far away.",
                scatter_series(scaled, made.labels),
                (before, after),
                edges(work),
            ),
        ),
    )


@cache
def printed_moves() -> tuple[float, float]:
    """Return the mean displacement at the printed scale, and the chance of four as small as printed on average."""
    drawn = np.random.default_rng(0).laplace(0.0, PRINTED_SCALE, (MOVE_DRAWS, CLUSTERS, 2))
    moves = np.linalg.norm(drawn, axis=2)
    return float(moves.mean()), float((moves.mean(axis=1) <= np.mean(PRINTED_MOVES)).mean())


def _in_printed_order(centroids: FloatArray) -> FloatArray:
    gaps = np.linalg.norm(np.array(PRINTED_CENTROIDS)[:, None] - centroids[None], axis=2)
    return centroids[gaps.argmin(axis=1)]


def _pairs(centroids: FloatArray) -> str:
    return ", ".join(f"({x:.1f}, {y:.1f})" for x, y in centroids.round(1) + 0.0)  # no minus before 0


def figure_3(work: SharedResults) -> Part:
    """Return the reflection, and how often it is not enough."""
    made = work.example
    each, some = failures(made, EPSILON)
    successive, _ = failures(made, EPSILON, successive=True)
    moved = made.standard.forward(work.rows) - made.true_centroids[made.labels] + made.centroids[made.labels]
    marks = (points("with noise", made.noisy_centroids), points("reflected", made.centroids))
    return part(
        "figure 3",
        {"each": each, "some": some, "successive": successive},
        values=(failure_table(work),),
        charts=(
            chart(
                "Reflected centroids",
                "Rows moved along with their reflected centroids.",
                scatter_series(moved, made.labels),
                marks,
                edges(work),
            ),
        ),
    )


def failure_table(work: SharedResults) -> ValueTable:
    """Return the chance that the reflection fails, by formula and by drawing."""
    rows: list[tuple[str, ...]] = []
    for epsilon in FAILURE_EPSILONS:
        found = (*failures(work.example, epsilon), *simulated_failures(work.example, epsilon, DRAWS))
        rows.append((f"{epsilon:g}", *(f"{found[i]:.3f}" for i in (0, 2, 1, 3))))
    header = ("epsilon", "one centroid", "drawn", "at least one of 4", "drawn")
    return value_table("Chance that a centroid stays outside after one reflection", header, rows, words=0)


def figure_4(work: SharedResults) -> Part:
    """Return noisy radii and the synthetic rows."""
    made, radius = work.example, work.example.true_radii.mean()
    numbers = {
        "radius": radius,
        "noise": made.noise_scale / radius,
        "clamped": work.at_paper.clamped.mean(),
        "inflated": np.median(made.radii[made.radii > 0]) / radius,
    }
    return part(
        "figure 4",
        numbers,
        charts=(
            chart(
                "Noisy radii around noisy centroids",
                "Synthetic points after clipping, in standard deviations.",
                scatter_series(made.points, made.labels),
                (points("centroid", made.centroids),),
                edges(work),
            ),
            chart(
                "Synthetic rows",
                "The same in the unit of the table, x2 rounded.",
                scatter_series(made.rows, made.labels),
                bounds=(LOW[0], HIGH[0]),
                standardised=False,
            ),
        ),
    )


def figure_5(work: SharedResults) -> Part:
    """Return k-means on both tables."""
    made = work.example
    again = kmeans(standardise(made.rows)(made.rows), CLUSTERS, 0).labels
    runs = work.at_paper
    numbers = {
        "index": aligned_ari(work.rows, made.rows, CLUSTERS, labels=work.labels),
        "runs": len(runs.aligned),
        "mean": runs.aligned.mean(),
        "sd": runs.aligned.std(ddof=1),
        "transfer": runs.transfer.mean(),
    }
    return part(
        "figure 5",
        numbers,
        charts=(
            chart(
                "K-means on the original rows",
                "Four clusters, well apart.",
                scatter_series(work.rows, work.labels),
                standardised=False,
            ),
            chart(
                "K-means on the synthetic rows",
                "Four wide clusters in other places.",
                scatter_series(made.rows, again),
                standardised=False,
            ),
        ),
    )


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
