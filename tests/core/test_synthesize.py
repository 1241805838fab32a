"""A table that nobody has described, in one call: it says what it assumes, and checks everything before it spends."""

from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato import Ledger, Schema
from sfumato.errors import (
    BudgetExceeded,
    NoLedgerWarning,
    PlanError,
    SchemaError,
    TableError,
    TooLittleSeenError,
    TooSmallToBuyError,
    UnansweredQuestionError,
)
from sfumato.synthesis import SynthesisRequest

ROWS = 1200


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, ROWS),
            "sex": rng.choice(["f", "m"], ROWS),
            "town": rng.choice(["north", "south", "west"], ROWS),
        }
    )


@pytest.fixture
def visits(people) -> pd.DataFrame:
    return people.assign(patient_id=[f"P{i % 400:05d}" for i in range(ROWS)])


@pytest.fixture
def book(tmp_path) -> Ledger:
    ledger = Ledger(tmp_path / "budget.db")
    ledger.open_table("people", epsilon=1, delta=1e-6)
    return ledger


def spent(book: Ledger) -> tuple[str, int]:
    account = book.account("people")
    return account.spent_epsilon, account.events


def test_a_draft_is_accepted_and_the_guarantee_says_so(people, book):
    made = sfumato.synthesize(people, epsilon=1, ledger=book, name="people", method="marginals")
    assert spent(book)[0] == "1" and made.guarantee.recorded
    assert list(made.data.columns) == ["age", "sex", "town"]
    assert any("drafted from the rows, and what it took from them was accepted as it is" in note for note in made.notes)
    assert any("every row was taken for another person's" in words for words in made.guarantee.assumptions)
    assert any("taken from the private rows" in words for words in made.guarantee.assumptions)
    assert made.schema.is_confirmed and made.schema.confirmation.accepted_unchanged


@pytest.mark.parametrize("buy", [None, 2])
def test_who_accepts_or_buys_the_facts_is_named(people, buy):
    given = {"ledger": False, "name": "people", "method": "marginals", "buy": buy}
    made = sfumato.synthesize(people, epsilon=3, by=" Ada ", **given)
    assert made.schema.confirmation.by == "Ada"
    with pytest.raises(PlanError, match="is no name"):
        sfumato.synthesize(people, epsilon=3, by=" ", **given)


def test_bought_facts_and_rows_cost_epsilon_together(people, book):
    made = sfumato.synthesize(people, epsilon=1, buy=0.4, ledger=book, name="people", method="marginals")
    account = book.account("people")
    assert account.spent_epsilon == "1" and book.history("people")[0].event.epsilon == "0.4"
    assert (made.guarantee.epsilon, made.guarantee.exact_delta) == ("1", Fraction(1, 10**9))
    assert [event.epsilon for event in made.events] == ["0.6"]
    assert all(column.bought for column in made.schema) and not made.schema.confirmation.accepted_unchanged


def test_nothing_is_bought_where_the_sum_does_not_fit_the_cap(people, book):
    book.spend("people", epsilon=0.5)
    with pytest.raises(BudgetExceeded):
        sfumato.synthesize(people, epsilon=0.8, buy=0.3, ledger=book, name="people")
    assert spent(book) == ("0.5", 1)


def test_bought_facts_are_not_lost_where_the_rows_cannot_be_released(people, book, monkeypatch):
    def failing(*_, **__):
        raise TableError("the table is gone")

    monkeypatch.setattr(sys.modules["sfumato.synthesis"], "read", failing)
    with pytest.raises(TableError) as caught:
        sfumato.synthesize(people, epsilon=1, buy=0.4, ledger=book, name="people")
    assert isinstance(caught.value.schema, Schema) and "not lost" in caught.value.__notes__[0]


def test_rows_are_not_paid_for_where_most_columns_were_not_seen(people, book):
    odd = people[["sex"]].assign(**{f"code {i}": [f"{i} {row}" for row in range(ROWS)] for i in range(3)})
    named = {"columns": list(odd), "person": False, "buy": 0.9}
    with pytest.raises(TooLittleSeenError, match="only 1 of the 4 columns") as caught:
        sfumato.synthesize(odd, ledger=book, name="people", **named)
    assert spent(book) == ("0.9", 1)
    assert "epsilon 0.9 is spent on that, and the other 0.1 is not" in caught.value.headline
    assert caught.value.problems == ("seen: sex", "not seen: code 0, code 1, code 2")
    assert caught.value.schema.releasable == ("sex",)


def test_half_of_the_columns_is_enough_but_not_one_of_two(people):
    odd = people.assign(code=[f"text {row}" for row in range(ROWS)], other=[f"other {row}" for row in range(ROWS)])
    named = {"person": False, "ledger": False, "epsilon": 3, "buy": 2, "method": "marginals"}
    made = sfumato.synthesize(odd, columns=["sex", "town", "code", "other"], **named)
    assert list(made.data.columns) == ["sex", "town"]
    assert any(note.startswith("foreseen for 4 columns at epsilon 2:") for note in made.notes)
    with pytest.raises(TooLittleSeenError, match="only 1 of the 2"):
        sfumato.synthesize(odd, columns=["sex", "code"], **named)


