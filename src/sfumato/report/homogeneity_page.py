"""Page on homogeneity risk: disclosure by a published marginal at each epsilon.

All have the same epsilon in the same place, so that a look straight down shows the trade.

The page shows true numbers of the table it was computed on. It is the custodian's copy, unless that table was a pilot.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from sfumato.bundle.banners import Banner
from sfumato.formatting import format_number
from sfumato.privacy.exact import at_least
from sfumato.report.charts.marks import LineMark, RuleMark, describe_ends, lines
from sfumato.report.charts.plane import Axis
from sfumato.report.page import render_page
from sfumato.risk.homogeneity.answers import (
    attacker,
    epsilon_answer,
    epsilon_choice_caution,
    percent,
    risk_answer,
    uniqueness_answer,
)
from sfumato.risk.homogeneity.results import RiskCurves, RiskPoint, SeveralCurves, evenly_spaced
from sfumato.version import __version__

RISK_HEIGHT, GUESS_HEIGHT, UTILITY_HEIGHT = 330, 250, 270

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
    rule = RuleMark(f"always naming the most common value: {curves.baseline:.1%}", curves.baseline)
    return _drawn(curves, items, Axis("right", 0.0, 1.0, percent=True), [rule], GUESS_HEIGHT)


def uniqueness_chart(curves: RiskCurves) -> Markup:
    """Return whether people who are alone are seen to be alone, and rightly, beside their share among all people."""
    across, share = [point.epsilon for point in curves.alone], curves.alone[0].baseline
    items = [
        LineMark("seen as alone", across, [p.seen for p in curves.alone]),
        LineMark("right, known to be in the table", across, [p.known for p in curves.alone]),
        LineMark("right, any cell", across, [p.right for p in curves.alone]),
    ]
    rule = RuleMark(f"people who are alone: {share:.1%}", share)
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
            found = [p for p in points if (p.way, p.order) == (way, order)]
            across, up = [p.epsilon for p in found], [p.mean for p in found]
            items.append(LineMark(f"{order}-way, {words}", across, up, look=look, dashed=way == "direct"))
    return _drawn(curves, items, Axis("distance (TVD)", 0.0, percent=True), (), UTILITY_HEIGHT)


def _drawn(
    curves: RiskCurves | SeveralCurves, items: Sequence[LineMark], y: Axis, rules: Sequence[RuleMark], height: int
) -> Markup:
    """Return lines over the epsilons; those that keep the target are shaded, the safe ones strongly."""
    x = Axis("epsilon (log scale)", curves.points[0].epsilon, curves.points[-1].epsilon, logarithmic=True)
    found: Sequence[tuple[Any, Any]] = () if curves.choice is None else curves.choice.intervals
    return lines(
        items,
        x,
        y,
        " ".join([describe_ends(items, x, y), *(f"{rule.words}." for rule in rules)]),
        rules=rules,
        shaded=[each for each in found if each[0] == 0],
        faintly=[each for each in found if each[0] != 0],
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
        RuleMark(f"floor of {what}: {100 * floor:.3g}%", floor),
        RuleMark(f"ceiling of {what}: {100 * ceiling:.3g}%", ceiling),
    ]


def _target(curves: RiskCurves | SeveralCurves) -> list[RuleMark]:
    if curves.choice is None:
        return []
    target = curves.choice.target
    return [RuleMark(f"target: {100 * target:.3g}%", target, goal=True)]


TEMPLATE = "risk.html.j2"

COMPANIONS = (
    ("cells", "Occupied cells", "combinations of the identifiers that at least one person has"),
    ("records", "People", "rows in these cells"),
    ("k_anonymity", "k-anonymity", "the smallest cell: nobody shares their identifiers with fewer than k - 1 others"),
    (
        "distinct_l",
        "distinct l-diversity",
        "the fewest sensitive values in a cell; 1: some cell gives all away",
    ),
    ("entropy_l", "entropy l-diversity", "the same, by entropy: rare values count less"),
    ("t_closeness", "t-closeness", "the largest distance of a cell's law from the overall law, values unordered"),
    ("t_closeness_ordered", "t-closeness, ordered", "the same where the order of the values matters"),
    ("homogeneous_cells", "Homogeneous cells", "share of cells with one sensitive value only"),
    ("homogeneous_records", "People in homogeneous cells", "share of people whom the table without noise gives away"),
)

SHARES = ("homogeneous_cells", "homogeneous_records")


class TableBlock(NamedTuple):
    """A table of values: header, rows, and which columns are numbers."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...]


