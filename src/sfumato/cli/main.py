"""The root command: the table of verbs by group, exit codes, and error messages."""

from __future__ import annotations

import errno
import os
import signal
import sys
import traceback
from functools import cache
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from sfumato.cli.console import Voice, print_warnings
from sfumato.cli.interrupt import exit_code, interrupt_message
from sfumato.errors import PlanError, ResourceError, SfumatoError, place_of
from sfumato.lazy import load_object
from sfumato.progress import Stopped

EXIT_BUG = 70
DEBUG_VARIABLE = "SFUMATO_DEBUG"


class Verb(NamedTuple):
    """Where a verb lives, as ``module:function`` or ``module:group``, and its line in the list of commands."""

    home: str
    line: str


COMMANDS: dict[str, Verb] = {
    "plan": Verb(
        "sfumato.cli.release.release:plan",
        "Show what a release would be good for, cost and need, without touching the data or spending anything.",
    ),
    "release": Verb(
        "sfumato.cli.release.release:release",
        "Release a table and write the bundle: data, schema, release.json, report.html and the script that repeats it.",
    ),
    "synthesize": Verb(
        "sfumato.cli.release.synthesize:synthesize",
        "Release a file that nobody has described yet, in one command, and say in words what was assumed.",
    ),
    "verify": Verb(
        "sfumato.cli.release.release:verify",
        "Check a bundle: hashes, schema, events, guarantee, script, pages; its record in a ledger; who signed it.",
    ),
    "dpia": Verb(
        "sfumato.cli.maintain.dpia:dpia",
        "Fill in an impact assessment (DPIA) from a release; what only people know stays a named blank.",
    ),
    "compare": Verb(
        "sfumato.cli.evaluate.compare:compare",
        "Compare a release with the confidential table: how good it is, beside a second real sample. For your eyes.",
    ),
    "attack": Verb(
        "sfumato.cli.risk.attack:attack",
        "Attack a release: membership, singling out, linkage, inference, beside people not in it. For your eyes.",
    ),
    "uncertainty": Verb(
        "sfumato.cli.evaluate.uncertainty:uncertainty",
        "Say how sure a number of a release is, such as a mean by group. Needs the bundle alone and costs nothing.",
    ),
    "quality": Verb(
        "sfumato.cli.evaluate.quality:quality",
        "Measure a release against the table with noise, charged, so that its readers may be told how good it is.",
    ),
    "workbench": Verb(
        "sfumato.cli.release.workbench:workbench",
        "Open the workbench: from a file to a verified bundle in a browser, on this machine alone.",
    ),
    "methods": Verb(
        "sfumato.cli.release.release:methods_verb",
        "List the methods, or explain one: what it releases, what it promises, its parameters.",
    ),
    "sample": Verb(
        "sfumato.cli.release.sample:sample",
        "Draw synthetic rows from a fitted model. Nothing is spent, however many and however often.",
    ),
    "export": Verb(
        "sfumato.cli.maintain.export:export",
        "Write the rows of a bundle in another format, with labels of columns and values where it has a place for "
        "them.",
    ),
    "demo": Verb(
        "sfumato.cli.release.demo:demo",
        "Make 20,000 households and release them: a synthetic table, a histogram and cross tables, under one budget.",
    ),
    "reproduce": Verb(
        "sfumato.papers.reproduce_verb:reproduce",
        "Recompute a paper's figures of merit on its public data: a page and a JSON file, printed beside exact.",
    ),
    "calibrate": Verb(
        "sfumato.cli.evaluate.calibrate:calibrate",
        "Find the epsilon at which a method is good enough, or gives away little enough.",
    ),
    "advise": Verb(
        "sfumato.cli.research.advise:advise_app",
        "Choose parameters from public facts: ways to an entropy, the smoothing of a mean curve, a privacy test.",
    ),
    "doctor": Verb(
        "sfumato.cli.maintain.doctor:doctor",
        "Say which sampler draws the noise and why, run its self-test, and show what is installed.",
    ),
    "schema": Verb(
        "sfumato.cli.schema.draft:schema_app",
        "Draft, import, buy, check, confirm and show the public schema of a table.",
    ),
    "ledger": Verb(
        "sfumato.cli.ledger:ledger_app",
        "Keep the privacy budget: one account per table, every event recorded.",
    ),
    "key": Verb("sfumato.cli.key_verbs:key_app", "Make keys and sign bundles, so that readers can tell who released."),
    "audit": Verb(
        "sfumato.cli.risk.audit:audit",
        "Audit a method: run it on hard neighbouring tables, and hold what it gives away against its claim.",
    ),
    "risk": Verb("sfumato.cli.risk.games:risk_app", "Measure what a release would give away, before it is made."),
    "utility": Verb("sfumato.cli.evaluate.utility:utility_app", "Measure what a release can still be used for."),
}
"""The verbs in the order of the help. A module is imported when its verb runs or explains itself, and not before."""


