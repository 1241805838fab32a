"""The verb sfumato synthesize: from an undescribed file to a bundle in one command."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sfumato.cli.console import Voice
from sfumato.cli.interrupt import interrupt_note
from sfumato.cli.key_verbs import Sign, signing_key
from sfumato.cli.ledger import DEFAULT_DELTA
from sfumato.cli.options import (
    DEFAULT_DIALECT,
    AboutRows,
    Also,
    Anyway,
    AsJson,
    Custodian,
    Data,
    Dialect,
    LedgerUrl,
    NoLedger,
    OptionalMethod,
    Region,
    Reruns,
    Rows,
    Seed,
    Use,
    Verbose,
    checked_reruns,
    planned_reruns,
    split_names,
    wanted_ledger,
    with_options,
)
from sfumato.cli.release.release import Out
from sfumato.cli.release.screen import release_document, show_release, show_verdict
from sfumato.core.outcome import spend_summary
from sfumato.errors import (
    LedgerError,
    NoLedgerError,
    PlanError,
    SfumatoError,
    TooLittleSeenError,
)
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.ledger.address import shown_address
from sfumato.table.sources import open_source

if TYPE_CHECKING:
    from sfumato.synthesis import SchemaDecision, SynthesisRequest

BETTER = (
    "better: facts with a source cost nothing and leave nothing to assume. 'sfumato schema draft DATA --out s.toml' "
    "proposes them, 'sfumato schema confirm s.toml' asks for their sources, 'sfumato release' does the rest"
)
Epsilon = Annotated[str, typer.Option(help="The most that all of it may cost, bought facts and rows together.")]
Buy = Annotated[
    str | None,
    typer.Option(
        help="Buy bounds and values for this part of epsilon, such as 0.2, instead of taking them as they are."
    ),
]
OpenLedger = Annotated[
    str | None,
    typer.Option("--open-ledger", metavar="CAP", help="Open an account for the table first, with this cap on epsilon."),
]
PersonColumn = Annotated[str | None, typer.Option("--person", help="The column that tells people apart.")]
NoPerson = Annotated[bool, typer.Option("--no-person", help="Every row is somebody else's.")]
RowsPerPerson = Annotated[int | None, typer.Option(help="How many rows of one person count at most.")]
Columns = Annotated[
    list[str] | None, typer.Option("--columns", help="Only these columns, such as age,sex; all unless said.")
]
By = Annotated[
    str | None,
    typer.Option("--by", metavar="NAME", help="Who accepts or buys the facts; the account's name unless said."),
]
SchemaOut = Annotated[
    str | None, typer.Option("--schema-out", help="Also write the schema that was made to this file.")
]


@with_options
def synthesize(
    data: Data,
    out: Out,
    epsilon: Epsilon = "1",
    delta: Annotated[
        str | None, typer.Option(help="The most that delta may be; 1e-9 for each part unless said.")
    ] = None,
    buy: Buy = None,
    ledger: LedgerUrl = None,
    no_ledger: NoLedger = False,
    open_ledger: OpenLedger = None,
    name: Annotated[str | None, typer.Option(help="Name of the table; the file's name unless said.")] = None,
    person: PersonColumn = None,
    no_person: NoPerson = False,
    rows_per_person: RowsPerPerson = None,
    columns: Columns = None,
    about_rows: AboutRows = None,
    anyway: Anyway = False,
    method: OptionalMethod = None,
    rows: Rows = None,
    seed: Seed = None,
    schema_out: SchemaOut = None,
    by: By = None,
    dialect: Dialect = DEFAULT_DIALECT,
    verbose: Verbose = False,
    reruns: Reruns = None,
    also: Also = None,
    sign: Sign = None,
    custodian: Custodian = None,
    use: Use = None,
    region: Region = None,
    json: AsJson = False,
) -> None:
    """Release a file that nobody has described yet, in one command, and say in words what was assumed.

    The schema is drafted from the rows and accepted as it is, which the guarantee states, or bought with --buy. Nothing
    is spent before the budget and the table were checked.
    """
    from sfumato.bundle.target_folder import prepare_output
    from sfumato.bundle.write import check_copy_formats, kept_on_failure
    from sfumato.synthesis import SynthesisRequest
    from sfumato.table.writing.formats import dry_run_copies, requested_suffixes

    voice, book = Voice(json), wanted_ledger(ledger, no_ledger, "give --ledger budget.db --open-ledger 5")
    whose, key = _person_option(person, no_person), signing_key(sign)
    words = {"custodian": custodian, "use": use, "region": region}
    named_columns = split_names(columns)
    wish = SynthesisRequest(
        epsilon, delta, buy, whose, rows_per_person, method, named_columns, seed, by, about_rows, anyway, words
    )
    again_wish = checked_reruns(reruns)
    prepare_output(out, None)
    requested_suffixes(also or ())
    _refuse_taken(schema_out)
    named = name or open_source(data, dialect).name
    _require_account(voice, book, named, open_ledger)
    with interrupt_note() as stand:
        with voice.counting("looking at the table"):
            described = _schema_for(data, wish, book, named, dialect, voice, schema_out)
        _print_assumptions(voice, described)
        if schema_out:
            described.schema.save(schema_out)
        with voice.counting("checking the table"), _bought_kept(described, schema_out):
            ready = described.ready(rows)
            check_copy_formats(ready.method.makes, also or ())
            dry_run_copies(described.schema, also or ())
            prepare_output(out, None, ready.plan, book, also or ())
        again = planned_reruns(ready.method, ready.plan, again_wish)
        show_verdict(voice, ready.plan)
        with voice.counting("releasing", ready.plan.seconds), _bought_kept(described, schema_out):
            made = ready.released()
            stand.words = f"{spend_summary(made.entries)}; nothing was written" if made.entries else stand.words
            with kept_on_failure(made, Path(out).absolute(), key):
                bundle = made.save(out, reruns=again, also=also or (), sign=key)
        stand.words = f"the bundle is complete: {bundle}"
        show_release(voice, made, bundle, data, described.assumed, verbose, again)
        voice.say(BETTER)
        voice.document({**release_document(made, bundle), "assumed": list(described.assumed), "schema": schema_out})


def _schema_for(
    data: str,
    wish: SynthesisRequest,
    book: str | Literal[False],
    name: str,
    dialect: Dialect,
    voice: Voice,
    schema_out: str | None,
) -> SchemaDecision:
    """Return the table with a schema; where a purchase showed too little to go on, what it showed is kept."""
    from sfumato.synthesis import decide_schema

    try:
        return decide_schema(data, wish, book, name, dialect.stated(), voice.say)
    except TooLittleSeenError as error:
        if error.schema is None:
            raise
        more = "buy for more epsilon, fewer columns or fewer rows of one person; or state public facts in that schema"
        if schema_out:
            error.schema.save(schema_out)
            step = f"what was seen is kept in {schema_out}: release it with 'sfumato release --schema'; {more}"
        else:
            step = f"{more}. What was seen is paid for: keep this text\n{error.schema.to_toml()}"
        raise TooLittleSeenError(error.headline, error.problems, step) from error


def _person_option(person: str | None, nobody: bool) -> str | Literal[False] | None:
    if person is not None and nobody:
        raise PlanError("--person and --no-person were both given", next_step="give one of them")
    return False if nobody else person


@contextmanager
def _bought_kept(described: SchemaDecision, schema_out: str | None) -> Generator[None]:
    """Let an error say where the facts are that were paid for: this process ends, and a schema in memory with it."""
    try:
        yield
    except SfumatoError as error:
        if described.wish.bought:
            text = f"keep this text:\n{described.schema.to_toml()}"
            error.add_note(f"the bought schema is in {schema_out}" if schema_out else text)
        raise


def _refuse_taken(schema_out: str | None) -> None:
    if schema_out is not None and Path(schema_out).exists():
        raise PlanError(f"{schema_out!r} exists", next_step="choose another --schema-out")


def _require_account(voice: Voice, book: str | Literal[False], name: str, cap: str | None) -> None:
    """Find the table's account, or open it where that was asked for; without one nothing is looked at."""
    if book is False:
        if cap is not None:
            raise NoLedgerError("--open-ledger needs a ledger", next_step="give --ledger budget.db as well")
        return
    if cap is not None:
        account = Ledger(book).open_table(name, epsilon=cap, delta=DEFAULT_DELTA)
        caps = f"epsilon {account.cap_epsilon}, delta {account.cap_delta}"
        voice.say(f"ledger {shown_address(book)}: table {name!r} has a cap of {caps}")
        return
    try:
        Ledger(book).account(name)
    except LedgerError as error:
        init = f"sfumato ledger init {shown_address(book)} --table {name} --epsilon 5 --delta {DEFAULT_DELTA}"
        next_step = f"open one with '{init}', or add --open-ledger 5 to this command"
        raise type(error)(error.headline, error.problems, next_step) from error


def _print_assumptions(voice: Voice, described: SchemaDecision) -> None:
    """Tell the custodian what was assumed, and what the draft saw, which is for no other eyes."""
    voice.say("assumed, because nobody said otherwise:", style="bold")
    for words in described.assumed:
        voice.say(f"  {words}", style="yellow")
    if told := [note for note in described.drafted if note.startswith(("left out", "look at"))]:
        voice.say("seen in the rows, for your eyes only:", style="bold")
        for note in told:
            voice.say(f"  {note}")
