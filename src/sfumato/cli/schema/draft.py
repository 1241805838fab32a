"""The verbs sfumato schema draft, import and check."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from sfumato.cli.console import Console
from sfumato.cli.options import FileOptions, SchemaOutput, TableOptions
from sfumato.schema import Schema

REVIEW = "next: look at each 'question', 'look at' and 'left out' above"
EDIT = "next: edit {file}: state bounds and values as they are public, not as the rows have them"
CONFIRM = "next: sfumato schema confirm {file} --source 'COLUMN=WHERE IT IS PUBLIC' (or --accept-unchanged)"
REVIEW_FACTS = "next: check each fact, then: sfumato schema confirm {file}"


def draft(file: FileOptions, output: SchemaOutput, console: Console) -> None:
    """Propose a schema from a file, marked as a draft.

    Bounds and categories learned from private rows leak, so every method with a guarantee refuses a draft. Replace what
    is not public knowledge, then run `sfumato schema confirm`.
    """
    output.require_free()
    with console.progress("drafting"):
        schema = Schema.draft(file.data, name=output.name, **file.stated())
    needs_review = any(note.startswith(("question", "look at", "left out")) for note in schema.notes)
    _write_draft(schema, output, console, (*([REVIEW] if needs_review else []), EDIT, CONFIRM))


def import_schema(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Metadata as JSON: Croissant, Frictionless (package, schema) or CSVW.")
    ],
    output: SchemaOutput,
    console: Console,
    table: Annotated[str | None, typer.Option(help="Name of the table, if the file describes several.")] = None,
) -> None:
    """Propose a schema from metadata, without reading a row.

    The file is the source of every fact. It cannot say whether its limits were computed from private rows, so the
    result is a draft: check it, then run `sfumato schema confirm`.
    """
    output.require_free()
    _write_draft(Schema.from_metadata(file, table, output.name), output, console, (REVIEW_FACTS,))


def _write_draft(schema: Schema, output: SchemaOutput, console: Console, next_steps: Sequence[str]) -> None:
    if output.out is None:
        console.text(schema.to_toml())
    else:
        schema.save(output.out)
        console.say(f"wrote a draft of {len(schema.columns)} columns to {output.out}")
        for note in schema.notes:
            console.say(f"  {note}", style="yellow")
        for step in next_steps:
            console.say(step.format(file=output.out))
    console.print_json({"schema": schema.to_toml(), "draft": True, "notes": schema.notes, "path": output.out})


def check(table: TableOptions, console: Console) -> None:
    """Check a table against its schema.

    Lists every violation with its count. The output is about private rows: for the custodian's eyes only.
    """
    schema = table.facts
    with console.progress("checking"):
        opened = table.read()
        opened.require_valid()
        contradictions = [str(violation) for violation in opened.contradictions]
    console.say(f"table {schema.name!r} fits its schema: {len(schema.columns)} columns, {len(schema.rules)} rules")
    for violation in contradictions:
        console.say(f"  {violation}; rows of a release will not contradict it", style="yellow")
    console.print_json({"table": schema.name, "valid": True, "violations": contradictions})
