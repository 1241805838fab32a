"""Purchases: the private queries that paid for bought facts, as plain data that travels with the schema."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.schema.column_checks import is_text

if TYPE_CHECKING:
    from sfumato.schema.column import Column

PURCHASE_KEYS = ("words", "id", "event")


@dataclass(frozen=True)
class Purchase:
    """One purchase: the words by which columns name it, what identifies it, and its privacy event.

    A schema lies below the accounting, so the event is kept as text here and read where guarantees are composed
    (:func:`sfumato.core.schema_assumptions.purchased`).
    """

    words: str
    """What ``bought`` of its columns says."""
    id: str
    """Hash of the entry of the ledger; without a ledger, a unique text."""
    event: str
    """Canonical JSON of the privacy event."""


def purchase_problems(purchases: Sequence[Purchase]) -> list[str]:
    """Return the problems of the purchases of a schema."""
    blank = [
        f"[[purchases]] {key}: needs a text"
        for each in purchases
        for key in PURCHASE_KEYS
        if not is_text(getattr(each, key)) or not getattr(each, key).strip()
    ]
    ids = [each.id for each in dict.fromkeys(purchases)] if not blank else []
    return blank + [f"[[purchases]] id {each!r}: stands at two different purchases" for each in _twice(ids)]


def _twice(ids: Sequence[str]) -> list[str]:
    return sorted({each for each in ids if ids.count(each) > 1})


def unpaid(columns: Iterable[Column], purchases: Sequence[Purchase]) -> list[str]:
    """Return the columns whose facts were bought by no purchase that the schema lists."""
    known = {each.words for each in purchases}
    return [column.name for column in columns if column.bought and column.bought not in known]
