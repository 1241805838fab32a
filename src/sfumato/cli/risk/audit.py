"""The verb sfumato risk audit: test a claimed epsilon by attacks on chosen tables."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.console import Voice
from sfumato.cli.options import AsJson, Delta, Epsilon, SchemaPath, Settings, build_method
from sfumato.errors import RiskError
from sfumato.schema import Schema

EXIT_REFUTED = 3
NO_DATA = "The tables were made from the schema: nothing private was read, nothing was spent."
ONE_RELEASE = "A release that exists"
"""The part of the help about canaries."""


def audit(
    schema: SchemaPath,
    method: Annotated[
        str | None, typer.Argument(metavar="METHOD", help="The method to audit; 'sfumato methods' lists them.")
    ] = None,
    settings: Settings = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    runs: Annotated[int, typer.Option(help="How often the method is run on each of two tables.")] = 120,
    confidence: Annotated[float, typer.Option(help="How sure the bounds are.")] = 0.95,
    seed: Annotated[int | None, typer.Option(help="Repeat the same audit.")] = None,
    make_canaries: Annotated[
        int | None,
        typer.Option(
            help="Make so many rows of nobody, each with a coin, for --canaries.", rich_help_panel=ONE_RELEASE
        ),
    ] = None,
    canaries: Annotated[
        str | None,
        typer.Option(help="The secret record of rows and coins: a new file, or one made.", rich_help_panel=ONE_RELEASE),
    ] = None,
    rows_out: Annotated[
        str | None,
        typer.Option(help="With --make-canaries: the rows to put into the table (CSV).", rich_help_panel=ONE_RELEASE),
    ] = None,
    released: Annotated[
        str | None,
        typer.Option(help="With --canaries: the rows that were released (a file).", rich_help_panel=ONE_RELEASE),
    ] = None,
    json: AsJson = False,
) -> None:
    """Audit a method: run it on hard neighbouring tables, and hold what it gives away against its claim.

    Needs no private data. The exit code is 3 where the claim is refuted, so that it can stand in a pipeline. A release
    that exists is audited by canaries: make them, put them into the table, release it, and come back with the release.
    """
    voice, facts = Voice(json), Schema.load(schema)
    if make_canaries is not None:
        _make_canaries(voice, facts, make_canaries, canaries, rows_out, seed)
    elif canaries is not None:
        _audit_release(voice, facts, canaries, released, epsilon, delta, confidence)
    elif method is not None:
        _audit_method(voice, facts, build_method(method, settings or [], epsilon, delta), runs, confidence, seed)
    else:
        raise RiskError("what shall be audited?", next_step="name a method: sfumato audit aim --schema S --epsilon 1")


def _audit_method(voice: Voice, facts: Schema, method: Any, runs: int, confidence: float, seed: int | None) -> None:
    from sfumato.risk.auditing.audit import audit as audited

    with voice.counting(f"auditing {method.name}"):
        found = audited(method, facts, runs, confidence, seed)
    rows = [
        ["epsilon", _shown(found.epsilon_low), _shown(found.epsilon_claimed)],
        ["mu", _shown(found.mu_low), _shown(found.mu_claimed)],
    ]
    voice.table(f"Audit of {found.method} at delta {found.delta:.3g}", ("", "at least", "claimed"), rows)
    voice.say(found.statement(), style="red" if found.refuted else None)
    voice.say(f"Columns that were audited: {', '.join(found.columns)}. {NO_DATA}")
    _end(voice, found)


def _make_canaries(
    voice: Voice, facts: Schema, count: int, record: str | None, rows: str | None, seed: int | None
) -> None:
    from pyarrow import csv

    from sfumato.atomic_files import atomic_file
    from sfumato.risk.auditing.one_run import make_canaries

    if record is None or rows is None:
        raise RiskError(
            "canaries need two places: --canaries for the secret record, --rows-out for the rows",
            next_step="add --canaries coins.json --rows-out canaries.csv",
        )
    made = make_canaries(facts, count, seed)
    made.save(record)
    with atomic_file(Path(rows)) as place:
        csv.write_csv(made.included, place)
    told = (
        f"{made.included.num_rows} of {count} canaries are in {rows}: put these rows into the table, then release it."
    )
    voice.say(told)
    voice.say(f"Keep {record} secret: it says which of them are there.", style="yellow")
    voice.document({"canaries": count, "included": made.included.num_rows, "record": record, "rows": rows})


def _audit_release(
    voice: Voice,
    facts: Schema,
    record: str,
    released: str | None,
    epsilon: str | None,
    delta: str | None,
    confidence: float,
) -> None:
    from sfumato.risk.auditing.one_run import Canaries, one_run_audit

    if released is None or epsilon is None:
        raise RiskError(
            "an audit by canaries needs the released rows and the claimed epsilon",
            next_step="add --released bundle/data.csv --epsilon 1 --delta 1e-9",
        )
    found = one_run_audit(
        Canaries.load(record, facts), released, float(epsilon), float(delta or 0), confidence=confidence
    )
    voice.say(found.statement(), style="red" if found.refuted else None)
    _end(voice, found)


def _end(voice: Voice, found: Any) -> None:
    body = {key: _plain(value) for key, value in dataclasses.asdict(found).items()}
    voice.document({**body, "refuted": found.refuted, "statement": found.statement()})
    if found.refuted:
        raise typer.Exit(EXIT_REFUTED)


def _plain(value: Any) -> Any:
    """Return a value that JSON knows: an infinite bound is the word."""
    return "infinite" if isinstance(value, float) and math.isinf(value) else value


def _shown(value: float) -> str:
    return "any number" if math.isinf(value) else f"{value:.3g}"
