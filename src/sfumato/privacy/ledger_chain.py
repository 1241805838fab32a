"""Reading and appending the rows of a ledger, inside a transaction that the store has opened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa
from pydantic import ValidationError

from sfumato.errors import LedgerError, LedgerTampered, PlanError
from sfumato.privacy.ledger_models import Account, ChainRow
from sfumato.privacy.ledger_store import ACCOUNTS, CHAIN, FORMAT, HEAD

VERIFY = "run 'sfumato ledger verify' to see which rows were changed, and restore the ledger from a copy"
_Query = TypeVar("_Query", bound="sa.Select[*tuple[Any, ...]]")
_COLUMNS = [CHAIN.c[name] for name in ChainRow._fields]


class Head(NamedTuple):
    """The end of the chain as the ledger remembers it."""

    sequence: int
    hash: str


def read_head(connection: sa.Connection, *, hold: bool = False) -> Head:
    """Return the end of the chain; ``hold`` keeps others from appending until the transaction ends."""
    found = connection.execute(_held(sa.select(HEAD)) if hold else sa.select(HEAD)).mappings().all()
    if len(found) != 1:
        raise LedgerTampered(f"the ledger has {len(found)} heads instead of one", next_step=VERIFY)
    head = found[0]
    if head["format"] != FORMAT:
        hint = f"this release of sfumato reads format {FORMAT}; use the one that wrote it"
        raise LedgerError(f"the ledger is of format {head['format']!a}", next_step=hint)
    return Head(head["sequence"], head["hash"])


def find_account(connection: sa.Connection, name: str, *, hold: bool = False) -> Account | None:
    """Return the account of a table if it has one; ``hold`` keeps others from spending on it."""
    query = sa.select(ACCOUNTS).where(ACCOUNTS.c.name == name)
    row = connection.execute(_held(query) if hold else query).mappings().one_or_none()
    return None if row is None else _read_account(row)


def known_account(connection: sa.Connection, name: str, *, hold: bool = False) -> Account:
    """Return the account of a table that must have one; ``hold`` keeps others from spending on it."""
    account = find_account(connection, name, hold=hold)
    if account is None:
        names = connection.scalars(sa.select(ACCOUNTS.c.name).order_by(ACCOUNTS.c.name))
        known = ", ".join(repr(each) for each in names) or "none"
        hint = "open it with 'sfumato ledger init' or Ledger.open_table(name, epsilon=...)"
        raise LedgerError(f"table {name!r} has no account in this ledger; known tables: {known}", next_step=hint)
    return account


def all_accounts(connection: sa.Connection) -> tuple[Account, ...]:
    """Return all accounts by name."""
    found = connection.execute(sa.select(ACCOUNTS).order_by(ACCOUNTS.c.name)).mappings()
    return tuple(_read_account(row) for row in found)


def _held(query: _Query) -> _Query:
    # SQLite ignores this: there the whole transaction already holds the file.
    return query.with_for_update()


def _read_account(row: sa.RowMapping) -> Account:
    try:
        account = Account.model_validate({**row})
        _ = account.caps, account.spent
    except (ValidationError, PlanError) as error:
        raise LedgerTampered(f"the account {row['name']!a} cannot be read: {error}", next_step=VERIFY) from error
    return account


def save_account(connection: sa.Connection, account: Account) -> None:
    """Write the running totals of an account that is held."""
    totals = account.model_dump(include={"unit", "spent_epsilon", "spent_delta", "events", "exposures"})
    connection.execute(ACCOUNTS.update().where(ACCOUNTS.c.name == account.name).values(**totals))


def add_account(connection: sa.Connection, account: Account) -> None:
    """Write a new account."""
    connection.execute(ACCOUNTS.insert().values(account.model_dump(include=set(ACCOUNTS.c.keys()))))


def rows(connection: sa.Connection, table: str | None = None, kind: str | None = None) -> Iterator[ChainRow]:
    """Yield the rows of the chain in order, without holding them all in memory."""
    query = sa.select(*_COLUMNS).order_by(CHAIN.c.sequence)
    if table is not None:
        query = query.where(CHAIN.c.table_name == table)
    if kind is not None:
        query = query.where(CHAIN.c.kind == kind)
    result = connection.execution_options(yield_per=1000).execute(query)
    return (ChainRow(*row) for row in result)


def append(connection: sa.Connection, kind: str, table: str, bodies: Sequence[str]) -> tuple[ChainRow, ...]:
    """Seal the bodies as new rows at the end of the chain and move the head."""
    head = read_head(connection, hold=True)
    _refuse_broken_end(connection, head)
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    added: list[ChainRow] = []
    sequence, digest = head
    for body in bodies:
        added.append(ChainRow.sealed(sequence + 1, kind, table, now, body, digest))
        sequence, digest = sequence + 1, added[-1].hash
    connection.execute(CHAIN.insert(), [row._asdict() for row in added])
    connection.execute(HEAD.update().values(sequence=sequence, hash=digest))
    return tuple(added)


def _refuse_broken_end(connection: sa.Connection, head: Head) -> None:
    """Never build on a ledger whose end was cut off or changed: that would bury the evidence."""
    query = sa.select(*_COLUMNS).order_by(CHAIN.c.sequence.desc()).limit(1)
    found = connection.execute(query).one_or_none()
    last = None if found is None else ChainRow(*found)
    intact = head.sequence == 0 if last is None else last.holds and (last.sequence, last.hash) == head
    if not intact:
        raise LedgerTampered(f"row {head.sequence}, the end of the ledger, was changed or removed", next_step=VERIFY)
