"""Whatever is wrong with the input: a named error that says what was found and what to do."""

from __future__ import annotations

import datetime as dt
import os
import sqlite3
import subprocess
import sys

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato
from sfumato import Schema
from sfumato.errors import SchemaError, SfumatoError, TableError

SCHEMA = Schema.parse("""
[table]
name = "t"
[columns.age]
kind = "integer"
bounds = [0, 110]
[columns.sex]
kind = "category"
values = ["f", "m"]
[columns.inc]
kind = "number"
bounds = [0, 100]
[columns.when]
kind = "date"
bounds = [2020-01-01, 2020-12-31]
[columns.ok]
kind = "boolean"
""")
HEADER = "age,sex,inc,when,ok\n"
GOOD = "1,f,2.5,2020-05-05,true\n"


def violations(path) -> dict[str, int]:
    return {f"{v.column}: {v.problem}": v.count for v in sfumato.read(path, SCHEMA).check()}


def write(folder, text: str, encoding: str = "utf-8"):
    path = folder / "t.csv"
    path.write_bytes((HEADER + GOOD + text).encode(encoding))
    return path


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("300,f,1,2020-01-01,true", "age: 1 value outside the bounds 0 to 110 (such as '300')"),
        ("1.5,f,1,2020-01-01,true", "age: 1 value cannot be read as integer (such as '1.5')"),
        ("inf,f,1,2020-01-01,true", "age: 1 value outside the bounds 0 to 110 (such as 'inf')"),
        ("1e300,f,1,2020-01-01,true", "age: 1 value outside"),
        ("abc,f,1,2020-01-01,true", "age: 1 value cannot be read as integer (such as 'abc')"),
        ("1,q,1,2020-01-01,true", "sex: 1 value outside the values 'f', 'm' (such as 'q')"),
        ("1,F,1,2020-01-01,true", "sex: 1 value outside"),
        ("1,f,nan,2020-01-01,true", "inc: 1 value missing"),
        ("1,f,inf,2020-01-01,true", "inc: 1 value outside"),
        ("1,f,-inf,2020-01-01,true", "inc: 1 value outside"),
        ("1,f,,2020-01-01,true", "inc: 1 value missing"),
        ("1,f,1,2020-13-01,true", "when: 1 value cannot be read as date"),
        ("1,f,1,2021-01-01,true", "when: 1 value outside"),
        ("1,f,1,2020-01-01,maybe", "ok: 1 value cannot be read as boolean"),
        ("1,f,1,2020-01-01,", "ok: 1 value missing"),
    ],
)
def test_each_misfit_is_named_and_counted(row: str, words: str, tmp_path):
    found = violations(write(tmp_path, row + "\n"))
    assert len(found) == 1
    assert words in next(iter(found))


