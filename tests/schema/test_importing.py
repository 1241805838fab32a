"""Draft schemas from Croissant, Frictionless and CSVW: what is carried over, what is said, what is refused."""

from __future__ import annotations

import datetime as dt
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import Schema
from sfumato.errors import DraftSchemaError, SchemaError, SfumatoError, UnchangedDraftError

PACKAGE = {
    "name": "survey",
    "description": "A survey.",
    "licenses": [{"name": "CC-BY-4.0", "path": "https://example.org/by"}],
    "contributors": [{"title": "The office", "role": "publisher"}],
    "resources": [
        {
            "name": "people",
            "path": "people.csv",
            "encoding": "cp1252",
            "dialect": {"delimiter": ";"},
            "schema": {
                "primaryKey": "id",
                "missingValues": ["", "k.A."],
                "fields": [
                    {"name": "id", "type": "string"},
                    {
                        "name": "age",
                        "type": "integer",
                        "title": "Age",
                        "constraints": {"minimum": 0, "exclusiveMaximum": 121},
                    },
                    {
                        "name": "sex",
                        "type": "integer",
                        "categories": [{"value": 1, "label": "male"}, {"value": 2, "label": "female"}],
                        "constraints": {"required": True},
                    },
                    {
                        "name": "grade",
                        "type": "string",
                        "constraints": {"enum": ["low", "high"]},
                        "categoriesOrdered": True,
                    },
                    {
                        "name": "pay",
                        "type": "number",
                        "decimalChar": ",",
                        "groupChar": ".",
                        "bareNumber": False,
                        "constraints": {"minimum": "0", "maximum": "1e5"},
                    },
                    {
                        "name": "born",
                        "type": "date",
                        "format": "%d.%m.%Y",
                        "constraints": {"minimum": "01.01.1900", "maximum": "31.12.2020"},
                    },
                    {"name": "full", "type": "boolean", "trueValues": ["JA"], "falseValues": ["NEIN"]},
                    {"name": "answer", "type": "string", "constraints": {"pattern": "^(yes|no)$"}},
                    {"name": "note", "type": "string"},
                    {"name": "rate", "type": "number", "constraints": {"minimum": 0}},
                    {"name": "when", "type": "datetime"},
                ],
            },
        }
    ],
}
CSVW = {
    "@context": "http://www.w3.org/ns/csvw",
    "url": "data/people.csv",
    "dc:title": "people",
    "dc:license": "CC0",
    "dialect": {"delimiter": "\t", "encoding": "iso-8859-1"},
    "tableSchema": {
        "primaryKey": "id",
        "columns": [
            {"name": "id", "titles": "ID", "datatype": "string"},
            {
                "name": "age",
                "titles": ["Age", "Alter"],
                "required": True,
                "datatype": {"base": "integer", "minimum": "0", "maxExclusive": "121"},
                "schema:unitText": "years",
                "dc:description": {"en": "age in years"},
            },
            {"name": "sex", "datatype": {"base": "string", "format": "f|m|x"}, "null": ["-", ""]},
            {"name": "full", "datatype": {"base": "boolean", "format": "JA|NEIN"}},
            {
                "name": "born",
                "datatype": {
                    "base": "date",
                    "format": "dd.MM.yyyy",
                    "minInclusive": "01.01.1900",
                    "maxInclusive": "31.12.2020",
                },
            },
            {
                "name": "pay",
                "datatype": {
                    "base": "decimal",
                    "minimum": 0,
                    "maximum": 9.5,
                    "format": {"decimalChar": ",", "pattern": "0.0"},
                },
            },
            {"name": "when", "datatype": "dateTime"},
            {"name": "code", "datatype": {"base": "string", "format": "[A-Z]+"}},
            {"virtual": True, "name": "v"},
        ],
    },
}
CROISSANT = {
    "@type": "sc:Dataset",
    "conformsTo": "http://mlcommons.org/croissant/1.0",
    "sc:name": "flowers",
    "sc:license": "CC BY 4.0",
    "sc:creator": {"sc:name": "The garden"},
    "cr:recordSet": [
        {
            "@id": "kinds",
            "dataType": "sc:Enumeration",
            "key": {"@id": "kinds/id"},
            "field": [{"@id": "kinds/id", "name": "id"}, {"@id": "kinds/label", "name": "label"}],
            "data": [{"kinds/id": 1, "kinds/label": "rose"}, {"kinds/id": 2, "kinds/label": "lily"}],
        },
        {
            "@id": "rows",
            "name": "rows",
            "field": [
                {
                    "@id": "rows/kind",
                    "name": "kind",
                    "dataType": "sc:Integer",
                    "references": {"field": {"@id": "kinds/id"}},
                },
                {
                    "@id": "rows/length",
                    "name": "l",
                    "dataType": ["sc:Float"],
                    "minValue": 0,
                    "maxValue": 9.5,
                    "unitText": "cm",
                    "source": {"extract": {"column": "length"}},
                },
                {"@id": "rows/fresh", "name": "fresh", "dataType": "sc:Boolean"},
                {"@id": "rows/photo", "name": "photo", "dataType": "sc:ImageObject"},
                {"@id": "rows/tags", "name": "tags", "dataType": "sc:Text", "repeated": True},
            ],
        },
    ],
}


