"""The rows of a ledger's chain: what each holds, how it is sealed, and how it is read back.

The content of a row is canonical JSON. From format 2 on it holds, beside what happened, where the row's account stands
after it ("standing": terms and running totals) and one hash of where all accounts stand ("accounts"), so that the last
row alone says what the table of accounts must hold.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from sfumato.errors import AccountingError, LedgerError, PlanError
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.ledger.models import Entry
from sfumato.privacy.sealed import compact, digest

GENESIS = "0" * 64
"""What the first row of a ledger follows."""
UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, RecursionError, PlanError, AccountingError, LedgerError)
"""What reading a damaged row may raise; nesting without end is one of them."""


class Standings:
    """Where all accounts stand, and the hash of that."""

    def __init__(self, standings: Mapping[str, Mapping[str, Any]]) -> None:
        self._lines = {name: compact([name, standing]) for name, standing in standings.items()}

    def set(self, name: str, standing: Mapping[str, Any]) -> None:
        """Change where one account stands, or add it."""
        self._lines[name] = compact([name, standing])

    @property
    def digest(self) -> str:
        """The hash of all standings, by name."""
        lines = "\n".join(self._lines[name] for name in sorted(self._lines))
        return digest(lines)


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
        return cls(sequence, kind, table_name, recorded_at, body, previous, digest(json.dumps(content)))

    @property
    def holds(self) -> bool:
        """Whether the stored hash is that of the stored content."""
        try:
            return self == ChainRow.sealed(*self[:6])
        except TypeError:  # a column that came back as raw bytes
            return False

    def content(self) -> dict[str, Any]:
        """Return what the row holds; raises one of ``UNREADABLE`` for a damaged one."""
        found = json.loads(self.body)
        if not isinstance(found, dict):
            raise ValueError(f"{type(found).__name__} instead of an object")
        return found  # pyright: ignore[reportUnknownVariableType]

    def entry(self) -> Entry:
        """Return the row as an entry."""
        try:
            found = self.content()
            event = Event.from_json(found.get("event", found))  # format 1 held nothing but the event
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
