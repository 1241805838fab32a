"""The verbs sfumato plan and sfumato release."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.console import Console
from sfumato.cli.interrupt import interrupt_note
from sfumato.cli.maintain.key import load_signing_key
from sfumato.cli.options import (
    AboutRows,
    AllowWeak,
    LedgerOptions,
    LedgerPath,
    MethodOptions,
    ReadersOptions,
    SchemaOptions,
    TableOptions,
)
from sfumato.cli.release.bundle_output import BundleOptions, BundleRun
from sfumato.cli.release.screen import ask_row_count, plan_document, release_document, show_plan, show_release
from sfumato.core.build_method import release_with_reason, with_reason
from sfumato.core.forecast_checks import refuse_if_noise_dominates
from sfumato.core.release import plan as plan_release
from sfumato.core.release import release as run_release
from sfumato.evaluate.uncertainty.main_numbers import checked_reruns


def plan(
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="Not read: a plan needs the schema only.")
    ] = None,
    ledger: LedgerPath = None,
    about_rows: AboutRows = None,
    allow_weak: AllowWeak = False,
    *,
    table: SchemaOptions,
    method: MethodOptions,
    console: Console,
) -> None:
    """Predict a release's accuracy, cost and needs without the data.

    Nothing is spent.
    """
    chosen, reason = method.choose(table.facts)
    planned = plan_release(table.facts, chosen, method.rows, ledger, allow_weak=allow_weak, about_rows=about_rows)
    explained = with_reason(planned, reason)
    show_plan(console, explained)
    console.print_json(plan_document(explained))


def release(
    table: TableOptions,
    method: MethodOptions,
    ledger: LedgerOptions,
    bundle: BundleOptions,
    readers: ReadersOptions,
    console: Console,
    private_report: Annotated[
        str | None,
        typer.Option("--private-report", help="Also write the custodian's report, with true values. Never publish it."),
    ] = None,
    allow_weak: AllowWeak = False,
) -> None:
    """Release a table under its schema and write a bundle.

    The bundle holds data, schema, release.json, report.html and a script that repeats the release. The budget is
    checked and recorded before any noise is drawn. If anything is wrong, nothing is written or spent; the same if noise
    would drown about as many rows as are public or guessed (--about-rows), unless --anyway is given. A ledger is
    required, or --no-ledger.
    """
    from sfumato.bundle.target_folder import prepare_output

    account, key = ledger.require_choice(), load_signing_key(bundle.sign)
    schema = table.facts.with_words(readers.words())
    chosen, reason = method.choose(schema)
    prepare_output(bundle.out, private_report)
    bundle.require_formats(chosen.makes, schema)
    checked_reruns(bundle.reruns)
    with interrupt_note() as note:
        opened = table.read(schema)
        plan_of = partial(plan_release, opened, chosen, method.rows, account, bundle.seed, allow_weak)
        about_rows = bundle.about_rows
        planned = plan_of(about_rows)
        if not bundle.anyway:
            if (guess := ask_row_count(console, planned)) is not None:
                about_rows, planned = guess, plan_of(guess)
            refuse_if_noise_dominates(planned)
        prepare_output(bundle.out, private_report, planned, account, bundle.formats)
        run = partial(run_release, opened, chosen, method.rows, account, bundle.seed, allow_weak, about_rows)
        private = opened if private_report else None
        saved = BundleRun(bundle, console, note, key, private_report, private)
        released, folder, reruns = saved.release(chosen, planned, lambda: release_with_reason(run(), reason))
        show_release(console, released, folder, table.data, verbose=bundle.verbose, again=reruns)
        if private_report and Path(private_report).exists():
            console.say(f"custodian's report (confidential): {private_report}", style="yellow")
        console.print_json(release_document(released, folder))