@pytest.fixture
def draft_of(tmp_path):
    def draft(document, **asked) -> Schema:
        path = tmp_path / "facts.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
        return Schema.from_metadata(path, **asked)

    return draft


def test_frictionless_facts_are_carried_over_with_their_source(draft_of):
    made = draft_of(PACKAGE)
    assert (made.name, made.licence, made.custodian) == ("people", "https://example.org/by", "The office")
    assert made.source.stated() == {
        "delimiter": ";",
        "decimal": ",",
        "thousands": ".",
        "missing": ["k.A."],
        "encoding": "cp1252",
    }
    assert made.names == ("id", "age", "sex", "grade", "pay", "born", "full", "answer")
    assert made["id"].role == "identifier"
    assert (made["age"].kind, made["age"].bounds, made["age"].description) == ("integer", (0, 120), "Age")
    assert (made["sex"].values, dict(made["sex"].value_labels)) == ((1, 2), {1: "male", 2: "female"})
    assert (made["grade"].kind, made["grade"].values) == ("ordinal", ("low", "high"))
    assert (made["pay"].bounds, made["pay"].grouped) == ((0.0, 100000.0), True)
    assert made["born"].bounds == (dt.date(1900, 1, 1), dt.date(2020, 12, 31))
    assert made["born"].date_format == "%d.%m.%Y"
    assert (made["full"].true, made["full"].false) == ("JA", "NEIN")
    assert made["answer"].values == ("yes", "no")
    assert [column.missing for column in made] == [True, True, False, True, True, True, True, True]
    assert all(came.words == "told by the file" for column in made for came in column.provenance.values())


def test_what_cannot_be_carried_over_is_said(draft_of):
    notes = "\n".join(draft_of(PACKAGE).notes)
    assert "left out: note (texts or codes without a list of values" in notes
    assert "left out: rate (a number without a largest value: give bounds)" in notes
    assert "left out: when (a schema has no kind for 'datetime')" in notes
    assert "look at: not carried over: pay: signs around its numbers" in notes
    assert "(Frictionless)" in notes


def test_csvw_facts_are_carried_over(draft_of):
    made = draft_of(CSVW)
    assert (made.name, made.licence) == ("people", "CC0")
    assert made.names == ("ID", "Age", "sex", "full", "born", "pay")
    assert made.source.stated() == {"delimiter": "\t", "decimal": ",", "missing": ["-"], "encoding": "iso-8859-1"}
    assert (made["Age"].bounds, made["Age"].missing, made["Age"].unit) == ((0, 120), False, "years")
    assert made["Age"].description == "age in years"
    assert made["sex"].values == ("f", "m", "x")
    assert (made["full"].true, made["full"].false) == ("JA", "NEIN")
    assert made["born"].bounds == (dt.date(1900, 1, 1), dt.date(2020, 12, 31))
    assert made["pay"].bounds == (0.0, 9.5)
    notes = "\n".join(made.notes)
    assert "left out: when" in notes
    assert "left out: code" in notes
    assert "the pattern '[A-Z]+'" in notes


