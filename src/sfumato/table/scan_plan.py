"""Data a method needs from the rows and how each engine delivers it: where, and in how many passes.

All of it follows from public facts, so a plan can say it before anything is read. Engines answer in their own words
(:meth:`~sfumato.table.engines.engine.Engine.answer`); what several of them have in common stands here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sfumato.schema import Schema
from sfumato.table.marginal_cover import ColumnSet, marginal_cover

Kind = Literal["check", "tables", "cells", "rows"]
"""Does the table fit its schema? Counts of many column sets at once; cells that hold rows; the rows themselves."""
Transferred = Literal["nothing", "counts", "distinct rows", "rows"]
"""What comes out of an engine to this process, before any noise."""
GROUPED_CELLS = 1_000_000
"""Cells of a covering table where every table costs a pass of its own: they may be larger than in a cache."""
LARGEST_SEARCH = 900_000
"""Sets times columns beyond which covering tables are not looked for: that would take minutes."""
GROUPING_SETS_BACKENDS = (
    "postgres",
    "pyspark",
    "databricks",
    "trino",
    "athena",
    "snowflake",
    "bigquery",
    "mssql",
    "oracle",
    "exasol",
)
"""Backends of Ibis whose SQL has GROUPING SETS. Tried are PostgreSQL and Spark; where a query fails, tables are grouped
one by one."""
MOST_SETS = 64
"""Tables of one query: each has a hash table of its own in the engine."""


@dataclass(frozen=True)
class DataRequest:
    """One thing that a method asks of the rows."""

    what: str
    """A few words, such as "one-way tables"."""
    kind: Kind = "tables"
    sets: tuple[ColumnSet, ...] = ()
    """The column sets that are counted together."""
    times: int = 1
    """How often it is asked."""
    at_most: bool = False
    """Whether noisy answers decide, so that it may be asked less often."""
    public_sizes: bool = True
    """Whether the cells of the sets are those of the schema; where not, they are finer, or noisy answers fix them."""


@dataclass(frozen=True)
class ScanPlan:
    """How an engine answers one question."""

    where: str
    passes: int
    at_most: bool = False
    leaves: Transferred = "counts"


def local_scan(ask: DataRequest, extra: int = 0) -> ScanPlan:
    """Return the answer of an engine that runs in this process: one pass for everything that is asked at once."""
    where = {"tables": "in this process, by compiled loops", "cells": "in this process, by GROUP BY"}
    words = where.get(ask.kind, "in this process")
    return ScanPlan(words, ask.times + extra, ask.at_most or extra > 0, "nothing")


def group_by_scan(ask: DataRequest, schema: Schema, backend: str) -> ScanPlan:
    """Return the answer of an engine that groups its rows itself: all tables at once where its SQL can."""
    engine = backend_title(backend)
    if ask.kind == "rows":
        return ScanPlan(f"{engine} reads, this process sums up", ask.times, ask.at_most, "rows")
    if ask.kind == "check":
        return ScanPlan(f"inside {engine}, one query", ask.times, ask.at_most, "counts")
    if ask.kind == "cells":
        return ScanPlan(f"inside {engine}, by GROUP BY", ask.times, ask.at_most, "distinct rows")
    number, sure = covering_marginals(ask, schema)
    if backend in GROUPING_SETS_BACKENDS and number > 1:
        queries = -(-number // MOST_SETS)
        words = f"inside {engine}, all tables in one query (GROUPING SETS)"
        return ScanPlan(words, ask.times * queries, ask.at_most or (not sure and queries > 1), "counts")
    words = f"inside {engine}, by GROUP BY, one for each covering table"
    return ScanPlan(words, ask.times * number, ask.at_most or not sure, "counts")


def covering_marginals(ask: DataRequest, schema: Schema) -> tuple[int, bool]:
    """Return how many tables hold all that is asked for, and whether that is sure; else it is the most there can be."""
    sets = tuple(dict.fromkeys(ask.sets))
    names = {name for columns in sets for name in columns}
    if not sets:
        return 1, not ask.at_most
    if not ask.public_sizes or len(sets) * len(names) > LARGEST_SEARCH:
        return len(sets), False
    return len(
        marginal_cover({name: schema[name].size for name in schema.names if name in names}, sets, GROUPED_CELLS)
    ), True


TITLES: Mapping[str, str] = {
    "duckdb": "DuckDB",
    "postgres": "PostgreSQL",
    "pyspark": "Spark",
    "bigquery": "BigQuery",
    "snowflake": "Snowflake",
    "mysql": "MySQL",
    "mssql": "SQL Server",
    "sqlite": "SQLite",
    "polars": "Polars",
    "clickhouse": "ClickHouse",
    "trino": "Trino",
}


def backend_title(backend: str) -> str:
    """Return how people call a backend of Ibis.

    >>> backend_title("postgres"), backend_title("impala")
    ('PostgreSQL', 'impala')
    """
    return TITLES.get(backend, backend)
