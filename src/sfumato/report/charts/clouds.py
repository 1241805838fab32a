"""Points in a plane: clouds told apart by shape and colour, larger marks on them, and upright lines at bounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from sfumato.report.charts.drawing import picture
from sfumato.report.charts.plane import BROAD, FOOT, TOP, Axis, Plane
from sfumato.report.charts.shown import KEY_HEIGHT, KEY_WIDTH
from sfumato.report.charts.slots import TONES
from sfumato.report.charts.ticks import short

SMALL, LARGE, IN_LEGEND = 2.2, 6.0, 4.5
AIR = 0.03
"""Share of the range that stays free around the points."""


@dataclass(frozen=True)
class Cloud:
    """Points of one name."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class Clouds:
    """Points by name; where some are marked, the marks have the legend: clouds are told apart by eye."""

    items: Sequence[Cloud]
    x: Axis
    y: Axis
    marks: Sequence[Cloud] = ()
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
        return picture(width, height, drawn, words, "broad" if width >= BROAD else "slender")

    def spoken(self) -> str:
        """Return how many points there are, and where."""
        told = [
            f"{each.name}: {len(each.x)} points, {self.x.title} {_span(each.x)}, {self.y.title} {_span(each.y)}"
            for each in (*self.items, *self.marks)
        ]
        return f"{'; '.join(told)}."


def shared_axis(title: str, values: Sequence[float]) -> Axis:
    """Return an axis that several pictures share: it holds the values of all, with air around them.

    >>> shared_axis("x", [0.0, 100.0]).ends()
    (-3.0, 103.0)
    """
    low, high = _airy(values)
    return Axis(title, low, high)


def _airy(values: Sequence[float]) -> list[float]:
    air = AIR * (max(values) - min(values))
    return [min(values) - air, max(values) + air]


def _span(values: Sequence[float]) -> str:
    return f"{short(min(values))} to {short(max(values))}"


def _points(cloud: Cloud, plane: Plane, shape: int, size: float, look: str) -> str:
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
