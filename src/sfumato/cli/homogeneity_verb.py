"""``sfumato risk homogeneity``: what a cross table would give away, and which epsilon keeps that under a target."""

from __future__ import annotations

import json as json_text
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import typer

from sfumato.cli.arguments import AsJson, Data, SchemaPath, names_of
from sfumato.cli.console import Voice
from sfumato.cli.cross_table import (
    Columns,
    EpsilonRange,
    Identifiers,
    MechanismName,
    NoiseDelta,
    Pilot,
    SigmaRule,
    grid_of,
    read_table,
)
from sfumato.cli.page_files import PageFiles
from sfumato.cli.reading import PLAIN, Dialect, reads
from sfumato.schema import Schema

if TYPE_CHECKING:
    from sfumato.report.risk_page import Grid
    from sfumato.risk.homogeneity.answers import Answer
    from sfumato.risk.homogeneity.results import RiskCurves
    from sfumato.risk.homogeneity.several_curves import SeveralCurves
    from sfumato.table import Table

SHORT = {
    "epsilon": "eps",
    "conservative": "cons.",
    "record by person": "by person",
    "plurality by person": "plural.",
    **{f"TVD {order}-way": f"TVD {order}" for order in (1, 2, 3)},
}
LEFT_OUT = "soft by person"
"""The page and the JSON file have it; a terminal of 80 columns has no place for it."""
DRAFT = "the schema is a draft: no guarantee is claimed here, and no release may use it before it is confirmed"


@reads
def homogeneity(
    data: Data,
    schema: SchemaPath,
    identifiers: Identifiers = None,
    sensitive: Annotated[
        list[str] | None,
        typer.Option(help="Column to be read off, or several: a list, or repeated; the sensitive ones unless said."),
    ] = None,
    epsilon_range: EpsilonRange = None,
    target: Annotated[
        float | None, typer.Option(help="Find the epsilons that keep the risk at this, such as 0.35.")
    ] = None,
    view: Annotated[str, typer.Option(help="Risk that the target is about: record, conservative or any.")] = "record",
    weights: Annotated[str, typer.Option(help="Average over cells or over people: cell or record.")] = "cell",
    mechanism: MechanismName = "geometric",
    delta: NoiseDelta = None,
    rule: SigmaRule = None,
    pilot: Pilot = None,
    out: Annotated[str | None, typer.Option("--out", "-o", help="The page; NAME-risk.html unless said.")] = None,
    force: Annotated[bool, typer.Option(help="Overwrite an existing page.")] = False,
    dialect: Dialect = PLAIN,
    json: AsJson = False,
) -> None:
    """Show how many people's sensitive value a neighbour could read off a noisy cross table, against epsilon.

    Nothing is released and nothing is spent. What this prints is about the private rows, for the custodian's eyes,
    unless a pilot is given. With several sensitive columns it shows which of them a cell gives away: each, all
    together, and at least one.
    """
    from sfumato.risk.homogeneity.curves import checked_request

    voice, facts, grid = Voice(json), Schema.load(schema), grid_of(epsilon_range, rule)
    asked: dict[str, Any] = {"target": target, "view": view, "weights": weights, "delta": delta, "rule": rule}
    checked_request(grid, mechanism, cast("Any", asked))
    places = PageFiles.at(out, facts.name, "-risk.html", force)
    columns = Columns(names_of(identifiers), names_of(sensitive))
    named = _sensitive(columns, facts, view)
    with voice.counting("counting cells"):
        cells = _cells(read_table(data, pilot, facts, columns, dialect), columns.identifiers, named)
    asked.update(mechanism=mechanism, pilot=Path(pilot).name if pilot else None)
    found = _curves(replace(cells, schema=facts), grid, asked)
    shown = _shown(found, not facts.is_confirmed)
    document = _document(found, shown)
    places.write(shown.page, document)
    _show(voice, found, shown, places, not facts.is_confirmed)
    voice.document({"page": str(places.page), "json": str(places.json), **document})


