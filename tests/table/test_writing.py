"""Files that look like the one the table came from: forms, quotes, dialects, other formats with their labels."""

from __future__ import annotations

import dataclasses
import datetime as dt
import gzip
import json
import sqlite3
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from sfumato.errors import MissingExtra
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.dialect import Dialect
from sfumato.table.writing import formats
from sfumato.table.writing.delimited import output_encoding, text_file_matches_rows
from sfumato.table.writing.formats import COPIES, WRITERS, copy_suffix, file_matches_rows, note_on_copy, suffix_of

COLUMNS = (
    Column("sex", "category", values=(1, 2), description="Sex of the person", value_labels={1: "male", 2: "female"}),
    Column("name", "category", values=("=A1", 'say "hi"', "a,b", "007", ""), missing=True),
    Column("pay", "number", bounds=(-10.0, 9000.0), decimals=2, trailing_zeros=True, missing=True),
    Column("rate", "number", bounds=(0.0, 9.0), decimals=3, trailing_zeros=1),
    Column("income", "integer", bounds=(0, 10**6), decimals=1, trailing_zeros=True),
    Column("day", "date", bounds=(dt.date(2020, 1, 1), dt.date(2029, 1, 1)), missing=True),
    Column("is_new", "boolean", true="Ja", false="Nein"),
)
SCHEMA = Schema("people", COLUMNS)
ROWS = pa.table(
    {
        "sex": pa.array([1, 2, 1], pa.int64()),
        "name": ["=A1", None, ""],
        "pay": [1234.5, None, -0.001],
        "rate": [0.5, 2.0, 1.125],
        "income": pa.array([66000, 0, 5], pa.int64()),
        "day": [dt.date(2024, 3, 1), None, dt.date(2020, 12, 31)],
        "is_new": [True, False, True],
    }
)


def in_dialect(**facts: Any) -> Schema:
    return dataclasses.replace(SCHEMA, source=Dialect(**facts))


def write(path: Path, schema: Schema = SCHEMA, rows: pa.Table = ROWS) -> Path:
    suffix = suffix_of(path)
    assert suffix is not None
    with WRITERS[suffix](path, rows.schema, schema) as file:
        file.write_table(rows.slice(0, 2))
        file.write_table(rows.slice(2))
    return path


def test_a_plain_file_has_every_value_in_its_form(tmp_path: Path):
    assert write(tmp_path / "a.csv").read_text(encoding="utf-8").splitlines() == [
        "sex,name,pay,rate,income,day,is_new",
        "1,=A1,1234.50,0.5,66000.0,2024-03-01,Ja",
        "2,,,2.0,0.0,,Nein",
        '1,"",0.00,1.125,5.0,2020-12-31,Ja',
    ]


def test_a_dialect_is_written_again(tmp_path: Path):
    schema = in_dialect(delimiter=";", decimal=",", missing=("k.A.", "-"), date_format="%d.%m.%Y", encoding="cp1252")
    assert write(tmp_path / "a.csv", schema).read_text(encoding="cp1252").splitlines()[1:] == [
        "1;=A1;1234,50;0,5;66000,0;01.03.2024;Ja",
        "2;k.A.;k.A.;2,0;0,0;k.A.;Nein",
        '1;"";0,00;1,125;5,0;31.12.2020;Ja',
    ]


def test_texts_are_quoted_where_they_must_be(tmp_path: Path):
    schema = Schema("t", (Column("x", "category", values=('say "hi"', "a,b", "NA", "two\nlines")),), source=Dialect())
    rows = pa.table({"x": ['say "hi"', "a,b", "NA", "two\nlines"]})
    read = pd.read_csv(write(tmp_path / "a.csv", schema, rows), keep_default_na=False)
    assert read["x"].tolist() == rows["x"].to_pylist()
    marked = dataclasses.replace(schema, source=Dialect(missing=("NA",)))
    assert '"NA"' in write(tmp_path / "b.csv", marked, rows).read_text()


def test_a_column_that_stands_alone_keeps_its_missing_rows(tmp_path: Path):
    schema = Schema("t", (Column("x", "integer", bounds=(0, 9), missing=True),))
    rows = pa.table({"x": pa.array([1, None, None, 4], pa.int64())})
    path = write(tmp_path / "a.csv", schema, rows)
    assert len(pd.read_csv(path)) == 4
    assert text_file_matches_rows(path, rows, schema)


@pytest.mark.parametrize(
    "facts",
    [{}, {"delimiter": ";", "decimal": ",", "missing": ("NA",)}, {"encoding": "utf-16", "date_format": "%d/%m/%Y"}],
)
def test_a_file_is_told_from_one_that_was_changed(tmp_path: Path, facts: dict[str, Any]):
    schema = in_dialect(**facts)
    path = write(tmp_path / "a.csv", schema)
    assert text_file_matches_rows(path, ROWS, schema)
    text = path.read_bytes().decode(output_encoding(schema))
    for old, new in {"66000": "66001", "Nein": "Ja", "2024": "2025", "=A1": "a"}.items():
        path.write_bytes(text.replace(old, new).encode(output_encoding(schema)))
        assert not text_file_matches_rows(path, ROWS, schema), old


def test_letters_that_the_encoding_lacks_are_written_as_utf8():
    column = Column("city", "category", values=("\u0141\u00f3d\u017a", "K\u00f6ln"))
    assert output_encoding(Schema("t", (column,), source=Dialect(encoding="cp1252"))) == "utf-8"
    assert output_encoding(Schema("t", (column,), source=Dialect(encoding="cp1250"))) == "cp1250"


