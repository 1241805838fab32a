"""Charts of a reproduction: lines, mostly against a logarithmic axis, bars side by side, boxes and violins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from sfumato.report.charts import MOST_DOTS, PAGE, Palette, Spec, finished

HEIGHT = 240
DECADES = tuple(float(f"1e{power}") for power in range(-9, 10))
FEW_DECADES = 100
"""An axis whose ends are at most so many times apart has ticks at 1, 2 and 5 of each decade."""


@dataclass(frozen=True)
class Line:
    """One line of a chart; lines of one name share their colour and their entry in the legend."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    faint: bool = False
    """Whether it is a variant that stands behind its namesake."""
    note: str = ""
    """What sets this line apart from its namesakes, for the tooltip."""


@dataclass(frozen=True)
class Axes:
    """The two axes of lines: their titles, where the upright one begins (0 unless said) and ends, and equal steps."""

    x: str = "epsilon"
    y: str = "risk"
    top: float | None = 1.0
    bottom: float | None = None
    logarithmic: bool = True


RISK = Axes()
"""Risk against epsilon, from 0 to 1."""


@dataclass(frozen=True)
class Box:
    """A box: 5, 25, 50, 75 and 95 % of something."""

    place: str
    name: str
    quantiles: tuple[float, float, float, float, float]


@dataclass(frozen=True)
class Violin:
    """The shape of a distribution: half its width, from 0 to 1, at each value, and where its middle is."""

    name: str
    at: Sequence[float]
    width: Sequence[float]
    middle: float
    tone: int | None = None
    """Which colour of the palette; None is the muted one."""


def _scale(names: Sequence[str], palette: Palette, first_is_muted: bool) -> Any:
    colours = (palette.muted, *palette.series) if first_is_muted else palette.series
    return alt.Scale(domain=list(names), range=list(colours[: len(names)]))


def lines(
    items: Sequence[Line],
    axes: Axes = RISK,
    palette: Palette = PAGE,
    first_is_muted: bool = True,
    rules: Sequence[tuple[str, float]] = (),
) -> Spec:
    """Return lines against a logarithmic axis, or one of equal steps.

    The first name is dashed and muted where it is what was printed. ``rules`` are horizontal lines with a word: floors,
    ceilings, targets.
    """
    names = list(dict.fromkeys(item.name for item in items))
    rows = _values(items)
    dashes = [[5, 4] if first_is_muted and i == 0 else [1, 0] for i in range(len(names))]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=_across(items, axes.x, axes.logarithmic),
        y=alt.Y("y:Q", title=axes.y, scale=_upright(axes.bottom, axes.top)),
        color=alt.Color("s:N", sort=names, scale=_scale(names, palette, first_is_muted), legend=_legend()),
        opacity=alt.Opacity("o:Q", scale=None),
        detail="k:N",
        tooltip=_hints(items, axes.x, axes.y),
    )
    # The same legend again: channels of one field share one, and Vega warns where they ask for two.
    dashed = alt.StrokeDash("s:N", sort=names, scale=alt.Scale(domain=names, range=dashes), legend=_legend())
    drawn = base.mark_line(strokeWidth=2).encode(strokeDash=dashed)
    heights = [value for item in items for value in item.y]
    middle = (min(axes.bottom or 0.0, *heights) + (axes.top or max(heights))) / 2
    # Vega warns of a layer without a value.
    few = any(row["few"] for row in rows)
    dots = [base.transform_filter("datum.few").mark_point(filled=True, size=28)] if few else []
    return finished(alt.layer(drawn, *dots, *_rules(rules, palette, middle)), HEIGHT)


def _values(items: Sequence[Line]) -> list[dict[str, Any]]:
    """Return every value that was computed; a line of few has a point at each, and straight lines join them."""
    looks = [
        {"s": item.name, "k": i, "o": 0.35 if item.faint else 1.0, "d": item.note, "few": len(item.x) <= MOST_DOTS}
        for i, item in enumerate(items)
    ]
    return [
        {**look, "x": a, "y": round(b, 6)}
        for item, look in zip(items, looks, strict=True)
        for a, b in zip(item.x, item.y, strict=True)
    ]


