"""Open files, frames and database tables as engines over raw columns."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sfumato.schema.column import Column
from sfumato.schema.dialect import DEFAULT_DIALECT, Dialect
from sfumato.table.engines.duckdb import DuckDBEngine
from sfumato.table.engines.engine import engine_errors
from sfumato.table.sources.source import FORMATS, FrameKind, Source, require_unique_columns

__all__ = ["FORMATS", "FrameKind", "Source", "guess_delimiter", "open_source", "require_unique_columns"]
DELIMITERS = (",", ";", "\t", "|")


def open_source(
    source: Any,
    dialect: Dialect = DEFAULT_DIALECT,
    columns: Sequence[Column] | None = None,
    infer: bool = True,
    names: Sequence[str] | None = None,
) -> Source:
    """Return an engine over any supported source, whose texts read plainly.

    ``dialect`` says how values are written, ``columns`` what they are: then only those texts are turned into plain
    numbers and dates that a column needs so. Without columns, those of which every text reads so. Without ``infer``
    nothing follows from the rows together: neither names (``names`` says them where a format declares none), nor types,
    nor an encoding, and each text is read for itself.
    """
    from sfumato.table.sources.frames import open_frame
    from sfumato.table.sources.normalise_text import normalise_texts

    if isinstance(source, str | Path):
        from sfumato.table.sources.files import open_path

        opened = open_path(str(source), dialect, infer, [column.name for column in columns] if columns else names)
    else:
        opened = dataclasses.replace(open_frame(source, infer), dialect=dialect)
    if not isinstance(opened.engine, DuckDBEngine):
        return opened
    with engine_errors(repr(opened.name)):
        relation = normalise_texts(opened.engine.relation, dialect, columns, infer)
    if relation is opened.engine.relation:
        return opened
    return dataclasses.replace(opened, engine=DuckDBEngine(relation), raw=opened.engine)


def guess_delimiter(only_column: str, wanted: Sequence[str]) -> str | None:
    """Return the delimiter that would split a one-column header into columns of the schema."""
    for delimiter in DELIMITERS:
        parts = {part.strip().strip('"') for part in only_column.split(delimiter)}
        if len(parts) > 1 and (not wanted or parts & set(wanted)):
            return delimiter
    return None
