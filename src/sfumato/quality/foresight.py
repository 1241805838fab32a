"""What a quality statement will cost, and how wide its intervals will be: from public facts, nothing is spent."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from sfumato.privacy.accounting.accountant import basic
from sfumato.privacy.exact import exact, text
from sfumato.quality.answers import GRAIN
from sfumato.quality.intervals import LEVEL
from sfumato.quality.measured import ROWS
from sfumato.quality.measures import measures_of
from sfumato.quality.quality import Prepared
from sfumato.release.release import LedgerChoice, book_of

TYPICAL_TVD = 0.1
TYPICAL_RIGHT, TYPICAL_ERROR, TYPICAL_GUESS = 0.8, 0.1, 0.5
"""What the measures are taken to be where nobody knows: widths hardly depend on it."""
TOO_WIDE = 0.1
"""Half width from which on a distance tells next to nothing."""


@dataclass(frozen=True)
class Width:
    """The interval that a measure would get, without noise in its middle."""

    name: str
    at: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """Half the width."""
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class Foresight:
    """Cost and widths of a statement."""

    epsilon: str
    adjacency: str
    rows: int
    """About how many rows the table is taken to have."""
    target: str | None
    why: str
    widths: tuple[Width, ...]
    notes: tuple[str, ...] = ()
    left_before: str | None = None
    left_after: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {**asdict(self), "widths": [{**asdict(each), "half": each.half} for each in self.widths]}


def foreseen(made: Prepared, about_rows: int | None = None, ledger: LedgerChoice = None) -> Foresight:
    """Return what a statement would cost and show at so many rows; with a ledger, also what would be left."""
    questions = made.questions
    rows = questions.schema.rows or about_rows or made.subject.rows.num_rows
    found = measures_of(questions, made.public, _typical(made, rows), LEVEL)
    widths = tuple(Width(one.name, round(one.value, 3), one.low, one.high) for one in found)
    seen = Foresight(
        epsilon=text(questions.epsilon),
        adjacency=questions.schema.adjacency,
        rows=rows,
        target=questions.target.name if questions.target else None,
        why=made.public.why,
        widths=widths,
        notes=(*_notes(widths, rows), *made.promised(recorded=False).in_total),
    )
    book = book_of(ledger)
    if book is None:
        return seen
    account = book.check(questions.schema.name, made.events)
    after = exact(account.left_epsilon) - basic(made.events)[0]
    if account.composition != "basic":
        after = exact(account.cap_epsilon) - (book.tight(account.name, more=made.events) or 0)
    return replace(seen, left_before=account.left_epsilon, left_after=text(after))


def _typical(made: Prepared, rows: int) -> list[list[int]]:
    """Return numbers as they would be measured, without noise, on a typical table of so many rows."""
    numbers = [[round(2 * GRAIN * TYPICAL_TVD * rows), 0]]
    questions = made.questions
    related = [[0] * part.cells for part in questions.parts if part.stage == questions.related_stage]
    if questions.target is None:
        return numbers + [[rows] for part in questions.parts if part.stage == ROWS] + related
    right = TYPICAL_ERROR if questions.target.is_ordered else TYPICAL_RIGHT
    guess = TYPICAL_ERROR if questions.target.is_ordered else TYPICAL_GUESS
    both = min(right, guess)
    shares = (both, right - both, guess - both, 1 - max(right, guess), 0.0)[: questions.parts[1].cells]
    return [*numbers, [round(questions.grain * share * rows) for share in shares], *related]


def _notes(widths: tuple[Width, ...], rows: int) -> tuple[str, ...]:
    wide = [each for each in widths if each.high - each.at > TOO_WIDE]
    if not wide:
        return ()
    named = ", ".join(each.name for each in wide)
    return (f"at about {rows:,} rows the noise leaves {named} next to untold: give more epsilon, or keep it",)
