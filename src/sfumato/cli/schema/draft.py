"""The verbs sfumato schema draft, import and check."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.console import Voice
from sfumato.cli.options import DEFAULT_DIALECT, AsJson, Data, Dialect, SchemaPath, with_options
from sfumato.cli.schema.buy import buy
from sfumato.cli.schema.confirm import confirm, show
from sfumato.errors import SchemaError
from sfumato.schema import Schema
from sfumato.table import read

schema_app = typer.Typer(
    no_args_is_help=True, help="Draft, import, buy, check, confirm and show the public schema of a table."
)
Out = Annotated[str | None, typer.Option("--out", "-o", help="Write here instead of standard output.")]
LOOK = "next: look at each 'question', 'look at' and 'left out' above"
EDIT = "next: edit {file}: write bounds and values as they are public, not as the rows have them"
CONFIRM = "next: sfumato schema confirm {file} --source 'COLUMN=WHERE IT IS PUBLIC' (or --accept-unchanged)"
VOUCHED = "next: look at each fact, then: sfumato schema confirm {file}"
schema_app.command("buy")(buy)


@schema_app.command()
@with_options
def draft(
    data: Data,
    out: Out = None,
    name: Annotated[str | None, typer.Option(help="Name of the table; the file's name unless said.")] = None,
    dialect: Dialect = DEFAULT_DIALECT,
    force: Annotated[bool, typer.Option(help="Overwrite an existing file.")] = False,
    json: AsJson = False,
) -> None:
    """Propose a schema from data, marked as a draft.

    Bounds and categories learned from private rows leak, so every method with a guarantee refuses a draft. Replace what
    is not public knowledge, then run `sfumato schema confirm`.
    """
    voice = Voice(json)
    refuse_overwrite(out, force)
    with voice.counting("looking at the table"):
        schema = Schema.draft(data, name=name, **dialect.stated())
    if out is None:
        voice.text(schema.to_toml())
    else:
        schema.save(out)
        voice.say(f"wrote a draft of {len(schema.columns)} columns to {out}")
        for note in schema.notes:
            voice.say(f"  {note}", style="yellow")
        asked = any(note.startswith(("question", "look at", "left out")) for note in schema.notes)
        for step in (*([LOOK] if asked else []), EDIT, CONFIRM):
            voice.say(step.format(file=out))
    voice.document({"schema": schema.to_toml(), "draft": True, "notes": schema.notes, "path": out})


@schema_app.command("import")
def import_schema(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Metadata as JSON: Croissant, Frictionless (package, schema) or CSVW.")
    ],
    out: Out = None,
    table: Annotated[str | None, typer.Option(help="Which table, where the file describes several.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the table; that in the file unless said.")] = None,
    force: Annotated[bool, typer.Option(help="Overwrite an existing file.")] = False,
    json: AsJson = False,
) -> None:
    """Propose a schema from a file that describes the table, without looking at any row.

    Every fact has that file as its source. A file cannot say whether its limits were computed from private rows, so the
    result is a draft: look at it, then run `sfumato schema confirm`.
    """
    voice = Voice(json)
    refuse_overwrite(out, force)
    schema = Schema.from_metadata(file, table, name)
    if out is None:
        voice.text(schema.to_toml())
    else:
        schema.save(out)
        voice.say(f"wrote a draft of {len(schema.columns)} columns to {out}")
        for note in schema.notes:
            voice.say(f"  {note}", style="yellow")
        voice.say(VOUCHED.format(file=out))
    voice.document({"schema": schema.to_toml(), "draft": True, "notes": schema.notes, "path": out})


def refuse_overwrite(out: str | None, force: bool) -> None:
    """Refuse a file that is there, before any work is done."""
    try:
        taken = out is not None and Path(out).exists() and not force
    except (OSError, ValueError) as error:
        raise SchemaError(f"{out!r} is no path", next_step="choose another --out") from error
    if taken:
        raise SchemaError(f"{out!r} exists", next_step="choose another name with --out, or add --force")


@schema_app.command()
@with_options
def check(data: Data, schema: SchemaPath, dialect: Dialect = DEFAULT_DIALECT, json: AsJson = False) -> None:
    """Check a table against its schema and list every violation with its count.

    What this prints is about the private rows: it is for the custodian's eyes.
    """
    voice = Voice(json)
    facts = Schema.load(schema)
    with voice.counting("checking"):
        table = read(data, facts, **dialect.stated())
        table.require_valid()
        contradicted = [str(violation) for violation in table.contradictions]
    voice.say(f"table {facts.name!r} fits its schema: {len(facts.columns)} columns, {len(facts.rules)} rules")
    for violation in contradicted:
        voice.say(f"  {violation}; rows of a release will not contradict it", style="yellow")
    voice.document({"table": facts.name, "valid": True, "violations": contradicted})


schema_app.command()(confirm)
schema_app.command()(show)
