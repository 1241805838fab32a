"""What releases promise and refuse: weak numbers, mixed events, words in plan, bundle, report and terminal."""

from __future__ import annotations

import json
import re
from typing import ClassVar

import pytest

import sfumato
from sfumato.bundle.document import ReleaseDocument, ReleasedTable
from sfumato.bundle.verify import verify_bundle
from sfumato.core.plan import cost_summary, event_facts
from sfumato.errors import AccountingError, WeakGuaranteeError
from sfumato.mechanisms.counts.contingency import Contingency
from sfumato.mechanisms.counts.histogram import Histogram
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.ledger import Ledger
from sfumato.report.texts.guarantee import public_identifiers
from sfumato.report.texts.summary import explanation


class Mixed(Histogram):
    """A histogram beside something without a proof."""

    name: ClassVar[str] = "mixed"

    def plan(self, schema, rows=None, randomness="secure"):
        made = super().plan(schema, rows, randomness)
        loose = Event(kind="heuristic", **event_facts(self.name, schema, randomness))
        return made.model_copy(update={"events": (*made.events, loose)})


class Silent(Histogram):
    """A histogram that says nothing of what it runs."""

    name: ClassVar[str] = "silent"

    def plan(self, schema, rows=None, randomness="secure"):
        return super().plan(schema, rows, randomness).model_copy(update={"events": ()})


@pytest.fixture
def book(tmp_path, schema) -> Ledger:
    book = Ledger(tmp_path / "budget.db")
    book.open_table(schema.name, epsilon=1000, delta="0.999")
    return book


@pytest.fixture(scope="module")
def table(frame, schema):
    return sfumato.read(frame, schema)


def test_formal_and_other_events_make_an_exposure(table, book, tmp_path):
    made = sfumato.release(table, Mixed("age", 1.0), ledger=book)
    assert (made.guarantee.kind, made.guarantee.epsilon, made.guarantee.formal) == ("heuristic", None, False)
    assert made.guarantee.statement().startswith("No formal guarantee")
    assert cost_summary(made.plan) == "an exposure: no formal guarantee"
    account = book.account(table.schema.name)
    assert (account.spent_epsilon, account.exposures) == ("1", 1)
    folder = made.save(tmp_path / "mixed")
    report = (folder / "report.html").read_text()
    assert "No formal guarantee" in report and "ε =" not in report
    [problem] = verify_bundle(folder, book).problems
    assert "'mixed' is not one of sfumato's" in problem


