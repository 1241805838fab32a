"""The verb sfumato risk homogeneity: disclosure by a published marginal against epsilon."""

from __future__ import annotations

import json as json_text
import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import typer

from sfumato.cli.console import Voice
from sfumato.cli.options import DEFAULT_DIALECT, AsJson, Data, SchemaPath, split_names, with_options
from sfumato.cli.output_page import OutputPage
from sfumato.errors import RiskError
from sfumato.privacy.exact import at_least
from sfumato.schema import Schema
from sfumato.schema.dialect import Dialect

if TYPE_CHECKING:
    from sfumato.report.blocks import TableBlock
    from sfumato.risk.homogeneity.answers import Answer
    from sfumato.risk.homogeneity.epsilon_search import EpsilonChoice
    from sfumato.risk.homogeneity.expected import SizeLaw
    from sfumato.risk.homogeneity.noise import Mechanism
    from sfumato.risk.homogeneity.planning import PlannedRisk
    from sfumato.risk.homogeneity.results import RiskCurves, SeveralCurves
    from sfumato.risk.homogeneity.uniqueness import ReidentificationRisk
    from sfumato.table import Table

Identifiers = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns a neighbour knows, such as age,sex: a list, or repeated; the quasi-identifiers unless said."
    ),
]

EpsilonRange = Annotated[
    str | None,
    typer.Option(help="Epsilons of the curves, low:high; 0.01:30 unless said (0.01:0.99 by --rule classical)."),
]

MechanismName = Annotated[
    str, typer.Option(help="Noise: geometric, laplace, gaussian or discrete-gaussian; the last two need --delta.")
]

NoiseDelta = Annotated[float | None, typer.Option(help="Delta of Gaussian noise, such as 1e-6.")]

SigmaRule = Annotated[
    str | None,
    typer.Option(help="How sigma follows from epsilon and delta: analytic unless said, classical, or probabilistic."),
]

Pilot = Annotated[
    str | None,
    typer.Option(help="Public or earlier table to steer by instead: every number comes from it, DATA is not read."),
]


class CellColumns(NamedTuple):
    """Identifiers and sensitive columns as they were asked for; none where the roles of the schema decide."""

    identifiers: list[str] | None
    sensitive: list[str] | None

    def of(self, schema: Schema) -> set[str]:
        """Return the names that are needed."""
        known = self.identifiers or schema.with_role("quasi-identifier")
        return {*known, *(schema.with_role("sensitive") if self.sensitive is None else self.sensitive)}


def grid_of(text: str | None, rule: str | None) -> tuple[float, ...]:
    """Return the epsilons of ``low:high``, or the usual ones."""
    from sfumato.risk.homogeneity.curves import default_range, epsilon_grid

    if text is None:
        return epsilon_grid(*default_range(rule))
    low, _, high = text.partition(":")
    try:
        return epsilon_grid(float(low), float(high))
    except ValueError as error:
        raise RiskError(
            f"--epsilon-range {text!r} is not of the form low:high", next_step="write --epsilon-range 0.01:30"
        ) from error


def count_source(source: str, pilot: str | None, schema: Schema, asked: CellColumns, dialect: Dialect) -> Table:
    """Return the table that is counted: DATA, or the pilot, of which the columns of the cells alone are needed."""
    from sfumato.table import read

    wanted = _pilot_schema(schema, asked) if pilot else schema
    table = read(pilot or source, wanted, **dialect.stated())
    table.require_valid()
    return table


def _pilot_schema(schema: Schema, asked: CellColumns) -> Schema:
    """Return what a pilot must hold: the columns of the cells, and as many rows as it likes."""
    wanted = {*asked.of(schema), schema.person}
    columns = tuple(column for column in schema if column.name in wanted)
    rules = tuple(rule for rule in schema.rules if set(rule.columns) <= wanted)
    return replace(schema, columns=columns, rules=rules, adjacency="add-remove", rows=None) if columns else schema


SHORT = {
    "epsilon": "eps",
    "conservative": "cons.",
    "record by person": "by person",
    "plurality by person": "plural.",
    **{f"TVD {order}-way": f"TVD {order}" for order in (1, 2, 3)},
}

LEFT_OUT = "soft by person"

"""The page and the JSON file have it; a terminal of 80 columns has no place for it."""

DRAFT = "the schema is a draft: no guarantee is claimed here, and no release may use it before it is confirmed"


