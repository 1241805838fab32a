"""``sfumato risk homogeneity-plan``: the risk of a cross table from public facts alone, without any table."""

from __future__ import annotations

import json as json_text
import math
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sfumato.cli.arguments import AsJson
from sfumato.cli.console import Voice
from sfumato.cli.cross_table import EpsilonRange, MechanismName, NoiseDelta, SigmaRule, grid_of
from sfumato.errors import RiskError

if TYPE_CHECKING:
    from sfumato.risk.homogeneity.expected import SizeLaw
    from sfumato.risk.homogeneity.planning import PlannedRisk

PLANNED = "Nothing confidential was read: an epsilon chosen by these numbers gives nothing away."
ALONE = ("seen alone", "right", "right, known in")


def homogeneity_plan(
    shares: Annotated[
        str | None, typer.Option(help="Shares of the sensitive values, such as 0.7,0.3: the expected risk.")
    ] = None,
    alpha: Annotated[
        str | None,
        typer.Option(help="Dirichlet law of shares that differ by cell, such as 1.4,0.3: shrinkage or global risk."),
    ] = None,
    size: Annotated[int | None, typer.Option(help="People in each cell.")] = None,
    people: Annotated[int | None, typer.Option(help="People in the table; with --cells it gives the mean.")] = None,
    cells: Annotated[int | None, typer.Option(help="Cells of the public domain of the identifiers.")] = None,
    mean_size: Annotated[float | None, typer.Option(help="Mean people in a cell, empty cells included.")] = None,
    dispersion: Annotated[
        float | None,
        typer.Option(help="Sizes vary more than by chance: negative binomial with this r; Poisson unless said."),
    ] = None,
    adjacency: Annotated[str, typer.Option(help="add-remove or replace.")] = "add-remove",
    epsilon_range: EpsilonRange = None,
    target: Annotated[
        float | None, typer.Option(help="Find the epsilons that keep the risk at this, such as 0.35.")
    ] = None,
    view: Annotated[str, typer.Option(help="Risk that the target is about: record, conservative or any.")] = "record",
    mechanism: MechanismName = "geometric",
    delta: NoiseDelta = None,
    rule: SigmaRule = None,
    json: AsJson = False,
) -> None:
    """Plan a cross table from public facts: the risk of the homogeneity attack against epsilon, without any table.

    Give how common the sensitive values are (--shares or --alpha) and how large the cells are (--size, --mean-size, or
    --people and --cells). An epsilon chosen here depends on nothing confidential.
    """
    from sfumato.risk.homogeneity.planning import PublicFacts, planned

    voice, grid = Voice(json), grid_of(epsilon_range, rule)
    if (shares is None) == (alpha is None):
        raise RiskError("how common are the sensitive values?", next_step="give --shares 0.7,0.3, or --alpha 1.4,0.6")
    sizes = _sizes(size, _mean(mean_size, people, cells), dispersion)
    facts = PublicFacts(sizes, _numbers("--shares", shares), _numbers("--alpha", alpha))
    asked: Any = {"target": target, "view": view, "delta": delta, "rule": rule}
    found = planned(facts, grid, _sensitivity(adjacency, mechanism), mechanism, **asked)
    _show_plan(voice, found)
    body = json_text.loads(found.model_dump_json())
    voice.document({"notice": PLANNED, **body, "answer": _plan_answer(found)})


def _mean(mean_size: float | None, people: int | None, cells: int | None) -> float | None:
    if mean_size is not None and (people is not None or cells is not None):
        raise RiskError("--mean-size and --people with --cells say the same", next_step="give one of them")
    if (people is None) != (cells is None):
        raise RiskError("--people and --cells go together", next_step="give both, or --mean-size")
    if people is None or cells is None:
        return mean_size
    if people < 1 or cells < 1:
        raise RiskError(f"{people} people in {cells} cells", next_step="give numbers of 1 or more")
    return people / cells


def _sizes(size: int | None, mean: float | None, dispersion: float | None) -> int | SizeLaw:
    from sfumato.risk.homogeneity.expected import NegativeBinomial, Poisson

    if (size is None) == (mean is None):
        raise RiskError(
            "how large are the cells?", next_step="give one of --size N, --mean-size M, and --people N --cells M"
        )
    if size is not None:
        if dispersion is not None:
            raise RiskError(
                "--dispersion goes with a mean size", next_step="leave it out: all cells have --size people"
            )
        return size
    average = cast("float", mean)
    return Poisson(average) if dispersion is None else NegativeBinomial(dispersion, dispersion / (dispersion + average))


def _numbers(option: str, text: str | None) -> list[float] | None:
    try:
        return None if text is None else [float(part) for part in text.split(",")]
    except ValueError as error:
        raise RiskError(f"{option} {text!r} is no list of numbers", next_step=f"write {option} 0.7,0.3") from error


def _sensitivity(adjacency: str, mechanism: str) -> float:
    from sfumato.privacy.accounting.sensitivity import histogram_l1, histogram_l2_squared
    from sfumato.risk.homogeneity.mechanisms import WITH_DELTA

    if adjacency not in ("add-remove", "replace"):
        raise RiskError(f"unknown adjacency {adjacency!r}", next_step="use add-remove or replace")
    return math.sqrt(histogram_l2_squared(adjacency)) if mechanism in WITH_DELTA else histogram_l1(adjacency)


def _show_plan(voice: Voice, found: PlannedRisk) -> None:
    header = ("epsilon", "record", "conservative", "any", *(ALONE if found.alone else ()))
    rows: list[list[str]] = []
    for i in found.few():
        point = found.points[i]
        shares = [point.record, point.conservative, point.any]
        shares += [found.alone[i].seen, found.alone[i].right, found.alone[i].known] if found.alone else []
        rows.append([f"{point.epsilon:.3g}", *(f"{100 * share:.1f}" for share in shares)])
    title = f"{found.measure.capitalize()} risk, {found.mechanism} noise, {found.values} values, in per cent"
    voice.table(title, header, rows)
    share = f"{100 * found.ceiling.record:.3g} %"
    voice.say(f"Without noise: {share}; cells that are not empty have {found.mean_size:.3g} people on average.")
    if found.alone:
        voice.say("Seen alone, right: re-identification by a noisy table of the identifiers alone.")
    voice.say(_plan_answer(found))
    voice.say(PLANNED, style="yellow")


def _plan_answer(found: PlannedRisk) -> str:
    if found.choice is None:
        return "Add --target 0.35 to find every epsilon that keeps the risk at 35 % or less."
    return f"{found.choice.statement[0].upper()}{found.choice.statement[1:]}."
