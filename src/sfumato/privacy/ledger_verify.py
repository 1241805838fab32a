"""Checking that nothing in a ledger was changed, removed or added by hand."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from sfumato.errors import AccountingError, LedgerError, PlanError
from sfumato.privacy.ledger_chain import Head, read_head, rows
from sfumato.privacy.ledger_models import GENESIS, Account, ChainRow, Verification
from sfumato.privacy.ledger_store import ACCOUNTS


class Replay:
    """Walks the chain from its first row and rebuilds what the accounts must say."""

    def __init__(self, expected_head: str | None, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        self.accounts: dict[str, Account] = {}
        self.opened_in: dict[str, int] = {}
        self.entries = 0
        self._last = Head(0, GENESIS)
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
        self._last = Head(row.sequence, row.hash)
        self._apply(row)

    def _apply(self, row: ChainRow) -> None:
        try:
            if row.kind == "open":
                self._open(row)
            elif row.kind == "event":
                self._count(row)
            else:
                self.problems.append(f"row {row.sequence} is of no known kind: {row.kind!a}")
        except (ValueError, TypeError, KeyError, LedgerError, AccountingError, PlanError) as error:
            self.problems.append(f"row {row.sequence} cannot be read: {_one_line(error)}")

    def _open(self, row: ChainRow) -> None:
        if row.table_name in self.accounts:
            self.problems.append(f"row {row.sequence} opens {row.table_name!a} a second time")
            return
        self.accounts[row.table_name] = Account.from_terms(row.table_name, row.body)
        self.opened_in[row.table_name] = row.sequence

    def _count(self, row: ChainRow) -> None:
        account = self.accounts.get(row.table_name)
        if account is None:
            self.problems.append(f"row {row.sequence} spends on {row.table_name!a}, which was never opened")
            return
        after = self.accounts[row.table_name] = account.plus([row.entry().event])
        if after.composition == "basic" and account.within_caps and not after.within_caps:
            self.problems.append(f"row {row.sequence} spends more than the cap of {row.table_name!a} allowed")

    def end(self, connection: sa.Connection) -> None:
        """Compare the end of the chain with the head that the ledger remembers and with the one written down."""
        try:
            self._end_at(read_head(connection))
        except LedgerError as error:
            self.problems.append(f"after row {self._last.sequence}: {error.headline}")
        if not self._found:
            cut = f"no row up to {self._last.sequence} has the expected head {self._sought!a}"
            self.problems.append(f"{cut}: rows were removed or rewritten")

    def _end_at(self, head: Head) -> None:
        if head.sequence != self._last.sequence:
            found = f"the ledger remembers {head.sequence} rows, but the last one is row {self._last.sequence}"
            self.problems.append(found)
        elif head.hash != self._last.hash:
            self.problems.append(f"row {self._last.sequence}, the last one, is not the one that the ledger remembers")

    def compare(self, stored: sa.RowMapping) -> None:
        """Compare one stored account with what the chain says about it."""
        rebuilt = self.accounts.pop(stored["name"], None)
        if rebuilt is None:
            self.problems.append(f"the account {stored['name']!a} was added by hand: no row opens it")
            return
        due = rebuilt.model_dump()
        place = f"row {self.opened_in[rebuilt.name]} and those after it"
        for column in ACCOUNTS.columns.keys():  # noqa: SIM118
            if stored[column] != due[column]:
                found = f"{column} is {stored[column]!a}, but {place} give {due[column]!a}"
                self.problems.append(f"the account {rebuilt.name!a} was changed: {found}")

    def finish(self) -> Verification:
        """Return the verdict once every row and every account was seen."""
        self.problems += [
            f"the account {name!a}, opened in row {self.opened_in[name]}, was removed" for name in self.accounts
        ]
        problems = tuple(self.problems)
        return Verification(ok=not problems, problems=problems, entries=self.entries, head=str(self._last.hash))


def verify_connection(connection: sa.Connection, expected_head: str | None, damage: Sequence[str]) -> Verification:
    """Replay the whole ledger inside one read transaction; ``damage`` is what the database said about its file."""
    replay = Replay(expected_head, damage)
    for row in rows(connection):
        replay.follow(row)
    replay.end(connection)
    for stored in connection.execute(sa.select(ACCOUNTS).order_by(ACCOUNTS.c.name)).mappings():
        replay.compare(stored)
    return replay.finish()


def _one_line(error: Exception) -> str:
    return ascii(" ".join(str(error).split()))
