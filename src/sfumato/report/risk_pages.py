"""Pages on risk: what a published cross table discloses at each epsilon, and attacks on a method at several epsilons.

All charts of a page have the same epsilon in the same place, so that a look straight down shows the trade. A page
shows true numbers of the table it was computed on. It is the custodian's copy, unless that table was a pilot.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from sfumato.bundle.description import Banner
from sfumato.formatting import format_number, percent, percent_fixed
from sfumato.metrics.confidence import Interval
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
from sfumato.report.charts.marks import LineMark, Lines, RuleMark
from sfumato.report.page import to_html
from sfumato.report.texts import Texts
from sfumato.report.texts.homogeneity_answers import all_answers, attacker, epsilon_choice_caution
from sfumato.risk.attacks.attack import AttackResult
from sfumato.risk.homogeneity.results import (
    AlonePoint,
    RiskCurves,
    SeveralCurves,
    Utility,
    evenly_spaced,
)
from sfumato.risk.simulated.epsilon_sweep import Sweep
from sfumato.version import __version__

say = Texts("risk_pages")
RISK_HEIGHT, GUESS_HEIGHT, UTILITY_HEIGHT = 330, 250, 270
SHARES = ("homogeneous_cells", "homogeneous_records")
WAYS = {"cross": "from this cross table", "direct": "published directly"}
SWEEP_HEADER = ("epsilon", "attack", "right", "interval", "guessing", "control", "best", "ceiling")
BEST, CEILING, GUESSING = "best of all attacks, exact", "ceiling of the guarantee", "guessing"
MOST_PLACES = 10
"""As many epsilons have a tick each."""
SIDE = 1.1
"""Room beside the first and the last epsilon, as a factor."""
COPY = "Custodian's copy: about confidential data. Do not publish."
DRAFT = "The schema is a draft"


def homogeneity_page(curves: RiskCurves | SeveralCurves, draft: bool = False) -> str:
    """Return the page as HTML; ``draft`` says that the schema was not yet confirmed as public."""
    one = isinstance(curves, RiskCurves)
    attack = "homogeneity attack" if one else "homogeneity attack on several columns"
    page = Page(
        curves.table,
        _lead(curves),
        tuple(_homogeneity_banners(curves, draft)),
        tuple(_sections(curves) if one else _joint_sections(curves)),
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
    chart = ChartBlock("How often a neighbour reads off values rightly", (note,), _joint_risk_chart(curves), (values,))
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


def _line(name: str, points: Sequence[Any], height: Callable[[Any], float], **look: Any) -> LineMark:
    """Return a curve over the epsilons of some points."""
    return LineMark(name, [point.epsilon for point in points], [height(point) for point in points], **look)


def _charts(curves: RiskCurves) -> Iterator[ChartBlock]:
    risk = say("homogeneity.risk", shading=shading(curves))
    yield ChartBlock("Risk: how often a neighbour reads off a value", (risk,), _risk_chart(curves))
    guesses = say("homogeneity.guesses", note=guess_note(curves))
    yield ChartBlock("How often a reading or a guess is right", (guesses,), _guess_chart(curves))
    alone = say("homogeneity.alone", people=format_number(curves.alone[0].alone))
    question = "Re-identification: is somebody who is alone seen to be alone?"
    picture = _uniqueness_chart(curves)
    yield ChartBlock(question, (alone,), picture, () if curves.utility else _value_tables(curves))
    if curves.utility:
        title = "Utility: total-variation distance of the 1-, 2- and 3-way marginals"
        picture = _utility_chart(curves, curves.utility)
        yield ChartBlock(title, (utility_note(curves, curves.utility),), picture, _value_tables(curves))


def _risk_chart(curves: RiskCurves) -> Markup:
    """Return the risk curves with floor and ceiling of the steering one, the target and the feasible intervals."""
    by, points = curves.weights, curves.points
    steering = f"{curves.view}, by {'person' if by == 'record' else 'cell'}"
    items = [
        _line("record, by cell", points, lambda p: p.record.cell),
        _line("conservative, by cell", points, lambda p: p.conservative.cell),
        _line("record, by person", points, lambda p: p.record.record),
    ]
    if curves.view == "any" or (curves.view == "conservative" and by == "record"):
        items.append(_line(steering, points, lambda p: getattr(p, curves.view).by(by)))
    ends = {"floor": curves.limits[curves.view].floor.by(by), "ceiling": curves.limits[curves.view].ceiling.by(by)}
    limits = [RuleMark(f"{name} of {steering}: {percent(end, 3)}", end) for name, end in ends.items()]
    return _drawn(curves, items, Axis("risk", 0.0, percent=True), [*limits, *_target(curves)], RISK_HEIGHT)


def _guess_chart(curves: RiskCurves) -> Markup:
    """Return how often a reading is right, and attackers who guess, beside naming the most common value."""
    items = [
        _line("PPV", curves.points, lambda p: p.ppv.cell),
        _line("plurality, by person", curves.guesses, lambda p: p.plurality.record),
        _line("soft, by person", curves.guesses, lambda p: p.soft.record),
    ]
    rule = RuleMark(f"always naming the most common value: {percent_fixed(curves.baseline)}", curves.baseline)
    return _drawn(curves, items, Axis("right", 0.0, 1.0, percent=True), [rule], GUESS_HEIGHT)


def _uniqueness_chart(curves: RiskCurves) -> Markup:
    """Return whether people who are alone are seen to be alone, and rightly, beside their share among all people."""
    items = [
        _line("seen as alone", curves.alone, lambda p: p.seen),
        _line("right, known to be in the table", curves.alone, lambda p: p.known),
        _line("right, any cell", curves.alone, lambda p: p.right),
    ]
    share = curves.alone[0].baseline
    rule = RuleMark(f"people who are alone: {percent_fixed(share)}", share)
    return _drawn(curves, items, Axis("chance", 0.0, 1.0, percent=True), [rule], GUESS_HEIGHT)


def _joint_risk_chart(curves: SeveralCurves) -> Markup:
    """Return the risk of each sensitive attribute, of all together, and of at least one."""
    by, points = curves.weights, curves.points
    items = [
        _line("at least one", points, lambda p: p.some.by(by)),
        *(_line(name, points, lambda p, name=name: p.each[name].by(by)) for name in curves.sensitive),
        _line("all together", points, lambda p: p.complete.by(by)),
    ]
    return _drawn(curves, items, Axis("risk", 0.0, percent=True), _target(curves), RISK_HEIGHT)


def _utility_chart(curves: RiskCurves, utility: Utility) -> Markup:
    """Return the distances of the marginals: solid from the cross table, dashed when they are published instead."""
    items: list[LineMark] = []
    for way, words in WAYS.items():
        for look, order in enumerate(sorted({point.order for point in utility.points})):
            these = [p for p in utility.points if (p.way, p.order) == (way, order)]
            items.append(_line(f"{order}-way, {words}", these, lambda p: p.mean, look=look, dashed=way == "direct"))
    return _drawn(curves, items, Axis("distance (TVD)", 0.0, percent=True), (), UTILITY_HEIGHT)


def _drawn(
    curves: RiskCurves | SeveralCurves, items: Sequence[LineMark], y: Axis, rules: Sequence[RuleMark], height: int
) -> Markup:
    """Return lines over the epsilons; those that keep the target are shaded, the safe ones strongly."""
    x = Axis("epsilon (log scale)", curves.points[0].epsilon, curves.points[-1].epsilon, logarithmic=True)
    intervals: Sequence[tuple[float, float]] = () if curves.choice is None else curves.choice.intervals
    safe, other = ([each for each in intervals if (each[0] == 0) == from_zero] for from_zero in (True, False))
    chart = Lines(items, x, y, rules, safe, other, ("safe: keeps the target", "keeps it, above riskier epsilons"))
    return chart.html(chart.described(), height)


def _target(curves: RiskCurves | SeveralCurves) -> list[RuleMark]:
    if curves.choice is None:
        return []
    target = curves.choice.target
    return [RuleMark(f"target: {percent(target, 3)}", target, goal=True)]


def _value_tables(curves: RiskCurves) -> tuple[TableBlock, TableBlock]:
    """Return the values behind the charts, each with a line about them."""
    values = replace(homogeneity_grid(curves), title=say("homogeneity.values"))
    return values, replace(uniqueness_grid(curves.alone), title=say("homogeneity.alone_values"))


def _reading(curves: RiskCurves) -> dict[str, str]:
    """Return what each curve is, with the numbers to compare it with."""
    limits = {
        f"{view}_{end}": percent(getattr(curves.limits[view], end).cell, 3)
        for view in ("record", "conservative")
        for end in ("floor", "ceiling")
    }
    shares = {
        "record_people": curves.limits["record"].ceiling.record,
        "nothing": 1 / curves.values,
        "baseline": curves.baseline,
        "alone": curves.alone[0].baseline,
    }
    facts = {"people": format_number(curves.records), **limits, **{n: percent(s, 3) for n, s in shares.items()}}
    return {term: text.format(**facts) for term, text in say.table("homogeneity")["reading"].items()}


def _homogeneity_banners(curves: RiskCurves | SeveralCurves, draft: bool = False) -> list[Banner]:
    """Return the warnings across the top."""
    if curves.pilot is None:
        warnings = [Banner("danger", COPY, say("homogeneity.confidential"))]
    else:
        warnings = [Banner("warning", "From a pilot table", say("homogeneity.pilot", pilot=curves.pilot))]
    if draft:
        warnings.append(Banner("warning", DRAFT, say("homogeneity.draft")))
    return warnings


def _percents(shares: Iterable[float | None]) -> tuple[str, ...]:
    return tuple("" if share is None else f"{100 * share:.1f}" for share in shares)


def homogeneity_grid(curves: RiskCurves) -> TableBlock:
    """Return risk and distance at a dozen epsilons, in per cent."""
    guesses = {point.epsilon: point for point in curves.guesses}
    points = curves.utility.points if curves.utility else ()
    distances = {(p.epsilon, p.order): p.mean for p in points if p.way == "cross"}
    orders = sorted({order for _, order in distances})
    by_person = ("plurality by person", "soft by person")
    header = ("epsilon", "conservative", "record", "record by person", "PPV", *by_person)
    rows: list[tuple[str, ...]] = []
    for point in evenly_spaced(curves.points):
        guess = guesses.get(point.epsilon)
        shares = [point.conservative.cell, point.record.cell, point.record.record, point.ppv.cell]
        shares += [guess.plurality.record, guess.soft.record] if guess else [None, None]
        shares += [distances.get((point.epsilon, order)) for order in orders]
        rows.append((f"{point.epsilon:.3g}", *_percents(shares)))
    return TableBlock.of_numbers((*header, *(f"TVD {order}-way" for order in orders)), tuple(rows), labels=0)


def uniqueness_grid(alone: Sequence[AlonePoint]) -> TableBlock:
    """Return the re-identification risk at a dozen epsilons, in per cent."""
    header = ("epsilon", "seen", "seen with the value", "right", "right, known to be in")
    rows = tuple((f"{p.epsilon:.3g}", *_percents((p.seen, p.named, p.right, p.known))) for p in evenly_spaced(alone))
    return TableBlock.of_numbers(header, rows, labels=0)


def worst_grid(curves: RiskCurves) -> TableBlock:
    """Return the cells whose members are most at risk."""
    header = (*curves.identifiers, "people", f"most common {curves.sensitive}", "share", "risk")
    rows = tuple(
        (*c.identifiers.values(), format_number(c.people), c.value, percent_fixed(c.share, 0), percent_fixed(c.risk))
        for c in curves.worst
    )
    width = len(curves.identifiers)
    return TableBlock(header, rows, (width, width + 2, width + 3))


def companions_grid(curves: RiskCurves) -> TableBlock:
    """Return the classical measures, each with what it means."""
    classical = say.table("homogeneity")["classical"].items()
    write = {key: percent_fixed if key in SHARES else format_number for key, _ in classical}
    rows = tuple((name, write[key](curves.companions[key]), meaning) for key, (name, meaning) in classical)
    return TableBlock(("measure", "value", "what it says"), rows, (1,))


def joint_grid(curves: SeveralCurves) -> TableBlock:
    """Return the risk of several sensitive columns at a dozen epsilons, in per cent."""
    header = ("epsilon", *curves.sensitive, "all together", "some, not all", "at least one")
    rows: list[tuple[str, ...]] = []
    for point in (*evenly_spaced(curves.points), curves.ceiling):
        each = [point.each[name].by(curves.weights) for name in curves.sensitive]
        complete, some = point.complete.by(curves.weights), point.some.by(curves.weights)
        name = "no noise" if point is curves.ceiling else f"{point.epsilon:.3g}"
        rows.append((name, *_percents((*each, complete, some - complete, some))))
    return TableBlock.of_numbers(header, tuple(rows), labels=0)


def kinds_grid(curves: SeveralCurves) -> TableBlock:
    """Return how many cells give away all, some or none of the columns without noise."""
    words = say.table("homogeneity")["kinds"]
    kinds = curves.kinds.items()
    rows = tuple((name, format_number(kind.cells), format_number(kind.people), words[name]) for name, kind in kinds)
    return TableBlock(("kind", "cells", "people", "what it says"), rows, (1, 2))


def utility_note(curves: RiskCurves, utility: Utility) -> str:
    """Say how the distances were computed."""
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


def sweep_page(sweep: Sweep, draft: bool = False) -> str:
    """Return the page as HTML; ``draft`` says that the schema was not yet confirmed as public."""
    page = Page(
        sweep.table,
        f"What attackers get out of {sweep.method} at {len(sweep.points)} epsilons, and what no attacker can exceed.",
        tuple(_sweep_banners(sweep, draft)),
        tuple(_sweep_sections(sweep)),
        kicker="Sfumato attacks, custodian's copy",
        footer=f"Attacks on {sweep.method} of table {sweep.table}. sfumato {__version__}.",
        tab=f"{sweep.table}: attacks on {sweep.method} against epsilon",
    )
    return to_html(page)


def _sweep_sections(sweep: Sweep) -> Iterator[Section]:
    guesses = tuple(attack for attack in sweep.attacks if attack.startswith("Inference"))  # these have no ceiling
    games = tuple(attack for attack in sweep.attacks if attack not in guesses)
    if games:
        chart = ChartBlock("", (say("sweep.games", level=sweep.level),), _sweep_chart(_games(sweep, games)))
        yield Section("games", "Which of two tables was released", (chart,), "Two tables")
    if guesses:
        chart = ChartBlock("", (say("sweep.guesses"),), _sweep_chart(_guesses(sweep, guesses)))
        yield Section("guesses", "A person's sensitive value", (chart,), "Sensitive value")
    yield Section("values", "Table of values, in per cent", (sweep_grid(sweep),), "Values")
    threats = (f"{attack}: the attacker {sweep.of(attack)[0][1].threat}." for attack in sweep.attacks)
    notes = dict.fromkeys(note for point in sweep.points for result in point.results for note in result.notes)
    words = Paragraphs((*threats, *sweep.left_out, *notes))
    yield Section("attackers", "Who attacks, and what was left out", (words,), "Attackers")


def sweep_grid(sweep: Sweep) -> TableBlock:
    """Return every result as a table, in per cent."""
    rows = tuple(
        (f"{point.epsilon:g}", sweep.short(result), *_cells(result))
        for point in sweep.points
        for result in point.results
    )
    return TableBlock(SWEEP_HEADER, rows, (0, 2, 4, 5, 6, 7))


def _cells(result: AttackResult) -> tuple[str, ...]:
    interval = f"{100 * result.interval.low:.1f} to {100 * result.interval.high:.1f}"
    beside = (result.baseline, result.control, result.optimal, result.ceiling)
    return f"{100 * result.rate:.1f}", interval, *_percents(beside)


def _sweep_banners(sweep: Sweep, draft: bool) -> list[Banner]:
    banners = [Banner("danger", COPY, sweep.notice)]
    refuted = [point.epsilon for point in sweep.points if any(result.refutes_claim for result in point.results)]
    if refuted:
        named = ", ".join(f"{epsilon:g}" for epsilon in refuted)
        banners.insert(0, Banner("danger", "The guarantee is refuted", say("sweep.refuted", epsilons=named)))
    if draft:
        banners.append(Banner("warning", DRAFT, say("sweep.draft")))
    return banners


def _sweep_chart(items: Sequence[LineMark]) -> Markup:
    """Return points with their intervals and straight lines between them: nothing is drawn that was not computed."""
    places = sorted({epsilon for line in items for epsilon in line.x})
    few = places if len(places) <= MOST_PLACES else None
    x = Axis("epsilon (log scale)", places[0] / SIDE, places[-1] * SIDE, logarithmic=True, places=few)
    lowest = min((low for line in items for low in line.low or line.y), default=0.0)
    y = Axis("right", max(0.0, min(0.45, lowest - 0.03)), 1.0, percent=True)
    chart = Lines(items, x, y)
    return chart.html(chart.described(), RISK_HEIGHT)


def _games(sweep: Sweep, attacks: Sequence[str]) -> list[LineMark]:
    yardsticks = {"optimal": BEST, "ceiling": CEILING, "baseline": GUESSING}
    return [
        *(_share_line(sweep, attack, attack, "rate", "interval") for attack in attacks),
        *(_share_line(sweep, attacks[0], name, share) for share, name in yardsticks.items()),
    ]


def _guesses(sweep: Sweep, attacks: Sequence[str]) -> list[LineMark]:
    items: list[LineMark] = []
    for attack in attacks:
        items += [
            _share_line(sweep, attack, f"{attack}: people in the release", "rate", "interval"),
            _share_line(sweep, attack, "people who are not in it", "control", "control_interval"),
            _share_line(sweep, attack, "always naming the most common value", "baseline"),
        ]
    return items


def _share_line(sweep: Sweep, attack: str, name: str, share: str, interval: str = "") -> LineMark:
    """Return one share of all results of an attack that have it, with its interval; without one it is a yardstick."""
    known = [(epsilon, r, getattr(r, share)) for epsilon, r in sweep.of(attack) if getattr(r, share) is not None]
    epsilons, shares = [epsilon for epsilon, _, _ in known], [value for _, _, value in known]
    if not interval:
        return LineMark(name, epsilons, shares, yardstick=True)
    within = [getattr(r, interval) or Interval(low=value, high=value) for _, r, value in known]
    return LineMark(name, epsilons, shares, [each.low for each in within], [each.high for each in within])
