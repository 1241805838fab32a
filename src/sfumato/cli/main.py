"""The root command: its help, exit codes and error messages."""

from __future__ import annotations

import errno
import os
import signal
import sys
import traceback
from typing import Annotated

import typer

from sfumato.cli.console import Console, print_warnings
from sfumato.cli.interrupt import exit_code, interrupt_message
from sfumato.cli.verbs import LazyGroup
from sfumato.errors import PlanError, ResourceError, SfumatoError, place_of
from sfumato.progress import Stopped

EXIT_BUG = 70
DEBUG_VARIABLE = "SFUMATO_DEBUG"


app = typer.Typer(
    name="sfumato",
    cls=LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="""Release a sensitive table under differential privacy; keep its budget.

In one command: `sfumato synthesize people.csv --epsilon 1 --ledger budget.db --open-ledger 5 --out bundle`

Step by step: `schema draft`, `schema confirm`, `ledger init`, `plan`, `release`; each says what comes next, and
`sfumato VERB --help` explains it.""",
)


def _print_version(requested: bool) -> None:
    if requested:
        from sfumato.version import __version__

        typer.echo(f"sfumato {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Hold the options that precede every verb."""


def run() -> int:
    """Run one command and return its exit code: 0, 2 with a named error, or 130 and 143 when a signal stopped it."""
    console = Console(json="--json" in sys.argv)
    try:
        with print_warnings(console):
            app()
    except SystemExit as stop:
        cause = _cause(stop)
        if isinstance(cause, KeyboardInterrupt):
            return console.stop(interrupt_message(cause, _invoked_verb()), exit_code(signal.SIGINT))
        return int(stop.code) if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException as error:  # noqa: BLE001  the last line of defence: a user sees a sentence, not a traceback
        return _failed(console, error)
    return 0


def _failed(console: Console, error: BaseException) -> int:
    number = error.number if isinstance(error, Stopped) else Stopped.received
    if number is not None:  # an engine may have turned the signal into an error of its own
        return console.stop(interrupt_message(error, _invoked_verb()), exit_code(number))
    if isinstance(error, SfumatoError):
        return console.fail(error)
    if isinstance(error, KeyboardInterrupt):
        return console.stop(interrupt_message(error, _invoked_verb()), exit_code(signal.SIGINT))
    if isinstance(error, MemoryError | RecursionError):
        return console.fail(_exhausted(error))
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return console.fail(PlanError("a path among the arguments is too long", next_step="give a shorter path"))
    return _report_bug(console, error)


def _cause(stop: BaseException) -> BaseException | None:
    """Return the interruption that Typer turned into an exit."""
    cause: BaseException | None = stop
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__ or cause.__context__
    return cause


def _invoked_verb() -> str | None:
    return next((word for word in sys.argv[1:] if not word.startswith("-")), None)


def _exhausted(error: MemoryError | RecursionError) -> ResourceError:
    if isinstance(error, MemoryError):
        named = ResourceError("not enough memory", next_step="use fewer columns, levels, bins or rows")
    else:
        named = ResourceError("an argument is nested too deeply", next_step="simplify rules and settings")
    for note in getattr(error, "__notes__", ()):
        named.add_note(note)
    return named


def _report_bug(console: Console, error: BaseException) -> int:
    if os.environ.get(DEBUG_VARIABLE):
        traceback.print_exception(error)
    notes = "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))
    console.complain(
        f"This is a bug in sfumato ({place_of(error)}).{notes}\n"
        f"Next step: run again with {DEBUG_VARIABLE}=1 and report what it prints, without private values."
    )
    return EXIT_BUG