def _sensitive(asked: Columns, schema: Schema, view: str) -> list[str]:
    """Return the sensitive columns; refuse a view that several of them do not have before anything is counted."""
    from sfumato.risk.homogeneity.several_curves import require_record

    named = list(schema.with_role("sensitive")) if asked.sensitive is None else asked.sensitive
    if len(named) > 1:
        require_record(view)
    return named


def _cells(table: Table, identifiers: list[str] | None, named: list[str]) -> Any:
    """Count the cells: of one sensitive column, or of several."""
    from sfumato.risk.homogeneity.cells import Cells
    from sfumato.risk.homogeneity.joint import JointCells

    if len(named) > 1:
        return JointCells.of(table, identifiers, named)
    return Cells.of(table, identifiers, named[0] if named else None)


def _curves(cells: Any, grid: tuple[float, ...], asked: dict[str, Any]) -> RiskCurves | SeveralCurves:
    from sfumato.risk.homogeneity.curves import curves
    from sfumato.risk.homogeneity.joint import JointCells
    from sfumato.risk.homogeneity.several_curves import several_curves

    return several_curves(cells, grid, **asked) if isinstance(cells, JointCells) else curves(cells, grid, **asked)


class _Shown(NamedTuple):
    """The page, the tables of the terminal with their titles, and the answers in words."""

    page: str
    tables: tuple[tuple[str, Grid], ...]
    answers: tuple[Answer, ...]


def _shown(found: RiskCurves | SeveralCurves, draft: bool) -> _Shown:
    from sfumato.report import risk_page, several_page
    from sfumato.risk.homogeneity import answers, several_answers
    from sfumato.risk.homogeneity.results import RiskCurves

    if not isinstance(found, RiskCurves):
        told = (several_answers.forward(found), several_answers.inverse(found))
        return _Shown(several_page.several_page(found, draft), several_page.tables(found), told)
    told = (answers.forward(found), answers.inverse(found), answers.alone(found))
    return _Shown(risk_page.risk_page(found, draft), _tables(found), told)


def _tables(found: RiskCurves) -> tuple[tuple[str, Grid], ...]:
    from sfumato.report.risk_page import Grid, alone_grid, companions_grid, values_grid, worst_grid

    values = values_grid(found)
    kept = [i for i, name in enumerate(values.header) if name != LEFT_OUT]
    header = tuple(SHORT.get(values.header[i], values.header[i]) for i in kept)
    short = Grid(header, tuple(tuple(row[i] for i in kept) for row in values.rows), values.numbers)
    title = f"{' x '.join(found.identifiers)} by {found.sensitive}: risk against epsilon, in per cent"
    return (
        (title, short),
        ("People who are alone in their cell, in per cent", alone_grid(found)),
        (f"Cells most at risk at epsilon {found.reference.epsilon:.4g}", worst_grid(found)),
        ("Classical measures, without noise", companions_grid(found)),
    )


def _document(found: RiskCurves | SeveralCurves, shown: _Shown) -> dict[str, Any]:
    from sfumato.risk.homogeneity.answers import steering

    notice = "from a pilot table" if found.pilot else "custodian's copy: about confidential data, do not publish"
    answers = [{"question": a.question, "answer": " ".join(a.sentences)} for a in shown.answers]
    body = json_text.loads(found.model_dump_json())
    return {"notice": notice, "choosing_epsilon": steering(found), "answers": answers, "curves": body}


def _show(voice: Voice, found: RiskCurves | SeveralCurves, shown: _Shown, places: PageFiles, draft: bool) -> None:
    from sfumato.risk.homogeneity.answers import steering

    if draft:
        voice.say(f"warning: {DRAFT}", style="yellow")
    for title, grid in shown.tables:
        voice.table(title, grid.header, grid.rows)
    for answer in shown.answers:
        voice.say(answer.question, style="bold")
        for sentence in answer.sentences:
            voice.say(f"  {sentence}")
    voice.say(steering(found), style="yellow")
    kind = "from a pilot" if found.pilot else "custodian's copy, do not publish"
    voice.say(f"page: {places.page} ({kind})", style="bold")
    voice.say(f"json: {places.json}", style="bold")
