"""The verb sfumato calibrate: find the parameter that meets a utility or risk target."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import typer

from sfumato.cli.console import Voice
from sfumato.cli.options import (
    DEFAULT_DIALECT,
    AllowWeak,
    AsJson,
    AsPublished,
    Delta,
    Dialect,
    Epsilon,
    LedgerUrl,
    NoLedger,
    OptionalData,
    OptionalSchema,
    Rows,
    Seed,
    Settings,
    build_method,
    method_from_settings,
    parse_numbers,
    parse_settings,
    registered_name,
    wanted_ledger,
    with_options,
)
from sfumato.core.method import Method, method_class
from sfumato.core.release import plan as plan_release
from sfumato.errors import BundleError, PlanError
from sfumato.schema import Schema
from sfumato.table import read

if TYPE_CHECKING:
    from sfumato.evaluate.calibrate import Calibration, Target

PAGE, RESULTS, RELEASE = "calibration.html", "calibration.json", "release"
PLACEHOLDER = "1"
"""Stands for the value that is looked for where the method wants one."""
NEAR = 3
"""Products of others that the screen shows on either side of the choice."""


@with_options
def calibrate(
    target: Annotated[
        str,
        typer.Option(
            "--target",
            "-t",
            help="What to meet: of a table, such as 'tvd_2_q16 <= 0.05'; or a proved ceiling on risk, without data: "
            "'advantage <= 0.2', 'hits <= 0.05 at 0.01', 'success <= 0.2 at 0.1'.",
        ),
    ],
    data: OptionalData = None,
    schema: OptionalSchema = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            "-m",
            help="How to release; 'sfumato methods' lists them. Unless said: contingency; for a ceiling on risk aim, "
            "as for a release.",
        ),
    ] = None,
    as_published: AsPublished = False,
    settings: Settings = None,
    grid: Annotated[str | None, typer.Option(help="Values to try, such as 0.1,0.3,1,3.")] = None,
    bisection: Annotated[bool, typer.Option("--bisection", help="Search instead of trying a grid.")] = False,
    search_range: Annotated[str | None, typer.Option("--range", help="Where to search, low:high.")] = None,
    repeats: Annotated[int, typer.Option(help="Simulated releases at each value.")] = 10,
    cost: Annotated[
        str | None,
        typer.Option(
            help="pilot: DATA is public or simulated. declared, unless said: DATA is private, and the guarantee must "
            "say so. private: the choice is charged, and candidates are really released. A ceiling on risk costs "
            "nothing."
        ),
    ] = None,
    options: Annotated[
        list[str] | None, typer.Option("--with", help="An option of the metric, such as clusters=4.")
    ] = None,
    parameter: Annotated[str, typer.Option(help="Parameter of the method that is looked for.")] = "epsilon",
    prefer: Annotated[str | None, typer.Option(help="Choose the smallest or the largest value.")] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    score_epsilon: Annotated[str, typer.Option(help="Budget of each noisy score, with --cost private.")] = "0.1",
    ledger: LedgerUrl = None,
    no_ledger: NoLedger = False,
    rows: Rows = None,
    seed: Seed = None,
    out: Annotated[str | None, typer.Option("--out", "-o", help="Folder; NAME-calibration unless said.")] = None,
    force: Annotated[bool, typer.Option(help="Overwrite an earlier page.")] = False,
    dialect: Dialect = DEFAULT_DIALECT,
    allow_weak: AllowWeak = False,
    json: AsJson = False,
) -> None:
    """Find the epsilon at which a method is good enough, or gives away little enough.

    Prints the curve of the metric with intervals and every value that meets the target, and writes the trade-off page.
    Nothing is released or spent, unless --cost private says so. A ceiling on risk (advantage, hits, success) follows
    from the proved curve: it needs no DATA, a schema only where the method's plan does, and no ledger.
    """
    from sfumato.bundle.target_folder import prepare_output
    from sfumato.evaluate.calibrate import Target, calibrate

    voice, asked = Voice(json), Target.parse(target)
    proved = asked.metric.proved
    facts = _facts(schema, data, asked)
    book = wanted_ledger(ledger, no_ledger) if cost == "private" and not proved else ledger
    name, said = registered_name(method, as_published), (settings or [], epsilon, delta)
    wanted, why = _target(name, proved, facts, said, parameter)
    places = _output_page(out, wanted.name if facts is None else facts.name, force)
    if cost == "private" and facts is not None and not proved:
        prepare_output(places.bundle, None, plan_release(facts, wanted, rows, None, seed, True), book)
    with voice.counting(f"calibrating {wanted.name}"):
        table = None if proved or data is None or facts is None else read(data, facts, **dialect.stated())
        found = calibrate(
            wanted,
            asked,
            grid=None if grid is None else parse_numbers(grid, "--grid", "0.1,0.3,1,3"),
            bisection=_range(bisection, search_range),
            repeats=repeats,
            cost=cast("Any", cost if proved else cost or "declared"),
            parameter=parameter,
            prefer=cast("Any", prefer),
            rows=rows,
            seed=seed,
            ledger=book,
            score_epsilon=score_epsilon,
            options=parse_settings(options or []),
            pilot=table if cost == "pilot" else None,
            table=None if cost == "pilot" else table,
            allow_weak=allow_weak,
            schema=facts if proved else None,
        )
    bundle = _write(places, found)
    told = [why] if why else []
    told += [f"{data} was not read: {asked.metric.name} follows from public facts"] if proved and data else []
    print_calibration(voice, found, places, bundle, told)
    body = {"page": str(places.page), "json": str(places.json), "bundle": bundle and str(bundle)}
    voice.document({**body, "statement": found.statement(), "calibration": found.model_dump(mode="json")})


def _facts(schema: str | None, data: str | None, asked: Target) -> Schema | None:
    """Return the schema, where there is one; what is measured on a table needs both."""
    if not asked.metric.proved:
        missing = ["DATA is missing: the file to measure on"] if data is None else []
        missing += ["--schema is missing: the table's public schema (TOML)"] if schema is None else []
        if missing:
            raise PlanError(
                f"{asked.metric.name} is measured on a table",
                missing,
                f"write sfumato calibrate DATA --schema S.toml --target '{asked}'; without data, ask for a ceiling on "
                "risk: 'advantage <= 0.2', 'hits <= 0.05 at 0.01' or 'success <= 0.2 at 0.1'",
            )
    return None if schema is None else Schema.load(schema)


class _Places(NamedTuple):
    page: Path
    json: Path
    bundle: Path


def _target(
    name: str | None,
    proved: bool,
    schema: Schema | None,
    said: tuple[list[str], str | None, str | None],
    parameter: str,
) -> tuple[Method, str | None]:
    """Return the method with a placeholder for what is looked for, and why it was taken where none was named.

    For a ceiling on risk it is then the one that a release would take, by the schema where there is one.
    """
    settings, epsilon, delta = said
    if name is None and proved and schema is not None:
        return method_from_settings(None, schema, settings, epsilon or PLACEHOLDER, delta)
    return _method(name or ("aim" if proved else "contingency"), settings, epsilon, delta, parameter), None


def _method(name: str, settings: list[str], epsilon: str | None, delta: str | None, parameter: str) -> Method:
    """Return the method with a placeholder where the value that is looked for must stand."""
    fields = {f.name for f in dataclasses.fields(method_class(name))}  # pyright: ignore[reportArgumentType]
    given = parse_settings(settings)
    if parameter == "epsilon" and epsilon is None and "epsilon" in fields and "epsilon" not in given:
        epsilon = PLACEHOLDER
    elif parameter in fields and parameter not in ("epsilon", "delta") and parameter not in given:
        settings = [*settings, f"{parameter}={PLACEHOLDER}"]
    return build_method(name, settings, epsilon, delta)


def _range(bisection: bool, text: str | None) -> bool | tuple[float, float]:
    if text is None:
        return bisection
    low, _, high = text.partition(":")
    try:
        return float(low), float(high)
    except ValueError as error:
        raise PlanError(f"--range {text!r} is not of the form low:high", next_step="write --range 0.01:30") from error


def _output_page(out: str | None, name: str, force: bool) -> _Places:
    """Return where everything goes; refuse before anything is read or spent."""
    folder = Path(out or re.sub(r"[^\w.-]+", "-", name) + "-calibration")
    places = _Places(folder / PAGE, folder / RESULTS, folder / RELEASE)
    taken = [str(place) for place in places[:2] if place.exists()]
    if taken and not force:
        raise BundleError(f"{' and '.join(taken)} exist", next_step="choose another --out, or add --force")
    return places


def _write(places: _Places, found: Calibration) -> Path | None:
    """Write what was paid for, the kept release, and then the page and the results."""
    from sfumato.bundle.write import kept_on_failure
    from sfumato.report.calibration_page import calibration_page

    bundle = None
    if found.release is not None:
        with kept_on_failure(found.release, places.bundle.absolute()):
            bundle = found.release.save(places.bundle)
    try:
        places.page.parent.mkdir(parents=True, exist_ok=True)
        places.page.write_text(calibration_page(found), encoding="utf-8")
        places.json.write_text(found.model_dump_json(indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise BundleError(f"cannot write {places.page}: {error.strerror}", next_step="choose another --out") from error
    return bundle


def print_calibration(
    voice: Voice, found: Calibration, places: _Places, bundle: Path | None, told: Sequence[str] = ()
) -> None:
    """Print the curve, the answer, what others took, and where the page lies."""
    from sfumato.evaluate.calibrate.explain import explain_value
    from sfumato.report.calibration_page import standing, values_grid

    grid = values_grid(found)
    voice.table(f"{found.metric} of {found.method} against {found.parameter}", grid.header, grid.rows)
    for line in (*told, *explain_value(found), *found.statement().splitlines()):
        voice.say(line, style="yellow" if line in found.cautions() else None)
    if found.proved is not None:
        _print_deployments(voice, found)
    voice.say(f"page: {places.page} ({standing(found)})", style="bold")
    voice.say(f"json: {places.json}", style="bold")
    if found.release is not None:
        voice.panel("What the kept release promises", found.release.guarantee.statement(), "yellow")
        voice.say(f"release: {bundle}", style="bold")


def _print_deployments(voice: Voice, found: Calibration) -> None:
    """Print what others took, near the choice."""
    from sfumato.report.calibration_page import published_deployments

    near = published_deployments(found, each_side=NEAR)
    if near is None:
        return
    voice.table("What others took, near the choice", near.grid.header, near.grid.rows)
    for line in near.words:
        voice.say(line)
