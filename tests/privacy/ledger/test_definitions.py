"""A changed definition can drop a spend without a word: verify names it, every write is refused and reads back."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa

from sfumato import errors
from sfumato.privacy.ledger import Ledger, chain
from sfumato.privacy.ledger import pre_write_check as ledger_guard
from sfumato.privacy.ledger.store import _sqlite_definitions

CHAIN, ACCOUNTS, HEAD = "sfumato_ledger_chain", "sfumato_ledger_accounts", "sfumato_ledger_head"
SINCE = {CHAIN: "sequence > 2", HEAD: "sequence > 2", ACCOUNTS: "events > 1"}
"""What a definition is made to drop: every spend after the first."""


def redefined(path: Path, table: str, change: tuple[str, str]) -> None:
    """Write a table of a SQLite ledger anew, with the same rows and another definition."""
    connection = sqlite3.connect(path)
    (text,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    names = ", ".join(column[1] for column in connection.execute(f"PRAGMA table_info({table})"))
    connection.execute(f"ALTER TABLE {table} RENAME TO before_it")
    connection.execute("DROP INDEX IF EXISTS sfumato_ledger_chain_by_table")
    connection.execute(re.sub(*change, text, count=1))
    connection.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM before_it")
    connection.execute("DROP TABLE before_it")
    connection.commit()
    connection.close()


def generated(table: str) -> tuple[str, str]:
    column = f"g INTEGER AS (CASE WHEN {SINCE[table]} THEN NULL ELSE 1 END) STORED NOT NULL ON CONFLICT IGNORE, PRIMARY"
    return "PRIMARY", column


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A SQLite ledger with one account and one spend."""
    path = tmp_path / "ledger.db"
    ledger = Ledger(path)
    ledger.open_table("people", epsilon=2)
    ledger.spend("people", epsilon="0.5")
    return path


DROPPING = {
    "rows": {CHAIN: generated(CHAIN)},
    "head": {HEAD: generated(HEAD)},
    "account": {ACCOUNTS: generated(ACCOUNTS)},
    "everything": {table: generated(table) for table in SINCE},
    "key": {CHAIN: (r"PRIMARY KEY \(sequence\)", "PRIMARY KEY (sequence) ON CONFLICT IGNORE")},
    "check": {CHAIN: ("PRIMARY", "CONSTRAINT c CHECK (sequence < 3) ON CONFLICT IGNORE, PRIMARY")},
}


@pytest.mark.parametrize("what", DROPPING)
def test_a_definition_that_was_changed_is_named_and_nothing_is_spent(file: Path, what: str) -> None:
    for table, change in DROPPING[what].items():
        redefined(file, table, change)
    ledger = Ledger(file)
    problems = ledger.verify().problems
    for table in DROPPING[what]:
        assert any(f"the definition of the table {table} was changed" in problem for problem in problems), problems
    for call in (
        lambda: ledger.spend("people", epsilon="0.5"),
        lambda: ledger.open_table("new", epsilon=1),
        ledger.require_sound,
    ):
        with pytest.raises(errors.LedgerTampered, match="was changed"):
            call()


