"""Handle Ctrl-C and SIGTERM, and report the budget spent before the stop.

Both signals raise :class:`~sfumato.progress.Stopped`, as the button of the workbench does. The command line library
swallows a KeyboardInterrupt, and engines turn what a signal raises into errors of theirs, so the signal is also
remembered.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from sfumato.progress import Stopped, deliver

NOTHING = "nothing was spent and nothing was written"
SPENDING_VERBS = ("release", "synthesize", "calibrate", "quality", "schema", "demo", "ledger")
"""Verbs that may write to a ledger; no other verb can spend."""


def listen() -> None:
    """Turn SIGINT and SIGTERM into a stop; a signal that was switched off from outside stays off."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _raise)


def _raise(number: int, _frame: FrameType | None) -> None:
    Stopped.received = number
    deliver(Stopped(number))


def exit_code(number: int) -> int:
    """Return the code that shells expect: 130 for Ctrl-C, 143 for SIGTERM."""
    return 128 + number


def interrupt_message(error: BaseException, verb: str | None) -> str:
    """Return what to tell the user: what the release said about itself, or what is true of the verb."""
    told = getattr(error, "__notes__", ())
    if told:
        return f"interrupted: {'; '.join(told)}"
    if verb in SPENDING_VERBS:
        return "interrupted: what was recorded in a ledger stays recorded; 'sfumato ledger show LEDGER' lists it"
    return "interrupted: nothing was spent"


@dataclass
class InterruptNote:
    """What is true if a signal comes now; a verb that spends keeps it up to date."""

    words: str = NOTHING


@contextmanager
def interrupt_note() -> Generator[InterruptNote]:
    """Yield what is true so far; an interruption that says nothing itself carries it to the user."""
    stand = InterruptNote()
    try:
        yield stand
    except BaseException as error:
        stopped = Stopped.received is not None or not isinstance(error, Exception | SystemExit)
        if stopped and not getattr(error, "__notes__", ()):
            error.add_note(stand.words)
        raise


def before_anything(number: int) -> int:
    """Say that nothing had begun, without any import, and return the exit code."""
    sys.stderr.write(f"interrupted before anything began: {NOTHING}\n")
    return exit_code(number)