def test_packed_files_and_tabs(tmp_path: Path):
    packed = write(tmp_path / "a.csv.gz").read_bytes()
    assert gzip.decompress(packed) == write(tmp_path / "a.csv").read_bytes()
    assert packed == write(tmp_path / "other name.csv.gz").read_bytes()
    assert pd.read_csv(write(tmp_path / "a.tsv"), sep="\t")["pay"].tolist()[0] == 1234.5


def test_a_workbook_holds_texts_as_texts_and_numbers_as_numbers(tmp_path: Path):
    pytest.importorskip("xlsxwriter")
    calamine = pytest.importorskip("python_calamine")
    book = calamine.CalamineWorkbook.from_path(str(write(tmp_path / "a.xlsx", in_dialect(sheet="Q1/24"))))
    assert book.sheet_names == ["Q1_24"]
    header, first, second, _ = book.get_sheet_by_index(0).to_python()
    assert header == ROWS.column_names
    assert first == [1.0, "=A1", 1234.5, 0.5, 66000.0, dt.date(2024, 3, 1), True]
    assert second[1:3] == ["", ""]


@pytest.mark.parametrize("suffix", [".sav", ".dta"])
def test_labels_go_with_the_rows(tmp_path: Path, suffix: str):
    pyreadstat = pytest.importorskip("pyreadstat")
    read = pyreadstat.read_sav if suffix == ".sav" else pyreadstat.read_dta
    rows = ROWS.set_column(1, "name", [["a", None, "b"]])
    frame, labels = read(str(write(tmp_path / f"a{suffix}", SCHEMA, rows)))
    assert labels.variable_value_labels["sex"] == {1: "male", 2: "female"}
    assert labels.column_names_to_labels["sex"] == "Sex of the person"
    assert frame["sex"].tolist() == [1, 2, 1]
    assert frame["pay"].tolist()[0] == 1234.5 and frame["pay"].isna().tolist()[1]
    assert frame["day"].tolist()[0] == dt.date(2024, 3, 1)


def test_json_lines_and_databases(tmp_path: Path):
    lines = write(tmp_path / "a.jsonl", in_dialect(date_format="%d.%m.%Y")).read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[0])["day"] == "01.03.2024"
    assert json.loads(lines[1])["pay"] is None
    with sqlite3.connect(write(tmp_path / "a.sqlite", in_dialect(sheet="staff"))) as database:
        found = database.execute('SELECT sex, pay, day FROM "staff"').fetchall()
    assert found[0] == (1, 1234.5, "2024-03-01") and found[1] == (2, None, None)


@pytest.mark.parametrize("suffix", sorted(set(COPIES.values())))
def test_a_file_says_nothing_of_when_it_was_written(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch):
    if not formats.is_installed(suffix):
        pytest.skip("needs the extra [formats]")
    one = write(tmp_path / f"one{suffix}").read_bytes()
    monkeypatch.setitem(formats.NO_TIME, suffix, formats.NO_TIME.get(suffix, b""))
    assert one == write(tmp_path / f"two{suffix}").read_bytes()
    if suffix in formats.TIMESTAMP_PATTERNS:
        assert formats.NO_TIME[suffix] in one


def test_a_format_whose_package_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(formats.EXTRAS, ".sav", "no_such_package")
    schema = in_dialect(format="sav")
    assert copy_suffix(schema) == ".sav"
    assert "data.sav needs no_such_package: pip install 'sfumato[formats]'" in (note_on_copy(schema) or "")
    with pytest.raises(MissingExtra, match="no_such_package"):
        write(tmp_path / "a.sav")


@pytest.mark.parametrize("suffix", sorted(set(COPIES.values())))
def test_a_copy_is_read_back_and_told_from_another_one(tmp_path: Path, suffix: str):
    if not formats.is_installed(suffix):
        pytest.skip("needs the extra [formats]")
    schema = in_dialect(date_format="%d.%m.%Y", missing=("NA",))
    assert file_matches_rows(write(tmp_path / f"one{suffix}", schema), ROWS, schema)
    other = ROWS.set_column(4, "income", pa.array([66000, 0, 6], pa.int64()))
    assert not file_matches_rows(write(tmp_path / f"two{suffix}", schema, other), ROWS, schema)
    assert not file_matches_rows(write(tmp_path / f"few{suffix}", schema, ROWS.slice(1)), ROWS, schema)


def test_texts_around_numbers_are_written_and_read_again(tmp_path: Path):
    """Also texts that no program knows, and that hold the delimiter; a minus comes first."""
    columns = (
        Column("pay", "number", bounds=(-1e7, 1e7), decimals=2, grouped=True, prefix="ca., $ ", missing=True),
        Column("size", "integer", bounds=(0, 9000), suffix=" kg", missing=True, missing_text="none"),
        Column("word", "category", values=("none so far", "N/A"), missing=True, missing_text="none"),
    )
    schema = Schema("things", columns, source=Dialect(thousands=",", missing=("-",)))
    rows = pa.table({"pay": [-1234567.5, None], "size": pa.array([None, 4000], pa.int64()), "word": ["N/A", None]})
    path = tmp_path / "things.csv"
    with WRITERS[".csv"](path, rows.schema, schema) as file:
        file.write_table(rows)
    assert path.read_text().splitlines()[1:] == ['"-ca., $ 1,234,567.5",none,N/A', "-,4000 kg,none"]
    assert text_file_matches_rows(path, rows, schema)
    assert file_matches_rows(path, rows, schema)
