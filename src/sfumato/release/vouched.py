"""What a guarantee rests on besides its proof: that the facts of the schema are public, and who said so.

A formal guarantee takes the schema for fixed before anybody looked at the rows. Where facts were taken from the rows
the promise is about what was released given these facts, and says nothing about what they give away themselves
(docs/proofs.md). So each origin has its sentence, and each sentence is true of the facts that it names.
"""

from __future__ import annotations

from collections.abc import Iterable

from sfumato.privacy.accounting.guarantee import UNCOVERED
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.provenance import KIND_FACTS, Confirmation, listed
from sfumato.schema.vouched import WHOLE, Told, Vouched, counted, in_words, verb

MOST_SOURCES = 4
CLAMPED = (
    "are set to the nearest bound (outside = clamp): noise hides the few rows of a long tail, so means and spreads can "
    "come out too small; state public bounds where you know them"
)
NOT_BOUNDED = "nothing bounds what they give away"


def schema_assumptions(schema: Schema, formal: bool) -> tuple[str, ...]:
    """Return what a release on this schema rests on: facts from the rows first; all others for a formal promise."""
    vouched = Vouched.of(schema)
    taken = (*_taken(schema, vouched, formal), *_told_by_file(schema, vouched, formal), *_written(vouched, formal))
    return (*taken, *_public(schema, vouched), *_stated(schema, vouched)) if formal else taken


def _taken(schema: Schema, vouched: Vouched, formal: bool) -> list[str]:
    facts = vouched.domains("rows")
    if not facts:
        return []
    gap = UNCOVERED if formal else NOT_BOUNDED
    return [f"{in_words(facts)} {verb(facts, 'was', 'were')} taken from the private rows; {_accepted(schema)}; {gap}"]


def _accepted(schema: Schema) -> str:
    signed = schema.confirmation
    if not schema.is_confirmed:
        return "the schema is a draft, and nobody accepted that"
    return f"{signed.by} accepted that on {signed.on}" if signed else "nobody put a name to that"


def _told_by_file(schema: Schema, vouched: Vouched, formal: bool) -> list[str]:
    """Return what a file says of its own columns: programs write the values of the rows as labels and limits."""
    facts, gap = vouched.domains("file"), UNCOVERED if formal else NOT_BOUNDED
    told = f"{in_words(facts)} {verb(facts, 'was', 'were')} told by the file; {_accepted(schema)}; {gap}"
    words = vouched.forms("file")
    said = f"{in_words(words, 3)} {verb(words, 'is', 'are')} what the file says, and nobody was asked about it"
    return [told] * bool(facts) + [said] * bool(words)


def _written(vouched: Vouched, formal: bool) -> list[str]:
    """Return in one sentence what else a draft read off the rows, however many columns there are."""
    facts = vouched.forms("rows")
    kinds = [told for told in facts if told.fact in KIND_FACTS or told.fact in WHOLE]
    forms = [told for told in facts if told not in kinds]
    read = ([in_words(kinds, 3)] if kinds else []) + (
        [f"the written form of values (such as {in_words(forms, 3)})"] if forms else []
    )
    gap = UNCOVERED if formal else NOT_BOUNDED
    were = "were" if kinds else "was"
    return [f"{listed(read)} {were} read off the private rows; {gap}"] if read else []


def clamped(columns: Iterable[Column]) -> list[str]:
    """Return what must be known of bounds that were read off noisy counts: they cut off tails, and say so here."""
    names = [each.name for each in columns if each.bought and each.bounds and each.outside == "clamp"]
    return [f"values beyond the bought bounds of {counted(names)} {CLAMPED}"] if names else []


def _public(schema: Schema, vouched: Vouched) -> list[str]:
    sources = {said: facts for said, facts in vouched.by_words("public").items() if said}
    if not sources:
        return []
    named = [f"{said} ({_subjects(facts)})" for said, facts in list(sources.items())[:MOST_SOURCES]]
    more = [f"{len(sources) - MOST_SOURCES} more sources"] if len(sources) > MOST_SOURCES else []
    return [
        f"facts of the schema are public by these sources, as {_who(schema.confirmation)}: {'; '.join(named + more)}"
    ]


def _subjects(facts: tuple[Told, ...]) -> str:
    return counted(list(dict.fromkeys(told.subject for told in facts)), 4, "of its columns and rules")


def _stated(schema: Schema, vouched: Vouched) -> list[str]:
    facts = vouched.by_words("public").get(None, ())
    if not facts:
        return []
    what = "the facts of the schema" if facts == vouched.domains() else in_words(facts)
    return [f"{what} {verb(facts, 'is', 'are')} public, as {_who(schema.confirmation)}, without naming a source"]


def _who(signed: Confirmation | None) -> str:
    return f"{signed.by} stated on {signed.on}" if signed else "the custodian states"
