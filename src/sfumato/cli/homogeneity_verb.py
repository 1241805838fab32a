"""``sfumato risk homogeneity``: what a cross table would give away, and which epsilon keeps that under a target."""

from __future__ import annotations

import json as json_text
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import typer

from sfumato.cli.arguments import AsJson, Data, Delimiter, SchemaPath
from sfumato.cli.console import Voice
from sfumato.errors import RiskError
from sfumato.schema import Schema

if TYPE_CHECKING:
    from sfumato.risk.homogeneity.cells import Cells
    from sfumato.risk.homogeneity.results import RiskCurves

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


def homogeneity(
    data: Data,
    schema: SchemaPath,
    identifiers: Annotated[
        str | None, typer.Option(help="Columns a neighbour knows, such as age,sex; quasi-identifiers unless said.")
    ] = None,
    sensitive: Annotated[str | None, typer.Option(help="Column to be read off; the sensitive one unless said.")] = None,
    epsilon_range: Annotated[str, typer.Option(help="Epsilons of the curves, low:high.")] = "0.01:30",
    target: Annotated[
        float | None, typer.Option(help="Find the epsilons that keep the risk at this, such as 0.35.")
    ] = None,
    view: Annotated[str, typer.Option(help="Risk that the target is about: record, conservative or any.")] = "record",
    weights: Annotated[str, typer.Option(help="Average over cells or over people: cell or record.")] = "cell",
    mechanism: Annotated[str, typer.Option(help="Noise: geometric (what is released) or laplace.")] = "geometric",
    pilot: Annotated[
        str | None,
        typer.Option(help="Public or earlier table to steer by instead: every number comes from it, DATA is not read."),
    ] = None,
    out: Annotated[str | None, typer.Option("--out", "-o", help="The page; NAME-risk.html unless said.")] = None,
    force: Annotated[bool, typer.Option(help="Overwrite an existing page.")] = False,
    delimiter: Delimiter = None,
    json: AsJson = False,
) -> None:
    """Show how many people's sensitive value a neighbour could read off a noisy cross table, against epsilon.

    Nothing is released and nothing is spent. What this prints is about the private rows, for the custodian's eyes,
    unless a pilot is given.
    """
    from sfumato.risk.homogeneity.curves import curves, epsilon_grid

    voice, facts = Voice(json), Schema.load(schema)
    grid = epsilon_grid(*_range(epsilon_range))
    places = _places(out, facts.name, force)
    asked = _Columns(_names(identifiers), sensitive)
    with voice.counting("counting cells") as progress:
        cells = _cells(pilot or data, _pilot_schema(facts, asked) if pilot else facts, asked, delimiter, progress)
    found = curves(
        replace(cells, schema=facts),
        grid,
        target=target,
        view=cast("Any", view),
        weights=cast("Any", weights),
        mechanism=mechanism,
        pilot=Path(pilot).name if pilot else None,
    )
    document = _document(found)
    _write(places, found, document, facts.is_draft)
    _show(voice, found, places, facts.is_draft)
    voice.document({"page": str(places.page), "json": str(places.json), **document})


class _Columns(NamedTuple):
    identifiers: list[str] | None
    sensitive: str | None


class _Places(NamedTuple):
    page: Path
    json: Path


def _range(text: str) -> tuple[float, float]:
    low, _, high = text.partition(":")
    try:
        return float(low), float(high)
    except ValueError as error:
        raise RiskError(
            f"--epsilon-range {text!r} is not of the form low:high", next_step="write --epsilon-range 0.01:30"
        ) from error


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _places(out: str | None, name: str, force: bool) -> _Places:
    """Return where page and JSON go; refuse before anything is counted."""
    page = Path(out or re.sub(r"[^\w.-]+", "-", name) + "-risk.html")
    places = _Places(page, page.with_suffix(".json"))
    if page.suffix.lower() not in (".html", ".htm"):
        raise RiskError(f"{str(page)!r} does not end in .html", next_step="choose a name such as --out risk.html")
    if not page.absolute().parent.is_dir():
        raise RiskError(f"there is no folder {str(page.parent)!r}", next_step="make it, or choose another --out")
    taken = [str(place) for place in places if place.exists()]
    if any(Path(place).is_dir() for place in taken):
        raise RiskError(f"{taken[0]!r} is a folder", next_step="choose another name with --out")
    if taken and not force:
        raise RiskError(f"{' and '.join(map(repr, taken))} exist", next_step="choose another --out, or add --force")
    return places


