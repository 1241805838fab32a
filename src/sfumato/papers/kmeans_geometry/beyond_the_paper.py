"""Additions to the paper: transfer index, recovered labels, and the form with a guarantee."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.papers.charts import line_chart
from sfumato.papers.kmeans_geometry.figures import part
from sfumato.papers.kmeans_geometry.sensitivity import ceiling
from sfumato.papers.kmeans_geometry.simulation import (
    ATTACKED,
    EPSILON,
    EPSILONS,
    PRIVATE_EPSILONS,
    FloatArray,
    SharedResults,
    noise_alone,
    on_public_tables,
    private_transfer,
    shuffled,
)
from sfumato.papers.result import Part, value_table

PUBLIC_EPSILONS = (0.1, 1.0, 5.0)
PRIVATE_RUNS, PUBLIC_RUNS = 20, 15


def _lines(
    name: str,
    numbers: Mapping[str, Any],
    axes: tuple[str, str],
    epsilons: Sequence[float],
    heights: Mapping[str, Sequence[float]],
    titles: tuple[str, str, str],
    header: Sequence[str] | None = None,
    cells: Mapping[str, Sequence[str]] | None = None,
    **drawn: Any,
) -> Part:
    """Return a part with lines over epsilon and the table of their heights; titles: of the table, the chart, a label.

    ``cells`` are written in the place of heights of that name.
    """
    columns = [(cells or {}).get(line, [f"{y:.3f}" for y in each]) for line, each in heights.items()]
    rows = zip((f"{e:g}" for e in epsilons), *columns, strict=True)
    table = value_table(titles[0], ("epsilon", *(header or heights)), rows, words=0)
    chart = line_chart(titles[1], axes, epsilons, heights, titles[2], top=1.0, **drawn)
    return part(name, numbers, values=(table,), charts=(chart,))


def copied_labels(work: SharedResults) -> Part:
    """Return both indices over epsilon."""
    aligned, transfer = (
        tuple(float(getattr(work.by_epsilon[e], name).mean()) for e in EPSILONS) for name in ("aligned", "transfer")
    )
    return _lines(
        "beyond 1",
        {**_where_from(work), "public": _public(work)},
        ("nominal epsilon", "adjusted Rand index"),
        EPSILONS,
        {"aligned (the paper's)": aligned, "transfer": transfer},
        (
            "Mean over runs",
            "Two indices, one mechanism",
            "The aligned index stays above one half at every epsilon; the transfer index goes to 0.",
        ),
        ("aligned ARI", "transfer ARI"),
        muted_first=True,
    )


def _where_from(work: SharedResults) -> dict[str, float]:
    """Return the aligned index with noise on centroids or radii alone, without bounds, and of rows in any order."""
    rows, seeds, tiny = work.rows, range(work.runs), work.by_epsilon[0.001]
    return {
        "tiny_aligned": tiny.aligned.mean(),
        "tiny_transfer": tiny.transfer.mean(),
        "free": float(np.mean([noise_alone(rows, (True, True), 0.001, seed, bounded=False) for seed in seeds])),
        "mixed": float(np.mean([shuffled(rows, work.labels, EPSILON, seed) for seed in seeds])),
        "centroids": float(np.mean([noise_alone(rows, (True, False), EPSILON, seed) for seed in seeds])),
        "radii": float(np.mean([noise_alone(rows, (False, True), EPSILON, seed) for seed in seeds])),
    }


def _public(work: SharedResults) -> list[dict[str, Any]]:
    tables = on_public_tables(PUBLIC_EPSILONS, min(PUBLIC_RUNS, work.runs))
    return [
        {
            "table": name,
            "epsilons": list(each),
            "aligned": [aligned for aligned, _ in each.values()],
            "transfer": [transfer for _, transfer in each.values()],
        }
        for name, each in tables.items()
    ]


def recovered_labels(work: SharedResults) -> Part:
    """Return the share of labels that the aligned output gives away, against the ceiling of every private mechanism."""
    shares = [float(recovered_at(work, e).mean()) for e in ATTACKED]
    replace, both = ([ceiling(e, replace=way) for e in ATTACKED] for way in (True, False))
    above, proved = (
        [e for e, share, most in zip(ATTACKED, shares, limit, strict=True) if share > most] for limit in (replace, both)
    )
    return _lines(
        "beyond 2",
        {"above": above, "proved": proved},
        ("nominal epsilon", "share of labels"),
        ATTACKED,
        {"recovered": shares, "ceiling, epsilon for replacing": replace, "ceiling, epsilon for adding": both},
        (
            "Share of labels",
            "Labels recovered",
            "The mechanism gives away more labels than epsilon allows, most of all at small epsilon.",
        ),
        rules=(("guessing", 0.25),),
    )


def recovered_at(work: SharedResults, epsilon: float) -> FloatArray:
    """Return the share of labels recovered in each run."""
    known = work.by_epsilon if epsilon in EPSILONS else {}
    return known[epsilon].recovered if epsilon in known else work.runs_at(epsilon).recovered


def with_a_guarantee(work: SharedResults) -> Part:
    """Return the transfer index of the private form beside the published one."""
    count = min(PRIVATE_RUNS, work.runs)
    private = [private_transfer(work.rows, work.labels, e, count) for e in PRIVATE_EPSILONS]
    ours = [float(each.mean()) for each in private]
    theirs = [float(work.by_epsilon[e].transfer.mean()) for e in PRIVATE_EPSILONS]
    return _lines(
        "beyond 3",
        {"published": theirs[1], "private": ours[1]},
        ("epsilon", "transfer ARI"),
        PRIVATE_EPSILONS,
        {"published, no guarantee": theirs, "private": ours},
        (
            f"Transfer ARI, n = {len(work.rows)}, {count} private runs",
            "Proved and better",
            "The private form keeps the clusters from epsilon 0.5 on; the published one does not.",
        ),
        ("published (no guarantee)", "private (epsilon-DP)"),
        {"private": [f"{each.mean():.3f} +- {each.std(ddof=1):.3f}" for each in private]},
        muted_first=True,
    )
