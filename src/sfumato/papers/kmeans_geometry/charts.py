"""From the numbers of a chart to the drawing on the page."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.papers.kmeans_geometry.results import Chart, Points
from sfumato.papers.page import ChartAxes, Panel, curves
from sfumato.report.charts import Axis, Clouds, Figure, LineMark, PointMark


def scatter_series(rows: NDArray[np.float64], labels: NDArray[np.int64] | None = None) -> tuple[Points, ...]:
    """Return rows of two columns as points, one name for each label."""
    groups = {"rows": rows} if labels is None else {f"cluster {k}": rows[labels == k] for k in np.unique(labels)}
    return tuple(points(name, each) for name, each in groups.items())


def points(name: str, rows: NDArray[np.float64]) -> Points:
    """Return rows of two columns under one name, with the digits that a drawing needs."""
    x, y = (tuple(float(f"{v:.4g}") for v in column) for column in rows.T)
    return Points(name=name, x=x, y=y)


def panel(chart: Chart) -> Panel:
    """Return a chart with its title and the words for those who cannot see it."""
    return Panel(chart.title, chart.label, drawing(chart))


def drawing(chart: Chart) -> Figure:
    """Return what is drawn of a chart."""
    if chart.kind == "points":
        items, marks = ([PointMark(each.name, each.x, each.y) for each in many] for many in (chart.series, chart.marks))
        return Clouds(items, Axis(chart.x), Axis(chart.y), marks, chart.bounds)
    drawn = [LineMark(each.name, each.x, each.y) for each in chart.series]
    return curves(drawn, ChartAxes(chart.x, chart.y), printed_first=chart.muted_first, rules=chart.rules)
