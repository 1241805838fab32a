"""Mark recorded spends as saved in a bundle or lost.

An event that was recorded may come to nothing, because the run was interrupted or the disk was full. Its cost stays
spent, and the mark says so; an event without any mark is one of which no bundle is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from sfumato.errors import LedgerError, LedgerTampered, MissingEntryError
from sfumato.privacy.ledger.account import Account, Entry, Outcome
from sfumato.privacy.ledger.chain import UNREADABLE, VERIFY, ChainRow, PendingRow, known_account, rows_between

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
