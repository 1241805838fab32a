"""The verb sfumato quality: publish quality metrics computed under DP (spends budget)."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.console import Console
from sfumato.cli.interrupt import interrupt_note
from sfumato.cli.options import AboutRows, Bundle, FileOptions, LedgerOptions, Plan, Seed, split_names
from sfumato.core.outcome import mark_lost_on_failure, spend_summary
from sfumato.privacy.exact import format_fraction, to_fraction

if TYPE_CHECKING:
    from pathlib import Path

    from sfumato.evaluate.quality.run import QualityForecast
    from sfumato.evaluate.quality.statement import Quality


def quality(
    bundle: Bundle,
    file: FileOptions,
    ledger: LedgerOptions,
    console: Console,
    epsilon: Annotated[str, typer.Option(help="Budget of the statement, such as 0.05; it adds to what is spent.")],
    target: Annotated[
        str | None,
        typer.Option(help="Column to predict; default: the one with role target, or the last with few levels."),
    ] = None,
    correlations: Annotated[
        list[str] | None, typer.Option(help="Also publish the correlations of these columns, such as age,income.")
    ] = None,
    plan: Plan = False,
    about_rows: AboutRows = None,
    again: Annotated[bool, typer.Option("--again", help="Pay for another statement beside the existing one.")] = False,
    seed: Seed = None,
) -> None:
    """Publish quality metrics computed under DP (spends budget).

    The total variation distance of columns (tvd_1_q16), of pairs (tvd_2_q16), and how well a model trained on the
    released rows predicts true ones, each with an interval, are written to quality.json in the bundle; the other files
    stay as they are. The table is read with the bundle's schema. The cost is recorded before a row is counted.
    """
    from sfumato.evaluate.quality.run import forecast_quality, prepare_questions
    from sfumato.evaluate.quality.statement import next_statement_path

    account = ledger.ledger if plan else ledger.require_choice()
    next_statement_path(bundle, again or plan)
    with console.progress("training on the released rows"):
        questions = prepare_questions(bundle, epsilon, target, seed, split_names(correlations) or ())
    if plan:
        _print_plan(console, forecast_quality(questions, about_rows, account or None))
        return
    _run(console, questions, bundle, file, account, again)


def _run(console: Console, questions: Any, bundle: str, file: FileOptions, ledger: Any, again: bool) -> None:
    from sfumato.core.release import open_ledger
    from sfumato.errors import SfumatoError
    from sfumato.evaluate.quality.run import measure
    from sfumato.table import read

    with interrupt_note() as note:
        with console.progress("measuring"):
            table = read(file.data, questions.schema, **file.stated())
            quality = measure(questions, table, open_ledger(ledger))
            note.words = f"{spend_summary(quality.entries)}; nothing was written" if quality.entries else note.words
            # the process ends after an error, and the paid numbers with it
            with mark_lost_on_failure(quality.ledger, quality.entries, SfumatoError):
                path = quality.save(bundle, again)
        note.words = f"the statement is complete: {path}"
        _print_result(console, quality, path)


def _print_result(console: Console, quality: Quality, path: Path) -> None:
    from sfumato.bundle.layout import SIGNATURE

    headers = ("measure", "value", "95 % interval", "yardstick", "definition")
    grid = [[*line, one.words] for line, one in zip(quality._lines(), quality.measures, strict=True)]  # pyright: ignore[reportPrivateUsage]
    console.table(f"Quality of the release of table {quality.table!r}", headers, grid)
    console.say(f"predicted: {quality.target or 'nothing'} ({quality.why})")
    console.panel("What is promised", quality.guarantee.statement(), "yellow" if quality.stamp else "green")
    if quality.account is not None:
        console.say(f"left in the ledger: epsilon {quality.account.left_epsilon} of {quality.account.cap_epsilon}")
    console.say(f"statement: {path}", style="bold")
    if path.with_name(SIGNATURE).exists():
        folder = shlex.quote(str(path.parent))
        console.say(f"the signature does not cover it: sfumato key sign {folder} --sign KEY", style="yellow")
    console.print_json({**quality.to_dict(), "path": str(path)})


def _print_plan(console: Console, forecast: QualityForecast) -> None:
    rows = [[w.name, f"{w.at:g}", f"{w.low:.3g} to {w.high:.3g}", f"± {w.half:.2g}"] for w in forecast.widths]
    console.table(
        f"Plan: quality at about {forecast.rows:,} rows",
        ("measure", "if the value is", "95 % interval", "half-width"),
        rows,
    )
    cost = format_fraction(to_fraction(forecast.epsilon))
    console.say(f"cost:      epsilon {cost} under {forecast.adjacency}; nothing was spent")
    console.say(f"predicted: {forecast.target or 'nothing'} ({forecast.why})")
    if forecast.left_before is not None:
        console.say(f"budget:    {forecast.left_before} left before, {forecast.left_after} after")
    for note in forecast.notes:
        console.say(f"note:      {note}", style="yellow")
    console.print_json(forecast.to_dict())