def test_croissant_facts_are_carried_over_whatever_prefixes_stand_before_its_words(draft_of):
    made = draft_of(CROISSANT)
    assert (made.name, made.licence, made.custodian) == ("rows", "CC BY 4.0", "The garden")
    assert made.names == ("kind", "length", "fresh")
    assert (made["kind"].kind, made["kind"].values) == ("category", (1, 2))
    assert dict(made["kind"].value_labels) == {1: "rose", 2: "lily"}
    assert (made["length"].bounds, made["length"].unit) == ((0.0, 9.5), "cm")
    assert "left out: photo" in "\n".join(made.notes)
    assert "left out: tags (a schema has no kind for 'nested values')" in "\n".join(made.notes)


def test_a_draft_stays_a_draft_until_a_person_confirms_it(draft_of, tmp_path):
    made = draft_of(CSVW)
    with pytest.raises(DraftSchemaError, match="may have been learned"):
        made.require_confirmed()
    again = Schema.load(made.save(tmp_path / "s.toml"))
    assert again == made
    with pytest.raises(UnchangedDraftError, match="as the file tells them"):
        again.confirm(by="Ada")
    confirmed = again.confirm({"*": "facts.json"}, by="Ada")
    assert confirmed.is_confirmed
    assert confirmed["sex"].provenance["values"].words == "public: facts.json"


def test_a_table_schema_and_a_resource_stand_for_themselves(draft_of):
    schema = PACKAGE["resources"][0]["schema"]
    assert draft_of(schema, name="t").name == "t"
    assert draft_of(schema).name == "facts"
    assert draft_of(PACKAGE["resources"][0]).names == draft_of(PACKAGE).names


def test_several_tables_need_a_choice(draft_of):
    two = {**PACKAGE, "resources": [*PACKAGE["resources"], {**PACKAGE["resources"][0], "name": "others"}]}
    with pytest.raises(SchemaError, match="describes 2 tables") as caught:
        draft_of(two)
    assert "--table NAME" in caught.value.next_step
    assert draft_of(two, table="others").name == "others"
    with pytest.raises(SchemaError, match="no table 'x'"):
        draft_of(two, table="x")


def test_all_problems_are_listed_at_once(draft_of):
    fields = [
        {"name": "a", "type": "integer", "constraints": {"minimum": 9, "maximum": 1}},
        {"name": "b", "type": "string", "constraints": {"enum": ["x", "x"]}},
        {"name": "c", "type": "date", "constraints": {"minimum": "soon", "maximum": "2020-01-01"}},
        {"name": "d", "type": "boolean"},
        {"name": "d", "type": "boolean"},
        "e",
        {"type": "boolean"},
    ]
    with pytest.raises(SchemaError, match="problems") as caught:
        draft_of({"fields": fields, "missingValues": [""]})
    told = "\n".join(caught.value.problems)
    for part in ("column a: ", "values repeat: x", "column c: ", "column d stands 2 times", "field 6", "needs a name"):
        assert part in told, part


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "3",
        '{"resources": []}',
        '{"resources": 4}',
        '{"fields": [3]}',
        '{"recordSet": {}}',
        "[" * 99_999,
    ],
)
def test_what_is_no_description_is_refused_by_name(text, draft_of):
    with pytest.raises(SchemaError) as caught:
        draft_of(text)
    assert caught.value.next_step


def test_a_file_that_is_not_there_is_refused_by_name(tmp_path):
    for path in (tmp_path / "no.json", tmp_path):
        with pytest.raises(SchemaError, match="cannot read"):
            Schema.from_metadata(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | st.sampled_from(["", "a", "date", "integer", "%Y"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["en", "value", "base"]), inner, max_size=2)
    ),
    max_leaves=4,
)


@given(data=st.data())
@settings(max_examples=60)
def test_forged_files_end_in_a_schema_or_in_a_named_error(data, tmp_path_factory):
    """Any value in any place: whatever it is, the reader answers."""
    document = json.loads(json.dumps(data.draw(st.sampled_from([PACKAGE, CSVW, CROISSANT]))))
    for _ in range(3):
        place = document
        while isinstance(place, dict | list) and place:
            key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
            if not isinstance(place[key], dict | list) or data.draw(st.integers(0, 3)) == 0:
                place[key] = data.draw(JSON)
                break
            place = place[key]
    path = tmp_path_factory.getbasetemp() / "forged.json"
    path.write_text(json.dumps(document))
    try:
        assert Schema.from_metadata(path).columns
    except SfumatoError as error:
        assert error.next_step
