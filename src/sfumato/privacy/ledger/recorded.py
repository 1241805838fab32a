"""How a public document tells what was recorded: parts that release.json and quality.json share."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from sfumato.privacy.ledger.models import Account, Entry
from sfumato.privacy.randomness import Randomness


class Record(BaseModel):
    """A frozen part of a document; an unknown field is refused, so that nothing hides in it."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class RandomnessRecord(Record):
    """Where the noise came from; a seeded run carries its stamp."""

    mode: Literal["secure", "seeded"]
    seed: int | None = None
    stamp: str | None = None

    @classmethod
    def of(cls, source: Randomness) -> RandomnessRecord:
        """Return what is told about a source of noise."""
        return cls(mode=source.mode, seed=source.seed, stamp=source.stamp)


class RecordedEntry(Record):
    """Place and hash of one event in the ledger."""

    sequence: int
    hash: str


class RecordedCost(Record):
    """Where the ledger holds the cost of a release, and how the account stood after it."""

    entries: tuple[RecordedEntry, ...]
    head: str
    composition: str
    cap_epsilon: str
    cap_delta: str
    spent_epsilon: str
    spent_delta: str
    left_epsilon: str
    left_delta: str
    exposures: int = 0

    @classmethod
    def of(cls, entries: tuple[Entry, ...], account: Account) -> RecordedCost:
        """Return the public side of ledger entries and of the account's balance."""
        balance = account.model_dump(include=set(cls.model_fields) - {"entries", "head"})
        places = tuple(RecordedEntry(sequence=entry.sequence, hash=entry.hash) for entry in entries)
        return cls(entries=places, head=entries[-1].hash, **balance)
