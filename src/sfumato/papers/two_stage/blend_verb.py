"""The research verb on blending private and synthetic rows, as the paper defines it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sfumato.cli.console import Voice
from sfumato.cli.options import (
    DEFAULT_DIALECT,
    AsJson,
    Data,
    Dialect,
    SchemaPath,
    Settings,
    build_method,
    parse_numbers,
    with_options,
)
from sfumato.cli.output_page import OutputPage
from sfumato.cli.risk.location import CONFIDENTIAL
from sfumato.schema import Schema

if TYPE_CHECKING:
    from sfumato.papers.two_stage.blend_curves import BlendCurves

METHOD = "two-stage-as-published"


@with_options
def blend(
    data: Data,
    schema: SchemaPath,
    target: Annotated[str, typer.Option(help="Column that readers will predict.")],
    inputs: Annotated[str | None, typer.Option(help="Columns to predict from, a,b; all others unless said.")] = None,
    alphas: Annotated[str, typer.Option(help="Weights of the true rows to try.")] = "0,0.2,0.4,0.6,0.8,0.9,1",
    settings: Settings = None,
    out: Annotated[str | None, typer.Option("--out", "-o", help="The page; NAME-blend.html unless said.")] = None,
    force: Annotated[bool, typer.Option(help="Overwrite an existing page.")] = False,
    seed: Annotated[int | None, typer.Option(help="Repeat the same splits and draws.")] = None,
    dialect: Dialect = DEFAULT_DIALECT,
    json: AsJson = False,
) -> None:
    """Show LID, linkage, membership and the error of four models against the blend, for two-stage as published.

    Releases are made of three quarters of the rows, at every alpha, and models are tested on the rest. Nothing is
    published and nothing is spent.
    """
    from sfumato.papers.two_stage.blend_curves import blend_curves
    from sfumato.papers.two_stage.blend_page import blend_page
    from sfumato.papers.two_stage.published.method import TwoStageAsPublished
    from sfumato.table import read

    voice, facts = Voice(json), Schema.load(schema)
    named = [*(settings or []), f"target={target}", *([f"inputs={inputs}"] if inputs is not None else [])]
    method = cast(TwoStageAsPublished, build_method(METHOD, named, None, None))
    places = OutputPage.at(out, facts.name, "-blend.html", force)
    weights = parse_numbers(alphas, "--alphas", "0,0.5,1")
    with voice.counting("blending rows and training models"):
        found = blend_curves(read(data, facts, **dialect.stated()), method, weights, seed=seed)
    values = found.model_dump(mode="json")
    places.write(blend_page(found), values)
    _show(voice, found)
    voice.say(f"page: {places.page} (custodian's copy, do not publish)", style="bold")
    voice.say(f"json: {places.json}", style="bold")
    where: dict[str, Any] = {"notice": CONFIDENTIAL, "page": str(places.page), "json": str(places.json)}
    voice.document({**where, **values, "statement": found.statement()})


def _show(voice: Voice, found: BlendCurves) -> None:
    from sfumato.papers.two_stage.blend_page import risk_grid, score_grid

    risks, scores = risk_grid(found), score_grid(found)
    voice.table("What a blend gives away", risks.header, risks.rows)
    kind = "accuracy" if found.classes else "mean squared error"
    voice.table(f"Predicting {found.target}: {kind} by what models are trained on", scores.header, scores.rows)
    voice.say(found.statement())
    voice.say(CONFIDENTIAL, style="yellow")
