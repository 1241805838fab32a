"""The ledger: what was released from each table, what it cost, and what its cap still allows.

The order is check, record, draw. ``spend`` checks the cap and records the events in one durable transaction; only
when it has returned may the caller draw noise. A crash after it loses budget, never privacy.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from sfumato.errors import LedgerTampered
from sfumato.privacy import ledger_chain as chain
from sfumato.privacy.event import Event
from sfumato.privacy.exact import Number, text
from sfumato.privacy.ledger_models import Account, ChainRow, Entry, Verification
from sfumato.privacy.ledger_rules import Request, admitted, other_terms, tight_total
from sfumato.privacy.ledger_store import Store, UnreadableLedgerError
from sfumato.privacy.ledger_verify import verify_connection

__all__ = ["Account", "Entry", "Ledger", "Verification"]


class Ledger:
    """Accounts with caps, and every event recorded on them, in SQLite or PostgreSQL.

    ``url`` is a path or ``sqlite:///path`` for one SQLite file, or ``postgresql://...``. The object holds no open
    connection: it can be pickled, shared between threads and carried through a fork.
    """

    def __init__(self, url: str | Path) -> None:
        self._store = Store(url)

    @classmethod
    def of(cls, ledger: Ledger | str | Path) -> Ledger:
        """Return the ledger itself, or the one at a path or URL."""
        return ledger if isinstance(ledger, Ledger) else cls(ledger)

    def __repr__(self) -> str:
        return f"Ledger({str(self._store)!r})"

    def open_table(self, name: str, *, epsilon: Number, delta: Number = 0, adjacency: str = "add-remove",
                   composition: str = "basic") -> Account:  # fmt: skip
        """Open an account with caps, making the ledger if there is none; the same caps again change nothing.

        ``composition="basic"`` adds up epsilon and delta exactly and holds even when each release is chosen after
        seeing the earlier ones. ``"tight"`` admits more by composing privacy losses at the cap's delta, and rests
        on the assumption that the parameters of all releases were fixed before the first of them was seen.
        """
        wanted = Account.opened(name, epsilon, delta, adjacency, composition)
        if not self._store.exists():
            self._store.create()
        with self._store.write() as connection:
            chain.read_head(connection, hold=True)  # first, so that two openings of one name cannot both find none
            present = chain.find_account(connection, name)
            if present is None:
                chain.append(connection, "open", name, [wanted.terms()])
                chain.add_account(connection, wanted)
        if present is not None and present.terms() != wanted.terms():
            raise other_terms(present, wanted)
        return present or wanted

    def check(self, name: str, events: Event | Sequence[Event] | None = None, *, epsilon: Number | None = None,
              delta: Number = 0) -> Account:  # fmt: skip
        """Return the account as it stands if the cap allows the events; otherwise raise. Records nothing."""
        request = Request.of(events, epsilon, delta)
        with self._store.read() as connection:
            account = chain.known_account(connection, name)
            admitted(account, request.events_for(account), lambda: _formal_events(connection, name))
            return _composed(connection, account)

    def spend(self, name: str, events: Event | Sequence[Event] | None = None, *, epsilon: Number | None = None,
              delta: Number = 0, note: str = "") -> tuple[Entry, ...]:  # fmt: skip
        """Check the cap and record the events in one transaction: all of them or none.

        Give ``epsilon`` (and ``delta``) instead of events for a release that was made elsewhere. Exposures are
        recorded and never counted. When this returns the record is on disk, and noise may be drawn.
        """
        request = Request.of(events, epsilon, delta, note)
        with self._store.write() as connection:
            account = chain.known_account(connection, name, hold=True)
            asked = request.events_for(account)
            after = admitted(account, asked, lambda: _formal_events(connection, name))
            added = chain.append(connection, "event", name, [event.to_json() for event in asked])
            chain.save_account(connection, after)
        return tuple(row.entry() for row in added)

    def history(self, name: str | None = None) -> tuple[Entry, ...]:
        """Return the recorded events of one table, or of all, oldest first."""
        with self._store.read() as connection:
            if name is not None:
                chain.known_account(connection, name)
            return tuple(row.entry() for row in chain.rows(connection, name, "event"))

    def accounts(self) -> tuple[Account, ...]:
        """Return all accounts by name."""
        with self._store.read() as connection:
            return tuple(_composed(connection, account) for account in chain.all_accounts(connection))

    def account(self, name: str) -> Account:
        """Return the account of one table."""
        with self._store.read() as connection:
            return _composed(connection, chain.known_account(connection, name))

    def tight(self, name: str, delta: Number | None = None, more: Sequence[Event] = ()) -> Fraction | None:
        """Return epsilon of all formal events together at ``delta`` (by default the cap's); none if unbounded.

        The smaller of the exact sum and of composed privacy losses, ``more`` events included. It rests on
        ``accountant.ASSUMPTION_FIXED``.
        """
        with self._store.read() as connection:
            account = chain.known_account(connection, name)
            past = _formal_events(connection, name)
        return tight_total([*past, *more], account.cap_delta if delta is None else delta)

    def head(self) -> str:
        """Return the hash of the last row; written down elsewhere, it lets ``verify`` find a shortened ledger."""
        with self._store.read() as connection:
            return chain.read_head(connection).hash

    def verify(self, expected_head: str | None = None) -> Verification:
        """Recompute every hash, cap and total, and name the rows that do not hold.

        ``expected_head`` is a head that was written down earlier, as bundles do: it must still be in the chain.
        """
        damage: list[str] = []
        try:
            with self._store.read() as connection:
                damage += self._store.damage(connection)
                return verify_connection(connection, expected_head, damage)
        except UnreadableLedgerError as error:
            return Verification(ok=False, problems=(*damage, error.headline))

    def export(self) -> dict[str, Any]:
        """Return accounts, all rows of the chain and the head in a form that JSON can hold."""
        with self._store.read() as connection:
            return {
                "accounts": [account.model_dump(mode="json") for account in chain.all_accounts(connection)],
                "entries": [_exported(row) for row in chain.rows(connection)],
                "head": chain.read_head(connection).hash,
            }


def _composed(connection: sa.Connection, account: Account) -> Account:
    """Fill in the total that counts where it is not the exact sum."""
    if account.composition == "basic":
        return account
    total = tight_total(_formal_events(connection, account.name), account.cap_delta)
    return account.model_copy(update={"tight_epsilon": None if total is None else text(total)})


def _formal_events(connection: sa.Connection, name: str) -> list[Event]:
    events = (row.entry().event for row in chain.rows(connection, name, "event"))
    return [event for event in events if event.is_formal]


def _exported(row: ChainRow) -> dict[str, Any]:
    try:
        return {**row._asdict(), "body": json.loads(row.body)}
    except (ValueError, TypeError) as error:
        raise LedgerTampered(f"row {row.sequence} of the ledger cannot be read", next_step=chain.VERIFY) from error
