"""The verbs sfumato advise entropy, curve and deniability: parameters from public facts."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sfumato.cli.console import Voice
from sfumato.cli.options import DEFAULT_DIALECT, AsJson, Dialect, SchemaPath, parse_numbers, with_options
from sfumato.errors import PlanError
from sfumato.schema import Schema

if TYPE_CHECKING:
    from sfumato.mechanisms.mean_curve.expected_error import RhoChoice
    from sfumato.mechanisms.plausible_deniability.pass_rates import PassRates

advise_app = typer.Typer(
    no_args_is_help=True,
    help="Choose parameters from public facts: ways to an entropy, the smoothing of a mean curve, a privacy test.",
)
NO_DATA = "From public facts alone: no table was read, nothing is spent."
SHOWN = 3
"""Decades to both sides of the best rho in a terminal; the JSON has the whole curve."""
Adjacency = Annotated[str, typer.Option(help="What the guarantee hides: replace or add-remove.")]
Rows = Annotated[int, typer.Option("--rows", "-n", help="Public number of rows, or a public guess of it.")]
Needed = Annotated[str, typer.Option(help="Privacy budget of the release, such as 1 or 0.5.")]


@advise_app.command()
def entropy(
    rows: Rows,
    cells: Annotated[int, typer.Option(help="Public number of cells.")],
    epsilon: Needed = "1",
    adjacency: Adjacency = "replace",
    shape: Annotated[
        str | None, typer.Option(help="Public guess of the shares, such as 0.4,0.3,0.3: last year's published ones.")
    ] = None,
    target: Annotated[
        float | None, typer.Option(help="Also find the epsilon at which the mean error is this many bits.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Say which way to a Shannon entropy is more accurate: released by itself, or computed from noisy counts.

    Public parameters only: no table is read, nothing is spent.
    """
    from sfumato.entropy import advise, epsilon_for_entropy_error

    voice = Voice(json)
    shares = None if shape is None else parse_numbers(shape, "--shape", "0.4,0.3,0.3")
    found = advise(rows, cells, epsilon, cast("Any", adjacency), shares)
    wanted = None if target is None else epsilon_for_entropy_error(target, rows, cells, cast("Any", adjacency))
    shown = [["released by itself", "every table", f"{found.direct:.4g}"]]
    shown += [["from noisy counts", name, f"{error:.4g}"] for name, error in found.counts.items()]
    voice.table(
        f"Predicted mean error in bits at epsilon {found.epsilon:g}", ("way", "shape of counts", "error"), shown
    )
    voice.say(str(found))
    if wanted is not None:
        voice.say(f"epsilon {wanted:.4g} releases the entropy by itself with a mean error of {target:g} bits")
    voice.say(NO_DATA)
    voice.document(
        {**dataclasses.asdict(found), "statement": str(found), "target": target, "epsilon_for_target": wanted}
    )


