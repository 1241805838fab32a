"""The verb sfumato risk location: distance of released rows to the nearest private rows."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.bounded_reads import is_folder
from sfumato.cli.console import Voice
from sfumato.cli.options import DEFAULT_DIALECT, AsJson, Data, Dialect, SchemaPath, with_options
from sfumato.cli.released import released_rows
from sfumato.errors import RiskError
from sfumato.formatting import percent_fixed
from sfumato.schema import Schema

Released = Annotated[str, typer.Option(help="What was released: a bundle, or a file of synthetic rows.")]
CONFIDENTIAL = (
    "Measured on confidential rows: for the custodian's eyes, and no guarantee. Nothing was released or spent."
)
HEADERS = ("nearest row of", "some value within", "every value within", "median distance")


@with_options
def location(
    data: Data,
    schema: SchemaPath,
    release: Released,
    columns: Annotated[
        str | None, typer.Option(help="Columns of numbers or dates, such as age,income; all unless said.")
    ] = None,
    tolerance: Annotated[float, typer.Option(help="Share of each column's public range that counts as near.")] = 0.001,
    control: Annotated[str | None, typer.Option(help="A file of people who were not in the table.")] = None,
    same_order: Annotated[
        bool, typer.Option(help="The file's row i was made from row i of DATA: measure row by row, too.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Repeat the same samples.")] = None,
    dialect: Dialect = DEFAULT_DIALECT,
    json: AsJson = False,
) -> None:
    """Measure how near released rows lie to people's own values: LID by the nearest row, beside other people.

    Released rows are shuffled, so that nobody compares row i with row i: each person is compared with the nearest
    released row, and with the nearest other person of the table, who is near by chance.
    """
    from sfumato.risk.interval_disclosure import location_risk
    from sfumato.table import read

    voice, facts = Voice(json), Schema.load(schema)
    if same_order and is_folder(release):
        raise RiskError(
            "a bundle's rows are not in the order of the table",
            next_step="leave out --same-order; what the method measured itself is in the custodian's copy",
        )
    named = [part.strip() for part in columns.split(",") if part.strip()] if columns is not None else None
    table, made = read(data, facts, **dialect.stated()), released_rows(release)
    with voice.counting("looking for the nearest rows"):
        found = location_risk(table, made, facts, named, tolerance, control, same_order, seed)
    rows = [
        [name, percent_fixed(n.any_value), percent_fixed(n.every_value), f"{n.distance:.3g}"]
        for name, n in (("the release", found.released), ("other people", found.others))
    ]
    voice.table(f"Location of {', '.join(found.columns)}, tolerance {tolerance:g} of each range", HEADERS, rows)
    voice.say(found.statement())
    if found.left_out:
        voice.say(f"Left out for missing values: {found.left_out:,} rows of both tables together.")
    voice.say(CONFIDENTIAL, style="yellow")
    voice.document({"notice": CONFIDENTIAL, "table": facts.name, **found.to_dict(), "statement": found.statement()})
