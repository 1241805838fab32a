"""A write believes the chain: a ledger that was changed by hand is refused, and nothing is added to it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from privacy.ledger.conftest import rewrite
from sfumato import errors
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.ledger import pre_write_check as ledger_guard
from sfumato.privacy.ledger.chain import AccountSnapshot, ChainRow

EXPOSURE = Event(kind="heuristic", method="range-restriction", table="people", adjacency="add-remove")
TENTHS = [
    Event(
        kind="declared",
        method="m",
        table="people",
        adjacency="add-remove",
        epsilon="0.1",
        delta="0",
        note=f"turn {turn}",
    )
    for turn in range(5)
]
CHAIN, ACCOUNTS, HEAD = "sfumato_ledger_chain", "sfumato_ledger_accounts", "sfumato_ledger_head"

CHANGES = {
    "sum": f"UPDATE {ACCOUNTS} SET spent_epsilon = '0' WHERE name = 'people'",
    "sum of delta": f"UPDATE {ACCOUNTS} SET spent_delta = '1e-9' WHERE name = 'people'",
    "cap": f"UPDATE {ACCOUNTS} SET cap_epsilon = '1000' WHERE name = 'people'",
    "cap of another": f"UPDATE {ACCOUNTS} SET cap_epsilon = '1000' WHERE name = 'places'",
    "composition": f"UPDATE {ACCOUNTS} SET composition = 'filter 1/3' WHERE name = 'people'",
    "unit": f"UPDATE {ACCOUNTS} SET unit = 'person' WHERE name = 'people'",
    "number of events": f"UPDATE {ACCOUNTS} SET events = 1 WHERE name = 'people'",
    "account removed": f"DELETE FROM {ACCOUNTS} WHERE name = 'places'",
    "account added": f"INSERT INTO {ACCOUNTS} SELECT 'new', cap_epsilon, cap_delta, adjacency, composition, unit, "
    f"spent_epsilon, spent_delta, events, exposures FROM {ACCOUNTS} WHERE name = 'people'",
    "row removed": f"DELETE FROM {CHAIN} WHERE sequence = 4",
    "first row removed": f"DELETE FROM {CHAIN} WHERE sequence = 1",
    "row added": f"INSERT INTO {CHAIN} SELECT 0, kind, table_name, recorded_at, body, previous_hash, hash FROM {CHAIN} "
    "WHERE sequence = 4",
    "end removed": f"DELETE FROM {CHAIN} WHERE sequence = 9",
}
MIDDLE = {
    "cost in a middle row": f"UPDATE {CHAIN} SET body = replace(body, '0.1', '0.01') WHERE sequence = 4",
    "time of a middle row": f"UPDATE {CHAIN} SET recorded_at = '2020' WHERE sequence = 4",
    "table of a middle row": f"UPDATE {CHAIN} SET table_name = 'places' WHERE sequence = 4",
    "a row of nothing but brackets": f"UPDATE {CHAIN} SET body = '{'[' * 100_000}' WHERE sequence = 4",
}


@pytest.fixture
def ledger(ledger: Ledger, terms: dict[str, Any]) -> Ledger:
    """A ledger of nine rows, with two accounts."""
    ledger.open_table("places", epsilon=2, **terms)
    ledger.spend("people", [*TENTHS, EXPOSURE])
    ledger.spend("places", epsilon="0.05")
    return ledger


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A SQLite ledger of nine rows, with two basic accounts."""
    path = tmp_path / "ledger.db"
    ledger = Ledger(path)
    ledger.open_table("people", epsilon=5, delta="1e-6")
    ledger.open_table("places", epsilon=2)
    ledger.spend("people", [*TENTHS, EXPOSURE])
    ledger.spend("places", epsilon="0.05")
    return path


def content(ledger: Ledger) -> list[Any]:
    with ledger._store.read() as connection:
        return [connection.exec_driver_sql(f"SELECT * FROM {table}").all() for table in (CHAIN, ACCOUNTS, HEAD)]


def writes(ledger: Ledger, entry: Any) -> dict[str, Callable[[], Any]]:
    return {
        "check": lambda: ledger.check("people", epsilon="0.1"),
        "spend": lambda: ledger.spend("people", epsilon="0.1"),
        "spend on another": lambda: ledger.spend("places", epsilon="0.1"),
        "open": lambda: ledger.open_table("new one", epsilon=1),
        "saved": lambda: ledger.mark_saved([entry], "a" * 64),
        "lost": lambda: ledger.mark_lost([entry], "stopped"),
    }


@pytest.mark.parametrize("change", [*CHANGES, *MIDDLE])
def test_what_was_changed_by_hand_is_refused_by_every_write(ledger: Ledger, change: str) -> None:
    entry = ledger.history("people")[0]
    rewrite(ledger, {**CHANGES, **MIDDLE}[change])
    before = content(ledger)
    for name, write in writes(ledger, entry).items():
        with pytest.raises(errors.LedgerTampered, match="changed by hand") as refused:
            write()
        assert refused.value.problems, name
        assert "sfumato ledger verify" in refused.value.next_step
        assert "forgets every spend since" in refused.value.next_step
    assert content(ledger) == before
    assert not ledger.verify()


