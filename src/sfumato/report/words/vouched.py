"""Who vouched for what: the card of the report that says where the facts of the schema come from.

A program cannot tell where a bound or a value came from. So the card repeats what was said, by whom and when, and
claims nothing beyond that.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from sfumato.schema import Schema
from sfumato.schema.vouched import RULE, Told, Vouched, in_words

UNKNOWN = "The program repeats what was said; it cannot tell where a bound or a value came from."
ALL = 1_000_000
"""The report names every column, however many there are."""


class Group(NamedTuple):
    """Facts that come from the same kind of place."""

    heading: str
    lines: tuple[str, ...]


class Card(NamedTuple):
    """Who signed, the facts in groups, and the table of all of them."""

    sentences: tuple[str, ...]
    groups: tuple[Group, ...]
    rows: tuple[tuple[str, str, str], ...]


def who_vouched(schema: Schema) -> Card:
    """Return the card of a schema."""
    vouched = Vouched.of(schema)
    groups = (
        *_taken(schema, vouched),
        *_told_by_file(vouched),
        *_bought(vouched),
        *_public(vouched),
        *_stated(vouched),
    )
    return Card((_signed(schema), UNKNOWN), groups, tuple(_rows(vouched.facts)))


def _signed(schema: Schema) -> str:
    signed = schema.confirmation
    if not schema.is_confirmed:
        return "Nobody: the schema is a draft, proposed from the private rows."
    if signed is None:
        return "The custodian, who put no name and no date to the schema."
    return f"{signed.by} confirmed the schema on {signed.on}."


def _taken(schema: Schema, vouched: Vouched) -> list[Group]:
    facts, forms = vouched.domains("rows"), vouched.forms("rows")
    accepted = "and accepted as they are" if schema.is_confirmed else "and accepted by nobody"
    groups = [Group(f"{_count(facts)} taken from the private rows {accepted}", (_sentence(facts),))] if facts else []
    return groups + (
        [Group("Kinds and written forms, read off the private rows", (_sentence(forms),))] if forms else []
    )


def _told_by_file(vouched: Vouched) -> list[Group]:
    facts = (*vouched.domains("file"), *vouched.forms("file"))
    return (
        [Group(f"{_count(facts)} told by the file, for which nobody else vouched", (_sentence(facts),))]
        if facts
        else []
    )


def _bought(vouched: Vouched) -> list[Group]:
    paid = vouched.by_words("bought")
    lines = tuple(f"{entry}: {in_words(some, ALL)}." for entry, some in paid.items())
    facts = [told for some in paid.values() for told in some]
    return [Group(f"{_count(facts)} bought", lines)] if facts else []


def _public(vouched: Vouched) -> list[Group]:
    sources = {said: facts for said, facts in vouched.by_words("public").items() if said}
    lines = tuple(f"{said}: {in_words(facts, ALL)}." for said, facts in sources.items())
    facts = [told for some in sources.values() for told in some]
    return [Group(f"{_count(facts)} public, with a source", lines)] if facts else []


def _stated(vouched: Vouched) -> list[Group]:
    facts = vouched.by_words("public").get(None, ())
    return [Group(f"{_count(facts)} stated as public, without a source", (_sentence(facts),))] if facts else []


def _count(facts: tuple[Told, ...] | list[Told]) -> str:
    return f"{len(facts)} fact{'s' if len(facts) != 1 else ''}"


def _sentence(facts: tuple[Told, ...]) -> str:
    words = in_words(facts, ALL)
    return f"{words[0].upper()}{words[1:]}."


def _rows(facts: tuple[Told, ...]) -> Iterator[tuple[str, str, str]]:
    """Yield a line for each column or rule and origin, with the facts that share both."""
    for (subject, came), some in groupby(facts, lambda told: (told.subject, told.provenance.words)):
        named = ["every row keeps it" if told.fact == RULE else told.fact for told in some]
        yield subject, ", ".join(named), came