def _across(items: Sequence[Line], title: str, logarithmic: bool) -> Any:
    """Return the x axis: ticks at decades, and between them where at most two decades are shown."""
    if not logarithmic:
        even = alt.Axis(grid=False, tickCount=6)
        return alt.X("x:Q", title=title, scale=alt.Scale(nice=False, zero=False), axis=even)
    low, high = min(min(item.x) for item in items), max(max(item.x) for item in items)
    steps = (1, 2, 5) if high <= FEW_DECADES * low else (1,)
    ticks = [step * decade for decade in DECADES for step in steps if low <= step * decade <= high]
    place = alt.Axis(grid=False, format="~g", values=ticks or alt.Undefined)
    return alt.X("x:Q", title=title, scale=alt.Scale(type="log", nice=False), axis=place)


def _upright(bottom: float | None, top: float | None) -> Any:
    if bottom is not None:
        return alt.Scale(domainMin=bottom, domainMax=top or alt.Undefined, zero=False)
    return alt.Scale(domainMax=top, zero=True) if top else alt.Scale(zero=True)


def _hints(items: Sequence[Line], x: str, y: str) -> list[Any]:
    hints = [alt.Tooltip("s:N", title="line"), alt.Tooltip("x:Q", title=x), alt.Tooltip("y:Q", title=y, format=".4f")]
    return [*hints, alt.Tooltip("d:N", title="with")] if any(item.note for item in items) else hints


def _legend() -> Any:
    look: dict[str, Any] = {"orient": "top", "columns": 2, "columnPadding": 18, "labelLimit": 230}
    return alt.Legend(title=None, symbolType="stroke", symbolOpacity=1, **look)


def _rules(rules: Sequence[tuple[str, float]], palette: Palette, middle: float) -> list[Any]:
    """Return horizontal lines with a word: above a line in the lower half, where below it stand the ticks."""
    layers: list[Any] = []
    for word, at in rules:
        base = alt.Chart(alt.InlineData(values=[{"w": word, "at": at}]))
        side: dict[str, Any] = {"baseline": "bottom", "dy": -3} if at < middle else {"baseline": "top", "dy": 3}
        said = base.mark_text(color=palette.muted, align="right", dx=-4, fontSize=10, **side)
        layers.append(base.mark_rule(strokeDash=[2, 3], color=palette.muted).encode(y="at:Q"))
        layers.append(said.encode(y="at:Q", x=alt.value("width"), text="w:N"))
    return layers


def side_by_side(
    labels: Sequence[str], series: Sequence[tuple[str, Sequence[float]]], x: str, y: str, palette: Palette = PAGE
) -> Spec:
    """Return bars of one or two series; of two, the first is what was printed."""
    names = [name for name, _ in series]
    rows = [
        {"l": label, "s": name, "n": value}
        for name, values in series
        for label, value in zip(labels, values, strict=True)
    ]
    several = len(series) > 1
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar()
        .encode(
            x=alt.X("l:O", title=x, sort=None, axis=alt.Axis(labelAngle=0, labelOverlap="greedy", ticks=False)),
            y=alt.Y("n:Q", title=y),
            xOffset=alt.XOffset("s:N", sort=names) if several else alt.Undefined,
            color=alt.Color("s:N", sort=names, scale=_scale(names, palette, several), legend=_bar_legend(several)),
            tooltip=[alt.Tooltip("s:N", title="cells"), alt.Tooltip("l:N", title=x), alt.Tooltip("n:Q", title=y)],
        )
    )
    return finished(chart, HEIGHT)


def _bar_legend(several: bool) -> Any:
    return alt.Legend(title=None, orient="top", columns=2, labelLimit=260) if several else None


