"""Sources whose types were inferred from their rows, read so that no row decides how another one is read.

A workbook, an SQLite file and JSON have no types for columns: a reader chooses them by looking at every row, and one
row more can turn whole numbers into decimals or texts. Where that must not happen, every value is a text of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.errors import UndeclaredColumnsError
from sfumato.table.engines.duckdb import DuckDBEngine
from sfumato.table.sources.normalise_text import sql_identifier, sql_string
from sfumato.table.sources.scratch_space import connect
from sfumato.table.sources.source import UNNAMED

LARGEST_EXACT = 2**53


def as_texts(engine: Any) -> DuckDBEngine:
    """Return an engine whose columns are texts, each value written as if it stood alone; nameless columns are left out.

    How far the rows of a sheet reach decides how many columns without a name it has, so none of them is public.
    """
    relation = engine.relation
    named = [pair for pair in zip(relation.columns, relation.types, strict=True) if not UNNAMED.fullmatch(pair[0])]
    written = (f"{_written(sql_identifier(name), str(kind))} AS {sql_identifier(name)}" for name, kind in named)
    return DuckDBEngine(relation.project(", ".join(written)))


def _written(column: str, kind: str) -> str:
    text = f"CAST({column} AS VARCHAR)"
    if kind in ("DOUBLE", "FLOAT"):
        whole = f"{column} = floor({column}) AND abs({column}) < {LARGEST_EXACT}"
        return f"CASE WHEN {whole} THEN CAST(CAST({column} AS BIGINT) AS VARCHAR) ELSE {text} END"
    if kind.startswith("TIMESTAMP"):
        day = f"CAST({column} AS DATE)"
        return f"CASE WHEN {column} = {day} THEN CAST({day} AS VARCHAR) ELSE {text} END"
    return text


def json_texts(paths: Sequence[str], names: Sequence[str] | None, form: str) -> Any:
    """Return a relation of the named keys of JSON rows, as texts; a key that no row has is missing everywhere."""
    if not names:
        raise UndeclaredColumnsError(
            "rows of JSON bring their own names, and one row may bring a name that no other has: so the names of "
            f"{paths[0]!r} are not public, and none of them was bought; nothing was spent",
            next_step="name the columns that are public knowledge: columns=['age', 'town'] (--columns age,town)",
        )
    files = ", ".join(sql_string(path) for path in paths)
    columns = ", ".join(f"{sql_string(name)}: 'VARCHAR'" for name in names)
    query = f"SELECT * FROM read_json([{files}], format={sql_string(form)}, columns={{{columns}}})"  # noqa: S608  quoted
    return connect().sql(query)
