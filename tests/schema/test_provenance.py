"""Where facts come from: marks of a draft, and what becomes of them when facts change."""

import dataclasses

import pytest

from sfumato.errors import SchemaError
from sfumato.schema import Column, Rule, Schema
from sfumato.schema.provenance import Provenance, fingerprints
from sfumato.schema.rules import drafted_mark
from sfumato.schema.vouched import Told, Vouched, in_words

MARKS = fingerprints({"bounds": (18, 90), "missing": False, "decimals": 0})


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
    assert age(**facts).taught == taught


def test_the_mark_of_a_fact_does_not_depend_on_how_a_number_is_written():
    assert age(bounds=[18.0, 90]).unchanged == ("bounds", "missing", "decimals")
    assert fingerprints({"values": ("1", "2")}) != fingerprints({"values": (1, 2)})
    assert fingerprints({"values": (1, 0)}) != fingerprints({"values": (0, 1)})


def test_each_fact_has_one_origin():
    bought = age(drafted=(), bought="epsilon 0.1, entry 3")
    assert bought.provenance == {
        "bounds": Provenance("bought", "epsilon 0.1, entry 3"),
        "missing": Provenance("bought", "epsilon 0.1, entry 3"),
        "decimals": Provenance("public"),
    }
    assert {came.origin for came in age().provenance.values()} == {"rows"}
    assert age(source="law").provenance["bounds"].words == "public: law"
    assert "no source" in age(drafted=()).provenance["bounds"].words
    assert Rule("age > 3", drafted=True).provenance.origin == "rows"
    assert Rule("age > 3", drafted=drafted_mark("age > 3")).provenance.origin == "rows"
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
    facts = [Told(f"c{i}", "bounds", rows) for i in range(80)] + [Told("a <= b", "rule", rows)]
    assert in_words(facts) == "the bounds of c0, c1, c2, c3, c4, c5 and 74 more columns and the rule 'a <= b'"
    assert all(f"c{i}" in in_words(facts, most=100) for i in range(80))


def test_all_facts_of_a_schema_are_told_once():
    schema = Schema("t", (age(), Column("sex", "category", values=("f", "m"))), rules=(Rule("age > 3"),))
    vouched = Vouched.of(schema)
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
    assert {"grouped", "trailing_zeros"} <= set(cost.taught)
    assert "suffix" in share.taught
    assert "prefix" not in share.taught, "what is not written is no fact"
    assert cost.provenance["grouped"] == Provenance("rows")
    changed = dataclasses.replace(share, suffix=" per cent")
    assert "suffix" not in changed.taught, "what somebody changed is that person's word"
    done = draft.confirm(accept_unchanged=True, by="Ada", person=False)
    assert "grouped" in done["cost"].from_rows
    assert "the marks between thousands of cost" in in_words(Vouched.of(done).forms("rows"))
