"""The verbs sfumato ledger init, show, verify, export and upgrade."""

from __future__ import annotations

import json as json_module
import os
from typing import Annotated, Any

import typer

from sfumato.cli.console import EXIT_ERROR, Voice
from sfumato.cli.options import AsJson
from sfumato.errors import LedgerError
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.exact import at_least, to_fraction
from sfumato.privacy.exact import format_fraction as in_short
from sfumato.privacy.ledger import Account, Entry, Ledger, Outcome, Verification
from sfumato.privacy.ledger.spend_outcomes import UNKNOWN
from sfumato.schema import Schema

ledger_app = typer.Typer(
    no_args_is_help=True, help="Keep the privacy budget: one account per table, every event recorded."
)
Url = Annotated[str | None, typer.Argument(metavar="LEDGER", help="Ledger file, or a postgresql:// URL.")]
UrlOption = Annotated[str | None, typer.Option("--ledger", "-l", help="The same as the LEDGER argument.")]
DEFAULT_DELTA = "1e-6"
"""Enough for a thousand releases by the default method at its own default delta."""
TableName = Annotated[str | None, typer.Option("--table", "-t", help="Name of the table.")]


def _open(url: str | None, option: str | None) -> Ledger:
    chosen = url or option
    if chosen is None:
        raise LedgerError(
            "no ledger given", next_step="name the ledger file, for example: sfumato ledger show budget.db"
        )
    return Ledger(chosen)


@ledger_app.command()
def init(
    ledger: Url = None,
    ledger_option: UrlOption = None,
    schema: Annotated[
        str | None, typer.Option("--schema", "-s", help="Take table name and adjacency from this schema.")
    ] = None,
    table: TableName = None,
    epsilon: Annotated[str, typer.Option(help="Cap on the sum of epsilon over all releases of the table.")] = "1",
    delta: Annotated[
        str | None,
        typer.Option(help=f"Cap on the sum of delta, {DEFAULT_DELTA} unless said; 0 allows Laplace noise only."),
    ] = None,
    adjacency: Annotated[str | None, typer.Option(help="add-remove or replace; the schema's unless said.")] = None,
    composition: Annotated[
        str,
        typer.Option(
            help="basic: exact sums, always valid. tight: composed losses, for parameters fixed beforehand. filter, or "
            "'filter SHARE': totals of mu^2 and rho fixed now, for AIM and MST chosen one after the other."
        ),
    ] = "basic",
    json: AsJson = False,
) -> None:
    """Open an account for a table, with a cap that no release may exceed."""
    voice = Voice(json)
    facts = Schema.load(schema) if schema else None
    name = table or (facts.name if facts else None)
    if name is None:
        raise LedgerError("which table?", next_step="give --schema SCHEMA or --table NAME")
    opened: Any = _open(ledger, ledger_option)
    hidden = adjacency or (facts.adjacency if facts else "add-remove")
    opened.open_table(name, epsilon=epsilon, delta=delta or DEFAULT_DELTA, adjacency=hidden, composition=composition)
    account = opened.account(name)
    caps = f"cap epsilon {account.cap_epsilon}, delta {account.cap_delta}"
    voice.say(f"table {name!r}: {caps}, {hidden}, {_composition_words(account)}")
    if delta is None:
        voice.say(
            f"the cap on delta is the default, {DEFAULT_DELTA}: the default method needs one; --delta 0 allows none"
        )
    voice.document(account.model_dump(mode="json"))


