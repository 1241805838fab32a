"""A new engine or a new file format takes one module and one line in a registry: here both are added by a test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa

from sfumato.schema import Schema
from sfumato.schema.dialect import FILE_FORMATS, Dialect, FileFormat
from sfumato.table import read
from sfumato.table.engines import ENGINES
from sfumato.table.engines.engine import Engine
from sfumato.table.scan_plan import DataRequest, ScanPlan, group_by_scan
from sfumato.table.sources import file_format
from sfumato.table.sources.frames import arrow_engine
from sfumato.table.sources.source import Source

FACTS = """
[table]
name = "t"
[confirmed]
by = "a test"
on = 2026-01-01
[columns.age]
kind = "integer"
bounds = [0, 9]
[columns.sex]
kind = "category"
values = ["f", "m"]
"""
ROWS = pa.table({"age": [1, 2, 2, 9], "sex": ["f", "m", "m", "f"]})
SETS = [("age", "sex"), ("sex",)]


@dataclass(frozen=True)
class SixMembers(Engine):
    """An engine that states what the protocol asks for and nothing else: it groups its rows itself."""

    expression: Any

    @property
    def table(self) -> Any:
        return self.expression

    @property
    def streams(self) -> bool:
        return False

    @property
    def title(self) -> str:
        return "Toy"

    def scan_plan(self, ask: DataRequest, schema: Schema) -> ScanPlan:
        return group_by_scan(ask, schema, "toy")

    def aggregate(self, expression: Any) -> Any:
        return expression.to_pyarrow()

    def batches(self, expression: Any) -> Iterator[Any]:
        yield from expression.to_pyarrow_batches()


def open_lines(paths: Sequence[str], dialect: Dialect, kind: str) -> Source:
    """Read a toy format: an age and a sex on each line below the first."""
    lines = [line.split() for line in Path(paths[0]).read_text().splitlines()[1:]]
    table = pa.table({"age": [int(age) for age, _ in lines], "sex": [sex for _, sex in lines]})
    return Source(arrow_engine(table), "arrow", "table", dialect=dialect)


def test_an_engine_is_a_class_and_one_line(monkeypatch):
    monkeypatch.setitem(ENGINES, "duckdb", f"{__name__}:SixMembers")
    schema, connection = Schema.parse(FACTS), ibis.duckdb.connect()
    connection.raw_sql("CREATE TABLE people AS FROM (VALUES (1, 'f'), (2, 'm'), (2, 'm'), (9, 'f')) AS v(age, sex)")
    table = read(connection.table("people"), schema)
    assert table.source.engine.title == "Toy" and table.violations == ()
    here = read(ROWS, schema).marginals(SETS)
    assert all(np.array_equal(counts, here[names]) for names, counts in table.marginals(SETS).items())


def test_a_format_is_a_function_and_one_line(monkeypatch, tmp_path):
    monkeypatch.setitem(FILE_FORMATS, "toy", FileFormat(f"{__name__}:open_lines", (b"TOY!",)))
    monkeypatch.setitem(file_format.READABLE, b"TOY!", "toy")
    path, schema = tmp_path / "people.toy", Schema.parse(FACTS)
    path.write_text("TOY!\n1 f\n2 m\n2 m\n9 f\n")
    table = read(path, schema)
    assert table.source.dialect.format == "toy"
    assert np.array_equal(table.marginals(SETS)["sex",], [2, 2])
