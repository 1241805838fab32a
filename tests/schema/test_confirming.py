"""Confirming: what nobody vouched for and what nobody answered is refused, all of it at once."""

import dataclasses
import datetime as dt
import getpass

import pandas as pd
import pytest

from sfumato.errors import (
    DraftSchemaError,
    SchemaError,
    UnansweredQuestionError,
    UnchangedDraftError,
)
from sfumato.schema import Column, Rule, Schema
from sfumato.schema.confirm import confirmed_toml, unconfirmed_facts, without_fingerprints
from sfumato.schema.provenance import FACTS, Confirmation, fingerprints
from sfumato.schema.round_bounds import describe_drafted_fact, rounder_bounds
from sfumato.schema.rules import rule_fingerprint

DAY = dt.date(2024, 5, 1)
SIGNED = {"by": "Ada", "on": DAY}


def drafted(column: Column) -> Column:
    return dataclasses.replace(column, drafted=fingerprints({key: getattr(column, key) for key in FACTS}))


DRAFT = Schema(
    "t",
    (
        drafted(Column("age", "integer", bounds=(18, 90))),
        drafted(Column("sex", "category", values=("f", "m"), missing=True)),
        drafted(Column("ok", "boolean")),
    ),
    rules=(Rule("age >= 18", drafted=True),),
    is_draft=True,
)
ASKING = dataclasses.replace(
    DRAFT, columns=(*DRAFT.columns, Column("pid", "category", role="identifier")), person_candidates=("pid",)
)


def test_a_bare_confirm_lists_what_stands_unchanged_column_by_column():
    with pytest.raises(UnchangedDraftError) as caught:
        DRAFT.confirm()
    assert caught.value.problems == (
        "column age: bounds 18 to 90 as drafted; rounder, but computed from the rows too: 0 to 120",
        "column sex: values f, m as drafted; is that the whole public list?",
        "rule 'age >= 18' as drafted: the rows keep it; must every row?",
    )
    assert "accept_unchanged=True" in caught.value.next_step
    assert "sources=" in caught.value.next_step


def test_a_draft_from_rows_is_refused_and_accepted_by_name():
    draft = Schema.draft(pd.DataFrame({"age": [*range(18, 91)] * 2, "sex": ["f"] * 73 + ["m"] * 73}), name="t")
    with pytest.raises(UnchangedDraftError, match="column age"):
        draft.confirm(sources={"sex": "questionnaire"})
    done = draft.confirm(accept_unchanged=True, **SIGNED)
    assert done.is_confirmed and done["age"].from_rows[0] == "bounds"
    assert done.confirmation == Confirmation("Ada", DAY, accepted_unchanged=True)


def test_sources_settle_columns_and_rules_and_a_star_all_the_rest():
    done = DRAFT.confirm(sources={"age": "questionnaire 2023, q. 7", "*": "code book 2023"}, **SIGNED)
    assert (done["age"].source, done["sex"].source) == ("questionnaire 2023, q. 7", "code book 2023")
    assert done.rules == (Rule("age >= 18", source="code book 2023"),)
    assert done.confirmation == Confirmation("Ada", DAY)
    assert all(column.from_rows == () for column in done)


def test_changed_facts_need_no_source_and_the_others_still_do():
    changed = DRAFT.replace_columns({"age": {"bounds": (0, 120)}, "sex": {"values": ("f", "m", "x")}})
    with pytest.raises(UnchangedDraftError) as caught:
        changed.confirm()
    assert len(caught.value.problems) == 1 and "rule" in caught.value.problems[0]
    done = changed.confirm(sources={"age >= 18": "law"}, **SIGNED)
    assert done.confirmation == Confirmation("Ada", DAY)
    assert done["age"].from_rows == ("missing", "kind"), "how values are written is recorded, and stops nobody"