@pytest.mark.parametrize("change", CHANGES)
def test_a_long_ledger_refuses_the_same(file: Path, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(file)
    monkeypatch.setattr(ledger_guard, "ROWS_REREAD", 2)
    ledger.require_sound()
    rewrite(ledger, CHANGES[change])
    with pytest.raises(errors.LedgerTampered):
        ledger.spend("people", epsilon="0.1")


@pytest.mark.parametrize("change", MIDDLE)
def test_an_edited_row_of_a_long_ledger_is_met_sooner_or_later(
    file: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each look at 3 of 9 rows meets the row with a chance of at least 1/6: 200 looks miss it with 1e-16."""
    monkeypatch.setattr(ledger_guard, "ROWS_REREAD", 3)
    rewrite(Ledger(file), MIDDLE[change])
    with pytest.raises(errors.LedgerTampered, match="row 4"):
        for _ in range(200):
            Ledger(file).check("people", epsilon="0.1")


def test_the_account_that_was_changed_is_named(ledger: Ledger) -> None:
    rewrite(ledger, CHANGES["sum"], CHANGES["cap of another"])
    with pytest.raises(errors.LedgerTampered) as refused:
        ledger.spend("people", epsilon="0.1")
    assert refused.value.problems == (
        "the account 'people' was changed: spent_epsilon is '0', but row 8 gives '0.5'",
        "the account 'places' was changed: cap_epsilon is '1000', but row 9 gives '2'",
    )


def test_a_last_row_sealed_anew_does_not_hide_a_refund(file: Path) -> None:
    """Account, totals, hashes and head agree with each other, but not with the events before them."""
    connection = sqlite3.connect(file)
    rows = [ChainRow(*row) for row in connection.execute(f"SELECT * FROM {CHAIN} ORDER BY sequence")]
    people, places = (json.loads(rows[place].body)["standing"] for place in (7, 8))
    people["spent_epsilon"] = "0.1"
    for row, standings in (
        (rows[7], {"people": people, "places": json.loads(rows[1].body)["standing"]}),
        (rows[8], {"people": people, "places": places}),
    ):
        body = json.loads(row.body)
        body |= {"accounts": AccountSnapshot(standings).digest, "standing": standings[row.table_name]}
        sealed = ChainRow.sealed(*row[:4], json.dumps(body, sort_keys=True, separators=(",", ":")), row.previous_hash)
        if row is rows[7]:
            rows[8] = rows[8]._replace(previous_hash=sealed.hash)
        else:
            sealed = ChainRow.sealed(*row[:4], sealed.body, rows[8].previous_hash)
        connection.execute(
            f"UPDATE {CHAIN} SET body = ?, previous_hash = ?, hash = ? WHERE sequence = ?",
            (sealed.body, sealed.previous_hash, sealed.hash, sealed.sequence),
        )
        connection.execute("UPDATE sfumato_ledger_head SET hash = ?", (sealed.hash,))
    connection.execute(f"UPDATE {ACCOUNTS} SET spent_epsilon = '0.1' WHERE name = 'people'")
    connection.commit()
    connection.close()
    with pytest.raises(errors.LedgerTampered, match="totals in the rows of 'people'"):
        Ledger(file).spend("people", epsilon="0.1")
    assert any("row 8 holds totals" in problem for problem in Ledger(file).verify().problems)


def test_rows_carry_terms_and_running_totals(file: Path) -> None:
    rows = Ledger(file).export()["entries"]
    totals = [row["body"]["standing"]["spent_epsilon"] for row in rows if row["table_name"] == "people"]
    assert totals == ["0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.5"]
    last = rows[-1]["body"]["standing"]
    assert last == {
        "cap_epsilon": "2",
        "cap_delta": "0",
        "adjacency": "add-remove",
        "composition": "basic",
        "unit": "row",
        "spent_epsilon": "0.05",
        "spent_delta": "0",
        "events": 1,
        "exposures": 0,
    }
    people = rows[-2]["body"]["standing"]
    lines = [
        json.dumps([name, standing], sort_keys=True, separators=(",", ":"))
        for name, standing in (("people", people), ("places", last))
    ]
    assert rows[-1]["body"]["accounts"] == hashlib.sha256("\n".join(lines).encode()).hexdigest()


def test_a_tight_account_reads_no_row_that_was_changed(ledger_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(ledger_url)
    ledger.open_table("people", epsilon=1, delta="1e-6", composition="tight")
    for _ in range(10):
        ledger.spend("people", epsilon="0.1", delta="1e-12")
    monkeypatch.setattr(ledger_guard, "ROWS_REREAD", 0)
    rewrite(ledger, f"UPDATE {CHAIN} SET body = replace(body, '\"0.1\"', '\"0.001\"') WHERE sequence = 4")
    with pytest.raises(errors.LedgerTampered, match="row 4"):
        ledger.spend("people", epsilon="0.1")