@ledger_app.command()
def show(ledger: Url = None, ledger_option: UrlOption = None, table: TableName = None, json: AsJson = False) -> None:
    """Show the accounts: caps, what is spent, what is left, every event, and the exposures beside them."""
    voice = Voice(json)
    book = _open(ledger, ledger_option)
    if json:
        book.require_sound()  # before, because standard output holds one document: this one, or the error
    accounts = [book.account(table)] if table else list(book.accounts())
    entries, outcomes = book.history(table), book.outcomes(table)
    headers = ("table", "cap", "spent", "left", "delta cap", "events", "exposures")
    voice.table("Accounts", headers, [_account_cells(account) for account in accounts])
    for account in accounts:
        unit = f"unit: {account.unit}" if account.unit else "the first formal event decides the unit"
        voice.say(f"{account.name}: {account.adjacency}, {unit}, {_composition_words(account)}")
    voice.table(
        "Events",
        ("no", "recorded", "table", "method", "noise", "epsilon", "delta"),
        [[e.sequence, e.recorded_at[:19], e.table, *_event_cells(e.event)] for e in entries],
    )
    for entry in entries:
        voice.say(_outcome_text(entry, outcomes.get(entry.sequence)))
    voice.document(
        {
            "accounts": [account.model_dump(mode="json") for account in accounts],
            "entries": [_entry_document(entry, outcomes.get(entry.sequence)) for entry in entries],
        }
    )
    book.require_sound()


def _composition_words(account: Account) -> str:
    if account.totals is None:
        return f"{account.composition} composition"
    return f"{account.composition} composition: {account.totals}; holds for releases chosen one after the other"


def _account_cells(account: Account) -> list[str]:
    spent = account.tight_epsilon or account.spent_epsilon
    amounts = [account.cap_epsilon, in_short(to_fraction(spent)), at_least(account.left_epsilon), account.cap_delta]
    return [account.name, *amounts, str(account.events), str(account.exposures)]


def _event_cells(event: Event) -> list[str]:
    return [event.method, event.kind, event.epsilon or "exposure", event.delta]


def _outcome_text(entry: Entry, outcome: Outcome | None) -> str:
    note = f"; note: {entry.event.note}" if entry.event.note else ""
    return f"{entry.sequence}: unit: {entry.event.unit}; {outcome or UNKNOWN}{note}"


def _entry_document(entry: Entry, outcome: Outcome | None) -> dict[str, Any]:
    found = None if outcome is None else outcome.model_dump(mode="json")
    return {**entry.model_dump(mode="json"), "outcome": found}


@ledger_app.command()
def verify(
    ledger: Url = None,
    ledger_option: UrlOption = None,
    head: Annotated[str | None, typer.Option(help="Head hash written down earlier, for example in a bundle.")] = None,
    json: AsJson = False,
) -> None:
    """Check the hash chain and the totals: every edit by hand shows."""
    voice = Voice(json)
    result = _open(ledger, ledger_option).verify(expected_head=head)
    _tell(voice, result)
    if not result.ok:
        told = "LedgerTampered: do not release from this ledger; a backup in its place forgets every spend after it"
        voice.err.print(told, markup=False)
        raise typer.Exit(EXIT_ERROR)


def _tell(voice: Voice, result: Verification) -> None:
    voice.document(result.model_dump(mode="json"))
    for problem in result.problems:
        voice.say(f"  - {problem}", style="red")
    for warning in result.warnings:
        voice.say(f"  - note: {warning}", style="yellow")
    verdict = "the ledger holds" if result.ok else "the ledger was changed or damaged"
    voice.say(f"{verdict}: {result.entries} row{'s' if result.entries != 1 else ''}, head {result.head}")


@ledger_app.command()
def upgrade(ledger: Url = None, ledger_option: UrlOption = None, json: AsJson = False) -> None:
    """Check a ledger of an older format as a whole, and go on in the present one. Make a copy first."""
    _tell(Voice(json), _open(ledger, ledger_option).upgrade())


@ledger_app.command()
def export(
    ledger: Url = None,
    ledger_option: UrlOption = None,
    out: Annotated[str | None, typer.Option("--out", "-o", help="Write here instead of standard output.")] = None,
    json: AsJson = False,
) -> None:
    """Export the whole ledger as JSON, for auditors."""
    body = json_module.dumps(_open(ledger, ledger_option).export(), indent=2)
    if out is None:
        typer.echo(body)
        return
    try:
        _write_private(out, body + "\n")
    except OSError as error:
        raise LedgerError(f"cannot write {out!r}: {error.strerror}", next_step="choose another --out") from error
    voice = Voice(json)
    voice.say(f"exported to {out}")
    voice.document({"path": out})


def _write_private(path: str, body: str) -> None:
    """Write a file that only its owner can read: notes stand in it. A file that is there keeps its permissions."""
    descriptor = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(body)
