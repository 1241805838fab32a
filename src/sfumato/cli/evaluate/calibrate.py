"""The verb sfumato calibrate: find the parameter that meets a utility or risk target."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sfumato.cli.console import Console
from sfumato.cli.options import (
    AllowWeak,
    Force,
    LedgerOptions,
    MethodOptions,
    OptionalTableOptions,
    Seed,
    parse_numbers,
    parse_range,
)
from sfumato.cli.output_page import OutputPage, say_private_page
from sfumato.core.build_method import build_method, method_from_settings, parse_settings, registered_name
from sfumato.core.method import Method, method_class
from sfumato.core.release import plan as plan_release
from sfumato.errors import PlanError
from sfumato.schema import Schema
from sfumato.table import read

if TYPE_CHECKING:
    from sfumato.evaluate.calibrate import Calibration, Target

PLACEHOLDER = "1"
"""Stands in for the value that is searched."""
NEAR = 3
"""Published deployments that the screen shows on either side of the choice."""


@dataclass(frozen=True, kw_only=True)
class CalibratedMethod(MethodOptions):
    """The method, and the parameter that is searched."""

    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            "-m",
            help="Release method; 'sfumato methods' lists them. Default: contingency; for a ceiling on risk aim.",
        ),
    ] = None
    parameter: Annotated[str, typer.Option(help="Parameter of the method that is searched.")] = "epsilon"

    def with_placeholder(self, proved: bool, schema: Schema | None) -> tuple[Method, str | None]:
        """Return the method with a placeholder for the searched value, and why it was chosen where none was named.

        For a ceiling on risk it is then the one that a release would use, by the schema where there is one.
        """
        name, settings = registered_name(self.method, self.as_published), self.settings or []
        if name is None and proved and schema is not None:
            return method_from_settings(None, schema, settings, self.epsilon or PLACEHOLDER, self.delta)
        named = name or ("aim" if proved else "contingency")
        fields = {f.name for f in dataclasses.fields(method_class(named))}  # pyright: ignore[reportArgumentType]
        stated, epsilon = parse_settings(settings), self.epsilon
        if self.parameter == "epsilon" and epsilon is None and "epsilon" in fields and "epsilon" not in stated:
            epsilon = PLACEHOLDER
        elif self.parameter in fields and self.parameter not in ("epsilon", "delta", *stated):
            settings = [*settings, f"{self.parameter}={PLACEHOLDER}"]
        return build_method(named, settings, epsilon, self.delta), None


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Which values are tried, and how often."""

    grid: Annotated[str | None, typer.Option(help="Values to try, such as 0.1,0.3,1,3.")] = None
    bisection: Annotated[bool, typer.Option("--bisection", help="Search by bisection instead of a grid.")] = False
    search_range: Annotated[str | None, typer.Option("--range", help="Range of the search, low:high.")] = None
    repeats: Annotated[int, typer.Option(help="Simulated releases at each value.")] = 10
    prefer: Annotated[str | None, typer.Option(help="Choose the smallest or the largest value.")] = None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the search."""
        grid = None if self.grid is None else parse_numbers(self.grid, "--grid", "0.1,0.3,1,3")
        text = self.search_range
        bisection = self.bisection if text is None else parse_range(text, "--range", "0.01:30")
        return {"grid": grid, "bisection": bisection, "repeats": self.repeats, "prefer": self.prefer}


def calibrate(
    table: OptionalTableOptions,
    method: CalibratedMethod,
    search: SearchOptions,
    ledger: LedgerOptions,
    console: Console,
    target: Annotated[
        str,
        typer.Option(
            "--target",
            "-t",
            help="A target measured on a table, as 'tvd_2_q16 <= 0.05'; or a proved ceiling on risk, which needs no "
            "data: 'advantage <= 0.2', 'hits <= 0.05 at 0.01', 'success <= 0.2 at 0.1'.",
        ),
    ],
    cost: Annotated[
        str | None,
        typer.Option(
            help="pilot: DATA is public or simulated. declared (default): DATA is private, and the guarantee must say "
            "so. private: the choice is charged, and candidates are really released. A ceiling on risk costs nothing."
        ),
    ] = None,
    options: Annotated[
        list[str] | None, typer.Option("--with", help="An option of the metric, such as clusters=4.")
    ] = None,
    score_epsilon: Annotated[str, typer.Option(help="Budget of each noisy score, with --cost private.")] = "0.1",
    seed: Seed = None,
    out: Annotated[str | None, typer.Option("--out", "-o", help="Folder; default: NAME-calibration.")] = None,
    force: Force = False,
    allow_weak: AllowWeak = False,
) -> None:
    """Find the epsilon that meets a utility or risk target.

    Prints the curve of the metric with intervals and every value that meets the target, and writes the trade-off page.
    Nothing is released or spent, except with --cost private. A ceiling on risk (advantage, hits, success) follows from
    the proved curve: it needs no DATA, no ledger, and a schema only if the method's plan does.
    """
    from sfumato.bundle.target_folder import prepare_output
    from sfumato.evaluate.calibrate import Target
    from sfumato.evaluate.calibrate import calibrate as search_target
    from sfumato.report.calibration_page import calibration_page

    aim = Target.parse(target)
    proved = aim.metric.proved
    schema = _schema(table, aim)
    charged = cost == "private" and not proved
    account = ledger.require_choice() if charged else ledger.ledger
    chosen, reason = method.with_placeholder(proved, schema)
    name = (chosen.name if schema is None else schema.name) + "-calibration"
    places = OutputPage.in_folder(out, name, "calibration.html", "calibration.json", force)
    folder = places.page.with_name("release")
    if charged and schema is not None:
        prepare_output(folder, None, plan_release(schema, chosen, method.rows, None, seed, True), account)
    with console.progress(f"calibrating {chosen.name}"):
        measured = None
        if not proved and table.data is not None and schema is not None:
            measured = read(table.data, schema, **table.stated())
        result = search_target(
            chosen,
            aim,
            **search.arguments(),
            cost=cast("Any", cost if proved else cost or "declared"),
            parameter=method.parameter,
            rows=method.rows,
            seed=seed,
            ledger=account,
            score_epsilon=score_epsilon,
            options=parse_settings(options or []),
            pilot=measured if cost == "pilot" else None,
            table=None if cost == "pilot" else measured,
            allow_weak=allow_weak,
            schema=schema if proved else None,
        )
    bundle = _save_release(result, folder)
    places.write(calibration_page(result), result.model_dump_json(indent=2))
    notes = [reason] if reason else []
    if proved and table.data:
        notes.append(f"{table.data} was not read: {aim.metric.name} follows from public facts")
    print_calibration(console, result, places, bundle, notes)
    body = {"page": str(places.page), "json": str(places.json), "bundle": bundle and str(bundle)}
    console.print_json({**body, "statement": result.statement(), "calibration": result.model_dump(mode="json")})


def _schema(table: OptionalTableOptions, target: Target) -> Schema | None:
    """Return the schema, if there is one; a target that is measured on a table needs the table and its schema."""
    if not target.metric.proved:
        missing = ["DATA is missing: the file to measure on"] if table.data is None else []
        missing += ["--schema is missing: the table's public schema (TOML)"] if table.schema is None else []
        if missing:
            raise PlanError(
                f"{target.metric.name} is measured on a table",
                missing,
                f"write sfumato calibrate DATA --schema S.toml --target '{target}'; without data, ask for a ceiling on "
                "risk: 'advantage <= 0.2', 'hits <= 0.05 at 0.01' or 'success <= 0.2 at 0.1'",
            )
    return None if table.schema is None else Schema.load(table.schema)


def _save_release(result: Calibration, folder: Path) -> Path | None:
    """Write the kept release, which is paid for."""
    from sfumato.bundle.write import kept_on_failure

    if result.release is None:
        return None
    with kept_on_failure(result.release, folder.absolute()):
        return result.release.save(folder)


def print_calibration(
    console: Console, result: Calibration, places: OutputPage, bundle: Path | None, notes: Sequence[str] = ()
) -> None:
    """Print the curve, the answer, published deployments and the paths."""
    from sfumato.evaluate.calibrate.explain import explain_value
    from sfumato.report.calibration_page import standing, values_grid

    grid = values_grid(result)
    console.table(f"{result.metric} of {result.method} against {result.parameter}", grid.header, grid.rows)
    for line in (*notes, *explain_value(result), *result.statement().splitlines()):
        console.say(line, style="yellow" if line in result.cautions() else None)
    if result.proved is not None:
        _print_deployments(console, result)
    say_private_page(console, places, standing(result))
    if result.release is not None:
        console.panel("What is promised by the kept release", result.release.guarantee.statement(), "yellow")
        console.say(f"release: {bundle}", style="bold")


def _print_deployments(console: Console, result: Calibration) -> None:
    """Print published deployments with an epsilon near the choice."""
    from sfumato.report.calibration_page import published_deployments

    near = published_deployments(result, each_side=NEAR)
    if near is None:
        return
    console.table("Published deployments near the choice", near.grid.header, near.grid.rows)
    for line in near.words:
        console.say(line)
