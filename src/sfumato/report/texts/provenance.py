"""Sources of the facts in the schema, and the name of their signatory.

A program cannot tell where a bound or a value came from. So the card repeats what was said, by whom and when, and
claims nothing beyond that.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from sfumato.schema import Schema
from sfumato.schema.provenance_summary import RULE, FactProvenance, SchemaProvenance, describe_facts

UNKNOWN = "The program repeats what was said; it cannot tell where a bound or a value came from."
ALL = 1_000_000
"""The report names every column, however many there are."""


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
    vouched = SchemaProvenance.of(schema)
    groups = (
        *_taken(schema, vouched),
        *_told_by_file(vouched),
        *_bought(vouched),
        *_public(vouched),
        *_stated(vouched),
    )
    return ProvenanceCard((_signed(schema), UNKNOWN), groups, tuple(_rows(vouched.facts)))


def _signed(schema: Schema) -> str:
    signed = schema.confirmation
    if not schema.is_confirmed:
        return "Nobody: the schema is a draft, proposed from the private rows."
    if signed is None:
        return "The custodian, who put no name and no date to the schema."
    return f"{signed.by} confirmed the schema on {signed.on}."


def _taken(schema: Schema, vouched: SchemaProvenance) -> list[SourceGroup]:
    facts, forms = vouched.domains("rows"), vouched.forms("rows")
    accepted = "and accepted as they are" if schema.is_confirmed else "and accepted by nobody"
    groups = (
        [SourceGroup(f"{_count(facts)} taken from the private rows {accepted}", (_sentence(facts),))] if facts else []
    )
    return groups + (
        [SourceGroup("Kinds and written forms, read off the private rows", (_sentence(forms),))] if forms else []
    )


def _told_by_file(vouched: SchemaProvenance) -> list[SourceGroup]:
    facts = (*vouched.domains("file"), *vouched.forms("file"))
    return (
        [SourceGroup(f"{_count(facts)} told by the file, for which nobody else vouched", (_sentence(facts),))]
        if facts
        else []
    )


def _bought(vouched: SchemaProvenance) -> list[SourceGroup]:
    paid = vouched.by_words("bought")
    lines = tuple(f"{entry}: {describe_facts(some, ALL)}." for entry, some in paid.items())
    facts = [told for some in paid.values() for told in some]
    return [SourceGroup(f"{_count(facts)} bought", lines)] if facts else []


def _public(vouched: SchemaProvenance) -> list[SourceGroup]:
    sources = {said: facts for said, facts in vouched.by_words("public").items() if said}
    lines = tuple(f"{said}: {describe_facts(facts, ALL)}." for said, facts in sources.items())
    facts = [told for some in sources.values() for told in some]
    return [SourceGroup(f"{_count(facts)} public, with a source", lines)] if facts else []


def _stated(vouched: SchemaProvenance) -> list[SourceGroup]:
    facts = vouched.by_words("public").get(None, ())
    return [SourceGroup(f"{_count(facts)} stated as public, without a source", (_sentence(facts),))] if facts else []


def _count(facts: tuple[FactProvenance, ...] | list[FactProvenance]) -> str:
    return f"{len(facts)} fact{'s' if len(facts) != 1 else ''}"


def _sentence(facts: tuple[FactProvenance, ...]) -> str:
    words = describe_facts(facts, ALL)
    return f"{words[0].upper()}{words[1:]}."


def _rows(facts: tuple[FactProvenance, ...]) -> Iterator[tuple[str, str, str]]:
    """Yield a line for each column or rule and origin, with the facts that share both."""
    for (subject, came), some in groupby(facts, lambda told: (told.subject, told.provenance.words)):
        named = ["every row keeps it" if told.fact == RULE else told.fact for told in some]
        yield subject, ", ".join(named), came
