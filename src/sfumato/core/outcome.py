"""Tell the ledger what became of a recorded spend, saved or lost, and the user where that fails."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from sfumato.errors import MissingEntryError, SfumatoError, UnmarkedBundleWarning
from sfumato.privacy.accounting.accountant import basic_composition
from sfumato.privacy.exact import format_fraction
from sfumato.privacy.ledger import Entry, Ledger


def spend_summary(entries: Sequence[Entry]) -> str:
    """Return what recorded entries cost and where they stand, in words."""
    formal = [entry.event for entry in entries if entry.event.is_formal]
    numbers = ", ".join(str(entry.sequence) for entry in entries)
    place = f"{'entry' if len(entries) == 1 else 'entries'} {numbers} of the ledger"
    if not formal:
        return f"an exposure is recorded ({place})"
    epsilon, delta = basic_composition(formal)
    return (
        f"epsilon {format_fraction(epsilon)}{f' and delta {format_fraction(delta)}' if delta else ''} is spent "
        f"({place})"
    )


def failure_reason(error: BaseException) -> str:
    """Return why nothing came of a spend; never the message, which may hold private values."""
    return f"failed: {type(error).__name__}" if isinstance(error, Exception) else "interrupted"


@contextmanager
def mark_lost_on_failure(
    ledger: Ledger | None, entries: Sequence[Entry], kind: type[BaseException] = BaseException
) -> Generator[None]:
    """Mark entries as lost when the work inside fails or is interrupted, and add to the error what was spent, once."""
    try:
        yield
    except kind as error:
        if ledger is not None and entries and not getattr(error, "__notes__", ()):
            marked = _mark_lost(ledger, entries, failure_reason(error))
            spent = f"{spend_summary(entries)}, because the private table was touched"
            error.add_note(f"{spent}; nothing was written{marked}")
        raise


def _mark_lost(ledger: Ledger, entries: Sequence[Entry], reason: str) -> str:
    try:
        ledger.mark_lost(entries, reason)
    except SfumatoError as error:
        return f", and the ledger could not be told: {error.headline}"
    return ", and the ledger is marked so"


def mark_saved(ledger: Ledger, entries: Sequence[Entry], sha256: str, complete: str, remedy: str = "") -> None:
    """Tell the ledger that a spend came to a file, which ``complete`` says in words; it stands whatever happens.

    A failure is a warning, but for a spend that the ledger does not hold: then nothing counts its cost.
    """
    try:
        ledger.mark_saved(entries, sha256)
    except MissingEntryError as error:
        error.add_note(f"{complete}, but do not publish it")
        raise
    except SfumatoError as error:
        unmarked = f"{complete}, but the ledger could not be told: {error.headline}{remedy}"
        warnings.warn(UnmarkedBundleWarning(unmarked), stacklevel=5)
    except BaseException as stop:
        stop.add_note(f"{complete}, but the ledger could not be told{remedy}")
        raise