@pytest.mark.parametrize("what", ["rows", "head", "account", "everything"])
def test_what_is_not_kept_is_refused_even_where_definitions_are_not_looked_at(
    file: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for table, change in DROPPING[what].items():
        redefined(file, table, change)
    monkeypatch.setattr(ledger_guard, "definition_problems", lambda connection: [])
    with pytest.raises(errors.LedgerTampered, match="does not keep what the ledger writes; nothing was recorded"):
        Ledger(file).spend("people", epsilon="0.5")
    assert len(Ledger(file).history()) == 1


AROUND = {
    "trigger": f"CREATE TRIGGER refund AFTER UPDATE ON {ACCOUNTS} BEGIN UPDATE {ACCOUNTS} SET spent_epsilon = '0'; END",
    "view": f"CREATE VIEW harmless AS SELECT * FROM {ACCOUNTS}",
    "index": f"CREATE UNIQUE INDEX one ON {CHAIN} (kind, table_name) WHERE sequence > 100",
    "temporary table": f"CREATE TEMP TABLE {HEAD} AS SELECT * FROM {HEAD}",
}


@pytest.mark.parametrize("what", AROUND)
def test_what_stands_around_the_tables_is_named(file: Path, what: str) -> None:
    ledger = Ledger(file)
    with ledger._store.write() as connection:
        connection.exec_driver_sql(AROUND[what])
        with pytest.raises(errors.LedgerTampered, match=f"not the ledger's: .{what} "):
            ledger_guard.checked_accounts(connection)
    if what != "temporary table":
        assert not ledger.verify()
        with pytest.raises(errors.LedgerTampered, match=f"not the ledger's: .{what} "):
            ledger.spend("people", epsilon="0.1")


def test_a_view_in_the_place_of_a_table_is_named(file: Path) -> None:
    with Ledger(file)._store.write() as connection:
        connection.exec_driver_sql(f"ALTER TABLE {ACCOUNTS} RENAME TO hidden")
        connection.exec_driver_sql(f"CREATE VIEW {ACCOUNTS} AS SELECT * FROM hidden")
    with pytest.raises(errors.LedgerTampered, match=f"view {ACCOUNTS}"):
        Ledger(file).spend("people", epsilon="0.1")


def test_definitions_are_those_of_earlier_versions() -> None:
    """Ledgers of 0.1 and 0.2 hold these words: other ones would lock their owners out."""
    old = Path(__file__).with_name("format_1.sql").read_text(encoding="utf-8")
    statements = {" ".join(each.split()) for each in old.split(";")}
    assert set(_sqlite_definitions().values()) <= statements


FUNCTION = "CREATE FUNCTION refund() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$"
ON_POSTGRESQL = {
    "a trigger": ([FUNCTION, f"CREATE TRIGGER t BEFORE UPDATE ON {ACCOUNTS} FOR EACH ROW EXECUTE FUNCTION refund()"],
                  "trigger t on"),
    "a rule": ([f"CREATE RULE forget AS ON UPDATE TO {ACCOUNTS} DO INSTEAD NOTHING"], "rule forget"),
    "a rule for rows": ([f"CREATE RULE forget AS ON INSERT TO {CHAIN} DO INSTEAD NOTHING"], "rule forget"),
    "row security": ([f"ALTER TABLE {ACCOUNTS} ENABLE ROW LEVEL SECURITY"], "hides rows"),
    "a view": (
        [f"ALTER TABLE {ACCOUNTS} RENAME TO hidden", f"CREATE VIEW {ACCOUNTS} AS SELECT * FROM hidden"],
        "which is no table",
    ),
    "a generated column": (
        [f"ALTER TABLE {CHAIN} ADD COLUMN g integer GENERATED ALWAYS AS (sequence::integer) STORED"],
        "column g of",
    ),
    "a default": ([f"ALTER TABLE {ACCOUNTS} ALTER COLUMN unit SET DEFAULT 'row'"], "column unit of"),
    "another type": ([f"ALTER TABLE {HEAD} ALTER COLUMN hash TYPE varchar(64)"], "column hash of"),
    "a column that may be empty": ([f"ALTER TABLE {HEAD} ALTER COLUMN hash DROP NOT NULL"], "column hash of"),
    "a check": ([f"ALTER TABLE {CHAIN} ADD CONSTRAINT few CHECK (sequence < 100)"], "constraint few on"),
    "an index with a function": ([f"CREATE INDEX odd ON {CHAIN} (lower(kind))"], "index odd on"),
    "no log": ([f"ALTER TABLE {CHAIN} SET UNLOGGED"], "which is temporary or unlogged"),
    "a child": ([f"CREATE TABLE more () INHERITS ({CHAIN})"], "is part of another table or has parts"),
}  # fmt: skip


@pytest.mark.postgres
@pytest.mark.parametrize("what", ON_POSTGRESQL)
def test_the_same_on_postgresql(postgres_ledger_url: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    statements, words = ON_POSTGRESQL[what]
    ledger = Ledger(postgres_ledger_url)
    ledger.open_table("people", epsilon=5)
    ledger.spend("people", epsilon="1/3")
    with ledger._store.write() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    with pytest.raises(errors.LedgerTampered) as refused:
        ledger.spend("people", epsilon="1/3")
    assert any(words in problem for problem in refused.value.problems), refused.value
    assert any(words in problem for problem in ledger.verify().problems)
    if what.startswith(("a trigger", "a rule")):
        monkeypatch.setattr(ledger_guard, "definition_problems", lambda connection: [])
        with pytest.raises(errors.LedgerTampered, match="does not keep what the ledger writes"):
            ledger.spend("people", epsilon="1/3")


@pytest.mark.postgres
@pytest.mark.parametrize("shadow", ["pg_temp", "earlier"])
def test_tables_that_hide_those_of_the_ledger_on_postgresql(postgres_ledger_url: str, shadow: str) -> None:
    ledger = Ledger(postgres_ledger_url)
    ledger.open_table("people", epsilon=5)
    with ledger._store.write() as connection:
        own = connection.scalar(sa.select(sa.func.current_schema()))
        if shadow == "earlier":
            connection.exec_driver_sql(f"CREATE SCHEMA {own}_first")
            connection.exec_driver_sql(f"SET LOCAL search_path = {own}_first, {own}")
        place = "pg_temp" if shadow == "pg_temp" else f"{own}_first"
        connection.exec_driver_sql(f"CREATE TABLE {place}.{HEAD} (LIKE {own}.{HEAD} INCLUDING ALL)")
        connection.exec_driver_sql(f"INSERT INTO {place}.{HEAD} SELECT * FROM {own}.{HEAD}")
        with pytest.raises(errors.LedgerTampered, match=f"a second {HEAD} in schema"):
            ledger_guard.checked_accounts(connection)
        connection.rollback()


def test_a_row_that_reads_otherwise_than_it_was_written_is_refused(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, reading = ledger.export(), chain.rows_between
    later = before["entries"][-1]["sequence"] + 1

    def altered(connection: sa.Connection, first: int, last: int) -> list[chain.ChainRow]:
        return [row._replace(body="{}") if row.sequence == later else row for row in reading(connection, first, last)]

    monkeypatch.setattr(chain, "rows_between", altered)
    with pytest.raises(errors.LedgerTampered, match=f"rows {later} to {later} do not read as they were written"):
        ledger.spend("people", epsilon="0.1")
    monkeypatch.undo()
    assert ledger.export() == before
    assert ledger.verify()
