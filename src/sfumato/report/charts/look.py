"""How a chart looks: one place for colours, axes and marks. Specifications only; nothing here touches a network.

Colours are CSS variables on the page, so that one chart serves light, dark and print; ``PAPER`` has the same
colours as plain values for pictures outside a page.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import altair as alt
from numpy.typing import NDArray

from sfumato.schema.column import Column

Spec = dict[str, Any]
Numbers = NDArray[Any]

FEW_LABELS = 14
"""An axis of at most this many labels is drawn as horizontal bars, where long labels can be read."""
SHORT_LABEL = 5
BAR_HEIGHT = 22
PLOT_HEIGHT = 260
MOST_DOTS = 25
"""A line of at most so many values has a point at each: what was computed. Straight lines join them, no curve."""
TAKEN_NAMES = (
    "constructor",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "toLocaleString",
    "toString",
    "valueOf",
    "__proto__",
    "__defineGetter__",
    "__defineSetter__",
    "__lookupGetter__",
    "__lookupSetter__",
)
"""Names that every object of the chart library has already."""
INVISIBLE = "\u200b"
SEPARATORS = {0x2028: "\\u2028", 0x2029: "\\u2029"}
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"


@dataclass(frozen=True)
class Palette:
    """The colours of a chart by what they mean."""

    ink: str
    muted: str
    grid: str
    accent: str
    noise: str
    truth: str
    series: tuple[str, ...]
    """Curves side by side; told apart by people who see few colours, too."""


PAGE = Palette(
    "var(--ink)",
    "var(--muted)",
    "var(--line)",
    "var(--accent)",
    "var(--ink)",
    "var(--truth)",
    tuple(f"var(--series-{i})" for i in range(1, 6)),
)
PAPER = Palette(
    "#1d2430",
    "#5b6573",
    "#e1e5ea",
    "#3b6fb6",
    "#1d2430",
    "#b3400e",
    ("#2563b0", "#c2570c", "#1f7a4d", "#7a3fb0", "#6b7280"),
)


@dataclass(frozen=True)
class Axis:
    """A column as a chart shows it: a title and its labels in code order, the missing level last."""

    title: str
    labels: tuple[str, ...]
    ordered: bool
    missing: bool = False

    @property
    def is_long(self) -> bool:
        """Whether the labels are too long to stand side by side."""
        return max((len(label) for label in self.labels), default=0) > SHORT_LABEL


def axis_of(column: Column) -> Axis:
    """Return a column's axis.

    >>> axis_of(Column("sex", "category", values=("f", "m"), missing=True)).labels
    ('f', 'm', 'missing')
    """
    title = f"{column.name} ({column.unit})" if column.unit else column.name
    missing = "missing" if "missing" not in column.labels else "(missing)"
    labels = tuple(missing if label is None else _label(label) for label in column.labels)
    return Axis(title, labels, column.is_ordered or column.kind == "ordinal", column.missing)


def _label(label: Any) -> str:
    return str(label).lower() if isinstance(label, bool) else str(label)


def config(palette: Palette = PAGE) -> Spec:
    """Return the settings that all charts share."""
    words = {"labelColor": palette.muted, "titleColor": palette.ink, "titleFontWeight": 600}
    return {
        "background": "transparent",
        "font": FONT,
        "aria": False,  # the page gives each chart one label; thousands of labelled cells help nobody
        "view": {"stroke": None},
        "axis": {
            **words,
            "labelFontSize": 11,
            "titleFontSize": 12,
            "titlePadding": 8,
            "gridColor": palette.grid,
            "domainColor": palette.grid,
            "tickColor": palette.grid,
            "labelLimit": 150,
        },
        "legend": {**words, "labelFontSize": 11, "titleFontSize": 11, "orient": "top", "symbolType": "square"},
    }


def bars(
    axis: Axis,
    counts: Numbers,
    half_width: float = 0.0,
    truth: Numbers | None = None,
    palette: Palette = PAGE,
    shape: Numbers | None = None,
) -> Spec:
    """Return bars of released counts, lines where 95 % of the noise lies, and diamonds at true counts if given.

    ``shape`` is a curve over the present cells, drawn thinly on top of the bars.
    """
    rows = _bar_rows(axis, counts, half_width, truth, shape)
    across = len(axis.labels) <= FEW_LABELS or (not axis.ordered and axis.is_long)
    draw = _Bars(alt.Chart(alt.InlineData(values=rows)), axis, across)
    hints = _tooltip({"x": axis.title, "n": "released", "t": "true (confidential)"}, rows)
    layers = [draw.mark("bar", "n", tooltip=hints, color=palette.accent)]
    if half_width > 0:
        thin = 1.2 if len(rows) <= 40 else 0.7
        layers.append(draw.mark("rule", "lo", "hi", color=palette.noise, strokeWidth=thin, opacity=0.75))
    if shape is not None:
        layers.append(draw.line("s", "i", color=palette.series[2], strokeWidth=1.6))
    if truth is not None:
        size = 50 if len(rows) <= 40 else 22
        layers.append(
            draw.mark(
                "point", "t", tooltip=hints, shape="diamond", filled=True, size=size, opacity=1, color=palette.truth
            )
        )
    return finished(alt.layer(*layers), BAR_HEIGHT * len(rows) if across else PLOT_HEIGHT)


@dataclass(frozen=True)
class _Bars:
    """Marks along one label axis, lying or standing."""

    base: Any
    axis: Axis
    across: bool

    def mark(self, kind: str, start: str, end: str | None = None, tooltip: Any = None, **look: Any) -> Any:
        place, along = ("y", "x") if self.across else ("x", "y")
        measure = (alt.X if self.across else alt.Y)(f"{start}:Q", title="count")
        channels: dict[str, Any] = {place: _label_channel(place, "x", self.axis), along: measure}
        if end is not None:
            channels[f"{along}2"] = (alt.X2 if self.across else alt.Y2)(f"{end}:Q")
        if tooltip is not None:
            channels["tooltip"] = tooltip
        return getattr(self.base, f"mark_{kind}")(**look).encode(**channels)

    def line(self, value: str, place: str, **look: Any) -> Any:
        """Return a line through the rows that have the value, in the order of their places."""
        drawn = self.mark("line", value, **look).transform_filter(f"isValid(datum.{value})")
        return drawn.encode(order=alt.Order(f"{place}:Q"))


def heat(across: Axis, down: Axis, counts: Numbers, top: float, legend: bool = True, palette: Palette = PAGE) -> Spec:
    """Return a heat map: the more of the accent colour, the larger the count; ``top`` is the count at full colour."""
    key = alt.Legend(title="count", values=_nice_steps(top)) if legend else None
    scale = alt.Scale(domain=[0, max(top, 1)], range=[0.04, 1], clamp=True)
    names = {"x": across.title, "y": down.title, "data": "count"}
    chart = (
        _cells(across, down, counts)
        .mark_rect(fill=palette.accent)
        .encode(
            x=_label_channel("x", "x", across),
            y=_label_channel("y", "y", down),
            opacity=alt.Opacity("data:Q", scale=scale, legend=key),
            tooltip=_tooltip(names, [{"x": "", "y": "", "data": 0}]),
        )
    )
    return finished(chart, max(12, min(34, 260 // len(down.labels))) * len(down.labels))


def _cells(across: Axis, down: Axis, counts: Numbers) -> Any:
    """Return a chart over bare counts; their labels are looked up by position, so that a cell costs a few bytes."""
    chart: Any = alt.Chart(alt.InlineData(values=[int(count) for count in counts.ravel()]))
    width = len(across.labels)
    chart = chart.transform_window(place="row_number()").transform_calculate(
        i=f"(datum.place - 1) % {width}", j=f"floor((datum.place - 1) / {width})"
    )
    for position, name, axis in (("i", "x", across), ("j", "y", down)):
        labels = alt.InlineData(values=[{"code": code, name: label} for code, label in enumerate(axis.labels)])
        chart = chart.transform_lookup(position, from_=alt.LookupData(data=labels, key="code", fields=[name]))
    return chart


def _bar_rows(
    axis: Axis, counts: Numbers, half_width: float, truth: Numbers | None, shape: Numbers | None = None
) -> list[Spec]:
    rows: list[Spec] = [{"x": label, "n": int(count)} for label, count in zip(axis.labels, counts, strict=True)]
    for index, row in enumerate(rows):
        if half_width > 0:
            row |= {"lo": round(row["n"] - half_width, 2), "hi": round(row["n"] + half_width, 2)}
        if truth is not None:
            row["t"] = int(truth[index])
        if shape is not None and index < len(shape):
            row |= {"s": float(shape[index]), "i": index}
    return rows


def _label_channel(channel: str, field: str, axis: Axis) -> Any:
    tilt = -40 if channel == "x" and axis.is_long else 0
    few = len(axis.labels) <= FEW_LABELS
    look = alt.Axis(
        title=axis.title,
        labelAngle=tilt,
        labelOverlap=False if few else "greedy",
        ticks=False,
        domain=channel == "x",
        labelPadding=6,
        labelLimit=170 if tilt else 150,
        values=alt.Undefined if few else _spaced(axis),
    )
    # the labels come in code order, the missing level last; sorting them again would undo that
    return (alt.X if channel == "x" else alt.Y)(f"{field}:O", sort=None, axis=look)


def _spaced(axis: Axis) -> list[str]:
    """Return evenly spaced labels, a round number of cells apart, and the missing level."""
    if not axis.ordered:
        return list(axis.labels)
    present = axis.labels[:-1] if axis.missing else axis.labels
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, len(present)) if len(present) / s <= FEW_LABELS)
    return [*present[::step], *axis.labels[len(present) :]]


def _tooltip(names: dict[str, str], rows: Sequence[Spec]) -> list[Any]:
    present = rows[0] if rows else {}
    return [
        alt.Tooltip(f"{field}:{_type(present[field])}", title=title)
        for field, title in names.items()
        if field in present
    ]


def _type(value: Any) -> str:
    return "N" if isinstance(value, str) else "Q"


def _nice_steps(top: float) -> list[float]:
    step = 10 ** math.floor(math.log10(max(top, 1)))
    while max(top, 1) / step < 3 and step > 1:
        step /= 2
    return [step * i for i in range(int(max(top, 1) // step) + 1)][:6]


def finished(chart: Any, height: int) -> Spec:
    """Return the specification of a chart that is as wide as its place on the page."""
    fit = alt.AutoSizeParams(type="fit-x", contains="padding")
    return _bare(chart.properties(width="container", height=height, autosize=fit))


def fixed(chart: Any, width: int, height: int) -> Spec:
    """Return the specification of a chart that keeps its shape; the page scales it where there is less room."""
    return _bare(chart.properties(width=width, height=height))


def _bare(chart: Any) -> Spec:
    spec: Spec = chart.to_dict(context={"pre_transform": False})
    for key in ("$schema", "config"):
        spec.pop(key, None)
    return _harmless(spec)


def _harmless(node: Any, hint: bool = False) -> Any:
    """Return a specification in which no name or value of the user's can be read as code or stop the drawing.

    Vega writes titles of tooltips into expressions, where it escapes quotes alone, and uses values as keys of objects.
    """
    if isinstance(node, dict):
        fields = cast("dict[str, Any]", node)
        return {key: _harmless(value, key == "tooltip" or (hint and key == "title")) for key, value in fields.items()}
    if isinstance(node, list):
        return [_harmless(value, hint) for value in cast("list[Any]", node)]
    if not isinstance(node, str):
        return node
    kept = f"{INVISIBLE}{node}" if node in TAKEN_NAMES else node
    return json.dumps(kept, ensure_ascii=False)[1:-1].replace('\\"', '"').translate(SEPARATORS) if hint else kept


def static_spec(spec: Spec, width: int = 640) -> Spec:
    """Return a chart for pictures outside a page: fixed width, and the settings inside."""
    return {**spec, "width": width, "config": config(PAPER), "background": "white"}
