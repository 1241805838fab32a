"""The verbs sfumato ledger init, show, verify, export and upgrade."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from sfumato.cli.console import EXIT_ERROR, Console
from sfumato.errors import LedgerError
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.exact import at_least, to_fraction
from sfumato.privacy.exact import format_fraction as in_short
from sfumato.privacy.ledger import Account, Entry, Ledger, Outcome, Verification
from sfumato.privacy.ledger.chain import UNKNOWN
from sfumato.schema import Schema

DEFAULT_DELTA = "1e-6"
"""Enough for a thousand releases by the default method at its own default delta."""
TableName = Annotated[str | None, typer.Option("--table", "-t", help="Name of the table.")]


@dataclass(frozen=True, kw_only=True)
class LedgerAddress:
    """A ledger, named as an argument or an option."""

    ledger: Annotated[str | None, typer.Argument(metavar="LEDGER", help="Ledger file, or a postgresql:// URL.")] = None
    ledger_option: Annotated[str | None, typer.Option("--ledger", "-l", help="The same as the LEDGER argument.")] = None

    def open(self) -> Ledger:
        """Open the ledger."""
        address = self.ledger or self.ledger_option
        if address is None:
            raise LedgerError(
                "no ledger given", next_step="name the ledger file, for example: sfumato ledger show budget.db"
            )
        return Ledger(address)


def init(
    ledger: LedgerAddress,
    console: Console,
    schema: Annotated[
        str | None, typer.Option("--schema", "-s", help="Take table name and adjacency from this schema.")
    ] = None,
    table: TableName = None,
    epsilon: Annotated[str, typer.Option(help="Cap on the sum of epsilon over all releases of the table.")] = "1",
    delta: Annotated[
        str | None,
        typer.Option(help=f"Cap on the sum of delta; default: {DEFAULT_DELTA}; 0 allows Laplace noise only."),
    ] = None,
    adjacency: Annotated[str | None, typer.Option(help="add-remove or replace; default: the schema's.")] = None,
    composition: Annotated[
        str,
        typer.Option(
            help="basic: exact sums, always valid. tight: composed losses, for parameters fixed beforehand. filter, or "
            "'filter SHARE': totals of mu^2 and rho fixed now, for AIM and MST chosen one after the other."
        ),
    ] = "basic",
) -> None:
    """Open an account for a table, with a cap on its budget.

    No release can exceed the cap.
    """
    facts = Schema.load(schema) if schema else None
    name = table or (facts.name if facts else None)
    if name is None:
        raise LedgerError("which table?", next_step="give --schema SCHEMA or --table NAME")
    unit = adjacency or (facts.adjacency if facts else "add-remove")
    opened: Any = ledger.open()
    opened.open_table(name, epsilon=epsilon, delta=delta or DEFAULT_DELTA, adjacency=unit, composition=composition)
    account = opened.account(name)
    caps = f"cap epsilon {account.cap_epsilon}, delta {account.cap_delta}"
    console.say(f"table {name!r}: {caps}, {unit}, {_composition_words(account)}")
    if delta is None:
        console.say(
            f"the cap on delta is the default, {DEFAULT_DELTA}, which the default method needs; --delta 0 allows none"
        )
    console.print_json(account.model_dump(mode="json"))


def show(ledger: LedgerAddress, console: Console, table: TableName = None) -> None:
    """Show caps, spent and remaining budget, and every event.

    Exposures (releases without a guarantee) are listed beside them.
    """
    opened = ledger.open()
    if console.json:
        opened.require_sound()  # before, because standard output holds one document: this one, or the error
    accounts = [opened.account(table)] if table else list(opened.accounts())
    entries, outcomes = opened.history(table), opened.outcomes(table)
    headers = ("table", "cap", "spent", "left", "delta cap", "events", "exposures")
    console.table("Accounts", headers, [_account_cells(account) for account in accounts])
    for account in accounts:
        unit = f"unit: {account.unit}" if account.unit else "the first formal event decides the unit"
        console.say(f"{account.name}: {account.adjacency}, {unit}, {_composition_words(account)}")
    console.table(
        "Events",
        ("no", "recorded", "table", "method", "noise", "epsilon", "delta"),
        [[e.sequence, e.recorded_at[:19], e.table, *_event_cells(e.event)] for e in entries],
    )
    for entry in entries:
        console.say(_outcome_text(entry, outcomes.get(entry.sequence)))
    console.print_json(
        {
            "accounts": [account.model_dump(mode="json") for account in accounts],
            "entries": [_entry_document(entry, outcomes.get(entry.sequence)) for entry in entries],
        }
    )
    opened.require_sound()


def _composition_words(account: Account) -> str:
    if account.totals is None:
        return f"{account.composition} composition"
    return f"{account.composition} composition: {account.totals}; holds for releases chosen one after the other"


def _account_cells(account: Account) -> list[str]:
    spent = in_short(to_fraction(account.total_epsilon))
    amounts = [account.cap_epsilon, spent, at_least(account.left_epsilon), account.cap_delta]
    return [account.name, *amounts, str(account.events), str(account.exposures)]


def _event_cells(event: Event) -> list[str]:
    return [event.method, event.kind, event.epsilon or "exposure", event.delta]


def _outcome_text(entry: Entry, outcome: Outcome | None) -> str:
    note = f"; note: {entry.event.note}" if entry.event.note else ""
    return f"{entry.sequence}: unit: {entry.event.unit}; {outcome or UNKNOWN}{note}"


def _entry_document(entry: Entry, outcome: Outcome | None) -> dict[str, Any]:
    document = None if outcome is None else outcome.model_dump(mode="json")
    return {**entry.model_dump(mode="json"), "outcome": document}


def verify(
    ledger: LedgerAddress,
    console: Console,
    head: Annotated[str | None, typer.Option(help="Head hash written down earlier, for example in a bundle.")] = None,
) -> None:
    """Check the hash chain and the totals of a ledger.

    Every manual edit is detected.
    """
    result = ledger.open().verify(expected_head=head)
    _print_result(console, result)
    if not result.ok:
        console.complain(
            "LedgerTampered: do not release from this ledger; a backup in its place forgets every later spend"
        )
        raise typer.Exit(EXIT_ERROR)


def _print_result(console: Console, result: Verification) -> None:
    console.print_json(result.model_dump(mode="json"))
    for problem in result.problems:
        console.say(f"  - {problem}", style="red")
    for warning in result.warnings:
        console.say(f"  - note: {warning}", style="yellow")
    verdict = "the ledger holds" if result.ok else "the ledger was changed or damaged"
    console.say(f"{verdict}: {result.entries} row{'s' if result.entries != 1 else ''}, head {result.head}")


def upgrade(ledger: LedgerAddress, console: Console) -> None:
    """Check a ledger of an older format and upgrade it.

    Make a copy first.
    """
    _print_result(console, ledger.open().upgrade())


def export(
    ledger: LedgerAddress,
    console: Console,
    out: Annotated[str | None, typer.Option("--out", "-o", help="Write here instead of standard output.")] = None,
) -> None:
    """Export the whole ledger as JSON for auditors."""
    body = json.dumps(ledger.open().export(), indent=2)
    if out is None:
        typer.echo(body)
        return
    try:
        _write_private(out, body + "\n")
    except OSError as error:
        raise LedgerError(f"cannot write {out!r}: {error.strerror}", next_step="choose another --out") from error
    console.say(f"exported to {out}")
    console.print_json({"path": out})


def _write_private(path: str, body: str) -> None:
    """Write a file that only its owner can read, because it holds notes. An existing file keeps its permissions."""
    descriptor = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(body)
