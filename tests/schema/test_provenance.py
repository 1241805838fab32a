"""Where facts come from: marks of a draft, and what becomes of them when facts change."""

import dataclasses
import datetime as dt

import pandas as pd
import pytest

from sfumato.core.schema_assumptions import schema_assumptions
from sfumato.errors import SchemaError, UnchangedDraftError
from sfumato.privacy.accounting.guarantee import UNCOVERED
from sfumato.schema import Column, Rule, Schema
from sfumato.schema.confirm import FactProvenance, SchemaProvenance, describe_facts, released
from sfumato.schema.dialect import Dialect
from sfumato.schema.provenance import FACTS, WORD_FACTS, Provenance, fingerprints, is_stated
from sfumato.schema.round_bounds import rounder_bounds
from sfumato.schema.rules import rule_fingerprint

MARKS = fingerprints({"bounds": (18, 90), "missing": False, "decimals": 0})

USES = {
    "Column": {
        **dict.fromkeys(FACTS, "fact"),
        **dict.fromkeys(WORD_FACTS, "words"),
        **dict.fromkeys(("bins", "outside"), "stated"),
        **dict.fromkeys(("source", "bought", "from_rows", "from_file", "drafted"), "marks"),
        "name": "file",
    },
    "Schema": {
        "columns": "fact",
        **dict.fromkeys(("name", "adjacency", "rows", "person", "rows_per_person"), "stated"),
        **dict.fromkeys(("description", "contact", "licence", "custodian", "use", "region"), "stated"),
        **dict.fromkeys(
            ("is_draft", "confirmation", "person_candidates", "notes", "from_rows", "drafted", "purchases"), "marks"
        ),
        **dict.fromkeys(("rules", "source"), "inside"),
    },
    "Dialect": {
        "encoding": "fact",
        **dict.fromkeys(("decimal", "thousands", "date_format", "missing"), "stated"),
        **dict.fromkeys(("delimiter", "sheet", "format"), "file"),
    },
    "Rule": {"check": "fact", "map": "stated", **dict.fromkeys(("source", "drafted", "from_rows"), "marks")},
}
"""How each field of a schema has a provenance: a fact that a draft marks where it takes it from rows; words, which it
marks where a file has them; what only a person states; what a file declares for all rows alike (its names, its header,
its format); the marks of provenance themselves, which are told to nobody or are true as they stand; or what holds
fields of its own."""


def age(**facts) -> Column:
    return Column("age", "integer", **({"bounds": (18, 90), "decimals": 0, "drafted": MARKS} | facts))


@pytest.mark.parametrize(
    ("facts", "taught"),
    [
        ({}, ("bounds", "missing", "decimals")),
        ({"bounds": (0, 120)}, ("missing", "decimals")),
        ({"bounds": (18, 91)}, ("missing", "decimals")),
        ({"missing": True, "decimals": None, "step": 1}, ("bounds",)),
        ({"source": "questionnaire"}, ()),
        ({"drafted": (), "from_rows": ("bounds",)}, ("bounds",)),
        ({"drafted": (), "from_rows": ("values",)}, ()),
    ],
)
def test_what_the_rows_taught_is_what_stands_as_drafted(facts, taught):
    assert age(**facts).data_derived_facts == taught


def test_the_mark_of_a_fact_does_not_depend_on_how_a_number_is_written():
    assert age(bounds=[18.0, 90]).unchanged == ("bounds", "missing", "decimals")
    assert fingerprints({"values": ("1", "2")}) != fingerprints({"values": (1, 2)})
    assert fingerprints({"values": (1, 0)}) != fingerprints({"values": (0, 1)})


def test_each_fact_has_one_origin():
    bought = age(drafted=(), bought="epsilon 0.1, entry 3")
    assert bought.provenance == {
        "bounds": Provenance("bought", "epsilon 0.1, entry 3"),
        "missing": Provenance("bought", "epsilon 0.1, entry 3"),
        "decimals": Provenance("bought", "epsilon 0.1, entry 3"),
        "kind": Provenance("bought", "epsilon 0.1, entry 3"),
    }
    assert {came.origin for fact, came in age().provenance.items() if fact != "kind"} == {"rows"}
    assert age(source="law").provenance["bounds"].words == "public: law"
    assert "no source" in age(drafted=()).provenance["bounds"].words
    assert Rule("age > 3", drafted=True).provenance.origin == "rows"
    assert Rule("age > 3", drafted=rule_fingerprint("age > 3")).provenance.origin == "rows"
    assert Rule("age > 3", drafted=True, source="law").provenance == Provenance("public", "law")


