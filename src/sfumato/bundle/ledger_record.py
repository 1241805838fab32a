"""Parts that release.json and quality.json share: seal, ledger entries, cost and randomness."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict

from sfumato.privacy.accounting.accountant import basic_composition
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.canonical_json import SealedDocument
from sfumato.privacy.exact import format_fraction, to_fraction
from sfumato.privacy.ledger.account import Account, Entry
from sfumato.privacy.randomness import Randomness

LAYOUT = SealedDocument(indent=2, empty="")


class DocumentPart(BaseModel):
    """A frozen part of a document; an unknown field is refused, so that nothing hides in it."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SealedPart(DocumentPart):
    """A document with the SHA-256 of its own content: a slip of the pen shows even where no other check looks."""

    seal: str = ""

    def sealed(self) -> Self:
        """Return the document with the seal that its content has."""
        return self.model_copy(update={"seal": LAYOUT.seal(self.model_dump(mode="json"))})

    def is_intact(self, text: str) -> bool:
        """Whether a text is the one text of this document, which carries its own seal."""
        return text == self.to_json() and self == self.sealed()

    def to_json(self) -> str:
        """Return canonical JSON: sorted keys, two spaces, UTF-8, one newline at the end."""
        return LAYOUT.text(self.model_dump(mode="json"))

    @classmethod
    def from_json(cls, data: str) -> Self:
        """Read a document back; unknown fields and other formats are refused."""
        return cls.model_validate_json(data)


class RandomnessRecord(DocumentPart):
    """Where the noise came from; a seeded run carries its stamp."""

    mode: Literal["secure", "seeded"]
    seed: int | None = None
    stamp: str | None = None

    @classmethod
    def of(cls, source: Randomness) -> RandomnessRecord:
        """Return what is told about a source of noise."""
        return cls(mode=source.mode, seed=source.seed, stamp=source.stamp)


class LedgerEntryReference(DocumentPart):
    """Place and hash of one event in the ledger."""

    sequence: int
    hash: str


class LedgerCost(DocumentPart):
    """Where the ledger holds the cost of a release, and how the account stood after it."""

    entries: tuple[LedgerEntryReference, ...]
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
    def of(cls, entries: tuple[Entry, ...], account: Account) -> LedgerCost:
        """Return the public side of ledger entries and of the account's balance."""
        balance = account.model_dump(include=set(cls.model_fields) - {"entries", "head"})
        places = tuple(LedgerEntryReference(sequence=entry.sequence, hash=entry.hash) for entry in entries)
        return cls(entries=places, head=entries[-1].hash, **balance)

    def problems(self, events: Sequence[Event]) -> Iterator[str]:
        """Yield what cannot be true of an account that was charged for these events."""
        least = basic_composition([event for event in events if event.is_formal])
        for name, cost in zip(("epsilon", "delta"), least, strict=True):
            cap, spent, left = (to_fraction(getattr(self, f"{what}_{name}"), name) for what in ("cap", "spent", "left"))
            if spent < cost:
                yield (
                    f"the account had spent {name} {format_fraction(spent)} after events that cost "
                    f"{format_fraction(cost)}"
                )
            # other compositions count epsilon otherwise; delta is summed under all of them
            summed = self.composition == "basic" or name == "delta"
            if (left != max(cap - spent, Fraction(0))) if summed else not 0 <= left <= cap:
                yield (
                    f"the account cannot have {name} {format_fraction(left)} left of {format_fraction(cap)} with "
                    f"{format_fraction(spent)} spent"
                )
            if self.composition == "basic" and spent > cap:
                yield f"the account spent {name} {format_fraction(spent)} of a cap of {format_fraction(cap)}"
        if self.exposures < sum(not event.is_formal for event in events):
            yield f"the account counts {self.exposures} exposures, fewer than the bundle holds"
        places = [entry.sequence for entry in self.entries]
        if not places or places != sorted(set(places)) or self.head != self.entries[-1].hash:
            yield "the entries of the ledger are not in order, or its head is not the last of them"
