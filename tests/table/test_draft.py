import datetime as dt

import duckdb
import pandas as pd
import pytest

import sfumato
from sfumato import Schema
from sfumato.errors import TableError
from sfumato.example import households, write_households
from sfumato.table.engines.duckdb import DuckDBEngine


def test_a_draft_fits_the_data_it_was_drafted_from(tmp_path):
    path = write_households(tmp_path / "h.csv", rows=400)
    for source in (path, households(rows=400)):
        draft = Schema.draft(source, name="h")
        assert draft.is_draft
        assert draft["household"].role == "identifier"
        assert sfumato.read(source, draft).check() == ()
        kinds = {c.name: c.kind for c in draft}
        assert kinds["age"] == "integer"
        assert kinds["income"] == "number"
        assert kinds["moved_in"] == "date"
        assert kinds["insured"] == "boolean"
        assert draft["income"].missing
        assert Schema.parse(draft.to_toml()) == draft
        assert "leak" in draft.to_toml()


def test_unusual_columns():
    frame = pd.DataFrame(
        {
            "nothing": pd.Series([None] * 40, dtype="str"),
            "grade": [1, 2, 5, 9] * 10,
            "constant": [3] * 40,
            "when": [dt.datetime(2020, 3, 4, 5, 6)] * 40,
            "free": [f"text {i}" for i in range(40)],
            "one": [1.5] * 40,
        }
    )
    draft = Schema.draft(frame)
    assert draft["grade"].values == (1, 2, 5, 9)
    assert draft["constant"].values == (3,)
    assert "free" not in draft.names
    assert draft["when"].bounds == (dt.date(2020, 1, 1), dt.date(2020, 12, 31))
    assert draft["one"].bounds[0] <= 1.5 <= draft["one"].bounds[1]
    assert any("nothing" in note for note in draft.notes)
    assert sfumato.read(frame, draft).check() == ()


def test_a_wrong_delimiter_is_named(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n1;2\n")
    with pytest.raises(TableError, match="--delimiter ';'"):
        Schema.draft(tmp_path / "t.csv")
    assert Schema.draft(tmp_path / "t.csv", delimiter=";").names == ("a", "b")


def odd_days():
    connection = duckdb.connect()
    connection.execute("""CREATE TABLE d AS SELECT * FROM (VALUES
        ('infinity'::DATE, '-infinity'::DATE, 'infinity'::TIMESTAMP, 1.5::DECIMAL(9, 2), 1e308, 'a'),
        ('2020-01-01', '10000-01-01', '2020-05-05 01:02:03', 2.25, -1e308, 'b'),
        ('2021-01-01', '0044-03-15 (BC)'::DATE, NULL, NULL, 1, 'c')) v(a, never, c, price, large, t)""")
    return connection


@pytest.mark.parametrize("form", ["csv", "parquet", "relation"])
def test_days_and_numbers_that_engines_know_and_schemas_do_not(form: str, tmp_path):
    connection = odd_days()
    path = tmp_path / f"d.{form}"
    if form != "relation":
        connection.execute(f"COPY d TO '{path}'")
    draft = Schema.draft(connection.sql("FROM d") if form == "relation" else path, name="d")
    assert draft.names == ("a", "c", "price", "t")
    assert draft["a"].bounds == (dt.date(2020, 1, 1), dt.date(2021, 12, 31))
    assert draft["price"].kind == "number"
    notes = "\n".join(draft.notes)
    for words in ("look at: a (1 dates", "left out: never (no dates", "left out: large (bounds"):
        assert words in notes
    assert Schema.parse(draft.to_toml()) == draft


def test_columns_that_no_schema_can_describe_are_left_out_by_name(tmp_path):
    source = duckdb.sql("SELECT INTERVAL 1 DAY AS d, [1] AS l, 'x' AS t, uuid() AS u, TIME '10:00' AS at")
    draft = Schema.draft(source)
    assert draft.names == ("t", "u")
    assert sum(note.startswith("left out") for note in draft.notes) == 3
    (tmp_path / "t.csv").write_text(',"a\nb","c\nd"\n0,10,x\n1,11,y\n2,12,x\n')
    text = Schema.draft(tmp_path / "t.csv").to_toml()
    assert "# identifier: unnamed 1 (" in text and "# identifier: a\\nb (" in text
    assert [column.name for column in Schema.parse(text) if column.role is None] == ["c\nd"]


def test_a_wide_table_is_drafted_with_few_queries(monkeypatch):
    queries = []
    ask = DuckDBEngine.aggregate
    monkeypatch.setattr(DuckDBEngine, "aggregate", lambda self, e: queries.append(1) or ask(self, e))
    values = ["x", "y"], ["1", "9"], ["2020-01-01", "2021-01-01"], [0.5, 2.0], [1, 7]
    draft = Schema.draft(pd.DataFrame({f"c{i}": values[i % 5] for i in range(150)}))
    assert len(draft.columns) == 150
    assert len(queries) <= 16


def test_a_table_that_is_too_wide_is_refused_by_name(tmp_path):
    with pytest.raises(TableError, match="5,000 columns, a draft describes at most 2,000"):
        Schema.draft(pd.DataFrame([[1] * 5000], columns=[f"c{i}" for i in range(5000)]))


def test_names_of_people_are_identifiers_even_where_they_repeat():
    doctors = [f"{first} {last}" for first in ("Anna", "Jo", "Eva", "Max") for last in ("Weiß", "O'Neil", "Kraus")]
    products = [f"{kind} {size}" for kind in ("Cream", "Oil", "Soap") for size in ("0.5 l", "1 l", "2 l", "5 l")]
    frame = pd.DataFrame(
        {"doctor_name": doctors * 200, "Vorname": ["Jo", "Al", "Bo"] * 800, "product_name": products * 200}
    )
    frame["Nachname"] = [name.split()[1] + str(i % 5) for i, name in enumerate(frame.doctor_name)]
    roles = {column.name: column.role for column in Schema.draft(frame)}
    assert roles == {"doctor_name": "identifier", "Vorname": None, "product_name": None, "Nachname": "identifier"}


def test_dates_of_one_or_two_years_are_cut_by_months_and_of_more_by_years():
    days = [dt.date(2022, 5, 4), dt.date(2023, 11, 30)] * 30
    frame = pd.DataFrame({"short": days, "long": [dt.date(2019, 5, 4), *days[1:]], "other": ["a", "b"] * 30})
    draft = Schema.draft(frame)
    months = [dt.date(year, month, 1) for year in (2022, 2023) for month in range(1, 13)]
    assert draft["short"].edges == (*months, dt.date(2023, 12, 31))
    assert draft["short"].size == 24
    assert draft["long"].edges == (*(dt.date(year, 1, 1) for year in range(2019, 2024)), dt.date(2023, 12, 31))