@pytest.mark.parametrize(
    ("facts", "problem"),
    [
        ("from_rows = 5", "from_rows names facts"),
        ('from_rows = ["age"]', "from_rows names facts"),
        ("source = 5", "text"),
    ],
)
def test_origins_of_no_meaning_are_refused(facts, problem):
    with pytest.raises(SchemaError, match=problem):
        Schema.parse(f'[table]\nname = "t"\n[columns.a]\nkind = "boolean"\n{facts}\n')


@pytest.mark.parametrize("facts", ["source = 5", 'drafted = "yes"', "from_rows = []"])
def test_origins_of_rules_are_checked(facts):
    text = f'[table]\nname = "t"\n[columns.a]\nkind = "boolean"\n[[rules]]\ncheck = "a"\n{facts}\n'
    with pytest.raises(
        SchemaError, match=r"source needs a text|drafted is written by a draft|from_rows needs true or false"
    ):
        Schema.parse(text)


def test_facts_in_words_stay_short():
    rows = Provenance("rows")
    facts = [FactProvenance(f"c{i}", "bounds", rows) for i in range(80)] + [FactProvenance("a <= b", "rule", rows)]
    assert describe_facts(facts) == "the bounds of c0, c1, c2, c3, c4, c5 and 74 more columns and the rule 'a <= b'"
    assert all(f"c{i}" in describe_facts(facts, most=100) for i in range(80))


def test_all_facts_of_a_schema_are_told_once():
    schema = Schema("t", (age(), Column("sex", "category", values=("f", "m"))), rules=(Rule("age > 3"),))
    vouched = SchemaProvenance.of(schema)
    assert [(told.subject, told.fact) for told in vouched.domains()] == [
        ("age", "bounds"),
        ("sex", "values"),
        ("age > 3", "rule"),
    ]
    assert [told.fact for told in vouched.forms("rows")] == ["missing", "decimals"]
    assert list(vouched.by_words("public")) == [None]


def test_how_a_draft_saw_values_written_is_marked_and_told(tmp_path):
    path = tmp_path / "costs.csv"
    path.write_text(
        "paid;cost;share\n" + "".join(f"{'yes' if i % 3 else 'no'};{i + 1}.500,10;{i % 40} %\n" for i in range(400))
    )
    draft = Schema.draft(path, delimiter=";", decimal=",", thousands=".")
    cost, share = draft["cost"], draft["share"]
    assert {"grouped", "trailing_zeros"} <= set(cost.data_derived_facts)
    assert "suffix" in share.data_derived_facts
    assert "prefix" not in share.data_derived_facts, "what is not written is no fact"
    assert cost.provenance["grouped"] == Provenance("rows")
    changed = dataclasses.replace(share, suffix=" per cent")
    assert "suffix" not in changed.data_derived_facts, "what somebody changed is that person's word"
    done = draft.confirm(accept_unchanged=True, by="Ada", person=False)
    assert "grouped" in done["cost"].from_rows
    assert "the marks between thousands of cost" in describe_facts(SchemaProvenance.of(done).forms("rows"))


@pytest.mark.parametrize("kept", [Column, Schema, Dialect, Rule], ids=lambda kept: kept.__name__)
def test_every_field_of_a_schema_has_a_registered_provenance(kept):
    names = {item.name for item in dataclasses.fields(kept)}
    assert names == set(USES[kept.__name__]), "register the field in USES: where does it come from?"


@pytest.fixture(scope="module")
def rough(tmp_path_factory):
    path = tmp_path_factory.mktemp("rough") / "t.csv"
    lines = [
        f"{i},{i % 70}.50 EUR,{'JN'[i % 2]},2020-01-{i % 28 + 1:02d},{'ab'[i % 2]},{i % 60 + 20}" for i in range(60)
    ]
    path.write_bytes(
        "\n".join(["id,bill,ok,day,town,age", *lines, "99,1.50 EUR,J,2020-01-05,Zürich,"]).encode("latin-1")
    )
    return Schema.draft(path, missing=["k.A."])


