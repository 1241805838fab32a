"""``sfumato utility clusters``: whether released rows keep the clusters of the confidential ones."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.arguments import AsJson, Data, SchemaPath
from sfumato.cli.console import Voice
from sfumato.cli.location_verbs import CONFIDENTIAL, Released
from sfumato.cli.reading import PLAIN, Dialect, reads
from sfumato.cli.released import released_rows
from sfumato.errors import PlanError
from sfumato.schema import Schema

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.table import Table
    from sfumato.utility.cluster_comparison import ClusterComparison

HEADERS = ("rows", "transfer ARI", "cluster TVD", "centroids off by", "radii off by")
READING = (
    "Transfer ARI: 1 for the same clusters, about 0 by chance. Cluster TVD: share of rows in a wrong cluster or at a "
    "wrong distance from its centre; 0 is perfect. Distances are in standard deviations of the columns."
)


@reads
def clusters(
    data: Data,
    schema: SchemaPath,
    release: Released,
    clusters: Annotated[int, typer.Option("--clusters", "-k", help="How many clusters.")],
    columns: Annotated[
        str | None, typer.Option(help="Columns of numbers or dates, such as age,income; all of both unless said.")
    ] = None,
    baselines: Annotated[
        float | None, typer.Option(metavar="EPSILON", help="Add the two baselines of the paper, with this noise.")
    ] = None,
    same_order: Annotated[
        bool, typer.Option("--same-order", help="Row i belongs to row i of DATA: add the paper's aligned index.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of k-means and of the yardsticks.")] = 0,
    dialect: Dialect = PLAIN,
    json: AsJson = False,
) -> None:
    """Measure what released rows keep of the clusters of a table: ARI, confusion matrix, centroids and radii.

    Every number stands beside what rows reach that know the public box alone, and what half of the table reaches.
    What is printed is about the confidential rows: for the custodian.
    """
    from sfumato.rows.coded import seen_rows
    from sfumato.table import read
    from sfumato.table.sources import open_source
    from sfumato.utility.cluster_comparison import compare_clusters

    voice, facts = Voice(json), Schema.load(schema)
    table, made = read(data, facts, **dialect.stated()), released_rows(release)
    names = _numbers(facts, columns, open_source(made, dialect).engine.table.columns)
    box = list(zip(*(facts[name].numeric_bounds for name in names), strict=True))
    with voice.counting("clustering"):
        found = compare_clusters(
            _confidential(table, names),
            seen_rows(made, facts, names).points,
            clusters,
            (box[0], box[1]),
            baseline_epsilon=baselines,
            same_order=same_order,
            seed=seed,
        )
    _show(voice, found, names)


def _numbers(facts: Schema, columns: str | None, released: Any) -> list[str]:
    """Return the ordered columns to compare, or refuse them with everything that is wrong."""
    if columns is None:
        wanted = [c.name for c in facts if c.is_ordered and c.name in released and not c.missing]
    else:
        wanted = [part.strip() for part in columns.split(",") if part.strip()]
    problems = [f"{name} is not a number or date" for name in wanted if not facts[name].is_ordered]
    problems += [f"{name} is not in the release" for name in wanted if name not in released]
    problems += [f"{name} may be missing, and distances need every value" for name in wanted if facts[name].missing]
    if problems or not wanted:
        step = "name columns of numbers that both tables have, with --columns"
        raise PlanError("these columns cannot be clustered", problems or ["there is none"], step)
    return wanted


def _confidential(table: Table, names: list[str]) -> NDArray[np.float64]:
    import numpy as np

    from sfumato.table.rows import row_values

    table.require_valid()
    values = row_values(table, names)
    return np.column_stack([values[name] for name in names])


def _show(voice: Voice, found: ClusterComparison, names: list[str]) -> None:
    from sfumato.utility.clusters import ALIGNED_WARNING

    rows = [
        [k.rows, *(f"{v:.3f}" for v in (k.transfer_ari, k.cluster_tvd, k.centroid_error, k.radius_error))]
        for k in found.kept
    ]
    voice.table(f"{found.clusters} clusters of {', '.join(names)}", HEADERS, rows)
    voice.say(READING)
    across = [f"released {k + 1}" for k in range(found.confusion.shape[1])]
    down = [[f"own {k + 1}", *map(str, row)] for k, row in enumerate(found.confusion.tolist())]
    voice.table("Confidential rows by cluster: their own, and the one that the release gives them", ("", *across), down)
    if found.aligned_ari is not None:
        voice.say(f"Aligned ARI, as the paper has it: {found.aligned_ari:.3f}. {ALIGNED_WARNING}", style="yellow")
    voice.say(CONFIDENTIAL, style="yellow")
    facts = {"clusters": found.clusters, "columns": names, "aligned_ari": found.aligned_ari}
    kept = [asdict(each) for each in found.kept]
    voice.document({"notice": CONFIDENTIAL, **facts, "kept": kept, "confusion": found.confusion.tolist()})
