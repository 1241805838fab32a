"""Curves and points over two axes, as plain SVG with a legend of its own: for pages, papers and documents.

Nobody needs the colours: each line has its own mark, yardsticks and rules have their own dashes, and the legend draws
them. A broad picture is drawn twice, for a page and for a phone, and the page shows the one that has room.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from markupsafe import Markup, escape

from sfumato.report.charts.drawing import picture
from sfumato.report.charts.plane import BROAD, FOOT, TOP, Plane
from sfumato.report.charts.plane import Axis as Axis
from sfumato.report.charts.shown import charted

HEIGHT = 300
MOST_DOTS = 20
"""A line of more points is marked here and there only, and its interval is a band."""
FEW_WHISKERS = 10
APART = 5.0
"""Units between the whiskers of two lines at the same place."""
SPARSE = 4
"""Marks on a line of many points."""
MOST_HINTS = 40
"""Points of a line that say their numbers when the pointer rests on them."""
COLOURS, DASHES = 4, 5
SHAPES = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z",
    "M-3.6 -3.6h7.2v7.2h-7.2Z",
    "M0 -4.8L4.8 3.8H-4.8Z",
    "M0 -5.4L5.4 0L0 5.4L-5.4 0Z",
    "M0 4.8L4.8 -3.8H-4.8Z",
    "M-4.6 -1.6h3v-3h3.2v3h3v3.2h-3v3h-3.2v-3h-3Z",
    "M-4.6 -2.4L-2.4 -4.6L0 -2.2L2.4 -4.6L4.6 -2.4L2.2 0L4.6 2.4L2.4 4.6L0 2.2L-2.4 4.6L-4.6 2.4L-2.2 0Z",
)
"""Circle, square, triangle, diamond, triangle upside down, plus, cross: around their middle."""


@dataclass(frozen=True)
class Line:
    """Points of one name, in order, and the interval around each where there is one.

    A yardstick is grey and dashed and has no marks. ``look`` is which colour and mark it takes, by default the next;
    ``dashed`` lines of one look belong together. ``note`` stands behind the name in the legend. Faint lines stand
    behind a namesake: they share its look and its entry. Points that are not ``joined`` have marks and no line.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    yardstick: bool = False
    faint: bool = False
    note: str = ""
    dots: bool | None = None
    look: int | None = None
    dashed: bool = False
    joined: bool = True

    def points(self) -> list[tuple[float, float]]:
        """Return the points that can be drawn."""
        return [(x, y) for x, y in zip(self.x, self.y, strict=True) if math.isfinite(x) and math.isfinite(y)]

    def intervals(self) -> list[tuple[float, float, float]]:
        """Return each point's place, and the ends of its interval."""
        found = zip(self.x, self.low or (), self.high or (), strict=False)
        return [each for each in found if all(map(math.isfinite, each))]


@dataclass(frozen=True)
class Rule:
    """A straight line across, or a place to mark, with words for it; a goal stands out."""

    words: str
    at: float
    goal: bool = False


class _Look(NamedTuple):
    """How a line is told apart: classes for its stroke, and its mark."""

    kind: str
    shape: str = ""


def lines(
    items: Sequence[Line],
    x: Axis,
    y: Axis,
    words: str,
    *,
    rules: Sequence[Rule] = (),
    shaded: Sequence[tuple[float, float]] = (),
    faintly: Sequence[tuple[float, float]] = (),
    shade_words: str = "",
    faint_words: str = "",
    marked: Rule | None = None,
    height: int = HEIGHT,
    narrow: bool = False,
) -> Markup:
    """Return lines with their legend; ``words`` say in a sentence what they show, with the main numbers.

    ``shaded`` and ``faintly`` are ranges of x; ``marked`` rings the point of the first line at its place. ``narrow``
    pictures stand in panels side by side and are drawn once.
    """
    drawing = Lines(items, x, y, rules, shaded, faintly, (shade_words, faint_words), marked)
    if not drawing.shown:
        return Markup('<p class="chart">There is nothing to draw: no point was computed.</p>')
    return charted(drawing, words, height, narrow)


