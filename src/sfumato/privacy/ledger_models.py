"""What a ledger hands out: accounts, entries and the result of a verification; and how its rows are sealed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, computed_field

from sfumato.errors import AccountingError, LedgerError, PlanError
from sfumato.privacy.event import Event
from sfumato.privacy.exact import Number, exact, positive, text

Adjacency = Literal["add-remove", "replace"]
Composition = Literal["basic", "tight"]
GENESIS = "0" * 64
"""What the first row of a ledger follows."""


class Account(BaseModel):
    """Caps of one table and what was spent so far; all amounts are exact fractions kept as text.

    ``spent_epsilon`` and ``spent_delta`` are the exact sums (basic composition). Under tight composition they may
    pass the caps: ``tight_epsilon`` is then the total that counts, and ``left_epsilon`` is what it leaves.

    >>> account = Account.opened("people", epsilon=5)
    >>> account.cap_epsilon, account.left_epsilon
    ('5', '5')
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    cap_epsilon: str
    cap_delta: str
    adjacency: Adjacency
    composition: Composition
    unit: str = ""
    """Whom the guarantee protects (``row``, ``person``): decided by the first formal event, empty before it."""
    spent_epsilon: str = "0"
    spent_delta: str = "0"
    events: int = 0
    """Number of formal events."""
    exposures: int = 0
    """Number of releases without a formal guarantee: recorded, never added to a total."""
    tight_epsilon: str | None = None
    """Under tight composition, epsilon of all formal events together at the cap's delta."""

    @classmethod
    def opened(cls, name: str, epsilon: Number, delta: Number = 0, adjacency: str = "add-remove",
               composition: str = "basic") -> Account:  # fmt: skip
        """Return a new account after checking its terms."""
        _refuse_odd_name(name)
        _refuse_unknown("adjacency", adjacency, ("add-remove", "replace"))
        _refuse_unknown("composition", composition, ("basic", "tight"))
        cap = probability(delta)
        if composition == "tight" and not cap:
            raise PlanError("tight composition needs a cap on delta above 0", next_step="give delta such as 1e-6")
        terms: dict[str, Any] = {"adjacency": adjacency, "composition": composition}
        return cls(name=name, cap_epsilon=text(positive(epsilon)), cap_delta=text(cap), **terms)

    @property
    def caps(self) -> tuple[Fraction, Fraction]:
        """The caps on epsilon and delta."""
        return exact(self.cap_epsilon), exact(self.cap_delta, "delta")

    @property
    def spent(self) -> tuple[Fraction, Fraction]:
        """The exact sums of epsilon and delta so far."""
        return exact(self.spent_epsilon), exact(self.spent_delta, "delta")

    @computed_field
    @property
    def left_epsilon(self) -> str:
        """What is left of the cap on epsilon, under the account's composition."""
        total = self.spent[0] if self.tight_epsilon is None else exact(self.tight_epsilon)
        return text(max(self.caps[0] - total, Fraction(0)))

    @computed_field
    @property
    def left_delta(self) -> str:
        """What the exact sum leaves of the cap on delta."""
        return text(max(self.caps[1] - self.spent[1], Fraction(0)))

    @property
    def within_caps(self) -> bool:
        """Whether the exact sums stay within both caps."""
        return all(spent <= cap for spent, cap in zip(self.spent, self.caps, strict=True))

    def plus(self, events: Iterable[Event]) -> Account:
        """Return the account as it stands after these events; exposures are counted, not added."""
        (epsilon, delta), unit, formal, exposures = self.spent, self.unit, self.events, self.exposures
        for event in events:
            if not event.is_formal:
                exposures += 1
                continue
            cost = event.cost
            epsilon, delta, formal = epsilon + cost[0], delta + cost[1], formal + 1
            unit = unit or event.unit
        totals = {"spent_epsilon": text(epsilon), "spent_delta": text(delta)}
        return self.model_copy(update={**totals, "unit": unit, "events": formal, "exposures": exposures})

    def terms(self) -> str:
        """Return the terms of the account as canonical JSON; the ledger seals this text when it opens one."""
        chosen = {"cap_epsilon", "cap_delta", "adjacency", "composition"}
        return json.dumps(self.model_dump(include=chosen), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_terms(cls, name: str, terms: str) -> Account:
        """Read the terms of an account back; they are checked as at its opening."""
        found: dict[str, Any] = json.loads(terms)
        adjacency, composition = found["adjacency"], found["composition"]
        return cls.opened(name, found["cap_epsilon"], found["cap_delta"], adjacency, composition)


class Entry(BaseModel):
    """One recorded event and its place in the hash chain."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sequence: int
    """Position in the whole ledger; the opening of an account takes one too."""
    table: str
    event: Event
    recorded_at: str
    previous_hash: str
    hash: str


class Verification(BaseModel):
    """Whether a ledger holds together; true in a condition when it does."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ok: bool
    problems: tuple[str, ...] = ()
    entries: int = 0
    """Number of rows in the chain, openings included."""
    head: str = ""
    """Hash of the last row: write it down elsewhere, and a shortened or rewritten ledger will show."""

    def __bool__(self) -> bool:
        return self.ok


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
        digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
        return cls(sequence, kind, table_name, recorded_at, body, previous, digest)

    @property
    def holds(self) -> bool:
        """Whether the stored hash is that of the stored content."""
        try:
            return self == ChainRow.sealed(*self[:6])
        except TypeError:  # a column that came back as raw bytes
            return False

    def entry(self) -> Entry:
        """Return the row as an entry."""
        try:
            event = Event.from_json(self.body)
        except (ValueError, TypeError, AttributeError, PlanError, AccountingError) as error:
            raise LedgerError(f"row {self.sequence} of the ledger holds no event that can be read: {error}") from error
        return Entry(
            sequence=self.sequence,
            table=self.table_name,
            event=event,
            recorded_at=self.recorded_at,
            previous_hash=self.previous_hash,
            hash=self.hash,
        )


def probability(delta: Number) -> Fraction:
    """Read a delta that must be at least 0 and below 1."""
    value = exact(delta, "delta")
    if not 0 <= value < 1:
        raise PlanError(f"delta must be at least 0 and below 1, found {delta}", next_step="give delta such as 1e-6")
    return value


def _refuse_unknown(what: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise PlanError(f"unknown {what} {value!r}", next_step=f"use one of: {', '.join(known)}")


def _refuse_odd_name(name: str) -> None:
    if not name.strip() or not name.isprintable():
        raise LedgerError(f"{name!r} cannot name a table", next_step="give the name that stands in its schema")
