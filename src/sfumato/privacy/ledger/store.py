"""Ledger storage: durable transactions on SQLite or PostgreSQL.

Both give the same three promises. A write holds the account's row from the first look at it to the commit, so two
processes can never spend the same budget. A commit is on disk before it returns. Readers see one moment.
"""

from __future__ import annotations

import os
import random
import re
import sqlite3
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import NullPool
from sqlalchemy.schema import CreateIndex, CreateTable

from sfumato.errors import LedgerError, MissingExtra
from sfumato.privacy.ledger.address import place_of_ledger, shown_url, without_secrets

FORMAT = 2
GENESIS = "0" * 64
"""What the first row of a ledger follows."""
WAIT_SECONDS = 60.0
LONGEST_PAUSE = 0.02
_CREATION_LOCK = 0x5F0A70  # any number does, as long as every process uses the same
_INIT = "make a ledger with 'sfumato ledger init' or Ledger(...).open_table(name, epsilon=...)"
_DURABLE = "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'"
_metadata = sa.MetaData()
_number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _words(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=False) for name in names]


CHAIN = sa.Table(
    "sfumato_ledger_chain",
    _metadata,
    sa.Column("sequence", _number, primary_key=True, autoincrement=False),
    *_words("kind", "table_name", "recorded_at", "body", "previous_hash", "hash"),
)
sa.Index("sfumato_ledger_chain_by_table", CHAIN.c.table_name, CHAIN.c.sequence)

ACCOUNTS = sa.Table(
    "sfumato_ledger_accounts",
    _metadata,
    sa.Column("name", sa.Text, primary_key=True),
    *_words("cap_epsilon", "cap_delta", "adjacency", "composition", "unit", "spent_epsilon", "spent_delta"),
    sa.Column("events", _number, nullable=False),
    sa.Column("exposures", _number, nullable=False),
)
HEAD = sa.Table(
    "sfumato_ledger_head",
    _metadata,
    sa.Column("format", _number, primary_key=True, autoincrement=False),
    sa.Column("sequence", _number, nullable=False),
    *_words("hash"),
)


class UnreadableLedgerError(LedgerError):
    """The file or database is no ledger, or what makes it one can no longer be read."""


class Store:
    """Opens transactions on a ledger; picklable, and safe to carry through a fork."""

    def __init__(self, url: str | Path) -> None:
        self.path, self.url = place_of_ledger(url)
        self._engines: dict[int, sa.Engine] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "url": self.url, "_engines": {}}

    def __str__(self) -> str:
        return str(self.path) if self.path else shown_url(self.url)

    @contextmanager
    def read(self) -> Generator[sa.Connection, None, None]:
        """Open a transaction that sees one moment of the ledger and changes nothing."""
        self._refuse_missing()
        snapshot = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
        with self._named_errors(), self._engine().connect() as connection:
            connection.exec_driver_sql("BEGIN" if self.path else snapshot)
            yield connection

    @contextmanager
    def write(self) -> Generator[sa.Connection, None, None]:
        """Open a transaction that is on disk when the block ends, and leaves no trace if the block fails."""
        self._refuse_missing()
        with self._named_errors(), self._engine().connect() as connection:
            self._begin_write(connection)
            yield connection
            connection.commit()

    def create(self) -> None:
        """Make the tables where there are none yet; any number of processes may do so at once."""
        with self._named_errors():
            if self.path:
                self._refuse_other_database(self.path)
                _make_private(self.path)
                _switch_to_write_ahead_log(self.path)
            with self._engine().connect() as connection:
                self._begin_write(connection)
                if not self.path:
                    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_CREATION_LOCK)))
                _metadata.create_all(connection)
                if not connection.scalar(sa.select(sa.func.count()).select_from(HEAD)):
                    connection.execute(HEAD.insert().values(format=FORMAT, sequence=0, hash=GENESIS))
                connection.commit()

    def exists(self) -> bool:
        """Whether the ledger's tables are there."""
        if self.path and not _is_there(self.path):
            return False
        with self._named_errors(), self._engine().connect() as connection:
            return sa.inspect(connection).has_table(HEAD.name)

    def damage(self, connection: sa.Connection) -> list[str]:
        """Return the damage that the database itself reports (SQLite only)."""
        if not self.path:
            return []
        lines = [str(row[0]) for row in connection.exec_driver_sql("PRAGMA integrity_check")]
        return [] if lines == ["ok"] else [f"the file is damaged: {' '.join(line.split())}" for line in lines]

    def _begin_write(self, connection: sa.Connection) -> None:
        if self.path:
            _begin_immediate(connection)
            return
        # Row locks show the newest committed row only at this level, whatever the server's default is.
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
        # A server may be set to answer before the record is on disk; noise must not be drawn on such an answer.
        connection.exec_driver_sql(_DURABLE)

    def _engine(self) -> sa.Engine:
        # One engine per process and no pool: a connection that crosses a fork corrupts both sides.
        engine = self._engines.get(os.getpid())
        if engine is None:
            engine = self._engines[os.getpid()] = self._new_engine()
        return engine

    def _new_engine(self) -> sa.Engine:
        path = self.path
        if path:
            return sa.create_engine("sqlite://", creator=lambda: _connect(path), poolclass=NullPool)
        try:
            return sa.create_engine(self.url, poolclass=NullPool)
        except ImportError as error:
            hint = "pip install 'sfumato[postgres]'"
            raise MissingExtra("a ledger in PostgreSQL needs the psycopg driver", next_step=hint) from error

    def _refuse_missing(self) -> None:
        if self.path and not _is_there(self.path):
            raise LedgerError(f"there is no ledger at {self.path}", next_step=_INIT)

    def _refuse_other_database(self, path: Path) -> None:
        if not _is_there(path):
            return
        with self._engine().connect() as connection:
            tables = sa.inspect(connection).get_table_names()
        # One look only: between two of them another process may have made the ledger.
        if tables and HEAD.name not in tables:
            headline = f"{path} is a database with other tables in it, not a ledger"
            raise UnreadableLedgerError(headline, tables, "give the ledger a file of its own")

    @contextmanager
    def _named_errors(self) -> Generator[None, None, None]:
        try:
            yield
        except (
            SQLAlchemyError,
            sqlite3.Error,
            UnicodeError,
        ) as error:  # the last: damaged text, or a host that is none
            reason = without_secrets(" ".join(str(getattr(error, "orig", None) or error).split()), self.url)
            if _is_passing(error):
                hint = "check that it can be reached and written to, then try again; nothing was released"
                raise LedgerError(f"the ledger {self} cannot be used now: {reason}", next_step=hint) from error
            if _is_unreadable(error):
                hint = "check the path; 'sfumato ledger verify' names what is wrong with a ledger"
                raise UnreadableLedgerError(f"{self} cannot be read as a ledger: {reason}", next_step=hint) from error
            hint = "nothing was recorded; report this, with the output of 'sfumato doctor'"
            raise LedgerError(f"the database refused a statement of the ledger {self}: {reason}", (), hint) from error


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a folder that may not be entered: opening the file will say so
        return True