def test_sources_that_fit_nothing_are_refused():
    with pytest.raises(SchemaError) as caught:
        DRAFT.confirm(sources={"agee": "q. 7", "sex": " ", "age": 7})
    assert len(caught.value.problems) == 3 and "'agee' is neither a column nor a rule" in caught.value.problems


def test_the_person_is_asked_for_with_everything_else_at_once():
    with pytest.raises(UnansweredQuestionError) as caught:
        ASKING.confirm()
    assert isinstance(caught.value, UnchangedDraftError)
    assert len(caught.value.problems) == 4 and "whose rows are these? Values of pid repeat" in caught.value.problems[0]
    with pytest.raises(UnansweredQuestionError) as caught:
        ASKING.confirm(accept_unchanged=True)
    assert not isinstance(caught.value, UnchangedDraftError) and "person='pid'" in caught.value.next_step
    with pytest.raises(UnansweredQuestionError, match="how many rows of one pid"):
        ASKING.confirm(accept_unchanged=True, person="pid")
    with pytest.raises(SchemaError, match="not among the columns"):
        ASKING.confirm(accept_unchanged=True, person="pit", rows_per_person=2)


def test_the_person_is_answered_by_a_column_or_by_nobody():
    done = ASKING.confirm(accept_unchanged=True, person="pid", rows_per_person=20)
    assert (done.person, done.rows_per_person, done.is_confirmed) == ("pid", 20, True)
    alone = ASKING.confirm(accept_unchanged=True, person=False)
    assert (alone.person, alone.person_candidates, alone.is_confirmed) == (None, (), True)


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ('person = "?"', True),
        ("", True),
        ("person = false", False),
        ('person = "pid"', False),
        ('person = "pid"\nrows_per_person = 20', False),
    ],
)
def test_an_answer_in_the_file_settles_the_question_and_a_deleted_line_does_not(line, asked):
    text = ASKING.to_toml().replace('person = "?"', line)
    assert (Schema.parse(text).person_candidates == ("pid",)) == asked


def test_a_question_without_candidates_is_refused():
    with pytest.raises(SchemaError, match="name a column, or write person = false"):
        Schema.parse('[table]\nname = "t"\nperson = "?"\n[columns.a]\nkind = "boolean"\n')


@pytest.mark.parametrize("schema", [DRAFT, ASKING])
def test_deleting_the_line_that_says_draft_confirms_nothing(schema):
    bare = Schema.parse(schema.to_toml().replace("draft = true\n", ""))
    assert not bare.is_draft and not bare.is_confirmed
    with pytest.raises(DraftSchemaError, match="marks of the draft stand in age, sex, ok and 'age >= 18'"):
        bare.require_confirmed()
    rule_alone = dataclasses.replace(without_fingerprints(DRAFT), is_draft=False, rules=DRAFT.rules)
    assert not rule_alone.is_confirmed


def test_fingerprints_do_not_survive():
    for done in (
        DRAFT.confirm(accept_unchanged=True),
        DRAFT.confirm(sources={"*": "book"}),
        without_fingerprints(DRAFT),
    ):
        assert "drafted" not in done.to_toml()
    assert without_fingerprints(DRAFT).is_draft and without_fingerprints(DRAFT).rules[0].from_rows


def test_a_schema_written_by_hand_records_who_and_when_and_nothing_else():
    by_hand = Schema("t", (Column("age", "integer", bounds=(18, 90)),), rules=(Rule("age > 18"),))
    assert by_hand.confirm(**SIGNED) == dataclasses.replace(by_hand, confirmation=Confirmation("Ada", DAY))
    assert by_hand.confirm().confirmation.by == getpass.getuser()
    with pytest.raises(SchemaError, match="nobody is named"):
        by_hand.confirm(by="  ")


def test_who_accepted_is_not_passed_on():
    done = DRAFT.confirm(accept_unchanged=True, **SIGNED)
    with pytest.raises(UnchangedDraftError):
        done.confirm(by="Bob")
    better = done.confirm(sources={"*": "code book"}, by="Bob", on=DAY)
    assert unconfirmed_facts(better) == () and better.confirmation == Confirmation("Bob", DAY)


