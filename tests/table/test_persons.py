"""Rows without a person never share one person's allowance, whatever engine holds them and however it says "none"."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import Histogram, Ledger, Schema, read, release
from sfumato.errors import TableError
from table.kept_cases import counted, rows

VISITS = Schema.parse("""
[table]
name = "visits"
person = "id"
rows_per_person = 1
[columns.id]
kind = "category"
role = "identifier"
[columns.a]
kind = "category"
values = ["x", "y", "z"]
""")
NAN = float("nan")
IDS, A = [1.0, 2.0, NAN, NAN, NAN], ["x", "x", "x", "y", "y"]
ARROW = pa.table({"id": IDS, "a": A})


def refuses_nobody(source, rows: int = 3) -> None:
    """The check counts the rows without a person, and a release is refused before anything is spent."""
    table = read(source, VISITS)
    (violation,) = table.check()
    assert violation.column == "id"
    assert violation.count == rows
    assert "without a person" in violation.problem
    with pytest.raises(TableError, match="without a person"):
        release(table, Histogram("a", epsilon=1), seed=1)


def frame(ids) -> pd.DataFrame:
    return pd.DataFrame({"id": pd.Series(ids) if isinstance(ids, list) else ids, "a": A})


def objects(*ids) -> pd.DataFrame:
    return frame(pd.Series(ids, dtype=object))


MEMORY = {
    "arrow": ARROW,
    "arrow float32": pa.table({"id": pa.array(IDS, pa.float32()), "a": A}),
    "arrow dictionary": pa.table({"id": pa.array(IDS).dictionary_encode(), "a": A}),
    "polars": pl.from_arrow(ARROW),
    "lazy polars": pl.from_arrow(ARROW).lazy(),
    "pandas": ARROW.to_pandas(),
    "pandas nullable": frame(pd.array([1, 2, None, None, None], dtype="Int64")),
    "pandas floats of its own": frame(pd.array([1, 2, NAN, None, None], dtype="Float64")),
    "pandas on arrow": frame(pd.array([1, 2, NAN, NAN, None], dtype="double[pyarrow]")),
    "pandas categories": frame(pd.Categorical(IDS)),
    "pandas times": frame(pd.to_datetime(["2020-01-01", "2020-01-02", None, None, None])),
    "pandas objects": objects("p1", "p2", NAN, pd.NaT, pd.NA),
    "mixed objects": objects("p1", 2, NAN, np.float32("nan"), None),
    "decimals": objects(Decimal(1), Decimal(2), Decimal("NaN"), Decimal("NaN"), None),
    "mixed decimals": objects(Decimal(1), "p2", Decimal("NaN"), Decimal("sNaN"), None),
    "texts": frame(["p1", "p2", "nan", " ", ""]),
    "other texts": frame(["p1", "p2", "None", "<NA>", "NaT"]),
}


@pytest.mark.parametrize("kind", MEMORY)
def test_frames(kind: str):
    refuses_nobody(MEMORY[kind])


def test_files_and_duckdb(tmp_path):
    pq.write_table(ARROW, tmp_path / "t.parquet")
    refuses_nobody(tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("id,a\n1,x\n2,x\n,x\nNaN,y\nnan,y\n")
    refuses_nobody(tmp_path / "t.csv")
    connection = duckdb.connect()
    connection.register("t", ARROW)
    refuses_nobody(connection.sql("SELECT * FROM t"))
    refuses_nobody(ibis.memtable(ARROW))


@pytest.mark.postgres
@pytest.mark.parametrize("kind", ["double precision", "real", "numeric", "text"])
def test_postgresql(postgres_url, kind: str):
    connection = ibis.connect(postgres_url)
    name = f"visits_{kind.split()[0]}"
    connection.raw_sql(f"CREATE TABLE {name} (id {kind}, a text)").close()
    rows = ", ".join(f"('{person:g}', '{a}')" for person, a in zip(IDS, A, strict=True))
    connection.raw_sql(f"INSERT INTO {name} VALUES {rows}").close()
    refuses_nobody(connection.table(name))
    connection.disconnect()


def test_a_refused_table_costs_nothing(tmp_path):
    ledger = Ledger(tmp_path / "l.db")
    ledger.open_table("visits", epsilon=5)
    with pytest.raises(TableError):
        release(read(ARROW, VISITS), Histogram("a", epsilon=1), ledger=ledger)
    assert ledger.account("visits").left_epsilon == "5"


def test_one_person_written_in_two_ways_has_one_allowance(tmp_path):
    whole = VISITS.replace_columns({"id": {"kind": "integer", "bounds": (0, 9)}})
    (tmp_path / "t.csv").write_text("id,a\n5,x\n5.0,y\n05,z\n6,z\n")
    assert read(tmp_path / "t.csv", whole).marginals([("a",)])[("a",)].sum() == 2


def test_persons_with_names_of_other_types(tmp_path):
    connection = duckdb.connect()
    connection.execute("CREATE TABLE v AS SELECT uuid() AS id, 'x' AS a FROM range(3)")
    connection.execute(f"COPY v TO '{tmp_path / 'v.parquet'}'")
    days = pa.table({"id": [dt.date(2020, 1, day) for day in (1, 2, 3)], "a": ["x"] * 3})
    for source in (connection.sql("FROM v"), tmp_path / "v.parquet", days):
        table = read(source, VISITS)
        assert table.check() == ()
        assert table.marginals([("a",)])[("a",)].tolist() == [3, 0, 0]
    with pytest.raises(TableError, match="no schema can describe"):
        read(pa.table({"id": [[1.0], [NAN]], "a": ["x", "y"]}), VISITS)


def test_kept_rows_are_the_same_however_a_table_is_held(tmp_path):
    table = rows()
    ours = counted(table)
    assert sum(ours[0]) < table.num_rows / 2
    shuffled = table.take(np.random.default_rng(1).permutation(table.num_rows))
    pq.write_table(shuffled, tmp_path / "t.parquet")
    assert counted(tmp_path / "t.parquet") == ours
    integers = table.set_column(4, "n", table["n"].cast(pa.float64()))  # pandas holds them so where one is missing
    assert counted(integers.to_pandas()) == ours
    texts = pa.table(
        {name: table[name] if name == "ward" else table[name].cast(pa.string()) for name in table.column_names}
    )
    assert counted(texts) == ours


@pytest.mark.postgres
def test_kept_rows_are_the_same_on_postgresql(postgres_url):
    connection = ibis.connect(postgres_url)
    assert counted(connection.create_table("kept_rows", rows())) == counted(rows())
    connection.disconnect()


def test_each_row_of_a_person_counts_about_equally_often():
    """5,000 people, two rows in three of them cut: a share of a level moves by less than 4.5 standard deviations.

    All levels differ, or repeat, and rows that are equal must not count as one. On 0.2, 98 and 59 % of the levels.
    """
    rng = np.random.default_rng(17)
    level = rng.choice(["x", "y", "z"], (5000, 6), p=[0.2, 0.3, 0.5])
    table = pa.table({"id": np.repeat(np.arange(5000), 6), "a": level.ravel()})
    schema = replace(VISITS, rows_per_person=2)
    kept = read(table, schema).marginals([("a",)])[("a",)]
    held = np.array([(level == each).sum() for each in "xyz"])
    assert kept.sum() == 10_000
    deviation = np.sqrt(held * (1 / 3) * (2 / 3))
    assert (np.abs(kept - held / 3) < 4.5 * deviation).all(), kept / held


def test_what_is_kept_of_a_person_does_not_depend_on_anybody_else():
    table = rows()
    whole, ids = counted(table), table["id"].to_pylist()
    for gone in ("p0", "p7", "p31"):
        without = counted(table.filter(pa.array([each != gone for each in ids])))
        alone = counted(table.filter(pa.array([each == gone for each in ids])))
        assert [list(map(int.__add__, *pair)) for pair in zip(without, alone, strict=True)] == whole
        assert all(sum(each) <= 2 for each in alone)