def _connect(path: Path, mode: str = "rw") -> sqlite3.Connection:
    uri = f"{path.as_uri()}?mode={mode}"
    connection = sqlite3.connect(uri, timeout=WAIT_SECONDS, isolation_level=None, uri=True, check_same_thread=False)
    # Damaged text must come back as it is, so that verify can name its row.
    connection.text_factory = _text_as_it_is
    try:
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA fullfsync=ON")
    except (sqlite3.Error, UnicodeDecodeError):
        connection.close()
        raise
    return connection


def _make_private(path: Path) -> None:
    """Make an empty file that only its owner can read: notes stand in it. SQLite's own files beside it follow."""
    with suppress(OSError):  # it is there already, or cannot be made: opening it will say so
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _text_as_it_is(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _switch_to_write_ahead_log(path: Path) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        connection = _connect(path, "rwc")
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            # SQLite does not wait here as it does for other locks: another process is making the same file.
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        finally:
            connection.close()


_PASSING = frozenset(
    {
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
    }
)
_SHORT_FILE = sqlite3.SQLITE_IOERR_SHORT_READ


_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_IOERR})
_NO_LEDGER = re.compile("no such|malformed|unsupported file format|has no column")
_NO_LEDGER_STATES = ("42P01", "42703", "XX001", "XX002")
"""PostgreSQL: no such table, no such column, corrupted data, corrupted index."""


def _is_passing(error: Exception) -> bool:
    """Tell whether a ledger merely cannot be reached or written now."""
    cause = getattr(error, "orig", None) or error
    if isinstance(cause, sqlite3.Error):
        code = _code(cause)
        return code & 0xFF in _PASSING and code != _SHORT_FILE
    if isinstance(cause, UnicodeError):
        return not isinstance(cause, UnicodeDecodeError)
    return isinstance(error, OperationalError | InterfaceError)


def _is_unreadable(error: Exception) -> bool:
    """Tell a file or database that holds no readable ledger from one that refuses a statement."""
    cause = getattr(error, "orig", None) or error
    if isinstance(cause, sqlite3.Error):
        return _code(cause) & 0xFF in _DAMAGED or _NO_LEDGER.search(str(cause)) is not None
    return isinstance(cause, UnicodeError) or getattr(cause, "sqlstate", None) in _NO_LEDGER_STATES


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)


def _begin_immediate(connection: sa.Connection) -> None:
    """Take the file's lock before anything is read, with the same chance for every process that waits.

    SQLite waits longer between its tries the longer it has waited, so that newcomers come first.
    """
    deadline = time.monotonic() + WAIT_SECONDS
    connection.exec_driver_sql("PRAGMA busy_timeout = 0")
    while True:
        try:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            break
        except OperationalError as error:
            if "locked" not in str(error.orig) or time.monotonic() > deadline:
                raise
            time.sleep(random.uniform(0, LONGEST_PAUSE))
    connection.exec_driver_sql(f"PRAGMA busy_timeout = {int(1000 * WAIT_SECONDS)}")


