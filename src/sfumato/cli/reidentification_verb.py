"""``sfumato risk reidentification``: is a person who is alone in a cell seen to be alone, and rightly?"""

from __future__ import annotations

import json as json_text
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

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
from sfumato.cli.homogeneity_verb import DRAFT
from sfumato.cli.reading import PLAIN, Dialect, reads
from sfumato.privacy.exact import at_least
from sfumato.schema import Schema

if TYPE_CHECKING:
    from sfumato.risk.homogeneity.alone import ReidentificationRisk
    from sfumato.risk.homogeneity.inverse import EpsilonChoice
    from sfumato.risk.homogeneity.mechanisms import Mechanism

NAMED = "seen with the value"
HEADER = ("epsilon", "seen", NAMED, "right", "right, known to be in")
CUSTODIAN = "These numbers are about the private rows: for the custodian's eyes. Nothing was released or spent."


@reads
def reidentification(
    data: Data,
    schema: SchemaPath,
    identifiers: Identifiers = None,
    sensitive: Annotated[
        str | None, typer.Option(help="Sensitive column of the published table; without it the identifiers alone.")
    ] = None,
    epsilon_range: EpsilonRange = None,
    target: Annotated[
        float | None,
        typer.Option(help="Find the epsilons at which somebody who is alone is seen with this chance at most."),
    ] = None,
    mechanism: MechanismName = "geometric",
    delta: NoiseDelta = None,
    rule: SigmaRule = None,
    pilot: Pilot = None,
    dialect: Dialect = PLAIN,
    json: AsJson = False,
) -> None:
    """Show whether a person who is alone in a cell is seen to be alone, and rightly, against epsilon.

    Exact, from the counts of the cells of a published table of the identifiers. Nothing is released or spent.
    """
    from sfumato.risk.homogeneity.curves import checked_request, stated_sensitivity
    from sfumato.risk.homogeneity.mechanisms import Mechanism
    from sfumato.risk.homogeneity.results import few_of

    voice, facts, grid = Voice(json), Schema.load(schema), grid_of(epsilon_range, rule)
    checked_request(grid, mechanism, {"delta": delta, "rule": rule})
    noise = Mechanism(mechanism, delta, rule, stated_sensitivity(facts, mechanism))
    choice = None if target is None else _choice(target, facts, sensitive, noise)
    columns = Columns(names_of(identifiers), [sensitive] if sensitive else [])
    with voice.counting("counting cells"):
        table = read_table(data, pilot, facts, columns, dialect)
        found = _risks(table, columns, grid, noise)
    if not facts.is_confirmed:
        voice.say(f"warning: {DRAFT}", style="yellow")
    title = f"People who are alone in their cell, {mechanism} noise, in per cent"
    rows = [_row(grid[i], found[i]) for i in few_of(len(grid))]
    kept = [i for i, name in enumerate(HEADER) if sensitive or name != NAMED]
    voice.table(title, [HEADER[i] for i in kept], [[row[i] for i in kept] for row in rows])
    answers = _answers(found[0], choice)
    for sentence in answers:
        voice.say(sentence)
    notice = f"From the pilot {pilot}; the confidential table was not read." if pilot else CUSTODIAN
    voice.say(notice, style="yellow")
    points = [{"epsilon": epsilon, **asdict(risk)} for epsilon, risk in zip(grid, found, strict=True)]
    told = {"notice": notice, "mechanism": mechanism, "delta": delta, "rule": noise.sigma_rule, "answers": answers}
    voice.document({**told, "points": points, "choice": _saved(choice)})


def _choice(target: float, schema: Schema, sensitive: str | None, noise: Mechanism) -> EpsilonChoice:
    from sfumato.risk.homogeneity.alone import epsilon_for_alone

    values = schema[sensitive].size if sensitive and sensitive in schema else 1
    return epsilon_for_alone(target, values, noise.name, noise.sensitivity, delta=noise.delta, rule=noise.rule)


def _risks(table: Any, asked: Columns, grid: Sequence[float], noise: Mechanism) -> list[ReidentificationRisk]:
    import numpy as np

    from sfumato.risk.homogeneity.alone import reidentification
    from sfumato.risk.homogeneity.cells import cell_counts

    cells, empty = cell_counts(table, asked.identifiers, asked.sensitive or [])
    rows, repeats = np.unique(np.sort(cells, axis=1), axis=0, return_counts=True)
    return [reidentification(rows, noise.law(epsilon), empty, repeats) for epsilon in grid]


def _row(epsilon: float, risk: ReidentificationRisk) -> list[str]:
    return [f"{epsilon:.3g}", *(f"{100 * share:.1f}" for share in (risk.seen, risk.named, risk.right, risk.known))]


def _answers(risk: ReidentificationRisk, choice: EpsilonChoice | None) -> list[str]:
    return [
        f"{risk.alone:,.0f} people are alone in their cell, {100 * risk.baseline:.3g} % of all: so sure is a neighbour "
        "without any release who knows that the person is in the table.",
        "Seen: the chance that the noisy table shows one person in the cell of somebody who is alone; it depends on "
        "epsilon and the number of values only. Right: of the cells shown with one person, the share that hold one.",
        *([] if choice is None else [_answer(choice)]),
    ]


def _answer(choice: EpsilonChoice) -> str:

    if choice.safe is None:
        what = f"No epsilon keeps the chance of being seen at {choice.target:g}"
        return f"{what}: even pure noise gives {choice.floor:.4g}."
    end = "every epsilon" if math.isinf(choice.safe[1]) else f"every epsilon up to {at_least(choice.safe[1], 4)}"
    return f"Somebody who is alone is seen with a chance of {choice.target:g} or less at {end}."


def _saved(choice: EpsilonChoice | None) -> Any:
    from sfumato.risk.homogeneity.results import Choice

    return None if choice is None else json_text.loads(Choice.of(choice).model_dump_json())
