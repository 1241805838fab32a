"""The ledger's hash chain: row format, hashing, reading and appending.

The content of a row is canonical JSON. From format 2 on it holds, beside what happened, where the row's account stands
after it ("standing": terms and running totals) and one hash of where all accounts stand ("accounts"), so that the last
row alone says what the table of accounts must hold. Rows are read and appended inside a transaction that the store has
opened.

A spend is marked as saved in a bundle or lost. An event that was recorded may come to nothing, because the run was
interrupted or the disk was full. Its cost stays spent, and the mark says so; an event without any mark is one of which
no bundle is known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa
from pydantic import ValidationError

from sfumato.errors import AccountingError, LedgerError, LedgerTampered, MissingEntryError, PlanError
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.canonical_json import canonical_json, sha256_hex
from sfumato.privacy.ledger.account import Account, Entry, Outcome
from sfumato.privacy.ledger.store import ACCOUNTS, CHAIN, FORMAT, HEAD

VERIFY = "run 'sfumato ledger verify' to see what was changed; an older copy put in its place forgets every spend since"
_Query = TypeVar("_Query", bound="sa.Select[*tuple[Any, ...]]")
UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, RecursionError, PlanError, AccountingError, LedgerError)
"""What reading a damaged row may raise; nesting without end is one of them."""


class AccountSnapshot:
    """Where all accounts stand, and the hash of that."""

    def __init__(self, standings: Mapping[str, Mapping[str, Any]]) -> None:
        self._lines = {name: canonical_json([name, standing]) for name, standing in standings.items()}

    def set(self, name: str, standing: Mapping[str, Any]) -> None:
        """Change where one account stands, or add it."""
        self._lines[name] = canonical_json([name, standing])

    @property
    def digest(self) -> str:
        """The hash of all standings, by name."""
        lines = "\n".join(self._lines[name] for name in sorted(self._lines))
        return sha256_hex(lines)


class ChainRow(NamedTuple):
    """One row of the chain as it lies in the database, where a damaged file may hold any type."""

    sequence: int
    kind: str
    table_name: str
    recorded_at: str
    body: str
    previous_hash: str
    hash: str

    @classmethod
    def sealed(cls, sequence: int, kind: str, table_name: str, recorded_at: str, body: str, previous: str) -> ChainRow:
        """Return the row with the hash that binds it to all rows before it."""
        content = [previous, sequence, kind, table_name, recorded_at, body]
        return cls(sequence, kind, table_name, recorded_at, body, previous, sha256_hex(json.dumps(content)))

    @property
    def holds(self) -> bool:
        """Whether the stored hash is that of the stored content."""
        try:
            return self == ChainRow.sealed(*self[:6])
        except TypeError:  # a column that came back as raw bytes
            return False

    def content(self) -> dict[str, Any]:
        """Return what the row holds; raises one of ``UNREADABLE`` for a damaged one."""
        content = json.loads(self.body)
        if not isinstance(content, dict):
            raise ValueError(f"{type(content).__name__} instead of an object")
        return content  # pyright: ignore[reportUnknownVariableType]

    def entry(self) -> Entry:
        """Return the row as an entry."""
        try:
            content = self.content()
            event = Event.from_json(content.get("event", content))  # format 1 held nothing but the event
        except UNREADABLE as error:
            reason = " ".join(str(error).split())
            raise LedgerError(f"row {self.sequence} of the ledger holds no event that can be read: {reason}") from error
        return Entry(
            sequence=self.sequence,
            table=self.table_name,
            event=event,
            recorded_at=self.recorded_at,
            previous_hash=self.previous_hash,
            hash=self.hash,
        )


_COLUMNS = [CHAIN.c[name] for name in ChainRow._fields]


class ChainHead(NamedTuple):
    """The end of the chain as the ledger remembers it."""

    sequence: int
    hash: str
    format: int = FORMAT


class PendingRow(NamedTuple):
    """A row to be appended: its kind and body, and the account after it."""

    kind: str
    account: Account | None
    content: Mapping[str, Any] = {}


def read_head(connection: sa.Connection, *, hold: bool = False, formats: Sequence[int] = (FORMAT,)) -> ChainHead:
    """Return the end of the chain; ``hold`` keeps all others from writing until the transaction ends."""
    query = sa.select(HEAD.c.sequence, HEAD.c.hash, HEAD.c.format)
    # SQLite ignores this: there the whole transaction already holds the file.
    heads = connection.execute(query.with_for_update() if hold else query).all()
    if len(heads) != 1:
        raise LedgerTampered(f"the ledger has {len(heads)} heads instead of one", next_step=VERIFY)
    head = ChainHead(*heads[0])
    if head.format not in formats:
        hint = f"this release of sfumato reads format {FORMAT}; use the one that wrote it"
        if head.format == 1:
            hint = "run 'sfumato ledger upgrade LEDGER': it checks the whole ledger and goes on in the new format"
        raise LedgerError(f"the ledger is of format {head.format!a}", next_step=hint)
    return head


def stored_accounts(connection: sa.Connection) -> list[dict[str, Any]]:
    """Return the table of accounts as it lies there."""
    return [dict(row) for row in connection.execute(sa.select(ACCOUNTS).order_by(ACCOUNTS.c.name)).mappings()]


def all_accounts(connection: sa.Connection) -> dict[str, Account]:
    """Return all accounts by name."""
    return {row["name"]: read_account(row) for row in stored_accounts(connection)}


def known_account(accounts: Mapping[str, Account], name: str) -> Account:
    """Return the account of a table that must have one."""
    if name not in accounts:
        known = ", ".join(repr(each) for each in accounts) or "none"
        hint = "open it with 'sfumato ledger init LEDGER --table NAME' or Ledger.open_table(name, epsilon=...)"
        raise LedgerError(f"table {name!r} has no account in this ledger; known tables: {known}", next_step=hint)
    return accounts[name]


def read_account(row: Mapping[str, Any]) -> Account:
    """Return one stored account; one that cannot be read was changed."""
    try:
        account = Account.model_validate({**row})
        _ = account.caps, account.spent
    except (ValidationError, PlanError) as error:
        raise LedgerTampered(f"the account {row['name']!a} cannot be read: {error}", next_step=VERIFY) from error
    return account


def rows(connection: sa.Connection, table: str | None = None, kinds: Sequence[str] = ()) -> Iterator[ChainRow]:
    """Yield the rows of the chain in order, without holding them all in memory."""
    query = sa.select(*_COLUMNS).order_by(CHAIN.c.sequence)
    if table is not None:
        query = query.where(CHAIN.c.table_name == table)
    if kinds:
        query = query.where(CHAIN.c.kind.in_(kinds))
    # On the statement: options of the connection would turn every later statement into a cursor of PostgreSQL.
    return (ChainRow(*row) for row in connection.execute(query.execution_options(yield_per=1000)))


def rows_between(connection: sa.Connection, first: int, last: int) -> list[ChainRow]:
    """Return the rows with these numbers, in order."""
    query = sa.select(*_COLUMNS).where(CHAIN.c.sequence.between(first, last)).order_by(CHAIN.c.sequence)
    return [ChainRow(*row) for row in connection.execute(query)]


def last_row(connection: sa.Connection, table: str | None = None) -> ChainRow | None:
    """Return the last row of the chain, or of one table's account."""
    query = sa.select(*_COLUMNS).order_by(CHAIN.c.sequence.desc()).limit(1)
    if table is not None:
        query = query.where(CHAIN.c.table_name == table)
    row = connection.execute(query).one_or_none()
    return None if row is None else ChainRow(*row)


