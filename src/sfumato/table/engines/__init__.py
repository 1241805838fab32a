"""Engines: DuckDB, Spark and every Ibis backend behind one protocol."""

from __future__ import annotations

from typing import Any

from sfumato.lazy import load_object
from sfumato.table.engines.engine import Engine

ENGINES = {"pyspark": "sfumato.table.engines.spark:SparkEngine"}
"""Backends of Ibis with an engine of their own; :class:`~sfumato.table.engines.ibis.IbisEngine` serves all others."""


def engine_over(table: Any) -> Engine:
    """Return the engine of an Ibis table expression."""
    home = ENGINES.get(table.get_backend().name, "sfumato.table.engines.ibis:IbisEngine")
    return load_object(home)(table)