def test_a_draft_marks_every_fact_that_nobody_stated(rough):
    for column in rough:
        for item in dataclasses.fields(Column):
            use, fact = USES["Column"][item.name], getattr(column, item.name)
            if use == "stated":
                assert fact == item.default, "a draft states nothing in a person's name"
            if use == "fact" and is_stated(item.name, fact):
                assert column.provenance[item.name].origin == "rows"
    assert (rough.data_derived_facts, rough.source.encoding) == (("columns", "encoding"), "latin-1")
    assert rough["id"].data_derived_facts[-1] == "role" if "id" in rough else True


def test_whoever_edits_the_bounds_alone_still_says_what_the_rows_told(rough):
    edits = {c.name: {"bounds": (0, 1000)} for c in rough if c.kind in ("integer", "number")}
    edits |= {
        c.name: {"bounds": (dt.date(2000, 1, 1), dt.date(2030, 1, 1)), "edges": None} for c in rough if c.kind == "date"
    }
    edits |= {c.name: {"values": (*c.values, "other")} for c in rough if c.values and c.kind == "category"}
    done = Schema.parse(rough.replace_columns(edits).confirm(by="Ada", person=False).to_toml())
    said = [words for words in schema_assumptions(done, formal=True) if words.endswith(UNCOVERED)]
    assert len(said) == 1
    assert "which columns there are" in said[0] and "the kind of " in said[0]
    assert "written form of values" in said[0] and len(said[0]) < 400
    assert all(not words.endswith(UNCOVERED) for words in schema_assumptions(_sourced(rough, edits), formal=True))


def _sourced(draft, edits):
    return draft.replace_columns(edits).confirm({"*": "code book"}, by="Ada", person=False)


def test_a_released_schema_holds_no_encoding_that_nobody_stated(rough):
    done = rough.confirm(accept_unchanged=True, by="Ada", person=False)
    assert (done.source.encoding, released(done).source.encoding) == ("latin-1", None)
    assert released(done).source.missing == ("k.A.",), "what was said stays"
    assert released(done).notes == ()
    stated = dataclasses.replace(done, from_rows=("columns",))
    assert released(stated).source.encoding == "latin-1"


def test_a_number_that_was_computed_from_the_rows_is_not_stated_by_anybody():
    draft = Schema.draft(pd.DataFrame({"pay": [i * 7 % 6900 for i in range(400)]}))
    rounder_pay = draft.replace_columns({"pay": {"bounds": rounder_bounds(draft["pay"])}})
    assert rounder_pay["pay"].provenance["bounds"].origin == "rows"
    with pytest.raises(UnchangedDraftError) as caught:
        draft.confirm(by="Ada")
    assert "computed from the rows too" in caught.value.problems[0] and "public:" not in caught.value.problems[0]


def test_labels_of_a_file_are_told_by_the_file_and_asked_about(tmp_path):
    frame = pd.DataFrame(
        {"city": pd.Categorical(["Bern", "Zug"] * 50 + ["CANARY"]), "age": [i * 7 % 80 for i in range(101)]}
    )
    frame.to_stata(tmp_path / "c.dta", write_index=False)
    draft = Schema.draft(tmp_path / "c.dta").replace_columns({"age": {"bounds": (0, 110), "source": "q1"}})
    assert draft["city"].provenance["values"].words == "told by the file"
    with pytest.raises(UnchangedDraftError) as caught:
        draft.confirm(by="Ada")
    assert "as the file tells them" in caught.value.problems[0]
    done = Schema.parse(draft.confirm(accept_unchanged=True, by="Ada").to_toml())
    said = schema_assumptions(done, formal=True)
    assert any(words.startswith("the values of city were told by the file") for words in said)
    assert any(words.startswith("the values of city") and words.endswith(UNCOVERED) for words in said)
    vouched = schema_assumptions(draft.confirm({"city": "code book"}, by="Ada"), formal=True)
    assert any("code book (city)" in words for words in vouched)
