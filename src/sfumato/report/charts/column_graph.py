"""Column graphs: columns on a circle, with an edge for each pair measured together.

Columns are placed so that tied ones stand near each other, in an order that depends on nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from markupsafe import Markup, escape

from sfumato.report.charts.svg import svg, text_width, truncate

LETTER, LONGEST = 7.2, 16
SMALLEST, LARGEST = 92.0, 170.0
"""Radius of the circle; it grows with the number of columns."""
LEVEL_LABELS = 16
"""Names of more columns than this are turned outwards, so that they do not run into each other."""
THIN, THICK = 0.8, 5.0
MANY_LINES = 60
"""From this many lines on they get thinner and fainter."""
BEND, RULE_BEND = 0.2, 0.34
MOST_PASSES = 8
Pair = tuple[str, str]
ColumnSet = tuple[str, ...]


class Edge(NamedTuple):
    """A line between two columns: how thick it is, and what it says when the pointer rests on it."""

    width: float
    words: str
    dashed: bool = False


@dataclass(frozen=True)
class ColumnGraph:
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

    @property
    def beside(self) -> dict[str, list[str]]:
        """The columns that each was measured with."""
        others: dict[str, list[str]] = {name: [] for name in self.columns}
        for one, other in self.lines:
            others[one].append(other)
            others[other].append(one)
        return others

    def tied(self) -> ColumnGraph:
        """Return the graph without the columns that nothing ties."""
        kept = {name for pair in (*self.lines, *self.ruled) for name in pair}
        return ColumnGraph(tuple(name for name in self.columns if name in kept), self.tables, self.ruled)


def order_on_circle(columns: Sequence[str], lines: Iterable[Pair]) -> list[str]:
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


@dataclass(frozen=True)
class _Circle:
    """Columns in their order on a circle."""

    order: tuple[str, ...]
    radius: float
    across: float
    """From the middle to the side of the picture."""

    @classmethod
    def of(cls, columns: Sequence[str], lines: Iterable[Pair]) -> _Circle:
        order = tuple(order_on_circle(columns, lines))
        room = LETTER * min(max(map(text_width, order)), LONGEST) + 18
        radius = min(SMALLEST + 3 * len(order), LARGEST)
        return cls(order, radius, radius + room)

    @property
    def level(self) -> bool:
        """Whether names stand level; they then need room at the sides only."""
        return len(self.order) <= LEVEL_LABELS

    @property
    def down(self) -> float:
        """From the middle to the top of the picture."""
        return self.radius + 26 if self.level else self.across

    def angle(self, name: str) -> float:
        return 2 * math.pi * (self.order.index(name) + 0.5) / len(self.order) - math.pi / 2

    def spot(self, name: str, further: float = 0.0) -> tuple[float, float]:
        """Return where a column stands, or a place that much further out."""
        angle, radius = self.angle(name), self.radius + further
        return self.across + radius * math.cos(angle), self.down + radius * math.sin(angle)

    def line(self, a: str, b: str, bend: float = BEND) -> str:
        """Return a line from one column to another, bent towards the middle so that neighbours' lines come apart."""
        (ax, ay), (bx, by) = self.spot(a), self.spot(b)
        mx = self.across + (1 - bend) * ((ax + bx) / 2 - self.across)
        my = self.down + (1 - bend) * ((ay + by) / 2 - self.down)
        return f"M{ax:.1f} {ay:.1f}Q{mx:.1f} {my:.1f} {bx:.1f} {by:.1f}"


def graph_picture(graph: ColumnGraph, words: str) -> Markup:
    """Return the picture of a graph: lines the thicker, the less noise; faces for tables of three columns or more."""
    circle = _Circle.of(graph.columns, [*graph.lines, *graph.ruled])
    return _picture(
        circle, [*_faces(graph, circle), *_ties(_noisy(graph.lines), circle), *_rules(graph, circle)], words
    )


def association_graph(columns: Sequence[str], ties: Mapping[Pair, Edge], words: str) -> Markup:
    """Return the picture of columns and of lines between them that have their own thickness and words."""
    circle = _Circle.of(columns, ties)
    return _picture(circle, _ties(ties, circle), words)


def _picture(circle: _Circle, lines: Sequence[str], words: str) -> Markup:
    drawn = [*lines, *_columns(circle)]
    return svg(math.ceil(2 * circle.across), math.ceil(2 * circle.down), drawn, words, "graph")


def _noisy(lines: Mapping[Pair, float]) -> dict[Pair, Edge]:
    """Return lines the thicker, the less noise."""
    if not lines:
        return {}
    faint = min(1.0, math.sqrt(MANY_LINES / len(lines)))
    step = (THICK - THIN) * min(lines.values())
    return {pair: Edge(faint * (THIN + step / noise), f"noise of a count {noise:.3g}") for pair, noise in lines.items()}


def _ties(ties: Mapping[Pair, Edge], circle: _Circle) -> list[str]:
    return [
        f'<path class="tie{" dashed" if tie.dashed else ""}" stroke-width="{tie.width:.2f}" d="{circle.line(*pair)}">'
        f"<title>{escape(' x '.join(pair))}: {escape(tie.words)}</title></path>"
        for pair, tie in ties.items()
    ]


def _faces(graph: ColumnGraph, circle: _Circle) -> list[str]:
    faces: list[str] = []
    for names in (names for names in graph.tables if len(names) > 2):
        corners = sorted(names, key=circle.order.index)
        sides = zip(corners, [*corners[1:], corners[0]], strict=True)
        joined = "".join(path if i == 0 else path[path.index("Q") :] for i, path in enumerate(_paths(circle, sides)))
        faces.append(f'<path class="face" d="{joined}Z"/>')
    return faces


def _paths(circle: _Circle, sides: Iterable[Pair]) -> list[str]:
    return [circle.line(a, b) for a, b in sides]


def _rules(graph: ColumnGraph, circle: _Circle) -> list[str]:
    return [
        f'<path class="rule" d="{circle.line(*pair, RULE_BEND)}">'
        f"<title>tied by a rule: {escape(', '.join(pair))}</title></path>"
        for pair in graph.ruled
    ]


def _columns(circle: _Circle) -> list[str]:
    """Return dots and names; no name stands upside down."""
    drawn: list[str] = []
    for name in circle.order:
        (x, y), (further, lower) = circle.spot(name), circle.spot(name, 11)
        right = math.cos(circle.angle(name)) > -1e-9
        turn = 0.0 if circle.level else math.degrees(circle.angle(name)) + (0 if right else 180)
        place = f"translate({further:.1f} {lower:.1f})" + ("" if not turn else f" rotate({turn:.1f})")
        kind = "start" if right else "end"
        drawn.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>')
        drawn.append(f'<text class="word {kind}" dy="4" transform="{place}">{truncate(name, LONGEST)}</text>')
    return drawn
