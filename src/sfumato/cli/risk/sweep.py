"""The verb sfumato risk sweep: every attack on a method at several epsilons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.console import Voice
from sfumato.cli.options import (
    DEFAULT_DIALECT,
    AsJson,
    AsPublished,
    Data,
    Delta,
    Dialect,
    OptionalMethod,
    Rows,
    SchemaPath,
    Settings,
    method_from_settings,
    parse_numbers,
    split_names,
    with_options,
)
from sfumato.cli.output_page import OutputPage
from sfumato.cli.risk.homogeneity import DRAFT
from sfumato.errors import RiskError
from sfumato.schema import Schema

if TYPE_CHECKING:
    from sfumato.risk.simulated.epsilon_sweep import Sweep

EPSILONS = "0.5,1,2,4"


@with_options
def sweep(
    data: Data,
    schema: SchemaPath,
    epsilons: Annotated[str, typer.Option(help="Epsilons to attack at, such as 0.1,0.5,1,2,4.")] = EPSILONS,
    method: OptionalMethod = None,
    as_published: AsPublished = False,
    settings: Settings = None,
    delta: Delta = None,
    rows: Rows = None,
    known: Annotated[list[str] | None, typer.Option(help="A column the attacker knows; repeat it for several.")] = None,
    sensitive: Annotated[str | None, typer.Option(help="Column to be guessed; the sensitive one unless said.")] = None,
    learner: Annotated[str, typer.Option(help="How to guess from rows: nearest or forest.")] = "nearest",
    references: Annotated[int, typer.Option(help="Linkage: fresh releases of each table to compare with.")] = 1,
    target: Annotated[
        int | None, typer.Option(help="Row number of the target, from 1; the most exposed unless said.")
    ] = None,
    sees: Annotated[
        str, typer.Option(help="What the attacker sees of released rows: values, or bins (their public bins).")
    ] = "values",
    trials: Annotated[int | None, typer.Option(help="Games of each attack at each epsilon.")] = None,
    seed: Annotated[int | None, typer.Option(help="Repeat the same games.")] = None,
    out: Annotated[str | None, typer.Option("--out", "-o", help="The page; NAME-attacks.html unless said.")] = None,
    force: Annotated[bool, typer.Option(help="Overwrite an existing page.")] = False,
    dialect: Dialect = DEFAULT_DIALECT,
    json: AsJson = False,
) -> None:
    """Run every attack that fits on what a method would release at several epsilons: one page, one JSON file.

    Membership and linkage by games, inference where the schema or --known and --sensitive say what is known and wanted.
    Nothing is released and nothing is spent. What this prints is about the private rows, for the custodian's eyes.
    """
    from sfumato.cli.risk.games import attacker_view, row_index
    from sfumato.report.sweep_page import sweep_page
    from sfumato.risk.simulated.epsilon_sweep import epsilon_sweep as attack_all
    from sfumato.table import read

    voice, facts = Voice(json), Schema.load(schema)
    values = parse_numbers(epsilons, "--epsilons", EPSILONS)
    if not values:
        raise RiskError("--epsilons names no epsilon", next_step=f"write --epsilons {EPSILONS}")
    made, reason = method_from_settings(method, facts, settings or [], str(values[0]), delta, as_published)
    places = OutputPage.at(out, facts.name, "-attacks.html", force)
    with voice.counting(f"attacking {made.name}"):
        found = attack_all(
            read(data, facts, **dialect.stated()),
            made,
            values,
            known=split_names(known),
            sensitive=sensitive,
            learner=learner,
            references=references,
            target=row_index(target),
            rows=rows,
            sees=attacker_view(sees),
            trials=trials,
            seed=seed,
        )
    document = {"notice": found.notice, "method_chosen": reason, **found.model_dump(mode="json")}
    places.write(sweep_page(found, not facts.is_confirmed), document)
    _show(voice, found, places, reason, not facts.is_confirmed)
    voice.document({"page": str(places.page), "json": str(places.json), **document})


def _show(voice: Voice, found: Sweep, places: OutputPage, reason: str | None, draft: bool) -> None:
    from sfumato.report.sweep_page import values_grid

    if draft:
        voice.say(f"warning: {DRAFT}", style="yellow")
    grid = values_grid(found)
    voice.table(f"Attacks on {found.method} of table {found.table!r}, in per cent", grid.header, grid.rows)
    for point in found.points:
        for result in point.results:
            if result.refutes_claim:
                voice.say(f"epsilon {point.epsilon:g}: {result.ceiling_line()}", style="red")
    for line in (*found.left_out, *([reason] if reason else [])):
        voice.say(line)
    voice.say(found.notice, style="yellow")
    voice.say(f"page: {places.page} (custodian's copy, do not publish)", style="bold")
    voice.say(f"json: {places.json}", style="bold")
