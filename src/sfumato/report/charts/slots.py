"""Things side by side: equal places with names below them, each with room for several things."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from markupsafe import Markup, escape

from sfumato.report.charts.drawing import picture, shortened, wide
from sfumato.report.charts.plane import BROAD, FOOT, Axis, Plane
from sfumato.report.charts.shown import KEY_HEIGHT, KEY_WIDTH
from sfumato.report.charts.ticks import short

LINE = 15
"""Height of a line of names."""
WIDEST = 48.0
"""Units that one thing is wide at most."""
TONES = 4
FILLS = ("full", "half", "light")


@dataclass(frozen=True)
class Slots:
    """Named places of a picture, and the plane that they stand on."""

    names: Sequence[str]
    parts: int
    title: str
    y: Axis
    width: int
    height: int

    @cached_property
    def plane(self) -> Plane:
        """The plane without an axis below: names stand there."""
        return Plane(Axis("", 0.0, float(len(self.names)), places=()), self.y, self.width, self.height - self._more)

    @property
    def _more(self) -> int:
        return LINE if self._lines == 2 else 0

    @cached_property
    def _step(self) -> float:
        bare = Plane(Axis("", 0.0, 1.0, places=()), self.y, self.width, self.height)
        return (bare.across.end - bare.across.start) / max(len(self.names), 1)

    @property
    def thing(self) -> float:
        """The width of one thing."""
        return min(0.8 * self._step / self.parts, WIDEST)

    def start(self, place: int, part: int) -> float:
        """Return where one thing begins."""
        return self.plane.across.at(place + 0.5) + (part - self.parts / 2) * self.thing

    @cached_property
    def _lines(self) -> int:
        """Lines of names: long words stand on two in turn, of numbers some are left out."""
        return 1 if self._fit(1) or all(map(_is_number, self.names)) else 2

    def _fit(self, every: int) -> bool:
        """Return whether neighbours have room when every such name is written, and the last one before the edge."""
        widths = [self._letter * wide(name) for name in self.names[every - 1 :: every]]
        room = every * self._step - 4
        return all((a + b) / 2 <= room for a, b in pairwise(widths)) and (not widths or widths[-1] <= self._step + 18)

    @property
    def _letter(self) -> float:
        return Plane(Axis(""), self.y, self.width, self.height).letter

    def picture(self, things: Sequence[str], words: str) -> Markup:
        """Return the picture: grid, things, floor and names."""
        floor, plane = self.height - self._more - FOOT, self.plane
        middle, foot = (plane.left + plane.across.end) / 2, self.height - 6
        zero = f'<path class="axis" d="M{plane.left:.1f} {plane.up.at(0.0):.1f}H{plane.across.end:.1f}"/>'
        title = f'<text class="word" x="{middle:.1f}" y="{foot}">{escape(self.title)}</text>'
        drawn = [*plane.frame(), *things, zero, *self._names(floor), title]
        return picture(self.width, self.height, drawn, words, "broad" if self.width >= BROAD else "slender")

    def _names(self, floor: int) -> list[str]:
        count, lines = len(self.names), self._lines
        every = 1 if lines == 2 else next(n for n in (1, 2, 5, 10, 20, 50, 100, count) if self._fit(n) or n == count)
        most = math.floor((max(lines, every) * self._step - 4) / self._letter)
        return [
            f'<text class="word" x="{self._inside(place, most):.1f}" y="{floor + 17 + LINE * (place % lines)}">'
            f"{shortened(self.names[place], most)}</text>"
            for place in range(every - 1, count, every)
        ]

    def _inside(self, place: int, most: int) -> float:
        """Return the middle of a name: that of its place, but never so far right that the name is cut."""
        half = self._letter * min(wide(self.names[place]), most) / 2
        return min(self.plane.across.at(place + 0.5), self.width - half)


def _is_number(name: str) -> bool:
    return name.replace(",", "").replace(".", "", 1).removeprefix("-").isdigit()


def look_of(place: int, yardstick: bool = False) -> str:
    """Return the classes of a thing: a colour, and how full it is, so that nobody needs the colour.

    >>> look_of(0), look_of(0, yardstick=True), look_of(1, yardstick=True)
    ('tone-1 full', 'yardstick hollow', 'tone-1 full')
    """
    if yardstick and place == 0:
        return "yardstick hollow"
    return f"tone-{(place - yardstick) % TONES + 1} {FILLS[(place - yardstick) % len(FILLS)]}"


def box_key(look: str) -> str:
    """Return the mark of a legend for things of one look."""
    return f'<rect class="{look}" x="{(KEY_WIDTH - 16) / 2:g}" y="2" width="16" height="{KEY_HEIGHT - 4}"/>'


def said(values: Sequence[float], names: Sequence[str]) -> str:
    """Return values in words for those who cannot see a picture: each, or where the least and the largest stand.

    >>> said([1.0, 2.5], ["a", "b"]), said(list(range(9)), "abcdefghi")
    ('a 1, b 2.5', 'from 0 at a to 8 at i')
    """
    if len(values) <= 6:
        return ", ".join(f"{name} {short(value)}" for name, value in zip(names, values, strict=True))
    low, high = min(values), max(values)
    place = dict(zip(values, names, strict=True))
    return f"from {short(low)} at {place[low]} to {short(high)} at {place[high]}"
