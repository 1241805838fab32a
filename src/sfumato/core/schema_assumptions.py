"""Assumptions of a guarantee: which schema facts are public, and who said so; events that paid for bought facts.

A formal guarantee takes the schema for fixed before anybody looked at the rows. Where facts were taken from the rows
the promise is about what was released given these facts, and says nothing about what they give away themselves
(docs/proofs.md). So each origin has its sentence, and each sentence is true of the facts that it names. Every release
from a schema shows its bought facts, so its guarantee counts the events that paid for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sfumato.core.plan import event_facts
from sfumato.errors import AccountingError, SchemaError
from sfumato.formatting import join_names
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.accounting.event_kinds import understated_cost
from sfumato.privacy.accounting.guarantee import UNCOVERED
from sfumato.privacy.exact import format_fraction
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.confirm import (
    WHOLE,
    FactProvenance,
    SchemaProvenance,
    describe_facts,
    list_names,
    was_or_were,
)
from sfumato.schema.provenance import KIND_FACTS, Confirmation
from sfumato.schema.purchase import Purchase, unpaid

MOST_SOURCES = 4
CLAMPED = (
    "are set to the nearest bound (outside = clamp): noise hides the few rows of a long tail, so means and spreads can "
    "come out too small; state public bounds where you know them"
)
NOT_BOUNDED = "nothing bounds what they give away"


def schema_assumptions(schema: Schema, formal: bool) -> tuple[str, ...]:
    """Return what a release on this schema rests on: facts from the rows first; all others for a formal promise."""
    vouched = SchemaProvenance.of(schema)
    taken = (
        *_copied_from_rows(schema, vouched, formal),
        *_told_by_file(schema, vouched, formal),
        *_written(vouched, formal),
    )
    return (*taken, *_public(schema, vouched), *_stated(schema, vouched)) if formal else taken


def _copied_from_rows(schema: Schema, vouched: SchemaProvenance, formal: bool) -> list[str]:
    facts = vouched.domains("rows")
    if not facts:
        return []
    gap = UNCOVERED if formal else NOT_BOUNDED
    return [
        f"{describe_facts(facts)} {was_or_were(facts, 'was', 'were')} taken from the private rows; "
        f"{_accepted(schema)}; {gap}"
    ]


def _accepted(schema: Schema) -> str:
    signed = schema.confirmation
    if not schema.is_confirmed:
        return "the schema is a draft, and nobody accepted that"
    return f"{signed.by} accepted that on {signed.on}" if signed else "nobody put a name to that"


def _told_by_file(schema: Schema, vouched: SchemaProvenance, formal: bool) -> list[str]:
    """Return what a file says of its own columns: programs write the values of the rows as labels and limits."""
    facts, gap = vouched.domains("file"), UNCOVERED if formal else NOT_BOUNDED
    sentence = (
        f"{describe_facts(facts)} {was_or_were(facts, 'was', 'were')} told by the file; {_accepted(schema)}; {gap}"
    )
    words = vouched.forms("file")
    parts = (
        f"{describe_facts(words, 3)} {was_or_were(words, 'is', 'are')} what the file says, and nobody was asked "
        f"about it"
    )
    return [sentence] * bool(facts) + [parts] * bool(words)


def _written(vouched: SchemaProvenance, formal: bool) -> list[str]:
    """Return in one sentence what else a draft read off the rows, however many columns there are."""
    facts = vouched.forms("rows")
    kinds = [fact for fact in facts if fact.fact in KIND_FACTS or fact.fact in WHOLE]
    forms = [fact for fact in facts if fact not in kinds]
    read = ([describe_facts(kinds, 3)] if kinds else []) + (
        [f"the written form of values (such as {describe_facts(forms, 3)})"] if forms else []
    )
    gap = UNCOVERED if formal else NOT_BOUNDED
    were = "were" if kinds else "was"
    return [f"{join_names(read)} {were} read off the private rows; {gap}"] if read else []


def clamping_notes(columns: Iterable[Column]) -> list[str]:
    """Return what must be known of bounds that were read off noisy counts: they cut off tails, and say so here."""
    names = [each.name for each in columns if each.bought and each.bounds and each.outside == "clamp"]
    return [f"values beyond the bought bounds of {list_names(names)} {CLAMPED}"] if names else []


def _public(schema: Schema, vouched: SchemaProvenance) -> list[str]:
    sources = {source: facts for source, facts in vouched.by_words("public").items() if source}
    if not sources:
        return []
    named = [f"{source} ({_subjects(facts)})" for source, facts in list(sources.items())[:MOST_SOURCES]]
    more = [f"{len(sources) - MOST_SOURCES} more sources"] if len(sources) > MOST_SOURCES else []
    return [
        f"facts of the schema are public by these sources, as {_who(schema.confirmation)}: {'; '.join(named + more)}"
    ]


def _subjects(facts: tuple[FactProvenance, ...]) -> str:
    return list_names(list(dict.fromkeys(fact.subject for fact in facts)), 4, "of its columns and rules")


def _stated(schema: Schema, vouched: SchemaProvenance) -> list[str]:
    facts = vouched.by_words("public").get(None, ())
    if not facts:
        return []
    what = "the facts of the schema" if facts == vouched.domains() else describe_facts(facts)
    return [f"{what} {was_or_were(facts, 'is', 'are')} public, as {_who(schema.confirmation)}, without naming a source"]


def _who(signed: Confirmation | None) -> str:
    return f"{signed.by} stated on {signed.on}" if signed else "the custodian states"


UNRECORDED_PURCHASE = "not recorded"
"""How the words of a purchase begin that no ledger holds."""
REMEDY = (
    "buy the facts again (sfumato schema buy), copy the purchase from the ledger into the schema as [[purchases]] "
    "(docs/buying-facts.md), or state facts of your own without 'bought'"
)


def purchased(schema: Schema) -> tuple[Event, ...]:
    """Return the event of each purchase of a schema, once; refuses facts of which nobody knows what they cost."""
    problems = [f"column {name}: bought, but no purchase is listed" for name in unpaid(schema, schema.purchases)]
    events: list[Event] = []
    for each in schema.purchases:
        try:
            events.append(_event(each))
        except (AccountingError, ValueError, TypeError, AttributeError):
            problems.append(f"purchase {each.words!r}: its event cannot be read")
        else:
            problems += _contradictions(each, events[-1], schema)
    if problems:
        headline = f"it is not known what the bought facts of table {schema.name!r} cost, and every release shows them"
        raise SchemaError(headline, problems, REMEDY)
    return tuple(events)


def cost_words(event: Event) -> str:
    """Return the cost of a purchase as the words of its columns state it."""
    return f"epsilon {format_fraction(event.cost[0])}, delta {format_fraction(event.cost[1])}"


def _event(purchase: Purchase) -> Event:
    event = Event.from_json(purchase.event)
    _ = event.cost  # refuses an exposure
    return event


def _contradictions(purchase: Purchase, event: Event, schema: Schema) -> Iterator[str]:
    name = f"purchase {purchase.words!r}"
    here = event_facts("", schema, "")
    for fact in ("table", "adjacency", "unit"):
        if getattr(event, fact) != here[fact]:
            yield f"{name}: its {fact} is {getattr(event, fact)!r}, that of the schema is {here[fact]!r}"
    if cost_words(event) not in purchase.words:
        yield f"{name}: its event costs {cost_words(event)}"
    if problem := understated_cost(event, thorough=False):
        yield f"{name}: {problem}"
    counted = {part.stage.partition(" of ")[2] for part in event.parts}
    missing = [each.name for each in schema if each.bought == purchase.words and each.name not in counted]
    if missing:
        yield f"{name}: its event did not count {', '.join(missing)}"
