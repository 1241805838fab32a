"""Open pandas, polars and Arrow frames, DuckDB relations, Ibis and Spark tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sfumato.errors import MissingExtra, TableError
from sfumato.table.engines import engine_over
from sfumato.table.engines.duckdb import DuckDBEngine
from sfumato.table.engines.engine import Engine, engine_errors
from sfumato.table.sources.foreign import arrow_from_pandas, is_open_type
from sfumato.table.sources.normalise_text import sql_identifier
from sfumato.table.sources.scratch_space import connect
from sfumato.table.sources.source import FORMATS, Source, require_unique_columns


def open_frame(source: Any, infer: bool = True) -> Source:
    """Return an engine over a frame, a relation or a table expression.

    Without ``infer`` a column of pandas whose type its rows decide (objects, true and false) holds texts.
    """
    package = type(source).__module__.split(".")[0]
    openers: dict[str, Callable[[Any], Source]] = {
        "pandas": partial(_open_pandas, infer=infer),
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


def _open_pandas(frame: Any, infer: bool) -> Source:
    _require_frame(frame)
    require_unique_columns("pandas frame", [str(name) for name in frame.columns])
    types = "rows" if infer and any(is_open_type(dtype) for dtype in frame.dtypes) else "declared"
    return Source(arrow_engine(arrow_from_pandas(frame, infer)), "pandas", "table", types=types)


def _require_frame(frame: Any) -> None:
    if not hasattr(frame, "columns") or not hasattr(frame, "__getitem__"):
        step = "give a frame with named columns; a series becomes one with .to_frame()"
        raise TableError(f"cannot read a {type(frame).__name__}", next_step=step)


def _open_polars(frame: Any) -> Source:
    with engine_errors("the frame"):
        eager = frame.collect() if hasattr(frame, "collect") else frame
    _require_frame(eager)
    return Source(arrow_engine(eager.to_arrow()), "polars", "table")


def _open_arrow(table: Any) -> Source:
    import pyarrow as pa

    if isinstance(table, pa.RecordBatchReader | pa.RecordBatch):
        table = table.read_all() if isinstance(table, pa.RecordBatchReader) else pa.Table.from_batches([table])
    if not isinstance(table, pa.Table):
        raise TableError(f"cannot read a {type(table).__name__}", next_step=f"give one of: {FORMATS}")
    require_unique_columns("Arrow table", table.column_names)
    return Source(arrow_engine(table), "arrow", "table")


def arrow_engine(table: Any) -> Engine:
    """Return an engine over an Arrow table."""
    with engine_errors("the frame"):
        return DuckDBEngine(connect().from_arrow(table))


def _open_duckdb(relation: Any) -> Source:
    if not hasattr(relation, "query") or not hasattr(relation, "columns"):
        raise TableError("cannot read a DuckDB connection", next_step="give a relation: connection.sql('FROM t')")
    with engine_errors("the relation"):
        require_unique_columns("DuckDB relation", relation.columns)
        return Source(DuckDBEngine(uuids_as_text(relation)), "duckdb", "table")


def uuids_as_text(relation: Any) -> Any:
    """Return a relation whose UUIDs are texts: that is how they are shown, but not how DuckDB compares them."""
    kinds = zip(relation.columns, relation.types, strict=True)
    names = [sql_identifier(name) for name, kind in kinds if str(kind) == "UUID"]
    casts = ", ".join(f"CAST({name} AS VARCHAR) AS {name}" for name in names)
    return relation.project(f"* REPLACE ({casts})") if casts else relation


def _open_ibis(table: Any) -> Source:
    if not hasattr(table, "schema"):
        raise TableError(f"cannot read a {type(table).__name__}", next_step="give an Ibis table expression")
    with engine_errors("the table"):
        return Source(engine_over(table), "ibis", "table")


def _open_spark(frame: Any) -> Source:
    try:
        import ibis
        import pyspark  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ImportError as error:  # pragma: no cover - a Spark frame without pyspark cannot exist
        raise MissingExtra("Spark tables need pyspark", next_step="pip install 'sfumato[spark]'") from error
    name = f"sfumato_source_{id(frame)}"
    frame.createOrReplaceTempView(name)
    return Source(engine_over(ibis.pyspark.connect(frame.sparkSession).table(name)), "spark", "table")
