"""No error quotes a private row: canaries in damaged files of every reader, in frames and in engines' own messages."""

from __future__ import annotations

import io
import json
import sqlite3
import sys
import traceback
from pathlib import Path

import duckdb
import ibis
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest

import sfumato
from sfumato import Schema
from sfumato.errors import SfumatoError, TableError, place_of
from sfumato.table.engines.engine import cause_of, engine_errors

CANARY = "Ann Canary 4711"
SCHEMA = Schema.parse('[table]\nname="t"\n[columns.a]\nkind="integer"\nbounds=[0,9]\n')
FILES = {
    "ragged.csv": (f"a,b\n1,2\n{CANARY},3,4\n", "line 3 has 3 fields, and the header 2"),
    "short.csv": (f"a,b\n1,2\n{CANARY}\n", "line 3 has 1 fields, and the header 2"),
    "quote.csv": (f'a,b\n1,2\n"{CANARY},3\n', "line 3 has a quote without an end"),
    "letters.csv": (f'a,b\n1,2\n"{CANARY}"x,3\n', "line 3 has a quote without an end"),
    "names.jsonl": (f'{{"a":1}}\n{{"a": {CANARY}}}\n', "it is no JSON at byte"),
    "broken.json": (f'[{{"a":1}},{{"a":"{CANARY}" x}}]', "it is no JSON at byte"),
}


def refused(action) -> str:
    """Return all that a user would see of an error, with the trace that a notebook or a log keeps."""
    try:
        action()
    except SfumatoError as error:
        return "".join(traceback.format_exception(error))
    raise AssertionError("nothing was refused")


@pytest.mark.parametrize("name", FILES)
def test_damaged_texts_are_told_by_line_and_counts(name: str, tmp_path: Path):
    content, words = FILES[name]
    (tmp_path / name).write_text(content)
    for action in (
        lambda: Schema.draft(tmp_path / name),
        lambda: sfumato.read(tmp_path / name, SCHEMA).require_valid(),
        lambda: sfumato.read(tmp_path / name, SCHEMA).marginals([("a",)]),
    ):
        shown = refused(action)
        assert words in shown
        assert "Canary" not in shown


def test_the_command_line_quotes_no_row(tmp_path, monkeypatch, capsys):
    from sfumato.cli.main import run

    monkeypatch.chdir(tmp_path)
    Path("ragged.csv").write_text(FILES["ragged.csv"][0])
    monkeypatch.setattr(sys, "argv", ["sfumato", "schema", "draft", "ragged.csv"])
    assert run() == 2
    assert "Canary" not in (err := capsys.readouterr().err)
    assert "line 3 has 3 fields" in err


def raised(action) -> Exception:
    try:
        action()
    except Exception as error:  # noqa: BLE001  whatever an engine raises is the subject
        return error
    raise AssertionError("nothing was raised")


def engine_messages() -> dict[str, Exception]:
    """Return what engines raise about a row, and say in their messages."""
    text = f"a,b\n1,2\n{CANARY},3,4\n"
    types = pyarrow.csv.ConvertOptions(column_types={"a": pa.int32()})
    return {
        "arrow fields": raised(lambda: pyarrow.csv.read_csv(io.BytesIO(text.encode()))),
        "arrow types": raised(
            lambda: pyarrow.csv.read_csv(io.BytesIO(f"a\n{CANARY}\n".encode()), convert_options=types)
        ),
        "arrow cast": raised(lambda: pa.array([CANARY]).cast(pa.int32())),
        "duckdb cast": raised(lambda: duckdb.sql(f"SELECT CAST('{CANARY}' AS INTEGER)").fetchall()),
        "pandas": raised(lambda: pd.Series([CANARY]).astype(int)),
        "sqlite": raised(lambda: sqlite3.connect(":memory:").execute(f"SELECT json('{CANARY}')").fetchall()),
        "json": raised(lambda: json.loads(CANARY)),
        "ibis": raised(lambda: ibis.literal(CANARY).cast("int32").execute()),
        "postgres": ValueError(f"duplicate key value\nDETAIL:  Key (name)=({CANARY}) already exists."),
        "postgres cast": ValueError(f'invalid input syntax for type integer: "{CANARY}"'),
        "spark": RuntimeError(f"[CAST_INVALID_INPUT] The value '{CANARY}' of the type STRING cannot be cast to INT"),
        "python": KeyError(CANARY),
    }


def test_messages_of_engines_are_not_repeated():
    messages = engine_messages()
    assert sum("Canary" in str(error) for error in messages.values()) >= 9, "the engines do quote rows"
    for name, error in messages.items():
        cause = cause_of(error)
        assert "Canary" not in cause.reason + cause.next_step, name
        if type(error).__module__ in ("builtins", "sfumato.errors"):
            continue
        with pytest.raises(TableError) as caught, engine_errors("the table"):
            raise error
        assert "Canary" not in "".join(traceback.format_exception(caught.value)), name


@pytest.mark.parametrize(
    ("message", "reason", "step"),
    [
        ("Out of Memory Error: failed to allocate data of size 4.0 GiB (3/4 used)", "not enough memory", "free some"),
        ("Could not convert string 'x' to INT32", "not of the type", "correct that value"),
        ("[UNRESOLVED_COLUMN.X] row 7", "stopped with UNRESOLVED_COLUMN.X", "complete"),
        ("CSV parse error: Row #7: Expected 2 columns, got 3: Ann,1,2", "row 7 has 3 fields, and the header 2", "line"),
        ("No space left on device", "no space left on device", "make room"),
        ("something of its own", "stopped with RuntimeError", "complete"),
    ],
)
def test_what_is_said_instead(message: str, reason: str, step: str):
    cause = cause_of(RuntimeError(message))
    assert reason in cause.reason
    assert step in cause.next_step


def test_a_bug_is_told_by_its_place():
    error = raised(lambda: int(CANARY))
    assert "Canary" not in place_of(error)
    assert place_of(error).startswith("ValueError at test_private_errors.py, line ")
