"""``sfumato ledger init | show | verify | export``."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.arguments import AsJson
from sfumato.cli.console import EXIT_ERROR, Voice
from sfumato.errors import LedgerError
from sfumato.privacy.event import Event
from sfumato.privacy.exact import exact
from sfumato.privacy.exact import show as in_short
from sfumato.privacy.ledger import Account, Ledger
from sfumato.schema import Schema

ledger_app = typer.Typer(
    no_args_is_help=True, help="Keep the privacy budget: one account per table, every event recorded."
)
Url = Annotated[str | None, typer.Argument(metavar="LEDGER", help="Ledger file, or a postgresql:// URL.")]
UrlOption = Annotated[str | None, typer.Option("--ledger", "-l", help="The same as the LEDGER argument.")]
TableName = Annotated[str | None, typer.Option("--table", "-t", help="Name of the table.")]


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.add_typer(ledger_app, name="ledger")


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
    delta: Annotated[str, typer.Option(help="Cap on the sum of delta; 0 allows Laplace noise only.")] = "0",
    adjacency: Annotated[str | None, typer.Option(help="add-remove or replace; the schema's unless said.")] = None,
    composition: Annotated[
        str,
        typer.Option(
            help="basic: exact sums, always valid. tight: privacy loss distributions, for parameters fixed beforehand."
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
    opened.open_table(name, epsilon=epsilon, delta=delta, adjacency=hidden, composition=composition)
    account = opened.account(name)
    caps = f"cap epsilon {account.cap_epsilon}, delta {account.cap_delta}"
    voice.say(f"table {name!r}: {caps}, {hidden}, {composition} composition")
    voice.document(account.model_dump(mode="json"))


@ledger_app.command()
def show(ledger: Url = None, ledger_option: UrlOption = None, table: TableName = None, json: AsJson = False) -> None:
    """Show the accounts: caps, what is spent, what is left, every event, and the exposures beside them."""
    voice = Voice(json)
    book = _open(ledger, ledger_option)
    accounts = [book.account(table)] if table else list(book.accounts())
    entries = book.history(table)
    headers = ("table", "cap", "spent", "left", "delta cap", "adjacency", "composition", "events", "exposures")
    voice.table("Accounts", headers, [_account_cells(account) for account in accounts])
    voice.table("Events", ("no", "recorded", "table", "method", "noise", "epsilon", "delta"), [
        [e.sequence, e.recorded_at[:19], e.table, *_event_cells(e.event)] for e in entries
    ])  # fmt: skip
    voice.document({
        "accounts": [account.model_dump(mode="json") for account in accounts],
        "entries": [entry.model_dump(mode="json") for entry in entries],
    })  # fmt: skip


def _account_cells(account: Account) -> list[str]:
    spent = account.tight_epsilon or account.spent_epsilon
    amounts = [account.cap_epsilon, in_short(exact(spent)), in_short(exact(account.left_epsilon)), account.cap_delta]
    return [account.name, *amounts, account.adjacency, account.composition, str(account.events), str(account.exposures)]


def _event_cells(event: Event) -> list[str]:
    return [event.method, event.kind, event.epsilon or "exposure", event.delta]


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
    voice.document(result.model_dump(mode="json"))
    for problem in result.problems:
        voice.say(f"  - {problem}", style="red")
    verdict = "the ledger holds" if result.ok else "the ledger was changed or damaged"
    voice.say(f"{verdict}: {result.entries} row{'s' if result.entries != 1 else ''}, head {result.head}")
    if not result.ok:
        voice.err.print("LedgerTampered: do not release from this ledger; restore it from a backup", markup=False)
        raise typer.Exit(EXIT_ERROR)


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
        Path(out).write_text(body + "\n", encoding="utf-8")
    except OSError as error:
        raise LedgerError(f"cannot write {out!r}: {error.strerror}", next_step="choose another --out") from error
    voice = Voice(json)
    voice.say(f"exported to {out}")
    voice.document({"path": out})