def _pilot_schema(schema: Schema, asked: _Columns) -> Schema:
    """Return what a pilot must hold: the columns of the cells, and as many rows as it likes."""
    wanted = {*(asked.identifiers or schema.with_role("quasi-identifier")), schema.person}
    wanted |= {asked.sensitive} if asked.sensitive else set(schema.with_role("sensitive"))
    columns = tuple(column for column in schema if column.name in wanted)
    rules = tuple(rule for rule in schema.rules if set(rule.columns) <= wanted)
    return replace(schema, columns=columns, rules=rules, adjacency="add-remove", rows=None) if columns else schema


def _cells(source: str, schema: Schema, asked: _Columns, delimiter: str | None, progress: Any) -> Cells:
    from sfumato.risk.homogeneity.cells import Cells
    from sfumato.table import read

    table = read(source, schema, delimiter, progress)
    table.require_valid()
    return Cells.of(table, asked.identifiers, asked.sensitive)


def _document(found: RiskCurves) -> dict[str, Any]:
    from sfumato.risk.homogeneity.answers import forward, inverse, steering

    notice = "from a pilot table" if found.pilot else "custodian's copy: about confidential data, do not publish"
    answers = [{"question": a.question, "answer": " ".join(a.sentences)} for a in (forward(found), inverse(found))]
    body = json_text.loads(found.model_dump_json())
    return {"notice": notice, "choosing_epsilon": steering(found), "answers": answers, "curves": body}


def _write(places: _Places, found: RiskCurves, document: dict[str, Any], draft: bool) -> None:
    """Write page and JSON: both or none."""
    from sfumato.report.risk_page import risk_page

    texts = (risk_page(found, draft), json_text.dumps(document, indent=2, ensure_ascii=False) + "\n")
    fresh = [place.with_name(f".{place.name}.part") for place in places]
    try:
        for place, text in zip(fresh, texts, strict=True):
            place.write_text(text, encoding="utf-8")
        for place, target in zip(fresh, places, strict=True):
            place.replace(target)
    except OSError as error:
        raise RiskError(
            f"cannot write {str(places.page)!r}: {error.strerror}", next_step="choose another --out"
        ) from error
    finally:
        for place in fresh:
            place.unlink(missing_ok=True)


def _show(voice: Voice, found: RiskCurves, places: _Places, draft: bool) -> None:
    from sfumato.report.risk_page import companions_grid, values_grid, worst_grid
    from sfumato.risk.homogeneity.answers import forward, inverse, steering

    if draft:
        voice.say(f"warning: {DRAFT}", style="yellow")
    values, worst, beside = values_grid(found), worst_grid(found), companions_grid(found)
    kept = [i for i, name in enumerate(values.header) if name != LEFT_OUT]
    title = f"{' x '.join(found.identifiers)} by {found.sensitive}: risk against epsilon, in per cent"
    header = [SHORT.get(values.header[i], values.header[i]) for i in kept]
    voice.table(title, header, [[row[i] for i in kept] for row in values.rows])
    voice.table(f"Cells most at risk at epsilon {found.reference.epsilon:.4g}", worst.header, worst.rows)
    voice.table("Classical measures, without noise", beside.header, beside.rows)
    for answer in (forward(found), inverse(found)):
        voice.say(answer.question, style="bold")
        for sentence in answer.sentences:
            voice.say(f"  {sentence}")
    voice.say(steering(found), style="yellow")
    kind = "from a pilot" if found.pilot else "custodian's copy, do not publish"
    voice.say(f"page: {places.page} ({kind})", style="bold")
    voice.say(f"json: {places.json}", style="bold")