@advise_app.command()
def curve(
    rows: Rows,
    clip: Annotated[str, typer.Option(help="Public bound on the root mean square of a curve.")],
    epsilon: Needed = "1",
    delta: Annotated[str, typer.Option(help="Delta of the release.")] = "1e-6",
    adjacency: Adjacency = "add-remove",
    points: Annotated[int, typer.Option(help="Points of the even grid.")] = 80,
    positions: Annotated[str | None, typer.Option(help="Positions of the grid instead, such as 0.1,0.5,1.")] = None,
    kernel: Annotated[str, typer.Option(help="wiener, exponential, matern-3/2 or gaussian.")] = "wiener",
    length_scale: Annotated[float | None, typer.Option(help="Length scale of the kernels other than wiener.")] = None,
    smoothness: Annotated[
        float | None, typer.Option(help="Public bound on the kernel norm of the mean curve; from clip unless said.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Find the smoothing rho of a mean curve at which noise and bias together are smallest.

    Public parameters only: no table is read, nothing is spent. rho is no privacy knob: the guarantee is the same for
    every rho.
    """
    from sfumato.mechanisms.mean_curve import best_rho, discretisation_error

    voice = Voice(json)
    places = None if positions is None else parse_numbers(positions, "--positions", "0.1,0.5,1")
    grid: Any = {"steps": points if places is None else len(places), "kernel": kernel, "length_scale": length_scale}
    found = best_rho(rows, clip, epsilon, delta, adjacency=adjacency, smoothness=smoothness, **grid, positions=places)
    between = discretisation_error(found.rho, clip=clip, **grid, positions=places)
    _show_curve(voice, found, between.statement())
    body = {"rho": found.rho, "best": dataclasses.asdict(found.best), "source": found.source}
    errors = [dataclasses.asdict(split) for split in found.curve]
    voice.document({**body, "curve": errors, "between_the_points": dataclasses.asdict(between)})


def _show_curve(voice: Voice, found: RhoChoice, between: str) -> None:
    wanted = [found.rho * 10.0**power for power in range(-SHOWN, SHOWN + 1)]
    nearest = {min(found.curve, key=lambda split: abs(math.log(split.rho / rho))) for rho in wanted}
    chosen = sorted(nearest, key=lambda split: split.rho)
    lines = [[f"{s.rho:.3g}", f"{s.noise:.3g}", f"{s.bias:.3g}", f"{s.total:.3g}"] for s in chosen]
    voice.table("Error of the mean curve against rho, as root mean squares", ("rho", "noise", "bias", "error"), lines)
    voice.say(found.statement(), style="bold")
    voice.say(f"use it: --method mean-curve --set rho={found.rho:.3g}")
    voice.say(between)
    voice.say(NO_DATA)


@advise_app.command()
@with_options
def deniability(
    pilot: Annotated[str, typer.Argument(metavar="PILOT", help="Public table, or an earlier release: CSV or Parquet.")],
    schema: SchemaPath,
    columns: Annotated[
        str | None, typer.Option(help="Columns to synthesise, such as age,sex; all unless said.")
    ] = None,
    k: Annotated[str, typer.Option("--k", help="Numbers of plausible seeds to try.")] = "10,20,50,100,200",
    gamma: Annotated[str, typer.Option(help="Widths of cells to try.")] = "2,4,8",
    epsilon0: Annotated[str, typer.Option(help="Noise of the threshold.")] = "0.5",
    delta: Annotated[str, typer.Option(help="Delta of one row.")] = "1e-6",
    model: Annotated[str, typer.Option(help="seed or kernel.")] = "seed",
    model_epsilon: Annotated[str, typer.Option(help="Budget of the seed model's tables.")] = "1",
    keep: Annotated[str | None, typer.Option(help="Attributes of a seed to keep; chosen by k unless said.")] = None,
    bandwidth: Annotated[str, typer.Option(help="Bandwidth of the kernel model, in bins.")] = "1",
    rows: Annotated[
        int | None, typer.Option(help="Public number of rows of the table that the pilot stands for.")
    ] = None,
    draws: Annotated[int, typer.Option(help="Attempts behind each point.")] = 2000,
    seed: Annotated[int, typer.Option(help="Repeat the same draws.")] = 1,
    dialect: Dialect = DEFAULT_DIALECT,
    json: AsJson = False,
) -> None:
    """Estimate how often the privacy test of plausible deniability passes, on a pilot, against k and gamma.

    It reads the pilot as it is, without noise: the pilot must be public, or its numbers never released. Nothing is
    spent. What fails the test is answered by the prior: at a low rate the rows say no more than that.
    """
    from sfumato.mechanisms.plausible_deniability import pass_rates

    voice, facts = Voice(json), Schema.load(schema)
    with voice.counting("trying the privacy test"):
        found = pass_rates(
            pilot,
            facts,
            k=_parse_whole(k),
            gamma=parse_numbers(gamma, "--gamma", "2,4,8"),
            epsilon0=epsilon0,
            delta=delta,
            columns=_names(columns),
            model=cast("Any", model),
            model_epsilon=model_epsilon,
            keep=keep,
            bandwidth=bandwidth,
            rows=rows,
            draws=draws,
            seed=seed,
            **dialect.stated(),
        )
    _show_rates(voice, found)
    voice.document({**dataclasses.asdict(found), "statement": found.statement()})


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _parse_whole(text: str) -> list[int]:
    numbers = parse_numbers(text, "--k", "10,20,50")
    if any(number != int(number) for number in numbers):
        raise PlanError(f"--k {text!r}: k is a whole number of rows", next_step="write --k 10,20,50")
    return [int(number) for number in numbers]


def _show_rates(voice: Voice, found: PassRates) -> None:
    lines = [
        [
            str(p.k),
            f"{p.gamma:g}",
            f"{100 * p.rate:.1f} ± {200 * p.error:.1f}",
            f"{100 * p.from_seeds:.1f}",
            "all moved" if p.kept is None else f"{p.kept:.1f}",
            "-" if p.epsilon is None else f"{p.epsilon:.3g}",
        ]
        for p in found.points
    ]
    heads = ("k", "gamma", "passes, %", "from seeds, %", "kept of a seed", "epsilon of a row")
    voice.table(f"Privacy test on a pilot of {found.pilot_rows:,} rows", heads, lines)
    voice.say(found.statement().removesuffix(found.notice).strip())
    voice.say(
        f"What does not pass is answered by the prior. Delta of a row {found.delta:g}; - where k is too small for it."
    )
    voice.say(found.notice, style="yellow")
