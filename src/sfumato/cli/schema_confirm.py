"""``sfumato schema confirm`` and ``sfumato schema show``: who vouches for what."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from sfumato.bounded import bounded_text
from sfumato.cli.arguments import AsJson
from sfumato.cli.console import Voice
from sfumato.cli.schema_screen import show_schema
from sfumato.errors import DraftSchemaError, SchemaError
from sfumato.schema import Schema
from sfumato.schema.confirming import next_steps, standing_facts
from sfumato.schema.signed import signed_text

SchemaArgument = Annotated[str, typer.Argument(metavar="SCHEMA", help="The schema (TOML).")]
Sources = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        help="Where facts are published: 'age=questionnaire 2023, q. 7', a rule by its check, or '*=code book' for all "
        "the rest. Repeat it.",
    ),
]
Accept = Annotated[
    bool,
    typer.Option("--accept-unchanged", help="Accept what stands as drafted; every guarantee will say so."),
]
By = Annotated[str | None, typer.Option(help="Who vouches; the name of the account unless said.")]
Person = Annotated[str | None, typer.Option(help="The column that tells people apart.")]
PerPerson = Annotated[int | None, typer.Option(help="How many rows of one person count at most.")]
NoPerson = Annotated[bool, typer.Option("--no-person", help="Every row is somebody else.")]
Target = Annotated[str | None, typer.Option("--out", "-o", help="Write here; in place unless said.")]
VOUCH = (
    "edit what is not public, or name who says so: --source 'age=questionnaire, q. 7' --source '*=code book'\n"
    "  or: --accept-unchanged lets the rest stand as drafted, and every guarantee will say so"
)
NEXT = "next: sfumato ledger init budget.db --schema {file} --epsilon 3, then sfumato plan --schema {file} --epsilon 1"
ANSWER = "--person {column} --rows-per-person 20 protects whole people; --no-person: every row is somebody else's"


def confirm(
    schema: SchemaArgument,
    source: Sources = None,
    accept_unchanged: Accept = False,
    by: By = None,
    person: Person = None,
    rows_per_person: PerPerson = None,
    no_person: NoPerson = False,
    out: Target = None,
    json: AsJson = False,
) -> None:
    """Confirm a draft: you say where its facts come from, by name and date.

    What still stands exactly as it was drafted needs a source or --accept-unchanged, and a question that the draft asks
    needs an answer. Until then nothing is written.
    """
    voice, target = Voice(json), out or schema
    if no_person and person is not None:
        raise SchemaError("--person and --no-person contradict each other", next_step="keep one of them")
    drafted, answer = Schema.load(schema), False if no_person else person
    try:
        signed = drafted.confirm(_sources(source or ()), accept_unchanged, by, None, answer, rows_per_person)
    except DraftSchemaError as error:
        steps = next_steps(type(error), drafted, VOUCH, ANSWER)
        raise type(error)(error.headline, error.problems, steps) from error
    _write(signed_text(bounded_text(schema), signed), target)
    title, every = f"You vouch for these facts about table {signed.name!r}", f"sfumato schema show {target}"
    show_schema(voice, signed, title, every)
    if signed.confirmation and signed.confirmation.accepted_unchanged:
        voice.say("facts that were taken from the rows are accepted; every guarantee will say so", style="yellow")
    voice.say(f"confirmed: {target}")
    voice.say(NEXT.format(file=target))
    voice.document({**_told(signed), "path": target})


def show(schema: SchemaArgument, json: AsJson = False) -> None:
    """Show the columns and rules of a schema, and where each fact comes from."""
    voice, facts = Voice(json), Schema.load(schema)
    show_schema(voice, facts, f"Table {facts.name!r}")
    standing = standing_facts(facts)
    if standing:
        voice.say(f"{len(standing)} columns and rules stand as the rows taught them:", style="yellow")
    for fact in standing:
        voice.say(f"  {fact}")
    if facts.person_candidates:
        voice.say(f"  open: whose rows are these? ({', '.join(facts.person_candidates)})", style="yellow")
    if not facts.is_confirmed:
        voice.say(f"a draft; next: sfumato schema confirm {schema}")
    voice.document({**_told(facts), "standing": standing, "person_candidates": facts.person_candidates})


def _sources(given: Sequence[str]) -> dict[str, str]:
    """Read 'column=words'; a rule's check may itself hold = signs, so the last one before the words counts there."""
    parted = [_parted(text) for text in given]
    odd = [text for text, (key, words) in zip(given, parted, strict=True) if not key or not words]
    doubled = sorted({key for key, _ in parted if sum(key == other for other, _ in parted) > 1})
    problems = [f"{text!r} is not column=words" for text in odd] + [f"{key!r} has two sources" for key in doubled]
    if problems:
        raise SchemaError("a source cannot be read", problems, "write --source 'age=questionnaire 2023, q. 7'")
    return dict(parted)


def _parted(text: str) -> tuple[str, str]:
    """Return key and words: the first single = that is no part of ==, <=, >= or !=."""
    for i, sign in enumerate(text):
        if sign == "=" and text[i - 1 : i] not in ("=", "<", ">", "!") and text[i + 1 : i + 2] != "=":
            return text[:i].strip(), text[i + 1 :].strip()
    return "", ""


def _told(schema: Schema) -> dict[str, object]:
    signed = schema.confirmation
    return {
        "table": schema.name,
        "draft": not schema.is_confirmed,
        "by": signed.by if signed else None,
        "on": signed.on if signed else None,
        "accepted_unchanged": bool(signed and signed.accepted_unchanged),
        "columns": {c.name: {fact: came.words for fact, came in c.provenance.items()} for c in schema},
        "rules": {rule.check: rule.provenance.words for rule in schema.rules},
    }


def _write(text: str, path: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "that is no path"
        raise SchemaError(f"cannot write {path!r}: {reason}", next_step="choose another --out") from error
