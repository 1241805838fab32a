"""The verbs sfumato utility prediction and clusters."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.console import Console
from sfumato.cli.options import CUSTODIAN_NOTICE, EvaluationOptions, split_names
from sfumato.errors import PlanError, RiskError
from sfumato.formatting import percent_fixed
from sfumato.lazy import load_object

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.evaluate.clusters import ClusterComparison
    from sfumato.evaluate.train_synthetic_test_real import Score, TrainTestResult
    from sfumato.schema import Schema
    from sfumato.table import Table

HEADERS = ("rows", "transfer ARI", "cluster TVD", "centroids off by", "radii off by")

LEGEND = (
    "Transfer ARI: 1 for the same clusters, about 0 by chance. Cluster TVD: share of rows in the wrong cluster or at "
    "the wrong distance from its centre; best: 0. Distances are in standard deviations of the columns."
)
MODELS = "krr,nadaraya-watson,adaboost,forest"


def clusters(
    rows: EvaluationOptions,
    console: Console,
    clusters: Annotated[int, typer.Option("--clusters", "-k", help="Number of clusters.")],
    columns: Annotated[
        str | None, typer.Option(help="Columns of numbers or dates, such as age,income; default: all of both.")
    ] = None,
    baselines: Annotated[
        float | None, typer.Option(metavar="EPSILON", help="Add the two baselines of the paper with this epsilon.")
    ] = None,
    same_order: Annotated[
        bool, typer.Option("--same-order", help="Row i belongs to row i of DATA: add the paper's aligned index.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of k-means and of the yardsticks.")] = 0,
) -> None:
    """Measure which clusters of a table a release keeps.

    Prints ARI, confusion matrix, centroids and radii, each beside two yardsticks: rows drawn from the public bounds
    alone, and half of the table. For the custodian's eyes only.
    """
    from sfumato.evaluate.clusters import compare_clusters
    from sfumato.metrics.evaluation_input import open_evaluation_input, shared_columns
    from sfumato.metrics.rows_view import read_rows_view

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
            seed=seed,
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


def prediction(
    rows: EvaluationOptions,
    console: Console,
    target: Annotated[str | None, typer.Option(help="Column to predict; default: the one with role target.")] = None,
    inputs: Annotated[str | None, typer.Option(help="Columns to predict from, a,b; default: all others.")] = None,
    test: Annotated[
        str | None, typer.Option(help="Real rows to test on that are not in DATA; default: a quarter of DATA.")
    ] = None,
    public: Annotated[str | None, typer.Option(help="Rows that are public already: adds Delta-MSE.")] = None,
    models: Annotated[str, typer.Option(help="Models, separated by commas.")] = MODELS,
    price: Annotated[
        str | None, typer.Option(help="Column of prices, if the target is sales: adds elasticities and mark-ups.")
    ] = None,
    brand: Annotated[str | None, typer.Option(help="With --price: column whose levels get an elasticity each.")] = None,
    seed: Annotated[int | None, typer.Option(help="Repeat the same samples and models.")] = None,
) -> None:
    """Train models on a release; test them on real rows.

    Beside models trained on the table. Numeric targets are judged by the mean squared error, categories by accuracy and
    the area under the ROC curve.
    """
    from sfumato.evaluate.train_synthetic_test_real import train_and_test

    facts = rows.facts
    predicted = _target(facts, target)
    if brand is not None and price is None:
        raise RiskError("--brand requires --price", next_step="name the column of prices, or leave out --brand")
    table = rows.read()
    with console.progress("training models"):
        prices = None if price is None else _prices(table, rows.bundle, facts, predicted, price, brand)
        result = train_and_test(
            table, rows.bundle, facts, predicted, split_names(inputs), test, public, split_names(models) or [], seed
        )
    _show_models(console, result)
    if prices is not None:
        _show_prices(console, prices)
    console.say(CUSTODIAN_NOTICE, style="yellow")
    body = {"notice": CUSTODIAN_NOTICE, "table": facts.name, **result.to_dict(), "statement": result.statement()}
    console.print_json(body | ({} if prices is None else {"pricing": prices.to_dict()}))


def _prices(*arguments: Any) -> Any:
    return load_object("sfumato.papers.two_stage.price_metrics:compare_elasticities")(*arguments)


def _target(schema: Schema, target: str | None) -> str:
    if target is not None:
        return target
    if len(schema.targets) != 1:
        raise RiskError(
            f"the schema has {len(schema.targets)} columns with role target, and one is needed",
            next_step="name it with --target",
        )
    return schema.targets[0]


def _show_models(console: Console, result: TrainTestResult) -> None:
    samples = ["original", "released", *(("public", "combined") if result.models[0].public else ())]
    titles = {"original": "real rows", "released": "release", "public": "public rows", "combined": "public + release"}
    kinds = ("accuracy", "auc") if result.classes else ("error",)
    headers = ["model", *(f"{titles[s]}{', ' + k if result.classes else ''}" for s in samples for k in kinds)]
    delta = not result.classes and "public" in samples
    rows = [
        [
            each.model,
            *(_number(getattr(each, sample), kind) for sample in samples for kind in kinds),
            *([percent_fixed(each.delta)] if delta and each.delta is not None else []),
        ]
        for each in result.models
    ]
    guess = ["no input", *([_number(result.guess, kind) for kind in kinds] + [""] * (len(headers) - 1 - len(kinds)))]
    what = "accuracy and area under the curve" if result.classes else "mean squared error"
    console.table(f"Predicting {result.target}: {what}", [*headers, *(["Delta-MSE"] if delta else [])], [*rows, guess])
    console.say(result.statement())
    if result.left_out:
        console.say(f"Left out for missing values: {result.left_out:,} rows of both tables together.")


def _number(score: Score, kind: str) -> str:
    value = getattr(score, kind)
    return "" if value is None else f"{value:.4g}" if kind == "error" else f"{value:.3f}"


def _show_prices(console: Console, prices: Any) -> None:
    def share(value: float | None) -> str:
        return "no best price" if value is None else percent_fixed(value, 2)

    rows = [
        [
            b.brand,
            f"{b.elasticity:.3f}",
            f"{b.released:.3f}",
            *map(share, (b.markup, b.released_markup, b.profit_ratio)),
        ]
        for b in prices.brands
    ]
    headers = ("brand", "elasticity", "by the release", "mark-up", "by the release", "profit kept")
    console.table("Prices: elasticities, best mark-ups (OMU), profit ratio (OPR)", headers, rows)
    console.say(f"Mean absolute deviation of the elasticities (MAPD): {percent_fixed(prices.mapd, 2)}.")
