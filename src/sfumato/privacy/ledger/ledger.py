"""The ledger: check a cap, record events in one transaction, report what is left.

The order is check, record, draw. ``spend`` checks the cap and records the events in one durable transaction; only
when it has returned may the caller draw noise. A crash after it loses budget, never privacy.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from sfumato.argument_errors import checked_parameters
from sfumato.errors import LedgerError, LedgerTampered
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.exact import Number, fraction_to_text
from sfumato.privacy.ledger import chain, pre_write_check
from sfumato.privacy.ledger.account import Account, Entry, Outcome, Verification
from sfumato.privacy.ledger.admission import SpendRequest, admit, composed_total, terms_differ_error, used_totals
from sfumato.privacy.ledger.chain import UNREADABLE, ChainRow, PendingRow
from sfumato.privacy.ledger.store import Store, UnreadableLedgerError
from sfumato.privacy.ledger.verify import upgrade_format, verify_connection
from sfumato.reprs import ReprMixin

if TYPE_CHECKING:
    from sfumato.privacy.accounting.privacy_curve import PrivacyCurve

__all__ = ["Account", "Entry", "Ledger", "Outcome", "Verification"]


@checked_parameters
class Ledger(ReprMixin):
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

    @property
    def path(self) -> Path | None:
        """The file of the ledger; None where a server holds it."""
        return self._store.path

    def _line(self) -> str:
        return repr(str(self._store))

    _headers = ("table", "epsilon spent", "of", "left", "delta spent", "of", "exposures")

    def _lines(self) -> list[tuple[str, ...]]:
        try:
            accounts = self.accounts()
        except LedgerError as error:
            return [(error.headline,)]
        return [
            (a.name, a.spent_epsilon, a.cap_epsilon, a.left_epsilon, a.spent_delta, a.cap_delta, str(a.exposures))
            for a in accounts
        ]

    def open_table(
        self,
        name: str,
        *,
        epsilon: Number,
        delta: Number = 0,
        adjacency: str = "add-remove",
        composition: str = "basic",
    ) -> Account:
        """Open an account with caps, making the ledger if there is none; the same caps again change nothing.

        ``composition="basic"`` adds up epsilon and delta exactly and holds even when each release is chosen after
        seeing the earlier ones. ``"tight"`` admits more by composing privacy losses at the cap's delta, and rests
        on the assumption that the parameters of all releases were fixed before the first of them was seen. ``"filter"``
        fixes totals of mu^2 (Gaussian noise) and rho (choices) that are (epsilon, delta)-DP together, and admits
        what fits: nearly what "tight" admits of AIM and MST, and valid for releases that are chosen one after the
        other. ``"filter 1/3"`` says which share is for choices (a tenth by default: AIM; MST wants a third).
        """
        wanted = Account.opened(name, epsilon, delta, adjacency, composition)
        if not self._store.exists():
            self._store.create()
        with self._store.write() as connection:
            accounts = pre_write_check.checked_accounts(connection, hold=True)
            present = accounts.get(name)
            if present is None:
                chain.append(connection, accounts, [PendingRow("open", wanted)])
        if present is not None and present.terms != wanted.terms:
            raise terms_differ_error(present, wanted)
        return present or wanted

    def check(
        self,
        name: str,
        events: Event | Sequence[Event] | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number = 0,
    ) -> Account:
        """Return the account as it stands if the cap allows the events; otherwise raise. Records nothing."""
        request = SpendRequest.of(events, epsilon, delta)
        with self._store.read() as connection:
            account = chain.known_account(pre_write_check.checked_accounts(connection), name)
            admit(account, request.events_for(account), lambda: _formal_events(connection, account))
            return _with_composed_total(connection, account)

    def spend(
        self,
        name: str,
        events: Event | Sequence[Event] | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number = 0,
        note: str = "",
    ) -> tuple[Entry, ...]:
        """Check the cap and record the events in one transaction: all of them or none.

        Give ``epsilon`` (and ``delta``) instead of events for a release that was made elsewhere. Exposures are
        recorded and never counted. When this returns the record is on disk, and noise may be drawn. A ledger that
        was changed by hand, and an event that states less than its parts cost, are refused.
        """
        request = SpendRequest.of(events, epsilon, delta, note)
        with self._store.write() as connection:
            accounts = pre_write_check.checked_accounts(connection, hold=True)
            account = chain.known_account(accounts, name)
            asked = request.events_for(account)
            admit(account, asked, lambda: _formal_events(connection, account))
            return tuple(row.entry() for row in chain.append(connection, accounts, _records(account, asked)))

    def mark_saved(self, entries: Sequence[Entry], sha256: str) -> None:
        """Record that a bundle came of these entries, by the SHA-256 of its release.json. Costs nothing."""
        self._mark(entries, "saved", chain.saved_outcome(sha256))

    def mark_lost(self, entries: Sequence[Entry], reason: str) -> None:
        """Record that these entries led to no bundle, and why; their cost stays spent."""
        self._mark(entries, "lost", chain.lost_outcome(reason))

    def _mark(self, entries: Sequence[Entry], kind: str, mark: dict[str, str]) -> None:
        if not entries:
            return
        with self._store.write() as connection:
            accounts = pre_write_check.checked_accounts(connection, hold=True)
            chain.append(connection, accounts, chain.outcome_rows(connection, accounts, entries, kind, mark))

    def outcomes(self, name: str | None = None) -> dict[int, Outcome]:
        """Return the outcomes of the events of one table, or of all, by the number of the event's row.

        An event that is not among them is one of which no bundle is known: its run was killed, or goes on.
        """
        with self._reading(name) as (connection, _):
            return chain.outcomes_of(chain.rows(connection, name, chain.OUTCOME_KINDS))

    def history(self, name: str | None = None) -> tuple[Entry, ...]:
        """Return the recorded events of one table, or of all, oldest first."""
        with self._reading(name) as (connection, _):
            return tuple(row.entry() for row in chain.rows(connection, name, ("event",)))

    def accounts(self) -> tuple[Account, ...]:
        """Return all accounts by name."""
        with self._reading() as (connection, accounts):
            return tuple(_with_composed_total(connection, account) for account in accounts.values())

    def account(self, name: str) -> Account:
        """Return the account of one table."""
        with self._reading(name) as (connection, accounts):
            return _with_composed_total(connection, accounts[name])

    @contextmanager
    def _reading(self, name: str | None = None) -> Generator[tuple[sa.Connection, Mapping[str, Account]], None, None]:
        with self._store.read() as connection:
            chain.read_head(connection)
            accounts = chain.all_accounts(connection)
            if name is not None:
                chain.known_account(accounts, name)
            yield connection, accounts

    def tight(self, name: str, delta: Number | None = None, more: Sequence[Event] = ()) -> Fraction | None:
        """Return epsilon of all formal events together at ``delta`` (by default the cap's); none if unbounded.

        The smaller of the exact sum and of composed privacy losses, ``more`` events included. It rests on
        ``accountant.ASSUMPTION_FIXED``.
        """
        with self._reading(name) as (connection, accounts):
            account = accounts[name]
            past = _formal_events(connection, account)
        return composed_total([*past, *more], account.cap_delta if delta is None else delta)

    def curve(self, name: str, more: Sequence[Event] = ()) -> PrivacyCurve:
        """Return the privacy curve of all formal releases of one table together, ``more`` events included.

        It rests on ``accountant.ASSUMPTION_FIXED``, or on totals that were fixed when the account was opened: then
        the caps bound it whatever was chosen, and the curve is that of what was used.
        """
        from sfumato.privacy.accounting.privacy_curve import privacy_curve

        with self._reading(name) as (connection, accounts):
            past = _formal_events(connection, accounts[name])
        return privacy_curve([*past, *more])

    def require_sound(self) -> None:
        """Raise LedgerTampered where the next write would: cheap, and less than ``verify``."""
        with self._store.read() as connection:
            pre_write_check.checked_accounts(connection)

    def upgrade(self) -> Verification:
        """Check a ledger of format 1 as a whole, and go on in the format that seals totals in every row."""
        with self._store.write() as connection:
            return upgrade_format(connection, self._store.damage(connection))

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
        """Return accounts, chain, outcomes and head as plain data for JSON."""
        with self._reading() as (connection, accounts):
            rows = [_exported(row) for row in chain.rows(connection)]
            outcomes = chain.outcomes_of(chain.rows(connection, kinds=chain.OUTCOME_KINDS))
            spends = [row["sequence"] for row in rows if row["kind"] == "event"]
            return {
                "accounts": [account.model_dump(mode="json") for account in accounts.values()],
                "entries": rows,
                "outcomes": {str(each): str(outcomes.get(each, chain.UNKNOWN)) for each in spends},
                "head": chain.read_head(connection).hash,
            }


def _records(account: Account, events: Sequence[Event]) -> list[PendingRow]:
    records: list[PendingRow] = []
    for event in events:
        account = account.plus([event])
        records.append(PendingRow("event", account, {"event": event.model_dump(mode="json")}))
    return records


def _with_composed_total(connection: sa.Connection, account: Account) -> Account:
    """Fill in the total that counts where it is not the exact sum."""
    if account.composition == "basic":
        return account
    events = _formal_events(connection, account)
    total = composed_total(events, account.cap_delta)
    known = {
        "tight_epsilon": None if total is None else fraction_to_text(total),
        "totals": used_totals(account, events),
    }
    return account.model_copy(update=known)


def _formal_events(connection: sa.Connection, account: Account) -> list[Event]:
    """Return the account's formal events, each from a row that has its hash."""
    rows = list(chain.rows(connection, account.name, ("event",)))
    changed = [f"row {row.sequence} was changed: its content does not have its hash" for row in rows if not row.holds]
    events = [event for event in (row.entry().event for row in rows) if event.is_formal]
    if changed or len(events) != account.events:
        raise LedgerTampered(f"the events of table {account.name!r} were changed by hand", changed, chain.VERIFY)
    return events


def _exported(row: ChainRow) -> dict[str, Any]:
    try:
        return {**row._asdict(), "body": row.content()}
    except UNREADABLE as error:
        raise LedgerTampered(f"row {row.sequence} of the ledger cannot be read", next_step=chain.VERIFY) from error
