import datetime as dt
from itertools import combinations

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import Schema, read
from sfumato.errors import TableError
from sfumato.schema.column import Column
from sfumato.table.encode import ColumnEncoder
from sfumato.table.marginal_cover import marginal_cover, sum_to_marginal

SETS = [("age", "sex"), ("income",), ("status", "hours", "insured"), ("moved_in", "education"), ("sex", "age")]


def by_hand(frame: pd.DataFrame, schema: Schema, names: tuple[str, ...]) -> np.ndarray:
    """Brute force: place every value by plain Python comparisons with the public labels."""
    table = np.zeros(schema.shape(names), dtype=np.int64)
    for row in frame[list(names)].itertuples(index=False):
        table[tuple(code_by_hand(schema[n], v) for n, v in zip(names, row, strict=True))] += 1
    return table


def code_by_hand(column: Column, value) -> int:
    if pd.isna(value):
        return column.size - 1
    if not column.is_ordered:
        return list(column.levels).index(bool(value) if column.kind == "boolean" else value)
    number = (pd.Timestamp(value).date() - dt.date(1970, 1, 1)).days if column.kind == "date" else value
    return max(i for i, start in enumerate(column.starts) if number >= start)


def sources(frame: pd.DataFrame, folder):
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_csv(folder / "t.csv.gz", index=False)
    frame.to_parquet(folder / "t.parquet", index=False)
    half = len(frame) // 2
    frame[:half].to_parquet(folder / "part-1.parquet", index=False)
    frame[half:].to_parquet(folder / "part-2.parquet", index=False)
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), folder / "groups.parquet", row_group_size=37)
    connection = duckdb.connect()
    connection.register("frame", frame)
    return {
        "pandas": frame,
        "polars": pl.from_pandas(frame),
        "lazy polars": pl.from_pandas(frame).lazy(),
        "arrow": pa.Table.from_pandas(frame, preserve_index=False),
        "csv": folder / "t.csv",
        "gzipped csv": str(folder / "t.csv.gz"),
        "parquet": folder / "t.parquet",
        "row groups": folder / "groups.parquet",
        "glob": str(folder / "part-*.parquet"),
        "duckdb relation": connection.sql("SELECT * FROM frame"),
        "ibis": ibis.memtable(frame),
    }


def test_every_source_counts_as_brute_force_does(frame, schema, tmp_path):
    expected = {names: by_hand(frame, schema, names) for names in SETS}
    for kind, source in sources(frame, tmp_path).items():
        table = read(source, schema)
        assert table.check() == (), kind
        counts = table.marginals(SETS)
        for names in SETS:
            assert np.array_equal(counts[names], expected[names]), (kind, names)


def test_pushed_down_group_by_equals_the_compiled_loops(frame, schema):
    from sfumato.table.counting import _count_by_group_by, _find

    table = read(frame, schema)
    covering = _count_by_group_by(table.source.engine, schema, list(schema.names), SETS)
    remote = {names: _find(covering, names) for names in SETS}
    local = table.marginals(SETS)
    for names in SETS:
        assert np.array_equal(remote[names], local[names])


@settings(max_examples=60)
@given(data=st.data())
def test_cover_contains_every_wanted_set_and_keeps_the_limit(data):
    names = [f"c{i}" for i in range(data.draw(st.integers(1, 7)))]
    sizes = {name: data.draw(st.integers(1, 40)) for name in names}
    wanted = data.draw(
        st.lists(
            st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True).map(tuple), min_size=1, max_size=12
        )
    )
    limit = data.draw(st.integers(1, 5000))
    chosen = marginal_cover(sizes, wanted, limit)
    for one in wanted:
        assert any(set(one) <= set(table) for table in chosen)
    largest = max(np.prod([sizes[n] for n in one]) for one in wanted)
    for table in chosen:
        assert np.prod([sizes[n] for n in table]) <= max(limit, largest)


def test_cover_of_all_pairs_is_much_smaller_than_the_pairs():
    sizes = {f"c{i}": 4 for i in range(12)}
    assert len(marginal_cover(sizes, list(combinations(sizes, 2)), 16_384)) <= 7


@given(st.permutations(["a", "b", "c"]), st.integers(1, 3))
def test_marginal_sums_and_orders_axes(order: list[str], keep: int):
    table = np.arange(24).reshape(2, 3, 4)
    wanted = tuple(order[:keep])
    expected = np.einsum(table, [0, 1, 2], ["abc".index(name) for name in wanted])
    assert np.array_equal(sum_to_marginal(table, ("a", "b", "c"), wanted), expected)


EDGES = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40, unique=True).map(sorted)


@settings(max_examples=150)
@given(edges=EDGES, data=st.data())
def test_bins_are_exact_at_and_around_every_edge(edges: list[float], data):
    column = Column("x", "number", bounds=(edges[0], edges[-1]), edges=tuple(edges))
    around = [np.nextafter(e, d) for e in edges for d in (-np.inf, np.inf)] + edges
    values = np.array(around + data.draw(st.lists(st.floats(-2e6, 2e6), max_size=20)))
    codes = np.zeros(len(values), np.uint8)
    bad = ColumnEncoder(column, 255)(pa.array(values), codes)
    inside = (values >= edges[0]) & (values <= edges[-1])
    expected = np.minimum(np.searchsorted(edges, values, "right") - 1, len(edges) - 2)
    assert np.array_equal(codes[inside], expected[inside])
    assert (codes[~inside] == 255).all()
    assert bad == (~inside).sum()


