"""A write believes the chain: a ledger that was changed by hand is refused, and nothing is added to it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfumato import errors
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.ledger import guard as ledger_guard
from sfumato.privacy.ledger.chain import ChainRow, Standings

EXPOSURE = Event(kind="heuristic", method="range-restriction", table="people", adjacency="add-remove")
CHAIN, ACCOUNTS = "sfumato_ledger_chain", "sfumato_ledger_accounts"

CHANGES = {
    "sum": f"UPDATE {ACCOUNTS} SET spent_epsilon = '0' WHERE name = 'people'",
    "sum of delta": f"UPDATE {ACCOUNTS} SET spent_delta = '1e-9' WHERE name = 'people'",
    "cap": f"UPDATE {ACCOUNTS} SET cap_epsilon = '1000' WHERE name = 'people'",
    "cap of another": f"UPDATE {ACCOUNTS} SET cap_epsilon = '1000' WHERE name = 'places'",
    "composition": f"UPDATE {ACCOUNTS} SET composition = 'tight' WHERE name = 'people'",
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
    "trigger": f"CREATE TRIGGER refund AFTER UPDATE ON {ACCOUNTS} BEGIN UPDATE {ACCOUNTS} SET spent_epsilon = '0'; END",
    "view": f"CREATE VIEW harmless AS SELECT * FROM {ACCOUNTS}",
}
MIDDLE = {
    "cost in a middle row": f"UPDATE {CHAIN} SET body = replace(body, '1/3', '1/9') WHERE sequence = 4",
    "time of a middle row": f"UPDATE {CHAIN} SET recorded_at = '2020' WHERE sequence = 4",
    "table of a middle row": f"UPDATE {CHAIN} SET table_name = 'places' WHERE sequence = 4",
    "a row of nothing but brackets": f"UPDATE {CHAIN} SET body = printf('%.*c', 100000, '[') WHERE sequence = 4",
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A ledger of nine rows, with two accounts."""
    path = tmp_path / "ledger.db"
    ledger = Ledger(path)
    ledger.open_table("people", epsilon=5, delta="1e-6")
    ledger.open_table("places", epsilon=2)
    for turn in range(5):
        ledger.spend("people", epsilon="1/3", note=f"turn {turn}")
    ledger.spend("people", EXPOSURE)
    ledger.spend("places", epsilon=0.5)
    return path


def rewrite(file: Path, *statements: str) -> None:
    connection = sqlite3.connect(file)
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def content(file: Path) -> str:
    connection = sqlite3.connect(file)
    dump = "\n".join(connection.iterdump())
    connection.close()
    return dump


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
def test_what_was_changed_by_hand_is_refused_by_every_write(file: Path, change: str) -> None:
    entry = Ledger(file).history("people")[0]
    rewrite(file, {**CHANGES, **MIDDLE}[change])
    before = content(file)
    for name, write in writes(Ledger(file), entry).items():
        with pytest.raises(errors.LedgerTampered, match="changed by hand") as refused:
            write()
        assert refused.value.problems, name
        assert "sfumato ledger verify" in refused.value.next_step
    assert content(file) == before
    assert not Ledger(file).verify()


@pytest.mark.parametrize("change", CHANGES)
def test_a_long_ledger_refuses_the_same(file: Path, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_guard, "REREAD", 2)
    Ledger(file).check("people", epsilon="0.1")
    rewrite(file, CHANGES[change])
    with pytest.raises(errors.LedgerTampered):
        Ledger(file).spend("people", epsilon="0.1")


