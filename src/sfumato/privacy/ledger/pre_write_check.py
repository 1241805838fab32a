"""Quick integrity check of the ledger before every write.

Every write, and every ``check``, looks at

- the database: no trigger, rule or view may stand between the ledger and its tables, and these must be defined as the
  ledger defines them;
- the end of the chain, which must be the head; and the number of rows, which must be the number of the last one;
- all rows of a ledger of up to ``REREAD`` rows, and as many rows in a random place of a longer one: each must have its
  hash, follow the row before it, and the running totals must grow by what the events cost;
- the accounts, whose hash is sealed in the last row.

So the cost has a bound. What a longer ledger hides from one write, an edited row far back, the next ones will find, and
``verify`` finds at once.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from sfumato.errors import LedgerTampered
from sfumato.privacy.accounting.event import event_kind
from sfumato.privacy.exact import fraction_to_text, to_fraction
from sfumato.privacy.ledger.account import TOTALS, Account
from sfumato.privacy.ledger.chain import (
    UNREADABLE,
    VERIFY,
    AccountSnapshot,
    ChainHead,
    ChainRow,
    last_row,
    read_account,
    read_head,
    rows_between,
    stored_accounts,
)
from sfumato.privacy.ledger.store import CHAIN, GENESIS, definition_problems

ROWS_REREAD = 2000
"""Rows that are read again before a write."""


def checked_accounts(connection: sa.Connection, *, hold: bool = False) -> dict[str, Account]:
    """Return all accounts after checking them against the chain; ``hold`` keeps all others from writing."""
    head = read_head(connection, hold=hold)
    problems = definition_problems(connection) or _end_problems(connection, head) or _chain_problems(connection, head)
    stored = stored_accounts(connection)
    problems = problems or _account_problems(connection, head, stored)
    if problems:
        raise LedgerTampered("the ledger was changed by hand: nothing may be built on it", problems, VERIFY)
    return {row["name"]: read_account(row) for row in stored}


def _end_problems(connection: sa.Connection, head: ChainHead) -> list[str]:
    """Look for a cut end, and for removed rows: numbers that begin at 1, end at n and are n have no gap."""
    last = last_row(connection)
    intact = head[:2] == (0, GENESIS) if last is None else last.holds and (last.sequence, last.hash) == head[:2]
    if not intact:
        return [f"row {head.sequence}, the end of the ledger, was changed or removed"]
    number = CHAIN.c.sequence
    count, first = connection.execute(sa.select(sa.func.count(), sa.func.min(number)).select_from(CHAIN)).one()
    if count != head.sequence or (count and first != 1):
        return [f"rows were removed or added: the last one is row {head.sequence}, and there are {count}"]
    return []


def _chain_problems(connection: sa.Connection, head: ChainHead) -> list[str]:
    longest = max(head.sequence - ROWS_REREAD, 0)
    first = secrets.randbelow(longest) + 1 if longest else 1
    walk = RowWalk()
    for row in rows_between(connection, first, first + ROWS_REREAD - 1):
        walk.follow(row)
    return walk.finish()


class RowWalk:
    """Follows rows that stand one after the other, by their hashes and by the totals that they carry."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._last: ChainRow | None = None
        self._totals: dict[str, _Totals] = {}

    def follow(self, row: ChainRow) -> None:
        """Check the next row."""
        before = self._last
        follows = row.sequence == 1 and row.previous_hash == GENESIS if before is None else _follows(row, before)
        if not follows and not (before is None and row.sequence > 1):
            self.problems.append(f"row {row.sequence} does not follow the row before it")
        if not row.holds:
            self.problems.append(f"row {row.sequence} was changed: its content does not have its hash")
        self._last = row
        try:
            self._add(row)
        except UNREADABLE:
            self.problems.append(f"row {row.sequence} cannot be read")

    def _add(self, row: ChainRow) -> None:
        content = row.content()
        if "standing" not in content:  # written before rows carried totals, and checked when the ledger was upgraded
            return
        totals = self._totals.get(row.table_name)
        if totals is None:
            self._totals[row.table_name] = _Totals(content["standing"], row.kind == "open")
            return
        totals.add(content.get("event"), content["standing"])

    def finish(self) -> list[str]:
        """Return the problems, those of account totals included."""
        wrong = [name for name, totals in self._totals.items() if not totals.agree()]
        return [*self.problems, *(f"the totals in the rows of {name!a} are not what its events cost" for name in wrong)]


def _follows(row: ChainRow, before: ChainRow) -> bool:
    return row.sequence == before.sequence + 1 and row.previous_hash == before.hash


class _Totals:
    """Adds up one account's events, from where the first row left it to where the last row says that it stands."""

    def __init__(self, first: dict[str, Any], opened: bool) -> None:
        self._first = self._last = first
        self._opened = opened
        self._costs: Counter[tuple[str, str]] = Counter()  # equal costs are many, and adding fractions is slow
        self._exposures = 0

    def add(self, event: dict[str, Any] | None, standing: dict[str, Any]) -> None:
        self._last = standing
        if event is None:
            return
        if event_kind(event["kind"]).formal:
            self._costs[event["epsilon"], event["delta"]] += 1
        else:
            self._exposures += 1

    def agree(self) -> bool:
        try:
            return self._due() == self._last
        except UNREADABLE:
            return False

    def _due(self) -> dict[str, Any]:
        first = self._first
        if self._opened and [first[each] for each in TOTALS] != ["", "0", "0", 0, 0]:
            return {}
        epsilon = sum(
            (times * to_fraction(cost) for (cost, _), times in self._costs.items()), to_fraction(first["spent_epsilon"])
        )
        delta = sum(
            (times * to_fraction(cost) for (_, cost), times in self._costs.items()), to_fraction(first["spent_delta"])
        )
        return {
            **first,
            "unit": first["unit"] or self._last["unit"],
            "spent_epsilon": fraction_to_text(epsilon),
            "spent_delta": fraction_to_text(delta),
            "events": first["events"] + self._costs.total(),
            "exposures": first["exposures"] + self._exposures,
        }


def _account_problems(connection: sa.Connection, head: ChainHead, stored: Sequence[dict[str, Any]]) -> list[str]:
    """Compare the accounts with the hash of them in the last row, and say which was changed where that is known."""
    last = last_row(connection)
    try:
        sealed = AccountSnapshot({}).digest if last is None else last.content()["accounts"]
        held = AccountSnapshot({row["name"]: _standing(row) for row in stored}).digest
    except UNREADABLE:
        sealed, held = "", "unreadable"
    if sealed == held:
        return []
    problems = [problem for row in stored for problem in _differences(connection, row)]
    return problems or [f"the accounts are not those that row {head.sequence}, the last one, was sealed with"]


def _standing(row: dict[str, Any]) -> dict[str, Any]:
    return {column: value for column, value in row.items() if column != "name"}


def _differences(connection: sa.Connection, stored: dict[str, Any]) -> list[str]:
    row, name = last_row(connection, stored["name"]), stored["name"]
    try:
        due = {} if row is None else row.content().get("standing", {})
    except UNREADABLE:
        due = {}
    return [
        f"the account {name!a} was changed: {column} is {value!a}, but row {row.sequence if row else 0} gives "
        f"{due[column]!a}"
        for column, value in stored.items()
        if column in due and due[column] != value
    ]