class Lines:
    """Lines with their axes settled: to be drawn at any width, and named in a legend."""

    def __init__(
        self,
        items: Sequence[Line],
        x: Axis,
        y: Axis,
        rules: Sequence[Rule] = (),
        shaded: Sequence[tuple[float, float]] = (),
        faintly: Sequence[tuple[float, float]] = (),
        shade_words: tuple[str, str] = ("", ""),
        marked: Rule | None = None,
    ) -> None:
        self.shown = [line for line in items if line.points()]
        self.rules, self.marked = rules, marked
        self.shades = (("shaded", shaded, shade_words[0]), ("shaded faintly", faintly, shade_words[1]))
        heights = [y for line in self.shown for _, y in line.points()]
        heights += [end for line in self.shown for _, *ends in line.intervals() for end in ends]
        self.x = x.spanning([x for line in self.shown for x, _ in line.points()])
        self.y = y.spanning([*heights, *(rule.at for rule in rules)], from_zero=True)
        self.looks = _looks(self.shown)
        behind = sum(line.yardstick for line in self.shown)
        self.rule_looks = ["goal" if rule.goal else _dashed(behind + n) for n, rule in enumerate(rules)]

    def picture(self, words: str, width: int = BROAD, height: int = HEIGHT, hints: bool = True) -> Markup:
        """Return the SVG alone."""
        plane = Plane(self.x, self.y, width, height)
        drawn = [*self._shades(plane), *plane.frame()]
        planes = [replace(plane, shift=APART * apart) for apart in self._apart()]
        for line, look, own in zip(self.shown, self.looks, planes, strict=True):
            drawn += _intervals(line, look, own)
        drawn += self._rules(plane)
        for place, (line, look, own) in enumerate(zip(self.shown, self.looks, planes, strict=True)):
            drawn += [_path(line, look, own)] if line.joined else []
            drawn += self._marks(line, look, own, place)
            drawn += _hints(line, own) if hints else []
        return picture(width, height, [*drawn, *self._ring(plane)], words, "broad" if width >= BROAD else "slender")

    def entries(self) -> Iterator[tuple[str, str]]:
        """Yield what stands in the legend: an SVG fragment of 34 by 14, and its words."""
        clear = {line.name for line in self.shown if not line.faint}
        for line, look in zip(self.shown, self.looks, strict=True):
            if line.faint and line.name in clear:
                continue
            stroke = f'<path class="{look.kind}" d="M1 7H33"/>' if line.joined else ""
            mark = _mark(17, 7, look) if look.shape else ""
            yield f"{stroke}{mark}", f"{line.name} {line.note}".strip()
        for rule, kind in zip(self.rules, self.rule_looks, strict=True):
            yield f'<path class="rule {kind}" d="M1 7H33"/>', rule.words
        for kind, ranges, words in self.shades:
            if words and ranges:
                yield f'<rect class="{kind}" x="1" y="1" width="32" height="12"/>', words
        if self.marked:
            yield '<circle class="ring" cx="17" cy="7" r="6"/>', self.marked.words

    def spoken(self) -> str:
        """Return where each line begins and ends, for those who cannot see it."""
        told = [
            f"{line.name} from {self.y.say(points[0][1])} at {self.x.say(points[0][0])} "
            f"to {self.y.say(points[-1][1])} at {self.x.say(points[-1][0])}"
            for line in self.shown
            if (points := line.points()) and not line.faint
        ]
        told += [f"{rule.words} {self.y.say(rule.at)}" for rule in self.rules]
        return f"{'; '.join(told)}."

    def _apart(self) -> list[float]:
        """Return how far each line stands aside, in steps: whiskers at the same place would hide each other."""
        aside = [line for line in self.shown if 0 < len(line.intervals()) <= FEW_WHISKERS]
        middle = (len(aside) - 1) / 2
        return [aside.index(line) - middle if line in aside else 0.0 for line in self.shown]

    def _shades(self, plane: Plane) -> list[str]:
        low, high = self.x.ends()
        kinds = [(kind, each) for kind, ranges, _ in self.shades for each in ranges]
        return [
            f'<rect class="{kind}" x="{plane.across.at(max(a, low)):.1f}" y="{TOP}" '
            f'width="{plane.across.at(min(b, high)) - plane.across.at(max(a, low)):.1f}" '
            f'height="{plane.height - TOP - FOOT}"/>'
            for kind, (a, b) in kinds
            if a < high and b > low
        ]

    def _rules(self, plane: Plane) -> list[str]:
        return [
            f'<path class="rule {kind}" d="M{plane.left:.1f} {plane.up.at(rule.at):.1f}H{plane.across.end}">'
            f"<title>{escape(rule.words)}</title></path>"
            for rule, kind in zip(self.rules, self.rule_looks, strict=True)
        ]

    def _marks(self, line: Line, look: _Look, plane: Plane, place: int) -> list[str]:
        """Return marks on all points, or on some that stand apart from those of other lines."""
        points = line.points()
        if not look.shape or line.faint:
            return []
        if line.dots if line.dots is not None else len(points) <= MOST_DOTS:
            return [_mark(plane.across.at(x), plane.up.at(y), look) for x, y in points]
        start, width = plane.across.start, plane.across.end - plane.across.start
        wanted = [start + width * (n + (place + 0.5) / len(self.shown)) / SPARSE for n in range(SPARSE)]
        found = {min(points, key=lambda point: abs(plane.across.at(point[0]) - aim)) for aim in wanted}
        return [_mark(plane.across.at(x), plane.up.at(y), look) for x, y in sorted(found)]

    def _ring(self, plane: Plane) -> list[str]:
        if self.marked is None:
            return []
        aim = self.marked.at
        x, y = min(self.shown[0].points(), key=lambda point: abs(point[0] - aim))
        words = escape(self.marked.words)
        place = f'cx="{plane.across.at(x):.1f}" cy="{plane.up.at(y):.1f}"'
        return [f'<circle class="ring" {place} r="9"><title>{words}</title></circle>']


