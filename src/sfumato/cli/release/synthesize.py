"""The verb sfumato synthesize: from an undescribed file to a bundle in one command."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sfumato.cli.console import Console
from sfumato.cli.interrupt import interrupt_note
from sfumato.cli.ledger import DEFAULT_DELTA
from sfumato.cli.maintain.key import load_signing_key
from sfumato.cli.options import FileOptions, LedgerOptions, NewTableName, PersonOptions, ReadersOptions, split_names
from sfumato.cli.release.bundle_output import BundleOptions, BundleRun
from sfumato.cli.release.screen import release_document, show_release
from sfumato.errors import (
    LedgerError,
    NoLedgerError,
    PlanError,
    SfumatoError,
    TooLittleSeenError,
)
from sfumato.evaluate.uncertainty.main_numbers import checked_reruns
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.ledger.address import shown_address
from sfumato.table.sources import open_source

if TYPE_CHECKING:
    from sfumato.synthesis import SchemaDecision, SynthesisRequest

TIP = (
    "Tip: a schema from documented sources costs no budget and needs no assumptions. 'sfumato schema draft DATA --out "
    "s.toml' proposes one, 'sfumato schema confirm s.toml' asks for its sources, 'sfumato release' does the rest"
)


@dataclass(frozen=True, kw_only=True)
class RequestOptions:
    """What is to be released of an undescribed file, and at what cost."""

    epsilon: Annotated[str, typer.Option(help="Total budget, for bought facts and rows together.")] = "1"
    delta: Annotated[str | None, typer.Option(help="Total delta; default: 1e-9 for each part.")] = None
    buy: Annotated[
        str | None,
        typer.Option(help="Buy bounds and values for this part of epsilon, such as 0.2, instead of copying them."),
    ] = None
    method: Annotated[
        str | None,
        typer.Option("--method", "-m", help="Release method; 'sfumato methods' lists them. Default: aim."),
    ] = None
    rows: Annotated[
        int | None, typer.Option(help="Number of synthetic rows; default: the noisy total of the table.")
    ] = None
    name: NewTableName = None
    columns: Annotated[list[str] | None, typer.Option(help="Only these columns, such as age,sex; default: all.")] = None
    by: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Who accepts or buys the facts; default: the name of your account."),
    ] = None
    open_ledger: Annotated[
        str | None, typer.Option(metavar="CAP", help="First open an account for the table with this cap on epsilon.")
    ] = None
    schema_out: Annotated[str | None, typer.Option(help="Also write the schema to this file.")] = None

    def request(self, bundle: BundleOptions, people: PersonOptions, readers: ReadersOptions) -> SynthesisRequest:
        """Return the request; whatever is wrong with it is reported before the file is opened."""
        from sfumato.synthesis import SynthesisRequest

        return SynthesisRequest(
            epsilon=self.epsilon,
            delta=self.delta,
            buy=self.buy,
            person=people.answer(),
            rows_per_person=people.rows_per_person,
            method=self.method,
            columns=split_names(self.columns),
            seed=bundle.seed,
            by=self.by,
            about_rows=bundle.about_rows,
            anyway=bundle.anyway,
            words=readers.words(),
        )


def synthesize(
    file: FileOptions,
    wanted: RequestOptions,
    people: PersonOptions,
    ledger: LedgerOptions,
    bundle: BundleOptions,
    readers: ReadersOptions,
    console: Console,
) -> None:
    """Release an undescribed file in one command.

    Prints what it assumes. The schema is drafted from the rows and accepted as it is, which the guarantee states, or
    bought with --buy. Nothing is spent before the budget and the table were checked.
    """
    from sfumato.bundle.target_folder import prepare_output
    from sfumato.table.writing.formats import requested_suffixes

    account = ledger.require_choice("add --ledger budget.db --open-ledger 5")
    key = load_signing_key(bundle.sign)
    request = wanted.request(bundle, people, readers)
    checked_reruns(bundle.reruns)
    prepare_output(bundle.out, None)
    requested_suffixes(bundle.formats)
    if wanted.schema_out is not None and Path(wanted.schema_out).exists():
        raise PlanError(f"{wanted.schema_out!r} exists", next_step="choose another --schema-out")
    name = wanted.name or open_source(file.data, file.dialect).name
    _require_account(console, account, name, wanted.open_ledger)
    with interrupt_note() as note:
        with console.progress("drafting the schema"):
            described = _schema_for(file, request, account, name, console, wanted.schema_out)
        _print_assumptions(console, described)
        if wanted.schema_out:
            described.schema.save(wanted.schema_out)
        with _keep_bought_schema(described, wanted.schema_out):
            with console.progress("checking the table"):
                ready = described.prepare(wanted.rows)
                bundle.require_formats(ready.method.makes, described.schema)
                prepare_output(bundle.out, None, ready.plan, account, bundle.formats)
            saved = BundleRun(bundle, console, note, key)
            released, folder, reruns = saved.release(ready.method, ready.plan, ready.released)
        show_release(console, released, folder, file.data, described.assumed, bundle.verbose, reruns)
        console.say(TIP)
        document = release_document(released, folder)
        console.print_json({**document, "assumed": list(described.assumed), "schema": wanted.schema_out})


def _schema_for(
    file: FileOptions,
    request: SynthesisRequest,
    ledger: str | Literal[False],
    name: str,
    console: Console,
    schema_out: str | None,
) -> SchemaDecision:
    """Return the table with a schema; a purchase that revealed too little still keeps what was paid for."""
    from sfumato.synthesis import decide_schema

    try:
        return decide_schema(file.data, request, ledger, name, file.stated(), console.say)
    except TooLittleSeenError as error:
        if error.schema is None:
            raise
        more = "buy for more epsilon, fewer columns or fewer rows of one person; or state public facts in that schema"
        if schema_out:
            error.schema.save(schema_out)
            step = f"the bought facts are in {schema_out}: release it with 'sfumato release --schema'; {more}"
        else:
            step = f"{more}. The facts are paid for: keep this text\n{error.schema.to_toml()}"
        raise TooLittleSeenError(error.headline, error.problems, step) from error


@contextmanager
def _keep_bought_schema(described: SchemaDecision, schema_out: str | None) -> Generator[None]:
    """Add to an error where the schema is that was paid for, which would end with this process."""
    try:
        yield
    except SfumatoError as error:
        if described.request.bought:
            text = f"keep this text:\n{described.schema.to_toml()}"
            error.add_note(f"the bought schema is in {schema_out}" if schema_out else text)
        raise


def _require_account(console: Console, ledger: str | Literal[False], name: str, cap: str | None) -> None:
    """Find the table's account, or open it with a cap; without one the file is not read."""
    if ledger is False:
        if cap is not None:
            raise NoLedgerError("--open-ledger needs a ledger", next_step="add --ledger budget.db")
        return
    if cap is not None:
        account = Ledger(ledger).open_table(name, epsilon=cap, delta=DEFAULT_DELTA)
        caps = f"epsilon {account.cap_epsilon}, delta {account.cap_delta}"
        console.say(f"ledger {shown_address(ledger)}: table {name!r} has a cap of {caps}")
        return
    try:
        Ledger(ledger).account(name)
    except LedgerError as error:
        init = f"sfumato ledger init {shown_address(ledger)} --table {name} --epsilon 5 --delta {DEFAULT_DELTA}"
        next_step = f"open one with '{init}', or add --open-ledger 5 to this command"
        raise type(error)(error.headline, error.problems, next_step) from error


def _print_assumptions(console: Console, described: SchemaDecision) -> None:
    """Print the assumptions, and what the draft found in the rows, which is confidential."""
    console.say("assumed, because nothing else was stated:", style="bold")
    for assumption in described.assumed:
        console.say(f"  {assumption}", style="yellow")
    if notes := [note for note in described.drafted if note.startswith(("left out", "look at"))]:
        console.say("found in the rows, for your eyes only:", style="bold")
        for note in notes:
            console.say(f"  {note}")