def test_all_misfits_come_in_one_message(tmp_path):
    path = write(tmp_path, "300,q,1e9,2021-01-01,maybe\nabc,,nan,never,true\n")
    with pytest.raises(TableError) as caught:
        sfumato.read(path, SCHEMA).require_valid()
    assert len(caught.value.problems) == 9
    assert {p.split(":")[0] for p in caught.value.problems} == {"age", "sex", "inc", "when", "ok"}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"\n\n", "no header"),
        (b"age;sex;inc;when;ok\n1;f;2;2020-01-01;true\n", "--delimiter ';'"),
        (b"age,sex\n1,f\n", "lacks 3 of the 5 columns"),
        (b"age,sex,SEX,inc,when,ok\n", "duplicate columns"),
        (HEADER.encode() + b"1,f\n", "fields"),
        (HEADER.encode() + b'1,"f\n', "quote"),
        (b"\xe9ge,sex,inc,when,ok\n", "the table has: \u00e9ge"),
        (b"PAR1 but nothing more", "cannot read"),
        (bytes(range(256)), "not a text table"),
    ],
)
def test_files_that_are_not_tables(content: bytes, words: str, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(TableError, match=words):
        sfumato.read(path, SCHEMA).require_valid()


def test_an_old_encoding_is_recognised_far_into_the_file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes((HEADER + GOOD * 20_000).encode() + b"1,\xe9,1,2020-01-01,true\n")
    assert violations(path) == {"sex: 1 value outside the values 'f', 'm' (such as '\u00e9')": 1}


def test_a_damaged_utf8_is_not_taken_for_an_old_encoding(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(
        (HEADER + GOOD).encode() + "1,\u00e9\u00e8,1,2020-01-01,true\n".encode() + b"1,\xe9,1,2020-01-01,true\n"
    )
    with pytest.raises(TableError, match="UTF-8 but for some bytes, the first of them 0xe9"):
        sfumato.read(path, SCHEMA)


def test_duplicate_columns_are_named_as_they_are_written(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("Score,Score,sex,SEX\n")
    with pytest.raises(TableError) as caught:
        sfumato.read(path, SCHEMA)
    assert caught.value.problems == ("'Score' stands 2 times", "'sex' and 'SEX' are one name")


def test_places_that_hold_no_table(tmp_path):
    for place, words in [
        (tmp_path, "directory"),
        (tmp_path / "no.csv", "no file"),
        (str(tmp_path / "*.csv"), "no file"),
    ]:
        with pytest.raises(TableError, match=words):
            sfumato.read(place, SCHEMA)
    for thing in (3, {"a": 1}, [1], duckdb.connect(), np.zeros(3)):
        with pytest.raises(TableError, match="cannot read a"):
            sfumato.read(thing, SCHEMA)


def test_files_of_a_glob_must_agree(tmp_path):
    (tmp_path / "1.csv").write_text(HEADER + GOOD)
    (tmp_path / "2.csv").write_text("age,sex\n1,f\n")
    with pytest.raises(TableError, match="same columns"):
        sfumato.read(str(tmp_path / "*.csv"), SCHEMA)


def test_a_frame_with_mixed_types_is_read_as_text(tmp_path):
    frame = pd.DataFrame(
        {
            "age": pd.Series([1, "two", 3.5], dtype=object),
            "sex": ["f", "m", "f"],
            "inc": [1.0, np.inf, np.nan],
            "when": [dt.date(2020, 1, 1)] * 3,
            "ok": [True, False, True],
        }
    )
    problems = [str(v) for v in sfumato.read(frame, SCHEMA).check()]
    assert any("age: 2 values cannot be read" in p for p in problems)
    assert any("inc: 1 value outside" in p for p in problems)
    assert any("inc: 1 value missing" in p for p in problems)


def test_duplicate_columns_in_a_frame():
    frame = pd.DataFrame([[1, 2]], columns=["age", "age"])
    with pytest.raises(TableError, match="duplicate"):
        sfumato.read(frame, SCHEMA)


def test_replace_needs_the_number_of_rows_that_the_schema_says():
    schema = Schema.parse('[table]\nname="t"\nadjacency="replace"\nrows=5\n[columns.ok]\nkind="boolean"\n')
    with pytest.raises(TableError, match="says 5 rows"):
        sfumato.read(pd.DataFrame({"ok": [True, False]}), schema).require_valid()


def test_ten_thousand_categories_are_left_out_of_a_draft_and_released_when_listed(tmp_path):
    codes = [f"code {i}" for i in range(10_000)]
    frame = pd.DataFrame({"code": codes, "ok": [True, False] * 5000})
    draft = Schema.draft(frame)
    assert draft.names == ("ok",)
    assert any("code (10,000 distinct texts" in note for note in draft.notes)
    listed = Schema.parse(f'[table]\nname="t"\n[columns.code]\nkind="category"\nvalues={codes!r}\n')
    made = sfumato.release(sfumato.read(frame, listed), sfumato.Histogram("code", epsilon=50), allow_weak=True)
    assert (made.data["count"] == 1).mean() > 0.99


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=300))
def test_random_bytes_are_refused_by_name(content: bytes, tmp_path):
    path = tmp_path / "any.csv"
    path.write_bytes(content)
    with pytest.raises(SfumatoError):
        sfumato.read(path, SCHEMA).require_valid()


FIELD = st.one_of(
    st.text(alphabet=st.characters(blacklist_characters="\x00\r\n", blacklist_categories=["Cs"]), max_size=8),
    st.integers(-10, 400).map(str),
    st.sampled_from(["nan", "inf", "", "f", "m", "2020-02-02", "true", "1e400"]),
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(FIELD, FIELD, FIELD, FIELD, FIELD), max_size=8))
def test_check_and_count_agree_on_any_fields(rows, tmp_path):
    """A table that passes the check can be counted; one that fails it is refused by the counting too."""
    path = tmp_path / "fields.csv"
    pd.DataFrame(rows, columns=["age", "sex", "inc", "when", "ok"], dtype="str").to_csv(path, index=False)
    table = sfumato.read(path, SCHEMA)
    try:
        fits = not table.check()
    except TableError:
        return
    try:
        counts = table.marginals([[name] for name in SCHEMA.names])
    except TableError:
        assert not fits
    else:
        assert fits
        assert {c.sum() for c in counts.values()} == {len(rows)}