def _looks(items: Sequence[Line]) -> list[_Look]:
    """Return how each line looks: no two alike, by colour and mark and dashes, but for faint ones of the same name."""
    found: dict[str, _Look] = {}
    taken: list[_Look] = []
    behind = {line.name for line in items if line.faint}
    coloured = grey = 0
    for line in items:
        known = found.get(line.name) if line.name in behind else None
        if known is None and line.yardstick:
            known = _Look(f"stroke yardstick {_dashed(grey)}")
            grey += 1
        elif known is None:
            known = _coloured(line, coloured)
            coloured += 1
        found.setdefault(line.name, known)
        taken.append(known._replace(kind=f"{known.kind} faint") if line.faint else known)
    return taken


def _coloured(line: Line, place: int) -> _Look:
    look = place if line.look is None else line.look
    dashed = line.dashed or look // COLOURS % 2 == 1
    return _Look(f"stroke tone-{look % COLOURS + 1}{' dashed' if dashed else ''}", SHAPES[look % len(SHAPES)])


def _dashed(place: int) -> str:
    return f"dash-{place % DASHES + 1}"


def _mark(x: float, y: float, look: _Look) -> str:
    kind = look.kind.replace("stroke", "spot").replace(" dashed", "")
    return f'<path class="{kind}" transform="translate({x:.1f} {y:.1f})" d="{look.shape}"/>'


def _path(line: Line, look: _Look, plane: Plane) -> str:
    """Return straight lines between the points; where one is missing the line is broken."""
    parts: list[str] = []
    start = True
    for x, y in zip(line.x, line.y, strict=True):
        if not (math.isfinite(x) and math.isfinite(y)):
            start = True
            continue
        parts.append(f"{'M' if start else 'L'}{plane.across.at(x):.1f} {plane.up.at(y):.1f}")
        start = False
    return f'<path class="{look.kind}" d="{"".join(parts)}"><title>{escape(line.name)}</title></path>'


def _intervals(line: Line, look: _Look, plane: Plane) -> list[str]:
    """Return a whisker at each of a few points, or a band along many."""
    found = line.intervals()
    places = [(plane.across.at(x), plane.up.at(low), plane.up.at(high)) for x, low, high in found]
    if not places:
        return []
    if len(places) > FEW_WHISKERS:
        there = "L".join(f"{x:.1f} {high:.1f}" for x, _, high in places)
        back = "L".join(f"{x:.1f} {low:.1f}" for x, low, _ in reversed(places))
        return [f'<path class="{look.kind.replace("stroke", "area")}" d="M{there}L{back}Z"/>']
    drawn = "".join(f"M{x - 3:.1f} {high:.1f}h6m-3 0V{low:.1f}m-3 0h6" for x, low, high in places if low - high >= 0.5)
    return [f'<path class="{look.kind.replace(" dashed", "")} slight" d="{drawn}"/>'] if drawn else []


def _hints(line: Line, plane: Plane) -> list[str]:
    """Return clear circles over the points that say their numbers."""
    points = line.points()
    every = max(1, math.ceil(len(points) / MOST_HINTS))
    within = {x: f" ({plane.y.say(low)} to {plane.y.say(high)})" for x, low, high in line.intervals() if low < high}
    return [
        f'<circle class="hint" cx="{plane.across.at(x):.1f}" cy="{plane.up.at(y):.1f}" r="7"><title>'
        f"{escape(line.name)}: {plane.y.say(y)}{within.get(x, '')} at {plane.x.say(x)}</title></circle>"
        for x, y in points[::every]
    ]


def ends_in_words(items: Sequence[Line], x: Axis, y: Axis) -> str:
    """Say where each line starts and ends: for those who cannot see it.

    >>> ends_in_words([Line("record", (0.1, 10), (0.02, 0.5))], Axis("epsilon"), Axis("risk", percent=True))
    'risk against epsilon. record: 2 % at 0.1, 50 % at 10.'
    """
    said = [f"{y.title} against {x.title}."]
    for line in items:
        points = line.points()
        if points:
            ends = points if len(points) == 1 else (points[0], points[-1])
            said.append(f"{line.name}: {', '.join(f'{y.say(b)} at {x.say(a)}' for a, b in ends)}.")
    return " ".join(said)
