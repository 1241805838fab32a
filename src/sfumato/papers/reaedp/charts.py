"""From the numbers of a chart to the drawing on the page."""

from __future__ import annotations

from typing import Any

import altair as alt

from sfumato.papers.charts import HEIGHT, Line, lines, side_by_side
from sfumato.papers.reaedp.results import Chart
from sfumato.report.charts import PAGE, Palette, Panel, Spec, finished

MANY_PLACES = 15
"""With more bars than this, only every fifth is named."""


def panel(chart: Chart, palette: Palette = PAGE) -> Panel:
    """Return a chart with its title and the words for those who cannot see it."""
    return Panel(chart.title, chart.label, spec(chart, palette))


def spec(chart: Chart, palette: Palette = PAGE) -> Spec:
    """Return the specification of a chart."""
    if chart.kind == "image":
        return _image(chart)
    if chart.kind == "bars":
        return _bars(chart, palette)
    drawn = [Line(s.name, s.x, s.y, faint=s.faint) for s in chart.series]
    return lines(
        drawn, chart.x, chart.y, chart.top, palette, chart.muted_first, chart.rules, chart.logarithmic, chart.bottom
    )


def _bars(chart: Chart, palette: Palette) -> Spec:
    made = side_by_side(chart.places, [(s.name, s.y) for s in chart.series], chart.x, chart.y, palette)
    if not chart.muted_first:
        made["encoding"]["color"]["scale"]["range"] = list(palette.series[: len(chart.series)])
    if len(chart.places) > MANY_PLACES:
        made["encoding"]["x"]["axis"]["values"] = list(chart.places[4::5])
    return made


def _image(chart: Chart) -> Spec:
    """Return a square grey picture, one rectangle a pixel."""
    pixels: Any = alt.Chart(alt.InlineData(values=[int(value) for value in chart.series[0].y]))
    side = round(len(chart.series[0].y) ** 0.5)
    placed = pixels.transform_window(place="row_number()").transform_calculate(
        i=f"(datum.place - 1) % {side}", j=f"floor((datum.place - 1) / {side})"
    )
    grey = alt.Scale(domain=[0, 255], range=["black", "white"], interpolate="rgb")
    drawn = placed.mark_rect(strokeWidth=1).encode(
        x=alt.X("i:O", axis=None),
        y=alt.Y("j:O", axis=None),
        color=alt.Color("data:Q", scale=grey, legend=None),
        stroke=alt.Stroke("data:Q", scale=grey, legend=None),  # else hair lines show between pixels
    )
    return finished(drawn, HEIGHT)
