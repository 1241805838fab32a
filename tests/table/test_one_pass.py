"""All tables in one pass of PostgreSQL give the very counts of DuckDB, and what fails there is counted one by one."""

from __future__ import annotations

from datetime import date

import ibis
import numpy as np
import pyarrow as pa
import pytest

from sfumato import Schema, read
from sfumato.errors import SlowCountingWarning, TableError
from sfumato.table import counting, scan_plan
from sfumato.table.engines import ibis as one_pass
from sfumato.table.scan_plan import DataRequest

ODD = 'a "quoted" %s; name'
FACTS = f"""
[table]
name = "visits"
person = "who"
rows_per_person = 2
[confirmed]
by = "a test"
on = 2026-01-01
[columns.who]
kind = "integer"
bounds = [0, 100000]
[columns.'{ODD}']
kind = "category"
values = ["x", "it's", "100 %", "ü"]
missing = true
[columns.weight]
kind = "number"
bounds = [0, 10]
edges = [0, 0.5, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9.5, 10]
missing = true
outside = "clamp"
[columns.age]
kind = "integer"
bounds = [0, 20]
[columns.seen]
kind = "date"
bounds = [2020-01-01, 2021-12-31]
edges = [2020-01-01, 2020-07-01, 2021-01-01, 2021-07-01]
[columns.paid]
kind = "boolean"
missing = true
[[rules]]
check = "age >= 0"
"""
NAMES = (ODD, "weight", "age", "seen", "paid")
SETS = [(ODD, "weight"), ("age", "seen", "paid"), ("seen",), ("paid", ODD), ("weight", "age"), ("age", "seen")]


def visits(rows: int = 3000) -> pa.Table:
    rng = np.random.default_rng(5)
    days = rng.integers(date(2020, 1, 1).toordinal(), date(2021, 12, 31).toordinal() + 1, rows)
    weight = np.where(rng.random(rows) < 0.1, np.nan, np.round(rng.normal(5, 4, rows), 1))
    return pa.table(
        {
            "who": pa.array(rng.integers(0, rows // 3, rows)),
            ODD: pa.array(np.array(["x", "it's", "100 %", "ü", None], object)[rng.integers(0, 5, rows)]),
            "weight": pa.array(weight, from_pandas=True),
            "age": pa.array(rng.integers(0, 21, rows)),
            "seen": pa.array([date.fromordinal(int(day)) for day in days]),
            "paid": pa.array(np.array([True, False, None], object)[rng.integers(0, 3, rows)]),
        }
    )


@pytest.fixture(scope="module")
def schema() -> Schema:
    return Schema.parse(FACTS)


@pytest.fixture(scope="module")
def in_postgresql(postgres_url):
    connection = ibis.connect(postgres_url)
    connection.create_table("visits_at_once", visits().rename_columns(["who", "odd", *NAMES[1:]]))
    odd = ODD.replace('"', '""')  # Ibis itself cannot insert into a column of this name
    connection.raw_sql(f'ALTER TABLE visits_at_once RENAME COLUMN odd TO "{odd}"').close()
    yield connection.table("visits_at_once")
    connection.disconnect()


def one_by_one(monkeypatch) -> None:
    monkeypatch.setattr(one_pass, "GROUPING_SETS_BACKENDS", ())


@pytest.mark.postgres
def test_one_query_counts_as_duckdb_does(in_postgresql, schema, monkeypatch):
    asked: list[str] = []
    count = one_pass.count_grouping_sets
    monkeypatch.setattr(counting, "GROUPED_CELLS", 300)  # several covering tables
    monkeypatch.setattr(one_pass, "count_grouping_sets", lambda *args: asked.append("once") or count(*args))
    monkeypatch.setattr(counting, "_count_one_by_one", lambda *_: pytest.fail("tables were counted one by one"))
    theirs, ours = read(in_postgresql, schema).marginals(SETS), read(visits(), schema).marginals(SETS)
    assert asked == ["once"]
    monkeypatch.setattr(scan_plan, "GROUPED_CELLS", 300)
    said = read(in_postgresql, schema).source.engine.scan_plan(DataRequest("tables", sets=tuple(SETS)), schema)
    assert said.passes == 1 and said.leaves == "counts" and "GROUPING SETS" in said.where
    for names in SETS:
        assert np.array_equal(theirs[names], ours[names]), names
    assert ours["seen",].sum() < 3000, "the bound on rows of a person must bite"


@pytest.mark.postgres
def test_many_tables_take_several_queries(in_postgresql, schema, monkeypatch):
    monkeypatch.setattr(counting, "GROUPED_CELLS", 300)
    monkeypatch.setattr(one_pass, "MOST_SETS", 2)
    theirs, ours = read(in_postgresql, schema).marginals(SETS), read(visits(), schema).marginals(SETS)
    assert all(np.array_equal(theirs[names], ours[names]) for names in SETS)


@pytest.mark.postgres
def test_a_query_that_fails_is_followed_by_group_bys(in_postgresql, schema, monkeypatch):
    monkeypatch.setattr(counting, "GROUPED_CELLS", 300)
    monkeypatch.setattr(one_pass, "grouping_sets_query", lambda *_: "SELECT 1 AS cell, nothing AS times")
    with pytest.warns(SlowCountingWarning, match="one after the other"):
        theirs = read(in_postgresql, schema).marginals(SETS)
    ours = read(visits(), schema).marginals(SETS)
    assert all(np.array_equal(theirs[names], ours[names]) for names in SETS)


@pytest.mark.postgres
def test_values_outside_are_refused_in_the_same_words(in_postgresql, schema, monkeypatch):
    monkeypatch.setattr(counting, "GROUPED_CELLS", 300)
    narrow = schema.replace_columns({"age": {"bounds": (0, 17)}, ODD: {"values": ("x", "it's", "ü")}})
    with pytest.raises(TableError) as at_once:
        read(in_postgresql, narrow).marginals(SETS)
    one_by_one(monkeypatch)
    with pytest.raises(TableError, match="outside the schema"):
        read(in_postgresql, narrow).marginals(SETS)
    with pytest.raises(TableError) as here:
        read(visits(), narrow).marginals(SETS)
    assert str(at_once.value) == str(here.value) and "age" in str(here.value)


def test_only_engines_that_group_by_themselves_are_asked(schema):
    assert read(visits(), schema).source.engine.count_in_one_query(schema, SETS) is None
