"""Marks over two numeric axes: lines, bands, rules and points.

Nobody needs the colours: each line has its own mark, yardsticks and rules have their own dashes, and the legend draws
them. A broad picture is drawn twice, for a page and for a phone, and the page shows the one that has room.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from markupsafe import Markup, escape

from sfumato.report.charts.axis import Axis as Axis
from sfumato.report.charts.axis import short
from sfumato.report.charts.category_marks import TONES
from sfumato.report.charts.plane import FOOT, KEY_HEIGHT, KEY_WIDTH, TOP, WIDE, Plane, figure_html

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
class LineMark:
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
        ends = zip(self.x, self.low or (), self.high or (), strict=False)
        return [each for each in ends if all(map(math.isfinite, each))]


@dataclass(frozen=True)
class RuleMark:
    """A straight line across, or a place to mark, with words for it; a goal stands out."""

    words: str
    at: float
    goal: bool = False


class _LineStyle(NamedTuple):
    """How a line is told apart: classes for its stroke, and its mark."""

    kind: str
    shape: str = ""


class Lines:
    """Lines with their axes settled: to be drawn at any width, and named in a legend.

    ``shaded`` and ``faintly`` are ranges of x; ``marked`` rings the point of the first line at its place.
    """

    def __init__(
        self,
        items: Sequence[LineMark],
        x: Axis,
        y: Axis,
        rules: Sequence[RuleMark] = (),
        shaded: Sequence[tuple[float, float]] = (),
        faintly: Sequence[tuple[float, float]] = (),
        shade_words: tuple[str, str] = ("", ""),
        marked: RuleMark | None = None,
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

    def html(self, words: str, height: int = HEIGHT, narrow: bool = False) -> Markup:
        """Return the lines with their legend; ``words`` say what they show, for those who cannot see it."""
        if not self.shown:
            return Markup('<p class="chart">There is nothing to draw: no point was computed.</p>')
        return figure_html(self, words, height, narrow)

    def picture(self, words: str, width: int = WIDE, height: int = HEIGHT, hints: bool = True) -> Markup:
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
        return plane.picture([*drawn, *self._ring(plane)], words)

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
        parts = [
            f"{line.name} from {self.y.say(points[0][1])} at {self.x.say(points[0][0])} "
            f"to {self.y.say(points[-1][1])} at {self.x.say(points[-1][0])}"
            for line in self.shown
            if (points := line.points()) and not line.faint
        ]
        parts += [f"{rule.words} {self.y.say(rule.at)}" for rule in self.rules]
        return f"{'; '.join(parts)}."

    def described(self) -> str:
        """Return what stands on the axes, and where each line begins and ends.

        >>> Lines([LineMark("record", (0.1, 10), (0.02, 0.5))], Axis("epsilon"), Axis("risk", percent=True)).described()
        'risk against epsilon. record from 2 % at 0.1 to 50 % at 10.'
        """
        return f"{self.y.title} against {self.x.title}. {self.spoken()}"

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

    def _marks(self, line: LineMark, look: _LineStyle, plane: Plane, place: int) -> list[str]:
        """Return marks on all points, or on some that stand apart from those of other lines."""
        points = line.points()
        if not look.shape or line.faint:
            return []
        if line.dots if line.dots is not None else len(points) <= MOST_DOTS:
            return [_mark(plane.across.at(x), plane.up.at(y), look) for x, y in points]
        start, width = plane.across.start, plane.across.end - plane.across.start
        wanted = [start + width * (n + (place + 0.5) / len(self.shown)) / SPARSE for n in range(SPARSE)]
        chosen = {min(points, key=lambda point: abs(plane.across.at(point[0]) - aim)) for aim in wanted}
        return [_mark(plane.across.at(x), plane.up.at(y), look) for x, y in sorted(chosen)]

    def _ring(self, plane: Plane) -> list[str]:
        if self.marked is None:
            return []
        aim = self.marked.at
        x, y = min(self.shown[0].points(), key=lambda point: abs(point[0] - aim))
        words = escape(self.marked.words)
        place = f'cx="{plane.across.at(x):.1f}" cy="{plane.up.at(y):.1f}"'
        return [f'<circle class="ring" {place} r="9"><title>{words}</title></circle>']


def _looks(items: Sequence[LineMark]) -> list[_LineStyle]:
    """Return how each line looks: no two alike, by colour and mark and dashes, but for faint ones of the same name."""
    by_name: dict[str, _LineStyle] = {}
    taken: list[_LineStyle] = []
    behind = {line.name for line in items if line.faint}
    coloured = grey = 0
    for line in items:
        known = by_name.get(line.name) if line.name in behind else None
        if known is None and line.yardstick:
            known = _LineStyle(f"stroke yardstick {_dashed(grey)}")
            grey += 1
        elif known is None:
            known = _coloured(line, coloured)
            coloured += 1
        by_name.setdefault(line.name, known)
        taken.append(known._replace(kind=f"{known.kind} faint") if line.faint else known)
    return taken


def _coloured(line: LineMark, place: int) -> _LineStyle:
    look = place if line.look is None else line.look
    dashed = line.dashed or look // COLOURS % 2 == 1
    return _LineStyle(f"stroke tone-{look % COLOURS + 1}{' dashed' if dashed else ''}", SHAPES[look % len(SHAPES)])


def _dashed(place: int) -> str:
    return f"dash-{place % DASHES + 1}"


def _mark(x: float, y: float, look: _LineStyle) -> str:
    kind = look.kind.replace("stroke", "spot").replace(" dashed", "")
    return f'<path class="{kind}" transform="translate({x:.1f} {y:.1f})" d="{look.shape}"/>'


def _path(line: LineMark, look: _LineStyle, plane: Plane) -> str:
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


def _intervals(line: LineMark, look: _LineStyle, plane: Plane) -> list[str]:
    """Return a whisker at each of a few points, or a band along many."""
    intervals = line.intervals()
    places = [(plane.across.at(x), plane.up.at(low), plane.up.at(high)) for x, low, high in intervals]
    if not places:
        return []
    if len(places) > FEW_WHISKERS:
        there = "L".join(f"{x:.1f} {high:.1f}" for x, _, high in places)
        back = "L".join(f"{x:.1f} {low:.1f}" for x, low, _ in reversed(places))
        return [f'<path class="{look.kind.replace("stroke", "area")}" d="M{there}L{back}Z"/>']
    drawn = "".join(f"M{x - 3:.1f} {high:.1f}h6m-3 0V{low:.1f}m-3 0h6" for x, low, high in places if low - high >= 0.5)
    return [f'<path class="{look.kind.replace(" dashed", "")} slight" d="{drawn}"/>'] if drawn else []


def _hints(line: LineMark, plane: Plane) -> list[str]:
    """Return clear circles over the points that say their numbers."""
    points = line.points()
    every = max(1, math.ceil(len(points) / MOST_HINTS))
    within = {x: f" ({plane.y.say(low)} to {plane.y.say(high)})" for x, low, high in line.intervals() if low < high}
    return [
        f'<circle class="hint" cx="{plane.across.at(x):.1f}" cy="{plane.up.at(y):.1f}" r="7"><title>'
        f"{escape(line.name)}: {plane.y.say(y)}{within.get(x, '')} at {plane.x.say(x)}</title></circle>"
        for x, y in points[::every]
    ]


SMALL, LARGE, IN_LEGEND = 2.2, 6.0, 4.5
AIR = 0.03
"""Share of the range that stays free around the points."""


@dataclass(frozen=True)
class PointMark:
    """Points of one name."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class Clouds:
    """Points by name; where some are marked, the marks have the legend: clouds are told apart by eye."""

    items: Sequence[PointMark]
    x: Axis
    y: Axis
    marks: Sequence[PointMark] = ()
    bounds: Sequence[float] = ()

    def entries(self) -> Iterator[tuple[str, str]]:
        """Yield the shape and the name of each kind of mark, or of each cloud, and the bounds."""
        for place, each in enumerate(self.marks or self.items):
            shape = _shape(place + bool(self.marks), IN_LEGEND)
            look = "marks" if self.marks else f"tone-{place % TONES + 1} spot"
            yield f'<path class="{look}" d="M{KEY_WIDTH / 2:g} {KEY_HEIGHT / 2:g}{shape}"/>', each.name
        if self.bounds:
            yield f'<path class="rule dash-2" d="M1 {KEY_HEIGHT / 2:g}H{KEY_WIDTH - 1}"/>', f"bounds of {self.x.title}"

    def picture(self, words: str, width: int, height: int, hints: bool = True) -> Markup:
        """Return the SVG alone."""
        every = [*self.items, *self.marks]
        x = self.x.spanning(_airy([*(value for each in every for value in each.x), *self.bounds]))
        y = self.y.spanning(_airy([value for each in every for value in each.y]))
        plane = Plane(x, y, width, height)
        drawn = [
            *plane.frame(),
            *(
                f'<path class="rule dash-2" d="M{plane.across.at(at):.1f} {TOP}V{height - FOOT}"/>'
                for at in self.bounds
            ),
            *(
                _points(each, plane, place, SMALL, f"tone-{place % TONES + 1} cloud")
                for place, each in enumerate(self.items)
            ),
            *(_points(each, plane, place + 1, LARGE, "marks") for place, each in enumerate(self.marks)),
        ]
        return plane.picture(drawn, words)

    def spoken(self) -> str:
        """Return how many points there are, and where."""
        clouds = [
            f"{each.name}: {len(each.x)} points, {self.x.title} {_span(each.x)}, {self.y.title} {_span(each.y)}"
            for each in (*self.items, *self.marks)
        ]
        return f"{'; '.join(clouds)}."


