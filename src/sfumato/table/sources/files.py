"""Open files by path or glob and dispatch on their format."""

from __future__ import annotations

import dataclasses
import glob
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sfumato.errors import TableError
from sfumato.schema.dialect import Dialect
from sfumato.table.engines.duckdb import DuckDBEngine
from sfumato.table.engines.engine import engine_errors
from sfumato.table.sources.file_format import decompressed_file
from sfumato.table.sources.frames import arrow_engine, uuids_as_text
from sfumato.table.sources.normalise_text import sql_string
from sfumato.table.sources.scratch_space import connect
from sfumato.table.sources.source import FORMATS, Source, require_unique_columns

JSON_FORMS = {"jsonl": "newline_delimited", "json": "array"}
MULTI_FILE_FORMATS = ("csv", "parquet", "jsonl")
"""Formats of which several files make one table."""


def open_path(pattern: str, dialect: Dialect, infer: bool = True, names: Sequence[str] | None = None) -> Source:
    """Return a source over a file, or over several of one kind.

    Without ``infer`` names, types and the encoding are what the file declares and what was said; ``names`` are those of
    the columns of a format that declares none.
    """
    paths = _matching(pattern)
    found = [decompressed_file(path, dialect.sheet) for path in paths]
    kinds = {kind for _, kind in found}
    if len(kinds) > 1 or (len(paths) > 1 and not kinds <= set(MULTI_FILE_FORMATS)):
        raise TableError(
            f"the {len(paths)} files of {pattern!r} do not make one table",
            [f"{path}: {kind}" for path, (_, kind) in zip(paths[:20], found, strict=False)],
            "give one file, or several CSV, Parquet or JSON lines files of one kind",
        )
    kind = kinds.pop()
    files = [path for path, _ in found]
    opened = _OPENERS[kind](files, dialect) if infer else _declared(kind, files, dialect, names)
    name = Path(paths[0]).name.split(".")[0] if kind != "parquet" else Path(paths[0]).stem
    written = dataclasses.replace(opened.dialect, format=kind)
    return dataclasses.replace(opened, name=name or "table", dialect=written)


def _declared(kind: str, paths: Sequence[str], dialect: Dialect, names: Sequence[str] | None) -> Source:
    """Return a source of which nothing was inferred from the rows."""
    from sfumato.table.sources.declared import as_texts, json_texts
    from sfumato.table.sources.text_files import open_text

    if kind == "csv":
        return open_text(paths, dialect, infer=False)
    if kind in JSON_FORMS:
        with engine_errors(paths[0]):
            return Source(DuckDBEngine(json_texts(paths, names, JSON_FORMS[kind])), "pandas", "table", dialect=dialect)
    opened = _OPENERS[kind](paths, dialect)
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
    found = sorted(p for p in glob.glob(pattern, recursive=True) if Path(p).is_file())
    if not found:
        raise TableError(f"no file at {pattern!r}", next_step=f"check the path; readable are: {FORMATS}")
    return found


def _open_parquet(paths: Sequence[str], dialect: Dialect) -> Source:
    from sfumato.table.engines.duckdb import ParquetEngine

    with engine_errors(paths[0]):
        relation = uuids_as_text(connect().read_parquet(list(paths)))
    return Source(ParquetEngine(relation, tuple(paths)), "pandas", "table", dialect=dialect)


def _open_json(paths: Sequence[str], dialect: Dialect, form: str) -> Source:
    files = ", ".join(sql_string(path) for path in paths)
    query = f"SELECT * FROM read_json([{files}], format={sql_string(form)}, sample_size=-1)"  # noqa: S608  quoted
    with engine_errors(paths[0]):
        relation = uuids_as_text(connect().sql(query))
        require_unique_columns(paths[0], relation.columns)
    return Source(DuckDBEngine(relation), "pandas", "table", dialect=dialect, names="rows", types="rows")


def _open_arrow(paths: Sequence[str], dialect: Dialect) -> Source:
    import pyarrow as pa

    with engine_errors(paths[0]):
        table: Any = pa.ipc.open_file(pa.memory_map(paths[0])).read_all()
        table.validate(full=True)  # damaged offsets would lead anywhere
        require_unique_columns(paths[0], table.column_names)
    return Source(arrow_engine(table), "pandas", "table", dialect=dialect)


def _open_text(paths: Sequence[str], dialect: Dialect) -> Source:
    from sfumato.table.sources.text_files import open_text

    return open_text(paths, dialect)


def _open_workbook(paths: Sequence[str], dialect: Dialect) -> Source:
    from sfumato.table.sources.spreadsheets import open_workbook

    return open_workbook(paths[0], dialect)


def _open_statistical(kind: str) -> Callable[[Sequence[str], Dialect], Source]:
    def opened(paths: Sequence[str], dialect: Dialect) -> Source:
        from sfumato.table.sources.spss_stata_sas import open_statistical

        return open_statistical(paths[0], kind, dialect)

    return opened


def _open_database(kind: str) -> Callable[[Sequence[str], Dialect], Source]:
    def opened(paths: Sequence[str], dialect: Dialect) -> Source:
        from sfumato.table.sources import databases

        opener = databases.open_duckdb_file if kind == "duckdb" else databases.open_sqlite
        return opener(paths[0], dialect)

    return opened


_OPENERS: dict[str, Callable[[Sequence[str], Dialect], Source]] = {
    "csv": _open_text,
    "parquet": _open_parquet,
    "jsonl": lambda paths, dialect: _open_json(paths, dialect, JSON_FORMS["jsonl"]),
    "json": lambda paths, dialect: _open_json(paths, dialect, JSON_FORMS["json"]),
    "arrow": _open_arrow,
    **dict.fromkeys(("xlsx", "xls", "ods"), _open_workbook),
    **{kind: _open_statistical(kind) for kind in ("sav", "por", "dta", "sas", "xpt")},
    **{kind: _open_database(kind) for kind in ("duckdb", "sqlite")},
}