@with_options
def homogeneity(
    data: Data,
    schema: SchemaPath,
    identifiers: Identifiers = None,
    sensitive: Annotated[
        list[str] | None,
        typer.Option(help="Column to be read off, or several: a list, or repeated; the sensitive ones unless said."),
    ] = None,
    epsilon_range: EpsilonRange = None,
    target: Annotated[
        float | None, typer.Option(help="Find the epsilons that keep the risk at this, such as 0.35.")
    ] = None,
    view: Annotated[str, typer.Option(help="Risk that the target is about: record, conservative or any.")] = "record",
    weights: Annotated[str, typer.Option(help="Average over cells or over people: cell or record.")] = "cell",
    mechanism: MechanismName = "geometric",
    delta: NoiseDelta = None,
    rule: SigmaRule = None,
    pilot: Pilot = None,
    out: Annotated[str | None, typer.Option("--out", "-o", help="The page; NAME-risk.html unless said.")] = None,
    force: Annotated[bool, typer.Option(help="Overwrite an existing page.")] = False,
    dialect: Dialect = DEFAULT_DIALECT,
    json: AsJson = False,
) -> None:
    """Show how many people's sensitive value a neighbour could read off a noisy cross table, against epsilon.

    Nothing is released and nothing is spent. What this prints is about the private rows, for the custodian's eyes,
    unless a pilot is given. With several sensitive columns it shows which of them a cell gives away: each, all
    together, and at least one.
    """
    from sfumato.risk.homogeneity.curves import check_request

    voice, facts, grid = Voice(json), Schema.load(schema), grid_of(epsilon_range, rule)
    asked: dict[str, Any] = {"target": target, "view": view, "weights": weights, "delta": delta, "rule": rule}
    check_request(grid, mechanism, cast("Any", asked))
    places = OutputPage.at(out, facts.name, "-risk.html", force)
    columns = CellColumns(split_names(identifiers), split_names(sensitive))
    named = _sensitive(columns, facts, view)
    with voice.counting("counting cells"):
        cells = _cells(count_source(data, pilot, facts, columns, dialect), columns.identifiers, named)
    asked.update(mechanism=mechanism, pilot=Path(pilot).name if pilot else None)
    found = _curves(replace(cells, schema=facts), grid, asked)
    shown = _shown(found, not facts.is_confirmed)
    document = _document(found, shown)
    places.write(shown.page, document)
    _show(voice, found, shown, places, not facts.is_confirmed)
    voice.document({"page": str(places.page), "json": str(places.json), **document})


def _sensitive(asked: CellColumns, schema: Schema, view: str) -> list[str]:
    """Return the sensitive columns; refuse a view that several of them do not have before anything is counted."""
    from sfumato.risk.homogeneity.curves import require_record

    named = list(schema.with_role("sensitive")) if asked.sensitive is None else asked.sensitive
    if len(named) > 1:
        require_record(view)
    return named


def _cells(table: Table, identifiers: list[str] | None, named: list[str]) -> Any:
    """Count the cells: of one sensitive column, or of several."""
    from sfumato.risk.homogeneity.cells import Cells

    return Cells.of(table, identifiers, named or None)


def _curves(cells: Any, grid: tuple[float, ...], asked: dict[str, Any]) -> RiskCurves | SeveralCurves:
    from sfumato.risk.homogeneity.curves import curves, several_curves

    return several_curves(cells, grid, **asked) if len(cells.sensitive) > 1 else curves(cells, grid, **asked)


class _HomogeneityOutput(NamedTuple):
    """The page, the tables of the terminal with their titles, and the answers in words."""

    page: str
    tables: tuple[tuple[str, TableBlock], ...]
    answers: tuple[Answer, ...]


def _shown(found: RiskCurves | SeveralCurves, draft: bool) -> _HomogeneityOutput:
    from sfumato.report.homogeneity_page import homogeneity_page
    from sfumato.risk.homogeneity import answers
    from sfumato.risk.homogeneity.results import RiskCurves

    page, sentences = homogeneity_page(found, draft), (answers.risk_answer(found), answers.epsilon_answer(found))
    if not isinstance(found, RiskCurves):
        return _HomogeneityOutput(page, _joint_tables(found), sentences)
    return _HomogeneityOutput(page, _output_tables(found), (*sentences, answers.uniqueness_answer(found)))