def homogeneity_page(curves: RiskCurves, draft: bool = False) -> str:
    """Return the page as HTML; ``draft`` says that the schema was not yet confirmed as public."""
    return render_page(
        TEMPLATE,
        risk_chart=risk_chart(curves),
        guess_chart=guess_chart(curves),
        alone_chart=uniqueness_chart(curves),
        utility_chart=utility_chart(curves),
        version=__version__,
        curves=curves,
        banners=banners(curves, draft),
        answers=(risk_answer(curves), epsilon_answer(curves), uniqueness_answer(curves)),
        steering=epsilon_choice_caution(curves),
        attacker=attacker(curves),
        values=values_grid(curves),
        alone=uniqueness_grid(curves),
        worst=worst_grid(curves),
        companions=companions_grid(curves),
        utility_note=utility_note(curves),
        guess_note=guess_note(curves),
        shading=shading(curves),
        say=format_number,
        percent=percent,
    )


def banners(curves: RiskCurves | SeveralCurves, draft: bool = False) -> list[Banner]:
    """Return the warnings across the top."""
    if curves.pilot is None:
        text = "Every number on this page is computed from the true counts, without noise."
        found = [Banner("danger", "Custodian's copy: about confidential data. Do not publish.", text)]
    else:
        text = f"Computed from {curves.pilot!r}; the confidential table was not read. As public as the pilot itself."
        found = [Banner("warning", "From a pilot table", text)]
    if draft:
        text = "Its values were learned from rows, so the domain below is not public knowledge. No release may use it."
        found.append(Banner("warning", "The schema is a draft", text))
    return found


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

    return TableBlock(header, tuple(row(point) for point in curves.few()), tuple(range(len(header))))


def uniqueness_grid(curves: RiskCurves) -> TableBlock:
    """Return the re-identification risk at a dozen epsilons, in per cent."""
    header = ("epsilon", "seen", "seen with the value", "right", "right, known to be in")
    chosen = [curves.alone[i] for i in evenly_spaced(len(curves.alone))]
    rows = tuple(
        (f"{p.epsilon:.3g}", *(f"{100 * share:.1f}" for share in (p.seen, p.named, p.right, p.known))) for p in chosen
    )
    return TableBlock(header, rows, tuple(range(len(header))))


def worst_grid(curves: RiskCurves) -> TableBlock:
    """Return the cells whose members are most at risk."""
    header = (*curves.identifiers, "people", f"most common {curves.sensitive}", "share", "risk")
    rows = tuple(
        (*cell.identifiers.values(), format_number(cell.people), cell.value, f"{cell.share:.0%}", f"{cell.risk:.1%}")
        for cell in curves.worst
    )
    width = len(curves.identifiers)
    return TableBlock(header, rows, (width, width + 2, width + 3))


def companions_grid(curves: RiskCurves) -> TableBlock:
    """Return the classical measures, each with what it means."""

    def shown(key: str) -> str:
        value = curves.companions[key]
        return f"{value:.1%}" if key in SHARES else format_number(value)

    rows = tuple((name, shown(key), meaning) for key, name, meaning in COMPANIONS)
    return TableBlock(("measure", "value", "what it says"), rows, (1,))


def utility_note(curves: RiskCurves) -> str:
    """Say how the distances were made."""
    found = curves.utility
    if found is None:
        return ""
    looked = ", ".join(
        f"{order}-way: {found.sets[order]} of {count}" if found.sets[order] < count else f"{order}-way: all {count}"
        for order, count in found.all_sets.items()
    )
    return (
        f"Mean over the marginals of identifiers and {curves.sensitive} ({looked}) and over {found.draws} simulated "
        "releases at every fifth epsilon of the grid, from a fixed seed. Solid: the marginals summed from this cross "
        f"table, all {curves.domain:,} cells with noise, counts below 0 set to 0. Dashed: all marginals of that order "
        "published directly instead of the cross table, epsilon shared equally among them; the risk above is not "
        "theirs."
    )


def guess_note(curves: RiskCurves) -> str:
    """Say how the curves of the guessing attackers were made."""
    if not curves.guesses:
        return "The guessing attackers were not computed: the counts are too large for the sums."
    if curves.guessed_cells == curves.distinct_cells:
        how = "exact"
    else:
        how = f"estimated from seeded samples of {curves.guessed_cells:,} or more of {curves.distinct_cells:,} cells"
    return f"The guessing attackers are {how}, at every fifth epsilon of the grid."


def shading(curves: RiskCurves | SeveralCurves) -> str:
    """Say what the shaded epsilons mean."""
    choice = curves.choice
    if choice is None or not choice.intervals:
        return ""
    faint = (
        " Faint: epsilons that also keep the target, but only above riskier ones." if len(choice.intervals) > 1 else ""
    )
    if choice.safe is None:
        return "Faintly shaded: epsilons that keep the target although smaller ones do not. No epsilon is safe."
    end = "every epsilon" if math.isinf(choice.safe[1]) else f"up to epsilon {at_least(choice.safe[1], 4)}"
    return f"Shaded: the safe interval, {end}.{faint}"
