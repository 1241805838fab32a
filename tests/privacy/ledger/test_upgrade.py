"""A ledger of format 1 is not lost: it is checked as a whole and goes on. Other formats are refused by every door."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from sfumato import errors
from sfumato.privacy.ledger import Ledger

OLD = Path(__file__).with_name("format_1.sql")
OLD_HEAD = "f9dc3594742e2c568f417ca6b7ebae3c048fb1f8e0feae3a60de16c35a94607d"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A ledger that version 0.1.0 wrote: two accounts, four formal events, an exposure."""
    path = tmp_path / "old.db"
    connection = sqlite3.connect(path)
    connection.executescript(OLD.read_text(encoding="utf-8"))
    connection.close()
    return path


def rewrite(file: Path, statement: str) -> None:
    connection = sqlite3.connect(file)
    with connection:
        connection.execute(statement)
    connection.close()


def test_an_old_ledger_goes_on_after_an_upgrade(file: Path) -> None:
    ledger = Ledger(file)
    before = ledger.verify()
    assert before.ok
    assert before.entries == 7
    assert any("format 1" in warning for warning in before.warnings)
    assert ledger.upgrade().ok
    account = ledger.account("people")
    assert (account.spent_epsilon, account.events, account.exposures, account.unit) == ("13/12", 3, 1, "row")
    assert len(ledger.history()) == 5
    ledger.spend("people", epsilon=3)
    with pytest.raises(errors.BudgetExceeded):
        ledger.spend("people", epsilon=1)
    ledger.mark_saved(ledger.history("people")[:1], "a" * 64)
    ledger.open_table("new", epsilon=1)
    after = ledger.verify(OLD_HEAD)
    assert after.ok, after.problems
    assert after.entries == 11
    assert [warning for warning in after.warnings if "row 6, recorded before" in warning]
    assert ledger.upgrade().entries == 11


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE sfumato_ledger_accounts SET spent_epsilon = '0' WHERE name = 'people'",
        "UPDATE sfumato_ledger_chain SET body = replace(body, '1/3', '1/9') WHERE sequence = 3",
        "DELETE FROM sfumato_ledger_chain WHERE sequence = 4",
        "CREATE TRIGGER t AFTER UPDATE ON sfumato_ledger_accounts BEGIN SELECT 1; END",
    ],
)
def test_what_was_changed_by_hand_is_not_upgraded_and_not_hidden_by_it(file: Path, statement: str) -> None:
    copy = file.with_name("copy.db")
    copy.write_bytes(file.read_bytes())
    rewrite(file, statement)
    with pytest.raises(errors.LedgerTampered, match="was changed or damaged"):
        Ledger(file).upgrade()
    assert Ledger(file).verify().entries <= 7
    Ledger(copy).upgrade()
    rewrite(copy, statement)
    with pytest.raises(errors.LedgerTampered):
        Ledger(copy).spend("people", epsilon=1)


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (1, "sfumato ledger upgrade"),
        (3, "use the one that wrote it"),
        (99, "use the one that wrote it"),
        (-1, "wrote it"),
    ],
)
def test_other_formats_are_refused_by_every_door(file: Path, number: int, advice: str) -> None:
    rewrite(file, f"UPDATE sfumato_ledger_head SET format = {number}")
    ledger = Ledger(file)
    doors = [
        ledger.accounts,
        ledger.history,
        ledger.outcomes,
        ledger.export,
        ledger.head,
        ledger.require_sound,
        lambda: ledger.account("people"),
        lambda: ledger.tight("people"),
        lambda: ledger.check("people", epsilon=1),
        lambda: ledger.spend("people", epsilon=1),
        lambda: ledger.open_table("people", epsilon=1),
    ]
    for door in doors if number == 1 else [*doors, ledger.upgrade]:
        with pytest.raises(errors.LedgerError, match=f"the ledger is of format {number}") as refused:
            door()
        assert advice in refused.value.next_step


def test_a_new_ledger_that_calls_itself_old_is_not_upgraded(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "L")
    ledger.open_table("people", epsilon=1)
    ledger.spend("people", epsilon=1)
    rewrite(tmp_path / "L", "UPDATE sfumato_ledger_head SET format = 1")
    assert not ledger.verify()
    with pytest.raises(errors.LedgerTampered, match="row 1 cannot be read"):
        ledger.upgrade()
