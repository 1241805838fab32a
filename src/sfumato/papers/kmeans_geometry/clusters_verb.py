"""The verb sfumato utility clusters."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.console import Console
from sfumato.cli.options import (
    CUSTODIAN_NOTICE,
    EvaluationOptions,
    NumericColumns,
    Repeat,
    SameOrder,
    split_names,
)
from sfumato.errors import PlanError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.papers.kmeans_geometry.cluster_comparison import ClusterComparison
    from sfumato.schema import Schema
    from sfumato.table import Table

HEADERS = ("rows", "transfer ARI", "cluster TVD", "centroids off by", "radii off by")
LEGEND = (
    "Transfer ARI: 1 for the same clusters, about 0 by chance. Cluster TVD: share of rows in the wrong cluster or at "
    "the wrong distance from its centre; best: 0. Distances are in standard deviations of the columns."
)


def clusters(
    rows: EvaluationOptions,
    console: Console,
    clusters: Annotated[int, typer.Option("--clusters", "-k", help="Number of clusters.")],
    columns: NumericColumns = None,
    baselines: Annotated[
        float | None, typer.Option(metavar="EPSILON", help="Add the two baselines of the paper with this epsilon.")
    ] = None,
    same_order: SameOrder = False,
    seed: Repeat = 0,
) -> None:
    """Measure which clusters of a table a release keeps.

    Prints ARI, confusion matrix, centroids and radii, each beside two yardsticks: rows drawn from the public bounds
    alone, and half of the table. For the custodian's eyes only.
    """
    from sfumato.metrics.evaluation_input import open_evaluation_input, shared_columns
    from sfumato.metrics.rows_view import read_rows_view
    from sfumato.papers.kmeans_geometry.cluster_comparison import compare_clusters

    facts, table = rows.facts, rows.read()
    released = open_evaluation_input(rows.bundle).require_rows().rows_for(facts)
    names = _ordered_columns(facts, columns, shared_columns(facts, released)[0])
    box = list(zip(*(facts[name].numeric_bounds for name in names), strict=True))
    with console.progress("clustering"):
        comparison = compare_clusters(
            _private_rows(table, names),
            read_rows_view(released, facts, names).points,
            clusters,
            (box[0], box[1]),
            baseline_epsilon=baselines,
            same_order=same_order,
            seed=seed or 0,
        )
    _show_clusters(console, comparison, names)


def _ordered_columns(facts: Schema, columns: str | None, released: list[str]) -> list[str]:
    """Return the ordered columns to compare; all problems are reported in one message."""
    if columns is None:
        wanted = [c.name for c in facts if c.is_ordered and c.name in released and not c.missing]
    else:
        wanted = split_names(columns) or []
    problems = [f"{name} is not a number or date" for name in wanted if not facts[name].is_ordered]
    problems += [f"{name} is not in the release" for name in wanted if name not in released]
    problems += [f"{name} may be missing, and distances need every value" for name in wanted if facts[name].missing]
    if problems or not wanted:
        step = "name columns of numbers that both tables have, with --columns"
        raise PlanError("these columns cannot be clustered", problems or ["there is none"], step)
    return wanted


def _private_rows(table: Table, names: list[str]) -> NDArray[np.float64]:
    import numpy as np

    from sfumato.table.rows import column_arrays

    table.require_valid()
    values = column_arrays(table, names)
    return np.column_stack([values[name] for name in names])


def _show_clusters(console: Console, comparison: ClusterComparison, names: list[str]) -> None:
    from sfumato.metrics.clusters import ALIGNED_WARNING

    rows = [
        [k.rows, *(f"{v:.3f}" for v in (k.transfer_ari, k.cluster_tvd, k.centroid_error, k.radius_error))]
        for k in comparison.kept
    ]
    console.table(f"{comparison.clusters} clusters of {', '.join(names)}", HEADERS, rows)
    console.say(LEGEND)
    across = [f"released {k + 1}" for k in range(comparison.confusion.shape[1])]
    down = [[f"own {k + 1}", *map(str, row)] for k, row in enumerate(comparison.confusion.tolist())]
    console.table(
        "Confidential rows by their own cluster and by the cluster that the release assigns", ("", *across), down
    )
    if comparison.aligned_ari is not None:
        console.say(
            f"Aligned ARI, as defined in the paper: {comparison.aligned_ari:.3f}. {ALIGNED_WARNING}", style="yellow"
        )
    console.say(CUSTODIAN_NOTICE, style="yellow")
    facts = {"clusters": comparison.clusters, "columns": names, "aligned_ari": comparison.aligned_ari}
    kept = [asdict(each) for each in comparison.kept]
    console.print_json({"notice": CUSTODIAN_NOTICE, **facts, "kept": kept, "confusion": comparison.confusion.tolist()})
