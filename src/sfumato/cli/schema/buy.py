"""The verb sfumato schema buy: learn a schema under DP (spends budget)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.console import Console
from sfumato.cli.options import AboutRows, FileOptions, LedgerOptions, Plan, SchemaOutput, Seed, split_names
from sfumato.errors import SchemaError
from sfumato.schema import Schema
from sfumato.schema.column import Column

if TYPE_CHECKING:
    from sfumato.dp_schema.plan import DetectionLimits

MOST_SHOWN = 6


@dataclass(frozen=True, kw_only=True)
class PurchaseOptions:
    """What is bought, and whom the purchase protects."""

    epsilon: Annotated[str, typer.Option(help="Budget of the facts, such as 0.2; it adds to the cost of releases.")]
    delta: Annotated[str | None, typer.Option(help="Delta of the purchase; default: 1e-9.")] = None
    person: Annotated[str | None, typer.Option(help="The column that identifies a person.")] = None
    rows_per_person: Annotated[int, typer.Option(help="Maximum number of rows of one person that count.")] = 1
    adjacency: Annotated[str, typer.Option(help="add-remove, or replace (requires --rows).")] = "add-remove"
    rows: Annotated[int | None, typer.Option(help="The public number of rows, with --adjacency replace.")] = None
    columns: Annotated[list[str] | None, typer.Option(help="Only these columns, separated by commas.")] = None
    about_rows: AboutRows = None

    def arguments(self, name: str | None) -> dict[str, Any]:
        """Return the arguments of the purchase."""
        facts = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {**facts, "columns": split_names(self.columns), "name": name}


def buy(
    file: FileOptions,
    purchase: PurchaseOptions,
    ledger: LedgerOptions,
    output: SchemaOutput,
    console: Console,
    plan: Plan = False,
    seed: Seed = None,
) -> None:
    """Learn a schema under differential privacy (spends budget).

    Kinds, bounds and values are learned from noisy counts. Only the names of the columns, and the types of a file that
    has types, are assumed to be public. The cost is recorded before anything is counted; how many rows a value needs to
    be detected is printed first, and alone with --plan. The schema needs no confirmation, and releases that use it
    state what its facts cost.
    """
    from sfumato.dp_schema import buy_schema, forecast_schema

    account = False if plan else ledger.require_choice()
    output.require_free()
    arguments = purchase.arguments(output.name)
    limits = forecast_schema(file.data, dialect=file.stated(), **arguments)
    if output.out is not None or plan:  # without --out the schema alone is printed
        console.say(limits.words, style="yellow")
    if plan:
        _print_plan(console, limits)
        return
    with console.progress("buying"):
        schema = buy_schema(file.data, ledger=account, seed=seed, **arguments, **file.stated())
    _print_schema(console, schema, output.out)


def _print_plan(console: Console, limits: DetectionLimits) -> None:
    console.say(f"nothing is detected in a table of fewer than about {limits.least_rows:,} rows; nothing was spent")
    rows = {"value_rows": limits.values, "form_rows": limits.forms, "least_rows": limits.least_rows}
    console.print_json({"columns": limits.columns, **rows, "foreseen": limits.words})


def _print_schema(console: Console, schema: Schema, out: str | None) -> None:
    text = schema.to_toml()
    if out is None:
        console.text(text)
    else:
        _save(schema, out)
        bought = next((column.bought for column in schema if column.bought), None)
        console.table(
            f"Bought about table {schema.name!r}",
            ("column", "kind", "bounds or values"),
            [[column.name, _kind(column), _domain(column)] for column in schema],
        )
        for note in schema.notes:
            console.say(f"  {note}", style="yellow")
        console.say(f"{bought or 'nothing was bought: the file states all types'}")
        console.say(f"wrote {out}: releases can use it without confirmation; each has its own cost")
    console.print_json({"schema": text, "draft": False, "notes": schema.notes, "path": out})


def _save(schema: Schema, out: str) -> None:
    """Write the schema; if that fails, print it, because its facts are paid for."""
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