def test_a_plan_with_a_formal_event_is_recorded_before_the_table_is_touched(table, book, monkeypatch):
    """Whatever else it holds. A plan of exposures alone is recorded afterwards, and not at all where it fails."""
    seen: list[int] = []
    monkeypatch.setattr(Mixed, "run", lambda *_arguments: seen.append(len(book.history())) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        sfumato.release(table, Mixed("age", 1.0), ledger=book)
    assert seen == [2] and len(book.history()) == 2
    assert {outcome.kind for outcome in book.outcomes().values()} == {"lost"}


def test_a_plan_without_events_promises_nothing_and_runs_nothing(table, book):
    with pytest.raises(AccountingError, match="no events"):
        sfumato.release(table, Silent("age", 1.0), ledger=book)
    assert book.history(table.schema.name) == ()


@pytest.mark.parametrize(
    ("method", "problem"),
    [
        (Histogram("age", 20.5), "epsilon 20.5 is above 20"),
        (Histogram("age", 1000), "epsilon 1000 is above 20"),
        (Histogram("age", 0.5, delta="0.11"), "delta 0.11 is above 0.1"),
    ],
)
def test_what_protects_nobody_is_refused_unless_it_is_allowed_by_name(table, book, tmp_path, method, problem):
    for ask in (sfumato.plan, sfumato.release):
        with pytest.raises(WeakGuaranteeError) as caught:
            ask(table, method, ledger=book)
        assert problem in caught.value.problems
    assert book.history(table.schema.name) == ()
    assert sfumato.plan(table.schema, method, allow_weak=True).notes
    made = sfumato.release(table, method, ledger=book, allow_weak=True)
    assert made.guarantee.allowed_weak and made.guarantee.band == "none in effect"
    assert "The custodian allowed this weak guarantee by name (allow_weak)" in made.guarantee.statement()
    folder = made.save(tmp_path / "weak")
    assert verify_bundle(folder, book).problems == ()
    assert "allow_weak=True" in (folder / "reproduce.py").read_text()
    assert "Protection: none in effect" in (folder / "report.html").read_text()


def test_a_weak_bundle_that_hides_the_allowance_does_not_verify(table, tmp_path):
    folder = sfumato.release(table, Histogram("age", 30), allow_weak=True).save(tmp_path / "weak")
    body = json.loads((folder / "release.json").read_text())
    body["guarantee"]["allowed_weak"] = False
    document = ReleaseDocument.model_validate(body)
    document = document.model_copy(update={"statement": document.guarantee.statement()}).sealed()
    (folder / "release.json").write_text(document.to_json())
    assert any("whether the custodian allowed" in problem for problem in verify_bundle(folder).problems)


def test_an_ordinary_promise_needs_no_allowance_and_records_none(table, schema):
    assert sfumato.plan(schema, Histogram("age", 4.9)).notes == ()
    made = sfumato.release(table, Histogram("age", 1.0), allow_weak=True)
    assert not made.guarantee.allowed_weak and "allowed" not in made.guarantee.statement()


@pytest.mark.parametrize(
    ("method", "word"), [(Histogram("age", 5), "epsilon 5"), (Contingency(["age"], 1, delta="1e-3"), "delta 0.001")]
)
def test_the_plan_and_the_release_warn(table, schema, method, word):
    (note,) = sfumato.plan(schema, method).notes
    assert note.startswith(f"{word} is large")
    made = sfumato.release(table, method)
    assert note in made.notes and f"Warning: {note}." in made.guarantee.statement()


def test_page_one_says_what_is_not_protected(table, tmp_path):
    strong = (sfumato.release(table, Histogram("age", 1.0)).save(tmp_path / "a") / "report.html").read_text()
    assert "can be at most 73.2 % sure afterwards" in strong and "stays hidden within these odds" in strong
    weak = (sfumato.release(table, Histogram("age", 12)).save(tmp_path / "b") / "report.html").read_text()
    assert "can be almost certain afterwards (99.99939 %)" in weak and "is not protected" in weak
    promises = weak[weak.index("<main") : weak.index("<h3>Stages</h3>")]
    promises = promises.replace("What is common in a group is not hidden", "")
    promises = re.sub(r"<[^>]+>", " ", promises)
    assert "hidden" not in promises and "stays uncertain" not in promises


def test_a_release_is_shown_by_what_it_promises(table):
    made = sfumato.release(table, Histogram("age", 1.0))
    shown = repr(made)
    assert shown.startswith("Release(Guarantee: differential privacy with epsilon = 1,")
    assert "Method histogram" in shown and len(shown) < 250
    assert repr(sfumato.release(table, Mixed("age", 1.0))).startswith("Release(No formal guarantee (heuristic")
    assert repr(sfumato.release(table, Histogram("age", 1.0), seed=1)).startswith("Release(NOT FOR RELEASE; ")


def test_page_one_names_the_columns_that_are_released_as_they_are(table):
    """The unit of a method that draws one column beside true ones; the rows here are only a stand-in."""
    unit = "the value of age in one row"
    made = sfumato.release(table, sfumato.Marginals(1.0, columns=["age", "sex", "region"]), rows=5)
    document = ReleaseDocument.from_release(made, tables=[listed(made)])
    said = made.guarantee.model_copy(update={"unit": unit, "adjacency": "replace", "rows": 600})
    kept = {"not_synthesised": ["region", "sex"]}
    document = document.model_copy(update={"unit": unit, "guarantee": said, "statistics": kept})
    assert "region, sex: released as they are; age: synthetic." in explanation(document, table.schema)
    told = " ".join(public_identifiers(document, table.schema))
    assert "Only the value of age in one row is covered; the rest of a row is released as it is" in told
    assert "someone who fills k rows" not in told and "what a row holds" not in told


def listed(made) -> ReleasedTable:
    names = tuple(next(iter(made.tables.values())).column_names)
    return ReleasedTable(columns=names, kind="rows", rows=5, parquet="data.parquet", csv="data.csv")