@pytest.mark.parametrize(
    "path", ["a\x00b.csv", "\ud800.csv", "x" * 5000, "~nouser/x.csv", "x" * 300 + "*", "/tmp/\x00*.csv"]
)
def test_places_that_are_no_path(path: str):
    with pytest.raises(TableError):
        sfumato.read(path, SCHEMA)
    with pytest.raises(TableError):
        Schema.draft(path)


@pytest.mark.parametrize("delimiter", [";;", "", "\n", '"', "\x00", "é", 5])
def test_delimiters_that_are_none(delimiter, tmp_path):
    with pytest.raises(SchemaError, match="not one character"):
        sfumato.read(write(tmp_path, ""), SCHEMA, delimiter=delimiter)


def test_things_that_are_no_table():
    frame = pd.DataFrame({"ok": [True, False]})
    for thing in (frame["ok"], frame.index, pl.Series("ok", [True])):
        with pytest.raises(TableError, match="cannot read a"):
            sfumato.read(thing, SCHEMA)
    for schema in (None, {"ok": "boolean"}, 5):
        with pytest.raises(SchemaError, match="read was given"):
            sfumato.read(frame, schema)
    with pytest.raises(SchemaError, match="no schema"):
        sfumato.read(frame)
    for subject in (frame, frame["ok"], None, "t.csv"):
        for verb in (sfumato.release, sfumato.plan):
            with pytest.raises(TableError, match="not a table with a schema"):
                verb(subject, sfumato.Histogram("ok", epsilon=1))
    with pytest.raises(TableError, match="a Schema is not a table"):
        sfumato.release(SCHEMA, sfumato.Histogram("ok", epsilon=1))


def test_an_engine_that_lacks_an_operation_is_named_with_those_that_work(tmp_path):
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.execute("CREATE TABLE t (inc REAL)")
    connection.commit()
    connection.close()
    schema = Schema.parse('[table]\nname="t"\n[columns.inc]\nkind="number"\nbounds=[0,100]\n')
    backend = ibis.sqlite.connect(tmp_path / "t.db")
    with pytest.raises(TableError, match="use DuckDB, PostgreSQL"):
        sfumato.read(backend.table("t"), schema).check()
    backend.disconnect()


def test_columns_of_durations_and_lists_are_ignored_or_refused_by_name():
    relation = duckdb.sql("SELECT INTERVAL 1 DAY AS age, [1] AS inc, true AS ok")
    small = Schema.parse('[table]\nname="t"\n[columns.ok]\nkind="boolean"\n')
    assert sfumato.read(relation, small).check() == ()
    schema = Schema.parse(
        '[table]\nname="t"\n[columns.age]\nkind="integer"\nbounds=[0,9]\n[columns.ok]\nkind="boolean"\n'
    )
    with pytest.raises(TableError, match="'age' holds values of type"):
        sfumato.read(relation, schema)
    with pytest.raises(TableError, match="'age' holds values of type"):
        sfumato.read(pd.DataFrame({"age": pd.to_timedelta([1, 2], "s"), "ok": [True, False]}), schema)


def test_a_damaged_footer_is_named(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"ok": [True], "name": ["x"]}).to_parquet(path, index=False)
    whole = path.read_bytes()
    small = Schema.parse('[table]\nname="t"\n[columns.ok]\nkind="boolean"\n')
    for old, new in ((b"name", b"n\xff\xfee"), (b"ok", b"\xff\xfe")):
        path.write_bytes(whole.replace(old, new))
        with pytest.raises(TableError, match="cannot read"):
            sfumato.read(path, small)
        with pytest.raises(TableError, match="cannot read"):
            Schema.draft(path)


def test_an_index_without_a_name_is_ignored(tmp_path):
    pd.DataFrame({"ok": [True, False]}).to_csv(tmp_path / "t.csv")
    small = Schema.parse('[table]\nname="t"\n[columns.ok]\nkind="boolean"\n')
    assert sfumato.read(tmp_path / "t.csv", small).check() == ()


def test_rows_that_do_not_fit_into_memory_go_to_a_private_folder(tmp_path):
    script = (
        "import os, stat, sys, sfumato, pandas as pd\n"
        "from sfumato.table.sources import open_source\n"
        "engine = open_source(pd.DataFrame({'a': [1]})).engine\n"
        "place = engine.relation.query('r', \"SELECT current_setting('temp_directory')\").fetchall()[0][0]\n"
        "print(place, oct(stat.S_IMODE(os.stat(place).st_mode)))\n"
    )
    environment = os.environ | {"TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, cwd=tmp_path, capture_output=True, text=True)
    place, mode = done.stdout.split()
    assert mode == "0o700"
    assert place.startswith(str(tmp_path / "sfumato-"))
    assert list(tmp_path.iterdir()) == []
