"""The verbs sfumato schema confirm and show: facts, their sources, and the signatory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from sfumato.bounded_reads import bounded_text
from sfumato.cli.console import Console
from sfumato.cli.options import PersonOptions
from sfumato.errors import DraftSchemaError, SchemaError
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.confirm import (
    FactProvenance,
    SchemaProvenance,
    confirmation_steps,
    confirmed_toml,
    describe_facts,
    unconfirmed_facts,
)
from sfumato.schema.provenance import DOMAIN_FACTS, Provenance

HEADERS = ("column", "kind", "bounds or values", "cells", "role", "from")

MOST_COLUMNS = 30
"""Columns of a wide table that are shown unless all are asked for."""
SHORT_ROLES = {"identifier": "id", "quasi-identifier": "quasi-id"}

SHORTEST = 16

"""Characters that a name and a domain have at least, on the narrowest terminal."""


def print_schema(console: Console, schema: Schema, title: str, every: str | None = None) -> None:
    """Print columns, sources, rules and who confirmed; ``every`` is the command that shows all columns."""
    shown = list(schema)[:MOST_COLUMNS] if every else list(schema)
    console.table(title, HEADERS, _fit_width([_line(column) for column in shown], console.out.width))
    if len(shown) < len(schema.columns):
        console.say(f"... and {len(schema.columns) - len(shown)} more columns; all of them: {every}")
    for words in _origins(schema):
        console.say(words)
    for rule in schema.rules:
        console.say(f"rule {rule.words} ({rule.provenance.words})")
    if schema.person is not None:
        console.say(f"a person, identified by {schema.person}, has at most {schema.rows_per_person} rows that count")
    if schema.confirmation is not None:
        console.say(f"by {schema.confirmation.by} on {schema.confirmation.on}")


def _line(column: Column) -> list[str]:
    role = SHORT_ROLES.get(column.role or "", column.role or "")
    return [column.name, column.kind, column.domain_words, f"{column.size:,}", role, _origin(column)]


def _origin(column: Column) -> str:
    """Return one word for the source of a column's domain; the lines below the table give details."""
    domain = [came for fact, came in column.provenance.items() if fact in DOMAIN_FACTS]
    words = {_word(came) for came in domain or column.provenance.values()}
    return words.pop() if len(words) == 1 else "mixed" if words else ""


def _word(came: Provenance) -> str:
    return "stated" if came.origin == "public" and came.source is None else came.origin


def _fit_width(lines: list[list[str]], width: int) -> list[list[str]]:
    """Truncate names and domains so that each line fits the terminal.

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
    """Return a line for each source with the columns that rely on it; written forms only if nobody stated them."""
    names, by_source = set(schema.names), dict[str, list[FactProvenance]]()
    for fact in SchemaProvenance.of(schema).facts:
        if fact.subject in names and (fact.is_domain or fact.provenance.origin != "public"):
            by_source.setdefault(fact.provenance.words, []).append(fact)
    return [f"{words}: {describe_facts(facts)}" for words, facts in by_source.items()]


SchemaArgument = Annotated[str, typer.Argument(metavar="SCHEMA", help="The schema (TOML).")]
CONFIRM_STEP = (
    "edit what is not public, or name its source: --source 'age=questionnaire, q. 7' --source '*=code book'\n"
    "  or: --accept-unchanged accepts the rest as drafted, and every guarantee will say so"
)
NEXT = "next: sfumato ledger init budget.db --schema {file} --epsilon 3, then sfumato plan --schema {file} --epsilon 1"
PERSON_STEP = "--person {column} --rows-per-person 20 protects whole people; --no-person: each person has one row"


def confirm(
    console: Console,
    people: PersonOptions,
    schema: SchemaArgument,
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--source",
            help="Where facts are published: 'age=questionnaire 2023, q. 7', a rule by its check, or '*=code book' for "
            "all the rest. Repeatable.",
        ),
    ] = None,
    accept_unchanged: Annotated[
        bool, typer.Option("--accept-unchanged", help="Accept the rest as drafted; every guarantee will say so.")
    ] = False,
    by: Annotated[str | None, typer.Option(help="Who confirms; default: the name of your account.")] = None,
    out: Annotated[str | None, typer.Option("--out", "-o", help="Write to this file; default: in place.")] = None,
) -> None:
    """Confirm a draft by naming the sources of its facts.

    Records your name and the date. Facts that stand as they were drafted need a source or --accept-unchanged, and
    questions of the draft need an answer. Until then nothing is written.
    """
    target = out or schema
    drafted, answer = Schema.load(schema), people.answer()
    try:
        confirmed = drafted.confirm(_sources(source or ()), accept_unchanged, by, None, answer, people.rows_per_person)
    except DraftSchemaError as error:
        steps = confirmation_steps(type(error), drafted, CONFIRM_STEP, PERSON_STEP)
        raise type(error)(error.headline, error.problems, steps) from error
    _write(confirmed_toml(bounded_text(schema), confirmed), target)
    title = f"You confirm these facts about table {confirmed.name!r}"
    print_schema(console, confirmed, title, f"sfumato schema show {target}")
    if confirmed.confirmation and confirmed.confirmation.accepted_unchanged:
        console.say("facts that were taken from the rows are accepted; every guarantee will say so", style="yellow")
    console.say(f"confirmed: {target}")
    console.say(NEXT.format(file=target))
    console.print_json({**_provenance_document(confirmed), "path": target})


def show(console: Console, schema: SchemaArgument) -> None:
    """Show columns, rules and the source of each fact."""
    facts = Schema.load(schema)
    print_schema(console, facts, f"Table {facts.name!r}")
    unconfirmed = unconfirmed_facts(facts)
    if unconfirmed:
        console.say(f"{len(unconfirmed)} columns and rules are as drafted from the rows:", style="yellow")
    for fact in unconfirmed:
        console.say(f"  {fact}")
    if facts.person_candidates:
        console.say(
            f"  open question: which column identifies a person? ({', '.join(facts.person_candidates)})", "yellow"
        )
    if not facts.is_confirmed:
        console.say(f"a draft; next: sfumato schema confirm {schema}")
    document = {**_provenance_document(facts), "standing": unconfirmed, "person_candidates": facts.person_candidates}
    console.print_json(document)


def _sources(texts: Sequence[str]) -> dict[str, str]:
    """Read 'column=words'; the check of a rule may itself contain = signs."""
    parted = [_split_source(text) for text in texts]
    odd = [text for text, (key, words) in zip(texts, parted, strict=True) if not key or not words]
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


def _provenance_document(schema: Schema) -> dict[str, object]:
    confirmation = schema.confirmation
    return {
        "table": schema.name,
        "draft": not schema.is_confirmed,
        "by": confirmation.by if confirmation else None,
        "on": confirmation.on if confirmation else None,
        "accepted_unchanged": bool(confirmation and confirmation.accepted_unchanged),
        "columns": {c.name: {fact: came.words for fact, came in c.provenance.items()} for c in schema},
        "rules": {rule.check: rule.provenance.words for rule in schema.rules},
    }


def _write(text: str, path: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "that is no path"
        raise SchemaError(f"cannot write {path!r}: {reason}", next_step="choose another --out") from error
