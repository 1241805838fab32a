"""A schema on a screen: a line for each column, however narrow the terminal, and where its facts come from."""

from __future__ import annotations

from sfumato.cli.console import Voice
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.provenance import DOMAIN_FACTS, Provenance
from sfumato.schema.vouched import Told, Vouched, in_words

HEADERS = ("column", "kind", "bounds or values", "cells", "role", "from")
MOST_COLUMNS = 30
"""Columns that a screen shows where not all of them were asked for."""
SHORT_ROLES = {"identifier": "id", "quasi-identifier": "quasi-id"}
SHORTEST = 16
"""Characters that a name and a domain have at least, on the narrowest terminal."""


def show_schema(voice: Voice, schema: Schema, title: str, every: str | None = None) -> None:
    """Print columns, sources, rules and who signed. ``every`` is the command that shows all columns of a wide table."""
    shown = list(schema)[:MOST_COLUMNS] if every else list(schema)
    voice.table(title, HEADERS, _fitted([_line(column) for column in shown], voice.out.width))
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


def _fitted(lines: list[list[str]], width: int) -> list[list[str]]:
    """Cut names and domains so that each line fits: the names as far as need be, the domains to what is left.

    >>> _fitted([["a", "integer", ", ".join("12345678901234567890"), "9", "", "rows"]], 60)
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
    names, found = set(schema.names), dict[str, list[Told]]()
    for told in Vouched.of(schema).facts:
        if told.subject in names and (told.is_domain or told.provenance.origin != "public"):
            found.setdefault(told.provenance.words, []).append(told)
    return [f"{words}: {in_words(facts)}" for words, facts in found.items()]