@cache
def load_command(name: str) -> Any:
    """Return a verb as the command that runs."""
    home = typer.Typer(rich_markup_mode="markdown", pretty_exceptions_enable=False, add_completion=False)
    home.callback()(root)
    made = load_object(COMMANDS[name].home)
    if isinstance(made, typer.Typer):
        home.add_typer(made, name=name)
    else:
        home.command(name)(made)
    group: Any = typer.main.get_command(home)
    return group.commands[name]


class LazyGroup(TyperGroup):
    """The list of commands: placeholders with a line of help each, until one of them is wanted."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, (_, line) in COMMANDS.items():
            self.add_command(TyperCommand(name, help=line, rich_markup_mode=self.rich_markup_mode))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments name, with its module imported."""
        name, command, left = super().resolve_command(ctx, args)
        return name, command if name is None else load_command(name), left


app = typer.Typer(
    name="sfumato",
    cls=LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="""Release a sensitive table safely, say what is guaranteed, and keep the privacy budget.

A first release takes five steps:

1. `sfumato schema draft people.csv --out people.toml` proposes a schema; replace what is not public knowledge

2. `sfumato schema confirm people.toml --source '*=code book 2023'` says where its facts come from

3. `sfumato ledger init budget.db --schema people.toml --epsilon 5 --delta 1e-6` opens an account with a cap

4. `sfumato plan --schema people.toml --epsilon 1 --ledger budget.db` says what a synthetic table would cost

5. `sfumato release people.csv` with the same arguments and `--out bundle` makes it

In a hurry, `sfumato synthesize people.csv --epsilon 1 --ledger budget.db --open-ledger 5 --out bundle` does all of it,
and the guarantee states what was assumed.

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


def run() -> int:
    """Run one command and return its exit code: 0, 2 with a named error, or 130 and 143 when a signal stopped it."""
    voice = Voice(json="--json" in sys.argv)
    try:
        with print_warnings(voice):
            app()
    except SystemExit as stop:
        cause = _cause(stop)
        if isinstance(cause, KeyboardInterrupt):
            return voice.stop(interrupt_message(cause, _invoked_verb()), exit_code(signal.SIGINT))
        return int(stop.code) if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException as error:  # noqa: BLE001  the last line of defence: a user sees a sentence, not a traceback
        return _failed(voice, error)
    return 0


def _failed(voice: Voice, error: BaseException) -> int:
    number = error.number if isinstance(error, Stopped) else Stopped.received
    if number is not None:  # an engine may have turned the signal into an error of its own
        return voice.stop(interrupt_message(error, _invoked_verb()), exit_code(number))
    if isinstance(error, SfumatoError):
        return voice.fail(error)
    if isinstance(error, KeyboardInterrupt):
        return voice.stop(interrupt_message(error, _invoked_verb()), exit_code(signal.SIGINT))
    if isinstance(error, MemoryError | RecursionError):
        return voice.fail(_exhausted(error))
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return voice.fail(PlanError("a path among the arguments is too long", next_step="give a shorter path"))
    return _report_bug(voice, error)


def _cause(stop: BaseException) -> BaseException | None:
    """Return what the command line library turned into an exit."""
    found: BaseException | None = stop
    while found is not None and not isinstance(found, KeyboardInterrupt):
        found = found.__cause__ or found.__context__
    return found


def _invoked_verb() -> str | None:
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
        f"This is a bug in sfumato ({place_of(error)}).{told}\n"
        f"Next step: run again with {DEBUG_VARIABLE}=1 and report what it prints, without private values."
    )
    return EXIT_BUG
