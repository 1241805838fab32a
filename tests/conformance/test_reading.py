"""Every registered method says what runs where and how often it passes over the rows, and that is what happens."""

from __future__ import annotations

import dataclasses
import json
from types import SimpleNamespace

import pytest

import sfumato
from sfumato.core.data_access import LEAVING, data_access_of
from sfumato.core.method import Method, methods, published_methods
from sfumato.table.engines.duckdb import DuckDBEngine
from sfumato.table.engines.ibis import IbisEngine
from sfumato.table.engines.spark import SparkEngine
from sfumato.table.scan_plan import group_by_scan

ALL = {**methods(), **published_methods()}
COLUMNS = ("region", "age", "sex", "income", "persons")
SUMS = {"grid", "cluster-geometry", "mean-curve", "two-stage", "pseudo-posterior"}
"""Formal methods that sum rows up: rows come to this process from an engine elsewhere."""


@pytest.fixture(scope="module")
def few(schema):
    return dataclasses.replace(schema, columns=tuple(schema[name] for name in COLUMNS), rules=())


def told(name: str, few, engine=None):
    table = None if engine is None else SimpleNamespace(source=SimpleNamespace(engine=engine))
    return data_access_of(ALL[name].cls.example(few), few, table)


def elsewhere(kind: type, backend: str):
    return kind(SimpleNamespace(get_backend=lambda: SimpleNamespace(name=backend)))


@pytest.mark.parametrize("name", ALL)
def test_every_method_answers_for_every_engine(name, few):
    local, spark, postgres = (
        told(name, few, engine)
        for engine in (None, elsewhere(SparkEngine, "pyspark"), elsewhere(IbisEngine, "postgres"))
    )
    assert (local.engine, spark.engine, postgres.engine) == ("a file on this machine", "Spark", "PostgreSQL")
    assert local.leaves == "nothing" and {spark.leaves, postgres.leaves} <= set(LEAVING) - {"nothing"}
    rows = name in SUMS or name.endswith("as-published")
    assert (spark.leaves == "rows") is (postgres.leaves == "rows") is rows
    assert len(local.steps) == len(spark.steps) > 1 and postgres.passes >= len(postgres.steps)
    for reading in (local, spark, postgres):
        assert reading.engine in reading.where() and LEAVING[reading.leaves] in reading.how_often()
        assert f"{reading.passes}" in reading.how_often() or reading.passes == 1


@pytest.mark.parametrize(
    ("name", "grouping"), [(name, False) for name in ALL] + [(name, True) for name in methods() if name not in SUMS]
)
def test_the_rows_are_passed_over_as_often_as_was_said(name, few, frame, grouping, monkeypatch):
    """Counted where queries are sent; ``grouping`` stands for an engine that groups its rows itself."""
    method, seen = ALL[name].cls.example(few), []
    for asked in ("batches", "aggregate"):
        real = getattr(DuckDBEngine, asked)
        monkeypatch.setattr(DuckDBEngine, asked, lambda self, e, real=real: seen.append(e) or real(self, e))
    if grouping:
        monkeypatch.setattr(DuckDBEngine, "streams", property(lambda self: False))
        monkeypatch.setattr(DuckDBEngine, "scan_plan", lambda self, ask, schema: group_by_scan(ask, schema, "mysql"))
    table = sfumato.read(frame, few)
    plan = sfumato.plan(table, method)
    assert plan.reading is not None and seen == []
    sfumato.release(table, method, ledger=False, seed=3)
    assert len(seen) <= plan.reading.passes, plan.reading.how_often()
    assert plan.reading.at_most or len(seen) == plan.reading.passes, plan.reading.how_often()


def test_the_screen_and_the_document_say_it(few, tmp_path, monkeypatch, capsys):
    from sfumato.cli.main import run

    (tmp_path / "s.toml").write_text(few.to_toml())
    call = ["sfumato", "plan", "--schema", str(tmp_path / "s.toml"), "--method", "mst", "--epsilon", "1"]
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setattr("sys.argv", call)
    assert run() == 0
    printed = capsys.readouterr().out
    assert "runs on:   a file on this machine: in this process, by compiled loops" in printed
    assert "1 for one-way tables, 1 for pairs); rows and counts stay in this process" in printed
    monkeypatch.setattr("sys.argv", [*call, "--json"])
    assert run() == 0
    reading = json.loads(capsys.readouterr().out)["reading"]
    assert [step["what"] for step in reading["steps"]][1:] == ["one-way tables", "pairs"]
    assert reading["at_most"] and reading["passes"] == 4


def test_a_method_that_does_not_say_is_planned_all_the_same(few):
    class Silent:
        name, summary, about, formal, makes = "silent", "", "", True, "counts"
        plan, run, example = (getattr(sfumato.Histogram, each) for each in ("plan", "run", "example"))
        measurement, column, epsilon, delta, noise = sfumato.Histogram.measurement, "sex", 1.0, None, None

    silent = Silent()
    assert isinstance(silent, Method)
    made = sfumato.plan(few, silent)
    assert made.reading is None and "reads" not in dict(made._lines())


def test_words_of_a_plan_are_beside_its_fields(few, frame):
    method = sfumato.Contingency(["sex", "age"], epsilon=1.0)
    from_schema, from_table = sfumato.plan(few, method), sfumato.plan(sfumato.read(frame, few), method)
    assert from_schema == from_table and from_table.reading.engine == "DuckDB"
    assert dict(from_table._lines())["runs on"].startswith("DuckDB: in this process")


def test_very_many_cells_take_more_passes():
    column = '\n[columns.{}]\nkind="integer"\nbounds=[0,99999]\nbins=3000\n'
    wide = sfumato.Schema.parse('[table]\nname="t"' + "".join(column.format(name) for name in "abc"))
    method = sfumato.AIM(epsilon=1.0, bins="schema", workload="2-way")
    from sfumato.mechanisms.graphical.plan import scans

    asks = scans(method.planned(wide))
    assert [(ask.what, ask.kind, ask.times) for ask in asks] == [
        ("one-way tables", "tables", 1),
        ("pairs", "tables", 1),
        ("very large pairs", "cells", 3),
    ]
