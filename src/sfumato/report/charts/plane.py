"""The plane that every chart draws on: two axes, a grid, margins sized to the labels.

The title of the upright axis stands above it, not turned. Words are measured, and ticks that have no room stay away.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from markupsafe import escape

from sfumato.report.charts.axis import Scale, short, ticks
from sfumato.report.charts.svg import LETTER, text_width

NARROW, WIDE = 320, 720
"""Units that a picture is wide: for a phone or a panel, and for a page."""
TOP, FOOT, LEFT, RIGHT = 26, 42, 44, 14
AIR = 0.05
"""Share of the range that stays free above the highest point."""
NEAR_ZERO = 0.35
"""An axis starts at 0 where its lowest value is at most this share of its highest."""
STEPS = ((1, 2, 5), (1, 3), (1,))
"""Places of an axis of equal factors within each power of ten, the most first."""
PLAIN = (1e-4, 1e4)
"""Between these, a number on an axis of equal factors is written out."""


@dataclass(frozen=True)
class Axis:
    """What an axis says: its title, its ends where they are set, and where its ticks stand if not at round places."""

    title: str
    low: float | None = None
    high: float | None = None
    logarithmic: bool = False
    percent: bool = False
    places: Sequence[float] | None = None

    def spanning(self, values: Iterable[float], from_zero: bool = False) -> Axis:
        """Return the axis with both ends: those that were set, or the ones that hold the values.

        >>> Axis("share").spanning([0.1, 0.8], from_zero=True)
        Axis(title='share', low=0.0, high=0.835, logarithmic=False, percent=False, places=None)
        """
        found = sorted(value for value in values if math.isfinite(value) and (value > 0 or not self.logarithmic))
        least, most = (found[0], found[-1]) if found else (1.0, 1.0)
        low, high = self._around(least, most, from_zero)
        return replace(self, low=low if self.low is None else self.low, high=high if self.high is None else self.high)

    def _around(self, low: float, high: float, from_zero: bool) -> tuple[float, float]:
        if self.logarithmic:
            return (low, high) if low < high else (low / 2, high * 2)
        if not from_zero:
            return (low, high) if low < high else (low - 0.5, high + 0.5)
        air = AIR * (high - low) or 0.5 * abs(high) or 1.0
        top = min(high + air, 1.0) if self.percent and high <= 1 else high + air
        if 0 <= low <= NEAR_ZERO * high:
            return 0.0, round(top, 12)
        return (max(low - air, 0.0) if low >= 0 else low - air), top

    def ends(self) -> tuple[float, float]:
        """Return both ends of an axis that has them."""
        return (0.0 if self.low is None else self.low, 1.0 if self.high is None else self.high)

    def say(self, value: float) -> str:
        """Return a value of the axis in words.

        >>> Axis("risk", percent=True).say(0.1234), Axis("epsilon").say(0.1)
        ('12.3 %', '0.1')
        """
        return f"{100 * value:.3g} %" if self.percent else f"{value:.4g}"

    def ticks(self, letters: float = math.inf) -> list[tuple[float, str]]:
        """Return places and their words; ``letters`` is how many of them have room side by side."""
        low, high = self.ends()
        if self.places is not None:
            return [(place, _plain(place)) for place in self.places if low <= place <= high]
        if self.logarithmic:
            return _factor_ticks(low, high, letters)
        if self.percent:
            return [(place / 100, f"{word}%") for place, word in ticks(100 * low, 100 * high)]
        return ticks(low, high)


def _factor_ticks(low: float, high: float, letters: float) -> list[tuple[float, str]]:
    """Return the most places of an axis of equal factors that have room."""
    found: list[tuple[float, str]] = []
    for steps in STEPS:
        powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
        places = [step * 10.0**power for power in powers for step in steps]
        found = [(place, _plain(place)) for place in places if low * 0.9999 <= place <= high * 1.0001]
        if len(found) >= 2 and sum(len(word) + 2 for _, word in found) <= letters:
            return found
    return found if len(found) >= 2 else [(low, _plain(low)), (high, _plain(high))]


def _plain(number: float) -> str:
    return f"{number:.4g}" if PLAIN[0] <= abs(number) < PLAIN[1] else short(number)


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
        """Width of a letter: broad pictures have larger ones."""
        return LETTER * (12 / 11 if self.width >= WIDE else 1.0)

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
