"""Where a ledger lies: files and servers that are missing, wrong, lazy or unreachable."""

from __future__ import annotations

import pickle
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from sfumato import errors
from sfumato.privacy.ledger import Ledger


@pytest.fixture
def ledger(ledger_url: str) -> Ledger:
    opened = Ledger(ledger_url)
    opened.open_table("people", epsilon=5)
    return opened


def test_a_missing_file_is_made_only_by_opening_a_table(tmp_path: Path) -> None:
    path = tmp_path / "L"
    ledger = Ledger(path)
    calls = [ledger.accounts, ledger.history, ledger.head, ledger.verify, ledger.export]
    for call in [*calls, lambda: ledger.check("people", epsilon=1), lambda: ledger.spend("people", epsilon=1)]:
        with pytest.raises(errors.LedgerError, match="sfumato ledger init"):
            call()
    assert not path.exists()
    Ledger(f"sqlite:///{path}").open_table("people", epsilon=1)
    assert ledger.account("people").cap_epsilon == "1"


def test_an_unknown_table_is_answered_with_the_known_ones(ledger: Ledger) -> None:
    for call in (ledger.account, ledger.history, ledger.tight, lambda name: ledger.spend(name, epsilon=1)):
        with pytest.raises(errors.LedgerError, match="known tables: 'people'"):
            call("poeple")


def test_files_that_are_no_ledger_are_refused_and_kept(tmp_path: Path) -> None:
    text, other = tmp_path / "text", tmp_path / "other.db"
    text.write_bytes(b"age,sex\n" * 1000)
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    for path in (text, other):
        before = path.read_bytes()
        for call in (Ledger(path).accounts, lambda p=path: Ledger(p).open_table("people", epsilon=1)):
            with pytest.raises(errors.LedgerError):
                call()
        assert path.read_bytes() == before
        assert not Ledger(path).verify()


def test_a_folder_or_a_path_into_nowhere_is_a_named_error(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing" / "L"):
        with pytest.raises(errors.LedgerError, match="cannot be used now"):
            Ledger(path).open_table("people", epsilon=1)


@pytest.mark.parametrize("url", ["", ":memory:", "sqlite://", "sqlite:///:memory:", "mysql://host/x", "://", "a://b:c"])
def test_addresses_that_cannot_keep_a_ledger_are_refused(url: str) -> None:
    with pytest.raises(errors.LedgerError):
        Ledger(url)


def test_a_server_that_does_not_answer_is_a_named_error_without_the_password(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    ledger = Ledger(f"postgresql://me:secret@/x?host={tmp_path}")
    for call in (ledger.accounts, ledger.verify, lambda: ledger.open_table("people", epsilon=1)):
        with pytest.raises(errors.LedgerError, match="cannot be used now") as refused:
            call()
        assert "secret" not in str(refused.value)
    assert "secret" not in repr(ledger)


def test_postgresql_without_its_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(errors.MissingExtra, match=r"pip install 'sfumato\[postgres\]'"):
        Ledger("postgresql://host/x").accounts()


def test_a_ledger_can_be_pickled_after_use(ledger: Ledger) -> None:
    again = pickle.loads(pickle.dumps(ledger))
    again.spend("people", epsilon=1)
    assert ledger.account("people").spent_epsilon == "1"


def test_the_file_stays_where_it_was_when_the_folder_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = Ledger("L")
    ledger.open_table("people", epsilon=1)
    monkeypatch.chdir(tmp_path.parent)
    assert ledger.spend("people", epsilon=1)
    assert (tmp_path / "L").exists()


def test_a_record_is_on_disk_before_spend_returns(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "L")
    ledger.open_table("people", epsilon=1)
    with ledger._store.write() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


@pytest.mark.postgres
def test_a_lazy_postgresql_server_is_made_to_wait_for_its_disk(postgres_ledger_url: str) -> None:
    name = sa.make_url(postgres_ledger_url).database
    ledger = Ledger(postgres_ledger_url)
    ledger.open_table("people", epsilon=1)
    with ledger._store.write() as connection:
        connection.exec_driver_sql(f"ALTER DATABASE {name} SET synchronous_commit = 'off'")
        connection.exec_driver_sql(f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'")
    with ledger._store.read() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "off"
    with ledger._store.write() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
        assert connection.exec_driver_sql("SHOW transaction_isolation").scalar() == "read committed"


def test_a_new_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "L")
    ledger.open_table("people", epsilon=1)
    with ledger._store.write():
        found = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert found == {"L": 0o600, "L-wal": 0o600, "L-shm": 0o600}


@pytest.mark.parametrize(
    ("code", "words", "passing"),
    [
        (sqlite3.SQLITE_IOERR, "disk I/O error", True),
        (sqlite3.SQLITE_IOERR_SHMSIZE, "disk I/O error", True),
        (sqlite3.SQLITE_FULL, "database or disk is full", True),
        (sqlite3.SQLITE_NOMEM, "out of memory", True),
        (sqlite3.SQLITE_BUSY, "database is locked", True),
        (sqlite3.SQLITE_CORRUPT, "database disk image is malformed", False),
        (sqlite3.SQLITE_IOERR_SHORT_READ, "disk I/O error", False),
        (sqlite3.SQLITE_NOTADB, "file is not a database", False),
    ],
)
def test_a_passing_failure_is_not_called_damage(tmp_path: Path, code: int, words: str, passing: bool) -> None:
    ledger = Ledger(tmp_path / "L")
    ledger.open_table("people", epsilon=1)
    error = sqlite3.OperationalError(words)
    error.sqlite_errorcode = code
    with pytest.raises(errors.LedgerError) as refused, ledger._store.write():
        raise error
    assert words in refused.value.headline
    assert ("cannot be used now" in refused.value.headline) == passing
    assert "init" not in str(refused.value)


def test_importing_the_ledger_stays_light() -> None:
    heavy = "{'numpy', 'opendp', 'dp_accounting', 'psycopg', 'duckdb', 'ibis'}"
    code = f"import sys, sfumato.privacy.ledger; print(sorted({heavy} & set(sys.modules)))"
    path = ":".join(sys.path)
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": path}, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
