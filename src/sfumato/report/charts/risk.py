"""Charts against epsilon on a log axis: risk, guessing, and what is left of the marginals, one under the other.

All three have the same epsilon in the same place, so that a vertical look shows the trade.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt

from sfumato.report.charts.look import MOST_DOTS, PAGE, Palette, Spec, finished
from sfumato.risk.homogeneity.results import RiskCurves
from sfumato.risk.homogeneity.several_curves import SeveralCurves

RISK_HEIGHT, GUESS_HEIGHT, UTILITY_HEIGHT = 300, 190, 220
AXIS_WIDTH = 46
"""Width of the vertical axes, so that the same epsilon stands in the same place in all charts."""
TICKS = (0.0001, 0.001, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 1000, 10000)
WAYS = {"cross": "from this cross table", "direct": "published directly"}
Points = Sequence[tuple[float, float]]


class _Plot(NamedTuple):
    """One chart: its vertical axis and the range of epsilons."""

    title: str
    top: float
    low: float
    high: float
    palette: Palette

    @classmethod
    def of(cls, curves: RiskCurves | SeveralCurves, title: str, top: float, palette: Palette) -> _Plot:
        return cls(title, min(1.0, top), curves.points[0].epsilon, curves.points[-1].epsilon, palette)

    def across(self, field: str) -> Any:
        ticks = [tick for tick in TICKS if self.low * 0.999 <= tick <= self.high * 1.001] or [self.low, self.high]
        axis = alt.Axis(values=ticks, format="~g", labelFlush=False, title="epsilon (log scale)")
        scale = alt.Scale(type="log", domain=[self.low, self.high], nice=False, clamp=True)
        return alt.X(f"{field}:Q", scale=scale, axis=axis)

    def up(self, field: str) -> Any:
        look = alt.Axis(
            format="%", tickCount=5, minExtent=AXIS_WIDTH, maxExtent=AXIS_WIDTH, title=self.title, domain=False
        )
        return alt.Y(f"{field}:Q", scale=alt.Scale(domain=[0, self.top], nice=False, clamp=True), axis=look)


def risk_chart(curves: RiskCurves, palette: Palette = PAGE) -> Spec:
    """Return the risk curves with floor and ceiling of the steering one, the target and the feasible intervals."""
    series: dict[str, Points] = {
        "record, by cell": [(p.epsilon, p.record.cell) for p in curves.points],
        "conservative, by cell": [(p.epsilon, p.conservative.cell) for p in curves.points],
        "record, by person": [(p.epsilon, p.record.record) for p in curves.points],
    }
    if curves.view == "any":
        series[_steering(curves)] = [(p.epsilon, p.any.by(curves.weights)) for p in curves.points]
    elif curves.view == "conservative" and curves.weights == "record":
        series[_steering(curves)] = [(p.epsilon, p.conservative.record) for p in curves.points]
    heights = [height for points in series.values() for _, height in points]
    heights += [curves.choice.target] if curves.choice else []
    plot = _Plot.of(curves, "risk", 1.12 * max(heights), palette)
    layers = [*_intervals(plot, curves), *_marks(plot, curves), *_lines(plot, series)]
    return finished(alt.layer(*layers), RISK_HEIGHT)


def guess_chart(curves: RiskCurves, palette: Palette = PAGE) -> Spec:
    """Return how often a reading is right, and attackers who guess, beside naming the most common value."""
    series: dict[str, Points] = {
        "PPV": [(p.epsilon, p.ppv.cell) for p in curves.points],
        "plurality, by person": [(p.epsilon, p.plurality.record) for p in curves.guesses],
        "soft, by person": [(p.epsilon, p.soft.record) for p in curves.guesses],
    }
    plot = _Plot.of(curves, "right", 1.0, palette)
    words = f"always naming the most common value: {curves.baseline:.1%}"
    layers = [*_intervals(plot, curves), *_rule(plot, curves.baseline, words, palette.muted)]
    return finished(alt.layer(*layers, *_lines(plot, series)), GUESS_HEIGHT)


def alone_chart(curves: RiskCurves, palette: Palette = PAGE) -> Spec:
    """Return whether people who are alone are seen to be alone, and rightly, beside their share among all people."""
    series: dict[str, Points] = {
        "seen as alone": [(p.epsilon, p.seen) for p in curves.alone],
        "right, known to be in the table": [(p.epsilon, p.known) for p in curves.alone],
        "right, any cell": [(p.epsilon, p.right) for p in curves.alone],
    }
    plot = _Plot.of(curves, "chance", 1.0, palette)
    share = curves.alone[0].baseline
    words = f"people who are alone: {share:.1%}"
    layers = [*_intervals(plot, curves), *_rule(plot, share, words, palette.muted)]
    return finished(alt.layer(*layers, *_lines(plot, series)), GUESS_HEIGHT)


def several_chart(curves: SeveralCurves, palette: Palette = PAGE) -> Spec:
    """Return the risk of each sensitive attribute, of all together, and of at least one."""
    by, names = curves.weights, curves.sensitive
    series: dict[str, Points] = {
        "at least one": [(p.epsilon, p.some.by(by)) for p in curves.points],
        **{name: [(p.epsilon, p.each[name].by(by)) for p in curves.points] for name in names},
        "all together": [(p.epsilon, p.complete.by(by)) for p in curves.points],
    }
    heights = [height for points in series.values() for _, height in points]
    heights += [curves.choice.target] if curves.choice else []
    plot = _Plot.of(curves, "risk", 1.12 * max(heights), palette)
    layers = [*_intervals(plot, curves), *_target(plot, curves), *_lines(plot, series)]
    return finished(alt.layer(*layers), RISK_HEIGHT)


def utility_chart(curves: RiskCurves, palette: Palette = PAGE) -> Spec:
    """Return the distances of the marginals: solid from the cross table, dashed when they are published instead."""
    points = curves.utility.points if curves.utility else ()
    orders = sorted({p.order for p in points})
    plot = _Plot.of(curves, "distance (TVD)", max(0.05, 1.1 * max((p.mean for p in points), default=1.0)), palette)
    series: dict[tuple[str, str], Points] = {
        (f"{order}-way", words): [(p.epsilon, p.mean) for p in points if (p.way, p.order) == (way, order)]
        for order in orders
        for way, words in WAYS.items()
    }
    return finished(alt.layer(*_intervals(plot, curves), *_lines(plot, series)), UTILITY_HEIGHT)


def _lines(plot: _Plot, series: Mapping[Any, Points]) -> list[Any]:
    """Return one line per name; names that are pairs are told apart by colour and by dashes."""
    rows = [
        {
            "e": e,
            "s": key if isinstance(key, str) else key[0],
            "w": "" if isinstance(key, str) else key[1],
            "v": round(v, 6),
            "few": len(points) <= MOST_DOTS,
        }
        for key, points in series.items()
        for e, v in points
    ]
    names = list(dict.fromkeys(str(row["s"]) for row in rows))
    scale = alt.Scale(domain=names, range=list(plot.palette.series[: len(names)]))
    color = alt.Color("s:N", scale=scale, legend=_legend(symbolStrokeWidth=3))
    hints = [
        alt.Tooltip("s:N", title="curve"),
        alt.Tooltip("e:Q", title="epsilon", format=".3g"),
        alt.Tooltip("v:Q", title=plot.title, format=".1%"),
    ]
    base: Any = alt.Chart(alt.InlineData(values=rows)).encode(x=plot.across("e"), y=plot.up("v"), color=color)
    line = base.mark_line(strokeWidth=2.2)
    if any(row["w"] for row in rows):
        dashes = alt.Scale(domain=list(WAYS.values()), range=[[1, 0], [5, 4]])
        look = _legend(symbolStrokeWidth=2, symbolStrokeColor=plot.palette.muted)
        line = line.encode(strokeDash=alt.StrokeDash("w:N", scale=dashes, legend=look))
        hints.insert(1, alt.Tooltip("w:N", title="marginals"))
    dots = base.transform_filter("datum.few").mark_point(filled=True, size=26, opacity=1)
    return [line, dots, base.mark_point(size=90, opacity=0).encode(tooltip=hints)]


def _legend(**look: Any) -> Any:
    return alt.Legend(title=None, symbolType="stroke", labelLimit=280, **look)


def _intervals(plot: _Plot, curves: RiskCurves | SeveralCurves) -> list[Any]:
    """Shade the epsilons that keep the target: the safe interval strongly, further ones faintly."""
    found = () if curves.choice is None else curves.choice.intervals
    shaded = [
        {"a": max(a, plot.low), "b": min(b, plot.high), "o": 0.16 if a == 0 else 0.06}
        for a, b in found
        if a < plot.high and b > plot.low
    ]
    if not shaded:
        return []
    base: Any = alt.Chart(alt.InlineData(values=shaded)).mark_rect(color=plot.palette.accent)
    return [base.encode(x=plot.across("a"), x2="b:Q", opacity=alt.Opacity("o:Q", scale=None, legend=None))]


def _steering(curves: RiskCurves) -> str:
    return f"{curves.view}, by {'person' if curves.weights == 'record' else 'cell'}"


def _marks(plot: _Plot, curves: RiskCurves) -> list[Any]:
    """Mark floor and ceiling of the curve that steers, and the target."""
    limits, what, muted = curves.limits[curves.view], _steering(curves), plot.palette.muted
    floor, ceiling = limits.floor.by(curves.weights), limits.ceiling.by(curves.weights)
    below = floor > 0.08 * plot.top
    marks = [
        *_rule(plot, floor, f"floor of {what}: {100 * floor:.3g}%", muted, below),
        *_rule(plot, ceiling, f"ceiling of {what}: {100 * ceiling:.3g}%", muted),
    ]
    return [*marks, *_target(plot, curves)]


def _target(plot: _Plot, curves: RiskCurves | SeveralCurves) -> list[Any]:
    if curves.choice is None:
        return []
    target = curves.choice.target
    return _rule(plot, target, f"target: {100 * target:.3g}%", plot.palette.truth, right=True)


def _rule(plot: _Plot, height: float, text: str, color: str, below: bool = False, right: bool = False) -> list[Any]:
    """Return a line across with its words at one end: dotted for limits, solid for the target."""
    place = {"v": round(height, 6), "x": plot.high if right else plot.low, "t": text}
    base: Any = alt.Chart(alt.InlineData(values=[place])).encode(y=plot.up("v"))
    look = {"align": "right" if right else "left", "baseline": "top" if below else "bottom", "fontSize": 11}
    words = base.mark_text(**look, dx=-5 if right else 5, dy=5 if below else -4, color=color)
    rule = base.mark_rule(color=color, strokeDash=[1, 0] if right else [2, 3], strokeWidth=1.3)
    return [rule, words.encode(x=plot.across("x"), text="t:N")]
