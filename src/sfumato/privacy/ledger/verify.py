"""Verify a whole ledger: replay the chain and compare hashes, totals and caps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from sfumato.errors import LedgerError, LedgerTampered
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.accounting.event_kinds import understated_cost
from sfumato.privacy.ledger.account import Account, Verification
from sfumato.privacy.ledger.admission import event_mismatches, exceeded_totals
from sfumato.privacy.ledger.chain import (
    OUTCOME_KINDS,
    UNREADABLE,
    AccountSnapshot,
    ChainHead,
    ChainRow,
    PendingRow,
    all_accounts,
    append,
    read_head,
    read_outcome,
    rows,
    stored_accounts,
)
from sfumato.privacy.ledger.store import ACCOUNTS, CHAIN, FORMAT, GENESIS, definition_problems

ONLY_SOUND = "only a ledger that holds can be upgraded; nothing was changed, and docs/ledger.md says how to go on"


class ChainReplay:
    """Walks the chain from its first row and rebuilds all accounts.

    Rows up to ``old`` were written in format 1, which sealed no totals and did not compare events with their parts.
    """

    def __init__(self, expected_head: str | None, problems: Sequence[str], old: int = 0) -> None:
        self.problems = list(problems)
        self.warnings: list[str] = []
        self.accounts: dict[str, Account] = {}
        self.opened_in: dict[str, int] = {}
        self.entries = 0
        self._old = old
        self._events: dict[int, tuple[str, str]] = {}
        self._formal: dict[str, list[Event]] = {}
        self._standings = AccountSnapshot({})
        self._last = ChainHead(0, GENESIS)
        self._last_time = ""
        self._sought = expected_head
        self._found = expected_head in (None, GENESIS)

    def follow(self, row: ChainRow) -> None:
        """Check the next row against the chain so far and apply it to its account."""
        self.entries += 1
        if not isinstance(row.sequence, int):  # pyright: ignore[reportUnnecessaryIsInstance]  # a damaged file
            self.problems.append(f"row {self._last.sequence + 1} has no number: found {row.sequence!a}")
            row = row._replace(sequence=self._last.sequence + 1, hash="")
        if row.sequence != self._last.sequence + 1:
            self.problems.append(f"row {self._last.sequence + 1} is missing: the next row is {row.sequence!a}")
        elif row.previous_hash != self._last.hash:
            self.problems.append(f"row {row.sequence} does not follow row {self._last.sequence}")
        if not row.holds:
            self.problems.append(f"row {row.sequence!a} was changed: its content does not have its hash")
        self._found = self._found or row.hash == self._sought
        self._look_at_time(row)
        self._last = ChainHead(row.sequence, row.hash)
        self._apply(row)

    def _look_at_time(self, row: ChainRow) -> None:
        time = str(row.recorded_at)
        if time < self._last_time:
            before = f"row {self._last.sequence} ({self._last_time[:19]})"
            self.warnings.append(f"row {row.sequence} says {time[:19]}, before {before}: a clock was set back")
        self._last_time = time

    def _apply(self, row: ChainRow) -> None:
        try:
            content = row.content()
            self._record(row, content)
            if row.sequence > self._old:
                self._compare_totals(row, content)
        except UNREADABLE as error:
            self.problems.append(f"row {row.sequence} cannot be read: {_one_line(error)}")

    def _record(self, row: ChainRow, content: dict[str, Any]) -> None:
        if row.kind == "open":
            self._open(row, content)
        elif row.kind == "event":
            self._count(row)
        elif row.kind in OUTCOME_KINDS:
            self._mark(row)
        elif not (row.kind == "upgrade" and row.sequence == self._old + 1):
            self.problems.append(f"row {row.sequence} is of no known kind: {row.kind!a}")

    def _open(self, row: ChainRow, content: dict[str, Any]) -> None:
        if row.table_name in self.accounts:
            self.problems.append(f"row {row.sequence} opens {row.table_name!a} a second time")
            return
        terms = content if row.sequence <= self._old else content["standing"]
        self._set(Account.from_terms(row.table_name, terms))
        self.opened_in[row.table_name] = row.sequence

    def _set(self, account: Account) -> None:
        self.accounts[account.name] = account
        self._standings.set(account.name, account.standing())

    def _count(self, row: ChainRow) -> None:
        account, event = self.accounts.get(row.table_name), row.entry().event
        self._events[row.sequence] = (row.hash, row.table_name)
        if account is None:
            self.problems.append(f"row {row.sequence} spends on {row.table_name!a}, which was never opened")
            return
        self._look_at_cost(row, account, event)
        after = account.plus([event])
        self._set(after)
        self._look_at_totals(row, after, event)
        if after.composition == "basic" and account.within_caps and not after.within_caps:
            self.problems.append(f"row {row.sequence} spends more than the cap of {row.table_name!a} allowed")

    def _look_at_totals(self, row: ChainRow, account: Account, event: Event) -> None:
        """Totals that were fixed at the opening must have held at every row."""
        if account.fixed is None or not event.is_formal:
            return
        events = self._formal.setdefault(account.name, [])
        events.append(event)
        exceeded = exceeded_totals(account, events)
        self.problems += [f"row {row.sequence} exceeds the totals of {row.table_name!a}: {each}" for each in exceeded]

    def _look_at_cost(self, row: ChainRow, account: Account, event: Event) -> None:
        self.problems += [f"row {row.sequence}: {problem}" for problem in event_mismatches(account, [event])]
        understated = understated_cost(event, thorough=False)
        if understated is not None and row.sequence <= self._old:
            old = "recorded before costs were compared with parts"
            self.warnings.append(f"row {row.sequence}, {old}: {understated}")
        elif understated is not None:
            self.problems.append(f"row {row.sequence} does not cover its cost: {understated}")

    def _mark(self, row: ChainRow) -> None:
        mark = read_outcome(row)
        if self._events.get(mark["entry"]) != (mark["hash"], row.table_name):
            self.problems.append(f"row {row.sequence} marks row {mark['entry']!a}, which is no such event of its table")

    def _compare_totals(self, row: ChainRow, content: dict[str, Any]) -> None:
        account = self.accounts.get(row.table_name)
        if account is not None and content["standing"] != account.standing():
            self.problems.append(f"row {row.sequence} holds totals of {row.table_name!a} that the rows do not give")
        if content["accounts"] != self._standings.digest:
            self.problems.append(f"row {row.sequence} was sealed with other accounts than the rows give")

    def end(self, connection: sa.Connection) -> None:
        """Compare the end of the chain with the head that the ledger remembers and with the one written down."""
        try:
            self._end_at(read_head(connection, formats=(1, FORMAT)))
        except LedgerError as error:
            self.problems.append(f"after row {self._last.sequence}: {error.headline}")
        if not self._found:
            cut = f"no row up to {self._last.sequence} has the expected head {self._sought!a}"
            self.problems.append(f"{cut}: rows were removed or rewritten")

    def _end_at(self, head: ChainHead) -> None:
        if head.format == 1:
            self.warnings.append("the ledger is of format 1: 'sfumato ledger upgrade' goes on in the new format")
        if head.sequence != self._last.sequence:
            problem = f"the ledger remembers {head.sequence} rows, but the last one is row {self._last.sequence}"
            self.problems.append(problem)
        elif head.hash != self._last.hash:
            self.problems.append(f"row {self._last.sequence}, the last one, is not the one that the ledger remembers")

    def compare(self, stored: dict[str, Any]) -> None:
        """Compare one stored account with what the chain says about it."""
        rebuilt = self.accounts.pop(stored["name"], None)
        if rebuilt is None:
            self.problems.append(f"the account {stored['name']!a} was added by hand: no row opens it")
            return
        due = rebuilt.model_dump()
        place = f"row {self.opened_in[rebuilt.name]} and those after it"
        for column in ACCOUNTS.columns.keys():  # noqa: SIM118
            if stored[column] != due[column]:
                difference = f"{column} is {stored[column]!a}, but {place} give {due[column]!a}"
                self.problems.append(f"the account {rebuilt.name!a} was changed: {difference}")

    def finish(self) -> Verification:
        """Return the verdict once every row and every account was seen."""
        self.problems += [
            f"the account {name!a}, opened in row {self.opened_in[name]}, was removed" for name in self.accounts
        ]
        return Verification(
            ok=not self.problems,
            problems=tuple(self.problems),
            warnings=tuple(self.warnings),
            entries=self.entries,
            head=str(self._last.hash),
        )


def verify_connection(connection: sa.Connection, expected_head: str | None, damage: Sequence[str]) -> Verification:
    """Replay the whole ledger inside one transaction; ``damage`` is what the database said about its file."""
    replay = ChainReplay(expected_head, [*damage, *definition_problems(connection)], _last_old_row(connection))
    for row in rows(connection):
        replay.follow(row)
    replay.end(connection)
    for stored in stored_accounts(connection):
        replay.compare(stored)
    return replay.finish()


def _last_old_row(connection: sa.Connection) -> int:
    """Return the number of the last row of format 1: all of them, up to the upgrade, or none."""
    upgrade = connection.scalar(sa.select(sa.func.min(CHAIN.c.sequence)).where(CHAIN.c.kind == "upgrade"))
    if isinstance(upgrade, int):
        return upgrade - 1
    try:
        head = read_head(connection, formats=(1, FORMAT))
    except LedgerError:  # named when the end of the chain is looked at
        return 0
    return head.sequence if head.format == 1 else 0


def _one_line(error: BaseException) -> str:
    return ascii(" ".join(str(error).split())[:200])


def upgrade_format(connection: sa.Connection, damage: Sequence[str]) -> Verification:
    """Append the row that ends the old format and seals where all accounts stand; a new ledger stays as it is.

    Format 1 sealed no totals, so its whole chain is checked first; it goes on with rows that carry them.
    """
    head = read_head(connection, hold=True, formats=(1, FORMAT))
    verification = verify_connection(connection, None, damage)
    if not verification:
        raise LedgerTampered("the ledger was changed or damaged", verification.problems, ONLY_SOUND)
    if head.format == FORMAT:
        return verification
    append(connection, all_accounts(connection), [PendingRow("upgrade", None, {"from": head.format})], head)
    return verify_connection(connection, None, ())