@pytest.mark.parametrize("change", MIDDLE)
def test_an_edited_row_of_a_long_ledger_is_met_sooner_or_later(
    file: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each look at 3 of 9 rows meets the row with a chance of at least 1/6: 200 looks miss it with 1e-16."""
    monkeypatch.setattr(ledger_guard, "REREAD", 3)
    rewrite(file, MIDDLE[change])
    with pytest.raises(errors.LedgerTampered, match="row 4"):
        for _ in range(200):
            Ledger(file).check("people", epsilon="0.1")


def test_the_account_that_was_changed_is_named(file: Path) -> None:
    rewrite(file, CHANGES["sum"], CHANGES["cap of another"])
    with pytest.raises(errors.LedgerTampered) as refused:
        Ledger(file).spend("people", epsilon="0.1")
    assert refused.value.problems == (
        "the account 'people' was changed: spent_epsilon is '0', but row 8 gives '5/3'",
        "the account 'places' was changed: cap_epsilon is '1000', but row 9 gives '2'",
    )


def test_a_last_row_sealed_anew_does_not_hide_a_refund(file: Path) -> None:
    """Account, totals, hashes and head agree with each other, but not with the events before them."""
    connection = sqlite3.connect(file)
    rows = [ChainRow(*row) for row in connection.execute(f"SELECT * FROM {CHAIN} ORDER BY sequence")]
    people, places = (json.loads(rows[place].body)["standing"] for place in (7, 8))
    people["spent_epsilon"] = "1/3"
    for row, standings in (
        (rows[7], {"people": people, "places": json.loads(rows[1].body)["standing"]}),
        (rows[8], {"people": people, "places": places}),
    ):
        body = json.loads(row.body)
        body |= {"accounts": Standings(standings).digest, "standing": standings[row.table_name]}
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
    connection.execute(f"UPDATE {ACCOUNTS} SET spent_epsilon = '1/3' WHERE name = 'people'")
    connection.commit()
    connection.close()
    with pytest.raises(errors.LedgerTampered, match="totals in the rows of 'people'"):
        Ledger(file).spend("people", epsilon="0.1")
    assert any("row 8 holds totals" in problem for problem in Ledger(file).verify().problems)


def test_rows_carry_terms_and_running_totals(file: Path) -> None:
    rows = Ledger(file).export()["entries"]
    totals = [row["body"]["standing"]["spent_epsilon"] for row in rows if row["table_name"] == "people"]
    assert totals == ["0", "1/3", "2/3", "1", "4/3", "5/3", "5/3"]
    last = rows[-1]["body"]["standing"]
    assert last == {
        "cap_epsilon": "2",
        "cap_delta": "0",
        "adjacency": "add-remove",
        "composition": "basic",
        "unit": "row",
        "spent_epsilon": "0.5",
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


def test_a_tight_account_reads_no_row_that_was_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(tmp_path / "L")
    ledger.open_table("people", epsilon=1, delta="1e-6", composition="tight")
    for _ in range(10):
        ledger.spend("people", epsilon="0.1", delta="1e-12")
    monkeypatch.setattr(ledger_guard, "REREAD", 0)
    rewrite(tmp_path / "L", f"UPDATE {CHAIN} SET body = replace(body, '\"0.1\"', '\"0.001\"') WHERE sequence = 4")
    with pytest.raises(errors.LedgerTampered, match="row 4"):
        ledger.spend("people", epsilon="0.1")


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("statements", "words"),
    [
        ([CHANGES["sum"]], "spent_epsilon is '0'"),
        ([CHANGES["row removed"]], "rows were removed"),
        ([MIDDLE["cost in a middle row"]], "row 4 was changed"),
        (
            [
                "CREATE FUNCTION refund() RETURNS trigger LANGUAGE plpgsql AS "
                "$$ BEGIN NEW.spent_epsilon := '0'; RETURN NEW; END $$",
                f"CREATE TRIGGER refund BEFORE UPDATE ON {ACCOUNTS} FOR EACH ROW EXECUTE FUNCTION refund()",
            ],
            "trigger refund",
        ),
        ([f"CREATE RULE forget AS ON UPDATE TO {ACCOUNTS} DO INSTEAD NOTHING"], "rule forget"),
        ([f"ALTER TABLE {ACCOUNTS} ENABLE ROW LEVEL SECURITY"], "hides rows"),
        (
            [f"ALTER TABLE {ACCOUNTS} RENAME TO hidden", f"CREATE VIEW {ACCOUNTS} AS SELECT * FROM hidden"],
            "which is no table",
        ),
    ],
)
def test_the_same_on_postgresql(postgres_ledger_url: str, statements: list[str], words: str) -> None:
    ledger = Ledger(postgres_ledger_url)
    ledger.open_table("people", epsilon=5)
    for _ in range(4):
        ledger.spend("people", epsilon="1/3")
    with ledger._store.write() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    with pytest.raises(errors.LedgerTampered) as refused:
        ledger.spend("people", epsilon="1/3")
    assert any(words in problem for problem in refused.value.problems), refused.value
    assert not ledger.verify()
