"""Charts of a reproduction: their numbers as typed values, and what is drawn of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict

from sfumato.report.charts import (
    Axis,
    Bars,
    BarSeries,
    Boxes,
    BoxMark,
    Clouds,
    Figure,
    ImageMark,
    LineMark,
    Lines,
    PointMark,
    RuleMark,
    ViolinMark,
    Violins,
)

Quantiles = tuple[float, float, float, float, float]


class FrozenModel(BaseModel):
    """A value that cannot change and knows all its fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


class Series(FrozenModel):
    """One line, one cloud of points, one set of bars or one image; bars and images have no ``x``."""

    name: str
    y: tuple[float, ...]
    x: tuple[float, ...] = ()
    faint: bool = False


class ViolinOutline(FrozenModel):
    """The outline of one violin; for equal values it is a point."""

    name: str
    at: tuple[float, ...]
    width: tuple[float, ...]
    middle: float
    tone: int | None = None


class Chart(FrozenModel):
    """One chart as numbers: lines, bars side by side, boxes, clouds of points, violins, or a square grey image."""

    kind: Literal["lines", "bars", "boxes", "points", "violins", "image"]
    title: str
    label: str
    """What it shows, for those who cannot see it."""
    x: str = ""
    y: str = ""
    series: tuple[Series, ...] = ()
    shapes: tuple[ViolinOutline, ...] = ()
    marks: tuple[Series, ...] = ()
    """Centroids among points, a name for each kind."""
    bounds: tuple[float, ...] = ()
    """Vertical lines where a bound of x is."""
    labels: tuple[str, ...] = ()
    """What stands under each group of bars, or under each of the boxes, whose heights are five quantiles."""
    rules: tuple[tuple[str, float], ...] = ()
    """Horizontal lines with a word."""
    logarithmic: bool = False
    """Whether the x axis of lines, or the y axis of violins, is."""
    bottom: float | None = None
    """Where the y axis of lines begins, if not at 0."""
    top: float | None = None
    muted_first: bool = False
    """Whether the first series is what the paper reports, or another yardstick."""


def line_chart(
    title: str,
    axes: tuple[str, str],
    at: Sequence[float],
    heights: Mapping[str, Sequence[float]],
    label: str = "",
    *,
    digits: int | None = None,
    logarithmic: bool = True,
    **look: Any,
) -> Chart:
    """Return lines over common x values; ``axes`` are the titles of x and y, ``digits`` those that heights keep.

    ``look`` are other fields of :class:`Chart`.
    """
    lines = tuple(Series(name=name, x=tuple(at), y=_kept(each, digits)) for name, each in heights.items())
    words = label or f"{axes[1]} against {axes[0]}: {', '.join(heights)}"
    look |= {"x": axes[0], "y": axes[1], "series": lines, "logarithmic": logarithmic}
    return Chart(kind="lines", title=title, label=words, **look)


def bar_chart(
    title: str,
    axes: tuple[str, str],
    labels: Sequence[str],
    heights: Mapping[str, Sequence[float]],
    label: str = "",
    *,
    digits: int | None = None,
    muted_first: bool = True,
) -> Chart:
    """Return bars side by side over labels; ``axes`` are the titles of x and y, ``digits`` those that heights keep."""
    bars = tuple(Series(name=name, y=_kept(each, digits)) for name, each in heights.items())
    words = label or f"{axes[1]} by {axes[0]}: {', '.join(heights)}"
    return Chart(
        kind="bars",
        title=title,
        label=words,
        x=axes[0],
        y=axes[1],
        series=bars,
        labels=tuple(labels),
        muted_first=muted_first,
    )


def _kept(heights: Sequence[float], digits: int | None) -> tuple[float, ...]:
    return tuple(heights) if digits is None else tuple(float(f"{height:.{digits}g}") for height in heights)


@dataclass(frozen=True)
class ChartAxes:
    """The two axes of lines: their titles, where the upright one begins (0 or below by default) and where it ends."""

    x: str = "epsilon"
    y: str = "risk"
    top: float | None = 1.0
    bottom: float | None = None
    logarithmic: bool = True


RISK = ChartAxes()
"""Risk against epsilon, from 0 to 1."""


def curves(
    items: Sequence[LineMark],
    axes: ChartAxes = RISK,
    *,
    printed_first: bool = True,
    rules: Sequence[tuple[str, float]] = (),
) -> Lines:
    """Return lines, mostly against an axis of equal factors; the first name is a yardstick where it was printed.

    ``rules`` are horizontal lines with a word: floors, ceilings, targets. Faint lines stand behind their namesakes.
    """
    first = items[0].name if items and printed_first else None
    drawn = sorted((replace(item, yardstick=item.name == first) for item in items), key=lambda item: not item.faint)
    x = Axis(axes.x, logarithmic=axes.logarithmic)
    zero = 0.0 if min((height for item in items for height in item.y), default=0.0) >= 0 else None
    y = Axis(axes.y, low=zero if axes.bottom is None else axes.bottom, high=axes.top)
    return Lines(drawn, x, y, tuple(RuleMark(word, at) for word, at in rules))


def drawing(chart: Chart) -> Figure:
    """Return what is drawn of a chart."""
    match chart.kind:
        case "image":
            return ImageMark(chart.series[0].y)
        case "violins":
            shapes = [
                ViolinMark(each.name, each.at, each.width, each.middle, 0 if each.tone is None else each.tone + 1)
                for each in chart.shapes
            ]
            return Violins(shapes, chart.y, chart.rules, chart.logarithmic)
        case "bars":
            heights = [BarSeries(each.name, each.y) for each in chart.series]
            return Bars(chart.labels, heights, chart.x, chart.y, yardstick=chart.muted_first)
        case "boxes":
            boxes = [
                BoxMark(at, s.name, cast("Quantiles", s.y)) for at, s in zip(chart.labels, chart.series, strict=True)
            ]
            return Boxes(boxes, chart.x, chart.y, top=chart.top)
        case "points":
            items, marks = ([PointMark(s.name, s.x, s.y) for s in many] for many in (chart.series, chart.marks))
            return Clouds(items, Axis(chart.x), Axis(chart.y), marks, chart.bounds)
        case "lines":
            drawn = [LineMark(each.name, each.x, each.y, faint=each.faint) for each in chart.series]
            axes = ChartAxes(chart.x, chart.y, chart.top, chart.bottom, chart.logarithmic)
            return curves(drawn, axes, printed_first=chart.muted_first, rules=chart.rules)