def _joint_tables(found: SeveralCurves) -> tuple[tuple[str, TableBlock], ...]:
    from sfumato.report.homogeneity_page import joint_grid, kinds_grid

    title = f"{' x '.join(found.identifiers)} by {' and '.join(found.sensitive)}: risk against epsilon, in per cent"
    return (title, joint_grid(found)), ("Cells without noise", kinds_grid(found))


def _output_tables(found: RiskCurves) -> tuple[tuple[str, TableBlock], ...]:
    from sfumato.report.blocks import TableBlock
    from sfumato.report.homogeneity_page import companions_grid, uniqueness_grid, values_grid, worst_grid

    values = values_grid(found)
    kept = [i for i, name in enumerate(values.header) if name != LEFT_OUT]
    header = tuple(SHORT.get(values.header[i], values.header[i]) for i in kept)
    short = TableBlock(header, tuple(tuple(row[i] for i in kept) for row in values.rows), values.numbers)
    title = f"{' x '.join(found.identifiers)} by {found.sensitive}: risk against epsilon, in per cent"
    return (
        (title, short),
        ("People who are alone in their cell, in per cent", uniqueness_grid(found)),
        (f"Cells most at risk at epsilon {found.reference.epsilon:.4g}", worst_grid(found)),
        ("Classical measures, without noise", companions_grid(found)),
    )


def _document(found: RiskCurves | SeveralCurves, shown: _HomogeneityOutput) -> dict[str, Any]:
    from sfumato.risk.homogeneity.answers import epsilon_choice_caution

    notice = "from a pilot table" if found.pilot else "custodian's copy: about confidential data, do not publish"
    answers = [{"question": a.question, "answer": " ".join(a.sentences)} for a in shown.answers]
    body = json_text.loads(found.model_dump_json())
    return {"notice": notice, "choosing_epsilon": epsilon_choice_caution(found), "answers": answers, "curves": body}


def _show(
    voice: Voice, found: RiskCurves | SeveralCurves, shown: _HomogeneityOutput, places: OutputPage, draft: bool
) -> None:
    from sfumato.risk.homogeneity.answers import epsilon_choice_caution

    if draft:
        voice.say(f"warning: {DRAFT}", style="yellow")
    for title, grid in shown.tables:
        voice.table(title, grid.header, grid.rows)
    for answer in shown.answers:
        voice.say(answer.question, style="bold")
        for sentence in answer.sentences:
            voice.say(f"  {sentence}")
    voice.say(epsilon_choice_caution(found), style="yellow")
    kind = "from a pilot" if found.pilot else "custodian's copy, do not publish"
    voice.say(f"page: {places.page} ({kind})", style="bold")
    voice.say(f"json: {places.json}", style="bold")


PLANNED = "Nothing confidential was read: an epsilon chosen by these numbers gives nothing away."

UNIQUENESS_COLUMNS = ("seen alone", "right", "right, known in")


