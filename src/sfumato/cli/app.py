"""The root of the command line, and the one place where errors meet the user."""

from __future__ import annotations

import os
import sys
import traceback
from functools import cache
from typing import Annotated

import typer

from sfumato.cli.console import Voice
from sfumato.errors import SfumatoError

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
        from sfumato import __version__

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
        reproduce_verb,
        risk_verbs,
        sample_verb,
        schema_verbs,
    )

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
    """Run one command and return its exit code: 0, or 2 with a named error."""
    _register()
    voice = Voice(json="--json" in sys.argv)
    try:
        app()
    except SfumatoError as error:
        return voice.fail(error)
    except SystemExit as stop:
        return int(stop.code) if isinstance(stop.code, int) else int(stop.code is not None)
    except KeyboardInterrupt:
        voice.err.print("interrupted; what was recorded in a ledger stays recorded")
        return 130
    except Exception as error:  # noqa: BLE001  the last line of defence: a user sees a sentence, not a traceback
        return _report_bug(voice, error)
    return 0


def _report_bug(voice: Voice, error: Exception) -> int:
    if os.environ.get(DEBUG_VARIABLE):
        traceback.print_exception(error)
    voice.err.print(
        f"This is a bug in sfumato ({type(error).__name__}: {error}).\n"
        f"Next step: run again with {DEBUG_VARIABLE}=1 and report what it prints, without private values.",
        markup=False,
    )
    return EXIT_BUG
