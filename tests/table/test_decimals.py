"""Decimals are counted as numbers: of an engine, of a file, and those that a fractional bound makes of integers."""

from __future__ import annotations

from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import Schema, read

FACTS = """
[table]
name = "prices"
[confirmed]
by = "a test"
on = 2026-01-01
[columns.price]
kind = "number"
bounds = [0.5, 20.5]
bins = 4
outside = "{outside}"
missing = true
"""
PRICES = [Decimal("0.75"), Decimal("5.50"), Decimal("5.49"), Decimal("20.50"), Decimal("12.00"), None]


@pytest.mark.parametrize("outside", ["refuse", "clamp"])
@pytest.mark.parametrize("source", ["duckdb", "parquet", "arrow"])
def test_decimals_fall_into_their_bins(source, outside, tmp_path):
    prices = pa.table({"price": pa.array(PRICES, pa.decimal128(9, 2))})
    given = {
        "arrow": lambda: prices,
        "parquet": lambda: pq.write_table(prices, tmp_path / "prices.parquet") or tmp_path / "prices.parquet",
        "duckdb": lambda: duckdb.from_arrow(prices),
    }[source]()
    counts = read(given, Schema.parse(FACTS.format(outside=outside))).marginals([("price",)])["price",]
    np.testing.assert_array_equal(counts, [2, 1, 1, 1, 1])


def test_whole_numbers_are_clamped_to_a_fractional_bound():
    frame = pd.DataFrame({"price": [-3, 1, 6, 11, 19, 40]})
    counts = read(frame, Schema.parse(FACTS.format(outside="clamp"))).marginals([("price",)])["price",]
    np.testing.assert_array_equal(counts, [2, 1, 1, 2, 0])
