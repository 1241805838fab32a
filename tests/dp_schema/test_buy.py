"""Buying a schema: what is refused costs nothing, what is recorded comes before the noise, and a release follows."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sfumato
from sfumato import Ledger, Schema, buy_schema
from sfumato.dp_schema import run
from sfumato.errors import (
    BudgetExceeded,
    LedgerError,
    NoLedgerWarning,
    PlanError,
    SchemaError,
    SfumatoError,
    TableError,
    UnmarkedBundleWarning,
)
from sfumato.privacy.accounting.event_kinds import understated_cost
from sfumato.schema import confirm

ROWS = 3000


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that nobody knows: numbers, money, codes, dates, texts, flags, names, gaps and a few strange values."""
    rng = np.random.default_rng(8)
    first = dt.date(2015, 1, 1)
    frame = pd.DataFrame(
        {
            "name": [f"Person {i}" for i in range(ROWS)],
            "age": rng.integers(18, 91, ROWS).astype(str),
            "income": np.round(rng.lognormal(10, 0.6, ROWS), 2),
            "region": rng.choice(["north", "south", "west"], ROWS, p=[0.5, 0.3, 0.2]),
            "zip": [f"0{i:04d}" for i in rng.integers(0, 9999, ROWS)],
            "joined": [(first + dt.timedelta(days=int(d))).isoformat() for d in rng.integers(0, 3000, ROWS)],
            "member": rng.choice(["true", "false"], ROWS),
            "code": rng.choice([1, 2, 9], ROWS),
        }
    )
    frame.loc[:3, "age"] = ["?", "n/a", "12.5", None]
    frame.loc[rng.random(ROWS) < 0.2, "income"] = None
    target = tmp_path_factory.mktemp("unknown") / "people.csv"
    frame.to_csv(target, index=False)
    return target


@pytest.fixture(scope="module")
def bought(path: Path) -> Schema:
    return buy_schema(path, 2, ledger=False, seed=4)


def test_every_kind_of_column_is_found(bought: Schema):
    kinds = {column.name: column.kind for column in bought}
    assert kinds == {
        "name": "category",
        "age": "integer",
        "income": "number",
        "region": "category",
        "zip": "category",
        "joined": "date",
        "member": "boolean",
        "code": "category",
    }
    assert bought.with_role("identifier") == ("name", "zip")
    assert bought["region"].values == ("north", "south", "west")
    assert bought["code"].values == (1, 2, 9)
    assert bought["income"].decimals == 2
    assert bought["age"].bounds[0] <= 20 < 80 <= bought["age"].bounds[1] <= 100
    assert [day.year for day in bought["joined"].bounds] == [2015, 2023]


def test_notes_say_where_values_are_missing(bought: Schema):
    some, none = (note for note in bought.notes if "missing values" in note)
    assert some.startswith("missing values: income (about ")
    assert abs(int(some.split("about ")[1].split()[0].replace(",", "")) - ROWS / 5) < 200
    assert "age" in none
    assert "income" not in none


def test_the_schema_is_confirmed_and_says_what_its_facts_cost(bought: Schema, tmp_path: Path):
    bought.require_confirmed()
    words = {column.bought for column in bought}
    assert words == {bought["age"].bought}
    assert bought["age"].bought.startswith("not recorded") and ": epsilon 2, delta 1e-09 (" in bought["age"].bought
    assert "not for release (seed 4)" in bought["age"].bought
    assert bought["age"].provenance["bounds"].origin == "bought"
    assert any("not for release" in note for note in bought.notes)
    assert Schema.load(bought.save(tmp_path / "s.toml")) == bought


def test_a_release_from_bought_facts_refuses_no_row(path: Path, bought: Schema):
    """Strange values count as missing, far ones are clamped: noise could not have seen a few of either."""
    table = sfumato.read(path, bought)
    assert table.violations == ()
    made = sfumato.release(table, sfumato.Marginals(epsilon=1, columns=["age", "region", "code"]), ledger=False, seed=1)
    assert made.data["age"].dropna().between(*bought["age"].bounds).all()
    (told,) = (note for note in made.notes if "set to the nearest bound (outside = clamp)" in note)
    assert told in bought.notes
    assert "bounds of age, income and joined are set" in told
    assert not any(sign.isdigit() for sign in told)
    strict = bought.replace_columns({"age": {"bought": None}})
    assert any("cannot be read" in violation.problem for violation in sfumato.read(path, strict).violations)