def append(
    connection: sa.Connection,
    accounts: Mapping[str, Account],
    records: Sequence[PendingRow],
    head: ChainHead | None = None,
) -> tuple[ChainRow, ...]:
    """Seal the records as new rows at the end of the chain, move the head and write the accounts, and read all back.

    ``accounts`` is all of them before the records.
    """
    sequence, last, _ = head or read_head(connection, hold=True)
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    standings = AccountSnapshot({name: account.standing() for name, account in accounts.items()})
    added: list[ChainRow] = []
    for record in records:
        body = _body(record, standings)
        name = record.account.name if record.account else ""
        added.append(ChainRow.sealed(sequence + 1, record.kind, name, now, body, last))
        sequence, last = sequence + 1, added[-1].hash
    after = {**accounts, **{record.account.name: record.account for record in records if record.account}}
    connection.execute(CHAIN.insert(), [row._asdict() for row in added])
    connection.execute(HEAD.update().values(sequence=sequence, hash=last, format=FORMAT))
    for name, account in after.items():
        if name not in accounts:
            connection.execute(ACCOUNTS.insert().values(_stored(account)))
        elif account != accounts[name]:
            connection.execute(ACCOUNTS.update().where(ACCOUNTS.c.name == name).values(_stored(account)))
    _require_kept(connection, added, after)
    return tuple(added)


