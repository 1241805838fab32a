"""The options that say how a file is written: on every verb that reads, and kept by the schema."""

from __future__ import annotations

import dataclasses
import inspect
import json
from typing import Annotated

import pytest
import typer
import xlsxwriter

from sfumato import Schema
from sfumato.cli.options import DialectOptions, expand_options
from sfumato.cli.verbs import VERBS, load_command
from sfumato.schema.dialect import Dialect

FEWEST = 16
"""Verbs that read a table when this was written."""
EUROPEAN = "cost;when;town\n" + "1.234,50;31.12.2019;K\n7,25;1.2.2020;N/A\n8,5;1.3.2020;L\n" * 5


def options_of(words: str) -> set[str]:
    return {parameter.name for parameter in load_command(words).params}


def test_every_verb_that_reads_has_every_option():
    options = {field.name for field in dataclasses.fields(DialectOptions)}
    readers = [words for words, verb in VERBS.items() if verb.home and options_of(words) & options]
    assert len(readers) >= FEWEST
    assert not {words: lacking for words in readers if (lacking := options - options_of(words))}


def test_an_option_of_an_object_is_one_parameter_and_reaches_the_verb_in_the_object():
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Pair:
        first: Annotated[int, typer.Option()]
        second: Annotated[int, typer.Option()] = 2

    def verb(name: str, pair: Pair) -> tuple[str, Pair]:
        return name, pair

    verb.__annotations__ = {"name": str, "pair": Pair}
    Pair.__annotations__ = {"first": Annotated[int, typer.Option()], "second": Annotated[int, typer.Option()]}
    expanded = expand_options(verb)
    assert list(inspect.signature(expanded).parameters) == ["name", "first", "second"]
    assert expanded(name="a", first=1, second=3) == ("a", Pair(first=1, second=3))


def test_a_draft_keeps_the_options_and_later_verbs_need_none(sfumato_cli, tmp_path):
    data, schema = tmp_path / "t.csv", tmp_path / "t.toml"
    data.write_text(EUROPEAN)
    said = ("--delimiter", ";", "--decimal", ",", "--thousands", ".", "--date-format", "%d.%m.%Y", "--missing", "N/A")
    code, _, err = sfumato_cli("schema", "draft", str(data), "--out", str(schema), *said)
    assert code == 0, err
    assert Schema.load(schema).source == Dialect(";", ",", ".", "%d.%m.%Y", ("N/A",), format="csv")
    assert sfumato_cli("schema", "check", str(data), "--schema", str(schema))[0] == 0
    code, _, err = sfumato_cli(
        "schema", "check", str(data), "--schema", str(schema), "--decimal", ".", "--thousands", ","
    )
    assert code == 2 and "say how the file is written" in err


def test_a_tab_can_be_typed(sfumato_cli, tmp_path):
    data = tmp_path / "t.csv"
    data.write_text(EUROPEAN.replace(";", "\t"))
    for tab in ("tab", "\\t", "\t"):
        code, out, _ = sfumato_cli("schema", "draft", str(data), "--delimiter", tab)
        assert code == 0 and "[columns.town]" in out


def test_wrong_options_are_told_together(sfumato_cli, tmp_path):
    data = tmp_path / "t.csv"
    data.write_text(EUROPEAN)
    code, out, _ = sfumato_cli("schema", "draft", str(data), "--decimal", "x", "--encoding", "klingon", "--json")
    assert code == 2 and len(json.loads(out)["problems"]) == 2


@pytest.fixture
def workbook(tmp_path):
    path = tmp_path / "people.xlsx"
    with xlsxwriter.Workbook(str(path)) as book:
        book.add_worksheet("notes").write(0, 0, "read me")
        sheet = book.add_worksheet("people")
        for row, cells in enumerate([["age", "sex"], *([20 + i, "fm"[i % 2]] for i in range(40))]):
            for column, cell in enumerate(cells):
                sheet.write(row, column, cell)
    return path


SCHEMA = """
[table]
name = "people"
[source]
sheet = "people"
[columns.age]
kind = "integer"
bounds = [0, 110]
[columns.sex]
kind = "category"
values = ["f", "m"]
"""


def test_a_workbook_is_released_with_its_sheet_from_the_schema(sfumato_cli, workbook, tmp_path):
    schema, bundle = tmp_path / "people.toml", tmp_path / "bundle"
    schema.write_text(SCHEMA)
    given = ("--schema", str(schema), "--method", "histogram", "--set", "column=sex", "--epsilon", "1")
    given = (*given, "--no-ledger", "--anyway")
    code, _, err = sfumato_cli("release", str(workbook), *given, "--out", str(bundle))
    assert code == 0, err
    assert (bundle / "release.json").is_file()
    code, _, err = sfumato_cli("release", str(workbook), *given, "--out", str(tmp_path / "other"), "--sheet", "notes")
    assert code == 2 and "lacks 2 of the 2 columns" in err
