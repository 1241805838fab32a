"""Open files by path or glob and dispatch on their format."""

from __future__ import annotations

import dataclasses
import glob
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sfumato.errors import TableError, UndeclaredColumnsError
from sfumato.lazy import load_object
from sfumato.schema.dialect import Dialect
from sfumato.schema.file_formats import FILE_FORMATS
from sfumato.table.engines.duckdb import DuckDBEngine
from sfumato.table.engines.engine import engine_errors
from sfumato.table.sources.file_format import decompressed_file
from sfumato.table.sources.frames import arrow_engine, uuids_as_text
from sfumato.table.sources.normalise_text import sql_identifier, sql_string
from sfumato.table.sources.scratch_space import connect
from sfumato.table.sources.source import FORMATS, UNNAMED, Source, require_unique_columns

LARGEST_EXACT = 2**53
JSON_FORMS = {"jsonl": "newline_delimited", "json": "array"}


def open_path(pattern: str, dialect: Dialect, infer: bool = True, names: Sequence[str] | None = None) -> Source:
    """Return a source over a file, or over several of one kind.

    Without ``infer`` names, types and the encoding are what the file declares and what was said; ``names`` are those of
    the columns of a format that declares none.
    """
    paths = _matching(pattern)
    opened_files = [decompressed_file(path, dialect.sheet) for path in paths]
    kinds = {kind for _, kind in opened_files}
    if len(kinds) > 1 or (len(paths) > 1 and not all(FILE_FORMATS[kind].several for kind in kinds)):
        raise TableError(
            f"the {len(paths)} files of {pattern!r} do not make one table",
            [f"{path}: {kind}" for path, (_, kind) in zip(paths[:20], opened_files, strict=False)],
            "give one file, or several CSV, Parquet or JSON lines files of one kind",
        )
    kind = kinds.pop()
    files = [path for path, _ in opened_files]
    opened = _open(kind, files, dialect) if infer else _declared(kind, files, dialect, names)
    name = Path(paths[0]).name.split(".")[0] if kind != "parquet" else Path(paths[0]).stem
    written = dataclasses.replace(opened.dialect, format=kind)
    return dataclasses.replace(opened, name=name or "table", dialect=written)


def _open(kind: str, paths: Sequence[str], dialect: Dialect) -> Source:
    return load_object(FILE_FORMATS[kind].reader)(paths, dialect, kind)


def _declared(kind: str, paths: Sequence[str], dialect: Dialect, names: Sequence[str] | None) -> Source:
    """Return a source of which nothing was inferred from the rows, so that no row decides how another one is read.

    A workbook, an SQLite file and JSON have no types for columns: a reader chooses them by looking at every row, and
    one row more can turn whole numbers into decimals or texts. Here every value of theirs is a text of its own.
    """
    from sfumato.table.sources.text_files import open_text

    if kind == "csv":
        return open_text(paths, dialect, kind, infer=False)
    if kind in JSON_FORMS:
        with engine_errors(paths[0]):
            return Source(DuckDBEngine(json_texts(paths, names, JSON_FORMS[kind])), "pandas", "table", dialect=dialect)
    opened = _open(kind, paths, dialect)
    return opened if opened.types == "declared" else dataclasses.replace(opened, engine=as_texts(opened.engine))


def _matching(pattern: str) -> list[str]:
    try:
        return _files(pattern)
    except (OSError, ValueError, RuntimeError) as error:  # NUL, half characters, thousands of characters
        shown = repr(pattern) if len(pattern) <= 200 else f"{pattern[:200]!r}..."
        raise TableError(f"{shown} is no path: {error}"[:400], next_step=f"readable are: {FORMATS}") from error


def _files(pattern: str) -> list[str]:
    path = Path(pattern)
    if path.is_dir():
        raise TableError(
            f"{pattern!r} is a directory, not a table",
            next_step=f"give a file or a glob, for example '{pattern.rstrip('/')}/*.parquet'",
        )
    if path.is_file():
        return [pattern]
    paths = sorted(p for p in glob.glob(pattern, recursive=True) if Path(p).is_file())
    if not paths:
        raise TableError(f"no file at {pattern!r}", next_step=f"check the path; readable are: {FORMATS}")
    return paths


def open_parquet(paths: Sequence[str], dialect: Dialect, kind: str) -> Source:
    """Return a source over Parquet files, whose row groups are read in parallel."""
    from sfumato.table.engines.duckdb import ParquetEngine

    with engine_errors(paths[0]):
        relation = uuids_as_text(connect().read_parquet(list(paths)))
    return Source(ParquetEngine(relation, tuple(paths)), "pandas", "table", dialect=dialect)


def open_json(paths: Sequence[str], dialect: Dialect, kind: str) -> Source:
    """Return a source over JSON rows: one object in each line, or a list of objects."""
    files = ", ".join(sql_string(path) for path in paths)
    query = f"SELECT * FROM read_json([{files}], format={sql_string(JSON_FORMS[kind])}, sample_size=-1)"  # noqa: S608  quoted
    with engine_errors(paths[0]):
        relation = uuids_as_text(connect().sql(query))
        require_unique_columns(paths[0], relation.columns)
    return Source(DuckDBEngine(relation), "pandas", "table", dialect=dialect, names="rows", types="rows")


def open_arrow(paths: Sequence[str], dialect: Dialect, kind: str) -> Source:
    """Return a source over one Arrow (Feather) file."""
    import pyarrow as pa

    with engine_errors(paths[0]):
        table: Any = pa.ipc.open_file(pa.memory_map(paths[0])).read_all()
        table.validate(full=True)  # damaged offsets would lead anywhere
        require_unique_columns(paths[0], table.column_names)
    return Source(arrow_engine(table), "pandas", "table", dialect=dialect)


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
