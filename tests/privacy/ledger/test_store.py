"""Where a ledger lies: files and servers that are missing, wrong, lazy or unreachable."""

from __future__ import annotations

import pickle
import sqlite3
import subprocess
import sys
import traceback
from pathlib import Path

import pytest
import sqlalchemy as sa

from sfumato import errors
from sfumato.privacy.ledger import Ledger, store
from sfumato.privacy.ledger.address import shown_address
from sfumato.privacy.ledger.store import UnreadableLedgerError


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


def test_a_home_that_does_not_exist_and_a_nul_are_named() -> None:
    with pytest.raises(errors.LedgerError, match="home of a user who does not exist"):
        Ledger("~nouser/x")
    for address in ("a\0b", "sqlite:///a\0b", "postgresql://h/a\0b", Path("a\0b")):
        with pytest.raises(errors.LedgerError, match="NUL"):
            Ledger(address)


SECRET = "s3cret-word"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        (f"postgresql://ann:{SECRET}@db:5433/l", "postgresql://ann@db:5433/l"),
        (f"POSTGRESQL://ann:{SECRET}@db/l", "postgresql://ann@db/l"),
        (f"PostgreSQL+psycopg://ann:{SECRET}@db/l", "postgresql://ann@db/l"),
        (f"postgres://ann@db/l?password={SECRET}&sslmode=require", "postgres://ann@db/l"),
        (f"postgresql://ann@db/l?PASSWORD={SECRET}&sslpassword={SECRET}", "postgresql://ann@db/l"),
        (f"postgresql://ann@db/l?passfile=/home/ann/{SECRET}&options=-cx={SECRET}", "postgresql://ann@db/l"),
        (f"postgresql://ann@db/l?pass%77ord={SECRET}", "postgresql://ann@db/l"),
        (f"postgresql://ann:a%40{SECRET}%2F@[::1]:5/l", "postgresql://ann@[::1]:5/l"),
        (f"postgresql://ann:{SECRET}@/l?host=/run/pg&password={SECRET}", "postgresql://ann@/l?host=%2Frun%2Fpg"),
        (f"postgresql://ann@/l?host=/run/pg%26password={SECRET}", "postgresql://ann@/l"),
    ],
)
def test_an_address_is_shown_without_its_secrets(address: str, shown: str) -> None:
    assert shown_address(address) == shown
    assert SECRET not in repr(Ledger(address))
    assert shown_address(shown) == shown


@pytest.mark.parametrize("address", [f"postgresql://ann:p@{SECRET}@db/l", f"postgresql://ann:p@db/{SECRET}@db/l"])
def test_an_address_that_could_be_misread_is_refused_and_not_shown(address: str) -> None:
    for read in (Ledger, shown_address):
        with pytest.raises(errors.LedgerError, match="more than one '@'") as refused:
            read(address)
        assert SECRET not in str(refused.value)


def test_an_unreadable_address_is_not_shown() -> None:
    with pytest.raises(errors.LedgerError) as refused:
        Ledger(f"postgresql://ann:{SECRET}@db:port/l")
    assert SECRET not in "".join(traceback.format_exception(refused.value))


def test_a_server_that_does_not_answer_is_a_named_error_without_the_password(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    ledger = Ledger(f"postgresql://me:{SECRET}@/x?host={tmp_path}&sslpassword={SECRET}&application_name={SECRET}")
    for call in (ledger.accounts, ledger.verify, lambda: ledger.open_table("people", epsilon=1)):
        with pytest.raises(errors.LedgerError, match="cannot be used now") as refused:
            call()
        assert SECRET not in str(refused.value)
    assert SECRET not in repr(ledger)


@pytest.mark.parametrize(
    "rest", [f"{'a' * 70}.example/x", "a..b/x", "h:99999/x", f"h/x?sslmode={SECRET}", f"h/x?pasword={SECRET}"]
)
def test_what_the_driver_refuses_is_a_named_error(rest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg")
    monkeypatch.setenv("PGHOSTADDR", "127.0.0.1")  # no name is looked up
    ledger = Ledger(f"postgresql://{rest}")
    for call in (ledger.accounts, lambda: ledger.open_table("people", epsilon=1)):
        with pytest.raises(errors.LedgerError) as refused:
            call()
        assert SECRET not in str(refused.value)


def test_postgresql_without_its_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(errors.MissingExtra, match=r"pip install 'sfumato\[postgres\]'"):
        Ledger("postgresql://host/x").accounts()


def test_a_ledger_can_be_pickled_after_use(ledger: Ledger) -> None:
    again = pickle.loads(pickle.dumps(ledger))
    again.spend("people", epsilon="0.3")
    assert ledger.account("people").spent_epsilon == "0.3"


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
def test_a_lazy_postgresql_server_is_made_to_wait_for_its_disk(postgres_database_url: str) -> None:
    name = sa.make_url(postgres_database_url).database
    ledger = Ledger(postgres_database_url)
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
    assert not any(word in str(refused.value) for word in ("damage", "copy", "restore"))


def test_a_statement_that_the_database_refuses_is_not_called_damage(ledger: Ledger) -> None:
    with pytest.raises(errors.LedgerError, match="refused a statement") as refused, ledger._store.write() as connection:
        connection.exec_driver_sql("INSERT INTO nowhere (")
    words = str(refused.value).lower()
    assert not isinstance(refused.value, UnreadableLedgerError)
    assert not any(each in words for each in ("damage", "copy", "restore", "cannot be read"))
    assert "nothing was recorded" in words
    assert ledger.verify()


def test_waiting_for_the_file_ends_with_a_named_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(tmp_path / "L")
    ledger.open_table("people", epsilon=1)
    monkeypatch.setattr(store, "WAIT_SECONDS", 0.05)
    with ledger._store.write(), pytest.raises(errors.LedgerError, match="cannot be used now: database is locked"):
        Ledger(tmp_path / "L").spend("people", epsilon=1)
    assert ledger.spend("people", epsilon=1)


def test_pauses_between_tries_do_not_grow_so_that_newcomers_have_no_advantage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, pauses = Ledger(tmp_path / "L"), []
    ledger.open_table("people", epsilon=1)
    other = sqlite3.connect(tmp_path / "L", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 200:
            other.rollback()

    monkeypatch.setattr(store.time, "sleep", sleep)
    assert ledger.spend("people", epsilon=1)
    other.close()
    assert len(pauses) == 200 and max(pauses) <= store.LONGEST_PAUSE
    assert 0.6 < sum(pauses[:100]) / sum(pauses[100:]) < 1.7  # of 100 uniform pauses each: six standard errors


def test_importing_the_ledger_stays_light() -> None:
    heavy = "{'numpy', 'opendp', 'dp_accounting', 'psycopg', 'duckdb', 'ibis'}"
    code = f"import sys, sfumato.privacy.ledger; print(sorted({heavy} & set(sys.modules)))"
    path = ":".join(sys.path)
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": path}, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
