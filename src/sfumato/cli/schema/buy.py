"""The verb sfumato schema buy: learn a schema under DP (spends budget)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.console import Voice
from sfumato.cli.options import (
    DEFAULT_DIALECT,
    AsJson,
    Data,
    Dialect,
    LedgerUrl,
    NoLedger,
    Seed,
    split_names,
    wanted_ledger,
    with_options,
)
from sfumato.errors import SchemaError
from sfumato.schema import Schema
from sfumato.schema.column import Column

if TYPE_CHECKING:
    from sfumato.dp_schema.plan import DetectionLimits

Out = Annotated[str | None, typer.Option("--out", "-o", help="Write here instead of standard output.")]
AboutRows = Annotated[
    int | None,
    typer.Option(help="About how many rows the table has, a public guess: refuses a purchase that would show nothing."),
]
MOST_SHOWN = 6


@with_options
def buy(
    data: Data,
    epsilon: Annotated[str, typer.Option(help="What the facts may cost, such as 0.2; it adds to what releases cost.")],
    delta: Annotated[str | None, typer.Option(help="Delta of the purchase; 1e-9 unless said.")] = None,
    ledger: LedgerUrl = None,
    no_ledger: NoLedger = False,
    out: Out = None,
    name: Annotated[str | None, typer.Option(help="Name of the table; the file's name unless said.")] = None,
    person: Annotated[str | None, typer.Option(help="Column that tells people apart.")] = None,
    rows_per_person: Annotated[int, typer.Option(help="Rows of one person that count, at most.")] = 1,
    adjacency: Annotated[str, typer.Option(help="add-remove, or replace (then --rows).")] = "add-remove",
    rows: Annotated[int | None, typer.Option(help="The public number of rows, under replace.")] = None,
    columns: Annotated[list[str] | None, typer.Option(help="Only these columns, with commas between them.")] = None,
    seed: Seed = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Only say how many rows it takes to be seen; nothing is spent.")
    ] = False,
    about_rows: AboutRows = None,
    dialect: Dialect = DEFAULT_DIALECT,
    force: Annotated[bool, typer.Option(help="Overwrite an existing file.")] = False,
    json: AsJson = False,
) -> None:
    """Buy kinds, bounds and values from the rows: noisy counts, so that nobody has to know the table.

    Only the names of the columns, and the types of a file that has types, are taken for public. The cost is recorded
    before anything is counted. What it takes to be seen is said first, and alone with --plan. The schema can be
    released from at once, and its releases say what its facts cost.
    """
    from sfumato.cli.schema.draft import refuse_overwrite
    from sfumato.dp_schema import buy_schema, forecast_schema

    voice = Voice(json)
    book = False if plan else wanted_ledger(ledger, no_ledger)
    refuse_overwrite(out, force)
    facts: Any = {"adjacency": adjacency, "rows": rows, "person": person, "rows_per_person": rows_per_person}
    facts |= {"name": name, "columns": split_names(columns), "about_rows": about_rows}
    seen = forecast_schema(data, epsilon, delta, dialect=dialect.stated(), **facts)
    if out is not None or plan:  # without --out the schema alone is printed
        voice.say(seen.words, style="yellow")
    if plan:
        _print_plan(voice, seen)
        return
    with voice.counting("buying"):
        schema = buy_schema(data, epsilon, delta, ledger=book, seed=seed, **facts, **dialect.stated())
    _tell(voice, schema, out)


def _print_plan(voice: Voice, seen: DetectionLimits) -> None:
    voice.say(f"a table of fewer than about {seen.least_rows:,} rows would show nothing; nothing was spent")
    told = {"columns": seen.columns, "value_rows": seen.values, "form_rows": seen.forms, "least_rows": seen.least_rows}
    voice.document({**told, "foreseen": seen.words})


def _tell(voice: Voice, schema: Schema, out: str | None) -> None:
    text = schema.to_toml()
    if out is None:
        voice.text(text)
    else:
        _save(schema, out)
        bought = next((column.bought for column in schema if column.bought), None)
        voice.table(
            f"Bought about table {schema.name!r}",
            ("column", "kind", "bounds or values"),
            [[column.name, _kind(column), _domain(column)] for column in schema],
        )
        for note in schema.notes:
            voice.say(f"  {note}", style="yellow")
        voice.say(f"{bought or 'nothing was bought: the types of the file say all'}")
        voice.say(f"wrote {out}: release from it at once, at a cost of its own")
    voice.document({"schema": text, "draft": False, "notes": schema.notes, "path": out})


def _save(schema: Schema, out: str) -> None:
    """Write the schema; where that fails, its facts are paid for, so they are printed and not lost."""
    try:
        schema.save(out)
    except SchemaError as error:
        step = f"the facts are paid for: keep this text\n{schema.to_toml()}"
        raise SchemaError(error.headline, error.problems, step) from error


def _kind(column: Column) -> str:
    return column.role if column.role == "identifier" else column.kind


def _domain(column: Column) -> str:
    if column.bounds is not None:
        return f"{column.bounds[0]} to {column.bounds[1]}"
    listed = [str(value) for value in column.levels]
    more = f", ... ({len(listed)} values)" if len(listed) > MOST_SHOWN else ""
    return ", ".join(listed[:MOST_SHOWN]) + more
