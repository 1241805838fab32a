"""Make the pictures of cluster-geometry.md: ``.venv/bin/python docs/picture_clusters.py`` (a minute or two).

Both use rows like those of the paper's example: four clusters of 100, x1 continuous, x2 a whole number.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from drawn import Panel, alone, write

from sfumato.mechanisms.cluster_geometry import GeometryPlan, release_geometry
from sfumato.metrics.clusters import transfer_ari
from sfumato.papers.charts import ChartAxes, curves
from sfumato.papers.kmeans_geometry.simulation import (
    CLUSTERS,
    DISCRETE,
    PUBLIC_BOX,
    FloatArray,
    SharedResults,
    private_transfer,
    run_algorithm_1,
)
from sfumato.privacy.randomness import Randomness
from sfumato.report.charts import plane
from sfumato.report.charts.marks import Clouds, LineMark, Lines, PointMark, common_axis
from sfumato.sampling.public_box import BoundedAxis

THREE, BOTH = "clusters-three.svg", "clusters-epsilon.svg"
PANEL = 240
EPSILONS = (0.01, 0.03, 0.1, 0.3, 0.5, 1.0, 1.6, 2.5, 5.0, 10.0)
PRIVATE_RUNS, SEED = 30, 1


def main() -> int:
    """Write both pictures."""
    work = SharedResults()
    write(THREE, "Original rows, one published run and one private run side by side", three_tables(work), legend=())
    alone(BOTH, "Both indices against epsilon", indices(work))
    print(f"wrote {THREE}, {BOTH}")
    return 0


def three_tables(work: SharedResults) -> list[Panel]:
    """Return the original rows, one run of each form at epsilon 1, coloured by the cluster a row was made from."""
    published = run_algorithm_1(work.rows, 1.0, SEED)
    axes = tuple(BoundedAxis(*side, whole=whole) for side, whole in zip(PUBLIC_BOX, DISCRETE, strict=True))
    plan = GeometryPlan(axes=axes, clusters=CLUSTERS, epsilon=1, n_pub=len(work.rows))
    randomness = Randomness.of(SEED)
    made, labels = release_geometry(plan, lambda: iter([work.rows]), randomness).draw(400, randomness.generator)
    titles = ["original", "published, noise 1 (no guarantee)", "private, epsilon 1"]
    tables = [work.rows, published.rows, made]
    # Only x1 is shared: x2 of the published rows has no bounds, and would flatten the rest.
    shared = common_axis("x1", np.concatenate(tables)[:, 0].tolist())
    drawn = zip(titles, tables, (work.labels, published.labels, labels), strict=True)
    return [Panel(Clouds(_clouds(rows, own), shared, plane.Axis("x2")), title, PANEL) for title, rows, own in drawn]


def _clouds(rows: FloatArray, labels: Any) -> list[PointMark]:
    """Return clusters in an order that keeps their colours from panel to panel: by the angle of their middles."""
    middles = np.array([rows[labels == k].mean(axis=0) for k in range(CLUSTERS)])
    around = middles - middles.mean(axis=0)
    order = np.argsort(np.arctan2(around[:, 1], around[:, 0]))
    return [PointMark(f"cluster {place + 1}", *rows[labels == k].T.tolist()) for place, k in enumerate(order)]


def indices(work: SharedResults) -> Lines:
    """Return both indices of the published form and the one of the private form, with what the bare box scores."""
    private = [float(private_transfer(work.rows, work.labels, e, PRIVATE_RUNS).mean()) for e in EPSILONS]
    published = [work.runs_at(e) for e in EPSILONS]
    drawn = [
        LineMark("published, aligned ARI", EPSILONS, [float(each.aligned.mean()) for each in published]),
        LineMark("private, transfer ARI", EPSILONS, private),
        LineMark("published, transfer ARI", EPSILONS, [float(each.transfer.mean()) for each in published]),
    ]
    axes = ChartAxes("epsilon (published: noise)", "adjusted Rand index")
    return curves(drawn, axes, rules=[("the bare box, transfer ARI", bare_box(work))])


def bare_box(work: SharedResults) -> float:
    """Return the transfer ARI of rows that know the public box and nothing else."""
    low, high = np.array(PUBLIC_BOX).T
    found: list[float] = []
    for seed in range(PRIVATE_RUNS):
        even = np.random.default_rng(seed).uniform(low, high, work.rows.shape)
        found.append(transfer_ari(work.rows, even, CLUSTERS, seed=seed, labels=work.labels))
    return float(np.mean(found))


if __name__ == "__main__":
    sys.exit(main())
