"""Database files as they are: a table of DuckDB is queried in place, one of SQLite is copied privately."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sfumato.errors import TableError
from sfumato.schema.dialect import Dialect
from sfumato.table.engine import DuckDBEngine, engine_errors
from sfumato.table.parquet import ParquetEngine
from sfumato.table.sources.frames import texts_as_texts
from sfumato.table.sources.plain import quoted, quoted_name
from sfumato.table.sources.private import connect, parked
from sfumato.table.sources.source import Source, refuse_duplicates

ROWS_AT_ONCE = 100_000
KINDS = ("integer", "real", "text", "blob")


def open_duckdb_file(path: str, dialect: Dialect) -> Source:
    """Return a source over a table of a DuckDB file, which is opened for reading alone."""
    connection = connect()
    with engine_errors(path):
        connection.execute(f"ATTACH {quoted(path)} AS file (READ_ONLY)")
        query = "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = 'file' ORDER BY 2"
        places = {
            name if home == "main" else f"{home}.{name}": (home, name)
            for home, name in connection.sql(query).fetchall()
        }
        chosen = _chosen(path, list(places), dialect.sheet)
        where = ".".join(quoted_name(part) for part in ("file", *places[chosen]))
        relation = texts_as_texts(connection.sql(f"SELECT * FROM {where}"))  # noqa: S608  the names are quoted
    return _source(DuckDBEngine(relation), chosen, dialect, len(places))


def open_sqlite(path: str, dialect: Dialect) -> Source:
    """Return a source over a table of an SQLite file."""
    address = f"file:{quote(str(Path(path).resolve()))}?mode=ro"
    try:
        connection = sqlite3.connect(address, uri=True)
        connection.text_factory = lambda raw: raw.decode("utf-8", errors="replace")
        try:
            query = (
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY 1"
            )
            tables = [name for (name,) in connection.execute(query)]
            chosen = _chosen(path, tables, dialect.sheet)
            parquet = _copied(connection, path, chosen)
        finally:
            connection.close()
    except (sqlite3.Error, UnicodeError, OverflowError) as error:
        step = "check that the database is complete and that no other program holds it"
        raise TableError(f"cannot read the SQLite file {path!r}: {error}", next_step=step) from error
    with engine_errors(path):
        engine = ParquetEngine(texts_as_texts(connect().read_parquet(parquet)), (parquet,))
    return dataclasses.replace(_source(engine, chosen, dialect, len(tables)), types="rows")


def _source(engine: Any, table: str, dialect: Dialect, tables: int) -> Source:
    found = Dialect(sheet=table if tables > 1 else None)
    return Source(engine, "pandas", "table", dialect=dialect.over(found))


def _chosen(path: str, tables: Sequence[str], wanted: str | int | None) -> str:
    """Return the table that was named, or the only one."""
    if wanted is None and len(tables) == 1:
        return tables[0]
    if str(wanted) in tables:
        return str(wanted)
    what = f"has no table {wanted!r}" if wanted is not None else f"has {len(tables)} tables"
    step = f"name one of them: --sheet {tables[0]}" if tables else "give a database with a table"
    raise TableError(f"the database {path!r} {what}", list(tables[:50]), step)


def _copied(connection: sqlite3.Connection, path: str, table: str) -> str:
    """Copy a table in pieces into a private Parquet file, in the types that its values have."""
    import pyarrow as pa

    where = quoted_name(table)
    cursor = connection.execute(f"SELECT * FROM {where} LIMIT 0")  # noqa: S608  the name is quoted
    names = [column[0] for column in cursor.description]
    refuse_duplicates(path, names)
    kinds = _kinds(connection, where, names)
    read = ", ".join(_read(name, kind) for name, kind in zip(names, kinds, strict=True))
    schema = pa.schema([pa.field(name, _arrow(kind)) for name, kind in zip(names, kinds, strict=True)])
    rows = connection.execute(f"SELECT {read} FROM {where}")  # noqa: S608  the names are quoted
    return parked("table", schema, _pieces(rows, schema))


def _kinds(connection: sqlite3.Connection, where: str, names: Sequence[str]) -> list[str]:
    """Return one type for each column: SQLite keeps one for each value, and a declaration that need not hold."""
    declared = {row[1]: str(row[2]).upper() for row in connection.execute(f"PRAGMA table_info({where})")}
    kinds: list[str] = []
    for name in names:
        column = quoted_name(name)
        asked = ", ".join(f"SUM(typeof({column}) = '{kind}')" for kind in KINDS)
        query = f"SELECT {asked}, SUM({column} NOT IN (0, 1)) FROM {where}"  # noqa: S608  the names are quoted
        *counts, other = connection.execute(query).fetchone()
        kinds.append(_kind(dict(zip(KINDS, counts, strict=True)), other, declared.get(name, "")))
    return kinds


def _kind(counts: dict[str, int | None], other: int | None, declared: str) -> str:
    found = [kind for kind in KINDS if counts[kind]]
    if found == ["integer"]:
        return "boolean" if declared.startswith("BOOL") and not other else "integer"
    if found in (["real"], ["integer", "real"]):
        return "real"
    if not found:
        return "integer" if "INT" in declared else "real" if declared in ("REAL", "FLOAT", "DOUBLE") else "text"
    return "blob" if found == ["blob"] else "text"


def _read(name: str, kind: str) -> str:
    column = quoted_name(name)
    if kind == "text":  # a whole number is written alike, whatever the other rows hold
        whole = f"typeof({column}) = 'real' AND {column} = CAST({column} AS INTEGER)"
        return f"CAST(CASE WHEN {whole} THEN CAST({column} AS INTEGER) ELSE {column} END AS TEXT)"
    return f"CAST({column} AS REAL)" if kind == "real" else column


def _arrow(kind: str) -> Any:
    import pyarrow as pa

    types = {"integer": pa.int64(), "real": pa.float64(), "text": pa.string(), "blob": pa.binary()}
    return types.get(kind, pa.bool_())


def _pieces(rows: sqlite3.Cursor, schema: Any) -> Iterator[Any]:
    import pyarrow as pa

    while piece := rows.fetchmany(ROWS_AT_ONCE):
        columns = zip(schema, zip(*piece, strict=True), strict=True)
        yield pa.table([_array(values, field.type) for field, values in columns], schema=schema)


def _array(values: Sequence[Any], kind: Any) -> Any:
    import pyarrow as pa

    return pa.array([bool(v) if v is not None else None for v in values] if kind == pa.bool_() else values, kind)