def plan_from_public_facts(
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
    from sfumato.risk.homogeneity.noise import WITH_DELTA

    if adjacency not in ("add-remove", "replace"):
        raise RiskError(f"unknown adjacency {adjacency!r}", next_step="use add-remove or replace")
    return math.sqrt(histogram_l2_squared(adjacency)) if mechanism in WITH_DELTA else histogram_l1(adjacency)


def _show_plan(voice: Voice, found: PlannedRisk) -> None:
    header = ("epsilon", "record", "conservative", "any", *(UNIQUENESS_COLUMNS if found.alone else ()))
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


NAMED = "seen with the value"

HEADER = ("epsilon", "seen", NAMED, "right", "right, known to be in")

CUSTODIAN = "These numbers are about the private rows: for the custodian's eyes. Nothing was released or spent."


@with_options
def uniqueness(
    data: Data,
    schema: SchemaPath,
    identifiers: Identifiers = None,
    sensitive: Annotated[
        str | None, typer.Option(help="Sensitive column of the published table; without it the identifiers alone.")
    ] = None,
    epsilon_range: EpsilonRange = None,
    target: Annotated[
        float | None,
        typer.Option(help="Find the epsilons at which somebody who is alone is seen with this chance at most."),
    ] = None,
    mechanism: MechanismName = "geometric",
    delta: NoiseDelta = None,
    rule: SigmaRule = None,
    pilot: Pilot = None,
    dialect: Dialect = DEFAULT_DIALECT,
    json: AsJson = False,
) -> None:
    """Show whether a person who is alone in a cell is seen to be alone, and rightly, against epsilon.

    Exact, from the counts of the cells of a published table of the identifiers. Nothing is released or spent.
    """
    from sfumato.risk.homogeneity.curves import check_request, stated_sensitivity
    from sfumato.risk.homogeneity.noise import Mechanism
    from sfumato.risk.homogeneity.results import evenly_spaced

    voice, facts, grid = Voice(json), Schema.load(schema), grid_of(epsilon_range, rule)
    check_request(grid, mechanism, {"delta": delta, "rule": rule})
    noise = Mechanism(mechanism, delta, rule, stated_sensitivity(facts, mechanism))
    choice = None if target is None else _choice(target, facts, sensitive, noise)
    columns = CellColumns(split_names(identifiers), [sensitive] if sensitive else [])
    with voice.counting("counting cells"):
        table = count_source(data, pilot, facts, columns, dialect)
        found = _risks(table, columns, grid, noise)
    if not facts.is_confirmed:
        voice.say(f"warning: {DRAFT}", style="yellow")
    title = f"People who are alone in their cell, {mechanism} noise, in per cent"
    rows = [_row(grid[i], found[i]) for i in evenly_spaced(len(grid))]
    kept = [i for i, name in enumerate(HEADER) if sensitive or name != NAMED]
    voice.table(title, [HEADER[i] for i in kept], [[row[i] for i in kept] for row in rows])
    answers = _answers(found[0], choice)
    for sentence in answers:
        voice.say(sentence)
    notice = f"From the pilot {pilot}; the confidential table was not read." if pilot else CUSTODIAN
    voice.say(notice, style="yellow")
    points = [{"epsilon": epsilon, **asdict(risk)} for epsilon, risk in zip(grid, found, strict=True)]
    told = {"notice": notice, "mechanism": mechanism, "delta": delta, "rule": noise.sigma_rule, "answers": answers}
    voice.document({**told, "points": points, "choice": _saved(choice)})


def _choice(target: float, schema: Schema, sensitive: str | None, noise: Mechanism) -> EpsilonChoice:
    from sfumato.risk.homogeneity.uniqueness import epsilon_for_uniqueness

    values = schema[sensitive].size if sensitive and sensitive in schema else 1
    return epsilon_for_uniqueness(target, values, noise.name, noise.sensitivity, delta=noise.delta, rule=noise.rule)


def _risks(table: Any, asked: CellColumns, grid: Sequence[float], noise: Mechanism) -> list[ReidentificationRisk]:
    import numpy as np

    from sfumato.risk.homogeneity.cells import cell_counts
    from sfumato.risk.homogeneity.uniqueness import reidentification

    cells, empty = cell_counts(table, asked.identifiers, asked.sensitive or [])
    rows, repeats = np.unique(np.sort(cells, axis=1), axis=0, return_counts=True)
    return [reidentification(rows, noise.law(epsilon), empty, repeats) for epsilon in grid]


def _row(epsilon: float, risk: ReidentificationRisk) -> list[str]:
    return [f"{epsilon:.3g}", *(f"{100 * share:.1f}" for share in (risk.seen, risk.named, risk.right, risk.known))]


def _answers(risk: ReidentificationRisk, choice: EpsilonChoice | None) -> list[str]:
    return [
        f"{risk.alone:,.0f} people are alone in their cell, {100 * risk.baseline:.3g} % of all: so sure is a neighbour "
        "without any release who knows that the person is in the table.",
        "Seen: the chance that the noisy table shows one person in the cell of somebody who is alone; it depends on "
        "epsilon and the number of values only. Right: of the cells shown with one person, the share that hold one.",
        *([] if choice is None else [_answer(choice)]),
    ]


def _answer(choice: EpsilonChoice) -> str:

    if choice.safe is None:
        what = f"No epsilon keeps the chance of being seen at {choice.target:g}"
        return f"{what}: even pure noise gives {choice.floor:.4g}."
    end = "every epsilon" if math.isinf(choice.safe[1]) else f"every epsilon up to {at_least(choice.safe[1], 4)}"
    return f"Somebody who is alone is seen with a chance of {choice.target:g} or less at {end}."


def _saved(choice: EpsilonChoice | None) -> Any:
    from sfumato.risk.homogeneity.results import EpsilonChoiceRecord

    return None if choice is None else json_text.loads(EpsilonChoiceRecord.of(choice).model_dump_json())
