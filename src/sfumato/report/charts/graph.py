"""The picture of a fitted graph: columns on a circle, and lines between those that were measured together.

Drawn from the released statistics and the public rules alone. Columns are placed so that tied ones stand near each
other, in an order that depends on nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import altair as alt

from sfumato.report.charts.figures import MOST_VALUES, Figure, Panel
from sfumato.report.charts.look import PAGE, Palette, Spec, fixed
from sfumato.report.charts.views import ColumnSet
from sfumato.report.document import ReleaseDocument
from sfumato.schema import Schema

LETTER, LONGEST_LABEL = 6.8, 135
SMALLEST, LARGEST = 130.0, 250.0
"""Radius of the circle; it grows with the number of columns."""
LEVEL_LABELS = 16
"""Names of more columns than this are turned outwards, so that they do not run into each other."""
THIN, THICK = 0.8, 5.0
MANY_LINES = 60
"""From this many lines on they get thinner and fainter; straight, too, from three times as many."""
BEND, RULE_BEND, PIECES = 0.2, 0.34, 6
MOST_PASSES = 8
Pair = tuple[str, str]
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Graph:
    """Columns, the tables that tie them with the noise of a count in each, and pairs that a public rule ties."""

    columns: tuple[str, ...]
    tables: Mapping[ColumnSet, float]
    ruled: tuple[Pair, ...] = ()

    @property
    def lines(self) -> dict[Pair, float]:
        """Pairs of columns that were measured together, with the noise of all tables that hold both."""
        precision: dict[Pair, float] = {}
        for names, noise in self.tables.items():
            for pair in combinations(sorted(names), 2):
                precision[pair] = precision.get(pair, 0.0) + noise**-2
        return {pair: total**-0.5 for pair, total in precision.items()}


def graph_figure(document: ReleaseDocument, schema: Schema) -> list[Figure]:
    """Return the figure of the fitted graph, for releases that have one."""
    graph = graph_of(document, schema)
    if graph is None:
        return []
    rows = tuple((" x ".join(names), f"{noise:.4g}") for names, noise in sorted(graph.tables.items(), key=_sharpest))
    label = (
        f"Graph of {len(graph.columns)} columns with {len(graph.lines)} lines between those that were measured "
        "together; the table below lists the measured tables."
    )
    return [
        Figure(
            "What the model ties together",
            _notes(graph),
            (Panel("", label, drawing(graph)),),
            ("table", "noise of a count (standard deviation)"),
            rows[:MOST_VALUES],
            max(len(rows) - MOST_VALUES, 0),
            whole=True,
        )
    ]


def _sharpest(item: tuple[ColumnSet, float]) -> tuple[int, float]:
    return (-len(item[0]), item[1])


def graph_of(document: ReleaseDocument, schema: Schema) -> Graph | None:
    """Return the graph of a release that measured tables in rounds, or None."""
    measured, noise = (document.statistics.get(key) for key in ("measured_tables", "noise_of_tables"))
    if not measured or not noise:
        return None
    columns = document.tables[0].columns
    tables = {tuple(names): float(sigma) for names, sigma in zip(measured, noise, strict=True) if len(names) > 1}
    ruled = [
        pair
        for rule in schema.rules
        if set(rule.columns) <= set(columns)
        for pair in combinations(sorted(set(rule.columns)), 2)
    ]
    return Graph(columns, tables, tuple(dict.fromkeys(ruled)))


def _notes(graph: Graph) -> tuple[str, ...]:
    notes = [
        "A line joins columns that were measured together: the thicker, the less noise. Columns without a line "
        "between them depend on each other only through others, or not at all."
    ]
    if any(len(names) > 2 for names in graph.tables):
        notes.append("A shaded face is a table of three columns or more.")
    if graph.ruled:
        notes.append("Dashed lines are rules of the schema, which every row keeps.")
    return tuple(notes)


def arranged(columns: Sequence[str], lines: Iterable[Pair]) -> list[str]:
    """Return the columns in an order in which tied ones stand near each other on a circle.

    Two columns change places as long as that shortens the way along the circle between tied ones.
    """
    place, ties = {name: i for i, name in enumerate(columns)}, list(lines)
    beside: dict[str, list[str]] = {name: [] for name in columns}
    for a, b in ties:
        beside[a].append(b)
        beside[b].append(a)
    for _ in range(MOST_PASSES):
        if not sum(_swap_if_shorter(a, b, place, beside) for a, b in combinations(columns, 2)):
            break
    return sorted(columns, key=lambda name: place[name])


def _swap_if_shorter(a: str, b: str, place: dict[str, int], beside: Mapping[str, Sequence[str]]) -> bool:
    before = _way(a, place, beside) + _way(b, place, beside)
    place[a], place[b] = place[b], place[a]
    if _way(a, place, beside) + _way(b, place, beside) < before:
        return True
    place[a], place[b] = place[b], place[a]
    return False


def _way(name: str, place: Mapping[str, int], beside: Mapping[str, Sequence[str]]) -> int:
    apart = (abs(place[name] - place[other]) for other in beside[name])
    return sum(min(steps, len(place) - steps) for steps in apart)


def drawing(graph: Graph, palette: Palette = PAGE) -> Spec:
    """Return the chart of a graph."""
    circle = _Circle.of(graph)
    layers = [_faces(graph, circle, palette), _ties(graph, circle, palette), _rules(graph, circle, palette)]
    drawn = (layer for layer in layers if layer is not None)
    return fixed(alt.layer(*drawn, *_columns(circle, palette)), round(2 * circle.middle), round(2 * circle.half_height))


@dataclass(frozen=True)
class _Circle:
    """Columns in their order on a circle."""

    order: tuple[str, ...]
    radius: float
    middle: float
    pieces: int
    """Pieces of which a line is made; 1 is straight."""

    @classmethod
    def of(cls, graph: Graph) -> _Circle:
        order = tuple(arranged(graph.columns, [*graph.lines, *graph.ruled]))
        room = min(LETTER * max(map(len, order)), LONGEST_LABEL) + 18
        radius = min(SMALLEST + 3 * len(order), LARGEST)
        return cls(order, radius, radius + room, PIECES if len(graph.lines) <= 3 * MANY_LINES else 1)

    @property
    def level(self) -> bool:
        """Whether names stand level; they then need room at the sides only."""
        return len(self.order) <= LEVEL_LABELS

    @property
    def half_height(self) -> float:
        return self.radius + 26 if self.level else self.middle

    @property
    def smooth(self) -> Literal["linear", "cardinal"]:
        return "linear" if self.pieces == 1 else "cardinal"

    def angle(self, name: str) -> float:
        return math.pi / 2 - 2 * math.pi * (self.order.index(name) + 0.5) / len(self.order)

    def spot(self, name: str, further: float = 0.0) -> tuple[float, float]:
        """Return where a column stands, or a place that much further out."""
        angle, radius = self.angle(name), self.radius + further
        return round(self.middle + radius * math.cos(angle), 1), round(self.middle + radius * math.sin(angle), 1)

    def line(self, a: str, b: str, bend: float = BEND) -> Rows:
        """Return the points of a line, bent towards the middle so that lines between neighbours come apart."""
        (ax, ay), (bx, by) = self.spot(a), self.spot(b)
        mx, my = (self.middle + (1 - bend) * ((m / 2) - self.middle) for m in (ax + bx, ay + by))
        if self.pieces == 1:
            mx, my = (ax + bx) / 2, (ay + by) / 2
        shares = [i / self.pieces for i in range(self.pieces + 1)]
        return [
            {
                "x": round((1 - t) ** 2 * ax + 2 * t * (1 - t) * mx + t**2 * bx, 1),
                "y": round((1 - t) ** 2 * ay + 2 * t * (1 - t) * my + t**2 * by, 1),
            }
            for t in shares
        ]

    def at(self) -> dict[str, Any]:
        """Return the channels of a place."""
        across, up = (
            alt.Scale(domain=[self.middle - half, self.middle + half], nice=False, zero=False)
            for half in (self.middle, self.half_height)
        )
        return {"x": alt.X("x:Q", axis=None, scale=across), "y": alt.Y("y:Q", axis=None, scale=up)}


def _chart(rows: Rows) -> Any:
    return alt.Chart(alt.InlineData(values=rows))


def _numbered(points: Rows, **facts: Any) -> Rows:
    return [{**point, "o": i, **facts} for i, point in enumerate(points)]


def _ties(graph: Graph, circle: _Circle, palette: Palette) -> Any:
    lines = graph.lines
    if not lines:
        return None
    step, rows = (THICK - THIN) * min(lines.values()), Rows()
    for (a, b), noise in lines.items():
        width = round(THIN + step / noise, 2)
        rows += _numbered(circle.line(a, b), n=f"{a} x {b}", s=float(f"{noise:.4g}"), w=width)
    faint = min(1.0, math.sqrt(MANY_LINES / len(lines)))
    thick = alt.StrokeWidth("w:Q", scale=alt.Scale(domain=[0, THICK], range=[0, THICK * faint]), legend=None)
    hints = [alt.Tooltip("n:N", title="columns"), alt.Tooltip("s:Q", title="noise of a count")]
    look = _chart(rows).mark_line(
        color=palette.accent, opacity=0.75 * faint, strokeCap="round", interpolate=circle.smooth
    )
    return look.encode(**circle.at(), detail="n:N", order="o:Q", strokeWidth=thick, tooltip=hints)


def _faces(graph: Graph, circle: _Circle, palette: Palette) -> Any:
    rows = Rows()
    for number, names in enumerate(names for names in graph.tables if len(names) > 2):
        corners = sorted(names, key=circle.order.index)
        sides = zip(corners, [*corners[1:], corners[0]], strict=True)
        rows += _numbered([point for a, b in sides for point in circle.line(a, b)], t=number)
    if not rows:
        return None
    look = _chart(rows).mark_line(fill=palette.accent, fillOpacity=0.1, strokeWidth=0, interpolate=circle.smooth)
    return look.encode(**circle.at(), detail="t:N", order="o:Q")


def _rules(graph: Graph, circle: _Circle, palette: Palette) -> Any:
    if not graph.ruled:
        return None
    rows = [row for a, b in graph.ruled for row in _numbered(circle.line(a, b, RULE_BEND), n=f"{a}, {b}")]
    look = _chart(rows).mark_line(
        color=palette.series[1], strokeDash=[5, 5], strokeWidth=1.8, interpolate=circle.smooth
    )
    hints = [alt.Tooltip("n:N", title="tied by a rule")]
    return look.encode(**circle.at(), detail="n:N", order="o:Q", tooltip=hints)


def _columns(circle: _Circle, palette: Palette) -> list[Any]:
    """Return dots and names; no name stands upside down."""
    dots = [dict(zip("xy", circle.spot(name), strict=True), n=name) for name in circle.order]
    layers = [
        _chart(dots)
        .mark_point(filled=True, size=70, color=palette.accent, opacity=1)
        .encode(**circle.at(), tooltip=[alt.Tooltip("n:N", title="column")])
    ]
    for right in (True, False):
        names = [name for name in circle.order if (math.cos(circle.angle(name)) > -1e-9) == right]
        rows = [
            dict(zip("xy", circle.spot(name, 12), strict=True), n=name, a=_turn(circle, name, right)) for name in names
        ]
        look = _chart(rows).mark_text(
            align="left" if right else "right", baseline="middle", fontSize=12, color=palette.ink, limit=LONGEST_LABEL
        )
        layers.append(look.encode(**circle.at(), text="n:N", angle=alt.Angle("a:Q", scale=None)))
    return layers


def _turn(circle: _Circle, name: str, right: bool) -> float:
    if circle.level:
        return 0.0
    return round((0 if right else 180) - math.degrees(circle.angle(name)), 1)
