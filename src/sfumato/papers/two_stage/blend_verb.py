"""The research verb on blending private and synthetic rows, as the paper defines it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sfumato.cli.console import Console
from sfumato.cli.options import CUSTODIAN_NOTICE, OutputPageOptions, Repeat, TableOptions, parse_numbers
from sfumato.cli.output_page import OutputPage
from sfumato.core.build_method import build_method

if TYPE_CHECKING:
    from sfumato.papers.two_stage.blend_curves import BlendCurves

METHOD = "two-stage-as-published"


def blend(
    table: TableOptions,
    output: OutputPageOptions,
    console: Console,
    target: Annotated[str, typer.Option(help="Column that readers will predict.")],
    inputs: Annotated[str | None, typer.Option(help="Columns to predict from, a,b; default: all others.")] = None,
    alphas: Annotated[str, typer.Option(help="Weights of the true rows to try.")] = "0,0.2,0.4,0.6,0.8,0.9,1",
    settings: Annotated[list[str] | None, typer.Option("--set", help="A parameter of the method.")] = None,
    seed: Repeat = None,
) -> None:
    """Measure risk and utility of blended rows (two-stage).

    For two-stage as published. Shows LID, linkage, membership and the error of four models at every alpha. Releases are
    made from three quarters of the rows, and models are tested on the rest. Nothing is published or spent.
    """
    from sfumato.papers.two_stage.blend_curves import blend_curves, blend_page
    from sfumato.papers.two_stage.published.method import TwoStageAsPublished

    named = [*(settings or []), f"target={target}", *([f"inputs={inputs}"] if inputs is not None else [])]
    facts, method = table.facts, cast(TwoStageAsPublished, build_method(METHOD, named, None, None))
    places = OutputPage.at(output.out, facts.name, "-blend.html", output.force)
    weights = parse_numbers(alphas, "--alphas", "0,0.5,1")
    with console.progress("blending rows and training models"):
        curves = blend_curves(table.read(), method, weights, seed=seed)
    values = curves.model_dump(mode="json")
    places.write(blend_page(curves), values)
    _show(console, curves)
    console.say(f"page: {places.page} (custodian's copy, do not publish)", style="bold")
    console.say(f"json: {places.json}", style="bold")
    where: dict[str, Any] = {"notice": CUSTODIAN_NOTICE, "page": str(places.page), "json": str(places.json)}
    console.print_json({**where, **values, "statement": curves.statement()})


def _show(console: Console, curves: BlendCurves) -> None:
    from sfumato.papers.two_stage.blend_curves import risk_grid, score_grid

    risks, scores = risk_grid(curves), score_grid(curves)
    console.table("Disclosure risk of a blend", risks.header, risks.rows)
    kind = "accuracy" if curves.classes else "mean squared error"
    console.table(f"Predicting {curves.target}: {kind} by what models are trained on", scores.header, scores.rows)
    console.say(curves.statement())
    console.say(CUSTODIAN_NOTICE, style="yellow")
