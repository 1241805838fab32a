"""The verbs sfumato utility prediction and clusters."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.console import Voice
from sfumato.cli.options import DEFAULT_DIALECT, AsJson, Data, Dialect, SchemaPath, with_options
from sfumato.cli.released import released_copies, released_rows
from sfumato.cli.risk.location import CONFIDENTIAL, Released
from sfumato.errors import PlanError, RiskError
from sfumato.formatting import percent_fixed
from sfumato.lazy import load_object
from sfumato.schema import Schema

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.evaluate.clusters import ClusterComparison
    from sfumato.evaluate.train_synthetic_test_real import Score, TrainTestResult
    from sfumato.evaluate.utility.ecdf import Ratio
    from sfumato.table import Table

HEADERS = ("rows", "transfer ARI", "cluster TVD", "centroids off by", "radii off by")

READING = (
    "Transfer ARI: 1 for the same clusters, about 0 by chance. Cluster TVD: share of rows in a wrong cluster or at a "
    "wrong distance from its centre; 0 is perfect. Distances are in standard deviations of the columns."
)


@with_options
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
    dialect: Dialect = DEFAULT_DIALECT,
    json: AsJson = False,
) -> None:
    """Measure what released rows keep of the clusters of a table: ARI, confusion matrix, centroids and radii.

    Every number stands beside what rows reach that know the public box alone, and what half of the table reaches.
    What is printed is about the confidential rows: for the custodian.
    """
    from sfumato.evaluate.clusters import compare_clusters
    from sfumato.metrics.rows_view import read_rows_view
    from sfumato.table import read
    from sfumato.table.sources import open_source

    voice, facts = Voice(json), Schema.load(schema)
    table, made = read(data, facts, **dialect.stated()), released_rows(release)
    names = _numbers(facts, columns, open_source(made, dialect).engine.table.columns)
    box = list(zip(*(facts[name].numeric_bounds for name in names), strict=True))
    with voice.counting("clustering"):
        found = compare_clusters(
            _private_rows(table, names),
            read_rows_view(made, facts, names).points,
            clusters,
            (box[0], box[1]),
            baseline_epsilon=baselines,
            same_order=same_order,
            seed=seed,
        )
    _clusters_verb_show(voice, found, names)


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


def _private_rows(table: Table, names: list[str]) -> NDArray[np.float64]:
    import numpy as np

    from sfumato.table.rows import column_arrays

    table.require_valid()
    values = column_arrays(table, names)
    return np.column_stack([values[name] for name in names])


def _clusters_verb_show(voice: Voice, found: ClusterComparison, names: list[str]) -> None:
    from sfumato.evaluate.utility.clusters import ALIGNED_WARNING

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


utility_app = typer.Typer(no_args_is_help=True, help="Measure what a release can still be used for.")

utility_app.command()(clusters)

MODELS = "krr,nadaraya-watson,adaboost,forest"


@utility_app.callback()
def utility() -> None:
    """Measure what a release can still be used for."""


@utility_app.command()
@with_options
def prediction(
    data: Data,
    schema: SchemaPath,
    release: Released,
    target: Annotated[
        str | None, typer.Option(help="Column to be predicted; the one with the role 'target' unless said.")
    ] = None,
    inputs: Annotated[str | None, typer.Option(help="Columns to predict from, a,b; all others unless said.")] = None,
    test: Annotated[
        str | None, typer.Option(help="True rows that were not in DATA, to test on; a quarter of DATA unless said.")
    ] = None,
    public: Annotated[str | None, typer.Option(help="Rows that the public holds already: adds Delta-MSE.")] = None,
    models: Annotated[str, typer.Option(help="Models, with commas between.")] = MODELS,
    price: Annotated[
        str | None, typer.Option(help="Column of prices, where the target is sales: adds elasticities and mark-ups.")
    ] = None,
    brand: Annotated[str | None, typer.Option(help="With --price: column of levels, an elasticity for each.")] = None,
    seed: Annotated[int | None, typer.Option(help="Repeat the same samples and models.")] = None,
    dialect: Dialect = DEFAULT_DIALECT,
    json: AsJson = False,
) -> None:
    """Train four models on a release and on the true rows, and test both on true rows.

    Numbers are judged by the mean squared error, levels by accuracy and the area under the curve.
    """
    from sfumato.evaluate.train_synthetic_test_real import train_and_test

    compare_elasticities = load_object("sfumato.papers.two_stage.price_metrics:compare_elasticities")
    from sfumato.table import read

    voice, facts = Voice(json), Schema.load(schema)
    wanted = _target(facts, target)
    if brand is not None and price is None:
        raise RiskError("--brand goes with --price", next_step="name the column of prices, or leave --brand out")
    table, made = read(data, facts, **dialect.stated()), released_rows(release)
    named = _names(models) or []
    with voice.counting("training models"):
        priced = None if price is None else compare_elasticities(table, made, facts, wanted, price, brand)
        found = train_and_test(table, made, facts, wanted, _names(inputs), test, public, named, seed)
    _show(voice, found)
    if priced is not None:
        _show_prices(voice, priced)
    voice.say(CONFIDENTIAL, style="yellow")
    prices: dict[str, Any] = {} if priced is None else {"pricing": priced.to_dict()}
    body = {"notice": CONFIDENTIAL, "table": facts.name, **found.to_dict(), "statement": found.statement()}
    voice.document({**body, **prices})


@utility_app.command("compare")
@with_options
def compare_values(
    data: Data,
    schema: SchemaPath,
    release: Released,
    columns: Annotated[
        str | None, typer.Option(help="Columns of numbers or dates, such as age,income; all unless said.")
    ] = None,
    dialect: Dialect = DEFAULT_DIALECT,
    json: AsJson = False,
) -> None:
    """Compare the numbers of a release with the true ones, column by column: ECDF, mean, median and quantiles.

    Several copies are averaged, with an interval over copies. 0 is the best difference, 1 the best ratio.
    `sfumato compare` judges the whole release, beside a second real sample.
    """
    from sfumato.evaluate.utility.columns import compare_copies
    from sfumato.table import read

    voice, facts = Voice(json), Schema.load(schema)
    with voice.counting("comparing columns"):
        found = compare_copies(read(data, facts, **dialect.stated()), released_copies(release), facts, _names(columns))
    first = next(iter(found.values()))
    headers = ("column", "ECDF, largest", "ECDF, mean square", *(f"{each.name}, ratio" for each in first.ratios))
    rows = [[name, *map(str, (c.ecdf_max, c.ecdf_msq)), *(_ratio(r) for r in c.ratios)] for name, c in found.items()]
    voice.table(
        f"Synthetic against confidential values, {first.copies} cop{'ies' if first.copies > 1 else 'y'}", headers, rows
    )
    voice.say(CONFIDENTIAL, style="yellow")
    body = {name: comparison.model_dump(mode="json") for name, comparison in found.items()}
    voice.document({"notice": CONFIDENTIAL, "table": facts.name, "columns": body})


def _ratio(each: Ratio) -> str:
    return "true value is 0" if each.ratio is None else str(each.ratio)


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def _target(schema: Schema, target: str | None) -> str:
    if target is not None:
        return target
    if len(schema.targets) != 1:
        raise RiskError(
            f"one target is needed, found {len(schema.targets)} with that role", next_step="name it with --target"
        )
    return schema.targets[0]


def _show(voice: Voice, found: TrainTestResult) -> None:
    samples = ["original", "released", *(("public", "combined") if found.models[0].public else ())]
    titles = {"original": "true rows", "released": "release", "public": "public rows", "combined": "public + release"}
    kinds = ("accuracy", "auc") if found.classes else ("error",)
    headers = ["model", *(f"{titles[s]}{', ' + k if found.classes else ''}" for s in samples for k in kinds)]
    delta = not found.classes and "public" in samples
    rows = [
        [
            each.model,
            *(_number(getattr(each, sample), kind) for sample in samples for kind in kinds),
            *([percent_fixed(each.delta)] if delta and each.delta is not None else []),
        ]
        for each in found.models
    ]
    guess = ["no input", *([_number(found.guess, kind) for kind in kinds] + [""] * (len(headers) - 1 - len(kinds)))]
    what = "accuracy and area under the curve" if found.classes else "mean squared error"
    voice.table(f"Predicting {found.target}: {what}", [*headers, *(["Delta-MSE"] if delta else [])], [*rows, guess])
    voice.say(found.statement())
    if found.left_out:
        voice.say(f"Left out for missing values: {found.left_out:,} rows of both tables together.")


def _number(score: Score, kind: str) -> str:
    value = getattr(score, kind)
    return "" if value is None else f"{value:.4g}" if kind == "error" else f"{value:.3f}"


def _show_prices(voice: Voice, found: Any) -> None:
    def share(value: float | None) -> str:
        return "no best price" if value is None else percent_fixed(value, 2)

    rows = [
        [
            b.brand,
            f"{b.elasticity:.3f}",
            f"{b.released:.3f}",
            *map(share, (b.markup, b.released_markup, b.profit_ratio)),
        ]
        for b in found.brands
    ]
    headers = ("brand", "elasticity", "by the release", "mark-up", "by the release", "profit kept")
    voice.table("Prices: elasticities, best mark-ups (OMU), profit ratio (OPR)", headers, rows)
    voice.say(f"Mean absolute deviation of the elasticities (MAPD): {percent_fixed(found.mapd, 2)}.")
