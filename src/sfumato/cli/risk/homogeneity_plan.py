"""The homogeneity risk of a marginal, planned from public facts: ``sfumato risk homogeneity`` without a table."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sfumato.cli.console import Console
from sfumato.cli.options import parse_numbers
from sfumato.errors import RiskError

if TYPE_CHECKING:
    from sfumato.cli.risk.homogeneity import NoiseOptions
    from sfumato.risk.homogeneity.expected import SizeLaw
    from sfumato.risk.homogeneity.planning import PlannedRisk

PUBLIC = "Plan from public facts, without a table"
"""The panel of the options of a plan."""
PLANNED = "Nothing confidential was read: an epsilon chosen by these numbers discloses nothing."
UNIQUENESS_COLUMNS = ("seen alone", "right", "right, known in")


def _public(words: str) -> Any:
    return typer.Option(help=words, rich_help_panel=PUBLIC)


@dataclass(frozen=True, kw_only=True)
class PublicFactOptions:
    """Public facts about a marginal: how common the sensitive values are, and how large the cells are."""

    shares: Annotated[str | None, _public("Shares of the sensitive values, such as 0.7,0.3: the expected risk.")] = None
    alpha: Annotated[
        str | None, _public("Dirichlet parameters of shares that differ by cell: shrinkage or global risk.")
    ] = None
    size: Annotated[int | None, _public("People in each cell.")] = None
    mean_size: Annotated[float | None, _public("Mean number of people in a cell, empty cells included.")] = None
    people: Annotated[int | None, _public("People in the table; with --cells it gives the mean.")] = None
    cells: Annotated[int | None, _public("Cells of the public domain of the identifiers.")] = None
    dispersion: Annotated[
        float | None, _public("Overdispersed sizes: negative binomial with this r; default: Poisson.")
    ] = None
    adjacency: Annotated[str, _public("add-remove or replace.")] = "add-remove"


def plan_homogeneity(
    console: Console, public: PublicFactOptions, noise: NoiseOptions, target: float | None, view: str
) -> None:
    """Print the expected risk against epsilon."""
    from sfumato.risk.homogeneity.planning import PublicFacts, planned

    if public.shares is not None and public.alpha is not None:
        raise RiskError("--shares and --alpha were both given", next_step="give --shares 0.7,0.3, or --alpha 1.4,0.6")
    sizes = _sizes(public)
    facts = PublicFacts(sizes, _numbers("--shares", public.shares), _numbers("--alpha", public.alpha))
    request: Any = {"target": target, "view": view, "delta": noise.delta, "rule": noise.rule}
    sensitivity = _sensitivity(public.adjacency, noise.mechanism)
    risk = planned(facts, noise.grid, sensitivity, noise.mechanism, **request)
    _show_plan(console, risk)
    body = json.loads(risk.model_dump_json())
    console.print_json({"notice": PLANNED, **body, "answer": _plan_answer(risk)})


def _numbers(option: str, text: str | None) -> list[float] | None:
    return None if text is None else parse_numbers(text, option, "0.7,0.3", RiskError)


def _sizes(public: PublicFactOptions) -> int | SizeLaw:
    """Return the size of the cells, or the law of their sizes."""
    from sfumato.risk.homogeneity.expected import NegativeBinomial, Poisson

    size, mean, people, cells = public.size, public.mean_size, public.people, public.cells
    pair = people is not None or cells is not None
    if [size is not None, mean is not None, pair].count(True) != 1 or (people is None) != (cells is None):
        raise RiskError(
            "the size of the cells is missing, given twice, or given in part",
            next_step="give one of --size N, --mean-size M, and --people N --cells M",
        )
    if size is not None:
        if public.dispersion is not None:
            raise RiskError("--dispersion requires a mean size", next_step="leave it out: all cells have --size people")
        return size
    if people is not None and cells is not None:
        if people < 1 or cells < 1:
            raise RiskError(f"{people} people in {cells} cells", next_step="give numbers of 1 or more")
        mean = people / cells
    average, r = cast("float", mean), public.dispersion
    return Poisson(average) if r is None else NegativeBinomial(r, r / (r + average))


def _sensitivity(adjacency: str, mechanism: str) -> float:
    from sfumato.risk.homogeneity.noise import stated_sensitivity

    if adjacency not in ("add-remove", "replace"):
        raise RiskError(f"unknown adjacency {adjacency!r}", next_step="use add-remove or replace")
    return stated_sensitivity(mechanism, adjacency)


def _show_plan(console: Console, risk: PlannedRisk) -> None:
    from sfumato.risk.homogeneity.results import evenly_spaced

    header = ("epsilon", "record", "conservative", "any", *(UNIQUENESS_COLUMNS if risk.alone else ()))
    rows: list[list[str]] = []
    for point, alone in evenly_spaced(list(zip_longest(risk.points, risk.alone))):
        shares = [point.record, point.conservative, point.any]
        shares += [alone.seen, alone.right, alone.known] if alone else []
        rows.append([f"{point.epsilon:.3g}", *(f"{100 * share:.1f}" for share in shares)])
    title = f"{risk.measure.capitalize()} risk, {risk.mechanism} noise, {risk.values} values, in per cent"
    console.table(title, header, rows)
    share = f"{100 * risk.ceiling.record:.3g} %"
    console.say(f"Without noise: {share}; cells that are not empty have {risk.mean_size:.3g} people on average.")
    if risk.alone:
        console.say("Seen alone, right: re-identification by noisy counts of the identifiers alone.")
    console.say(_plan_answer(risk))
    console.say(PLANNED, style="yellow")


def _plan_answer(risk: PlannedRisk) -> str:
    if risk.choice is None:
        return "Add --target 0.35 to find every epsilon that keeps the risk at 35 % or less."
    return f"{risk.choice.statement[0].upper()}{risk.choice.statement[1:]}."