@pytest.mark.parametrize("wide", [False, True])
def test_many_levels_use_wider_codes(wide: bool):
    levels = [f"level {i}" for i in range(10_000 if wide else 200)]
    schema = Schema.parse(f'[table]\nname="t"\n[columns.x]\nkind="category"\nvalues={levels!r}\n')
    frame = pd.DataFrame({"x": [levels[-1], levels[0], levels[-1]]})
    counts = read(frame, schema).marginals([("x",)])[("x",)]
    assert counts[-1] == 2
    assert counts[0] == 1
    assert counts.sum() == 3


def test_integer_levels_far_apart_and_floats_with_gaps():
    schema = Schema.parse(
        '[table]\nname="t"\n[columns.x]\nkind="category"\nvalues=[-5, 7, 10000000000]\nmissing=true\n'
    )
    frame = pd.DataFrame({"x": [7.0, -5.0, None, 1e10]})
    assert read(frame, schema).marginals([["x"]])[("x",)].tolist() == [1, 1, 1, 1]


def test_values_that_change_after_the_check_are_refused_not_dropped(schema, frame):
    bad = frame.copy()
    bad.loc[0, "age"] = 300
    with pytest.raises(TableError, match="age: 1 values outside"):
        read(bad, schema).marginals([("age",)])


def test_no_rows_is_a_table_like_any_other(schema, frame):
    counts = read(frame[:0], schema).marginals([("age", "sex")])
    assert counts["age", "sex"].sum() == 0
    assert counts["age", "sex"].shape == (85, 3)


PERSON = """
[table]
name = "visits"
person = "who"
rows_per_person = 2
[columns.who]
kind = "category"
values = ["a", "b", "c"]
[columns.x]
kind = "category"
values = ["u", "v"]
"""


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("uv")), max_size=25))
@settings(max_examples=40)
def test_one_person_moves_at_most_the_bound(rows: list[tuple[str, str]]):
    schema = Schema.parse(PERSON)
    full = pd.DataFrame(rows, columns=["who", "x"], dtype="object")
    without = full[full["who"] != "a"]
    counts = [read(f.astype("str"), schema).marginals([("x",)])[("x",)] for f in (full, without)]
    assert np.abs(counts[0] - counts[1]).sum() <= 2
    assert counts[0].sum() == sum(min(2, n) for n in full["who"].value_counts())


def test_fractions_in_a_clamped_integer_column_are_refused_by_the_check():
    schema = Schema.parse(CLAMP)
    for values in ([1, 5.5, 20], ["1", "5.5", "20"]):
        (violation,) = read(pd.DataFrame({"x": values, "y": ["u"] * 3}), schema).check()
        assert "x: 1 value cannot be read as integer (such as '5.5')" in str(violation)
    beyond = read(pd.DataFrame({"x": [1.0, 20.5], "y": ["u"] * 2}), schema)
    assert beyond.check() == ()
    assert beyond.marginals([("x",)])[("x",)].tolist() == [0, 1, 0, 0, 0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize("kind", ["uint8", "uint16", "uint32", "uint64"])
def test_unsigned_columns_with_negative_bounds(kind: str, tmp_path):
    schema = Schema.parse('[table]\nname = "t"\n[columns.x]\nkind = "integer"\nbounds = [-3, 9]\n')
    frame = pd.DataFrame({"x": np.array([0, 5, 9], dtype=kind)})
    frame.to_parquet(tmp_path / "t.parquet")
    for source in (frame, tmp_path / "t.parquet"):
        assert read(source, schema).check() == ()
        assert read(source, schema).marginals([("x",)])[("x",)].nonzero()[0].tolist() == [3, 8, 12]
    largest = pd.DataFrame({"x": np.array([np.iinfo(kind).max], dtype=kind)})
    largest.to_parquet(tmp_path / "large.parquet")
    for source in (largest, tmp_path / "large.parquet"):
        assert "x: 1 value outside" in str(read(source, schema).check()[0])


def test_identifiers_need_no_list_of_values(tmp_path):
    text = PERSON.replace('values = ["a", "b", "c"]', 'role = "identifier"')
    schema = Schema.parse(text)
    assert Schema.parse(schema.to_toml()) == schema
    frame = pd.DataFrame({"who": ["p1", "p1", "p1", "p2", None], "x": list("uuuvv")})
    frame.to_parquet(tmp_path / "t.parquet")
    for source in (frame, tmp_path / "t.parquet"):
        (violation,) = read(source, schema).check()
        assert "who: 1 row without a person" in str(violation)
    assert read(frame[:4], schema).marginals([("x",)])[("x",)].tolist() == [2, 1]


CLAMP = """
[table]
name = "t"
[columns.x]
kind = "integer"
bounds = [0, 9]
outside = "clamp"
[columns.y]
kind = "category"
values = ["u"]
missing = true
outside = "missing"
"""


def test_outside_values_can_be_clamped_or_counted_as_missing(tmp_path):
    frame = pd.DataFrame({"x": [-5, 3, 99], "y": ["u", "zzz", None]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for source in (frame, tmp_path / "t.csv", tmp_path / "t.parquet"):
        table = read(source, Schema.parse(CLAMP))
        assert table.check() == ()
        counts = table.marginals([("x",), ("y",)])
        assert counts[("x",)].tolist() == [1, 0, 0, 1, 0, 0, 0, 0, 0, 1]
        assert counts[("y",)].tolist() == [1, 2]
