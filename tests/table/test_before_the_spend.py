"""What cannot be counted is refused before the record: kind x outside x source, each with a ledger.

``make test`` tries every pair of a kind, a way and a source, ``make thorough`` all three together.
"""

from __future__ import annotations

import datetime as dt

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato
from covering import sampled
from sfumato import Histogram, Ledger, Schema
from sfumato.errors import SfumatoError, TableError
from sfumato.schema.column import Column
from sfumato.table.engines.duckdb import DuckDBEngine

DAY = dt.date(2020, 6, 1)
KINDS = {
    "category": ({"values": ("u", "v")}, ["u", "v", "u"], "w"),
    "ordinal": ({"values": (1, 2, 4)}, [1, 2, 4], 3),
    "boolean": ({}, [True, False, True], None),
    "integer": ({"bounds": (0, 9)}, [0, 5, 9], 12),
    "number": ({"bounds": (0.0, 1.0), "bins": 4}, [0.0, 0.5, 1.0], 7.5),
    "date": ({"bounds": (dt.date(2020, 1, 1), dt.date(2020, 12, 31)), "bins": 3}, [DAY, DAY, DAY], dt.date(2023, 5, 5)),
}
SOURCES = ("csv", "parquet", "pandas", "polars", "arrow", "duckdb", "timestamps")


def source(kind: str, values: list, folder):
    table = pa.table({"x": pa.array(values)})
    if kind == "timestamps" and isinstance(values[0], dt.date):
        table = pa.table({"x": pa.array(values).cast(pa.timestamp("us"))})
    match kind:
        case "csv":
            table.to_pandas().to_csv(folder / "t.csv", index=False)
            return folder / "t.csv"
        case "parquet":
            table.to_pandas().to_parquet(folder / "t.parquet", index=False)
            return folder / "t.parquet"
        case "pandas":
            return table.to_pandas()
        case "polars":
            return pl.from_arrow(table)
        case "duckdb":
            connection = duckdb.connect()
            connection.register("t", table)
            return connection.sql("SELECT * FROM t")
        case _:
            return table


@pytest.mark.parametrize(("kind", "outside", "name"), sampled(KINDS, ["refuse", "clamp", "missing"], SOURCES))
def test_every_kind_and_every_source_release_or_leave_the_ledger_untouched(kind: str, outside: str, name, tmp_path):
    facts, inside, beyond = KINDS[kind]
    for number, stray in enumerate((None, beyond)):
        ledger = Ledger(tmp_path / f"{number}.db")
        ledger.open_table("t", epsilon=5)
        try:
            schema = Schema("t", (Column("x", kind, missing=True, outside=outside, **facts),))
            table = sfumato.read(source(name, [*inside, stray], tmp_path), schema)
            made = sfumato.release(table, Histogram("x", epsilon=1), ledger=ledger, seed=1)
        except SfumatoError:
            assert ledger.account("t").left_epsilon == "5", stray
            assert (outside == "refuse" and stray is not None) or (outside == "clamp" and "bounds" not in facts)
        else:
            assert ledger.account("t").left_epsilon == "4", stray
            assert len(made.tables[("x",)]) == schema["x"].size
            assert table.marginals([("x",)])[("x",)].sum() == len(inside) + 1


@pytest.mark.parametrize("name", SOURCES)
def test_dates_outside_count_as_the_nearest_bound(name: str, tmp_path):
    column = Column("x", "date", outside="clamp", missing=True, **KINDS["date"][0])
    days = [DAY, dt.date(1900, 1, 1), dt.date(2100, 1, 1), dt.date(2020, 12, 31), None]
    table = sfumato.read(source(name, days, tmp_path), Schema("t", (column,)))
    assert table.check() == ()
    assert table.marginals([("x",)])[("x",)].tolist() == [1, 1, 2, 1]


def test_dates_are_clamped_alike_where_rows_stay_on_another_engine():
    import ibis

    column = Column("x", "date", outside="clamp", missing=True, **KINDS["date"][0])
    days = pa.table({"x": [DAY, dt.date(1900, 1, 1), dt.date(2100, 1, 1), None]})
    table = sfumato.read(ibis.polars.connect().create_table("t", days), Schema("t", (column,)))
    table.rehearse()
    assert table.marginals([("x",)])[("x",)].tolist() == [1, 1, 1, 1]


def test_what_breaks_in_counting_breaks_before_the_record(tmp_path, monkeypatch):
    """A mutant engine that cannot stream what the check could count: the rehearsal meets it first."""
    ledger = Ledger(tmp_path / "l.db")
    ledger.open_table("t", epsilon=5)
    table = sfumato.read(pd.DataFrame({"x": [1, 2]}), Schema("t", (Column("x", "integer", bounds=(0, 9)),)))
    whole = DuckDBEngine._run
    monkeypatch.setattr(DuckDBEngine, "_run", lambda self, e: whole(self, e) if "rows" in e.columns else 1 / 0)
    with pytest.raises(ZeroDivisionError):
        sfumato.release(table, Histogram("x", epsilon=1), ledger=ledger)
    assert ledger.account("t").left_epsilon == "5"


def test_many_levels_are_checked_and_counted_on_every_engine():
    import ibis

    levels = tuple(f"level {i}" for i in range(20_000))
    schema = Schema("t", (Column("x", "category", values=levels, missing=True),))
    good = pa.table({"x": [levels[-1], levels[0], None, levels[-1]]})
    bad = pa.table({"x": ["moon", levels[0], "mars", "moon"]})
    for wrap in (lambda t: t, ibis.polars.connect().create_table):
        tables = [
            sfumato.read(wrap(t) if wrap.__name__ == "<lambda>" else wrap(f"t{i}", t), schema)
            for i, t in enumerate((good, bad))
        ]
        assert tables[0].check() == ()
        counts = tables[0].marginals([("x",)])[("x",)]
        assert (counts[0], counts[-2], counts[-1], counts.sum()) == (1, 2, 1, 4)
        (violation,) = tables[1].check()
        assert violation.count == 3
        assert "'mars', 'moon'" in violation.problem


def test_too_many_bins_for_another_engine_are_refused_by_name():
    import ibis

    schema = Schema("t", (Column("x", "number", bounds=(0, 1), bins=20_000),))
    table = sfumato.read(ibis.polars.connect().create_table("t", pa.table({"x": [0.5]})), schema)
    with pytest.raises(TableError, match="20,000 bins"):
        table.rehearse()


def test_a_million_levels_are_released_and_saved(tmp_path):
    levels = tuple(range(1_000_000))
    schema = Schema("t", (Column("x", "category", values=levels),))
    frame = pd.DataFrame({"x": np.arange(0, 1_000_000, 100)})
    made = sfumato.release(sfumato.read(frame, schema), Histogram("x", epsilon=1), seed=1)
    folder = made.save(tmp_path / "bundle")
    assert (folder / "schema.toml").stat().st_size > 5_000_000
    assert (folder / "report.html").stat().st_size < 5_000_000
