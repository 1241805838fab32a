"""From whatever the user has to an engine expression over raw columns; nothing is loaded here."""

from __future__ import annotations

import atexit
import csv
import dataclasses
import glob
import gzip
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any, Literal

from sfumato.errors import MissingExtra, TableError
from sfumato.schema.dialect import PLAIN, Dialect
from sfumato.table.engine import DuckDBEngine, Engine, IbisEngine, engine_errors

FrameKind = Literal["pandas", "polars", "arrow", "duckdb", "ibis", "spark"]
DELIMITERS = (",", ";", "\t", "|")
FORMATS = "CSV (.csv, .csv.gz, .tsv), Parquet, globs, pandas, polars, Arrow, DuckDB relations and Ibis tables"


@dataclass(frozen=True)
class Source:
    """An engine over raw columns, what to call it, and the kind of frame to answer in."""

    engine: Engine
    frame_kind: FrameKind
    name: str
    is_text: bool = False
    dialect: Dialect = PLAIN
    """How the file is written, as it was said or found."""
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """What a file says of its columns itself, by column: description, value_labels, values, unit."""


def open_source(source: Any, dialect: Dialect = PLAIN) -> Source:
    """Return an engine over any supported source."""
    if isinstance(source, str | Path):
        return dataclasses.replace(_open_path(str(source), dialect.delimiter), dialect=dialect)
    package = type(source).__module__.split(".")[0]
    openers = {
        "pandas": _open_pandas,
        "polars": _open_polars,
        "pyarrow": _open_arrow,
        "duckdb": _open_duckdb,
        "_duckdb": _open_duckdb,
        "ibis": _open_ibis,
        "pyspark": _open_spark,
    }
    if package not in openers:
        raise TableError(f"cannot read a {type(source).__name__}", next_step=f"give one of: {FORMATS}")
    return openers[package](source)


def _open_path(pattern: str, delimiter: str | None) -> Source:
    paths = _matching(pattern)
    if all(_is_parquet(path) for path in paths):
        from sfumato.table.parquet import ParquetEngine

        with engine_errors(pattern):
            relation = _texts_as_texts(_connect().read_parquet(paths))
        return Source(ParquetEngine(relation, tuple(paths)), "pandas", Path(paths[0]).stem)
    return _open_text(paths, delimiter)


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


def _is_parquet(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            head = file.read(4)
    except OSError as error:
        raise TableError(f"cannot read {path!r}: {error.strerror}", next_step="check the file's permissions") from error
    if not head:
        raise TableError(f"{path!r} is empty (0 bytes)", next_step="give a file with a header line and rows")
    return head == b"PAR1"


def _open_text(paths: Sequence[str], delimiter: str | None) -> Source:
    headers = [_header(path, delimiter) for path in paths]
    if len({tuple(header) for header in headers}) > 1:
        raise TableError(
            f"the {len(paths)} files do not have the same columns",
            [f"{path}: {', '.join(header)}" for path, header in zip(paths, headers, strict=True)],
            "give files with one common header",
        )
    with engine_errors(paths[0]):
        relation = _connect().sql(_csv_query(paths, headers[0], delimiter or _default_delimiter(paths[0])))
    return Source(DuckDBEngine(relation), "pandas", Path(paths[0]).name.split(".")[0], is_text=True)


def _connect() -> Any:
    """Return a private in-memory DuckDB; a larger streaming buffer lets reading overlap with counting."""
    import duckdb

    connection = duckdb.connect(config={"temp_directory": _spill_folder()})
    connection.execute("SET streaming_buffer_size = '64MB'")
    return connection


def _csv_query(paths: Sequence[str], names: Sequence[str], delimiter: str) -> str:
    """Read every field as text and nothing by guessing: the schema alone says what a value is."""

    def quoted(text: str) -> str:
        return "'" + text.replace("'", "''") + "'"

    columns = ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in names)
    files = ", ".join(quoted(path) for path in paths)
    options = f"auto_detect=false, header=true, delim={quoted(delimiter)}, quote='\"', escape='\"'"
    return f"SELECT * FROM read_csv([{files}], {options}, columns={{{columns}}})"  # noqa: S608  all parts are quoted


def _default_delimiter(path: str) -> str:
    return "\t" if Path(path.removesuffix(".gz")).suffix == ".tsv" else ","


def _header(path: str, delimiter: str | None) -> list[str]:
    opener = gzip.open if path.endswith(".gz") else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            names = next(csv.reader(file, delimiter=delimiter or _default_delimiter(path)), [])
    except UnicodeDecodeError as error:
        raise TableError(
            f"{path!r} is not UTF-8 text (byte {error.object[error.start]:#04x} near the start)",
            next_step="save the file as UTF-8, for example: iconv -f latin1 -t utf-8 IN > OUT",
        ) from error
    except (OSError, EOFError, csv.Error) as error:
        raise TableError(f"cannot read {path!r}: {error}", next_step=f"readable are: {FORMATS}") from error
    _refuse_bad_header(path, names)
    return _named(names)


def _named(names: Sequence[str]) -> list[str]:
    """Name the columns that have no name (a frame's index, written to CSV, is one): they are ignored like any other."""
    free = (name for i in count(1) if (name := f"unnamed {i}") not in names)
    return [name if name.strip() else next(free) for name in names]


def _refuse_bad_header(path: str, names: Sequence[str]) -> None:
    if not any(name.strip() for name in names):
        raise TableError(f"{path!r} has no header line", next_step="put the column names into the first line")
    refuse_duplicates(path, [name for name in names if name.strip()])
    if any("\x00" in name for name in names):
        raise TableError(f"{path!r} is not a text table", next_step=f"readable are: {FORMATS}")


