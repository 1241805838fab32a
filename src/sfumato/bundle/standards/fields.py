"""Columns of released files as metadata standards describe them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from sfumato.bundle.description import PublicRelease
from sfumato.bundle.document import ReleasedTable, Tables
from sfumato.schema.column import Column

FieldType = Literal["text", "whole", "number", "boolean", "date"]
MOST_LEVELS = 1000
"""Levels of one column that are listed; schema.toml has all of them."""


@dataclass(frozen=True)
class Field:
    """One column of a released file."""

    name: str
    type: FieldType
    """What its values are in the file: of counts, numbers that were cut into cells are texts."""
    column: Column | None
    """The public facts about it; None for counts, points and numbers, which the method made."""
    levels: tuple[Any, ...] | None
    """All values that may stand there, where they can be listed."""
    missing: bool

    @property
    def is_cell(self) -> bool:
        """Whether a cell of the column stands there instead of its values."""
        return self.column is not None and self.column.is_ordered and self.type == "text"

    @property
    def bounds(self) -> tuple[Any, Any] | None:
        """The least and the largest value that the file may hold."""
        return None if self.column is None or self.is_cell else self.column.bounds

    @property
    def label(self) -> str | None:
        """What the column means."""
        return None if self.column is None else self.column.description


@dataclass(frozen=True)
class ReleasedFile:
    """A released table: its files and its columns."""

    listed: ReleasedTable
    name: str
    """A short name that is unique in the bundle and safe in every format."""
    fields: tuple[Field, ...]
    written_as_source: bool
    """Whether the text file has the dialect of the table's source."""


def released_files(subject: PublicRelease, tables: Tables) -> tuple[ReleasedFile, ...]:
    """Return all released tables; copies of rows have the columns of the first."""
    stems = (listed.parquet.removesuffix(".parquet").rpartition("/")[2] for listed in subject.tables)
    names = list(unique_slugs(stems, "table"))
    files: list[ReleasedFile] = []
    for listed, name in zip(subject.tables, names, strict=True):
        arrow = tables[listed.columns].schema
        as_source = listed.kind == "rows" and set(arrow.names) <= set(subject.schema.names)
        fields = tuple(_field(subject, listed, arrow.field(place), place) for place in range(len(arrow)))
        files.append(ReleasedFile(listed, name, fields, as_source))
    return tuple(files)


def _field(subject: PublicRelease, listed: ReleasedTable, arrow: Any, place: int) -> Field:
    column = _column(subject, listed, arrow.name, place)
    type_ = _type(arrow.type)
    return Field(arrow.name, type_, column, _levels(column, listed), column.missing if column else False)


def _column(subject: PublicRelease, listed: ReleasedTable, name: str, place: int) -> Column | None:
    """Return the facts about a column; what a method counts and computes has none, whatever it is called."""
    own = listed.kind == "values" or (listed.kind == "counts" and place >= len(listed.columns))
    return None if own or name not in subject.schema else subject.schema[name]


def _type(arrow: Any) -> FieldType:
    if pa.types.is_boolean(arrow):
        return "boolean"
    if pa.types.is_integer(arrow):
        return "whole"
    if pa.types.is_floating(arrow):
        return "number"
    return "date" if pa.types.is_date(arrow) else "text"


def _levels(column: Column | None, listed: ReleasedTable) -> tuple[Any, ...] | None:
    if column is None or column.kind == "boolean" or (listed.kind == "rows" and column.is_ordered):
        return None
    if column.present_size > MOST_LEVELS:
        return None
    return tuple(label for label in column.labels if label is not None)


def unique_slugs(texts: Iterable[str], otherwise: str) -> Iterator[str]:
    """Yield names of small letters, digits and marks, none twice, whatever the texts are.

    >>> list(unique_slugs(["Net pay", "net/pay", "€"], "column"))
    ['net-pay', 'net-pay-2', 'column']
    """
    taken: set[str] = set()
    for text in texts:
        plain = re.sub(r"[^a-z0-9._]+", "-", text.lower()).strip("._-") or otherwise
        name = plain
        number = 1
        while name in taken:
            number += 1
            name = f"{plain}-{number}"
        taken.add(name)
        yield name


def json_value(value: Any) -> Any:
    """Return a value as JSON holds it: dates as texts."""
    return value.isoformat() if isinstance(value, dt.date) else value


def drop_empty(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts without those that say nothing."""
    return {key: fact for key, fact in facts.items() if fact not in (None, "", (), [], {})}
