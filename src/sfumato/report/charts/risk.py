"""Charts against epsilon on an axis of equal factors: risk, guessing, and what is left of the marginals.

All have the same epsilon in the same place, so that a look straight down shows the trade.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from sfumato.report.charts.lines import Line, Rule, ends_in_words, lines
from sfumato.report.charts.plane import Axis
from sfumato.risk.homogeneity.results import RiskCurves
from sfumato.risk.homogeneity.several_curves import SeveralCurves

RISK_HEIGHT, GUESS_HEIGHT, UTILITY_HEIGHT = 330, 250, 270
WAYS = {"cross": "from this cross table", "direct": "published directly"}


def risk_chart(curves: RiskCurves) -> Markup:
    """Return the risk curves with floor and ceiling of the steering one, the target and the feasible intervals."""
    across = [point.epsilon for point in curves.points]
    items = [
        Line("record, by cell", across, [p.record.cell for p in curves.points]),
        Line("conservative, by cell", across, [p.conservative.cell for p in curves.points]),
        Line("record, by person", across, [p.record.record for p in curves.points]),
    ]
    if curves.view == "any":
        items.append(Line(_steering(curves), across, [p.any.by(curves.weights) for p in curves.points]))
    elif curves.view == "conservative" and curves.weights == "record":
        items.append(Line(_steering(curves), across, [p.conservative.record for p in curves.points]))
    return _drawn(curves, items, Axis("risk", 0.0, percent=True), [*_limits(curves), *_target(curves)], RISK_HEIGHT)


def guess_chart(curves: RiskCurves) -> Markup:
    """Return how often a reading is right, and attackers who guess, beside naming the most common value."""
    guessed = [point.epsilon for point in curves.guesses]
    items = [
        Line("PPV", [p.epsilon for p in curves.points], [p.ppv.cell for p in curves.points]),
        Line("plurality, by person", guessed, [p.plurality.record for p in curves.guesses]),
        Line("soft, by person", guessed, [p.soft.record for p in curves.guesses]),
    ]
    rule = Rule(f"always naming the most common value: {curves.baseline:.1%}", curves.baseline)
    return _drawn(curves, items, Axis("right", 0.0, 1.0, percent=True), [rule], GUESS_HEIGHT)


def alone_chart(curves: RiskCurves) -> Markup:
    """Return whether people who are alone are seen to be alone, and rightly, beside their share among all people."""
    across, share = [point.epsilon for point in curves.alone], curves.alone[0].baseline
    items = [
        Line("seen as alone", across, [p.seen for p in curves.alone]),
        Line("right, known to be in the table", across, [p.known for p in curves.alone]),
        Line("right, any cell", across, [p.right for p in curves.alone]),
    ]
    rule = Rule(f"people who are alone: {share:.1%}", share)
    return _drawn(curves, items, Axis("chance", 0.0, 1.0, percent=True), [rule], GUESS_HEIGHT)


def several_chart(curves: SeveralCurves) -> Markup:
    """Return the risk of each sensitive attribute, of all together, and of at least one."""
    by, across = curves.weights, [point.epsilon for point in curves.points]
    items = [
        Line("at least one", across, [p.some.by(by) for p in curves.points]),
        *(Line(name, across, [p.each[name].by(by) for p in curves.points]) for name in curves.sensitive),
        Line("all together", across, [p.complete.by(by) for p in curves.points]),
    ]
    return _drawn(curves, items, Axis("risk", 0.0, percent=True), _target(curves), RISK_HEIGHT)


def utility_chart(curves: RiskCurves) -> Markup:
    """Return the distances of the marginals: solid from the cross table, dashed when they are published instead."""
    points = curves.utility.points if curves.utility else ()
    orders = sorted({point.order for point in points})
    items: list[Line] = []
    for way, words in WAYS.items():
        for look, order in enumerate(orders):
            found = [p for p in points if (p.way, p.order) == (way, order)]
            across, up = [p.epsilon for p in found], [p.mean for p in found]
            items.append(Line(f"{order}-way, {words}", across, up, look=look, dashed=way == "direct"))
    return _drawn(curves, items, Axis("distance (TVD)", 0.0, percent=True), (), UTILITY_HEIGHT)


def _drawn(
    curves: RiskCurves | SeveralCurves, items: Sequence[Line], y: Axis, rules: Sequence[Rule], height: int
) -> Markup:
    """Return lines over the epsilons; those that keep the target are shaded, the safe ones strongly."""
    x = Axis("epsilon (log scale)", curves.points[0].epsilon, curves.points[-1].epsilon, logarithmic=True)
    found: Sequence[tuple[Any, Any]] = () if curves.choice is None else curves.choice.intervals
    return lines(
        items,
        x,
        y,
        " ".join([ends_in_words(items, x, y), *(f"{rule.words}." for rule in rules)]),
        rules=rules,
        shaded=[each for each in found if each[0] == 0],
        faintly=[each for each in found if each[0] != 0],
        shade_words="safe: keeps the target",
        faint_words="keeps it, above riskier epsilons",
        height=height,
    )


def _steering(curves: RiskCurves) -> str:
    return f"{curves.view}, by {'person' if curves.weights == 'record' else 'cell'}"


def _limits(curves: RiskCurves) -> list[Rule]:
    """Return floor and ceiling of the curve that steers."""
    limits, what = curves.limits[curves.view], _steering(curves)
    floor, ceiling = limits.floor.by(curves.weights), limits.ceiling.by(curves.weights)
    return [
        Rule(f"floor of {what}: {100 * floor:.3g}%", floor),
        Rule(f"ceiling of {what}: {100 * ceiling:.3g}%", ceiling),
    ]


def _target(curves: RiskCurves | SeveralCurves) -> list[Rule]:
    if curves.choice is None:
        return []
    target = curves.choice.target
    return [Rule(f"target: {100 * target:.3g}%", target, goal=True)]
