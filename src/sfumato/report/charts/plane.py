"""The plane that every chart draws on, and what every chart has: a legend, a text alternative, two widths.

The title of the upright axis stands above it, not turned. Words are measured, and ticks that have no room stay away.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from markupsafe import Markup, escape

from sfumato.report.charts.axis import Axis, Scale
from sfumato.report.charts.svg import LETTER, svg, text_width

NARROW, CARD, WIDE = 320, 400, 720
"""Units that a picture is wide: for a phone or a panel, for a card, and for a page."""
TOP, FOOT, LEFT, RIGHT = 26, 42, 44, 14
FLAT = 0.8
"""Height of the picture for a phone, as a share of the other."""
KEY_WIDTH, KEY_HEIGHT = 34, 14
Entries = Iterable[tuple[str, str]]
"""Entries of a legend: a mark drawn in KEY_WIDTH x KEY_HEIGHT, and its name."""


@dataclass(frozen=True)
class Plane:
    """Two axes in a picture of some size."""

    x: Axis
    y: Axis
    width: int
    height: int
    shift: float = 0.0
    """How far to the right everything but the axes stands."""

    @property
    def letter(self) -> float:
        """Width of a letter: pictures of cards and pages have larger ones."""
        return LETTER * (12 / 11 if self.width >= WIDE or self.width == CARD else 1.0)

    @cached_property
    def left(self) -> float:
        """Where the plot starts: as far in as the words of the upright axis need, and alike where they are short."""
        return max(LEFT, self.letter * max((text_width(word) for _, word in self.y.ticks()), default=0) + 9)

    @cached_property
    def across(self) -> Scale:
        """Places from left to right."""
        return Scale(*self.x.ends(), self.left + self.shift, self.width - RIGHT + self.shift, self.x.logarithmic)

    @cached_property
    def up(self) -> Scale:
        """Places from floor to top."""
        return Scale(*self.y.ends(), self.height - FOOT, TOP, self.y.logarithmic)

    def picture(self, drawn: Sequence[str], words: str) -> Markup:
        """Return what stands on the plane as a picture with its text alternative."""
        kind = "broad" if self.width >= WIDE else "map" if self.width == CARD else "slender"
        return svg(self.width, self.height, drawn, words, kind)

    def frame(self) -> list[str]:
        """Return grid, ticks and titles."""
        floor, end = self.height - FOOT, self.width - RIGHT
        middle = (self.left + end) / 2
        return [
            *(self._level(place, word) for place, word in self.y.ticks()),
            f'<path class="axis" d="M{self.left:.1f} {floor}H{end}"/>',
            *(self._tick(place, word) for place, word in self._apart()),
            f'<text class="word start" x="2" y="12">{escape(self.y.title)}</text>',
            f'<text class="word" x="{middle:.1f}" y="{self.height - 6}">{escape(self.x.title)}</text>',
        ]

    def _level(self, value: float, word: str) -> str:
        y = self.up.at(value)
        line = f'<path class="line" d="M{self.left:.1f} {y:.1f}H{self.width - RIGHT}"/>'
        return f'{line}<text class="word end" x="{self.left - 6:.1f}" y="{y + 4:.1f}">{escape(word)}</text>'

    def _tick(self, value: float, word: str) -> str:
        x, floor = self.across.at(value), self.height - FOOT
        text = f'<text class="word" x="{self._inside(x, word):.1f}" y="{floor + 18}">{escape(word)}</text>'
        return f'<path class="axis" d="M{x:.1f} {floor}v4"/>{text}'

    def _inside(self, x: float, word: str) -> float:
        half = self.letter * text_width(word) / 2 + 1
        return min(max(x, half), self.width - half)

    def _apart(self) -> list[tuple[float, str]]:
        """Return the ticks of the level axis without those that would touch the one before; the last one stays."""
        room = (self.width - RIGHT - self.left) / self.letter
        kept: list[tuple[float, str]] = []
        free = math.inf
        for place, word in reversed(self.x.ticks(room)):
            middle, half = self._inside(self.across.at(place), word), self.letter * text_width(word) / 2
            if middle + half + 4 <= free:
                kept.append((place, word))
                free = middle - half
        return kept[::-1]


class Figure(Protocol):
    """What can be drawn at any width and named in a legend."""

    def picture(self, words: str, width: int, height: int, hints: bool = True) -> Markup:
        """Return the SVG alone; with hints, things say their numbers when the pointer rests on them."""
        ...

    def spoken(self) -> str:
        """Return the main numbers in words, for those who cannot see the picture."""
        ...

    def entries(self) -> Entries:
        """Yield what stands in the legend."""
        ...


def figure_html(drawing: Figure, words: str, height: int, narrow: bool) -> Markup:
    """Return a chart with its legend; ``narrow`` ones stand in panels side by side and are drawn once."""
    small = drawing.picture(words, NARROW, height if narrow else round(FLAT * height), hints=narrow)
    large = Markup("") if narrow else drawing.picture(words, WIDE, height)
    kind = "chart drawn single" if narrow else "chart drawn"
    return Markup('<div class="{}">{}{}{}</div>').format(kind, legend(drawing.entries()), large, small)


def legend(entries: Entries) -> Markup:
    """Return the names with their marks as a list; a thing alone needs none."""
    listed = list(entries)
    if len(listed) < 2:
        return Markup("")
    item = (
        f'<li data-plain><svg class="key" viewBox="0 0 {KEY_WIDTH} {KEY_HEIGHT}" aria-hidden="true">{{}}</svg>{{}}</li>'
    )
    drawn = [Markup(item).format(Markup(mark), name) for mark, name in listed]  # noqa: S704  of numbers and classes
    return Markup('<ul class="legend">{}</ul>').format(Markup("").join(drawn))
