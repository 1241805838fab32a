"""``sfumato utility``: what can still be done with a release, measured against the confidential table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.arguments import AsJson, Data, SchemaPath
from sfumato.cli.clusters_verb import clusters
from sfumato.cli.console import Voice
from sfumato.cli.location_verbs import CONFIDENTIAL, Released
from sfumato.cli.reading import PLAIN, Dialect, reads
from sfumato.cli.released import released_copies, released_rows
from sfumato.errors import RiskError
from sfumato.schema import Schema

if TYPE_CHECKING:
    from sfumato.utility.ecdf import Ratio
    from sfumato.utility.pricing import Pricing
    from sfumato.utility.served import Score, Served

utility_app = typer.Typer(no_args_is_help=True, help="Measure what a release can still be used for.")
utility_app.command()(clusters)
MODELS = "krr,nadaraya-watson,adaboost,forest"


@utility_app.callback()
def utility() -> None:
    """Measure what a release can still be used for."""


@utility_app.command()
@reads
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
    dialect: Dialect = PLAIN,
    json: AsJson = False,
) -> None:
    """Train four models on a release and on the true rows, and test both on true rows.

    Numbers are judged by the mean squared error, levels by accuracy and the area under the curve.
    """
    from sfumato.table import read
    from sfumato.utility.pricing import serves_pricing
    from sfumato.utility.served import serves_prediction

    voice, facts = Voice(json), Schema.load(schema)
    wanted = _target(facts, target)
    if brand is not None and price is None:
        raise RiskError("--brand goes with --price", next_step="name the column of prices, or leave --brand out")
    table, made = read(data, facts, **dialect.stated()), released_rows(release)
    named = _names(models) or []
    with voice.counting("training models"):
        priced = None if price is None else serves_pricing(table, made, facts, wanted, price, brand)
        found = serves_prediction(table, made, facts, wanted, _names(inputs), test, public, named, seed)
    _show(voice, found)
    if priced is not None:
        _show_prices(voice, priced)
    voice.say(CONFIDENTIAL, style="yellow")
    prices: dict[str, Any] = {} if priced is None else {"pricing": priced.to_dict()}
    body = {"notice": CONFIDENTIAL, "table": facts.name, **found.to_dict(), "statement": found.statement()}
    voice.document({**body, **prices})


@utility_app.command("compare")
@reads
def compare_values(
    data: Data,
    schema: SchemaPath,
    release: Released,
    columns: Annotated[
        str | None, typer.Option(help="Columns of numbers or dates, such as age,income; all unless said.")
    ] = None,
    dialect: Dialect = PLAIN,
    json: AsJson = False,
) -> None:
    """Compare the numbers of a release with the true ones, column by column: ECDF, mean, median and quantiles.

    Several copies are averaged, with an interval over copies. 0 is the best difference, 1 the best ratio.
    `sfumato compare` judges the whole release, beside a second real sample.
    """
    from sfumato.table import read
    from sfumato.utility.columns import compare_columns

    voice, facts = Voice(json), Schema.load(schema)
    with voice.counting("comparing columns"):
        found = compare_columns(read(data, facts, **dialect.stated()), released_copies(release), facts, _names(columns))
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


def _show(voice: Voice, found: Served) -> None:
    samples = ["original", "released", *(("public", "combined") if found.models[0].public else ())]
    titles = {"original": "true rows", "released": "release", "public": "public rows", "combined": "public + release"}
    kinds = ("accuracy", "auc") if found.classes else ("error",)
    headers = ["model", *(f"{titles[s]}{', ' + k if found.classes else ''}" for s in samples for k in kinds)]
    delta = not found.classes and "public" in samples
    rows = [
        [
            each.model,
            *(_number(getattr(each, sample), kind) for sample in samples for kind in kinds),
            *([f"{100 * each.delta:.1f} %"] if delta and each.delta is not None else []),
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


def _show_prices(voice: Voice, found: Pricing) -> None:
    def share(value: float | None) -> str:
        return "no best price" if value is None else f"{100 * value:.2f} %"

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
    voice.say(f"Mean absolute deviation of the elasticities (MAPD): {100 * found.mapd:.2f} %.")
