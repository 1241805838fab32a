"""Print plans, verdicts and releases on a terminal."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from sfumato.cli.console import Voice
from sfumato.core.forecast import Forecast
from sfumato.core.forecast_checks import forecast_of_release, unjudged
from sfumato.core.plan import Plan, Stage, cost_summary
from sfumato.core.release import Release
from sfumato.privacy.accounting.guarantee import one_unit
from sfumato.privacy.exact import to_fraction

HOW_MANY = "About how many rows does the table have? A public guess is enough (Enter goes on without)"
MOST_STAGES, LAST_STAGES = 6, 2
STAGE_HEADERS = ("what is measured", "cells", "noise ±", "part of the cost")
STAGE_WORDS = "noise ±: 95 of 100 counts are moved by less than this; together the parts make up the cost above"


def show_plan(voice: Voice, made: Plan) -> None:
    """Print a plan for people: what to expect, cost and needs, what to beware of, and last what is measured."""
    voice.say(f"Plan: {made.method} of table {made.table!r}", style="bold")
    show_forecast(voice, made.forecast)
    voice.say_of("cost:", f"{cost_summary(made)} ({one_unit(made.unit)})")
    if made.risk():
        voice.say_of("risk:", made.risk())
    if made.left_before is not None:
        voice.say_of("budget:", f"{made.left_before} left before, {made.left_after} after")
    time = "" if made.seconds is None else f"about {max(made.seconds, 1):,.0f} s, "
    voice.say_of("needs:", f"{time}about {max(made.memory_bytes / 1e6, 0.1):,.1f} MB of memory")
    if made.reading is not None:
        voice.say_of("runs on:", made.reading.where())
        voice.say_of("reads:", made.reading.how_often())
    for note in made.notes:
        voice.say_of("note:", note, style="yellow")
    tables = f"{len(made.stages)} table{'s' if len(made.stages) > 1 else ''}"
    rows = truncate_rows([_stage_cells(stage) for stage in made.stages])
    voice.table(f"What is measured: {made.cells:,} cells in {tables}", STAGE_HEADERS, rows)
    voice.say(STAGE_WORDS)


def plan_document(made: Plan) -> dict[str, Any]:
    """Return the JSON answer of a plan."""
    forecast = made.forecast
    reading = None if made.reading is None else made.reading.model_dump(mode="json")
    said = {**made.model_dump(mode="json"), "advantage": made.advantage, "reading": reading}
    return {**said, "forecast": None if forecast is None else asdict(forecast)}


def show_verdict(voice: Voice, planned: Plan) -> None:
    """Say in a sentence, before anything is spent, what to expect."""
    if planned.forecast is not None:
        voice.say_of("expected:", planned.forecast.verdict)


def asked_rows(voice: Voice, planned: Plan) -> int | None:
    """Ask about how many rows there are, where nobody said and somebody is there to answer; Enter goes on without."""
    if not unjudged(planned) or voice.json or not sys.stdin.isatty():
        return None
    return typer.prompt(HOW_MANY, default="", show_default=False, value_proc=_guess) or None


def _guess(answer: str) -> int:
    plain = answer.strip().replace(",", "")
    if not plain:
        return 0
    if not plain.isdigit() or int(plain) < 1:
        raise typer.BadParameter(f"{answer!r} is no number of rows, such as 5000")
    return int(plain)


def show_forecast(voice: Voice, forecast: Forecast | None, advice: bool = True) -> None:
    """Print what a release will be good for: the verdict first; silent where no forecast is known of the method."""
    if forecast is None:
        return
    verdict, *others = forecast.sentences(advice)
    voice.say_of("verdict:", verdict, style="bold red" if forecast.overwhelmed else "bold")
    for sentence in others:
        voice.say_of("", sentence)


def _stage_cells(stage: Stage) -> list[str]:
    return [stage.name, f"{stage.cells:,}", _noise(stage), f"{100 * float(to_fraction(stage.share)):.3g} %"]


def _noise(stage: Stage) -> str:
    """Return how far noise moves a count, or what stands in its place."""
    from sfumato.bundle.stage_noise import StageNoise

    if stage.noise.endswith(("laplace", "gaussian")):
        return f"{StageNoise(stage.noise, stage.scale).half_width():.3g}"
    return {"exponential weights": "a noisy choice", "heuristic": "none is proved"}.get(stage.noise, stage.noise)


def truncate_rows(rows: list[list[str]]) -> list[list[str]]:
    """Return the first and the last stages of a long plan: what differs from the rest often stands at the end."""
    hidden = len(rows) - MOST_STAGES
    if hidden <= 1:
        return rows
    return [*rows[: MOST_STAGES - LAST_STAGES], [f"... {hidden} more", *[""] * 3], *rows[-LAST_STAGES:]]


def show_release(
    voice: Voice,
    made: Release,
    bundle: Path,
    data: str,
    said: Sequence[str] = (),
    verbose: bool = False,
    again: int = 0,
) -> None:
    """Print what was released, what is promised, how good it is, where it lies and what to do next.

    What was ``said`` before is not repeated; how the model came about is for ``verbose``.
    """
    voice.say_of("released:", _what(made), style="bold")
    careful = made.stamp or not made.guarantee.formal or made.guarantee.is_weak
    voice.panel("What is promised", made.guarantee.statement(), "yellow" if careful else "green")
    show_forecast(voice, forecast_of_release(made), advice=False)
    show_statistics(voice, made, verbose)
    told = (*said, made.guarantee.statement())
    for note in made.notes:
        if not any(note in words for words in told):
            voice.say_of("note:", note, style="yellow")
    if made.account is not None:
        voice.say(f"left in the ledger: epsilon {made.account.left_epsilon} of {made.account.cap_epsilon}")
    voice.say(f"bundle: {bundle}", style="bold")
    voice.say(f"report: {bundle / 'report.html'}", style="bold")
    if again:
        voice.say(f"how sure its numbers are: in the report, from {again} reruns (--reruns 0 leaves them out)")
    show_next_steps(voice, made, bundle, data)


def _what(made: Release) -> str:
    """Return in a few words what came out."""
    first, *others = made.tables.values()
    if made.method.makes == "rows":
        copies = f", in {1 + len(others)} copies" if others else ""
        return f"{first.num_rows:,} rows with {first.num_columns} columns{copies}, by {made.method.name}"
    lines = sum(table.num_rows for table in made.tables.values())
    what = "count" if made.method.makes == "counts" else "number"
    noisy = f"one noisy {what}" if lines == 1 else f"{lines:,} noisy {what}s"
    return f"{noisy}{f' in {1 + len(others)} tables' if others else ''}, by {made.method.name}"


def show_next_steps(voice: Voice, made: Release, bundle: Path, data: str) -> None:
    """Say what to do with the bundle: look, ask, check, draw more."""
    folder, rows = shlex.quote(str(bundle)), made.method.makes == "rows"
    if rows:
        voice.say(f"next: sfumato compare {folder} {shlex.quote(data)}: how near it lies, for your eyes only")
    if rows and made.guarantee.formal:
        asked = next((f"mean {column.name}" for column in made.schema if _has_mean(made, column)), None)
        if asked is not None:
            question = shlex.quote(asked)
            voice.say(f"next: sfumato uncertainty {folder} --statistic {question}: how sure a number of it is")
    voice.say(f"next: sfumato verify {folder}{' --ledger LEDGER' if made.account is not None else ''}")
    show_model(voice, made, bundle)


def _has_mean(made: Release, column: Any) -> bool:
    return column.kind in ("integer", "number") and column.name in next(iter(made.tables.values())).column_names


def show_model(voice: Voice, made: Release, bundle: Path) -> None:
    """Say how to draw more rows, where the release holds a fitted model."""
    if made.model is not None:
        folder = shlex.quote(str(bundle))
        voice.say(f"more rows for free: sfumato sample {folder} --rows 100000 --out more.parquet")


def show_statistics(voice: Voice, made: Release, verbose: bool = False) -> None:
    """Print what was computed from the released data for free, and what only the custodian may see.

    The statistics of rows tell how a model came about: they are for the verbose, and stand in the report.
    """
    if verbose or made.method.makes != "rows":
        _say_numbers(voice, made.statistics)
    if made.confidential:
        voice.say("for your eyes only, in no public file:", style="bold")
        _say_numbers(voice, made.confidential)


def _say_numbers(voice: Voice, numbers: Mapping[str, Any]) -> None:
    from sfumato.report.texts.statistics import SHOWN_ELSEWHERE, statistic_text

    for name, value in numbers.items():
        if name in SHOWN_ELSEWHERE:
            continue
        shown = f"{value:.5g}" if isinstance(value, float) else statistic_text(name, value)
        voice.say(f"{name.replace('_', ' ')}: {shown}")


def release_document(made: Release, bundle: Path) -> dict[str, Any]:
    """Return the JSON answer of a release."""
    forecast = forecast_of_release(made)
    return {
        "bundle": str(bundle),
        "method": made.method.name,
        "notes": list(made.notes),
        "report": str(bundle / "report.html"),
        "guarantee": made.guarantee.model_dump(mode="json"),
        "statement": made.guarantee.statement(),
        "events": [event.model_dump(mode="json") for event in made.events],
        "statistics": dict(made.statistics),
        "forecast": None if forecast is None else asdict(forecast),
        "stamp": made.stamp,
        "account": made.account.model_dump(mode="json") if made.account else None,
    }
