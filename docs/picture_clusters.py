"""Make the pictures of cluster-geometry.md: ``.venv/bin/python docs/picture_clusters.py`` (a minute or two).

Both use rows like those of the paper's example: four clusters of 100, x1 continuous, x2 a whole number.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import vl_convert

from sfumato.methods.cluster_geometry import GeometryPlan, release_geometry
from sfumato.papers.charts import Axes, Line, lines
from sfumato.papers.kmeans_geometry.data import CLUSTERS, DISCRETE, PUBLIC_BOX, Array
from sfumato.papers.kmeans_geometry.simulation import Work, private_transfer, run
from sfumato.privacy.randomness import Randomness
from sfumato.report.charts import PAPER, Spec, config, static_spec
from sfumato.rows.box import Axis
from sfumato.utility.clusters import transfer_ari

IMAGES = Path(__file__).resolve().parent / "images"
WIDTH, PANEL = 620, 190
EPSILONS = (0.01, 0.03, 0.1, 0.3, 0.5, 1.0, 1.6, 2.5, 5.0, 10.0)
PRIVATE_RUNS, SEED = 30, 1


def main() -> int:
    """Write both pictures."""
    work = Work()
    pictures = {"clusters-three.svg": three_tables(work), "clusters-epsilon.svg": static_spec(curves(work), WIDTH)}
    for name, drawn in pictures.items():
        IMAGES.joinpath(name).write_text(vl_convert.vegalite_to_svg(drawn), encoding="utf-8")
    print(f"wrote {', '.join(pictures)}")
    return 0


def three_tables(work: Work) -> Spec:
    """Return the original rows, one run of each form at epsilon 1, coloured by the cluster a row was made from."""
    published = run(work.rows, 1.0, SEED)
    axes = tuple(Axis(*side, whole=whole) for side, whole in zip(PUBLIC_BOX, DISCRETE, strict=True))
    plan = GeometryPlan(axes=axes, clusters=CLUSTERS, epsilon=1, n_pub=len(work.rows))
    randomness = Randomness.of(SEED)
    made, labels = release_geometry(plan, lambda: iter([work.rows]), randomness).draw(400, randomness.generator)
    titles = ["original", "published, noise 1 (no guarantee)", "private, epsilon 1"]
    drawn = zip(titles, (work.rows, published.rows, made), (work.labels, published.labels, labels), strict=True)
    return _panels(titles, [row for title, rows, own in drawn for row in _points(title, rows, own)])


def _points(title: str, rows: Array, labels: Any) -> list[dict[str, Any]]:
    """Return points numbered so that a cluster keeps its colour from panel to panel: by the angle of its middle."""
    middles = np.array([rows[labels == k].mean(axis=0) for k in range(CLUSTERS)])
    around = middles - middles.mean(axis=0)
    rank = np.argsort(np.argsort(np.arctan2(around[:, 1], around[:, 0])))
    return [
        {"t": title, "x": round(float(x), 2), "y": round(float(y), 2), "k": int(rank[k])}
        for (x, y), k in zip(rows, labels, strict=True)
    ]


def _panels(titles: list[str], rows: list[dict[str, Any]]) -> Spec:
    colour = alt.Scale(domain=list(range(CLUSTERS)), range=list(PAPER.series[:CLUSTERS]))
    cloud = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_circle(size=14, opacity=0.55)
        .encode(
            x=alt.X("x:Q", title="x1", axis=alt.Axis(grid=False, tickCount=5)),
            y=alt.Y("y:Q", title="x2", axis=alt.Axis(grid=False, tickCount=6)),
            color=alt.Color("k:N", scale=colour, legend=None),
        )
    )
    header = alt.Header(title=None, labelFontSize=12, labelColor=PAPER.ink)
    facets = cloud.properties(width=PANEL, height=PANEL).facet(column=alt.Column("t:N", sort=titles, header=header))
    facets = facets.resolve_scale(y="independent")  # x2 of the published rows has no bounds: it would flatten the rest
    return {**facets.to_dict(), "config": config(PAPER), "background": "white"}


def curves(work: Work) -> Spec:
    """Return both indices of the published form and the one of the private form, with what the bare box scores."""
    private = [float(private_transfer(work.rows, work.labels, e, PRIVATE_RUNS).mean()) for e in EPSILONS]
    published = [work.runs_at(e) for e in EPSILONS]
    drawn = [
        Line("published, aligned ARI", EPSILONS, [float(each.aligned.mean()) for each in published]),
        Line("private, transfer ARI", EPSILONS, private),
        Line("published, transfer ARI", EPSILONS, [float(each.transfer.mean()) for each in published]),
        Line("the bare box, transfer ARI", EPSILONS, [bare_box(work)] * len(EPSILONS), faint=True),
    ]
    return lines(drawn, Axes("epsilon (published: noise)", "adjusted Rand index"), PAPER)


def bare_box(work: Work) -> float:
    """Return the transfer ARI of rows that know the public box and nothing else."""
    low, high = np.array(PUBLIC_BOX).T
    found: list[float] = []
    for seed in range(PRIVATE_RUNS):
        even = np.random.default_rng(seed).uniform(low, high, work.rows.shape)
        found.append(transfer_ari(work.rows, even, CLUSTERS, seed=seed, labels=work.labels))
    return float(np.mean(found))


if __name__ == "__main__":
    sys.exit(main())
