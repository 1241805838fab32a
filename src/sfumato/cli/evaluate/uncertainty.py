"""The verb sfumato uncertainty: the error of a statistic of a release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.console import Console
from sfumato.cli.options import Bundle, Confidence
from sfumato.formatting import percent_fixed

if TYPE_CHECKING:
    from sfumato.evaluate.uncertainty.result import Estimate, Uncertainty

FREE = "Computed from the bundle alone, at no cost: everyone who has the bundle gets the same numbers."
TABLE = "Intervals cover the confidential table. With --population they cover the population it was sampled from."
POPULATION = "Intervals cover the population that the table was sampled from."


def uncertainty(
    console: Console,
    bundle: Bundle,
    statistic: Annotated[
        list[str], typer.Option(help="Such as 'mean income by region' or 'shares of sex'; repeatable.")
    ],
    reruns: Annotated[int, typer.Option(help="Reruns of the method on the released rows.")] = 20,
    level: Confidence = 0.95,
    population: Annotated[
        bool, typer.Option("--population", help="Include sampling error: intervals for the population.")
    ] = False,
) -> None:
    """Estimate the error of a statistic of a release.

    Needs the bundle only and costs nothing: the method is run again on the released rows with fixed seeds, and the
    spread of the results estimates the error. Statistics: share of COLUMN = LEVEL, shares of COLUMN, mean, median, sd
    and quantile 0.9 of COLUMN [by GROUP], correlation of A and B, regression of Y on A, B, auc of Y = LEVEL on A, B.
    """
    from sfumato.evaluate.uncertainty.run import uncertainty as estimate

    with console.progress("estimating errors"):
        result = estimate(bundle, statistic, reruns, level, population)
    console.print_json(result.to_dict())
    _print_result(console, result)


def _print_result(console: Console, result: Uncertainty) -> None:
    doubtful = any(each.coverage is not None for each in result.estimates)
    headers = [
        "number",
        "released",
        "expected error",
        f"{percent_fixed(result.level, 0)} interval",
        *(["held"] if doubtful else []),
    ]
    console.table(result.statistic, headers, [_row(each, doubtful) for each in result.estimates])
    for note in result.notes:
        console.say(f"Note: {note}.")
    console.say(POPULATION if result.population else TABLE)
    console.say(FREE)


def _row(each: Estimate, doubtful: bool) -> list[str]:
    shown = list(each.words())
    return [*shown, "" if each.coverage is None else percent_fixed(each.coverage, 0)] if doubtful else shown
