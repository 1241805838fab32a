"""Sources of the facts in the schema, and the name of their signatory.

A program cannot tell where a bound or a value came from. So the card repeats what was said, by whom and when, and
claims nothing beyond that.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Literal, NamedTuple

from sfumato.formatting import capitalize_first, counted
from sfumato.report.texts import Texts
from sfumato.schema import Schema
from sfumato.schema.confirm import RULE, FactProvenance, SchemaProvenance, describe_facts

ALL = 1_000_000
"""The report names every column, however many there are."""
say = Texts("release")


class SourceGroup(NamedTuple):
    """Facts that come from the same kind of place."""

    heading: str
    lines: tuple[str, ...]


class ProvenanceCard(NamedTuple):
    """Who signed, the facts in groups, and the table of all of them."""

    sentences: tuple[str, ...]
    groups: tuple[SourceGroup, ...]
    rows: tuple[tuple[str, str, str], ...]


def provenance_card(schema: Schema) -> ProvenanceCard:
    """Return the card of a schema."""
    sources = SchemaProvenance.of(schema)
    cited = (*_by_source("bought", sources), *_by_source("public", sources))
    groups = (*_unpaid(schema, sources), *cited, *_group("stated", sources.by_words("public").get(None, ())))
    return ProvenanceCard((_signed(schema), say("provenance.unknown")), groups, tuple(_rows(sources.facts)))


def _signed(schema: Schema) -> str:
    confirmation = schema.confirmation
    if not schema.is_confirmed:
        return say("provenance.nobody")
    if confirmation is None:
        return say("provenance.unsigned")
    return say("provenance.signed", by=confirmation.by, on=confirmation.on)


def _unpaid(schema: Schema, sources: SchemaProvenance) -> Iterator[SourceGroup]:
    """Yield the facts that nobody paid or vouched for: taken from the rows, or told by the file."""
    accepted = "and accepted as they are" if schema.is_confirmed else "and accepted by nobody"
    yield from _group("taken", sources.domains("rows"), accepted=accepted)
    yield from _group("forms", sources.forms("rows"))
    yield from _group("file", (*sources.domains("file"), *sources.forms("file")))


def _group(kind: str, facts: tuple[FactProvenance, ...], **more: str) -> Iterator[SourceGroup]:
    if facts:
        heading = say(f"provenance.{kind}", facts=counted(len(facts), "fact"), **more)
        yield SourceGroup(heading, (f"{capitalize_first(describe_facts(facts, ALL))}.",))


def _by_source(kind: Literal["bought", "public"], sources: SchemaProvenance) -> Iterator[SourceGroup]:
    """Yield the facts with a line for each entry of the ledger, or each public source."""
    by_source = {source: facts for source, facts in sources.by_words(kind).items() if source}
    count = sum(map(len, by_source.values()))
    lines = tuple(f"{source}: {describe_facts(facts, ALL)}." for source, facts in by_source.items())
    if count:
        yield SourceGroup(say(f"provenance.{kind}", facts=counted(count, "fact")), lines)


def _rows(facts: tuple[FactProvenance, ...]) -> Iterator[tuple[str, str, str]]:
    """Yield a line for each column or rule and origin, with the facts that share both."""
    for (subject, source), some in groupby(facts, lambda each: (each.subject, each.provenance.words)):
        named = ["every row keeps it" if each.fact == RULE else each.fact for each in some]
        yield subject, ", ".join(named), source
