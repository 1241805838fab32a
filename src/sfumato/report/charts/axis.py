"""Axes: linear, logarithmic and date scales with round ticks and labels."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from sfumato.formatting import format_number


@dataclass(frozen=True)
class Scale:
    """Values from ``low`` to ``high`` stand from ``start`` to ``end``; what lies beyond stands at the nearer end."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """Return the place of a value.

        >>> Scale(0, 10, 100, 200).at(2.5), Scale(1, 16, 0, 100, logarithmic=True).at(4), Scale(0, 1, 0, 9).at(7)
        (125.0, 50.0, 9.0)
        """
        low, high, at = (math.log(each) if self.logarithmic else each for each in (self.low, self.high, value))
        share = (at - low) / (high - low) if high > low else 0.5
        return self.start + (self.end - self.start) * min(max(share, 0.0), 1.0)


MOST = 5
MOST_LETTERS = 40
"""Letters that have room on an axis; where there are more, only its ends are written."""
FIRST_DAY = dt.date(1970, 1, 1)
YEARS = (1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000)
MONTHS = (1, 2, 3, 6)


def ticks(low: float, high: float, kind: str = "number") -> list[tuple[float, str]]:
    """Return at most a handful of round places from ``low`` to ``high`` and how each is written.

    >>> ticks(0, 87000)
    [(0.0, '0'), (20000.0, '20k'), (40000.0, '40k'), (60000.0, '60k'), (80000.0, '80k')]
    >>> ticks(0.0, 400.0, "date")
    [(0.0, '1970-01'), (90.0, '1970-04'), (181.0, '1970-07'), (273.0, '1970-10'), (365.0, '1971-01')]
    """
    if not high > low:
        return [(low, format_value(low, kind))]
    return _date_ticks(low, high) if kind == "date" else _number_ticks(low, high, kind)


def _number_ticks(low: float, high: float, kind: str) -> list[tuple[float, str]]:
    whole = kind == "integer"
    step = max(_step((high - low) / MOST, whole), 1.0 if whole else 0.0)
    first = math.ceil(low / step - 1e-9)
    places = [step * i for i in range(first, math.floor(high / step + 1e-9) + 1)]
    words = [short(place) for place in places]
    if len(set(words)) < len(words):
        words = [f"{place:,.10g}" for place in places]
    if sum(map(len, words)) > MOST_LETTERS:
        places, words = places[:: max(1, len(places) - 1)], words[:: max(1, len(words) - 1)]
    return list(zip(places, words, strict=True))


def _step(least: float, whole: bool = False) -> float:
    """Return the smallest of 1, 2, 2.5, 5, 10 times a power of ten that is not below ``least``."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(
        factor * power
        for factor in ((1, 2, 5, 10) if whole else (1, 2, 2.5, 5, 10))
        if factor * power >= least * (1 - 1e-9)
    )


def short(number: float) -> str:
    """Return a number for an axis.

    >>> [short(n) for n in (0.25, 1500, 20000, 2.5e6, -1e9)]
    ['0.25', '1500', '20k', '2.5M', '-1000M']
    """
    for factor, letter in ((1e6, "M"), (1e3, "k")):
        if abs(number) >= 10 * factor or (abs(number) >= factor and letter == "M"):
            return f"{number / factor:.4g}{letter}"
    return f"{round(number, 12):.4g}"


