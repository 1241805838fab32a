"""Page on homogeneity risk: disclosure by a published marginal at each epsilon.

All have the same epsilon in the same place, so that a look straight down shows the trade.

The page shows true numbers of the table it was computed on. It is the custodian's copy, unless that table was a pilot.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from markupsafe import Markup

from sfumato.bundle.description import Banner
from sfumato.formatting import format_number, percent, percent_fixed
from sfumato.privacy.exact import at_least
from sfumato.report.blocks import (
    Card,
    Cards,
    ChartBlock,
    Definition,
    Definitions,
    Page,
    Paragraphs,
    Section,
    TableBlock,
)
from sfumato.report.charts.axis import Axis
from sfumato.report.charts.marks import LineMark, RuleMark, describe_ends, lines
from sfumato.report.page import to_html
from sfumato.report.texts import Texts
from sfumato.report.texts.homogeneity_answers import all_answers, attacker, epsilon_choice_caution
from sfumato.risk.homogeneity.results import AlonePoint, RiskCurves, RiskPoint, SeveralCurves, evenly_spaced
from sfumato.version import __version__

say = Texts("risk_pages")
RISK_HEIGHT, GUESS_HEIGHT, UTILITY_HEIGHT = 330, 250, 270
SHARES = ("homogeneous_cells", "homogeneous_records")
WAYS = {"cross": "from this cross table", "direct": "published directly"}


def risk_chart(curves: RiskCurves) -> Markup:
    """Return the risk curves with floor and ceiling of the steering one, the target and the feasible intervals."""
    across = [point.epsilon for point in curves.points]
    items = [
        LineMark("record, by cell", across, [p.record.cell for p in curves.points]),
        LineMark("conservative, by cell", across, [p.conservative.cell for p in curves.points]),
        LineMark("record, by person", across, [p.record.record for p in curves.points]),
    ]
    if curves.view == "any":
        items.append(LineMark(_steering(curves), across, [p.any.by(curves.weights) for p in curves.points]))
    elif curves.view == "conservative" and curves.weights == "record":
        items.append(LineMark(_steering(curves), across, [p.conservative.record for p in curves.points]))
    return _drawn(curves, items, Axis("risk", 0.0, percent=True), [*_limits(curves), *_target(curves)], RISK_HEIGHT)


def guess_chart(curves: RiskCurves) -> Markup:
    """Return how often a reading is right, and attackers who guess, beside naming the most common value."""
    guessed = [point.epsilon for point in curves.guesses]
    items = [
        LineMark("PPV", [p.epsilon for p in curves.points], [p.ppv.cell for p in curves.points]),
        LineMark("plurality, by person", guessed, [p.plurality.record for p in curves.guesses]),
        LineMark("soft, by person", guessed, [p.soft.record for p in curves.guesses]),
    ]
    rule = RuleMark(f"always naming the most common value: {percent_fixed(curves.baseline)}", curves.baseline)
    return _drawn(curves, items, Axis("right", 0.0, 1.0, percent=True), [rule], GUESS_HEIGHT)


def uniqueness_chart(curves: RiskCurves) -> Markup:
    """Return whether people who are alone are seen to be alone, and rightly, beside their share among all people."""
    across, share = [point.epsilon for point in curves.alone], curves.alone[0].baseline
    items = [
        LineMark("seen as alone", across, [p.seen for p in curves.alone]),
        LineMark("right, known to be in the table", across, [p.known for p in curves.alone]),
        LineMark("right, any cell", across, [p.right for p in curves.alone]),
    ]
    rule = RuleMark(f"people who are alone: {percent_fixed(share)}", share)
    return _drawn(curves, items, Axis("chance", 0.0, 1.0, percent=True), [rule], GUESS_HEIGHT)


def joint_risk_chart(curves: SeveralCurves) -> Markup:
    """Return the risk of each sensitive attribute, of all together, and of at least one."""
    by, across = curves.weights, [point.epsilon for point in curves.points]
    items = [
        LineMark("at least one", across, [p.some.by(by) for p in curves.points]),
        *(LineMark(name, across, [p.each[name].by(by) for p in curves.points]) for name in curves.sensitive),
        LineMark("all together", across, [p.complete.by(by) for p in curves.points]),
    ]
    return _drawn(curves, items, Axis("risk", 0.0, percent=True), _target(curves), RISK_HEIGHT)


def utility_chart(curves: RiskCurves) -> Markup:
    """Return the distances of the marginals: solid from the cross table, dashed when they are published instead."""
    points = curves.utility.points if curves.utility else ()
    orders = sorted({point.order for point in points})
    items: list[LineMark] = []
    for way, words in WAYS.items():
        for look, order in enumerate(orders):
            these = [p for p in points if (p.way, p.order) == (way, order)]
            across, up = [p.epsilon for p in these], [p.mean for p in these]
            items.append(LineMark(f"{order}-way, {words}", across, up, look=look, dashed=way == "direct"))
    return _drawn(curves, items, Axis("distance (TVD)", 0.0, percent=True), (), UTILITY_HEIGHT)


def _drawn(
    curves: RiskCurves | SeveralCurves, items: Sequence[LineMark], y: Axis, rules: Sequence[RuleMark], height: int
) -> Markup:
    """Return lines over the epsilons; those that keep the target are shaded, the safe ones strongly."""
    x = Axis("epsilon (log scale)", curves.points[0].epsilon, curves.points[-1].epsilon, logarithmic=True)
    intervals: Sequence[tuple[float, float]] = () if curves.choice is None else curves.choice.intervals
    return lines(
        items,
        x,
        y,
        " ".join([describe_ends(items, x, y), *(f"{rule.words}." for rule in rules)]),
        rules=rules,
        shaded=[each for each in intervals if each[0] == 0],
        faintly=[each for each in intervals if each[0] != 0],
        shade_words="safe: keeps the target",
        faint_words="keeps it, above riskier epsilons",
        height=height,
    )


def _steering(curves: RiskCurves) -> str:
    return f"{curves.view}, by {'person' if curves.weights == 'record' else 'cell'}"


def _limits(curves: RiskCurves) -> list[RuleMark]:
    """Return floor and ceiling of the curve that steers."""
    limits, what = curves.limits[curves.view], _steering(curves)
    floor, ceiling = limits.floor.by(curves.weights), limits.ceiling.by(curves.weights)
    return [
        RuleMark(f"floor of {what}: {percent(floor, 3)}", floor),
        RuleMark(f"ceiling of {what}: {percent(ceiling, 3)}", ceiling),
    ]


def _target(curves: RiskCurves | SeveralCurves) -> list[RuleMark]:
    if curves.choice is None:
        return []
    target = curves.choice.target
    return [RuleMark(f"target: {percent(target, 3)}", target, goal=True)]


def homogeneity_page(curves: RiskCurves | SeveralCurves, draft: bool = False) -> str:
    """Return the page as HTML; ``draft`` says that the schema was not yet confirmed as public."""
    one = isinstance(curves, RiskCurves)
    sections = _sections(curves) if one else _joint_sections(curves)
    attack = "homogeneity attack" if one else "homogeneity attack on several columns"
    page = Page(
        curves.table,
        _lead(curves),
        tuple(banners(curves, draft)),
        tuple(sections),
        kicker="Sfumato risk" if curves.pilot else "Sfumato risk, custodian's copy",
        footer=f"Exact risk of the {attack} under {curves.mechanism} noise. sfumato {__version__}.",
        tab=f"{curves.table}: risk of {'the homogeneity attack' if one else 'several sensitive columns'}",
    )
    return to_html(page)


def _lead(curves: RiskCurves | SeveralCurves) -> str:
    one = isinstance(curves, RiskCurves)
    combinations = "" if one else f", {format_number(curves.combinations)} combinations of sensitive values"
    return say(
        "homogeneity.lead",
        identifiers=", ".join(curves.identifiers),
        sensitive=curves.sensitive if one else " and ".join(curves.sensitive),
        what_for=", and what it is good for" if one else "",
        people=format_number(curves.records),
        cells=format_number(curves.cells),
        pilot=" of the pilot" if curves.pilot else "",
        combinations=combinations,
    )


def _sections(curves: RiskCurves) -> Iterator[Section]:
    yield _answers(curves)
    yield Section("curves", "Risk and utility against epsilon", tuple(_charts(curves)), "Curves")
    reading = tuple(Definition(term, (words,)) for term, words in _reading(curves).items())
    yield Section("reading", "How to read the curves", (Definitions(reading),), "How to read them")
    worst = (Paragraphs((say("homogeneity.worst", epsilon=curves.reference.epsilon),)), worst_grid(curves))
    yield Section("cells", "Cells most at risk", worst, "Cells")
    classical = (Paragraphs((say("homogeneity.companions"),)), companions_grid(curves))
    yield Section("classical", "Classical measures of the same cells", classical, "Classical measures")
    yield _attacker(curves)


def _joint_sections(curves: SeveralCurves) -> Iterator[Section]:
    yield _answers(curves)
    units = "people" if curves.weights == "record" else "cells"
    note = say("homogeneity.joint_risk", units=units, shading=shading(curves))
    values = replace(joint_grid(curves), title=say("homogeneity.joint_values"))
    chart = ChartBlock("How often a neighbour reads off values rightly", (note,), joint_risk_chart(curves), (values,))
    yield Section("curves", "Risk against epsilon", (chart,), "Curves")
    yield Section("cells", "Cells without noise", (kinds_grid(curves),), "Cells")
    yield _attacker(curves)


def _answers(curves: RiskCurves | SeveralCurves) -> Section:
    answers = all_answers(curves)
    cards = [Card(each.question, each.sentences[0], (Paragraphs(each.sentences[1:]),)) for each in answers]
    steered = "Epsilon was steered by a pilot"
    heading = steered if curves.pilot else "Choosing epsilon here is a query on the confidential table"
    whole = len(answers) % 2 == 0
    cards.append(Card(heading, "", (Paragraphs((epsilon_choice_caution(curves),)),), whole))
    return Section("answers", "The answers in short", (Cards(tuple(cards)),), "Answers")


def _attacker(curves: RiskCurves | SeveralCurves) -> Section:
    return Section("attacker", "Who attacks, and what gets noise", (Paragraphs(attacker(curves)),), "Attacker")


def _charts(curves: RiskCurves) -> Iterator[ChartBlock]:
    risk = say("homogeneity.risk", shading=shading(curves))
    yield ChartBlock("Risk: how often a neighbour reads off a value", (risk,), risk_chart(curves))
    guesses = say("homogeneity.guesses", note=guess_note(curves))
    yield ChartBlock("How often a reading or a guess is right", (guesses,), guess_chart(curves))
    alone = say("homogeneity.alone", people=format_number(curves.alone[0].alone))
    question = "Re-identification: is somebody who is alone seen to be alone?"
    yield ChartBlock(question, (alone,), uniqueness_chart(curves), () if curves.utility else value_tables(curves))
    if curves.utility:
        title = "Utility: total-variation distance of the 1-, 2- and 3-way marginals"
        yield ChartBlock(title, (utility_note(curves),), utility_chart(curves), value_tables(curves))


def value_tables(curves: RiskCurves) -> tuple[TableBlock, TableBlock]:
    """Return the values behind the charts, each with a line about them."""
    values = replace(values_grid(curves), title=say("homogeneity.values"))
    return values, replace(uniqueness_grid(curves.alone), title=say("homogeneity.alone_values"))


def _reading(curves: RiskCurves) -> dict[str, str]:
    """Return what each curve is, with the numbers to compare it with."""
    record, conservative = curves.limits["record"], curves.limits["conservative"]
    facts = {
        "people": format_number(curves.records),
        "record_floor": percent(record.floor.cell, 3),
        "record_ceiling": percent(record.ceiling.cell, 3),
        "record_people": percent(record.ceiling.record, 3),
        "conservative_floor": percent(conservative.floor.cell, 3),
        "conservative_ceiling": percent(conservative.ceiling.cell, 3),
        "nothing": percent(1 / curves.values, 3),
        "baseline": percent(curves.baseline, 3),
        "alone": percent(curves.alone[0].baseline, 3),
    }
    return {term: text.format(**facts) for term, text in say.table("homogeneity")["reading"].items()}


def banners(curves: RiskCurves | SeveralCurves, draft: bool = False) -> list[Banner]:
    """Return the warnings across the top."""
    if curves.pilot is None:
        text = say("homogeneity.confidential")
        warnings = [Banner("danger", "Custodian's copy: about confidential data. Do not publish.", text)]
    else:
        warnings = [Banner("warning", "From a pilot table", say("homogeneity.pilot", pilot=curves.pilot))]
    if draft:
        warnings.append(Banner("warning", "The schema is a draft", say("homogeneity.draft")))
    return warnings


def values_grid(curves: RiskCurves) -> TableBlock:
    """Return risk and distance at a dozen epsilons, in per cent."""
    guesses = {point.epsilon: point for point in curves.guesses}
    distances = {
        (p.epsilon, p.order): p.mean for p in (curves.utility.points if curves.utility else ()) if p.way == "cross"
    }
    orders = sorted({order for _, order in distances})
    header = (
        "epsilon",
        "conservative",
        "record",
        "record by person",
        "PPV",
        "plurality by person",
        "soft by person",
        *(f"TVD {order}-way" for order in orders),
    )

    def row(point: RiskPoint) -> tuple[str, ...]:
        guessed = guesses.get(point.epsilon)
        named = (guessed.plurality.record, guessed.soft.record) if guessed else (None, None)
        shares = (
            point.conservative.cell,
            point.record.cell,
            point.record.record,
            point.ppv.cell,
            *named,
            *(distances.get((point.epsilon, order)) for order in orders),
        )
        return (f"{point.epsilon:.3g}", *("" if share is None else f"{100 * share:.1f}" for share in shares))

    return TableBlock(header, tuple(row(point) for point in evenly_spaced(curves.points)), tuple(range(len(header))))


def uniqueness_grid(alone: Sequence[AlonePoint]) -> TableBlock:
    """Return the re-identification risk at a dozen epsilons, in per cent."""
    header = ("epsilon", "seen", "seen with the value", "right", "right, known to be in")
    rows = tuple(
        (f"{p.epsilon:.3g}", *(f"{100 * share:.1f}" for share in (p.seen, p.named, p.right, p.known)))
        for p in evenly_spaced(alone)
    )
    return TableBlock(header, rows, tuple(range(len(header))))


def worst_grid(curves: RiskCurves) -> TableBlock:
    """Return the cells whose members are most at risk."""
    header = (*curves.identifiers, "people", f"most common {curves.sensitive}", "share", "risk")
    rows = tuple(
        (
            *cell.identifiers.values(),
            format_number(cell.people),
            cell.value,
            percent_fixed(cell.share, 0),
            percent_fixed(cell.risk),
        )
        for cell in curves.worst
    )
    width = len(curves.identifiers)
    return TableBlock(header, rows, (width, width + 2, width + 3))


def companions_grid(curves: RiskCurves) -> TableBlock:
    """Return the classical measures, each with what it means."""

    def written(key: str) -> str:
        value = curves.companions[key]
        return percent_fixed(value) if key in SHARES else format_number(value)

    classical = say.table("homogeneity")["classical"].items()
    rows = tuple((name, written(key), meaning) for key, (name, meaning) in classical)
    return TableBlock(("measure", "value", "what it says"), rows, (1,))


def joint_grid(curves: SeveralCurves) -> TableBlock:
    """Return the risk of several sensitive columns at a dozen epsilons, in per cent."""
    header = ("epsilon", *curves.sensitive, "all together", "some, not all", "at least one")
    rows: list[tuple[str, ...]] = []
    for point in (*evenly_spaced(curves.points), curves.ceiling):
        each = [point.each[name].by(curves.weights) for name in curves.sensitive]
        complete, some = point.complete.by(curves.weights), point.some.by(curves.weights)
        name = "no noise" if point is curves.ceiling else f"{point.epsilon:.3g}"
        rows.append((name, *(f"{100 * share:.1f}" for share in (*each, complete, some - complete, some))))
    return TableBlock(header, tuple(rows), tuple(range(len(header))))


def kinds_grid(curves: SeveralCurves) -> TableBlock:
    """Return how many cells give away all, some or none of the columns without noise."""
    words = say.table("homogeneity")["kinds"]
    kinds = curves.kinds.items()
    rows = tuple((name, format_number(kind.cells), format_number(kind.people), words[name]) for name, kind in kinds)
    return TableBlock(("kind", "cells", "people", "what it says"), rows, (1, 2))


def utility_note(curves: RiskCurves) -> str:
    """Say how the distances were computed."""
    utility = curves.utility
    if utility is None:
        return ""
    looked = ", ".join(
        f"{order}-way: {utility.sets[order]} of {count}" if utility.sets[order] < count else f"{order}-way: all {count}"
        for order, count in utility.all_sets.items()
    )
    facts = {"sensitive": curves.sensitive, "draws": utility.draws, "domain": curves.domain}
    return say("homogeneity.utility", looked=looked, **facts)


def guess_note(curves: RiskCurves) -> str:
    """Say how the curves of the guessing attackers were computed."""
    if not curves.guesses:
        return say("homogeneity.not_computed")
    how = "exact"
    if curves.guessed_cells != curves.distinct_cells:
        how = say("homogeneity.sampled", some=curves.guessed_cells, all=curves.distinct_cells)
    return say("homogeneity.computed", how=how)


def shading(curves: RiskCurves | SeveralCurves) -> str:
    """Say what the shaded epsilons mean."""
    choice = curves.choice
    if choice is None or not choice.intervals:
        return ""
    if choice.safe is None:
        return say("homogeneity.unsafe")
    end = "every epsilon" if math.isinf(choice.safe[1]) else f"up to epsilon {at_least(choice.safe[1], 4)}"
    return say("homogeneity.safe", end=end, faint=say("homogeneity.faint") if len(choice.intervals) > 1 else "")