def _stored(account: Account) -> dict[str, Any]:
    return account.model_dump(include=set(ACCOUNTS.c.keys()))


def _require_kept(connection: sa.Connection, added: Sequence[ChainRow], accounts: Mapping[str, Account]) -> None:
    """Read back what was written, inside the transaction: a database can be set up to drop it without a word."""
    first, last = added[0], added[-1]
    problems: list[str] = []
    if rows_between(connection, first.sequence, last.sequence) != list(added):
        problems.append(f"rows {first.sequence} to {last.sequence} do not read as they were written")
    if read_head(connection) != ChainHead(last.sequence, last.hash):
        problems.append(f"the end of the ledger is not row {last.sequence}")
    kept = {row["name"]: row for row in stored_accounts(connection)}
    problems += [
        f"the account {name!a} does not read as it was written"
        for name in sorted(kept.keys() | accounts.keys())
        if name not in accounts or kept.get(name) != _stored(accounts[name])
    ]
    if problems:
        raise LedgerTampered(
            "the database does not keep what the ledger writes; nothing was recorded", problems, VERIFY
        )


def _body(record: PendingRow, standings: AccountSnapshot) -> str:
    sealed: dict[str, Any] = {}
    if record.account is not None:
        sealed["standing"] = record.account.standing()
        standings.set(record.account.name, sealed["standing"])
    return canonical_json({**record.content, **sealed, "accounts": standings.digest})


OUTCOME_KINDS = ("saved", "lost")
UNKNOWN = "no bundle known"
LONGEST_REASON = 500


def saved_outcome(sha256: str) -> dict[str, str]:
    """Return the mark of a bundle that is in place, by the SHA-256 of its release.json."""
    if not isinstance(sha256, str) or not re.fullmatch("[0-9a-f]{64}", sha256):  # pyright: ignore[reportUnnecessaryIsInstance]
        hint = "give the hexadecimal digest of release.json"
        raise LedgerError(f"a saved bundle is marked by the SHA-256 of its release.json, found {sha256!r}", (), hint)
    return {"sha256": sha256}


def lost_outcome(reason: str) -> dict[str, str]:
    """Return the mark of a spend that came to no bundle."""
    words = " ".join(str(reason).split())[:LONGEST_REASON]
    return {"reason": words or "not said"}


def outcome_rows(
    connection: sa.Connection,
    accounts: Mapping[str, Account],
    entries: Sequence[Entry],
    kind: str,
    mark: dict[str, str],
) -> list[PendingRow]:
    """Return one row for each entry, after checking that the ledger holds it."""
    records: list[PendingRow] = []
    for entry in entries:
        rows = rows_between(connection, entry.sequence, entry.sequence)
        if not rows or rows[0].kind != "event" or (rows[0].hash, rows[0].table_name) != (entry.hash, entry.table):
            hint = "find out whether the ledger was replaced or changed since; publish nothing that it does not count"
            headline = f"entry {entry.sequence} of table {entry.table!r} is not in this ledger: its cost is not counted"
            raise MissingEntryError(headline, next_step=hint)
        content = {"mark": {"entry": entry.sequence, "hash": entry.hash, **mark}}
        records.append(PendingRow(kind, known_account(accounts, entry.table), content))
    return records


def read_outcome(row: ChainRow) -> dict[str, Any]:
    """Return the mark that a row holds; raises one of ``UNREADABLE`` for a damaged one."""
    mark = row.content()["mark"]
    _ = {**mark}, int(mark["entry"]), str(mark["sha256" if row.kind == "saved" else "reason"])
    return mark


def outcomes_of(marks: Iterable[ChainRow]) -> dict[int, Outcome]:
    """Return the outcome of each marked event; a saved bundle stays saved."""
    outcomes: dict[int, Outcome] = {}
    for row in marks:
        try:
            mark = read_outcome(row)
        except UNREADABLE as error:
            raise LedgerTampered(f"row {row.sequence} of the ledger cannot be read", next_step=VERIFY) from error
        before = outcomes.get(mark["entry"])
        bundles = before.bundles if before else ()
        if row.kind == "saved":
            sha256: str = mark["sha256"]
            bundles = (*(each for each in bundles if each != sha256), sha256)
            outcomes[mark["entry"]] = Outcome(kind="saved", sha256=sha256, recorded_at=row.recorded_at, bundles=bundles)
        elif not bundles:
            outcomes[mark["entry"]] = Outcome(kind="lost", reason=mark["reason"], recorded_at=row.recorded_at)
    return outcomes
