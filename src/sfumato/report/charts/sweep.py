"""Attacks against epsilon: the points that were computed, with their intervals, and straight lines between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from sfumato.report.charts.look import PAGE, Palette, Spec, finished
from sfumato.report.charts.risk import TICKS

HEIGHT = 300
DASHES = ((2, 3), (6, 4), (12, 4))
"""Of yardsticks, which are all grey."""


@dataclass(frozen=True)
class Dot:
    """One computed point, and the interval around it where there is one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Track:
    """Points of one name; a yardstick is dashed and grey."""

    name: str
    dots: Sequence[Dot]
    yardstick: bool = False


def dotted_lines(tracks: Sequence[Track], x: str, y: str, palette: Palette = PAGE) -> Spec:
    """Return points with their intervals and straight lines between them: nothing is drawn that was not computed."""
    shown = [track for track in tracks if track.dots]
    names = [track.name for track in shown]
    coloured = iter([*palette.series, *palette.series])
    colours = [palette.muted if track.yardstick else next(coloured) for track in shown]
    dashed = iter(DASHES * len(shown))
    dashes = [list(next(dashed)) if track.yardstick else [1, 0] for track in shown]
    legend = alt.Legend(title=None, orient="top", columns=1, labelLimit=520, symbolType="stroke")
    base: Any = alt.Chart(alt.InlineData(values=_rows(shown))).encode(
        x=_across(shown, x),
        y=alt.Y("y:Q", title=y, axis=alt.Axis(format="%", tickCount=6, domain=False), scale=_upright(shown)),
        color=alt.Color("s:N", sort=names, scale=alt.Scale(domain=names, range=colours), legend=legend),
    )
    line = base.mark_line(strokeWidth=2).encode(
        strokeDash=alt.StrokeDash("s:N", sort=names, scale=alt.Scale(domain=names, range=dashes), legend=legend)
    )
    bars = base.mark_rule(strokeWidth=1.2, opacity=0.7).encode(y="lo:Q", y2="hi:Q")
    hints = [alt.Tooltip("s:N", title="attack"), alt.Tooltip("x:Q", title=x), alt.Tooltip("y:Q", title=y, format=".1%")]
    return finished(
        alt.layer(line, bars, base.mark_point(filled=True, size=45, opacity=1).encode(tooltip=hints)), HEIGHT
    )


def _rows(tracks: Sequence[Track]) -> list[dict[str, Any]]:
    return [
        {
            "s": track.name,
            "x": dot.x,
            "y": round(dot.y, 6),
            "lo": dot.y if dot.low is None else dot.low,
            "hi": dot.y if dot.high is None else dot.high,
        }
        for track in tracks
        for dot in track.dots
    ]


def _across(tracks: Sequence[Track], title: str) -> Any:
    places = sorted({dot.x for track in tracks for dot in track.dots})
    ticks = places if len(places) <= 10 else [tick for tick in TICKS if places[0] <= tick <= places[-1]]
    axis = alt.Axis(values=ticks, format="~g", labelFlush=False, title=f"{title} (log scale)", labelOverlap=True)
    return alt.X("x:Q", scale=alt.Scale(type="log", domain=[places[0] / 1.1, places[-1] * 1.1], nice=False), axis=axis)


def _upright(tracks: Sequence[Track]) -> Any:
    rows = _rows(tracks)
    low = min(row["lo"] for row in rows)
    return alt.Scale(domain=[max(0.0, min(0.45, low - 0.03)), 1.0], nice=False, clamp=True)
