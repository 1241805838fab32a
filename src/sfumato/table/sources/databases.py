"""Open a table of a DuckDB or SQLite file."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from sfumato.errors import TableError
from sfumato.progress import report_progress
from sfumato.schema.dialect import Dialect
from sfumato.table.engines.duckdb import DuckDBEngine, ParquetEngine
from sfumato.table.engines.engine import engine_errors
from sfumato.table.sources.frames import uuids_as_text
from sfumato.table.sources.normalise_text import sql_identifier, sql_string
from sfumato.table.sources.scratch_space import connect, write_scratch_parquet
from sfumato.table.sources.source import Source, require_unique_columns

ROWS_AT_ONCE = 100_000
Made = TypeVar("Made")
BETWEEN = 0.2
"""Seconds between two looks at whether a query is to be stopped."""
KINDS = ("integer", "real", "text", "blob")


def open_duckdb_file(paths: Sequence[str], dialect: Dialect, kind: str) -> Source:
    """Return a source over a table of a DuckDB file, or over a view that was named.

    The file is opened for reading alone; no query of it reaches another file, the network or an extension.
    """
    (path,) = paths
    connection = connect()
    with engine_errors(path):
        connection.execute(f"ATTACH {sql_string(path)} AS file (READ_ONLY)")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        query = (
            "SELECT CASE table_schema WHEN 'main' THEN '' ELSE table_schema || '.' END || table_name, table_type, "
            "table_schema, table_name FROM information_schema.tables WHERE table_catalog = 'file' ORDER BY 4"
        )
        listed = connection.sql(query).fetchall()
        tables = [name for name, kind, *_ in listed if kind == "BASE TABLE"]
        chosen, is_view = _chosen(path, tables, [name for name, *_ in listed if name not in tables], dialect.sheet)
        where = ".".join(
            sql_identifier(part) for part in ("file", *next(row[2:] for row in listed if row[0] == chosen))
        )
        relation = uuids_as_text(connection.sql(f"SELECT * FROM {where}"))  # noqa: S608  the names are quoted
        if not is_view:
            return _source(DuckDBEngine(relation), chosen, dialect, len(tables))
        kept = _stoppable(lambda: _kept(relation), connection.interrupt)
        return _source(kept, chosen, dialect, len(tables), is_view)


def _kept(relation: Any) -> ParquetEngine:
    """Run the query of a view once, and return its rows."""
    import pyarrow as pa

    reader = relation.to_arrow_reader(ROWS_AT_ONCE)
    parquet = write_scratch_parquet("view", reader.schema, (pa.Table.from_batches([batch]) for batch in reader))
    return ParquetEngine(connect().read_parquet(parquet), (parquet,))


def open_sqlite(paths: Sequence[str], dialect: Dialect, kind: str) -> Source:
    """Return a source over a table of an SQLite file, or over a view that was named."""
    (path,) = paths
    address = f"file:{quote(str(Path(path).resolve()))}?mode=ro"
    try:
        connection = sqlite3.connect(address, uri=True, check_same_thread=False)
        connection.text_factory = lambda raw: raw.decode("utf-8", errors="replace")
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            query = "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY 1"
            listed = [(name, kind) for name, kind in connection.execute(query) if not name.startswith("sqlite_")]
            tables, views = ([name for name, kind in listed if kind == wanted] for wanted in ("table", "view"))
            chosen, is_view = _chosen(path, tables, views, dialect.sheet)
            parquet = _stoppable(lambda: _copied(connection, path, chosen), connection.interrupt)
        finally:
            connection.close()
    except (sqlite3.Error, UnicodeError, OverflowError) as error:
        step = "check that the database is complete and that no other program holds it"
        reason = getattr(error, "sqlite_errorname", type(error).__name__)
        raise TableError(f"cannot read the SQLite file {path!r}: {reason}", next_step=step) from None
    with engine_errors(path):
        engine = ParquetEngine(uuids_as_text(connect().read_parquet(parquet)), (parquet,))
    return dataclasses.replace(_source(engine, chosen, dialect, len(tables), is_view), types="rows")


def _stoppable(work: Callable[[], Made], interrupt: Callable[[], Any]) -> Made:
    """Return what a query comes to, which runs in a thread of its own; where this one is stopped, so is the query."""
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(work)
        try:
            while True:
                try:
                    return running.result(BETWEEN)
                except TimeoutError:
                    if running.done():
                        raise
                    report_progress("reading the table")
        except BaseException:
            while not running.done():  # a query that has not begun yet cannot be interrupted
                interrupt()
                wait([running], BETWEEN)
            raise


def _source(engine: Any, table: str, dialect: Dialect, tables: int, is_view: bool = False) -> Source:
    written = dialect.over(Dialect(sheet=table if tables > 1 or is_view else None))
    note = f"look at: {table!r} is a view: its rows are what a query in the file makes of other tables"
    return Source(engine, "pandas", "table", dialect=written, notes=(note,) if is_view else ())


def _chosen(path: str, tables: Sequence[str], views: Sequence[str], wanted: str | int | None) -> tuple[str, bool]:
    """Return the table or view that was named, or the only table; and whether it is a view."""
    if wanted is None and len(tables) == 1:
        return tables[0], False
    if str(wanted) in (*tables, *views):
        return str(wanted), str(wanted) not in tables
    what = f"has no table {wanted!r}" if wanted is not None else f"has {len(tables)} tables"
    listed = [*tables, *(f"{view} (a view, whose query is run when it is named)" for view in views)]
    step = f"name one of them: --sheet {(*tables, *views)[0]}" if listed else "give a database with a table"
    raise TableError(f"the database {path!r} {what}", listed[:50], step)


def _copied(connection: sqlite3.Connection, path: str, table: str) -> str:
    """Copy a table in pieces into a private Parquet file, in the types that its values have."""
    import pyarrow as pa

    where = sql_identifier(table)
    cursor = connection.execute(f"SELECT * FROM {where} LIMIT 0")  # noqa: S608  the name is quoted
    names = [column[0] for column in cursor.description]
    require_unique_columns(path, names)
    kinds = _kinds(connection, where, names)
    read = ", ".join(_read(name, kind) for name, kind in zip(names, kinds, strict=True))
    schema = pa.schema([pa.field(name, _arrow(kind)) for name, kind in zip(names, kinds, strict=True)])
    rows = connection.execute(f"SELECT {read} FROM {where}")  # noqa: S608  the names are quoted
    return write_scratch_parquet("table", schema, _pieces(rows, schema))


def _kinds(connection: sqlite3.Connection, where: str, names: Sequence[str]) -> list[str]:
    """Return one type for each column: SQLite keeps one for each value, and a declaration that need not hold."""
    declared = {row[1]: str(row[2]).upper() for row in connection.execute(f"PRAGMA table_info({where})")}
    kinds: list[str] = []
    for name in names:
        column = sql_identifier(name)
        asked = ", ".join(f"SUM(typeof({column}) = '{kind}')" for kind in KINDS)
        query = f"SELECT {asked}, SUM({column} NOT IN (0, 1)) FROM {where}"  # noqa: S608  the names are quoted
        *counts, other = connection.execute(query).fetchone()
        kinds.append(_kind(dict(zip(KINDS, counts, strict=True)), other, declared.get(name, "")))
    return kinds


def _kind(counts: dict[str, int | None], other: int | None, declared: str) -> str:
    kinds = [kind for kind in KINDS if counts[kind]]
    if kinds == ["integer"]:
        return "boolean" if declared.startswith("BOOL") and not other else "integer"
    if kinds in (["real"], ["integer", "real"]):
        return "real"
    if not kinds:
        return "integer" if "INT" in declared else "real" if declared in ("REAL", "FLOAT", "DOUBLE") else "text"
    return "blob" if kinds == ["blob"] else "text"


def _read(name: str, kind: str) -> str:
    column = sql_identifier(name)
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