def test_a_seed_repeats_and_noise_differs_without(path: Path, bought: Schema):
    again = buy_schema(path, 2, ledger=False, seed=4, columns=["age", "region"])
    assert again.names == ("age", "region")
    assert buy_schema(path, 2, ledger=False, seed=4) == bought


def open_book(folder: Path, table: str = "people", epsilon: str = "1", **terms: str) -> Ledger:
    book = Ledger(folder / "budget.db")
    book.open_table(table, epsilon=epsilon, delta="1e-6", **terms)
    return book


def test_the_cost_is_recorded_once_and_composes_with_releases(path: Path, tmp_path: Path):
    book = open_book(tmp_path)
    schema = buy_schema(path, "0.4", ledger=book, columns=["region", "age"])
    (entry,) = book.history("people")
    assert (entry.event.epsilon, entry.event.delta, entry.event.method) == ("0.4", "1e-09", "buy")
    assert understated_cost(entry.event) is None
    assert [part.stage for part in entry.event.parts] == [
        "form of age",
        "form of region",
        "values of age",
        "values of region",
    ]
    assert schema["region"].bought.startswith(f"ledger entry {entry.sequence}: epsilon 0.4, delta 1e-09")
    sfumato.release(sfumato.read(path, schema), sfumato.Histogram(column="region", epsilon="0.6"), ledger=book)
    with pytest.raises(BudgetExceeded):
        buy_schema(path, "0.1", ledger=book)
    assert book.verify().ok


class Drawn(Exception):
    """Raised in the place of noise."""


def no_noise(*_: object) -> None:
    raise Drawn


