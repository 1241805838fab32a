"""The verb sfumato utility prediction: the evaluation protocol of the paper, for any release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.console import Console
from sfumato.cli.options import CUSTODIAN_NOTICE, HoldoutOptions, Repeat, split_names
from sfumato.errors import RiskError
from sfumato.formatting import percent_fixed

if TYPE_CHECKING:
    from sfumato.papers.two_stage.train_synthetic_test_real import Score, TrainTestResult
    from sfumato.schema import Schema

MODELS = "krr,nadaraya-watson,adaboost,forest"


def prediction(
    rows: HoldoutOptions,
    console: Console,
    target: Annotated[str | None, typer.Option(help="Column to predict; default: the one with role target.")] = None,
    inputs: Annotated[str | None, typer.Option(help="Columns to predict from, a,b; default: all others.")] = None,
    public: Annotated[str | None, typer.Option(help="Rows that are public already: adds Delta-MSE.")] = None,
    models: Annotated[str, typer.Option(help="Models, separated by commas.")] = MODELS,
    price: Annotated[
        str | None, typer.Option(help="Column of prices, if the target is sales: adds elasticities and mark-ups.")
    ] = None,
    brand: Annotated[str | None, typer.Option(help="With --price: column whose levels get an elasticity each.")] = None,
    seed: Repeat = None,
) -> None:
    """Train models on a release; test them on real rows.

    Beside models trained on the table. Test rows are those of --holdout, or a quarter of DATA. Numeric targets are
    judged by the mean squared error, categories by accuracy and the area under the ROC curve.
    """
    from sfumato.papers.two_stage.price_metrics import compare_elasticities
    from sfumato.papers.two_stage.train_synthetic_test_real import train_and_test

    facts = rows.facts
    predicted = _target(facts, target)
    if brand is not None and price is None:
        raise RiskError("--brand requires --price", next_step="name the column of prices, or leave out --brand")
    table = rows.read()
    with console.progress("training models"):
        prices = None if price is None else compare_elasticities(table, rows.bundle, facts, predicted, price, brand)
        result = train_and_test(
            table,
            rows.bundle,
            facts,
            predicted,
            split_names(inputs),
            rows.read_holdout(),
            public,
            split_names(models) or [],
            seed,
        )
    _show_models(console, result)
    if prices is not None:
        _show_prices(console, prices)
    console.say(CUSTODIAN_NOTICE, style="yellow")
    body = {"notice": CUSTODIAN_NOTICE, "table": facts.name, **result.to_dict(), "statement": result.statement()}
    console.print_json(body | ({} if prices is None else {"pricing": prices.to_dict()}))


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
