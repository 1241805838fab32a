"""Propose a schema from data. Everything proposed leaks, so it is marked as a draft until a person confirms it."""

from __future__ import annotations

from typing import Any

from sfumato.errors import TableError
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.table.draft_columns import draft_columns
from sfumato.table.engine import engine_errors
from sfumato.table.sources import Source, guess_delimiter, open_source

WARNING = (
    "DRAFT: proposed from the private rows. Bounds and categories that were learned from data leak (the largest",
    "income, a rare diagnosis). Replace each by what is public knowledge, then: sfumato schema confirm THIS-FILE",
)


def draft_schema(source: Any, name: str | None = None, delimiter: str | None = None) -> Schema:
    """Return a draft schema with one column for every column that can be described."""
    opened = open_source(source, delimiter)
    _refuse_wrong_delimiter(opened)
    columns: list[Column] = []
    notes = list(WARNING)
    with engine_errors(repr(opened.name)):
        for column, note in draft_columns(opened.engine):
            columns += [column] if column else []
            notes += [note] if note else []
    if not columns:
        raise TableError(f"no column of {opened.name!r} can be described", notes[2:], "write the schema by hand")
    return Schema(name=name or opened.name, columns=tuple(columns), is_draft=True, notes=tuple(notes))


def _refuse_wrong_delimiter(opened: Source) -> None:
    names = list(opened.engine.table.columns)
    delimiter = guess_delimiter(names[0], ()) if opened.is_text and len(names) == 1 else None
    if delimiter:
        raise TableError(
            f"the header of {opened.name!r} reads {names[0]!r} as one column",
            next_step=f"the delimiter seems to be {delimiter!r}: say so with --delimiter '{delimiter}'",
        )