def test_a_purchase_that_is_foreseeably_too_small_is_refused(visits, book):
    answer = {"person": "patient_id", "rows_per_person": 10, "about_rows": ROWS}
    with pytest.raises(TooSmallToBuyError, match="about 1,200 rows is too small"):
        sfumato.synthesize(visits, ledger=book, name="people", buy=0.3, **answer)
    assert spent(book) == ("0", 0)


def test_whose_rows_these_are_is_asked_before_anything_is_spent(visits, book):
    with pytest.raises(UnansweredQuestionError, match="whose rows are these") as caught:
        sfumato.synthesize(visits, ledger=book, name="people")
    assert "person='patient_id'" in caught.value.next_step and spent(book) == ("0", 0)


@pytest.mark.parametrize("buy", [None, 2])
def test_people_are_protected_whole_and_their_numbers_stay(visits, buy):
    answer = {"person": "patient_id", "rows_per_person": 3, "epsilon": 3}
    made = sfumato.synthesize(visits, ledger=False, name="people", method="marginals", buy=buy, **answer)
    assert made.guarantee.unit == "person (at most 3 rows)"
    assert list(made.data.columns) == ["age", "sex", "town"]
    assert any("share their patient_id; at most 3" in note for note in made.notes)


def test_columns_and_person_that_were_named_need_no_look_at_the_rows(visits, monkeypatch):
    monkeypatch.setattr(Schema, "draft", None)  # a draft would fail
    named = {"columns": ["sex", "town"], "person": False, "epsilon": 3, "buy": 2}
    made = sfumato.synthesize(visits, ledger=False, name="people", method="marginals", **named)
    assert list(made.data.columns) == ["sex", "town"]
    assert not any("looking at the private rows" in words for words in made.guarantee.assumptions)


def test_some_columns_of_a_draft(visits):
    named = {"columns": ["sex", "town"], "person": False}
    made = sfumato.synthesize(visits, ledger=False, name="people", method="marginals", **named)
    assert made.schema.names == ("sex", "town")
    with pytest.raises(SchemaError, match="'size' is not among them"):
        sfumato.synthesize(visits, ledger=False, columns=["size"], person=False)


def test_no_private_value_stands_in_the_notes(people):
    odd = people.assign(note=[f"text number {i} of somebody" for i in range(ROWS)])
    made = sfumato.synthesize(odd, ledger=False, name="people", method="marginals")
    told = " ".join((*made.notes, *made.guarantee.assumptions))
    assert "note" in told and "text number" not in told and f"{ROWS:,}" not in told and str(ROWS) not in told


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"epsilon": 0.2, "buy": 0.2}, "leaves nothing"),
        ({"epsilon": "much"}, "epsilon must lie"),
        ({"person": "patient_id"}, "rows_per_person is missing"),
        ({"method": "magic"}, "no method 'magic'"),
        ({"method": sfumato.AIM(epsilon=1)}, "method needs a name"),
    ],
)
def test_a_wish_is_checked_before_the_table_is_looked_at(wrong, told):
    with pytest.raises(PlanError, match=told):
        sfumato.synthesize("there is no such file.csv", ledger=False, **wrong)


def test_a_whole_delta_is_shared_by_facts_and_rows():
    assert (
        SynthesisRequest(delta="1e-6", buy=0.2).deltas == ("5e-7", "5e-7")
        or SynthesisRequest(delta="1e-6", buy=0.2).deltas[0] == "5e-07"
    )
    assert SynthesisRequest(delta="1e-6").deltas[0] is None


def test_no_ledger_is_said_once(people):
    with pytest.warns(NoLedgerWarning) as caught:
        sfumato.synthesize(people, name="people", method="marginals")
    assert len(caught) == 1 and caught[0].filename == __file__


def test_columns_that_only_need_an_option_are_not_lost_unasked(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("sex;cost\n" + "".join(f"{'fm'[i % 2]};{i},{i % 90 + 10}\n" for i in range(300)))
    with pytest.raises(TableError, match="would be left out") as caught:
        sfumato.synthesize(path, ledger=False, delimiter=";")
    assert "--decimal ','" in caught.value.next_step
    made = sfumato.synthesize(path, ledger=False, delimiter=";", decimal=",", method="marginals", anyway=True)
    assert list(made.data.columns) == ["sex", "cost"]


def test_a_table_too_small_to_buy_is_told_so(people):
    with pytest.raises(SchemaError, match="rose above the noise"):
        sfumato.synthesize(people[["sex", "town"]].head(30), ledger=False, name="people", epsilon=0.2, buy=0.1)
