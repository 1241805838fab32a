"""Method x kind of column x what happens outside the domain x source, with a ledger: a release, or a named error and
an untouched ledger. The sources take turns, so that each of them meets each kind and each way.

``make test`` tries every pair of a method, a kind and a way, ``make thorough`` all three together.
"""

from __future__ import annotations

import datetime as dt
from itertools import product
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato
from covering import sampled
from sfumato import Ledger, Schema
from sfumato.core.method import published_methods
from sfumato.errors import SfumatoError

ROWS = 60
KINDS = {
    "category": ('values = ["a", "b", "c"]', ["a", "b", "c"], "z"),
    "ordinal": ("values = [1, 2, 3]", [1, 2, 3], 9),
    "boolean": ("", [True, False], None),
    "integer": ("bounds = [0, 9]", [1, 5, 9], 44),
    "number": ("bounds = [0, 9]", [0.5, 2.25, 9.0], 44.5),
    "date": ("bounds = [2020-01-01, 2020-12-31]", [dt.date(2020, 2, 29), dt.date(2020, 12, 31)], dt.date(2031, 1, 1)),
}
OUTSIDE = ("refuse", "clamp", "missing")
METHODS = {**sfumato.methods(), **published_methods()}


def schema_with(kind: str, outside: str) -> Schema:
    missing = "missing = true" if outside == "missing" else ""
    return Schema.parse(f"""
[table]
name = "t"
[columns.x]
kind = "{kind}"
outside = "{outside}"
{missing}
{KINDS[kind][0]}
[columns.y]
kind = "number"
bounds = [0, 10]
[columns.z]
kind = "number"
bounds = [-1, 1]
[columns.g]
kind = "boolean"
""")


def frame_with(kind: str, stray: bool) -> pd.DataFrame:
    _, values, beyond = KINDS[kind]
    x = [values[i % len(values)] for i in range(ROWS)]
    if stray:
        x[7] = beyond
    numbers = [(7 * i % 100) / 10 for i in range(ROWS)]
    return pd.DataFrame(
        {"x": x, "y": numbers, "z": [n / 10 - 0.5 for n in numbers], "g": [i % 3 == 0 for i in range(ROWS)]}
    )


def as_csv(frame: pd.DataFrame, folder: Path) -> str:
    frame.to_csv(folder / "t.csv", index=False)
    return str(folder / "t.csv")


def as_parquet(frame: pd.DataFrame, folder: Path) -> str:
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), folder / "t.parquet")
    return str(folder / "t.parquet")


SOURCES = {
    "csv": as_csv,
    "parquet": as_parquet,
    "pandas": lambda frame, _: frame,
    "polars": lambda frame, _: pl.from_pandas(frame),
    "arrow": lambda frame, _: pa.Table.from_pandas(frame, preserve_index=False),
    "duckdb": lambda frame, _: duckdb.connect().from_arrow(pa.Table.from_pandas(frame, preserve_index=False)),
}
WALK = list(product(METHODS, KINDS, OUTSIDE))


@pytest.mark.parametrize(("name", "kind", "outside"), sampled(METHODS, KINDS, OUTSIDE))
def test_a_release_or_a_named_error_and_an_untouched_ledger(name, kind, outside, tmp_path):
    # counted by kind and way, then shifted by method: over the walk every source meets every pair
    place = WALK.index((name, kind, outside))
    source = list(SOURCES)[(place + place // (len(KINDS) * len(OUTSIDE))) % len(SOURCES)]
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open_table("t", epsilon=100, delta="0.01")
    try:
        schema = schema_with(kind, outside)
        table = sfumato.read(SOURCES[source](frame_with(kind, outside != "refuse"), tmp_path), schema)
        made = sfumato.release(table, METHODS[name].cls.example(schema), ledger=ledger)
    except SfumatoError as error:
        assert error.next_step
        assert ledger.history() == ()
        return
    assert len(ledger.history()) == len(made.events)
    assert made.tables


@pytest.mark.parametrize("source", SOURCES)
def test_strays_are_refused_clamped_or_missing_in_every_source(source, tmp_path):
    """The same file three ways: refused before the spend, counted at the end of the range, counted as missing."""
    for kind in ("integer", "number", "date"):
        frame = frame_with(kind, stray=True)
        ledger = Ledger(tmp_path / f"{kind}.db")
        ledger.open_table("t", epsilon=100)
        with pytest.raises(SfumatoError, match="x"):
            table = sfumato.read(SOURCES[source](frame, tmp_path), schema_with(kind, "refuse"))
            sfumato.release(table, sfumato.Histogram("x", epsilon=5), ledger=ledger)
        assert ledger.history() == ()
        for outside, last in (("clamp", -1), ("missing", -1)):
            table = sfumato.read(SOURCES[source](frame, tmp_path), schema_with(kind, outside))
            counts = table.marginals([("x",)])[("x",)]
            assert counts.sum() == ROWS
            assert counts[last] >= 1
