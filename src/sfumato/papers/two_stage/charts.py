"""From the numbers of a chart to the drawing on the page."""

from __future__ import annotations

from sfumato.papers.charts import Line, lines, side_by_side
from sfumato.papers.two_stage.results import Chart
from sfumato.report.charts import PAGE, Palette, Panel, Spec


def panel(chart: Chart, palette: Palette = PAGE) -> Panel:
    """Return a chart with its title and the words for those who cannot see it."""
    return Panel(chart.title, chart.label, spec(chart, palette))


def spec(chart: Chart, palette: Palette = PAGE) -> Spec:
    """Return the specification of a chart. Losses lie below 0, so that the axis of lines begins where they do."""
    if chart.kind == "bars":
        return side_by_side(chart.labels, [(each.name, each.y) for each in chart.series], chart.x, chart.y, palette)
    drawn = [Line(each.name, each.x, each.y) for each in chart.series]
    low = min((min(each.y) for each in chart.series), default=0.0)
    return lines(
        drawn, chart.x, chart.y, None, palette, False, chart.rules, logarithmic=False, bottom=low if low < 0 else None
    )
