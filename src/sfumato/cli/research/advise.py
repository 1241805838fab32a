"""The verbs sfumato advise entropy, curve and deniability: parameters from public facts."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sfumato.cli.console import Console
from sfumato.cli.options import FileOptions, Repeat, SchemaOptions, parse_numbers, split_names
from sfumato.errors import PlanError

if TYPE_CHECKING:
    from sfumato.mechanisms.mean_curve.expected_error import RhoChoice
    from sfumato.mechanisms.plausible_deniability.pass_rates import PassRates

NO_DATA = "Computed from public facts alone: no table was read, nothing is spent."
SHOWN = 3
"""Decades on either side of the best rho that the terminal shows; the JSON has the whole curve."""
Adjacency = Annotated[str, typer.Option(help="What the guarantee hides: replace or add-remove.")]
Rows = Annotated[int, typer.Option("--rows", "-n", help="Public number of rows, or a public guess of it.")]
Budget = Annotated[str, typer.Option(help="Privacy budget of the release, such as 1 or 0.5.")]


def entropy(
    console: Console,
    rows: Rows,
    cells: Annotated[int, typer.Option(help="Public number of cells.")],
    epsilon: Budget = "1",
    adjacency: Adjacency = "replace",
    shape: Annotated[
        str | None, typer.Option(help="Public guess of the shares, such as 0.4,0.3,0.3: last year's published ones.")
    ] = None,
    target: Annotated[
        float | None, typer.Option(help="Also find the epsilon at which the mean error is this many bits.")
    ] = None,
) -> None:
    """Choose between two ways to release an entropy.

    Compares the error of a Shannon entropy that is released directly with that of one computed from noisy counts. Uses
    public parameters only: no table is read, nothing is spent.
    """
    from sfumato.entropy import advise, epsilon_for_entropy_error

    shares = None if shape is None else parse_numbers(shape, "--shape", "0.4,0.3,0.3")
    advice = advise(rows, cells, epsilon, cast("Any", adjacency), shares)
    needed = None if target is None else epsilon_for_entropy_error(target, rows, cells, cast("Any", adjacency))
    lines = [["released directly", "every table", f"{advice.direct:.4g}"]]
    lines += [["from noisy counts", name, f"{error:.4g}"] for name, error in advice.counts.items()]
    console.table(
        f"Predicted mean error in bits at epsilon {advice.epsilon:g}", ("way", "shape of counts", "error"), lines
    )
    console.say(str(advice))
    if needed is not None:
        console.say(f"epsilon {needed:.4g} releases the entropy directly with a mean error of {target:g} bits")
    console.say(NO_DATA)
    console.print_json(
        {**dataclasses.asdict(advice), "statement": str(advice), "target": target, "epsilon_for_target": needed}
    )


def curve(
    console: Console,
    rows: Rows,
    clip: Annotated[str, typer.Option(help="Public bound on the root mean square of a curve.")],
    epsilon: Budget = "1",
    delta: Annotated[str, typer.Option(help="Delta of the release.")] = "1e-6",
    adjacency: Adjacency = "add-remove",
    points: Annotated[int, typer.Option(help="Points of the even grid.")] = 80,
    positions: Annotated[str | None, typer.Option(help="Positions of the grid instead, such as 0.1,0.5,1.")] = None,
    kernel: Annotated[str, typer.Option(help="wiener, exponential, matern-3/2 or gaussian.")] = "wiener",
    length_scale: Annotated[float | None, typer.Option(help="Length scale of the kernels other than wiener.")] = None,
    smoothness: Annotated[
        float | None, typer.Option(help="Public bound on the kernel norm of the mean curve; default: from clip.")
    ] = None,
) -> None:
    """Find the best smoothing rho of a mean curve.

    It minimises the sum of noise and bias. Uses public parameters only: no table is read, nothing is spent. rho does
    not affect privacy: the guarantee is the same for every rho.
    """
    from sfumato.mechanisms.mean_curve import best_rho, discretisation_error

    places = None if positions is None else parse_numbers(positions, "--positions", "0.1,0.5,1")
    grid: Any = {"steps": points if places is None else len(places), "kernel": kernel, "length_scale": length_scale}
    choice = best_rho(rows, clip, epsilon, delta, adjacency=adjacency, smoothness=smoothness, **grid, positions=places)
    between = discretisation_error(choice.rho, clip=clip, **grid, positions=places)
    _show_curve(console, choice, between.statement())
    body = {"rho": choice.rho, "best": dataclasses.asdict(choice.best), "source": choice.source}
    errors = [dataclasses.asdict(split) for split in choice.curve]
    console.print_json({**body, "curve": errors, "between_the_points": dataclasses.asdict(between)})


def _show_curve(console: Console, choice: RhoChoice, between: str) -> None:
    wanted = [choice.rho * 10.0**power for power in range(-SHOWN, SHOWN + 1)]
    nearest = {min(choice.curve, key=lambda split: abs(math.log(split.rho / rho))) for rho in wanted}
    chosen = sorted(nearest, key=lambda split: split.rho)
    lines = [[f"{s.rho:.3g}", f"{s.noise:.3g}", f"{s.bias:.3g}", f"{s.total:.3g}"] for s in chosen]
    console.table("Error of the mean curve against rho, as root mean squares", ("rho", "noise", "bias", "error"), lines)
    console.say(choice.statement(), style="bold")
    console.say(f"use it: --method mean-curve --set rho={choice.rho:.3g}")
    console.say(between)
    console.say(NO_DATA)


@dataclass(frozen=True, kw_only=True)
class PrivacyTestOptions:
    """Parameters of the synthesizer and of its privacy test."""

    columns: Annotated[str | None, typer.Option(help="Columns to synthesize, such as age,sex; default: all.")] = None
    k: Annotated[str, typer.Option("--k", help="Numbers of plausible seeds to try.")] = "10,20,50,100,200"
    gamma: Annotated[str, typer.Option(help="Widths of cells to try.")] = "2,4,8"
    epsilon0: Annotated[str, typer.Option(help="Noise of the threshold.")] = "0.5"
    delta: Annotated[str, typer.Option(help="Delta of one row.")] = "1e-6"
    model: Annotated[str, typer.Option(help="seed or kernel.")] = "seed"
    model_epsilon: Annotated[str, typer.Option(help="Budget of the seed model's tables.")] = "1"
    keep: Annotated[str | None, typer.Option(help="Attributes of a seed to keep; default: chosen by k.")] = None
    bandwidth: Annotated[str, typer.Option(help="Bandwidth of the kernel model, in bins.")] = "1"
    rows: Annotated[int | None, typer.Option(help="Public number of rows of the table that the pilot represents.")] = (
        None
    )
    draws: Annotated[int, typer.Option(help="Attempts behind each point.")] = 2000
    seed: Repeat = 1

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the simulation, with texts parsed."""
        texts = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        lists = {"k": _parse_whole(self.k), "gamma": parse_numbers(self.gamma, "--gamma", "2,4,8")}
        return {**texts, **lists, "columns": split_names(self.columns)}