def _date_ticks(low: float, high: float) -> list[tuple[float, str]]:
    first, last = as_date(low), as_date(high)
    span = (high - low) / 365.25
    if span < 0.2:
        return [(low, first.isoformat()), (high, last.isoformat())]
    if span < MOST * MONTHS[-1] / 12:
        step = next(m for m in MONTHS if 12 * span / m <= MOST or m == MONTHS[-1])
        months = range(12 * first.year + first.month - 1, 12 * last.year + last.month)
        days = [dt.date(m // 12, m % 12 + 1, 1) for m in months if m % step == 0]
        written_as = "%Y-%m"
    else:
        step = next((y for y in YEARS if span / y <= MOST), YEARS[-1])
        days = [dt.date(y, 1, 1) for y in range(first.year, last.year + 1) if y % step == 0]
        written_as = "%Y"
    places = [(float((day - FIRST_DAY).days), day.strftime(written_as)) for day in days]
    return [(place, word) for place, word in places if low <= place <= high]


def as_date(days: float) -> dt.date:
    """Return the day so many days after 1970-01-01, kept within what a calendar can say."""
    latest = (dt.date.max - FIRST_DAY).days
    earliest = (dt.date.min - FIRST_DAY).days
    return FIRST_DAY + dt.timedelta(days=min(max(round(days), earliest), latest))


def format_value(value: float, kind: str) -> str:
    """Return a value of a column in words: a date as such, a number with three digits or whole, a year without comma.

    >>> (
    ...     format_value(365.2, "date"),
    ...     format_value(45233.7, "number"),
    ...     format_value(0.12345, "number"),
    ...     format_value(2008.4, "integer"),
    ... )
    ('1971-01-01', '45,234', '0.123', '2008')
    """
    if not math.isfinite(value):
        return "none"
    if kind == "date":
        return as_date(value).isoformat()
    return f"{value:.0f}" if 1000 <= abs(value) < 10_000 else format_number(value)


def bin_labels(edges: Sequence[float], kind: str) -> list[str]:
    """Return each cell of an axis in words: first to last value where they are whole.

    >>> (
    ...     bin_labels((-0.5, 0.5, 1.5, 2.5), "integer"),
    ...     bin_labels((0.5, 3.5, 6.5), "integer"),
    ...     bin_labels((0, 1.5, 3), "number"),
    ... )
    (['0', '1', '2'], ['1 to 3', '4 to 6'], ['0 to 1.5', '1.5 to 3'])
    """
    whole = kind in ("integer", "date")
    cells = [(math.ceil(low), math.ceil(high) - 1) if whole else (low, high) for low, high in pairwise(edges)]
    words = [(format_value(low, kind), format_value(max(low, high), kind)) for low, high in cells]
    return [low if low == high else f"{low} to {high}" for low, high in words]


def open_bin_labels(words: Sequence[str], edges: Sequence[float], kind: str) -> list[str]:
    """Return the words of cells whose outermost ones hold everything beyond them.

    >>> open_bin_labels(["1 to 3", "4 to 6", "7 to 9"], (0.5, 3.5, 6.5, 9.5), "integer")
    ['3 or less', '4 to 6', '7 or more']
    """
    if len(words) < 2:
        return list(words)
    whole = kind in ("integer", "date")
    low, high = (math.ceil(edges[1]) - 1, math.ceil(edges[-2])) if whole else (edges[1], edges[-2])
    return [f"{format_value(low, kind)} or less", *words[1:-1], f"{format_value(high, kind)} or more"]


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
    kind: str = "number"
    """Of its values: number, integer or date."""

    def spanning(self, values: Iterable[float], from_zero: bool = False) -> Axis:
        """Return the axis with both ends: those that were set, or the ones that hold the values.

        >>> Axis("share").spanning([0.1, 0.8], from_zero=True)
        Axis(title='share', low=0.0, high=0.835, logarithmic=False, percent=False, places=None, kind='number')
        """
        known = sorted(value for value in values if math.isfinite(value) and (value > 0 or not self.logarithmic))
        least, most = (known[0], known[-1]) if known else (1.0, 1.0)
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
        return ticks(low, high, self.kind)


def _factor_ticks(low: float, high: float, letters: float) -> list[tuple[float, str]]:
    """Return the most places of an axis of equal factors that have room."""
    kept: list[tuple[float, str]] = []
    for steps in STEPS:
        powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
        places = [step * 10.0**power for power in powers for step in steps]
        kept = [(place, _plain(place)) for place in places if low * 0.9999 <= place <= high * 1.0001]
        if len(kept) >= 2 and sum(len(word) + 2 for _, word in kept) <= letters:
            return kept
    return kept if len(kept) >= 2 else [(low, _plain(low)), (high, _plain(high))]


def _plain(number: float) -> str:
    return f"{number:.4g}" if PLAIN[0] <= abs(number) < PLAIN[1] else short(number)
