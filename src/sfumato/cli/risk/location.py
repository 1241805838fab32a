"""The verb sfumato risk location: distance of released rows to the nearest private rows."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.bounded_reads import is_folder
from sfumato.cli.console import Console
from sfumato.cli.options import CUSTODIAN_NOTICE, HoldoutOptions, NumericColumns, Repeat, SameOrder, split_names
from sfumato.errors import RiskError
from sfumato.formatting import percent_fixed

HEADERS = ("nearest row of", "some value within", "every value within", "median distance")


def location(
    rows: HoldoutOptions,
    console: Console,
    columns: NumericColumns = None,
    tolerance: Annotated[float, typer.Option(help="Share of each column's public range that counts as near.")] = 0.001,
    same_order: SameOrder = False,
    seed: Repeat = None,
) -> None:
    """Measure how near released rows are to people's values.

    Local interval disclosure (LID) by the nearest row: each person is compared with the nearest released row, and with
    the nearest other person of the table, who is near by chance.
    """
    from sfumato.metrics.evaluation_input import open_evaluation_input
    from sfumato.risk.interval_disclosure import location_risk

    facts = rows.facts
    if same_order and is_folder(rows.bundle):
        raise RiskError(
            "the rows of a bundle are not in the order of the table",
            next_step="leave out --same-order; what the method measured itself is in the custodian's report",
        )
    table, released = rows.read(), open_evaluation_input(rows.bundle).require_rows().rows
    with console.progress("searching nearest rows"):
        risk = location_risk(
            table, released, facts, split_names(columns), tolerance, rows.read_holdout(), same_order, seed
        )
    lines = [
        [name, percent_fixed(near.any_value), percent_fixed(near.every_value), f"{near.distance:.3g}"]
        for name, near in (("the release", risk.released), ("other people", risk.others))
    ]
    console.table(f"Location of {', '.join(risk.columns)}, tolerance {tolerance:g} of each range", HEADERS, lines)
    console.say(risk.statement())
    if risk.left_out:
        console.say(f"Left out for missing values: {risk.left_out:,} rows of both tables together.")
    console.say(CUSTODIAN_NOTICE, style="yellow")
    facts_and_risk = {"table": facts.name, **risk.to_dict(), "statement": risk.statement()}
    console.print_json({"notice": CUSTODIAN_NOTICE, **facts_and_risk})