TABLES = (CHAIN, ACCOUNTS, HEAD)
_SQLITE = sa.text(
    r"""
SELECT type, name, sql FROM (SELECT * FROM sqlite_master UNION ALL SELECT 'temporary ' || type, name, tbl_name,
    rootpage, sql FROM sqlite_temp_master)
WHERE type NOT IN ('table', 'index')
    OR lower(name) LIKE 'sfumato\_ledger\_%' ESCAPE '\' OR lower(tbl_name) LIKE 'sfumato\_ledger\_%' ESCAPE '\'
"""
)
_POSTGRES = """
WITH due (relname, attname, type) AS (VALUES {columns}),
keys (relname, definition) AS (VALUES {keys}),
ours AS (
    SELECT oid, relname, relkind, relrowsecurity, relpersistence, relispartition
    FROM pg_class WHERE oid IN (SELECT to_regclass(relname) FROM keys)
)
SELECT 'trigger ' || tgname || ' on ' || relname FROM pg_trigger JOIN ours ON ours.oid = tgrelid WHERE NOT tgisinternal
UNION ALL SELECT 'rule ' || rulename || ' on ' || relname FROM pg_rewrite JOIN ours ON ours.oid = ev_class
UNION ALL SELECT relname || ', which is no table or hides rows' FROM ours WHERE relkind <> 'r' OR relrowsecurity
UNION ALL SELECT relname || ', which is temporary or unlogged' FROM ours WHERE relpersistence <> 'p'
UNION ALL SELECT relname || ', which is part of another table or has parts' FROM ours
    WHERE relispartition OR EXISTS (SELECT FROM pg_inherits WHERE ours.oid IN (inhparent, inhrelid))
UNION ALL SELECT 'a second ' || c.relname || ' in schema ' || c.relnamespace::regnamespace FROM pg_class c
    JOIN ours ON ours.relname = c.relname AND ours.oid <> c.oid
    WHERE c.relnamespace::regnamespace::name = ANY (current_schemas(true))
UNION ALL SELECT 'column ' || attname || ' of ' || relname || ', which is defined otherwise' FROM ours
    JOIN pg_attribute ON attrelid = ours.oid AND attnum > 0 AND NOT attisdropped LEFT JOIN due USING (relname, attname)
    WHERE due.type IS DISTINCT FROM format_type(atttypid, atttypmod) OR NOT attnotnull OR attgenerated <> ''
        OR attidentity <> '' OR atthasdef OR attcollation NOT IN (0, 'pg_catalog."default"'::regcollation)
UNION ALL SELECT 'constraint ' || conname || ' on ' || relname FROM ours JOIN pg_constraint c ON conrelid = ours.oid
    LEFT JOIN keys USING (relname)
    WHERE contype <> 'n' AND (contype <> 'p' OR pg_get_constraintdef(c.oid) <> definition)
UNION ALL SELECT 'index ' || indexrelid::regclass || ' on ' || relname FROM ours JOIN pg_index ON indrelid = ours.oid
    WHERE NOT indisprimary AND (indisunique OR indexprs IS NOT NULL OR indpred IS NOT NULL)
"""


def definition_problems(connection: sa.Connection) -> list[str]:
    """Return the differences between the ledger's tables and those it creates."""
    if connection.dialect.name != "sqlite":
        objects = sorted(str(row[0]) for row in connection.execute(_postgres_query()))
        return [f"the database holds something that is not the ledger's: {each!a}" for each in objects]
    problems: list[str] = []
    for kind, name, text in connection.execute(_SQLITE):
        if kind not in ("table", "index") or name not in _sqlite_definitions():
            if text is not None or not str(name).startswith("sqlite_autoindex_"):
                problems.append(f"the database holds something that is not the ledger's: {f'{kind} {name}'!a}")
        elif _one_line(text) != _sqlite_definitions()[name]:
            problems.append(f"the definition of the {kind} {name} was changed: {_one_line(text)[:300]!a}")
    return sorted(problems)


@cache
def _sqlite_definitions() -> dict[str, str]:
    dialect = sqlite.dialect()
    tables = {table.name: _one_line(CreateTable(table).compile(dialect=dialect)) for table in TABLES}
    indexes = {str(each.name): _one_line(CreateIndex(each).compile(dialect=dialect)) for each in CHAIN.indexes}
    return {**tables, **indexes}


@cache
def _postgres_query() -> sa.TextClause:
    types = postgresql.dialect()
    columns = [(table.name, each.name, each.type.compile(types).lower()) for table in TABLES for each in table.columns]
    keys = [(table.name, f"PRIMARY KEY ({table.primary_key.columns.keys()[0]})") for table in TABLES]
    return sa.text(_POSTGRES.format(columns=_values(columns), keys=_values(keys)).replace(":", r"\:"))


def _values(rows: list[tuple[str, str, str]] | list[tuple[str, str]]) -> str:
    return ", ".join(f"({', '.join(repr(each) for each in row)})" for row in rows)


def _one_line(text: object) -> str:
    return " ".join(str(text).split())
