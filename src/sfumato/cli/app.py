"""The root of the command line, and the one place where errors meet the user."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from functools import cache
from typing import Annotated

import typer

from sfumato.cli.console import Voice, shown_warnings
from sfumato.cli.interrupt import Interrupted, exit_code, words
from sfumato.errors import ResourceError, SfumatoError

EXIT_BUG = 70
DEBUG_VARIABLE = "SFUMATO_DEBUG"

app = typer.Typer(
    name="sfumato",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="""Release a sensitive table safely, say what is guaranteed, and keep the privacy budget.

A first release takes five steps:

1. `sfumato schema draft people.csv --out people.toml` proposes a schema; replace what is not public knowledge

2. `sfumato schema confirm people.toml` vouches that every fact in it is public

3. `sfumato ledger init budget.db --schema people.toml --epsilon 5 --delta 1e-6` opens an account with a cap

4. `sfumato plan --schema people.toml --epsilon 1 --ledger budget.db` says what a synthetic table would cost

5. `sfumato release people.csv` with the same arguments and `--out bundle` makes it

More rows cost nothing: `sfumato sample bundle --rows 100000 --out more.parquet`

Counts, entropies, mean curves and other synthesizers are named with `--method`; `sfumato methods` lists them.
`sfumato demo` shows all of it on made-up households.""",
)


def _version(wanted: bool) -> None:
    if wanted:
        from sfumato.version import __version__

        typer.echo(f"sfumato {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    """Hold the options that stand before any verb."""


@cache
def _register() -> None:
    from sfumato.cli import (
        attack_verbs,
        calibrate_verb,
        demo_verb,
        doctor_verb,
        ledger_verbs,
        release_verbs,
        risk_verbs,
        sample_verb,
        schema_verbs,
    )
    from sfumato.papers import reproduce_verb

    schema_verbs.register(app)
    release_verbs.register(app)
    sample_verb.register(app)
    ledger_verbs.register(app)
    demo_verb.register(app)
    reproduce_verb.register(app)
    risk_verbs.register(app)
    attack_verbs.register(app)
    calibrate_verb.register(app)
    doctor_verb.register(app)


def run() -> int:
    """Run one command and return its exit code: 0, 2 with a named error, or 130 and 143 when a signal stopped it."""
    voice = Voice(json="--json" in sys.argv)
    try:
        _register()
        with shown_warnings(voice):
            app()
    except SystemExit as stop:
        cause = _cause(stop)
        if isinstance(cause, KeyboardInterrupt):
            return voice.stop(words(cause, _verb()), exit_code(signal.SIGINT))
        return int(stop.code) if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException as error:  # noqa: BLE001  the last line of defence: a user sees a sentence, not a traceback
        return _failed(voice, error)
    return 0


def _failed(voice: Voice, error: BaseException) -> int:
    number = error.number if isinstance(error, Interrupted) else Interrupted.received
    if number is not None:  # an engine may have turned the signal into an error of its own
        return voice.stop(words(error, _verb()), exit_code(number))
    if isinstance(error, SfumatoError):
        return voice.fail(error)
    if isinstance(error, KeyboardInterrupt):
        return voice.stop(words(error, _verb()), exit_code(signal.SIGINT))
    if isinstance(error, MemoryError | RecursionError):
        return voice.fail(_exhausted(error))
    return _report_bug(voice, error)


def _cause(stop: BaseException) -> BaseException | None:
    """Return what the command line library turned into an exit."""
    found: BaseException | None = stop
    while found is not None and not isinstance(found, KeyboardInterrupt):
        found = found.__cause__ or found.__context__
    return found


def _verb() -> str | None:
    return next((word for word in sys.argv[1:] if not word.startswith("-")), None)


def _exhausted(error: MemoryError | RecursionError) -> ResourceError:
    if isinstance(error, MemoryError):
        found = ResourceError(
            "there is not enough memory for this", next_step="use fewer columns, levels, bins or rows"
        )
    else:
        found = ResourceError("something given is nested too deeply", next_step="write rules and settings more simply")
    for note in getattr(error, "__notes__", ()):
        found.add_note(note)
    return found


def _report_bug(voice: Voice, error: BaseException) -> int:
    if os.environ.get(DEBUG_VARIABLE):
        traceback.print_exception(error)
    told = "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))
    voice.complain(
        f"This is a bug in sfumato ({type(error).__name__}: {error}).{told}\n"
        f"Next step: run again with {DEBUG_VARIABLE}=1 and report what it prints, without private values."
    )
    return EXIT_BUG