def refuse_duplicates(where: str, names: Sequence[str]) -> None:
    """Refuse a table in which two columns carry one name: which one the schema means cannot be known."""
    repeated = {name: times for name, times in Counter(n.lower() for n in names).items() if times > 1}
    if repeated:
        raise TableError(
            f"{where!r} has duplicate columns",
            [f"{name!r} stands {times} times" for name, times in repeated.items()],
            "rename the columns so that each name stands once (upper and lower case count as the same)",
        )


def guess_delimiter(only_column: str, wanted: Sequence[str]) -> str | None:
    """Return the delimiter that would split a one-column header into columns of the schema."""
    for delimiter in DELIMITERS:
        parts = {part.strip().strip('"') for part in only_column.split(delimiter)}
        if len(parts) > 1 and (not wanted or parts & set(wanted)):
            return delimiter
    return None


def _open_pandas(frame: Any) -> Source:
    _require_frame(frame)
    refuse_duplicates("pandas frame", [str(name) for name in frame.columns])
    return Source(_memory_engine(_arrow_from_pandas(frame)), "pandas", "table")


def _require_frame(frame: Any) -> None:
    if not hasattr(frame, "columns") or not hasattr(frame, "__getitem__"):
        step = "give a frame with named columns; a series becomes one with .to_frame()"
        raise TableError(f"cannot read a {type(frame).__name__}", next_step=step)


def _arrow_from_pandas(frame: Any) -> Any:
    """Convert column by column, so that one column of mixed types is read as text instead of failing the table."""
    import pyarrow as pa

    columns: dict[str, Any] = {}
    for position, name in enumerate(frame.columns):
        series = frame.iloc[:, position]
        try:
            columns[str(name)] = pa.Array.from_pandas(series)
        except (pa.ArrowException, OverflowError, TypeError, ValueError, ArithmeticError):
            columns[str(name)] = pa.array([None if _is_null(v) else str(v) for v in series], pa.string())
    return pa.table(columns)


def _is_null(value: Any) -> bool:
    """Whether a value stands for none: None, NaN of any type, NaT and pandas' own NA, which does not compare."""
    import pandas as pd

    if isinstance(value, Decimal):
        return value.is_nan()
    return bool(pd.api.types.is_scalar(value) and pd.isna(value))


def _open_polars(frame: Any) -> Source:
    with engine_errors("the frame"):
        eager = frame.collect() if hasattr(frame, "collect") else frame
    _require_frame(eager)
    return Source(_memory_engine(eager.to_arrow()), "polars", "table")


def _open_arrow(table: Any) -> Source:
    import pyarrow as pa

    if isinstance(table, pa.RecordBatchReader | pa.RecordBatch):
        table = table.read_all() if isinstance(table, pa.RecordBatchReader) else pa.Table.from_batches([table])
    if not isinstance(table, pa.Table):
        raise TableError(f"cannot read a {type(table).__name__}", next_step=f"give one of: {FORMATS}")
    refuse_duplicates("Arrow table", table.column_names)
    return Source(_memory_engine(table), "arrow", "table")


def _memory_engine(table: Any) -> Engine:
    with engine_errors("the frame"):
        return DuckDBEngine(_connect().from_arrow(table))


def _open_duckdb(relation: Any) -> Source:
    if not hasattr(relation, "query") or not hasattr(relation, "columns"):
        raise TableError("cannot read a DuckDB connection", next_step="give a relation: connection.sql('FROM t')")
    with engine_errors("the relation"):
        refuse_duplicates("DuckDB relation", relation.columns)
        return Source(DuckDBEngine(_texts_as_texts(relation)), "duckdb", "table")


def _texts_as_texts(relation: Any) -> Any:
    """Return a relation whose UUIDs are texts: that is how they are shown, but not how DuckDB compares them."""
    kinds = zip(relation.columns, relation.types, strict=True)
    names = ['"' + name.replace('"', '""') + '"' for name, kind in kinds if str(kind) == "UUID"]
    casts = ", ".join(f"CAST({name} AS VARCHAR) AS {name}" for name in names)
    return relation.project(f"* REPLACE ({casts})") if casts else relation


def _open_ibis(table: Any) -> Source:
    if not hasattr(table, "schema"):
        raise TableError(f"cannot read a {type(table).__name__}", next_step="give an Ibis table expression")
    return Source(IbisEngine(table), "ibis", "table")


def _open_spark(frame: Any) -> Source:
    try:
        import ibis
        import pyspark  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ImportError as error:  # pragma: no cover - a Spark frame without pyspark cannot exist
        raise MissingExtra("Spark tables need pyspark", next_step="pip install 'sfumato[spark]'") from error
    name = f"sfumato_source_{id(frame)}"
    frame.createOrReplaceTempView(name)
    return Source(IbisEngine(ibis.pyspark.connect(frame.sparkSession).table(name)), "spark", "table")


def _spill_folder() -> str:
    """Return where an engine may put rows that do not fit into memory: a folder (0700) for nobody else's eyes.

    It lies in the temporary folder that TMPDIR names, and is gone when the program ends.
    """
    return _folder_of(os.getpid())


@lru_cache(maxsize=8)
def _folder_of(process: int) -> str:
    try:
        folder = tempfile.mkdtemp(prefix="sfumato-")
    except OSError as error:
        step = "make room there, or set TMPDIR to a folder that you may write to"
        raise TableError(f"there is no temporary folder to use: {error.strerror}", next_step=step) from error
    atexit.register(_remove, folder, process)
    return folder


def _remove(folder: str, process: int) -> None:
    """Remove the folder, unless this is a copy of the process that made it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