def test_a_confirmed_file_keeps_what_people_wrote():
    text = DRAFT.to_toml().replace('kind = "integer"', '# asked since 1990\nkind = "integer"  # years')
    text = "# DRAFT: proposed from rows\n# ours\n" + text
    for done in (DRAFT.confirm(sources={"*": "book"}, **SIGNED), DRAFT.confirm(accept_unchanged=True, **SIGNED)):
        signed = confirmed_toml(text, done)
        assert Schema.parse(signed) == done
        assert "# asked since 1990" in signed and "# years" in signed and "# ours" in signed
        assert "DRAFT" not in signed and "drafted" not in signed


def test_the_signature_is_read_back_and_checked():
    done = DRAFT.confirm(accept_unchanged=True, **SIGNED)
    assert Schema.parse(done.to_toml()) == done
    for wrong in ('by = "A"\non = "yesterday"', 'by = "A"\non = 2024-05-01T10:00:00', "by = 5\non = 2024-05-01"):
        with pytest.raises(SchemaError, match=r"\[confirmed\] needs by"):
            Schema.parse(f'[table]\nname = "t"\n[columns.a]\nkind = "boolean"\n[confirmed]\n{wrong}\n')


@pytest.mark.parametrize(
    ("kind", "bounds", "wanted"),
    [
        ("integer", (18, 90), (0, 120)),
        ("integer", (1987, 2019), (1970, 2030)),
        ("number", (0.0, 89900.0), (0, 120000)),
        ("number", (-7.5, 80.0), (-10, 100)),
        ("number", (0.02, 0.31), (0, 0.4)),
        ("integer", (5, 5), (3, 7)),
        ("integer", (0, 0), (0, 1)),
        ("number", (-30.0, -10.0), (-40, 0)),
        ("date", (dt.date(2023, 3, 2), dt.date(2024, 11, 3)), (dt.date(2023, 1, 1), dt.date(2024, 12, 31))),
        ("date", (dt.date(1961, 3, 2), dt.date(2024, 11, 3)), (dt.date(1960, 1, 1), dt.date(2029, 12, 31))),
    ],
)
def test_suggestions_are_round_and_hold_the_drafted_bounds(kind, bounds, wanted):
    found = rounder_bounds(Column("x", kind, bounds=bounds))
    assert found[0] <= bounds[0] and bounds[1] <= found[1]
    assert found == wanted


def test_what_is_round_already_is_not_suggested_again():
    column = Column("d", "date", bounds=(dt.date(2024, 1, 1), dt.date(2024, 12, 31)))
    assert describe_drafted_fact(column, "bounds").endswith("round already: who says so?")


def test_a_rule_that_somebody_rewrote_is_that_persons_word():
    draft = dataclasses.replace(DRAFT, rules=(Rule("age >= 18", drafted=rule_fingerprint("age >= 18")),))
    assert unconfirmed_facts(draft)[-1].startswith("rule 'age >= 18' as drafted")
    text = draft.to_toml()
    for check, taught in (("age>=18", True), ("age >= 16", False)):  # spaces alone are no rewriting
        rewritten = Schema.parse(text.replace('"age >= 18"', f'"{check}"'))
        assert rewritten.rules[0].is_data_derived is taught and not rewritten.is_confirmed
        done = rewritten.confirm(accept_unchanged=True)
        assert done.rules == (Rule(check, from_rows=taught),)


def test_a_refusal_of_a_wide_table_lists_the_first_facts_and_counts_the_rest():
    columns = tuple(drafted(Column(f"c{i}", "integer", bounds=(0, 7))) for i in range(100))
    with pytest.raises(UnchangedDraftError) as caught:
        Schema("wide", columns, is_draft=True).confirm()
    assert len(caught.value.problems) == 41 and caught.value.problems[-1] == "... and 60 more"
    assert "100 columns and rules stand" in caught.value.headline
