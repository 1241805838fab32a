"""Every file that people have is read as it is, and says of its columns what it knows."""

from __future__ import annotations

import bz2
import datetime as dt
import gzip
import json
import lzma
import random
import re
import sqlite3
import stat
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyreadstat
import pytest
import xlsxwriter

import sfumato
from sfumato import Schema
from sfumato.errors import MissingExtra, SfumatoError, TableError
from sfumato.schema.dialect import Dialect
from sfumato.table.sources import open_source
from sfumato.table.sources.scratch_space import connect, spill_folder

FRAME = pd.DataFrame(
    {
        "age": [31, 44, 27],
        "sex": ["f", "m", "f"],
        "income": [1200.5, 3400.25, 0.75],
        "since": [dt.date(2020, 1, 1), dt.date(2021, 2, 3), dt.date(2022, 3, 4)],
    }
)
TOML = """
[table]
name = "t"
[columns.age]
kind = "integer"
bounds = [0, 110]
[columns.sex]
kind = "category"
values = ["f", "m"]
[columns.income]
kind = "number"
bounds = [0, 10000]
[columns.since]
kind = "date"
bounds = [2000-01-01, 2030-12-31]
"""
SCHEMA = Schema.parse(TOML)
TEXT = FRAME.to_csv(index=False)


def rows(path, **dialect) -> list[dict]:
    """Return what is read, as the engine shows it."""
    engine = open_source(path, Dialect(**dialect)).engine
    return engine.aggregate(engine.table).to_pylist()


def write_excel(path: Path, sheets: dict[str, list[list]]) -> Path:
    with xlsxwriter.Workbook(str(path), {"default_date_format": "yyyy-mm-dd"}) as book:
        for name, cells in sheets.items():
            sheet = book.add_worksheet(name)
            for row, values in enumerate(cells):
                for column, value in enumerate(values):
                    if value is not None:
                        sheet.write(row, column, value)
    return path


def write_sqlite(path: Path) -> Path:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (age INTEGER, sex TEXT, income REAL, since TEXT, vip BOOLEAN, odd)")
        for i, row in enumerate(FRAME.itertuples(index=False)):
            values = (row.age, row.sex, row.income, row.since.isoformat(), i % 2, "x" if i else 7)
            connection.execute("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", values)
    connection.close()
    return path


def write_duckdb(path: Path) -> Path:
    connection = duckdb.connect(str(path))
    connection.register("given", FRAME)
    connection.execute("CREATE TABLE t AS SELECT * FROM given")
    connection.close()
    return path


