"""The ledger's verbs: what they say of units, notes and outcomes, and which ledgers they refuse."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from sfumato import AIM, Histogram, Ledger, plan
from sfumato.example import codebook, households
from sfumato.privacy.accounting.event import Event

UNIT = "the value of y in one row"
COLUMN = Event(
    kind="declared", method="m", table="people", adjacency="replace", unit=UNIT, epsilon="1", note="x as it is"
)
EXPOSURE = Event(kind="heuristic", method="published", table="people", adjacency="replace", note="the paper's form")


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    monkeypatch.chdir(tmp_path)
    ledger = Ledger("L")
    ledger.open_table("people", epsilon=5, adjacency="replace")
    return ledger


def rewrite(statement: str) -> None:
    connection = sqlite3.connect("L")
    with connection:
        connection.execute(statement)
    connection.close()


def test_a_new_account_has_a_delta_with_which_the_default_method_works(tmp_path, monkeypatch, schema, sfumato_cli):
    monkeypatch.chdir(tmp_path)
    schema.save("s.toml")
    code, out, _ = sfumato_cli("ledger", "init", "L", "--schema", "s.toml", "--epsilon", "3")
    assert code == 0
    assert "cap epsilon 3, delta 1e-06" in out
    assert "the cap on delta is the default, 1e-6" in out
    assert plan(schema, AIM(epsilon=1), ledger="L").left_after == "2"
    code, out, _ = sfumato_cli("ledger", "init", "M", "--schema", "s.toml", "--delta", "0")
    assert "delta 0" in out
    assert "default" not in out


def test_show_tells_unit_note_and_what_came_of_it(ledger, sfumato_cli):
    first = ledger.spend("people", COLUMN)
    second = ledger.spend("people", [COLUMN, EXPOSURE])
    ledger.mark_saved(first, "a" * 64)
    ledger.mark_lost(second[:1], "interrupted")
    code, out, _ = sfumato_cli("ledger", "show", "L")
    assert code == 0
    assert f"people: replace, unit: {UNIT}, basic composition" in out
    assert f"2: unit: {UNIT}; bundle saved (sha256 {'a' * 64}); note: x as it is" in out
    assert f"3: unit: {UNIT}; no bundle came of it: interrupted; note: x as it is" in out
    assert "4: unit: row; no bundle known; note: the paper's form" in out
    entries = json.loads(sfumato_cli("ledger", "show", "L", "--json")[1])["entries"]
    assert [entry["outcome"] and entry["outcome"]["kind"] for entry in entries] == ["saved", "lost", None]
    told = json.loads(sfumato_cli("ledger", "export", "L")[1])["outcomes"]
    assert told == {
        "2": f"bundle saved (sha256 {'a' * 64})",
        "3": "no bundle came of it: interrupted",
        "4": "no bundle known",
    }


@pytest.mark.parametrize("verb", ["show", "export"])
@pytest.mark.parametrize("number", [3, 99, -1])
def test_ledgers_of_another_format_are_refused(ledger, sfumato_cli, verb, number):
    rewrite(f"UPDATE sfumato_ledger_head SET format = {number}")
    code, out, err = sfumato_cli("ledger", verb, "L")
    assert (code, out) == (2, "")
    assert f"the ledger is of format {number}" in err
    assert "init" not in err


@pytest.mark.parametrize("json_too", [(), ("--json",)])
def test_show_does_not_end_well_on_sums_that_were_changed(ledger, sfumato_cli, json_too):
    ledger.spend("people", COLUMN)
    rewrite("UPDATE sfumato_ledger_accounts SET spent_epsilon = '0'")
    code, out, err = sfumato_cli("ledger", "show", "L", *json_too)
    assert code == 2
    assert "LedgerTampered" in err
    if json_too:
        assert json.loads(out)["error"] == "LedgerTampered"


def test_an_old_ledger_is_upgraded(tmp_path, monkeypatch, sfumato_cli):
    monkeypatch.chdir(tmp_path)
    connection = sqlite3.connect("L")
    dump = Path(__file__).parents[1] / "privacy" / "ledger" / "format_1.sql"
    connection.executescript(dump.read_text(encoding="utf-8"))
    connection.close()
    code, _, err = sfumato_cli("ledger", "show", "L")
    assert code == 2
    assert "sfumato ledger upgrade" in err
    code, out, _ = sfumato_cli("ledger", "upgrade", "L")
    assert code == 0
    assert "the ledger holds: 8 rows" in out
    assert sfumato_cli("ledger", "show", "L")[0] == 0


def test_a_clock_that_was_set_back_is_a_note_and_no_failure(ledger, sfumato_cli, monkeypatch):
    from sfumato.privacy.ledger import chain as ledger_chain

    class Back(ledger_chain.datetime):
        @classmethod
        def now(cls, tz=None):
            return cls(1999, 1, 1, tzinfo=tz)

    monkeypatch.setattr(ledger_chain, "datetime", Back)
    ledger.spend("people", COLUMN)
    code, out, _ = sfumato_cli("ledger", "verify", "L")
    assert code == 0
    assert "note: row 2 says 1999-01-01T00:00:00, before row 1" in out
    assert "the ledger holds" in out


def test_an_export_is_for_its_owner_alone(ledger, sfumato_cli):
    assert sfumato_cli("ledger", "export", "L", "--out", "e.json")[0] == 0
    assert Path("e.json").stat().st_mode & 0o777 == 0o600
    assert json.loads(Path("e.json").read_text())["head"] == ledger.head()


def test_fixed_totals_are_told(sfumato_cli, tmp_path):
    place = str(tmp_path / "ledger.db")
    caps = ("--table", "t", "--epsilon", "1.01", "--delta", "1e-9", "--composition", "filter")
    _, said, _ = sfumato_cli("ledger", "init", place, *caps)
    assert "filter 1/10 composition: mu^2 0 of 0.0291 and rho 0 of 0.001616 used" in " ".join(said.split())
    Ledger(place).spend("t", epsilon="0.01")
    _, shown, _ = sfumato_cli("ledger", "show", place)
    told = "rho 5e-05 of 0.001616 used; holds for releases chosen one after the other"
    assert told in " ".join(shown.split())


def test_a_plan_tells_the_risk(sfumato_cli, schema, tmp_path):
    schema.save(tmp_path / "s.toml")
    line = ("plan", "--schema", str(tmp_path / "s.toml"), "--method", "aim", "--epsilon", "1", "--delta", "1e-9")
    code, said, error = sfumato_cli(*line)
    assert code == 0, error
    assert "an attacker's advantage (hits minus false alarms) is at most 0.074" in " ".join(said.split())
    assert json.loads(sfumato_cli(*line, "--json")[1])["advantage"] <= 0.074


def test_a_release_that_its_ledger_does_not_count_ends_with_exit_code_2(sfumato_cli, tmp_path, monkeypatch):
    """The ledger is replaced by an older copy while the release runs."""
    monkeypatch.chdir(tmp_path)
    households(rows=300, seed=5).to_pandas().to_csv("people.csv", index=False)
    codebook().save("schema.toml")
    assert sfumato_cli("ledger", "init", "L", "--table", "households", "--epsilon", "2")[0] == 0
    shutil.copy("L", "older")
    real = Histogram.run

    def run(*arguments, **named):
        shutil.copy("older", "L")
        return real(*arguments, **named)

    monkeypatch.setattr(Histogram, "run", run)
    code, _, err = sfumato_cli(
        *("release", "people.csv", "--schema", "schema.toml", "--method", "histogram", "--set", "column=sex"),
        *("--epsilon", "1", "--ledger", "L", "--out", "bundle"),
    )
    assert code == 2
    assert "MissingEntryError" in err and "is not in this ledger" in err and "do not publish it" in err


def test_addresses_are_shown_without_their_secrets(sfumato_cli, tmp_path):
    address = f"POSTGRESQL://ann:s3cret@/l?host={tmp_path}&password=s3cret&sslpassword=s3cret"
    for verb in ("show", "verify", "export", "upgrade"):
        code, out, err = sfumato_cli("ledger", verb, address)
        assert code == 2 and "s3cret" not in out + err
    out, err = sfumato_cli("synthesize", "nothing.csv", "--ledger", address, "--open-ledger", "1", "--out", "b")[1:]
    assert "s3cret" not in out + err