def deniability(pilot: FileOptions, schema: SchemaOptions, test: PrivacyTestOptions, console: Console) -> None:
    """Estimate the pass rate of the plausible-deniability test.

    Tries values of k and gamma on a pilot table, DATA, which is read without noise: it must be public, or its numbers
    must never be released. Nothing is spent. Rows that fail the test are answered by the prior: at a low pass rate the
    synthetic rows carry no more information than that.
    """
    from sfumato.mechanisms.plausible_deniability import pass_rates

    facts = schema.facts
    with console.progress("simulating the privacy test"):
        rates = pass_rates(pilot.data, facts, **test.arguments(), **pilot.stated())
    _show_rates(console, rates)
    console.print_json({**dataclasses.asdict(rates), "statement": rates.statement()})


def _parse_whole(text: str) -> list[int]:
    numbers = parse_numbers(text, "--k", "10,20,50")
    if any(number != int(number) for number in numbers):
        raise PlanError(f"--k {text!r}: k is a whole number of rows", next_step="write --k 10,20,50")
    return [int(number) for number in numbers]


def _show_rates(console: Console, choice: PassRates) -> None:
    lines = [
        [
            str(p.k),
            f"{p.gamma:g}",
            f"{100 * p.rate:.1f} ± {200 * p.error:.1f}",
            f"{100 * p.from_seeds:.1f}",
            "all moved" if p.kept is None else f"{p.kept:.1f}",
            "-" if p.epsilon is None else f"{p.epsilon:.3g}",
        ]
        for p in choice.points
    ]
    heads = ("k", "gamma", "passes, %", "from seeds, %", "kept of a seed", "epsilon of a row")
    console.table(f"Privacy test on a pilot of {choice.pilot_rows:,} rows", heads, lines)
    console.say(choice.statement().removesuffix(choice.notice).strip())
    console.say("Rows that do not pass are answered by the prior.")
    console.say(f"Delta of a row {choice.delta:g}; - where k is too small for it.")
    console.say(choice.notice, style="yellow")