def write_zip(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("folder/t.csv", TEXT)
        archive.writestr("__MACOSX/t.csv", "litter")
    return path


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


HEADED = [list(FRAME.columns), *FRAME.to_numpy().tolist()]
LINES = "".join(json.dumps(row, default=str) + "\n" for row in FRAME.to_dict("records"))
WRITERS = {
    "csv": lambda p: written(p / "t.csv", TEXT.encode()),
    "tsv": lambda p: written(p / "t.tsv", TEXT.replace(",", "\t").encode()),
    "csv.gz": lambda p: written(p / "t.csv.gz", gzip.compress(TEXT.encode())),
    "gz without its name": lambda p: written(p / "t.csv", gzip.compress(TEXT.encode())),
    "csv.bz2": lambda p: written(p / "t.csv.bz2", bz2.compress(TEXT.encode())),
    "csv.xz": lambda p: written(p / "t.csv.xz", lzma.compress(TEXT.encode())),
    "csv.zst": lambda p: written(p / "t.csv.zst", pa.Codec("zstd").compress(TEXT.encode(), asbytes=True)),
    "zip": lambda p: write_zip(p / "t.zip"),
    "utf-16": lambda p: written(p / "t.csv", TEXT.encode("utf-16")),
    "utf-16 without a mark": lambda p: written(p / "t.csv", TEXT.encode("utf-16-le")),
    "utf-8 with a mark": lambda p: written(p / "t.csv", TEXT.encode("utf-8-sig")),
    "jsonl": lambda p: written(p / "t.jsonl", LINES.encode()),
    "jsonl.gz": lambda p: written(p / "t.jsonl.gz", gzip.compress(LINES.encode())),
    "json": lambda p: written(p / "t.json", json.dumps(FRAME.to_dict("records"), default=str, indent=1).encode()),
    "parquet": lambda p: FRAME.to_parquet(p / "t.parquet") or p / "t.parquet",
    "feather": lambda p: pyarrow.feather.write_feather(FRAME, p / "t.feather") or p / "t.feather",
    "xlsx": lambda p: write_excel(p / "t.xlsx", {"people": HEADED}),
    "sav": lambda p: pyreadstat.write_sav(FRAME, p / "t.sav") or p / "t.sav",
    "zsav": lambda p: pyreadstat.write_sav(FRAME, p / "t.zsav", compress=True) or p / "t.zsav",
    "por": lambda p: pyreadstat.write_por(FRAME, p / "t.por") or p / "t.por",
    "dta": lambda p: pyreadstat.write_dta(FRAME, p / "t.dta") or p / "t.dta",
    "old dta": lambda p: pyreadstat.write_dta(FRAME, p / "t.dta", version=12) or p / "t.dta",
    "xpt": lambda p: pyreadstat.write_xport(FRAME, p / "t.xpt", file_format_version=8) or p / "t.xpt",
    "sqlite": lambda p: write_sqlite(p / "t.db"),
    "duckdb": lambda p: write_duckdb(p / "t.duckdb"),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_a_table_reads_the_same_from_every_format(kind: str, tmp_path):
    path = WRITERS[kind](tmp_path)
    # SPSS had capital letters alone.
    schema = (
        Schema.parse(re.sub(r"columns\.\w+", lambda found: found[0].upper().replace("COLUMNS", "columns"), TOML))
        if kind == "por"
        else SCHEMA
    )
    table = sfumato.read(path, schema)
    assert table.check() == ()
    names = schema.names
    assert table.marginals([names[:2]])[names[0], names[1]].sum() == 3
    engine = table.source.engine
    read = engine.aggregate(engine.table).to_pylist()
    assert [float(row[names[2]]) for row in read] == FRAME["income"].tolist()
    assert [str(row[names[3]])[:10] for row in read] == ["2020-01-01", "2021-02-03", "2022-03-04"]
    assert table.source.name == "t"


def test_the_draft_keeps_what_the_file_is(tmp_path):
    for kind, found in [("jsonl", "jsonl"), ("xlsx", "xlsx"), ("sqlite", "sqlite"), ("csv.zst", "csv")]:
        draft = Schema.draft(WRITERS[kind](tmp_path))
        assert draft.source == Dialect(format=found)
        assert Schema.parse(draft.to_toml()).source == draft.source


def test_types_of_sqlite_are_those_of_its_values(tmp_path):
    read = rows(write_sqlite(tmp_path / "t.db"))
    assert [row["vip"] for row in read] == [False, True, False]
    assert [row["odd"] for row in read] == ["7", "x", "x"]
    assert type(read[0]["age"]) is int and type(read[0]["income"]) is float


def test_cells_of_a_workbook_keep_their_types(tmp_path):
    cells = [
        ["n", "code", "when", "mixed", "flag", None],
        [1, "01067", dt.date(2020, 1, 1), 5, True, "x"],
        [None, "10115", dt.date(2020, 1, 2), "N/A", False, None],
        [None] * 6,
        [3, "20095", None, 2.5, True, None],
    ]
    path = write_excel(tmp_path / "t.xlsx", {"first": [["a"], [1]], "the table": cells})
    read = rows(path, sheet="the table")
    assert rows(path, sheet=2) == read == rows(path, sheet="2")
    assert [row["n"] for row in read] == [1, None, 3]
    assert [row["code"] for row in read] == ["01067", "10115", "20095"]
    assert [row["when"] for row in read] == [dt.date(2020, 1, 1), dt.date(2020, 1, 2), None]
    assert [row["mixed"] for row in read] == ["5", "N/A", "2.5"]
    assert [row["flag"] for row in read] == [True, False, True]
    assert "unnamed 1" in read[0]
    assert [row["mixed"] for row in rows(path, sheet=2, missing=("N/A", "3"))] == ["5", None, "2.5"]
    assert [row["n"] for row in rows(path, sheet=2, missing=("3",))] == [1, None, None]


def test_the_sheet_that_was_read_is_said_and_kept(tmp_path):
    path = write_excel(tmp_path / "t.xlsx", {"one": [["a"], [1], [1]], "two": [["b"], [1], [1]]})
    draft = Schema.draft(path)
    assert draft.source == Dialect(sheet="one", format="xlsx")
    assert any("2 sheets, and 'one' was read; --sheet names another" in note for note in draft.notes)
    with pytest.raises(TableError, match="no sheet 'three'") as caught:
        open_source(path, Dialect(sheet="three"))
    assert caught.value.problems == ("one", "two")


LABELLED = pd.DataFrame(
    {
        "sex": [1.0, 2.0, 1.0, 9.0],
        "likes": [1.0, 5.0, 3.0, 2.0],
        "land": ["de", "fr", "de", ""],
        "age": [31.0, 44.0, 99.0, 20.0],
    }
)
LABELS = {
    "column_labels": {"sex": "Sex of the person", "age": "Age in years"},
    "variable_value_labels": {
        "sex": {1.0: "male", 2.0: "female", 3.0: "other", 9.0: "no answer"},
        "likes": {1.0: "not at all", 5.0: "very much"},
        "land": {"de": "Germany", "fr": "France"},
        "age": {99.0: "does not know"},
    },
}


def test_labels_of_spss_become_facts(tmp_path):
    path = tmp_path / "t.sav"
    pyreadstat.write_sav(LABELLED, path, **LABELS, missing_ranges={"sex": [9.0]})
    opened = open_source(path)
    assert opened.facts["sex"] == {
        "description": "Sex of the person",
        "values": (1, 2, 3),
        "value_labels": {1: "male", 2: "female", 3: "other"},
    }
    assert opened.facts["land"] == {"values": ("de", "fr"), "value_labels": {"de": "Germany", "fr": "France"}}
    assert opened.facts["age"] == {"description": "Age in years"}
    assert "likes" not in opened.facts
    assert [note for note in opened.notes if "age" in note and "99 = 'does not know'" in note]
    read = rows(path)
    assert [row["sex"] for row in read] == [1, 2, 1, None]
    assert [row["land"] for row in read] == ["de", "fr", "de", None]


def test_labels_of_stata_become_facts(tmp_path):
    path = tmp_path / "t.dta"
    whole = LABELLED.assign(sex=[1, 2, 1, 2]).drop(columns="land")
    labels = {"sex": {1: "male", 2: "female"}}
    pyreadstat.write_dta(whole, path, column_labels=LABELS["column_labels"], variable_value_labels=labels)
    opened = open_source(path)
    assert opened.facts["sex"]["value_labels"] == {1: "male", 2: "female"}
    assert opened.facts["age"] == {"description": "Age in years"}
    assert [row["sex"] for row in rows(path)] == [1, 2, 1, 2]


def test_an_archive_of_several_files_asks_which(tmp_path):
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/people.csv", TEXT)
        archive.writestr("b/other.csv", "x,y\n1,2\n")
    with pytest.raises(TableError, match="holds 2 files") as caught:
        open_source(path)
    assert caught.value.problems == ("a/people.csv", "b/other.csv")
    assert "--sheet" in caught.value.next_step
    assert len(rows(path, sheet="people.csv")) == 3
    assert rows(path, sheet="b/other.csv") == [{"x": "1", "y": "2"}]


@pytest.mark.parametrize("writer", [write_sqlite, write_duckdb])
def test_a_database_of_several_tables_asks_which(writer, tmp_path):
    path = writer(tmp_path / "t.db")
    connection = (sqlite3 if writer is write_sqlite else duckdb).connect(str(path))
    connection.execute('CREATE TABLE "the other" AS SELECT 1 AS x')
    connection.commit()
    connection.close()
    with pytest.raises(TableError, match="has 2 tables") as caught:
        open_source(path)
    assert set(caught.value.problems) == {"t", "the other"}
    assert rows(path, sheet="the other") == [{"x": 1}]
    assert Schema.draft(path, sheet="t").source.sheet == "t"
    with pytest.raises(TableError, match="no table 'nobody'"):
        open_source(path, Dialect(sheet="nobody"))


@pytest.mark.parametrize(
    ("text", "encoding", "found"),
    [
        ("Kosten (\u20ac),Ort\n1,K\u00f6ln\n", "cp1252", "cp1252"),
        ("Kosten,Ort\n1,K\u00f6ln\n", "latin-1", "latin-1"),
        ("Kosten,Ort\n1,K\u00f6ln\n", "utf-16", "utf-16"),
        ("Kosten,Ort\n1,K\u00f6ln\n", "utf-8-sig", None),
        ("Kosten,Ort\n1,K\u00f6ln\n", "utf-8", None),
    ],
)
def test_an_encoding_is_recognised_said_and_kept(text, encoding, found, tmp_path):
    for name, data in [("t.csv", text.encode(encoding)), ("t.csv.gz", gzip.compress(text.encode(encoding)))]:
        path = written(tmp_path / name, data)
        draft = Schema.draft(path)
        assert draft.source.encoding == found
        assert any(f"recognised as {found}" in note for note in draft.notes) == (found is not None)
        assert list(rows(path)[0]) == text.split("\n")[0].split(",")
        assert rows(path)[0]["Ort"] == "K\u00f6ln"


def test_an_encoding_can_be_said(tmp_path):
    path = written(tmp_path / "t.csv", "x,y\n\u0142\u00f3d\u017a,1\n".encode("cp1250"))
    assert rows(path, encoding="cp1250")[0]["x"] == "\u0142\u00f3d\u017a"
    with pytest.raises(TableError, match="not written in utf-32"):
        rows(path, encoding="utf-32")
    dos = written(tmp_path / "d.csv", "x,y\nM\u00fcnchen \u00e5,1\n".encode("cp850") + b"\x81\x8d,2\n")
    with pytest.raises(TableError, match="cp1252 does not know either"):
        rows(dos)
    assert rows(dos, encoding="cp850")[0]["x"].startswith("M\u00fcnchen")


def test_copies_lie_in_a_private_folder(tmp_path):
    rows(written(tmp_path / "t.csv", "x,y\n\u00e9,1\n".encode("latin-1")))
    folder = Path(spill_folder())
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert any(folder.rglob("t.csv"))


FOREIGN = {
    "rds": (gzip.compress(b"X\n\x00\x00\x00\x03"), "an R data file"),
    "rdata": (gzip.compress(b"RDX3\nX\n"), "an R workspace"),
    "pdf": (b"%PDF-1.7 ...", "a PDF document"),
    "jpg": (b"\xff\xd8\xff\xe0\x00\x10JFIF", "a JPEG picture"),
    "h5": (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    "avro": (b"Obj\x01\x04", "an Avro file"),
    "orc": (b"ORC\x08\x03", "an ORC file"),
    "pkl": (b"\x80\x04\x95\x10\x00", "a Python pickle"),
    "db-journal": (b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", "the journal of an SQLite database"),
    "xls": (b"\r\n<html><table><tr><td>a</td></tr></table></html>", "a web page"),
    "xml": (b"<?xml version='1.0'?><Workbook xmlns='urn:schemas-microsoft-com:office:spreadsheet'>", "XML spreadsheet"),
    "json": (b'{\n "rows": []\n}', "one object over several lines"),
    "tar.gz": (gzip.compress(b"a".ljust(257, b"\0") + b"ustar" + b"\0" * 300), "a tar archive"),
    "locked.xlsx": (
        bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 600 + "EncryptedPackage".encode("utf-16-le"),
        "an Office file with a password",
    ),
    "doc": (bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 600 + "WordDocument".encode("utf-16-le"), "a Word document"),
    "dat": (bytes(range(256)) * 4, "not a text table"),
}


@pytest.mark.parametrize("ending", FOREIGN)
def test_what_cannot_be_read_is_named_by_what_it_is(ending: str, tmp_path):
    data, words = FOREIGN[ending]
    with pytest.raises(TableError, match=words) as caught:
        Schema.draft(written(tmp_path / f"t.{ending}", data))
    assert caught.value.next_step and "iconv" not in str(caught.value)


def test_documents_in_a_wrapping_of_zip_are_named(tmp_path):
    for member, words in [("word/document.xml", "a Word document"), ("ppt/slides.xml", "PowerPoint")]:
        with zipfile.ZipFile(tmp_path / "t.docx", "w") as archive:
            archive.writestr(member, "<x/>")
        with pytest.raises(TableError, match=words):
            open_source(tmp_path / "t.docx")
    with pytest.raises(TableError, match="broken"):
        open_source(written(tmp_path / "cut.xlsx", b"PK\x03\x04 and no more"))


def damaged(whole: bytes) -> Iterator[bytes]:
    """Yield a file that was cut off, and one in which bytes were changed, the same in every run."""
    chance = random.Random(18)
    for share in (0.1, 0.5, 0.9):
        yield whole[: int(len(whole) * share)]
    for changes in (3, 60):
        data = bytearray(whole)
        for _ in range(changes):
            data[chance.randrange(len(data))] = chance.randrange(256)
        yield bytes(data)


@pytest.mark.parametrize(
    "kind", ["xlsx", "sav", "dta", "xpt", "sqlite", "duckdb", "feather", "parquet", "jsonl", "zip"]
)
def test_a_damaged_file_is_read_or_a_named_error(kind: str, tmp_path):
    path = WRITERS[kind](tmp_path)
    refused = 0
    for data in damaged(path.read_bytes()):
        path.write_bytes(data)
        try:
            sfumato.read(path, SCHEMA).check()
        except SfumatoError as error:
            refused += 1
            assert error.next_step
    assert refused


def test_a_text_that_begins_like_a_program_is_a_text(tmp_path):
    for header in ("MZ,a", "ORCA,b", "A,b", "BZh,d", "RDX,e", "MATLAB"):
        assert len(rows(written(tmp_path / "t.csv", f"{header}\n1,2\n".encode()), delimiter=";")) == 1


@pytest.mark.parametrize(("module", "kind"), [("python_calamine", "xlsx"), ("pyreadstat", "sav")])
def test_what_is_not_installed_is_named(module: str, kind: str, tmp_path, monkeypatch):
    path = WRITERS[kind](tmp_path)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=r"pip install 'sfumato\[formats\]'"):
        open_source(path)


def test_the_private_engine_prints_no_progress_bar():
    assert connect().sql("SELECT current_setting('enable_progress_bar')").fetchone() == (False,)
