"""From the numbers of a chart to the drawing on the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from sfumato.papers.charts import HEIGHT, Axes, Line, lines
from sfumato.papers.kmeans_geometry.results import Chart, Points
from sfumato.report.charts import PAGE, Palette, Panel, Spec, finished

SHAPES = ("cross", "diamond", "triangle-up")


def clouds(rows: NDArray[np.float64], labels: NDArray[np.int64] | None = None) -> tuple[Points, ...]:
    """Return rows of two columns as points, one name for each label."""
    groups = {"rows": rows} if labels is None else {f"cluster {k}": rows[labels == k] for k in np.unique(labels)}
    return tuple(points(name, each) for name, each in groups.items())


def points(name: str, rows: NDArray[np.float64]) -> Points:
    """Return rows of two columns under one name, with the digits that a drawing needs."""
    x, y = (tuple(float(f"{v:.4g}") for v in column) for column in rows.T)
    return Points(name=name, x=x, y=y)


def panel(chart: Chart, palette: Palette = PAGE) -> Panel:
    """Return a chart with its title and the words for those who cannot see it."""
    return Panel(chart.title, chart.label, spec(chart, palette))


def spec(chart: Chart, palette: Palette = PAGE) -> Spec:
    """Return the specification of a chart."""
    if chart.kind == "points":
        return _scatter(chart, palette)
    drawn = [Line(each.name, each.x, each.y) for each in chart.series]
    return lines(drawn, Axes(chart.x, chart.y), palette, chart.muted_first, chart.rules)


def _scatter(chart: Chart, palette: Palette) -> Spec:
    names = [each.name for each in chart.series]
    colours = alt.Scale(domain=names, range=list(palette.series[: len(names)]))
    # Where centroids are marked, they have the legend: clusters are told apart by eye.
    legend = alt.Legend(title=None, orient="top", columns=4) if len(names) > 1 and not chart.marks else None
    cloud = (
        alt.Chart(_rows(chart.series))
        .mark_circle(size=16, opacity=0.55)
        .encode(
            x=_axis("x:Q", chart.x),
            y=_axis("y:Q", chart.y),
            color=alt.Color("s:N", scale=colours, sort=names, legend=legend),
        )
    )
    return finished(alt.layer(cloud, *_marks(chart, palette), *_bounds(chart, palette)), HEIGHT)


def _axis(field: str, title: str) -> Any:
    kind = alt.X if field.startswith("x") else alt.Y
    return kind(field, title=title, scale=alt.Scale(zero=False), axis=alt.Axis(grid=False, tickCount=6))


def _marks(chart: Chart, palette: Palette) -> list[Any]:
    if not chart.marks:
        return []
    names = [each.name for each in chart.marks]
    shapes = alt.Scale(domain=names, range=list(SHAPES[: len(names)]))
    legend = alt.Legend(title=None, orient="top", columns=2, labelLimit=200)
    drawn = alt.Chart(_rows(chart.marks)).mark_point(size=110, filled=True, color=palette.ink, opacity=0.9)
    hints = [alt.Tooltip("s:N", title="what"), alt.Tooltip("x:Q", format=".2f"), alt.Tooltip("y:Q", format=".2f")]
    return [
        drawn.encode(x="x:Q", y="y:Q", shape=alt.Shape("s:N", scale=shapes, sort=names, legend=legend), tooltip=hints)
    ]


def _bounds(chart: Chart, palette: Palette) -> list[Any]:
    if not chart.bounds:
        return []
    base = alt.Chart(alt.InlineData(values=[{"at": at} for at in chart.bounds]))
    return [base.mark_rule(strokeDash=[4, 3], color=palette.muted).encode(x="at:Q")]


def _rows(series: Sequence[Points]) -> Any:
    made = [{"s": each.name, "x": x, "y": y} for each in series for x, y in zip(each.x, each.y, strict=True)]
    return alt.InlineData(values=made)
