"""Values come out plain, however a file writes them, and only where a column needs it."""

from __future__ import annotations

import pandas as pd
import pytest

import sfumato
from sfumato import Schema
from sfumato.errors import SchemaError, TableError
from sfumato.schema.dialect import Dialect
from sfumato.table.sources import open_source

EUROPEAN = """cost;size;when;share;town;sex
1.234,50;1,5;31.12.2019;67 %;K;N
-5;2;1.2.2020;3%;N/A;Y
€ 7;1,5;;100 %;L;N
N;2;24.06.2020;0,5 %;K;Y
"""
SAID = {
    "delimiter": ";",
    "decimal": ",",
    "thousands": ".",
    "date_format": "%d.%m.%Y",
    "missing": ("N/A", "N"),
}
SOURCE = """
[source]
delimiter = ";"
decimal = ","
thousands = "."
date_format = "%d.%m.%Y"
missing = ["N/A", "N"]
"""
TOML = """
[table]
name = "t"
[columns.cost]
kind = "number"
bounds = [-10, 2000]
missing = true
[columns.size]
kind = "category"
values = ["1,5", "2"]
[columns.when]
kind = "date"
bounds = [2019-01-01, 2020-12-31]
missing = true
[columns.share]
kind = "number"
bounds = [0, 100]
[columns.town]
kind = "category"
values = ["K", "L"]
missing = true
[columns.sex]
kind = "category"
values = ["N", "Y"]
"""


@pytest.fixture
def european(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(EUROPEAN, encoding="utf-8")
    return path


def values(opened) -> dict[str, list]:
    return opened.engine.aggregate(opened.engine.table).to_pydict()


def test_the_section_source_reads_what_options_would(european):
    with_section = sfumato.read(european, Schema.parse(TOML + SOURCE))
    with_options = sfumato.read(european, Schema.parse(TOML), **SAID)
    for table in (with_section, with_options):
        assert table.check() == ()
        assert values(table.source) == {
            "cost": ["1234.50", "-5", "7", None],
            "size": ["1,5", "2", "1,5", "2"],  # a category of texts is left alone
            "when": ["2019-12-31", "2020-02-01", None, "2020-06-24"],
            "share": ["67", "3", "100", "0.5"],
            "town": ["K", None, "L", "K"],
            "sex": ["N", "Y", "N", "Y"],  # where N is a listed value, it is one
        }


def test_without_a_word_nothing_is_changed(european):
    assert values(open_source(european, Dialect(delimiter=";")))["cost"] == ["1.234,50", "-5", "€ 7", "N"]


def test_a_draft_reads_a_column_so_when_all_its_texts_are(european):
    found = values(open_source(european, Dialect(**SAID)))
    assert found["size"] == ["1.5", "2", "1.5", "2"]
    assert found["cost"] == ["1234.50", "-5", "7", None]
    one_short = values(open_source(european, Dialect(**{**SAID, "missing": ()})))
    assert one_short["cost"] == ["1.234,50", "-5", "€ 7", "N"]
    assert one_short["when"] == ["2019-12-31", "2020-02-01", None, "2020-06-24"]


def test_options_go_before_the_section(european):
    schema = Schema.parse(TOML + SOURCE.replace('decimal = ","', 'decimal = "."').replace('thousands = "."', ""))
    assert sfumato.read(european, schema, decimal=",", thousands=".").check() == ()
    assert sfumato.read(european, schema, thousands=".").check() == ()  # points between thousands: a decimal comma


def test_a_column_has_its_own_date_format(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,c\n31.12.2019,12/31/2019,2019-12-31\n")
    dates = "".join(f'[columns.{n}]\nkind = "date"\nbounds = [2019-01-01, 2020-12-31]\n' for n in "abc")
    schema = Schema.parse(
        '[table]\nname = "t"\n' + dates.replace("[columns.c]", 'date_format = "%m/%d/%Y"\n[columns.c]')
    )
    assert sfumato.read(path, schema, date_format="%d.%m.%Y").check() == ()


def test_a_point_that_may_mean_thousands_is_not_read_as_a_fraction(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("cost\n1.234\n5\n2.5\n")
    schema = Schema.parse('[table]\nname = "t"\n[columns.cost]\nkind = "number"\nbounds = [0, 5000]\n')
    (only,) = sfumato.read(path, schema, decimal=",").check()
    assert only.count == 1 and "'1.234 (a point, where the decimal mark is a comma)'" in only.problem
    assert sfumato.read(path, schema, decimal=",", thousands=".").check() == ()


@pytest.mark.parametrize(
    ("text", "decimal", "thousands", "plain"),
    [
        ("1,5", ",", None, "1.5"),
        ("1'234.5", ".", "'", "1234.5"),
        ("1\u00a0234,5", ",", " ", "1234.5"),
        ("$1,234.50", ".", ",", "1234.50"),
        ("-1 234 EUR", ",", " ", "-1234"),
        ("1,5e3", ",", None, "1.5e3"),
        ("67 %", ".", None, "67"),
        (",5", ",", None, ".5"),
        ("12.34", ",", ".", "12.34"),
        ("1,23,4", ".", ",", "1,23,4"),
        ("1,2 and 3", ",", None, "1,2 and 3"),
        ("", ",", None, ""),
    ],
)
def test_numbers_are_written_plainly(text, decimal, thousands, plain):
    schema = Schema.parse('[table]\nname = "t"\n[columns.x]\nkind = "number"\nbounds = [0, 5]\n')
    for frame in (pd.DataFrame({"x": [text]}), pd.DataFrame({"x": pd.Categorical([text])})):
        opened = open_source(frame, Dialect(decimal=decimal, thousands=thousands), schema.columns)
        assert values(opened)["x"] == [plain]


def test_unread_values_are_told_with_the_option_that_reads_them(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,d\n" + '"1,5",31.12.2019\n"2,5",1.1.2020\n' * 5)
    schema = Schema.parse("""
[table]
name = "t"
[columns.x]
kind = "number"
bounds = [0, 5]
[columns.d]
kind = "date"
bounds = [2019-01-01, 2020-12-31]
""")
    with pytest.raises(TableError) as caught:
        sfumato.read(path, schema).require_valid()
    assert caught.value.next_step.startswith(
        "say how the file is written: --decimal ',' --date-format %d.%m.%Y; or correct the table"
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"decimal": ";"},
        {"thousands": "x"},
        {"decimal": ",", "thousands": ","},
        {"date_format": "day"},
        {"encoding": "klingon"},
        {"sheet": 0},
        {"colour": "red"},
    ],
)
def test_a_dialect_that_no_file_has_is_refused(wrong, european):
    with pytest.raises(SchemaError, match="invalid file-format options"):
        sfumato.read(european, Schema.parse(TOML), **wrong)


def test_marks_of_no_value_hold_for_numbers_too():
    frame = pd.DataFrame({"age": [31, 99, 44], "code": [1, 2, 99]})
    schema = Schema.parse("""
[table]
name = "t"
[columns.age]
kind = "integer"
bounds = [0, 110]
missing = true
[columns.code]
kind = "category"
values = [1, 2, 99]
""")
    table = sfumato.read(frame, schema, missing=["99", "N/A"])
    assert values(table.source) == {"age": [31, None, 44], "code": [1, 2, 99]}
