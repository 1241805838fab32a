"""Print plans, verdicts and releases on a terminal."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from sfumato.cli.console import Console
from sfumato.core.forecast import Forecast
from sfumato.core.forecast_checks import forecast_of_release, unjudged
from sfumato.core.plan import Plan, Stage, cost_summary
from sfumato.core.release import Release
from sfumato.formatting import counted
from sfumato.privacy.accounting.guarantee import one_unit
from sfumato.privacy.exact import to_fraction

HOW_MANY = "About how many rows does the table have? A public guess is enough (Enter to skip)"
MOST_STAGES, LAST_STAGES = 6, 2
STAGE_HEADERS = ("what is measured", "cells", "noise ±", "part of the cost")
STAGE_WORDS = "noise ±: 95 of 100 counts change by less than this; the parts of the cost add up to the cost above"


def show_plan(console: Console, plan: Plan) -> None:
    """Print a plan: forecast, cost, risk, needs and notes, then the measurements."""
    console.say(f"Plan: {plan.method} of table {plan.table!r}", style="bold")
    show_forecast(console, plan.forecast)
    console.say_labelled("cost:", f"{cost_summary(plan)} ({one_unit(plan.unit)})")
    if plan.risk():
        console.say_labelled("risk:", plan.risk())
    if plan.left_before is not None:
        console.say_labelled("budget:", f"{plan.left_before} left before, {plan.left_after} after")
    console.say_labelled("needs:", plan.needs())
    if plan.reading is not None:
        console.say_labelled("runs on:", plan.reading.where())
        console.say_labelled("reads:", plan.reading.how_often())
    for note in plan.notes:
        console.say_labelled("note:", note, style="yellow")
    tables = counted(len(plan.stages), "table")
    rows = truncate_rows([_stage_cells(stage) for stage in plan.stages])
    console.table(f"What is measured: {plan.cells:,} cells in {tables}", STAGE_HEADERS, rows)
    console.say(STAGE_WORDS)


def plan_document(plan: Plan) -> dict[str, Any]:
    """Return the JSON answer of a plan."""
    forecast = plan.forecast
    reading = None if plan.reading is None else plan.reading.model_dump(mode="json")
    facts = {**plan.model_dump(mode="json"), "advantage": plan.advantage, "reading": reading}
    return {**facts, "forecast": None if forecast is None else asdict(forecast)}


def show_verdict(console: Console, planned: Plan) -> None:
    """Print the verdict of the forecast before anything is spent."""
    if planned.forecast is not None:
        console.say_labelled("expected:", planned.forecast.verdict)


def ask_row_count(console: Console, planned: Plan) -> int | None:
    """Ask for the approximate number of rows, where it is unknown and a person is at the terminal."""
    if not unjudged(planned) or console.json or not sys.stdin.isatty():
        return None
    return typer.prompt(HOW_MANY, default="", show_default=False, value_proc=_guess) or None


def _guess(answer: str) -> int:
    plain = answer.strip().replace(",", "")
    if not plain:
        return 0
    if not plain.isdigit() or int(plain) < 1:
        raise typer.BadParameter(f"{answer!r} is not a number of rows, such as 5000")
    return int(plain)


def show_forecast(console: Console, forecast: Forecast | None, advice: bool = True) -> None:
    """Print a forecast, the verdict first; nothing for a method without one."""
    if forecast is None:
        return
    verdict, *others = forecast.sentences(advice)
    console.say_labelled("verdict:", verdict, style="bold red" if forecast.overwhelmed else "bold")
    for sentence in others:
        console.say_labelled("", sentence)


def _stage_cells(stage: Stage) -> list[str]:
    return [stage.name, f"{stage.cells:,}", _noise(stage), f"{100 * float(to_fraction(stage.share)):.3g} %"]


def _noise(stage: Stage) -> str:
    """Return the half-width of the noise of a count, or the word for a stage without such noise."""
    if stage.noise.endswith(("laplace", "gaussian")):
        return f"{stage.law.half_width():.3g}"
    return {"exponential weights": "a noisy choice", "heuristic": "none is proved"}.get(stage.noise, stage.noise)


def truncate_rows(rows: list[list[str]]) -> list[list[str]]:
    """Return the first and last stages of a long plan; those that differ are often at the end."""
    hidden = len(rows) - MOST_STAGES
    if hidden <= 1:
        return rows
    return [*rows[: MOST_STAGES - LAST_STAGES], [f"... {hidden} more", *[""] * 3], *rows[-LAST_STAGES:]]


def show_release(
    console: Console,
    released: Release,
    bundle: Path,
    data: str,
    printed: Sequence[str] = (),
    verbose: bool = False,
    again: int = 0,
) -> None:
    """Print what was released, the guarantee, the forecast, the paths and the next steps.

    Notes that were ``printed`` before are not repeated; statistics of the fitted model are for ``verbose``.
    """
    console.say_labelled("released:", _what(released), style="bold")
    careful = released.stamp or not released.guarantee.formal or released.guarantee.is_weak
    console.panel("What is promised", released.guarantee.statement(), "yellow" if careful else "green")
    show_forecast(console, forecast_of_release(released), advice=False)
    show_statistics(console, released, verbose)
    texts = (*printed, released.guarantee.statement())
    for note in released.notes:
        if not any(note in words for words in texts):
            console.say_labelled("note:", note, style="yellow")
    if released.account is not None:
        console.say(f"left in the ledger: epsilon {released.account.left_epsilon} of {released.account.cap_epsilon}")
    console.say(f"bundle: {bundle}", style="bold")
    console.say(f"report: {bundle / 'report.html'}", style="bold")
    if again:
        console.say(
            f"expected errors of its main numbers: in the report, from {again} reruns (--reruns 0 leaves them out)"
        )
    show_next_steps(console, released, bundle, data)


def _what(released: Release) -> str:
    """Return in a few words what came out."""
    first, *others = released.tables.values()
    if released.method.makes == "rows":
        copies = f", in {1 + len(others)} copies" if others else ""
        return f"{first.num_rows:,} rows with {first.num_columns} columns{copies}, by {released.method.name}"
    lines = sum(table.num_rows for table in released.tables.values())
    what = "count" if released.method.makes == "counts" else "number"
    noisy = f"one noisy {what}" if lines == 1 else f"{lines:,} noisy {what}s"
    return f"{noisy}{f' in {1 + len(others)} tables' if others else ''}, by {released.method.name}"


def show_next_steps(console: Console, released: Release, bundle: Path, data: str) -> None:
    """Print the next steps: compare, estimate errors, verify, draw more rows."""
    folder, rows = shlex.quote(str(bundle)), released.method.makes == "rows"
    if rows:
        console.say(f"next: sfumato compare {folder} {shlex.quote(data)}: its accuracy, for your eyes only")
    if rows and released.guarantee.formal:
        statistic = next((f"mean {column.name}" for column in released.schema if _has_mean(released, column)), None)
        if statistic is not None:
            quoted = shlex.quote(statistic)
            console.say(f"next: sfumato uncertainty {folder} --statistic {quoted}: the error of a statistic of it")
    console.say(f"next: sfumato verify {folder}{' --ledger LEDGER' if released.account is not None else ''}")
    show_model(console, released, bundle)


def _has_mean(released: Release, column: Any) -> bool:
    return column.kind in ("integer", "number") and column.name in next(iter(released.tables.values())).column_names


def show_model(console: Console, released: Release, bundle: Path) -> None:
    """Print how to draw more rows, where the release holds a fitted model."""
    if released.model is not None:
        folder = shlex.quote(str(bundle))
        console.say(f"more rows for free: sfumato sample {folder} --rows 100000 --out more.parquet")


def show_statistics(console: Console, released: Release, verbose: bool = False) -> None:
    """Print statistics of the released data, and those that only the custodian may see.

    The statistics of synthetic rows describe the fit of the model: they are printed with ``verbose`` only.
    """
    if verbose or released.method.makes != "rows":
        _say_numbers(console, released.statistics)
    if released.confidential:
        console.say("for your eyes only, in no public file:", style="bold")
        _say_numbers(console, released.confidential)


def _say_numbers(console: Console, numbers: Mapping[str, Any]) -> None:
    from sfumato.report.texts.numbers import SHOWN_ELSEWHERE, statistic_text

    for name, value in numbers.items():
        if name in SHOWN_ELSEWHERE:
            continue
        shown = f"{value:.5g}" if isinstance(value, float) else statistic_text(name, value)
        console.say(f"{name.replace('_', ' ')}: {shown}")


def release_document(released: Release, bundle: Path) -> dict[str, Any]:
    """Return the JSON answer of a release."""
    forecast = forecast_of_release(released)
    return {
        "bundle": str(bundle),
        "method": released.method.name,
        "notes": list(released.notes),
        "report": str(bundle / "report.html"),
        "guarantee": released.guarantee.model_dump(mode="json"),
        "statement": released.guarantee.statement(),
        "events": [event.model_dump(mode="json") for event in released.events],
        "statistics": dict(released.statistics),
        "forecast": None if forecast is None else asdict(forecast),
        "stamp": released.stamp,
        "account": released.account.model_dump(mode="json") if released.account else None,
    }
