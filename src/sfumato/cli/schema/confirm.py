"""The verbs sfumato schema confirm and show: facts, their sources, and the signatory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from sfumato.bounded_reads import bounded_text
from sfumato.cli.console import Voice
from sfumato.cli.options import AsJson
from sfumato.errors import DraftSchemaError, SchemaError
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.confirm import confirmation_steps, confirmed_toml, unconfirmed_facts
from sfumato.schema.provenance import DOMAIN_FACTS, Provenance
from sfumato.schema.provenance_summary import FactProvenance, SchemaProvenance, describe_facts

HEADERS = ("column", "kind", "bounds or values", "cells", "role", "from")

MOST_COLUMNS = 30

"""Columns that a screen shows where not all of them were asked for."""

SHORT_ROLES = {"identifier": "id", "quasi-identifier": "quasi-id"}

SHORTEST = 16

"""Characters that a name and a domain have at least, on the narrowest terminal."""


def print_schema(voice: Voice, schema: Schema, title: str, every: str | None = None) -> None:
    """Print columns, sources, rules and who signed. ``every`` is the command that shows all columns of a wide table."""
    shown = list(schema)[:MOST_COLUMNS] if every else list(schema)
    voice.table(title, HEADERS, _fit_width([_line(column) for column in shown], voice.out.width))
    if len(shown) < len(schema.columns):
        voice.say(f"... and {len(schema.columns) - len(shown)} more columns; all of them: {every}")
    for words in _origins(schema):
        voice.say(words)
    for rule in schema.rules:
        voice.say(f"rule {rule.words} ({rule.provenance.words})")
    if schema.person is not None:
        voice.say(f"one person, told apart by {schema.person}, has at most {schema.rows_per_person} rows that count")
    if schema.confirmation is not None:
        voice.say(f"by {schema.confirmation.by} on {schema.confirmation.on}")


def _line(column: Column) -> list[str]:
    role = SHORT_ROLES.get(column.role or "", column.role or "")
    return [column.name, column.kind, column.domain_words, f"{column.size:,}", role, _origin(column)]


def _origin(column: Column) -> str:
    """Return in a word where the domain of a column comes from; what is written beneath the table says more."""
    domain = [came for fact, came in column.provenance.items() if fact in DOMAIN_FACTS]
    words = {_word(came) for came in domain or column.provenance.values()}
    return words.pop() if len(words) == 1 else "mixed" if words else ""


def _word(came: Provenance) -> str:
    return "stated" if came.origin == "public" and came.said is None else came.origin


def _fit_width(lines: list[list[str]], width: int) -> list[list[str]]:
    """Cut names and domains so that each line fits: the names as far as need be, the domains to what is left.

    >>> _fit_width([["a", "integer", ", ".join("12345678901234567890"), "9", "", "rows"]], 60)
    [['a', 'integer', '1, 2, 3, 4,...', '9', '', 'rows']]
    """
    widest = [max(map(len, column)) for column in zip(HEADERS, *lines, strict=True)]
    left = width - 3 * len(HEADERS) - 1 - sum(widest[i] for i in (1, 3, 4, 5))
    name = min(widest[0], max(left - widest[2], left // 2, SHORTEST))
    domain = max(left - name, SHORTEST)
    return [[_cut(line[0], name), line[1], _cut(line[2], domain), *line[3:]] for line in lines]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."


def _origins(schema: Schema) -> list[str]:
    """Return a line for each source, with the columns that rest on it; of the written form only what nobody stated."""
    names, found = set(schema.names), dict[str, list[FactProvenance]]()
    for told in SchemaProvenance.of(schema).facts:
        if told.subject in names and (told.is_domain or told.provenance.origin != "public"):
            found.setdefault(told.provenance.words, []).append(told)
    return [f"{words}: {describe_facts(facts)}" for words, facts in found.items()]


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
        steps = confirmation_steps(type(error), drafted, VOUCH, ANSWER)
        raise type(error)(error.headline, error.problems, steps) from error
    _write(confirmed_toml(bounded_text(schema), signed), target)
    title, every = f"You vouch for these facts about table {signed.name!r}", f"sfumato schema show {target}"
    print_schema(voice, signed, title, every)
    if signed.confirmation and signed.confirmation.accepted_unchanged:
        voice.say("facts that were taken from the rows are accepted; every guarantee will say so", style="yellow")
    voice.say(f"confirmed: {target}")
    voice.say(NEXT.format(file=target))
    voice.document({**_print_provenance(signed), "path": target})


def show(schema: SchemaArgument, json: AsJson = False) -> None:
    """Show the columns and rules of a schema, and where each fact comes from."""
    voice, facts = Voice(json), Schema.load(schema)
    print_schema(voice, facts, f"Table {facts.name!r}")
    standing = unconfirmed_facts(facts)
    if standing:
        voice.say(f"{len(standing)} columns and rules stand as the rows taught them:", style="yellow")
    for fact in standing:
        voice.say(f"  {fact}")
    if facts.person_candidates:
        voice.say(f"  open: whose rows are these? ({', '.join(facts.person_candidates)})", style="yellow")
    if not facts.is_confirmed:
        voice.say(f"a draft; next: sfumato schema confirm {schema}")
    voice.document({**_print_provenance(facts), "standing": standing, "person_candidates": facts.person_candidates})


def _sources(given: Sequence[str]) -> dict[str, str]:
    """Read 'column=words'; a rule's check may itself hold = signs, so the last one before the words counts there."""
    parted = [_split_source(text) for text in given]
    odd = [text for text, (key, words) in zip(given, parted, strict=True) if not key or not words]
    doubled = sorted({key for key, _ in parted if sum(key == other for other, _ in parted) > 1})
    problems = [f"{text!r} is not column=words" for text in odd] + [f"{key!r} has two sources" for key in doubled]
    if problems:
        raise SchemaError("a source cannot be read", problems, "write --source 'age=questionnaire 2023, q. 7'")
    return dict(parted)


def _split_source(text: str) -> tuple[str, str]:
    """Return key and words: the first single = that is no part of ==, <=, >= or !=."""
    for i, sign in enumerate(text):
        if sign == "=" and text[i - 1 : i] not in ("=", "<", ">", "!") and text[i + 1 : i + 2] != "=":
            return text[:i].strip(), text[i + 1 :].strip()
    return "", ""


def _print_provenance(schema: Schema) -> dict[str, object]:
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
