"""Every change of a ledger by hand is found, and named by its row."""

from __future__ import annotations

import random
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from sfumato import errors
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.ledger.chain import ChainRow

EXPOSURE = Event(kind="heuristic", method="range-restriction", table="people", adjacency="add-remove")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A SQLite ledger with two accounts, several events and an exposure."""
    path = tmp_path / "filled.db"
    ledger = Ledger(path)
    ledger.open_table("people", epsilon=5, delta="1e-6")
    ledger.open_table("orte-ä", epsilon=2)
    for turn in range(6):
        ledger.spend("people", epsilon="1/3", note=f"turn {turn}")
    ledger.spend("people", EXPOSURE)
    ledger.spend("orte-ä", epsilon=0.5, note="made elsewhere")
    return path


def rewritten(file: Path, *statements: str) -> Ledger:
    with sqlite3.connect(file) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    return Ledger(file)


def test_an_untouched_ledger_verifies(file: Path) -> None:
    verification = Ledger(file).verify()
    assert verification
    assert verification.ok
    assert verification.problems == ()
    assert verification.entries == 10
    assert verification.head == Ledger(file).head()


def test_every_changed_cell_is_found_and_its_row_named(file: Path, tmp_path: Path) -> None:
    chance = random.Random(1)
    with sqlite3.connect(file) as connection:
        cells = [
            (table, rowid, column, value)
            for table in ("sfumato_ledger_chain", "sfumato_ledger_accounts", "sfumato_ledger_head")
            for row in _named_rows(connection, table)
            for rowid in [row.pop("rowid")]
            for column, value in row.items()
        ]
    connection.close()
    assert len(cells) == 10 * 7 + 2 * 10 + 3
    for table, rowid, column, value in cells:
        copy = Path(shutil.copy(file, tmp_path / "changed.db"))
        with sqlite3.connect(copy) as connection:
            kind = "TEXT" if isinstance(value, str) else "INT"
            query = f"UPDATE {table} SET {column} = CAST(? AS {kind}) WHERE rowid = ?"
            connection.execute(query, (_flipped(value, chance), rowid))
        connection.close()
        problems = Ledger(copy).verify().problems
        assert problems, (table, rowid, column)
        named = [rowid, rowid + 1] if table.endswith("chain") else range(11)
        assert any(f"row {row}" in problem for row in named for problem in problems), (table, rowid, column, problems)


def _named_rows(connection: sqlite3.Connection, table: str) -> list[dict[str, Any]]:
    cursor = connection.execute(f"SELECT rowid AS rowid, * FROM {table}")
    names = [column[0] for column in cursor.description]
    # A primary key that is the rowid comes back under its own name twice.
    return [dict(zip(["rowid", *names[1:]], row, strict=True)) for row in cursor]


def _flipped(value: Any, chance: random.Random) -> Any:
    if isinstance(value, int):
        return value + 100
    raw = bytearray(value.encode() or b"\0")
    raw[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)
    return bytes(raw)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("DELETE FROM sfumato_ledger_chain WHERE sequence = 5", "row 5 is missing"),
        ("DELETE FROM sfumato_ledger_chain WHERE sequence = 1", "row 1 is missing"),
        ("DELETE FROM sfumato_ledger_chain WHERE sequence > 8", "remembers 10 rows, but the last one is row 8"),
        ("DELETE FROM sfumato_ledger_chain", "remembers 10 rows, but the last one is row 0"),
        ("DELETE FROM sfumato_ledger_head", "after row 10: the ledger has 0 heads"),
        ("UPDATE sfumato_ledger_head SET format = 3", "after row 10: the ledger is of format 3"),
        ("DELETE FROM sfumato_ledger_accounts WHERE name = 'people'", "'people', opened in row 1, was removed"),
        (
            "UPDATE sfumato_ledger_accounts SET cap_epsilon = '50' WHERE name = 'people'",
            "cap_epsilon is '50', but row 1",
        ),
        ("UPDATE sfumato_ledger_accounts SET spent_epsilon = '0'", "spent_epsilon is '0', but row 1"),
        (
            "INSERT INTO sfumato_ledger_chain SELECT 11, kind, table_name, recorded_at, body, hash, hash "
            "FROM sfumato_ledger_chain WHERE sequence = 10",
            "row 11 was changed",
        ),
        (
            "INSERT INTO sfumato_ledger_accounts SELECT 'new', cap_epsilon, cap_delta, adjacency, composition, unit, "
            "spent_epsilon, spent_delta, events, exposures FROM sfumato_ledger_accounts LIMIT 1",
            "'new' was added by hand",
        ),
        ("DROP TABLE sfumato_ledger_accounts", "no such table"),
    ],
)
def test_rows_removed_or_added_by_hand_are_found(file: Path, statement: str, words: str) -> None:
    problems = rewritten(file, statement).verify().problems
    assert any(words in problem for problem in problems), problems


def test_a_ledger_cut_short_with_care_is_found_by_a_head_written_down(file: Path) -> None:
    early = Ledger(file).head()
    ledger = Ledger(file)
    ledger.spend("orte-ä", epsilon=0.5)
    late = ledger.head()
    assert ledger.verify(early)
    assert ledger.verify(late)
    ledger = rewritten(
        file,
        "DELETE FROM sfumato_ledger_chain WHERE sequence = 11",
        "UPDATE sfumato_ledger_head SET sequence = 10, "
        "hash = (SELECT hash FROM sfumato_ledger_chain WHERE sequence = 10)",
        "UPDATE sfumato_ledger_accounts SET spent_epsilon = '0.5', events = 1 WHERE name = 'orte-ä'",
    )
    assert ledger.verify()
    assert ledger.verify(early)
    assert "expected head" in ledger.verify(late).problems[0]


def test_nothing_is_recorded_on_a_broken_end(file: Path) -> None:
    ledger = rewritten(file, "DELETE FROM sfumato_ledger_chain WHERE sequence = 10")
    for call in (lambda: ledger.spend("people", epsilon=1), lambda: ledger.open_table("new", epsilon=1)):
        with pytest.raises(errors.LedgerTampered, match="row 10"):
            call()


def test_unreadable_rows_are_named_errors(file: Path) -> None:
    ledger = rewritten(
        file,
        "UPDATE sfumato_ledger_chain SET body = '[' WHERE sequence = 4",
        "UPDATE sfumato_ledger_accounts SET spent_epsilon = 'much' WHERE name = 'people'",
    )
    for call in (ledger.history, ledger.export, ledger.accounts, lambda: ledger.spend("people", epsilon=1)):
        with pytest.raises(errors.LedgerError, match=r"row 4|'people'"):
            call()


def test_a_flipped_byte_of_the_file_is_found_or_changes_nothing(file: Path, tmp_path: Path) -> None:
    chance = random.Random(3)
    raw, content = file.read_bytes(), Ledger(file).export()
    found = 0
    for _ in range(1500):
        copy = tmp_path / "flipped.db"
        for left_over in tmp_path.glob("flipped.db*"):
            left_over.unlink()
        changed = bytearray(raw)
        changed[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)
        copy.write_bytes(changed)
        if Ledger(copy).verify():
            assert Ledger(copy).export() == content
        else:
            found += 1
    assert found > 200  # most of such a small file is free space, where a flip changes nothing


def test_a_file_cut_short_is_reported(file: Path) -> None:
    raw = file.read_bytes()
    for length in (0, 50, 4096, len(raw) // 2, len(raw) - 4096):
        file.write_bytes(raw[:length])
        assert not Ledger(file).verify(), length


def test_a_row_that_is_nested_without_end_is_named(file: Path) -> None:
    """The hash is right, so that reading the row is what must not fail."""
    with sqlite3.connect(file) as connection:
        row = ChainRow(*connection.execute("SELECT * FROM sfumato_ledger_chain WHERE sequence = 4").fetchone())
        deep = ChainRow.sealed(*row[:4], "[" * 100_000, row.previous_hash)
        connection.execute(
            "UPDATE sfumato_ledger_chain SET body = ?, hash = ? WHERE sequence = 4", (deep.body, deep.hash)
        )
    connection.close()
    ledger = Ledger(file)
    assert any(problem.startswith("row 4 cannot be read") for problem in ledger.verify().problems)
    for call in (ledger.history, ledger.export, lambda: ledger.spend("people", epsilon=1)):
        with pytest.raises(errors.LedgerError, match="row 4"):
            call()


@pytest.mark.postgres
def test_changes_by_hand_are_found_on_postgresql(postgres_ledger_url: str) -> None:
    ledger = Ledger(postgres_ledger_url)
    ledger.open_table("people", epsilon=5)
    ledger.spend("people", epsilon="0.1", note="ä")
    ledger.spend("people", EXPOSURE)
    assert ledger.verify(ledger.head())
    for statement, words in (
        ("UPDATE sfumato_ledger_chain SET body = replace(body, '0.1', '0.2') WHERE sequence = 2", "row 2 was changed"),
        ("UPDATE sfumato_ledger_accounts SET cap_epsilon = '6'", "cap_epsilon is '6', but row 1"),
        ("DELETE FROM sfumato_ledger_chain WHERE sequence = 3", "remembers 3 rows"),
        ("DROP TABLE sfumato_ledger_head", "does not exist"),
    ):
        with ledger._store.write() as connection:
            connection.exec_driver_sql(statement)
        assert any(words in problem for problem in ledger.verify().problems), words
