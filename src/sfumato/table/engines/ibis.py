"""Any Ibis backend as an engine: GROUP BY, or GROUPING SETS for many marginals in one pass.

A GROUP BY for each table reads the rows and computes their codes again each time. Here the engine computes the codes of
a row once, and from them one whole number for each table: the cell that the row falls into. GROUPING SETS count all of
these columns of numbers while the rows are read once; only cells with their counts come back. Ibis writes the SQL of
the codes, which is all that depends on the table; what is put around it here names columns ``c0``, ``c1`` and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.schema import Schema
from sfumato.table.column_expressions import code_expression, has_many_levels
from sfumato.table.count_buffer import BufferLayout
from sfumato.table.engines.engine import BATCH_ROWS, Engine, OneQueryCounts, engine_errors, streamed_scan
from sfumato.table.marginal_cover import ColumnSet
from sfumato.table.persons import kept_rows
from sfumato.table.scan_plan import (
    GROUPING_SETS_BACKENDS,
    MOST_SETS,
    DataRequest,
    ScanPlan,
    backend_title,
    group_by_scan,
)

OPTIMIZER_FENCES = {"postgres": " OFFSET 0"}
"""What keeps an engine from computing the codes anew for every table that they are part of."""
CELL, TIMES = "cell", "times"


@dataclass(frozen=True)
class IbisEngine(Engine):
    """A table of any Ibis backend: Spark, PostgreSQL, the warehouses, or the user's own DuckDB."""

    expression: Any

    @property
    def table(self) -> Any:
        """The table expression, which its backend runs."""
        return self.expression

    @property
    def backend(self) -> str:
        """The name of the backend, as Ibis has it."""
        return str(self.expression.get_backend().name)

    @property
    def streams(self) -> bool:
        """DuckDB runs in this process, so streaming beats SQL grouping; others keep their rows."""
        return self.backend == "duckdb"

    @property
    def title(self) -> str:
        """The name of the backend."""
        return backend_title(self.backend)

    def scan_plan(self, ask: DataRequest, schema: Schema) -> ScanPlan:
        """DuckDB answers as it does for files; others group their rows themselves."""
        return streamed_scan(self, ask, schema) if self.streams else group_by_scan(ask, schema, self.backend)

    def aggregate(self, expression: Any) -> Any:
        """Return a small result as an Arrow table."""
        with engine_errors("the table"):
            return expression.to_pyarrow()

    def batches(self, expression: Any) -> Iterator[Any]:
        """Stream a result as Arrow record batches."""
        with engine_errors("the table"):
            yield from expression.to_pyarrow_batches(chunk_size=BATCH_ROWS)

    def count_in_one_query(self, schema: Schema, sets: Sequence[ColumnSet]) -> OneQueryCounts | None:
        """Count by GROUPING SETS where the backend has them; values of very many levels are coded here, not there."""
        many_levels = any(has_many_levels(schema[name]) for members in sets for name in members)
        if len(sets) < 2 or self.backend not in GROUPING_SETS_BACKENDS or many_levels:
            return None
        return separate_outside_domain(count_grouping_sets(self, schema, sets))


def count_grouping_sets(
    engine: IbisEngine, schema: Schema, sets: Sequence[ColumnSet]
) -> dict[ColumnSet, NDArray[np.int64]]:
    """Return the counts of every table, each with a first place on every axis for values outside the domain."""
    tables: dict[ColumnSet, NDArray[np.int64]] = {}
    for first in range(0, len(sets), MOST_SETS):
        part = sets[first : first + MOST_SETS]
        answer = engine.aggregate(
            engine.table.get_backend().sql(grouping_sets_query(engine, schema, part), schema=_answers())
        )
        cells, times = (answer.column(name).to_numpy().astype(np.int64) for name in (CELL, TIMES))
        layout = layout_of(schema, part)
        counts = np.zeros(layout.cells, np.int64)
        np.add.at(counts, cells, times)
        tables |= layout.tables(counts, part)
    return tables


def _answers() -> Any:
    import ibis

    return ibis.schema({CELL: "int64", TIMES: "int64"})


def layout_of(schema: Schema, sets: Sequence[ColumnSet]) -> BufferLayout:
    """Return where each table lies in one long row of cells; every axis has a place more, the first."""
    names = _names(sets)
    places = {name: place for place, name in enumerate(names)}
    return BufferLayout.of([schema[name].size + 1 for name in names], [[places[name] for name in s] for s in sets])


def _names(sets: Sequence[ColumnSet]) -> list[str]:
    return list(dict.fromkeys(name for members in sets for name in members))


def grouping_sets_query(engine: IbisEngine, schema: Schema, sets: Sequence[ColumnSet]) -> str:
    """Return the SQL that counts all tables: codes, then the cells of each row, then GROUPING SETS of these."""
    backend, names = engine.table.get_backend(), _names(sets)
    raw = kept_rows(engine.table, schema)
    codes = {f"c{place}": code_expression(raw[name], schema[name]) for place, name in enumerate(names)}
    quote = _quoter(backend.dialect)
    table = f"({backend.compile(raw.select(**codes))}{OPTIMIZER_FENCES.get(backend.name, '')})"
    layout = layout_of(schema, sets)
    cells = [quote(f"s{place}") for place in range(len(sets))]
    computed = ", ".join(f"{_cell(layout, s, quote)} AS {name}" for s, name in enumerate(cells))
    chosen = f"COALESCE({', '.join(cells)}) AS {quote(CELL)}, COUNT(*) AS {quote(TIMES)}"
    inner = f"SELECT {computed} FROM {table} {quote('codes')}"  # noqa: S608  no text of a user: Ibis wrote the codes
    wanted = ", ".join(f"({name})" for name in cells)
    return f"SELECT {chosen} FROM ({inner}) {quote('cells')} GROUP BY GROUPING SETS ({wanted})"  # noqa: S608


def _quoter(dialect: Any) -> Any:
    import sqlglot as sg

    return lambda name: sg.to_identifier(name, quoted=True).sql(dialect)


def _cell(layout: BufferLayout, place: int, quote: Any) -> str:
    """Return the cell of a table that a row falls into, in SQL; codes begin at -1, so each is moved by one."""
    part = slice(int(layout.pointers[place]), int(layout.pointers[place + 1]))
    columns, strides = layout.columns[part].tolist(), layout.strides[part].tolist()
    base = int(layout.offsets[place]) + sum(strides)
    return " + ".join(
        [str(base), *(f"{quote(f'c{c}')} * {stride}" for c, stride in zip(columns, strides, strict=True))]
    )


def separate_outside_domain(tables: dict[ColumnSet, NDArray[np.int64]]) -> OneQueryCounts:
    """Return tables of the public domains alone, and how many values of each column lie outside."""
    outside: dict[str, int] = {}
    for names, table in tables.items():
        for axis, name in enumerate(names):
            outside[name] = int(np.take(table, 0, axis=axis).sum())
    return {names: table[tuple(slice(1, None) for _ in names)] for names, table in tables.items()}, outside
