"""What a release cost and what is left, as a bar and in words."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from sfumato.privacy.accounting.accountant import basic
from sfumato.privacy.exact import at_least, at_most, exact, show, text
from sfumato.report.document import RecordedCost, ReleaseDocument
from sfumato.report.words.numbers import say

EXPOSED = "This release is an exposure: no sum of costs can include it."
MOST_ENTRIES = 6


class Cost(NamedTuple):
    """The cap as a bar (what other releases and this one took, in per cent), and the same in words."""

    before: float
    this: float
    sentences: tuple[str, ...]


def cost(document: ReleaseDocument) -> Cost:
    """Say what the release cost and what is left."""
    recorded = document.recorded
    first = _price(document) if document.guarantee.formal else EXPOSED
    if recorded is None:
        return Cost(0.0, 0.0, (first, document.recorded_note))
    cap, spent = exact(recorded.cap_epsilon), exact(recorded.spent_epsilon)
    this = _charged(document)[0]
    whole = max(cap, spent) or exact(1)
    before = max(spent - this, exact(0))
    return Cost(float(100 * before / whole), float(100 * this / whole), (first, *_balance(document.table, recorded)))


def _charged(document: ReleaseDocument) -> tuple[Fraction, Fraction]:
    """Return what the formal events that were run cost; a whole ladder where the ledger was charged for all of it."""
    at_once = document.recorded is not None and len(document.recorded.entries) > len(document.events)
    chosen = document.guarantee.selection
    events = (*document.events, *chosen.unclimbed) if chosen is not None and at_once else document.events
    return basic([event for event in events if event.is_formal])


def _price(document: ReleaseDocument) -> str:
    epsilon, delta = _charged(document)
    price = f"This release cost epsilon {amount(text(epsilon), text(delta))}."
    price = " ".join((price, *(f"{line[0].upper()}{line[1:]}." for line in document.guarantee.in_total)))
    if document.guarantee.selection is None:
        return price
    return f"{price} That is what the candidates that were run and their scores cost together; see the promise."


def _balance(table: str, recorded: RecordedCost) -> list[str]:
    sentences = [
        f"The cap of table {table!r} is epsilon {amount(recorded.cap_epsilon, recorded.cap_delta)}. "
        f"Spent in all: {amount(recorded.spent_epsilon, recorded.spent_delta)}. "
        f"Left: {amount(recorded.left_epsilon, recorded.left_delta)}."
    ]
    if recorded.composition != "basic":
        sentences.append("The ledger composes tightly: its own total is below this sum, so more may be left.")
    if recorded.exposures:
        sentences.append(f"Exposures of this table, never added to the sum: {say(recorded.exposures)}.")
    places = ", ".join(f"entry {entry.sequence}" for entry in recorded.entries[:MOST_ENTRIES])
    more = ", ..." if len(recorded.entries) > MOST_ENTRIES else ""
    return [*sentences, f"Recorded in the ledger as {places}{more}."]


def amount(epsilon: str, delta: str) -> str:
    """Return epsilon, and delta where there is one."""
    return show(exact(epsilon)) + (f" and delta {at_most(delta, 3)}" if exact(delta) else "")


def recorded_in_short(document: ReleaseDocument) -> str:
    """Say in one sentence whether a ledger keeps the cost under a cap."""
    recorded = document.recorded
    if recorded is None:
        return "Its cost is in no ledger, so no cap protects the table."
    if not document.guarantee.formal:
        return "A ledger lists it as an exposure."
    left = at_least(recorded.left_epsilon)
    return f"Its cost is in a ledger: of a cap of epsilon {show(exact(recorded.cap_epsilon))}, {left} is left."
