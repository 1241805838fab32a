"""Cost of a release in sentences: epsilon spent, rest under the cap, ledger entry."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from sfumato.bundle.document import LedgerCost, ReleaseDocument
from sfumato.formatting import format_number
from sfumato.privacy.accounting.accountant import basic_composition
from sfumato.privacy.exact import at_least, at_most, format_fraction, fraction_to_text, to_fraction

EXPOSED = "This release is an exposure: no sum of costs can include it."
MOST_ENTRIES = 6


class CostStatement(NamedTuple):
    """The cap as a bar (what other releases and this one took, in per cent), and the same in words."""

    before: float
    this: float
    sentences: tuple[str, ...]


def cost_statement(document: ReleaseDocument) -> CostStatement:
    """Say what the release cost and what is left."""
    recorded = document.recorded
    first = _price(document) if document.guarantee.formal else EXPOSED
    if recorded is None:
        return CostStatement(0.0, 0.0, (first, document.recorded_note))
    cap, spent = to_fraction(recorded.cap_epsilon), to_fraction(recorded.spent_epsilon)
    this = _charged(document)[0]
    whole = max(cap, spent) or to_fraction(1)
    before = max(spent - this, to_fraction(0))
    return CostStatement(
        float(100 * before / whole), float(100 * this / whole), (first, *_balance(document.table, recorded))
    )


def _charged(document: ReleaseDocument) -> tuple[Fraction, Fraction]:
    """Return what the formal events cost that the ledger was charged for."""
    return basic_composition([event for event in document.charged_events if event.is_formal])


def _price(document: ReleaseDocument) -> str:
    epsilon, delta = _charged(document)
    price = f"This release cost epsilon {budget_text(fraction_to_text(epsilon), fraction_to_text(delta))}."
    price = " ".join((price, *(f"{line[0].upper()}{line[1:]}." for line in document.guarantee.in_total)))
    if document.guarantee.selection is None:
        return price
    return f"{price} That is what the candidates that were run and their scores cost together; see the promise."


def _balance(table: str, recorded: LedgerCost) -> list[str]:
    sentences = [
        f"The cap of table {table!r} is epsilon {budget_text(recorded.cap_epsilon, recorded.cap_delta)}. "
        f"Spent in all: {budget_text(recorded.spent_epsilon, recorded.spent_delta)}. "
        f"Left: {budget_text(recorded.left_epsilon, recorded.left_delta)}."
    ]
    if recorded.composition != "basic":
        sentences.append("The ledger composes tightly: its own total is below this sum, so more may be left.")
    if recorded.exposures:
        sentences.append(f"Exposures of this table, never added to the sum: {format_number(recorded.exposures)}.")
    places = ", ".join(f"entry {entry.sequence}" for entry in recorded.entries[:MOST_ENTRIES])
    more = ", ..." if len(recorded.entries) > MOST_ENTRIES else ""
    return [*sentences, f"Recorded in the ledger as {places}{more}."]


def budget_text(epsilon: str, delta: str) -> str:
    """Return epsilon, and delta where there is one."""
    return format_fraction(to_fraction(epsilon)) + (f" and delta {at_most(delta, 3)}" if to_fraction(delta) else "")


def ledger_sentence(document: ReleaseDocument) -> str:
    """Say in one sentence whether a ledger keeps the cost under a cap."""
    recorded = document.recorded
    if recorded is None:
        return "Its cost is in no ledger, so no cap protects the table."
    if not document.guarantee.formal:
        return "A ledger lists it as an exposure."
    left = at_least(recorded.left_epsilon)
    return (
        f"Its cost is in a ledger: of a cap of epsilon {format_fraction(to_fraction(recorded.cap_epsilon))}, "
        f"{left} is left."
    )
