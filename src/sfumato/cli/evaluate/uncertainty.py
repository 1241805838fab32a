"""The verb sfumato uncertainty: error of a number computed from a release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.console import Voice
from sfumato.cli.options import AsJson
from sfumato.formatting import percent_fixed

if TYPE_CHECKING:
    from sfumato.evaluate.uncertainty.result import Estimate, Uncertainty

FREE = "Only the bundle was used: this costs nothing, and anyone who has the bundle gets the same numbers."
TABLE = "Intervals are for the numbers of the confidential table. With --population they are for its population."
POPULATION = "Intervals are for the population that the table is a sample of."


def uncertainty(
    bundle: Annotated[str, typer.Argument(metavar="BUNDLE", help="Folder of a release.")],
    statistic: Annotated[
        list[str],
        typer.Option(help="Such as 'mean income by region' or 'shares of sex'; may be repeated."),
    ],
    reruns: Annotated[int, typer.Option(help="How often the method is run again on the released rows.")] = 20,
    level: Annotated[float, typer.Option(help="How sure the intervals are to be.")] = 0.95,
    population: Annotated[
        bool, typer.Option("--population", help="Add the chance of the sample: for the population, not the table.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Say how sure a number of a release is, such as a mean by group. Needs the bundle alone and costs nothing.

    The method is run again on the released rows, by fixed seeds; how far a number moves shows how far it may be off.
    Names: share of COLUMN = LEVEL, shares of COLUMN, mean, median, sd and quantile 0.9 of COLUMN [by GROUP],
    correlation of A and B, regression of Y on A, B, auc of Y = LEVEL on A, B.
    """
    from sfumato.evaluate.uncertainty.run import uncertainty as asked

    voice = Voice(json)
    with voice.counting("how sure it is"):
        found = asked(bundle, statistic, reruns, level, population)
    voice.document(found.to_dict())
    _print_result(voice, found)


def _print_result(voice: Voice, found: Uncertainty) -> None:
    doubtful = any(each.coverage is not None for each in found.estimates)
    headers = [
        "number",
        "released",
        "expected error",
        f"{percent_fixed(found.level, 0)} interval",
        *(["held"] if doubtful else []),
    ]
    voice.table(found.statistic, headers, [_row(each, doubtful) for each in found.estimates])
    for note in found.notes:
        voice.say(f"Note: {note}.")
    voice.say(POPULATION if found.population else TABLE)
    voice.say(FREE)


def _row(each: Estimate, doubtful: bool) -> list[str]:
    shown = list(each.words())
    return [*shown, "" if each.coverage is None else percent_fixed(each.coverage, 0)] if doubtful else shown