def boxes(items: Sequence[Box], x: str, y: str, top: float | None = None, palette: Palette = PAGE) -> Spec:
    """Return boxes (25 to 75 %) with whiskers (5 to 95 %) and a line at the median, side by side by name."""
    names = list(dict.fromkeys(item.name for item in items))
    rows = [
        {"p": b.place, "s": b.name, **dict(zip("abcde", (round(q, 5) for q in b.quantiles), strict=True))}
        for b in items
    ]
    base = alt.Chart(alt.InlineData(values=rows))
    place = alt.X("p:O", title=x, sort=None, axis=alt.Axis(labelAngle=0, ticks=False))
    shared: dict[str, Any] = {"x": place, "xOffset": alt.XOffset("s:N", sort=names)}
    colour = alt.Color("s:N", sort=names, scale=_scale(names, palette, False), legend=_bar_legend(len(names) > 1))
    scale = alt.Scale(domain=[0, top]) if top else alt.Undefined
    hints = [
        alt.Tooltip("s:N", title="noise"),
        *(
            alt.Tooltip(f"{k}:Q", title=w, format=".3f")
            for k, w in zip("abcde", ("5 %", "25 %", "median", "75 %", "95 %"), strict=True)
        ),
    ]
    whisker = base.mark_rule(strokeWidth=1.2).encode(
        **shared, y=alt.Y("a:Q", title=y, scale=scale), y2="e:Q", color=colour
    )
    body = base.mark_bar(size=12, opacity=0.75).encode(**shared, y="b:Q", y2="d:Q", color=colour, tooltip=hints)
    middle = base.mark_tick(color=palette.ink, size=12, thickness=2).encode(**shared, y="c:Q")
    return finished(alt.layer(whisker, body, middle), HEIGHT)


def violins(
    items: Sequence[Violin],
    y: str,
    palette: Palette = PAGE,
    rules: Sequence[tuple[str, float]] = (),
    logarithmic: bool = False,
) -> Spec:
    """Return violins side by side, a tick at each middle; a line break in a name is one below the axis, too."""
    tones = [palette.muted if item.tone is None else palette.series[item.tone] for item in items]
    outline = [
        {"k": k, "s": item.name.replace("\n", " "), "c": tones[k], "y": at, "a": k - 0.42 * half, "b": k + 0.42 * half}
        for k, item in enumerate(items)
        for at, half in zip(item.at, item.width, strict=True)
    ]
    middles = [{"k": k, "m": item.middle, "s": item.name.replace("\n", " ")} for k, item in enumerate(items)]
    scale = alt.Scale(type="log", nice=False) if logarithmic else alt.Scale(zero=False)
    body = (
        alt.Chart(alt.InlineData(values=outline))
        .mark_area(orient="horizontal", opacity=0.75)
        .encode(
            x=_places(items),
            x2="b:Q",
            y=alt.Y("y:Q", title=y, scale=scale),
            color=alt.Color("c:N", scale=None),
            detail="k:N",
            tooltip=alt.Tooltip("s:N", title="synthesizer"),
        )
    )
    hints = [alt.Tooltip("s:N", title="synthesizer"), alt.Tooltip("m:Q", title=f"middle of {y}", format=".4~g")]
    look: dict[str, Any] = {"orient": "horizontal", "color": palette.ink, "size": 18, "thickness": 2}
    tick = alt.Chart(alt.InlineData(values=middles)).mark_tick(**look).encode(x="k:Q", y="m:Q", tooltip=hints)
    ends = [place for item in items for place in (min(item.at), max(item.at))]
    return finished(alt.layer(body, tick, *_rules(rules, palette, (min(ends) + max(ends)) / 2)), HEIGHT)


def _places(items: Sequence[Violin]) -> Any:
    """Return an axis of numbers that says names: outlines need real positions."""
    names = [item.name.replace("\n", "|") for item in items]
    say = alt.Axis(
        grid=False,
        ticks=False,
        values=list(range(len(items))),
        labelLimit=0,
        labelOverlap=False,
        labelExpr=f"split({names!r}[datum.value], '|')",
    )
    return alt.X("a:Q", title=None, scale=alt.Scale(domain=[-0.6, len(items) - 0.4], nice=False), axis=say)
