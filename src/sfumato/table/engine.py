"""Engines: where the rows live and how aggregates of them are computed."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from sfumato.errors import TableError

BATCH_ROWS = 1 << 17
RELATION = "relation"


class Engine(Protocol):
    """Something that holds raw columns and answers aggregates; local ones also stream rows in batches."""

    @property
    def table(self) -> Any:
        """The raw columns as an Ibis table expression."""
        ...

    @property
    def streams(self) -> bool:
        """Whether rows can be streamed cheaply to this process; remote engines push the counting down."""
        ...

    def aggregate(self, expression: Any) -> Any:
        """Return a small result as an Arrow table."""
        ...

    def batches(self, expression: Any) -> Iterator[Any]:
        """Stream a result as Arrow record batches."""
        ...


@dataclass(frozen=True)
class IbisEngine:
    """A table of any Ibis backend: Spark, PostgreSQL, the warehouses, or the user's own DuckDB."""

    table: Any

    @property
    def streams(self) -> bool:
        """DuckDB runs in this process, so streaming beats SQL grouping; others keep their rows."""
        return self.table.get_backend().name == "duckdb"

    def aggregate(self, expression: Any) -> Any:
        """Return a small result as an Arrow table."""
        with engine_errors("the table"):
            return expression.to_pyarrow()

    def batches(self, expression: Any) -> Iterator[Any]:
        """Stream a result as Arrow record batches."""
        with engine_errors("the table"):
            yield from expression.to_pyarrow_batches(chunk_size=BATCH_ROWS)


@dataclass(frozen=True)
class DuckDBEngine:
    """A DuckDB relation: files and frames opened here, or the user's own, queried inside its own connection."""

    relation: Any

    @cached_property
    def table(self) -> Any:
        """An unbound Ibis table with the relation's columns; SQL is compiled from it and run by DuckDB."""
        import ibis

        with engine_errors("the table"):
            columns = self.relation.limit(0).to_arrow_table().schema
        return ibis.table(ibis.Schema.from_pyarrow(columns), name=RELATION)

    @property
    def streams(self) -> bool:
        """DuckDB runs in this process."""
        return True

    def _run(self, expression: Any) -> Any:
        import ibis

        return self.relation.query(RELATION, str(ibis.to_sql(expression, dialect="duckdb")))

    def aggregate(self, expression: Any) -> Any:
        """Return a small result as an Arrow table."""
        with engine_errors("the table"):
            return self._run(expression).to_arrow_table()

    def batches(self, expression: Any) -> Iterator[Any]:
        """Stream a result as Arrow record batches."""
        with engine_errors("the table"):
            yield from self._run(expression).to_arrow_reader(BATCH_ROWS)


@contextmanager
def engine_errors(where: str) -> Generator[None]:
    """Turn what an engine raises while reading into a :class:`TableError` about the user's table."""
    import duckdb
    import pyarrow as pa

    try:
        yield
    except (duckdb.Error, pa.ArrowInvalid, OSError, UnicodeDecodeError) as error:
        raise TableError(f"cannot read {where}: {_plain(error)}", next_step=_advice(str(error))) from error


def _plain(error: Exception) -> str:
    """Keep the engine's facts (line, column, reason) and drop its advice about its own settings."""
    message = re.sub(r"Possible (fixes|solutions?):.*", "", str(error), flags=re.DOTALL)
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return "; ".join(lines[:4])[:600]


def _advice(message: str) -> str:
    lowered = message.lower()
    if "utf-8" in lowered or "unicode" in lowered:
        return "save the file as UTF-8, for example: iconv -f latin1 -t utf-8 IN > OUT"
    if "columns" in lowered and "csv" in lowered:
        return "every line needs as many fields as the header; quote fields that hold the delimiter"
    return "check that the file is complete and of the format that its name says"
