"""The verb sfumato risk audit: test a claimed epsilon by attacks on chosen tables."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.console import Console
from sfumato.cli.options import Confidence, Repeat, SchemaOptions
from sfumato.core.build_method import build_method
from sfumato.errors import RiskError
from sfumato.schema import Schema

EXIT_REFUTED = 3
NO_DATA = "The tables were generated from the schema: no private data was read, and nothing was spent."
ONE_RELEASE = "Audit of an existing release"
"""The panel of the options about canaries."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """The method and the budget that it claims to keep."""

    method: Annotated[
        str | None, typer.Argument(metavar="METHOD", help="The method to audit; 'sfumato methods' lists them.")
    ] = None
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the method, such as columns=age,sex.")
    ] = None
    epsilon: Annotated[str | None, typer.Option(help="The claimed epsilon.")] = None
    delta: Annotated[str | None, typer.Option(help="The claimed delta.")] = None


@dataclass(frozen=True, kw_only=True)
class CanaryOptions:
    """An audit of an existing release by canaries."""

    make_canaries: Annotated[
        int | None,
        typer.Option(
            help="Generate this many invented rows, each included by a coin, for --canaries.",
            rich_help_panel=ONE_RELEASE,
        ),
    ] = None
    canaries: Annotated[
        str | None,
        typer.Option(help="The secret record of rows and coins: a new or existing file.", rich_help_panel=ONE_RELEASE),
    ] = None
    rows_out: Annotated[
        str | None,
        typer.Option(help="With --make-canaries: the rows to add to the table (CSV).", rich_help_panel=ONE_RELEASE),
    ] = None
    released: Annotated[
        str | None,
        typer.Option(help="With --canaries: the released rows (a file).", rich_help_panel=ONE_RELEASE),
    ] = None


def audit(
    schema: SchemaOptions,
    claim: Claim,
    canary: CanaryOptions,
    console: Console,
    runs: Annotated[int, typer.Option(help="Number of runs of the method on each of two tables.")] = 120,
    confidence: Confidence = 0.95,
    seed: Repeat = None,
) -> None:
    """Test a method's claimed epsilon by attacks.

    Runs the method on neighbouring tables that are hard to hide, and compares what the releases disclose with the
    claim. Needs no private data. The exit code is 3 if the claim is refuted, so that it can serve in a pipeline. To
    audit an existing release, generate canaries, add them to the table, release it, and come back with the release.
    """
    facts = schema.facts
    if canary.make_canaries is not None:
        _make_canaries(console, facts, canary, canary.make_canaries, seed)
    elif canary.canaries is not None:
        _audit_release(console, facts, canary.canaries, canary.released, claim, confidence)
    elif claim.method is not None:
        method = build_method(claim.method, claim.settings or [], claim.epsilon, claim.delta)
        _audit_method(console, facts, method, runs, confidence, seed)
    else:
        step = "name a method: sfumato risk audit aim --schema S --epsilon 1"
        raise RiskError("nothing to audit was named", next_step=step)


def _audit_method(console: Console, facts: Schema, method: Any, runs: int, confidence: float, seed: int | None) -> None:
    from sfumato.risk.auditing.audit import audit as audited

    with console.progress(f"auditing {method.name}"):
        result = audited(method, facts, runs, confidence, seed)
    rows = [
        ["epsilon", _shown(result.epsilon_low), _shown(result.epsilon_claimed)],
        ["mu", _shown(result.mu_low), _shown(result.mu_claimed)],
    ]
    console.table(f"Audit of {result.method} at delta {result.delta:.3g}", ("", "at least", "claimed"), rows)
    console.say(result.statement(), style="red" if result.refuted else None)
    console.say(f"Audited columns: {', '.join(result.columns)}. {NO_DATA}")
    _end(console, result)


def _make_canaries(console: Console, facts: Schema, options: CanaryOptions, count: int, seed: int | None) -> None:
    from pyarrow import csv

    from sfumato.atomic_files import atomic_file
    from sfumato.risk.auditing.one_run import make_canaries

    record, rows = options.canaries, options.rows_out
    if record is None or rows is None:
        raise RiskError(
            "canaries need two files: --canaries for the secret record, --rows-out for the rows",
            next_step="add --canaries coins.json --rows-out canaries.csv",
        )
    canaries = make_canaries(facts, count, seed)
    canaries.save(record)
    with atomic_file(Path(rows)) as place:
        csv.write_csv(canaries.included, place)
    included = canaries.included.num_rows
    console.say(f"{included} of {count} canaries are in {rows}: add these rows to the table, then release it.")
    console.say(f"Keep {record} secret: it records which of them are included.", style="yellow")
    console.print_json({"canaries": count, "included": included, "record": record, "rows": rows})


def _audit_release(
    console: Console,
    facts: Schema,
    record: str,
    released: str | None,
    claim: Claim,
    confidence: float,
) -> None:
    from sfumato.risk.auditing.one_run import Canaries, one_run_audit

    if released is None or claim.epsilon is None:
        raise RiskError(
            "an audit by canaries needs the released rows and the claimed epsilon",
            next_step="add --released bundle/data.csv --epsilon 1 --delta 1e-9",
        )
    canaries, epsilon, delta = Canaries.load(record, facts), float(claim.epsilon), float(claim.delta or 0)
    result = one_run_audit(canaries, released, epsilon, delta, confidence=confidence)
    console.say(result.statement(), style="red" if result.refuted else None)
    _end(console, result)


def _end(console: Console, result: Any) -> None:
    body = {key: _plain(value) for key, value in dataclasses.asdict(result).items()}
    console.print_json({**body, "refuted": result.refuted, "statement": result.statement()})
    if result.refuted:
        raise typer.Exit(EXIT_REFUTED)


def _plain(value: Any) -> Any:
    """Return a value for JSON: the word infinite for an infinite bound."""
    return "infinite" if isinstance(value, float) and math.isinf(value) else value


def _shown(value: float) -> str:
    return "any number" if math.isinf(value) else f"{value:.3g}"
