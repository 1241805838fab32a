"""``sfumato schema draft | check | confirm``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.arguments import AsJson, Data, SchemaPath
from sfumato.cli.console import Voice
from sfumato.cli.reading import PLAIN, Dialect, reads
from sfumato.errors import SchemaError
from sfumato.schema import Schema
from sfumato.schema.writer import confirm_text
from sfumato.table import read

schema_app = typer.Typer(no_args_is_help=True, help="Draft, check and confirm the public schema of a table.")
SchemaArgument = Annotated[str, typer.Argument(metavar="SCHEMA", help="The schema (TOML).")]
Out = Annotated[str | None, typer.Option("--out", "-o", help="Write here instead of standard output.")]


@schema_app.command()
@reads
def draft(
    data: Data,
    out: Out = None,
    name: Annotated[str | None, typer.Option(help="Name of the table; the file's name unless said.")] = None,
    dialect: Dialect = PLAIN,
    force: Annotated[bool, typer.Option(help="Overwrite an existing file.")] = False,
    json: AsJson = False,
) -> None:
    """Propose a schema from data, marked as a draft.

    Bounds and categories learned from private rows leak, so every method with a guarantee refuses a draft. Replace what
    is not public knowledge, then run `sfumato schema confirm`.
    """
    voice = Voice(json)
    _refuse_overwrite(out, force)
    schema = Schema.draft(data, name=name, **dialect.stated())
    if out is None:
        voice.say(schema.to_toml())
    else:
        schema.save(out)
        voice.say(f"wrote a draft of {len(schema.columns)} columns to {out}")
        for note in schema.notes:
            voice.say(f"  {note}", style="yellow")
    voice.document({"schema": schema.to_toml(), "draft": True, "notes": schema.notes, "path": out})


def _refuse_overwrite(out: str | None, force: bool) -> None:
    try:
        taken = out is not None and Path(out).exists() and not force
    except (OSError, ValueError) as error:
        raise SchemaError(f"{out!r} is no path", next_step="choose another --out") from error
    if taken:
        raise SchemaError(f"{out!r} exists", next_step="choose another name with --out, or add --force")


def _write(text: str, path: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "that is no path"
        raise SchemaError(f"cannot write {path!r}: {reason}", next_step="choose another --out") from error


@schema_app.command()
@reads
def check(data: Data, schema: SchemaPath, dialect: Dialect = PLAIN, json: AsJson = False) -> None:
    """Check a table against its schema and list every violation with its count.

    What this prints is about the private rows: it is for the custodian's eyes.
    """
    voice = Voice(json)
    facts = Schema.load(schema)
    with voice.counting("checking") as progress:
        table = read(data, facts, progress=progress, **dialect.stated())
        table.require_valid()
        contradicted = [str(violation) for violation in table.contradictions]
    voice.say(f"table {facts.name!r} fits its schema: {len(facts.columns)} columns, {len(facts.rules)} rules")
    for violation in contradicted:
        voice.say(f"  {violation}; rows of a release will not contradict it", style="yellow")
    voice.document({"table": facts.name, "valid": True, "violations": contradicted})


@schema_app.command()
def confirm(
    schema: SchemaArgument,
    out: Annotated[str | None, typer.Option("--out", "-o", help="Write here; in place unless said.")] = None,
    json: AsJson = False,
) -> None:
    """Confirm a draft: you vouch that every bound, value and edge in it is public knowledge."""
    voice = Voice(json)
    confirmed = Schema.load(schema).confirm()
    target = out or schema
    _write(_confirmed_text(Path(schema).read_text(encoding="utf-8"), confirmed), target)
    rows = [[c.name, c.kind, _domain(c.bounds, c.values), c.size, c.role or ""] for c in confirmed]
    voice.table(
        f"You vouch that this is public about table {confirmed.name!r}",
        ("column", "kind", "bounds or values", "cells", "role"),
        rows,
    )
    for rule in confirmed.rules:
        if rule.map is not None:
            voice.say(f"and the map of {rule.words}")
    voice.say(f"confirmed: {target}")
    voice.document({"table": confirmed.name, "path": target, "draft": False})


def _confirmed_text(text: str, confirmed: Schema) -> str:
    """Return the file without its draft mark; written anew where lines alone do not tell what is the mark."""
    kept = confirm_text(text)
    return kept if Schema.parse(kept) == confirmed else confirmed.to_toml()


def _domain(bounds: tuple[object, object] | None, values: tuple[object, ...] | None) -> str:
    if bounds is not None:
        return f"{bounds[0]} to {bounds[1]}"
    listed = [str(value) for value in values or ("false", "true")]
    return ", ".join(listed[:8]) + (f", ... ({len(listed)} values)" if len(listed) > 8 else "")