def common_axis(title: str, values: Sequence[float]) -> Axis:
    """Return an axis that several pictures share: it holds the values of all, with air around them.

    >>> common_axis("x", [0.0, 100.0]).ends()
    (-3.0, 103.0)
    """
    low, high = _airy(values)
    return Axis(title, low, high)


def _airy(values: Sequence[float]) -> list[float]:
    air = AIR * (max(values) - min(values))
    return [min(values) - air, max(values) + air]


def _span(values: Sequence[float]) -> str:
    return f"{short(min(values))} to {short(max(values))}"


def _points(cloud: PointMark, plane: Plane, shape: int, size: float, look: str) -> str:
    """Return all points of a cloud as one path: thousands of elements would make a page slow."""
    drawn = _shape(shape, size)
    places = [(plane.across.at(x), plane.up.at(y)) for x, y in zip(cloud.x, cloud.y, strict=True)]
    return f'<path class="{look}" d="{"".join(f"M{x:.1f} {y:.1f}{drawn}" for x, y in places)}"/>'


def _shape(shape: int, size: float) -> str:
    """Return a circle, a diamond, a triangle, a square or a plus around the place where the pen is."""
    s, d = f"{size:g}", f"{2 * size:g}"
    return (
        f"m-{s} 0a{s} {s} 0 1 0 {d} 0a{s} {s} 0 1 0 -{d} 0z",
        f"m0 -{s}l{s} {s}l-{s} {s}l-{s} -{s}z",
        f"m0 -{s}l{s} {d}h-{d}z",
        f"m-{s} -{s}h{d}v{d}h-{d}z",
    )[shape % 4]
