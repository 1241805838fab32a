"""The release that a guide is about: its document and schema, with what the sections ask of them again and again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sfumato.bundle.document import ReleaseDocument, ReleasedTable
from sfumato.bundle.replan import replanned_forecast
from sfumato.core.forecast import Forecast
from sfumato.schema import Schema
from sfumato.schema.column import Column


@dataclass(frozen=True)
class PublicRelease:
    """A release as its public files tell of it."""

    document: ReleaseDocument
    schema: Schema

    @cached_property
    def forecast(self) -> Forecast | None:
        """What is expected of it; None where nobody knows."""
        return replanned_forecast(self.document, self.schema)

    @property
    def makes(self) -> str:
        """What it holds: rows, counts or values."""
        return self.document.method.makes

    @property
    def tables(self) -> tuple[ReleasedTable, ...]:
        """The released tables; of rows that were drawn several times, all copies."""
        return self.document.tables

    @property
    def first(self) -> ReleasedTable:
        """The first of them."""
        return self.document.tables[0]

    @property
    def is_copied(self) -> bool:
        """Whether rows lie there in several copies."""
        return self.makes == "rows" and len(self.tables) > 1

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The released columns of the schema, in its order; a method of one's own may have others."""
        named = {name for table in self.tables for name in table.columns}
        return () if self.makes == "values" else tuple(column for column in self.schema if column.name in named)

    @property
    def kept(self) -> tuple[str, ...]:
        """Columns that were released as they are in the confidential table."""
        return tuple(self.document.statistics.get("not_synthesised") or ())

    def kinds(self, *kinds: str) -> tuple[str, ...]:
        """Return the names of the released columns of some kinds."""
        return tuple(column.name for column in self.columns if column.kind in kinds)

    @property
    def text_orders(self) -> tuple[Column, ...]:
        """Columns whose levels are texts in an order, few enough to be written down."""
        ordinals = (column for column in self.columns if column.kind == "ordinal" and not column.has_integer_levels)
        return tuple(column for column in ordinals if len(column.levels) <= MOST_LEVELS)

    @property
    def grouping(self) -> str | None:
        """A column to group by in an example: the first of few levels."""
        levelled = (column for column in self.columns if not column.is_ordered)
        return next((column.name for column in levelled if len(column.levels) <= MOST_LEVELS), None)

    @property
    def measured(self) -> str | None:
        """A column to take a mean of in an example."""
        return next(iter(self.kinds("integer", "number")), None)


MOST_LEVELS = 30
"""Levels that an example may write down."""
