"""Figures 1 to 5: one run of algorithm 1, step by step."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from sfumato.metrics.clusters import aligned_ari, kmeans, standardise
from sfumato.papers.charts import Chart, Series
from sfumato.papers.kmeans_geometry.published.algorithm import largest_distance
from sfumato.papers.kmeans_geometry.sensitivity import failures, simulated_failures
from sfumato.papers.kmeans_geometry.simulation import (
    CLUSTERS,
    EPSILON,
    HIGH,
    LOW,
    PRINTED_CENTROIDS,
    PRINTED_EPSILON,
    RECORDS,
    FloatArray,
    SharedResults,
)
from sfumato.papers.result import Part, ValueTable, comparison, value_table

FAILURE_EPSILONS = (0.1, 0.5, 1.0, 1.6, 2.5, 5.0)
PRINTED_DELTA, PRINTED_SCALE, PRINTED_RADIUS = 2.84, 3.55, 0.37
PRINTED_MOVES = (0.23, 3.64, 0.80, 2.86)
MOVE_DRAWS = 100_000
DRAWS = 20_000
OWN = "Our rows are drawn around the printed centroids; the paper's own are not available."


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
    return Part(
        text=(OWN,),
        comparisons=(
            comparison(
                "rows",
                f"n = {RECORDS}, four clusters of about equal size",
                f"n = {len(work.rows)}, clusters of {sizes.min()} to {sizes.max()}",
                "built so",
            ),
            comparison(
                "bounds of x1",
                "-15 to 10",
                f"{low:.2f} to {high:.2f} standardised, {high - low:.2f} wide",
                "the paper prints no standardised bounds",
            ),
        ),
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
    likely = printed_moves()
    before, after = points("centroid", made.true_centroids), points("with noise", made.noisy_centroids)
    return Part(
        comparisons=(
            comparison(
                "centroids",
                _pairs(np.array(PRINTED_CENTROIDS)),
                _pairs(_in_printed_order(made.true_centroids)),
                "the printed ones have a standard deviation above 1 in x1 by themselves: rounded",
            ),
            comparison(
                "Delta",
                f"{PRINTED_DELTA}",
                f"{made.delta:.2f}",
                f"the printed centroids give {largest_distance(np.array(PRINTED_CENTROIDS)):.2f}: rounded",
            ),
            comparison(
                "scale of the noise",
                f"{PRINTED_SCALE}",
                f"{made.noise_scale:.2f}",
                f"2 x {PRINTED_DELTA} / {PRINTED_EPSILON} is {2 * PRINTED_DELTA / PRINTED_EPSILON:.2f}: right",
            ),
            comparison(
                "displacements",
                ", ".join(map(str, PRINTED_MOVES)),
                ", ".join(f"{move:.2f}" for move in moves),
                f"at scale {PRINTED_SCALE} the mean is {likely[0]:.1f}; four as small as the printed ones on "
                f"average have a chance of {100 * likely[1]:.1f} %, and both 3.64 and 2.86 exceed Delta",
            ),
        ),
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
    return Part(
        comparisons=(
            comparison(
                "centroids after the reflection",
                "all inside the bounds",
                f"outside with a chance of {each:.3f} each, {some:.3f} for at least one of four",
                "one reflection is not enough where the noise is about as wide as the bounds",
            ),
            comparison(
                "step 7 as two ifs in turn",
                "not told apart",
                f"outside with a chance of {successive:.3f} each",
                "what the first if throws beyond the upper bound, the second reflects again",
            ),
            comparison(
                "folding, ours", "not in the paper", "never outside", "t = (v - L) mod 2w, then L + t or L + 2w - t"
            ),
        ),
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
    made, clamped = work.example, work.at_paper.clamped
    inflated = float(np.median(made.radii[made.radii > 0]) / made.true_radii.mean())
    return Part(
        comparisons=(
            comparison("mean radius", f"{PRINTED_RADIUS}", f"{made.true_radii.mean():.2f}", "agrees"),
            comparison(
                "noise over radius",
                "roughly ten times",
                f"{made.noise_scale / made.true_radii.mean():.1f} times",
                "agrees",
            ),
            comparison(
                "radii clamped to 0",
                "a non-trivial fraction",
                f"{100 * clamped.mean():.0f} %",
                "these rows sit exactly on their noisy centroid",
            ),
            comparison("other radii", "substantially inflated", f"median {inflated:.1f} times the true mean", "agrees"),
        ),
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
    index = aligned_ari(work.rows, made.rows, CLUSTERS, labels=work.labels)
    runs = work.at_paper
    return Part(
        comparisons=(
            comparison(
                "ARI of this run",
                "0.6656",
                f"{index:.3f}",
                f"one run each; the mean of {len(runs.aligned)} runs "
                f"is {runs.aligned.mean():.3f} +- {runs.aligned.std(ddof=1):.3f}",
            ),
            comparison(
                "relative positions of the clusters",
                "preserved",
                f"transfer ARI {runs.transfer.mean():.2f} on average",
                "NOT preserved: centroids learned from the synthetic "
                "rows hardly cluster the original ones; the aligned index is high since labels are copied",
            ),
        ),
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