WRONG = {
    "cap": ({"epsilon": 3}, BudgetExceeded),
    "epsilon": ({"epsilon": 0}, PlanError),
    "weak": ({"epsilon": 50}, SfumatoError),
    "delta": ({"delta": 2}, PlanError),
    "column": ({"columns": ["nobody"]}, TableError),
    "account": ({"name": "other"}, LedgerError),
    "people": ({"person": "gap"}, TableError),
    "adjacency": ({"adjacency": "replace", "rows": 5}, LedgerError),
    "seed": ({"seed": -1}, PlanError),
    "rows of people": ({"rows_per_person": 10**6, "person": "x"}, PlanError),
    "no rows said": ({"adjacency": "replace"}, SfumatoError),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_refused_before_anything_is_spent_or_drawn(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(run, "add_gaussian", no_noise)
    changes, error = WRONG[case]
    book = open_book(tmp_path, "table")
    frame = pd.DataFrame({"x": ["a", "b"], "gap": ["p", None]})
    with pytest.raises(error):
        buy_schema(frame, **({"epsilon": 0.5, "ledger": book} | changes))
    assert book.history() == ()


def test_a_public_number_of_rows_must_be_the_true_one(tmp_path: Path):
    book = open_book(tmp_path, "table", adjacency="replace")
    with pytest.raises(TableError, match="cannot be bought; nothing was spent"):
        buy_schema(pd.DataFrame({"x": ["a"] * 3}), 0.5, ledger=book, adjacency="replace", rows=4)
    assert book.history() == ()


def test_the_cost_is_on_record_before_noise_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A crash after recording loses budget, never privacy; the mutant that draws first leaves no entry."""
    monkeypatch.setattr(run, "add_gaussian", no_noise)
    book = open_book(tmp_path, "table")
    with pytest.raises(Drawn) as caught:
        buy_schema(pd.DataFrame({"x": ["a", "b"]}), 0.5, ledger=book)
    (entry,) = book.history()
    assert book.outcomes()[entry.sequence].kind == "lost"
    assert "epsilon 0.5" in caught.value.__notes__[0]


def test_who_buys_is_known_before_anything_is_spent(tmp_path, monkeypatch):
    """The mutant that asks for the name of the account after the spend leaves an entry."""

    def nobody() -> str:
        raise OSError("no account")

    monkeypatch.setattr(confirm.getpass, "getuser", nobody)
    book, frame = open_book(tmp_path, "table"), pd.DataFrame({"x": np.arange(5000) % 7})
    with pytest.raises(SchemaError, match="nobody is named"):
        buy_schema(frame, 0.8, ledger=book)
    assert book.history() == ()
    assert buy_schema(frame, 0.8, ledger=book, by="A. Custodian").confirmation.by == "A. Custodian"


def test_without_a_ledger_it_warns():
    with pytest.warns(NoLedgerWarning):
        buy_schema(pd.DataFrame({"x": np.arange(5000) % 7}), 2, seed=1)


def test_types_of_a_source_are_taken_for_public_and_cost_nothing():
    days = pd.to_datetime(["2020-01-01", "2021-06-01"] * 1500)
    frame = pd.DataFrame({"flag": pd.array([True, False] * 1500), "day": days, "x": np.linspace(0, 99, 3000)})
    schema = buy_schema(frame, 2, ledger=False, seed=1)
    assert [column.kind for column in schema] == ["boolean", "date", "number"]
    assert schema["flag"].bought is None
    assert buy_schema(frame[["flag"]], 1, ledger=False).names == ("flag",)


def test_people_bring_as_many_rows_as_they_may(path: Path):
    frame = pd.read_csv(path, usecols=["region", "age"]).assign(who=np.repeat(np.arange(1000), 3))
    schema = buy_schema(frame, 3, ledger=False, person="who", rows_per_person=3, seed=2)
    assert (schema.person, schema.rows_per_person) == ("who", 3)
    assert "who" not in schema.releasable
    assert schema["region"].values == ("north", "south", "west")


def test_too_few_rows_are_left_out_and_said_so():
    frame = pd.DataFrame({"x": ["a", "b"] * 30})
    with pytest.raises(SfumatoError, match="rose above the noise"):
        buy_schema(frame, 0.1, ledger=False, seed=1)


def test_values_without_a_form_are_left_out_before_anything_is_counted():
    frame = pa.table({"x": np.arange(4000) % 50, "clock": [dt.time(i % 24) for i in range(4000)], "pair": [[1]] * 4000})
    schema = buy_schema(frame, 1, ledger=False, seed=3)
    assert schema.names == ("x",)
    assert [note.split(" (")[0] for note in schema.notes if "left out" in note] == ["left out: clock", "left out: pair"]


def test_a_header_that_another_delimiter_would_split_is_refused(tmp_path: Path):
    (tmp_path / "t.csv").write_text("a;b\n1;2\n")
    with pytest.raises(TableError, match="as one column"):
        buy_schema(tmp_path / "t.csv", 1, ledger=False)


def test_an_engine_that_cannot_tell_forms_is_refused_before_anything_is_spent(tmp_path: Path):
    book = open_book(tmp_path, "table")
    remote = ibis.polars.connect().create_table("t", pa.table({"x": ["a", "b"]}))
    with pytest.raises(TableError, match="cannot detect the types of columns"):
        buy_schema(remote, 0.5, ledger=book)
    assert book.history() == ()


def test_facts_that_were_paid_for_are_handed_out_though_the_ledger_cannot_be_told(tmp_path, monkeypatch):
    """The mutant that lets the mark fail the purchase hands out nothing for the spend."""

    def fail(*_arguments):
        raise LedgerError("the ledger is locked")

    book = open_book(tmp_path, "table")
    monkeypatch.setattr(Ledger, "mark_saved", fail)
    with pytest.warns(UnmarkedBundleWarning, match="the ledger is locked"):
        made = buy_schema(pd.DataFrame({"x": np.arange(5000) % 7}), 0.8, ledger=book)
    assert made.releasable == ("x",)
    assert len(book.history()) == 1
