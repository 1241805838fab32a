"""Marks say what came of a spend: a bundle, none, or nothing known. They cost nothing and are part of the chain."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from sfumato import errors
from sfumato.privacy.ledger import Ledger

ONE, TWO = "1" * 64, "2" * 64


@pytest.fixture
def ledger(ledger: Ledger, terms: dict[str, Any]) -> Ledger:
    ledger.open_table("places", epsilon=5, **terms)
    return ledger


def test_marks_are_kept_and_cost_nothing(ledger: Ledger) -> None:
    saved = ledger.spend("people", epsilon="0.2")
    lost = ledger.spend("people", epsilon="0.2")
    other = ledger.spend("places", epsilon="0.2")
    ledger.mark_saved(saved, ONE)
    ledger.mark_lost(lost, "interrupted by Ctrl-C,\nwhile it counted")
    found = ledger.outcomes()
    assert {number: (each.kind, each.sha256, each.reason) for number, each in found.items()} == {
        saved[0].sequence: ("saved", ONE, ""),
        lost[0].sequence: ("lost", None, "interrupted by Ctrl-C, while it counted"),
    }
    assert str(found[saved[0].sequence]) == f"bundle saved (sha256 {ONE})"
    assert str(found[lost[0].sequence]) == "no bundle came of it: interrupted by Ctrl-C, while it counted"
    assert ledger.outcomes("places") == {}
    assert ledger.account("people").spent_epsilon == "0.4"
    assert ledger.history() == (*saved, *lost, *other)
    assert list(ledger.export()["outcomes"].values())[2] == "no bundle known"
    assert ledger.verify().entries == 7
    with pytest.raises(errors.BudgetExceeded):
        ledger.spend("people", epsilon="4.7")


def test_a_release_of_several_events_is_marked_as_one(ledger: Ledger) -> None:
    first, second = ledger.spend("people", epsilon="0.1"), ledger.spend("places", epsilon="0.1")
    ledger.mark_saved([*first, *second], ONE)
    assert {each.sha256 for each in ledger.outcomes().values()} == {ONE}
    ledger.mark_saved([], TWO)
    assert ledger.verify().entries == 6


def test_a_lost_release_may_be_saved_later_and_again_elsewhere(ledger: Ledger) -> None:
    entries = ledger.spend("people", epsilon="0.1")
    ledger.mark_lost(entries, "no space left on device")
    for digest in (ONE, TWO, ONE):
        ledger.mark_saved(entries, digest)
    ledger.mark_lost(entries, "a third copy failed")
    (found,) = ledger.outcomes().values()
    assert (found.kind, found.sha256, found.bundles) == ("saved", ONE, (TWO, ONE))
    assert ledger.verify()


@pytest.mark.parametrize("digest", ["", "1" * 63, "G" * 64, None, "1" * 64 + "\n"])
def test_odd_digests_are_refused(ledger: Ledger, digest: Any) -> None:
    entries = ledger.spend("people", epsilon="0.1")
    with pytest.raises(errors.LedgerError, match="a saved bundle is marked by the SHA-256"):
        ledger.mark_saved(entries, digest)
    assert not ledger.outcomes()


def test_entries_of_another_ledger_are_refused(ledger: Ledger, tmp_path: Path) -> None:
    other = Ledger(tmp_path / "other.db")
    other.open_table("people", epsilon=1)
    other.open_table("places", epsilon=1)
    strange = other.spend("people", epsilon="0.1", note="elsewhere")
    own = ledger.spend("people", epsilon="0.1")
    head = ledger.head()
    for entries in ([*own, *strange], [own[0].model_copy(update={"sequence": 99})]):
        with pytest.raises(errors.LedgerError, match="is not in this ledger"):
            ledger.mark_saved(entries, ONE)
    assert ledger.head() == head


def test_verify_finds_a_mark_of_no_event(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "L")
    ledger.open_table("people", epsilon=1)
    ledger.mark_saved(ledger.spend("people", epsilon="0.1"), ONE)
    connection = sqlite3.connect(tmp_path / "L")
    with connection:
        connection.execute("UPDATE sfumato_ledger_chain SET body = replace(body, '\"entry\":2', '\"entry\":1')")
    connection.close()
    problems = ledger.verify().problems
    assert "row 3 marks row 1, which is no such event of its table" in problems
