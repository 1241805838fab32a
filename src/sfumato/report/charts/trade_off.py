"""The trade-off chart: a metric against a parameter, on a log axis unless 0 was tried, with band and target."""

from __future__ import annotations

from typing import Any

import altair as alt

from sfumato.calibration.result import Calibration, Point
from sfumato.report.charts.look import PAGE, Palette, Spec, finished
from sfumato.report.charts.risk import TICKS

HEIGHT = 320
MARGIN = 1.12
"""A single feasible value is shaded this factor to both sides."""
SIDE = 0.02
"""Where steps are equal: this share of the axis to both sides."""


def trade_off_chart(found: Calibration, palette: Palette = PAGE) -> Spec:
    """Return points and band of the metric, the target as a line, feasible values shaded, the choice marked."""
    axes = _Axes(found)
    layers = [
        *_shaded(found, axes, palette),
        *_band(found, axes, palette),
        *_target(found, axes, palette),
        *_points(found, axes, palette),
    ]
    return finished(alt.layer(*layers), HEIGHT)


class _Axes:
    """The same two axes for every layer."""

    def __init__(self, found: Calibration) -> None:
        values = [point.value for point in found.points]
        self.even = values[0] == 0
        """Whether the axis has equal steps: a logarithm has no place for 0."""
        self.width = values[-1] - values[0] or 1.0
        spread = MARGIN if len(values) > 1 else 2.0
        self.low, self.high = self.around(values[0], values[-1], spread)
        heights = [height for point in found.points for height in (point.low, point.high)]
        floor, top = min(*heights, found.bound), max(*heights, found.bound)
        pad = 0.08 * max(top - floor, 1e-6)
        self.floor = 0.0 if 0 <= floor < 0.3 * top else floor - pad
        self.top = top + pad
        self.titles = (found.parameter if self.even else f"{found.parameter} (log scale)", found.metric)

    def around(self, low: float, high: float, factor: float = MARGIN) -> tuple[float, float]:
        """Return an interval a little wider than the one given."""
        if not self.even:
            return low / factor, high * factor
        return low - SIDE * self.width, high + SIDE * self.width

    def across(self, field: str) -> Any:
        if self.even:
            equal = alt.Scale(domain=[self.low, self.high], nice=False, clamp=True)
            return alt.X(f"{field}:Q", scale=equal, axis=alt.Axis(tickCount=6, title=self.titles[0]))
        ticks = [tick for tick in TICKS if self.low <= tick <= self.high] or [self.low, self.high]
        axis = alt.Axis(values=ticks, format="~g", labelFlush=False, title=self.titles[0])
        scale = alt.Scale(type="log", domain=[self.low, self.high], nice=False, clamp=True)
        return alt.X(f"{field}:Q", scale=scale, axis=axis)

    def up(self, field: str) -> Any:
        scale = alt.Scale(domain=[self.floor, self.top], nice=False, clamp=True)
        return alt.Y(f"{field}:Q", scale=scale, axis=alt.Axis(tickCount=6, title=self.titles[1], domain=False))


def _chart(rows: list[dict[str, Any]]) -> Any:
    return alt.Chart(alt.InlineData(values=rows))


def _shaded(found: Calibration, axes: _Axes, palette: Palette) -> list[Any]:
    wide = [(low, high) if low < high else axes.around(low, high) for low, high in found.intervals]
    rows = [{"a": low, "b": high} for low, high in wide]
    if not rows:
        return []
    return [_chart(rows).mark_rect(color=palette.accent, opacity=0.14).encode(x=axes.across("a"), x2="b:Q")]


def _band(found: Calibration, axes: _Axes, palette: Palette) -> list[Any]:
    base = _chart([_numbers(point) for point in found.points]).encode(x=axes.across("x"), y=axes.up("lo"), y2="hi:Q")
    band = base.mark_area(color=palette.series[0], opacity=0.22)
    bars = base.mark_rule(color=palette.series[0], strokeWidth=1.3)
    return [bars] if len(found.points) == 1 else [band, bars]


def _target(found: Calibration, axes: _Axes, palette: Palette) -> list[Any]:
    base = _chart([{"v": found.bound, "x": axes.high, "t": f"target: {found.target}"}]).encode(y=axes.up("v"))
    words = base.mark_text(align="right", baseline="bottom", dx=-5, dy=-4, fontSize=11, color=palette.truth)
    return [base.mark_rule(color=palette.truth, strokeWidth=1.4), words.encode(x=axes.across("x"), text="t:N")]


def _points(found: Calibration, axes: _Axes, palette: Palette) -> list[Any]:
    rows = [_numbers(point) for point in found.points]
    base = _chart(rows).encode(x=axes.across("x"), y=axes.up("m"))
    titles = {"x": found.parameter, "m": found.metric, "lo": "from", "hi": "to"}
    hints = [alt.Tooltip(f"{field}:Q", title=title, format=".4g") for field, title in titles.items()]
    line = base.mark_line(color=palette.series[0], strokeWidth=2)
    dots = base.mark_point(color=palette.series[0], filled=True, size=55, opacity=1).encode(tooltip=hints)
    if found.chosen is None:
        return [line, dots]
    ring = _chart([_numbers(found.point(found.chosen))]).encode(x=axes.across("x"), y=axes.up("m"))
    return [line, dots, ring.mark_point(color=palette.truth, size=190, strokeWidth=2.2, opacity=1)]


def _numbers(point: Point) -> dict[str, float]:
    return {"x": point.value, "m": point.mean, "lo": point.low, "hi": point.high}
