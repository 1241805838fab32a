"""Fine cells are public, refine the bins of the schema, and count through every engine as brute force does."""

from __future__ import annotations

import dataclasses
import datetime as dt

import ibis
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import read
from sfumato.errors import SchemaError
from sfumato.mechanisms.graphical.one_way_marginals import Discretisation, measured_schema
from sfumato.sampling.fine_cells import fine_column, refined_column
from sfumato.schema.column import Column, day_number

ORDERED = ["age", "hours", "income", "moved_in", "interviewed"]


@st.composite
def ordered_columns(draw) -> Column:
    kind = draw(st.sampled_from(["integer", "number", "date"]))
    missing = draw(st.booleans())
    if kind == "number":
        low = draw(st.floats(-1e6, 1e6))
        high = low + draw(st.floats(1e-3, 1e7))
    else:
        low = draw(st.integers(-3000, 3000))
        high = low + draw(st.integers(0, 5000))
    inner = draw(st.lists(st.floats(0.01, 0.99), max_size=6, unique=True).map(sorted))
    cuts = sorted({low, *(low + (high - low) * part for part in inner), high})
    if kind != "number":
        cuts = sorted({int(cut) for cut in cuts})
    wide = len(cuts) > 2 and draw(st.booleans())
    bins = None if wide else draw(st.none() | st.integers(1, 40))

    def own(number):
        return dt.date(1970, 1, 1) + dt.timedelta(days=number) if kind == "date" else number

    edges = tuple(own(cut) for cut in cuts) if wide else None
    return Column("x", kind, bounds=(own(low), own(high)), edges=edges, bins=bins, missing=missing)


@settings(max_examples=200)
@given(ordered_columns(), st.integers(1, 300))
def test_fine_cells_refine_the_public_bins_within_the_limit(column, fine_cells):
    fine = fine_column(column, fine_cells)
    assert set(column.starts) <= set(fine.starts)
    assert np.all(np.diff(fine.starts) > 0)
    assert fine.present_size <= max(fine_cells, column.present_size)
    assert fine.missing == column.missing and fine.bounds == column.bounds and fine.numeric_bounds[0] == fine.starts[0]
    if column.is_discrete:
        assert np.all(fine.ends >= fine.starts) and np.all(fine.starts == np.floor(fine.starts))


def test_every_whole_value_gets_its_cell_where_all_fit():
    fine = fine_column(Column("x", "integer", bounds=(0, 200), edges=(0, 10, 200)), 256)
    assert fine.has_unit_bins and fine.size == 201
    day = fine_column(Column("x", "date", bounds=(dt.date(2024, 1, 1), dt.date(2024, 3, 31))), 128)
    assert day.has_unit_bins and day.labels[-1] == dt.date(2024, 3, 31)


def test_cells_that_narrow_bins_cannot_use_go_to_the_wide_ones():
    fine = fine_column(Column("x", "integer", bounds=(0, 9999), edges=(0, 1, 2, 3, 9999)), 100)
    assert fine.starts[:4].tolist() == [0, 1, 2, 3]
    assert 90 <= fine.size <= 100


def test_bounds_and_zero_have_cells_of_their_own():
    whole = fine_column(Column("x", "integer", bounds=(-500, 99_999)), 128)
    assert {-500, -499, 0, 1, 99_999} <= set(whole.starts)
    real = fine_column(Column("x", "number", bounds=(-1.0, 5000.0)), 128)
    for point, place in ((-1.0, 0), (0.0, None), (5000.0, -1)):
        cell = int(np.searchsorted(real.starts, point, "right")) - 1
        assert place is None or cell == np.arange(real.size)[place]
        assert real.ends[cell] - real.starts[cell] < 1e-5
    old = fine_column(Column("x", "date", bounds=(dt.date(1900, 1, 1), dt.date(2030, 1, 1))), 128)
    assert day_number(dt.date(1900, 1, 2)) in old.starts


def test_levels_unit_bins_and_columns_that_were_not_named_stay(schema):
    fine = measured_schema(schema, ["sex", "education", "persons", "income"], Discretisation(128, None))
    for name in schema.names:
        assert (fine[name] == schema[name]) == (name != "income"), name
    assert fine.rules == schema.rules and fine.adjacency == schema.adjacency


def test_a_range_too_narrow_for_floating_point_is_not_cut_to_pieces():
    column = Column("x", "number", bounds=(1e9, 1e9 + 1e-5))
    fine = fine_column(column, 256)
    assert np.all(np.diff(fine.starts) >= 0) and len(set(fine.starts)) == len(fine.starts) <= len(column.starts)


def test_bad_requests_are_refused(schema):
    with pytest.raises(SchemaError, match="no column 'salary'"):
        measured_schema(schema, ["salary"], Discretisation(64, None))


def test_a_cut_column_counts_its_upper_bound_alone():
    column = refined_column(Column("x", "integer", bounds=(0, 9), missing=True), np.array([0.0, 3.0, 9.0]))
    assert column.size == 4 and column.labels == ("[0, 2]", "[3, 8]", "[9, 9]", None)


def by_hand(frame: pd.DataFrame, column: Column) -> np.ndarray:
    counts = np.zeros(column.size, np.int64)
    for value in frame[column.name]:
        if pd.isna(value):
            counts[-1] += 1
        else:
            number = day_number(pd.Timestamp(value).date()) if column.kind == "date" else value
            counts[max(i for i, start in enumerate(column.starts) if number >= start)] += 1
    return counts


def test_every_source_counts_fine_cells_as_brute_force_does(frame, schema, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    remote = ibis.polars.connect().create_table("t", ibis.memtable(frame).to_pyarrow())
    fine = measured_schema(schema, ORDERED, Discretisation(128, None))
    expected = {name: by_hand(frame, fine[name]) for name in ORDERED}
    for kind, source in {
        "pandas": frame,
        "csv": tmp_path / "t.csv",
        "parquet": tmp_path / "t.parquet",
        "remote": remote,
    }.items():
        table = dataclasses.replace(read(source, schema), schema=fine)
        counts = table.marginals([(name,) for name in ORDERED])
        for name in ORDERED:
            assert np.array_equal(counts[(name,)], expected[name]), (kind, name)
