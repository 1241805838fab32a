"""Propose a schema from data. Everything proposed leaks, so it is marked as a draft until a person confirms it.

What columns look like is asked of all of them at once, a few aggregate queries for hundreds of columns
(:mod:`~sfumato.table.drafting.readings`). From the answers follow identifiers, columns and notes, the question whose
rows these are, and rules that all rows keep.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.errors import SchemaError, TableError
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.dialect import Dialect
from sfumato.schema.provenance import FACTS, WORD_FACTS, fingerprints
from sfumato.schema.rounder import rounder
from sfumato.table.drafting.forms import with_written_forms
from sfumato.table.drafting.identifiers import called_identifier
from sfumato.table.drafting.people import person_candidates, questions
from sfumato.table.drafting.proposals import Drafted, proposed
from sfumato.table.drafting.readings import Seen, look
from sfumato.table.drafting.relations import proposed_rules
from sfumato.table.drafting.written import Hint, hints, together
from sfumato.table.engine import engine_errors
from sfumato.table.sources import Source, guess_delimiter, open_source

WARNING = (
    "DRAFT: proposed from the private rows. Bounds and categories that were learned from data leak (the largest",
    "income, a rare diagnosis). Replace each by what is public knowledge, then: sfumato schema confirm THIS-FILE",
)
MOST_COLUMNS = 2000
"""Columns of a draft: nobody can vouch for more."""


def draft_schema(source: Any, name: str | None = None, delimiter: str | None = None, **dialect: Any) -> Schema:
    """Return a draft schema with one column for every column that can be described."""
    said = Dialect.of({"delimiter": delimiter, **dialect})
    opened = open_source(source, said)
    refuse_wrong_delimiter(opened)
    with engine_errors(repr(opened.name)):
        seen = look(opened.engine, _names(opened))
        told = _hints(opened, seen)
        drafts = [proposed(one, told.get(one.name)) for one in seen]
        _refuse_nothing(opened, drafts)
        described = _labelled(opened, with_written_forms(opened, [column for column, _ in drafts if column]))
        people = [one for one in person_candidates(seen) if one.name in {column.name for column in described}]
        asked = questions(opened.engine, people)
        rules = proposed_rules(opened, described)
    return Schema(
        name=name or opened.name,
        columns=tuple(_marked(opened, column) for column in described),
        rules=rules,
        is_draft=True,
        source=opened.dialect,
        drafted=fingerprints({"columns": True, "encoding": None if said.encoding else opened.dialect.encoding}),
        person_candidates=tuple(one.name for one in people),
        notes=(*WARNING, *opened.notes, *asked, *(note for _, note in drafts if note), *_one_line(told)),
    )


def _names(opened: Source) -> list[str]:
    names = list(opened.engine.table.columns)
    if len(names) > MOST_COLUMNS:
        raise TableError(
            f"the table has {len(names):,} columns, a draft describes at most {MOST_COLUMNS:,}",
            next_step="draft from a table with the columns that a release may need",
        )
    return names


def _hints(opened: Source, seen: Sequence[Seen]) -> dict[str, Hint]:
    """Return which options would read texts as what they look like; databases have types, and need none."""
    texts = [one for one in seen if one.reading == "text" and one.distinct > 1 and not one.facts["zeros"]]
    names = [one.name for one in texts if not called_identifier(one)]
    return hints(opened, names) if names and opened.engine.streams else {}


def _one_line(told: Mapping[str, Hint]) -> list[str]:
    options = together(told)
    return [f"look at: to read it so, draft again with {options}"] if options else []


def refuse_wrong_delimiter(opened: Source) -> None:
    """Refuse a text file whose header is one column that another delimiter would split."""
    names = list(opened.engine.table.columns)
    delimiter = guess_delimiter(names[0], ()) if opened.is_text and len(names) == 1 else None
    if delimiter:
        raise TableError(
            f"the header of {opened.name!r} reads {names[0]!r} as one column",
            next_step=f"the delimiter seems to be {delimiter!r}: say so with --delimiter '{delimiter}'",
        )


def _refuse_nothing(opened: Source, drafts: Sequence[Drafted]) -> None:
    """Refuse a table of which nothing could be released."""
    if all(column is None or column.role == "identifier" for column, _ in drafts):
        notes = [note for _, note in drafts if note]
        raise TableError(f"no column of {opened.name!r} can be described", notes, "write the schema by hand")


def _labelled(opened: Source, columns: Sequence[Column]) -> tuple[Column, ...]:
    """Return columns with what the file itself says of them: labels and value lists."""
    return tuple(_with_facts(column, opened.facts.get(column.name, {})) for column in columns)


def _with_facts(column: Column, facts: Any) -> Column:
    listed = {"kind": "category", "bounds": None, "edges": None, "bins": None, "step": None, "decimals": None}
    try:
        return dataclasses.replace(column, **(listed if facts.get("values") else {}), **facts)
    except SchemaError:  # A list that does not fit the values: its words are kept, the values as they were seen.
        return dataclasses.replace(column, **{key: facts[key] for key in ("description", "unit") if key in facts})


def _marked(opened: Source, column: Column) -> Column:
    """Return a column with the fingerprints of what the rows taught, and of what the file itself says.

    Rounder bounds that the program proposes are computed from the rows, so they carry a mark as well.
    """
    told = opened.facts.get(column.name, {})
    facts = {key: getattr(column, key) for key in (*FACTS, *WORD_FACTS)}
    of_file = {key: fact for key, fact in facts.items() if fact is not None and _same(key, told.get(key), fact)}
    of_rows = {key: fact for key, fact in facts.items() if key not in of_file}
    marks = (*fingerprints(of_rows), *fingerprints(of_file, "file"))
    proposed = fingerprints({"bounds": rounder(column)}) if column.bounds is not None else ()
    return dataclasses.replace(column, drafted=(*marks, *proposed))


def _same(key: str, told: Any, fact: Any) -> bool:
    return told is not None and (key == "value_labels" or told == fact)
