"""The verb sfumato risk homogeneity: disclosure by a published marginal against epsilon.

With a table it is computed from its rows; without one it is planned from public facts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sfumato.cli.console import Console
from sfumato.cli.options import OptionalTableOptions, OutputPageOptions, parse_numbers, parse_range, split_names
from sfumato.cli.output_page import OutputPage, say_private_page
from sfumato.cli.risk.games import CONFIDENTIAL, warn_of_draft
from sfumato.errors import RiskError
from sfumato.privacy.exact import at_least
from sfumato.schema import Schema

if TYPE_CHECKING:
    from sfumato.report.blocks import TableBlock
    from sfumato.risk.homogeneity.epsilon_search import EpsilonChoice
    from sfumato.risk.homogeneity.expected import SizeLaw
    from sfumato.risk.homogeneity.planning import PlannedRisk
    from sfumato.risk.homogeneity.results import RiskCurves, SeveralCurves
    from sfumato.risk.homogeneity.uniqueness import ReidentificationRisk
    from sfumato.table import Table

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
    from sfumato.risk.homogeneity.epsilon_search import stated_sensitivity

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


SHORT = {
    "epsilon": "eps",
    "conservative": "cons.",
    "record by person": "by person",
    "plurality by person": "plural.",
    **{f"TVD {order}-way": f"TVD {order}" for order in (1, 2, 3)},
}
"""Column headers for a terminal of 80 columns."""
LEFT_OUT = "soft by person"
"""A column of the page and the JSON file that a terminal of 80 columns has no room for."""
NAMED = "seen with the value"


@dataclass(frozen=True, kw_only=True)
class CellOptions(OptionalTableOptions):
    """The marginal that is published: the table it counts, and its columns."""

    identifiers: Annotated[
        list[str] | None,
        typer.Option(help="Columns a neighbour knows, such as age,sex; repeatable. Default: the quasi-identifiers."),
    ] = None
    sensitive: Annotated[
        list[str] | None,
        typer.Option(help="Columns that the cells disclose; repeatable. Default: the sensitive ones."),
    ] = None
    pilot: Annotated[
        str | None,
        typer.Option(help="Public or earlier table: every number comes from it, and DATA is not read."),
    ] = None

    @cached_property
    def facts(self) -> Schema:
        """The schema of the table."""
        missing = ["DATA is missing: the table"] if self.data is None and self.pilot is None else []
        missing += ["--schema is missing: the table's public schema (TOML)"] if self.schema is None else []
        if missing or self.schema is None:
            step = "name both, or plan without a table: --shares 0.7,0.3 --size 20"
            raise RiskError("a risk is computed from a table, or planned from public facts", missing, step)
        return Schema.load(self.schema)

    @property
    def named_identifiers(self) -> list[str] | None:
        """The identifiers that were named."""
        return split_names(self.identifiers)

    @property
    def named_sensitive(self) -> list[str] | None:
        """The sensitive columns that were named."""
        return split_names(self.sensitive)

    def count_source(self, sensitive: Sequence[str]) -> Table:
        """Open the table that is counted: DATA, or the pilot, of which only the columns of the cells are needed."""
        from sfumato.table import read

        schema = self.facts if self.pilot is None else self._pilot_schema(sensitive)
        table = read(self.pilot or self.data, schema, **self.stated())
        table.require_valid()
        return table

    def _pilot_schema(self, sensitive: Sequence[str]) -> Schema:
        """Return what a pilot must hold: the columns of the cells, and any number of rows."""
        schema = self.facts
        names = {*(self.named_identifiers or schema.with_role("quasi-identifier")), *sensitive, schema.person}
        columns = tuple(column for column in schema if column.name in names)
        rules = tuple(rule for rule in schema.rules if set(rule.columns) <= names)
        return replace(schema, columns=columns, rules=rules, adjacency="add-remove", rows=None) if columns else schema

    @property
    def notice(self) -> str:
        """Who may see the numbers."""
        if self.pilot is None:
            return CONFIDENTIAL
        return f"From the pilot {self.pilot}; the confidential table was not read."


@dataclass(frozen=True, kw_only=True)
class NoiseOptions:
    """The noise of the published counts, and the epsilons of the curves."""

    epsilon_range: Annotated[
        str | None,
        typer.Option(help="Range of epsilon, low:high; default: 0.01:30 (0.01:0.99 with --rule classical)."),
    ] = None
    mechanism: Annotated[
        str, typer.Option(help="Noise: geometric, laplace, gaussian or discrete-gaussian; the last two need --delta.")
    ] = "geometric"
    delta: Annotated[float | None, typer.Option(help="Delta of Gaussian noise, such as 1e-6.")] = None
    rule: Annotated[
        str | None,
        typer.Option(help="How sigma follows from epsilon and delta: analytic (default), classical or probabilistic."),
    ] = None

    @cached_property
    def grid(self) -> tuple[float, ...]:
        """The epsilons of the curves."""
        from sfumato.risk.homogeneity.curves import default_range, epsilon_grid

        if self.epsilon_range is None:
            return epsilon_grid(*default_range(self.rule))
        return epsilon_grid(*parse_range(self.epsilon_range, "--epsilon-range", "0.01:30", RiskError))


def homogeneity(
    cells: CellOptions,
    noise: NoiseOptions,
    public: PublicFactOptions,
    output: OutputPageOptions,
    console: Console,
    target: Annotated[
        float | None, typer.Option(help="Find the epsilons that keep the risk at or below this, such as 0.35.")
    ] = None,
    view: Annotated[str, typer.Option(help="Risk that the target refers to: record, conservative or any.")] = "record",
    weights: Annotated[str, typer.Option(help="Average over cells or over people: cell or record.")] = "cell",
    uniqueness: Annotated[
        bool,
        typer.Option("--uniqueness", help="Only people who are alone in their cell: are they seen to be alone?"),
    ] = False,
) -> None:
    """Disclosure by a published marginal against epsilon.

    How many people's sensitive value can a neighbour read off the noisy counts (homogeneity attack)? With several
    sensitive columns: each, all together, and at least one. With DATA or --pilot, exact curves are computed from the
    counts of the cells, and written to a page and a JSON file. With --uniqueness, the chance that a person who is alone
    in a cell is seen to be alone. With --shares or --alpha, the risk is planned from public facts alone, without any
    table: how common the sensitive values are, and how large the cells are (--size, --mean-size, or --people and
    --cells). Nothing is released or spent. Without --pilot, numbers from DATA are for the custodian's eyes only.
    """
    if public.shares is not None or public.alpha is not None:
        _refuse_table(cells, uniqueness)
        plan_homogeneity(console, public, noise, target, view)
    elif uniqueness:
        _show_uniqueness(console, cells, noise, target)
    else:
        _show_curves(console, cells, noise, output, {"target": target, "view": view, "weights": weights})


def _refuse_table(cells: CellOptions, uniqueness: bool) -> None:
    stated = {"DATA": cells.data, "--pilot": cells.pilot, "--uniqueness": uniqueness or None}
    extra = [f"{name} was given" for name, value in stated.items() if value is not None]
    if extra:
        raise RiskError("--shares and --alpha plan without a table", extra, "leave it out, or leave out the shares")


def _show_curves(
    console: Console, cells: CellOptions, noise: NoiseOptions, output: OutputPageOptions, risk: dict[str, Any]
) -> None:
    from sfumato.report.risk_pages import homogeneity_page
    from sfumato.report.texts.homogeneity_answers import all_answers, epsilon_choice_caution
    from sfumato.risk.homogeneity.curves import check_request

    facts, grid = cells.facts, noise.grid
    request = {**risk, "delta": noise.delta, "rule": noise.rule}
    check_request(grid, noise.mechanism, cast("Any", request))
    places = OutputPage.at(output.out, facts.name, "-risk.html", output.force)
    sensitive = _sensitive(cells, risk["view"])
    request |= {"mechanism": noise.mechanism, "pilot": Path(cells.pilot).name if cells.pilot else None}
    with console.progress("counting cells"):
        curves = _curves(cells, grid, sensitive, request)
    caution, answers = epsilon_choice_caution(curves), all_answers(curves)
    document = {
        "notice": "from a pilot table" if curves.pilot else "custodian's copy: about confidential data, do not publish",
        "choosing_epsilon": caution,
        "answers": [{"question": a.question, "answer": " ".join(a.sentences)} for a in answers],
        "curves": json.loads(curves.model_dump_json()),
    }
    places.write(homogeneity_page(curves, not facts.is_confirmed), document)
    warn_of_draft(console, facts)
    for title, grid in _tables(curves):
        console.table(title, grid.header, grid.rows)
    for answer in answers:
        console.say(answer.question, style="bold")
        for sentence in answer.sentences:
            console.say(f"  {sentence}")
    console.say(caution, style="yellow")
    say_private_page(console, places, "from a pilot" if curves.pilot else "custodian's copy, do not publish")
    console.print_json({"page": str(places.page), "json": str(places.json), **document})


def _sensitive(cells: CellOptions, view: str) -> list[str]:
    """Return the sensitive columns; refuse a view that several columns do not have, before anything is counted."""
    from sfumato.risk.homogeneity.curves import require_record

    named = cells.named_sensitive
    columns = list(cells.facts.with_role("sensitive")) if named is None else named
    if len(columns) > 1:
        require_record(view)
    return columns


def _curves(
    cells: CellOptions, grid: tuple[float, ...], sensitive: list[str], request: dict[str, Any]
) -> RiskCurves | SeveralCurves:
    """Count the cells, of one sensitive column or of several, and compute the curves."""
    from sfumato.risk.homogeneity.cells import Cells
    from sfumato.risk.homogeneity.curves import curves, several_curves

    counted = replace(
        Cells.of(cells.count_source(sensitive), cells.named_identifiers, sensitive or None), schema=cells.facts
    )
    return several_curves(counted, grid, **request) if len(sensitive) > 1 else curves(counted, grid, **request)


def _tables(curves: RiskCurves | SeveralCurves) -> Iterator[tuple[str, TableBlock]]:
    """Yield the tables of the terminal with their titles."""
    from sfumato.report import risk_pages as page
    from sfumato.risk.homogeneity.results import RiskCurves

    one = isinstance(curves, RiskCurves)
    named = curves.sensitive if one else " and ".join(curves.sensitive)
    title = f"{' x '.join(curves.identifiers)} by {named}: risk against epsilon, in per cent"
    if not one:
        yield title, page.joint_grid(curves)
        yield "Cells without noise", page.kinds_grid(curves)
        return
    values = _without(page.homogeneity_grid(curves), LEFT_OUT)
    yield title, replace(values, header=tuple(SHORT.get(name, name) for name in values.header))
    yield "People who are alone in their cell, in per cent", page.uniqueness_grid(curves.alone)
    yield f"Cells most at risk at epsilon {curves.reference.epsilon:.4g}", page.worst_grid(curves)
    yield "Classical measures, without noise", page.companions_grid(curves)


def _without(table: TableBlock, *names: str) -> TableBlock:
    """Return a table without some of its columns."""
    kept = [place for place, name in enumerate(table.header) if name not in names]
    rows = tuple(tuple(row[place] for place in kept) for row in table.rows)
    return replace(table, header=tuple(table.header[place] for place in kept), rows=rows)


def _show_uniqueness(console: Console, cells: CellOptions, noise: NoiseOptions, target: float | None) -> None:
    """Print whether a person who is alone in a cell is seen to be alone, and rightly, against epsilon.

    Exact, from the counts of the cells of a published marginal: of the identifiers, and of the sensitive column if one
    is named.
    """
    from sfumato.report.risk_pages import uniqueness_grid
    from sfumato.risk.homogeneity.cells import DistinctCells, cell_counts
    from sfumato.risk.homogeneity.curves import check_request
    from sfumato.risk.homogeneity.results import AlonePoint, EpsilonChoiceRecord
    from sfumato.risk.homogeneity.uniqueness import epsilon_for_uniqueness, reidentification

    facts, named = cells.facts, cells.named_sensitive or []
    if len(named) > 1:
        raise RiskError("--uniqueness takes one sensitive column", next_step="name one of them, or none")
    stated: Any = {"delta": noise.delta, "rule": noise.rule}
    drawn = check_request(noise.grid, noise.mechanism, stated, facts).noise
    values = facts[named[0]].size if named and named[0] in facts else 1
    choice = None if target is None else epsilon_for_uniqueness(target, values, drawn.name, drawn.sensitivity, **stated)
    with console.progress("counting cells"):
        counts, empty = cell_counts(cells.count_source(named), cells.named_identifiers, named)
        each = DistinctCells.of(counts)
        alone = [
            AlonePoint.at(epsilon, reidentification(each.rows, drawn.law(epsilon), empty, each.repeats))
            for epsilon in noise.grid
        ]
    warn_of_draft(console, facts)
    table = _without(uniqueness_grid(alone), *([] if named else [NAMED]))
    console.table(f"People who are alone in their cell, {drawn.name} noise, in per cent", table.header, table.rows)
    answers = _answers(alone[0], choice)
    for sentence in answers:
        console.say(sentence)
    console.say(cells.notice, style="yellow")
    saved = None if choice is None else json.loads(EpsilonChoiceRecord.of(choice).model_dump_json())
    points = [point.model_dump() for point in alone]
    noise_facts = {"mechanism": drawn.name, "delta": drawn.delta, "rule": drawn.sigma_rule}
    console.print_json({"notice": cells.notice, **noise_facts, "answers": answers, "points": points, "choice": saved})


def _answers(risk: ReidentificationRisk, choice: EpsilonChoice | None) -> list[str]:
    return [
        f"{risk.alone:,.0f} people are alone in their cell, {100 * risk.baseline:.3g} % of all: the certainty of a "
        "neighbour who knows that the person is in the table, without any release.",
        "Seen: the chance that the noisy counts show one person in the cell of somebody who is alone; it depends on "
        "epsilon and the number of values only. Right: of the cells shown with one person, the share that hold one.",
        *([] if choice is None else [_answer(choice)]),
    ]


def _answer(choice: EpsilonChoice) -> str:
    if choice.safe is None:
        what = f"No epsilon keeps the chance of being seen at {choice.target:g}"
        return f"{what}: even pure noise gives {choice.floor:.4g}."
    end = "every epsilon" if math.isinf(choice.safe[1]) else f"every epsilon up to {at_least(choice.safe[1], 4)}"
    return f"Somebody who is alone is seen with a chance of {choice.target:g} or less at {end}."
