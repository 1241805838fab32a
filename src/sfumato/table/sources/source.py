"""An opened source: engine, name, dialect and the kind of frame to return."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal

from sfumato.errors import TableError
from sfumato.schema.dialect import DEFAULT_DIALECT, Dialect
from sfumato.table.engines.engine import Engine

Origin = Literal["declared", "rows"]
FrameKind = Literal["pandas", "polars", "arrow", "duckdb", "ibis", "spark"]
FORMATS = (
    "CSV (.csv, .tsv, also in .gz, .zst or .zip), Parquet, JSON lines, Excel, SPSS, Stata, SAS, DuckDB and SQLite "
    "files, globs, pandas, polars, Arrow, DuckDB relations and Ibis tables"
)


@dataclass(frozen=True)
class Source:
    """An engine over raw columns, what to call it, and the kind of frame to answer in."""

    engine: Engine
    frame_kind: FrameKind
    name: str
    is_text: bool = False
    dialect: Dialect = DEFAULT_DIALECT
    """How the file is written, as it was said or found."""
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """What a file says of its columns itself, by column: description, value_labels, values, unit."""
    raw: Engine | None = None
    """The same rows as they are written, where ``engine`` reads them in plain form."""
    notes: tuple[str, ...] = ()
    """What was found and not said: for whoever drafts a schema."""
    names: Origin = "declared"
    """Whether the names of columns are declared once for all rows, or are the union of what each row brings."""
    types: Origin = "declared"
    """Whether types are declared (or all are texts), or were chosen by looking at every row."""


def require_unique_columns(where: str, names: Sequence[str]) -> None:
    """Refuse a table in which two columns carry one name: which one the schema means cannot be known."""
    repeated = [key for key, times in Counter(name.lower() for name in names).items() if times > 1]
    if repeated:
        raise TableError(
            f"{where!r} has duplicate columns",
            [_repetition([name for name in names if name.lower() == key]) for key in repeated],
            "rename the columns so that each name stands once (upper and lower case count as the same)",
        )


def _repetition(written: Sequence[str]) -> str:
    """Return how a name is repeated, as it is written.

    >>> _repetition(["Score", "Score"]), _repetition(["sex", "SEX"])
    ("'Score' stands 2 times", "'sex' and 'SEX' are one name")
    """
    if len(set(written)) == 1:
        return f"{written[0]!r} stands {len(written)} times"
    return f"{' and '.join(repr(name) for name in written)} are one name"


UNNAMED = re.compile(r"unnamed \d+")
"""What columns without a name are called."""


def name_unnamed_columns(names: Sequence[str]) -> list[str]:
    """Name the columns that have no name (a frame's index, written to CSV, is one): they are ignored like any other."""
    free = (name for i in count(1) if (name := f"unnamed {i}") not in names)
    return [name if name.strip() else next(free) for name in names]
