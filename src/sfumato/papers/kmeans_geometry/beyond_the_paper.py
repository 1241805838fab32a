"""Additions to the paper: transfer index, recovered labels, and the form with a guarantee."""

from __future__ import annotations

import numpy as np

from sfumato.papers.charts import line_chart
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
from sfumato.papers.result import Comparison, Part, comparison, value_table

PUBLIC_EPSILONS = (0.1, 1.0, 5.0)
PRIVATE_RUNS, PUBLIC_RUNS = 20, 15


def copied_labels(work: SharedResults) -> Part:
    """Return both indices over epsilon."""
    aligned, transfer = (
        tuple(float(getattr(work.by_epsilon[e], name).mean()) for e in EPSILONS) for name in ("aligned", "transfer")
    )
    rows = tuple((f"{e:g}", f"{a:.3f}", f"{t:.3f}") for e, a, t in zip(EPSILONS, aligned, transfer, strict=True))
    return Part(
        text=(
            "Row i of the output is made around the noisy centroid of row i's own cluster. The label is copied, and "
            "noise on centroids and radii grows alike, so that with less epsilon the picture only becomes larger. "
            "The transfer ARI lets centroids learned from the synthetic rows label the original ones: no order of "
            "rows can help it.",
        ),
        comparisons=(*_where_from(work), *_public(work)),
        values=(value_table("Mean over runs", ("epsilon", "aligned ARI", "transfer ARI"), rows, words=0),),
        charts=(
            line_chart(
                "Two indices, one mechanism",
                ("nominal epsilon", "adjusted Rand index"),
                EPSILONS,
                {"aligned (the paper's)": aligned, "transfer": transfer},
                "The aligned index stays above one half at every epsilon; the transfer index goes to 0.",
                top=1.0,
                muted_first=True,
            ),
        ),
    )


def _where_from(work: SharedResults) -> tuple[Comparison, ...]:
    seeds, none = range(work.runs), "not shown"
    centroids, radii = (
        float(np.mean([noise_alone(work.rows, on, EPSILON, seed) for seed in seeds]))
        for on in ((True, False), (False, True))
    )
    free = float(np.mean([noise_alone(work.rows, (True, True), 0.001, seed, bounded=False) for seed in seeds]))
    mixed = float(np.mean([shuffled(work.rows, work.labels, EPSILON, seed) for seed in seeds]))
    tiny = work.by_epsilon[0.001]
    return (
        comparison(
            "aligned ARI at epsilon 0.001",
            none,
            f"{tiny.aligned.mean():.3f}; transfer {tiny.transfer.mean():.3f}",
            f"the limit is positive; without bounds and rounding it is {free:.2f}",
        ),
        comparison("synthetic rows in another order", none, f"aligned ARI {mixed:.3f}", "all of it was the alignment"),
        comparison(
            "noise on centroids alone",
            none,
            f"aligned ARI {centroids:.3f}",
            f"on radii alone {radii:.3f}: more noise on centroids raises the index",
        ),
    )


def _public(work: SharedResults) -> tuple[Comparison, ...]:
    found = on_public_tables(PUBLIC_EPSILONS, min(PUBLIC_RUNS, work.runs))
    return tuple(
        comparison(
            f"{name}, epsilon {', '.join(f'{e:g}' for e in each)}",
            "not shown",
            f"aligned {', '.join(f'{a:.2f}' for a, _ in each.values())}; "
            f"transfer {', '.join(f'{t:.2f}' for _, t in each.values())}",
            "the clearest case: nearly perfect by the paper's index, little kept",
        )
        for name, each in found.items()
    )


def recovered_labels(work: SharedResults) -> Part:
    """Return the share of labels that the aligned output gives away, against the ceiling of every private mechanism."""
    found = {e: float(recovered_at(work, e).mean()) for e in ATTACKED}
    replace, both = ({e: ceiling(e, replace=way) for e in ATTACKED} for way in (True, False))
    above = [f"{e:g}" for e in ATTACKED if found[e] > replace[e]]
    proved = [f"{e:g}" for e in ATTACKED if found[e] > both[e]]
    lines = {"recovered": found, "ceiling, epsilon for replacing": replace, "ceiling, epsilon for adding": both}
    return Part(
        text=(
            "The attacker has the aligned rows and the noisy centroids, and takes the nearest. With four labels "
            "equally likely no epsilon-private mechanism lets anybody tell more than e^eps / (e^eps + 3) of them; "
            "where epsilon is for adding or removing a record, e^(2 eps) stands there.",
        ),
        comparisons=(
            comparison(
                "above the ceiling, replacing",
                "epsilon holds under an assumption",
                f"at {', '.join(above)}",
                "the labels get no noise: no epsilon-DP there",
            ),
            comparison("above the ceiling, adding and removing", "", f"at {', '.join(proved)}", "the looser reading"),
        ),
        values=(
            value_table(
                "Share of labels",
                ("epsilon", *lines),
                tuple((f"{e:g}", *(f"{each[e]:.3f}" for each in lines.values())) for e in ATTACKED),
                words=0,
            ),
        ),
        charts=(
            line_chart(
                "Labels recovered",
                ("nominal epsilon", "share of labels"),
                ATTACKED,
                {name: tuple(each.values()) for name, each in lines.items()},
                "The mechanism gives away more labels than epsilon allows, most of all at small epsilon.",
                rules=(("guessing", 0.25),),
                top=1.0,
            ),
        ),
    )


def recovered_at(work: SharedResults, epsilon: float) -> FloatArray:
    """Return the share of labels recovered in each run."""
    known = work.by_epsilon if epsilon in EPSILONS else {}
    return known[epsilon].recovered if epsilon in known else work.runs_at(epsilon).recovered


def with_a_guarantee(work: SharedResults) -> Part:
    """Return the transfer index of the private form beside the published one."""
    count = min(PRIVATE_RUNS, work.runs)
    private = {e: private_transfer(work.rows, work.labels, e, count) for e in PRIVATE_EPSILONS}
    ours = tuple(float(private[e].mean()) for e in PRIVATE_EPSILONS)
    theirs = tuple(float(work.by_epsilon[e].transfer.mean()) for e in PRIVATE_EPSILONS)
    rows = tuple(
        (f"{e:g}", f"{p:.3f}", f"{m:.3f} +- {private[e].std(ddof=1):.3f}")
        for e, p, m in zip(PRIVATE_EPSILONS, theirs, ours, strict=True)
    )
    return Part(
        text=(
            "Sfumato's private form counts rows in one noisy grid over a public box and takes the geometry from it. "
            "Its epsilon is proved (add or remove one record), and it is the better one besides.",
        ),
        comparisons=(
            comparison(
                "transfer ARI at epsilon 1",
                "not shown",
                f"published {theirs[1]:.2f}, private {ours[1]:.2f}",
                "a record moves a count by 1, but centroids and radii by any amount",
            ),
        ),
        values=(
            value_table(
                f"Transfer ARI, n = {len(work.rows)}, {count} private runs",
                ("epsilon", "published (no guarantee)", "private (epsilon-DP)"),
                rows,
                words=0,
            ),
        ),
        charts=(
            line_chart(
                "Proved and better",
                ("epsilon", "transfer ARI"),
                PRIVATE_EPSILONS,
                {"published, no guarantee": theirs, "private": ours},
                "The private form keeps the clusters from epsilon 0.5 on; the published one does not.",
                top=1.0,
                muted_first=True,
            ),
        ),
    )
