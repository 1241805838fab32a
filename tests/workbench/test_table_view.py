"""The table page without a browser: recognitions, edits kept as typed, problems in place, remedies, confirmation."""

from __future__ import annotations

import pytest

from sfumato.errors import SchemaError, TableError, UnansweredQuestionError, UnchangedDraftError
from sfumato.workbench.project import SCHEMA
from sfumato.workbench.views import table
from workbench.conftest import people


def test_the_draft_is_a_list_of_columns(opened):
    lines = {line.name: line for line in table.lines(opened)}
    assert lines["age"].kind == "integer" and lines["age"].is_open
    assert lines["patient id"].role == "identifier" and not lines["patient id"].is_open


def test_search_and_filters(opened):
    assert [line.name for line in table.lines(opened, "q")] == ["q1", "q2"]
    assert [line.name for line in table.lines(opened, "", "identifier")] == ["patient id"]
    opened.edit("sex", values="f\nm\nx")
    assert [line.name for line in table.lines(opened, "", "typed")] == ["sex"]


def test_edits_are_applied_and_the_mark_of_the_rows_is_gone(opened):
    opened.edit("age", low="0", high="130")
    found = table.table_view(opened)
    assert found.schema["age"].bounds == (0, 130)
    assert "bounds" not in found.schema["age"].unchanged


def test_what_makes_no_sense_is_kept_and_said_in_its_place(opened):
    opened.edit("age", low="zero")
    found = table.table_view(opened)
    assert "not a whole number" in found.problems["age"]
    assert table.fields_of(opened, "age")["low"] == "zero"
    with pytest.raises(SchemaError, match="invalid facts: 1"):
        table.confirm(opened)


def test_a_change_of_kind_loses_nothing(opened):
    opened.edit("age", low="0", high="120")
    opened.edit("age", kind="category", values="young\nold")
    assert table.table_view(opened).schema["age"].values == ("young", "old")
    opened.edit("age", kind="integer")
    assert table.table_view(opened).schema["age"].bounds == (0, 120)


def test_listed_numbers_stay_numbers(opened):
    opened.edit("q1", kind="category", values="1\n2\n3\n4\n5")
    assert table.table_view(opened).schema["q1"].values == ("1", "2", "3", "4", "5")


def test_a_date_needs_dates(opened):
    opened.edit("age", kind="date", low="2020-01-01", high="soon")
    assert "not a date" in table.table_view(opened).problems["age"]


def test_confirming_needs_a_source_and_says_where(opened):
    opened.change(whose="rows")
    with pytest.raises(UnchangedDraftError) as refused:
        table.confirm(opened)
    assert "above" in refused.value.next_step
    opened.change(rest_source="code book 2024", by="Ann")
    schema = table.confirm(opened)
    assert schema.is_confirmed and schema.confirmation.by == "Ann"
    assert opened.schema == schema


def test_an_edit_opens_the_schema_again(confirmed):
    confirmed.edit("age", high="130")
    assert confirmed.schema is None and not (confirmed.folder / SCHEMA).exists()


def test_whose_rows_is_asked_where_people_repeat(project, tmp_path):
    frame = people()
    frame["patient id"] //= 3
    place = tmp_path / "visits.csv"
    frame.to_csv(place, index=False)
    project.keep_draft(table.draft(str(place), {}), str(place), {})
    project.change(rest_source="code book")
    with pytest.raises(UnansweredQuestionError):
        table.confirm(project)
    project.change(whose="people", person="patient id", rows_per_person="many")
    with pytest.raises(SchemaError, match="not a number of rows"):
        table.confirm(project)
    project.change(rows_per_person="5")
    schema = table.confirm(project)
    assert (schema.person, schema.rows_per_person) == ("patient id", 5)


def test_rounder_bounds_by_one_click(opened):
    (remedy,) = table.remedies(opened)
    remedy.act()
    assert table.table_view(opened).schema["age"].bounds == (0, 120)
    assert table.remedies(opened) == []
    assert "bounds" in table.table_view(opened).schema["age"].data_derived_facts, (
        "the program computed them from the rows"
    )


def test_marks_for_missing_values_by_one_click(project, tmp_path):
    frame = people().astype({"age": object})
    frame.loc[:40, "age"] = "N"
    place = tmp_path / "marked.csv"
    frame.to_csv(place, index=False)
    project.keep_draft(table.draft(str(place), {}), str(place), {})
    remedy = next(each for each in table.remedies(project) if each.draws_again)
    remedy.act()
    assert project.state.dialect["missing"] == ["N"]
    again = table.draft(str(place), project.state.dialect)
    assert again["age"].kind == "integer"


def test_a_wrong_delimiter_has_a_remedy(tmp_path):
    place = tmp_path / "semicolons.csv"
    people().to_csv(place, index=False, sep=";")
    with pytest.raises(TableError):
        table.draft(str(place), {})
    assert table.delimiter_remedy(str(place)) == ";"


@pytest.mark.parametrize("path", ["", "   ", "/nowhere/at/all.csv"])
def test_a_bad_path_is_a_sentence(path):
    with pytest.raises(TableError) as refused:
        table.draft(path, {})
    assert refused.value.next_step


def test_a_file_that_is_no_table(tmp_path):
    place = tmp_path / "picture.png"
    place.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    with pytest.raises(TableError):
        table.draft(str(place), {})
    assert table.delimiter_remedy(str(place)) is None


def test_rules_that_hold_by_chance_are_taken_away(opened):
    checks = [rule.check for rule in opened.draft.rules]
    opened.change(no_rules=tuple(checks))
    assert table.table_view(opened).schema.rules == ()


def test_sample_rows_are_read_and_kept_nowhere(opened):
    before = {path: path.read_bytes() for path in opened.folder.iterdir()}
    names, rows = table.sample(opened)
    assert names[0] == "patient id" and len(rows) == table.SAMPLE_ROWS
    assert {path: path.read_bytes() for path in opened.folder.iterdir()} == before
