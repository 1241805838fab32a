"""Marks over named categories: bars, boxes and violins."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from markupsafe import Markup, escape

from sfumato.report.charts.axis import Axis, Scale, format_value, short
from sfumato.report.charts.plane import CARD, FOOT, KEY_HEIGHT, KEY_WIDTH, TOP, Plane
from sfumato.report.charts.svg import text_width, truncate

LINE = 15
"""Height of a line of names."""
WIDEST = 48.0
"""Units that one thing is wide at most."""
TONES = 4
FILLS = ("full", "half", "light")
ROW, BOX_ROW = 32, 24
"""Heights of the rows of violins and of boxes."""
THIN = 3.0
"""Half of the width of equal values: a thin bar."""


@dataclass(frozen=True)
class CategoryAxis:
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
        widths = [self._letter * text_width(name) for name in self.names[every - 1 :: every]]
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
        return replace(plane, height=self.height).picture(drawn, words)

    def _names(self, floor: int) -> list[str]:
        count, lines = len(self.names), self._lines
        every = 1 if lines == 2 else next(n for n in (1, 2, 5, 10, 20, 50, 100, count) if self._fit(n) or n == count)
        most = math.floor((max(lines, every) * self._step - 4) / self._letter)
        return [
            f'<text class="word" x="{self._inside(place, most):.1f}" y="{floor + 17 + LINE * (place % lines)}">'
            f"{truncate(self.names[place], most)}</text>"
            for place in range(every - 1, count, every)
        ]

    def _inside(self, place: int, most: int) -> float:
        """Return the middle of a name: that of its place, but never so far right that the name is cut."""
        half = self._letter * min(text_width(self.names[place]), most) / 2
        return min(self.plane.across.at(place + 0.5), self.width - half)


def _is_number(name: str) -> bool:
    return name.replace(",", "").replace(".", "", 1).removeprefix("-").isdigit()


def style_of(place: int, yardstick: bool = False) -> str:
    """Return the classes of a thing: a colour, and how full it is, so that nobody needs the colour.

    >>> style_of(0), style_of(0, yardstick=True), style_of(1, yardstick=True)
    ('tone-1 full', 'yardstick hollow', 'tone-1 full')
    """
    if yardstick and place == 0:
        return "yardstick hollow"
    return f"tone-{(place - yardstick) % TONES + 1} {FILLS[(place - yardstick) % len(FILLS)]}"


def legend_box(look: str) -> str:
    """Return the mark of a legend for things of one look."""
    return f'<rect class="{look}" x="{(KEY_WIDTH - 16) / 2:g}" y="2" width="16" height="{KEY_HEIGHT - 4}"/>'


def describe_values(values: Sequence[float], names: Sequence[str]) -> str:
    """Return values in words for those who cannot see a picture: each, or where the least and the largest stand.

    >>> describe_values([1.0, 2.5], ["a", "b"]), describe_values(list(range(9)), "abcdefghi")
    ('a 1, b 2.5', 'from 0 at a to 8 at i')
    """
    if len(values) <= 6:
        return ", ".join(f"{name} {short(value)}" for name, value in zip(names, values, strict=True))
    low, high = min(values), max(values)
    place = dict(zip(values, names, strict=True))
    return f"from {short(low)} at {place[low]} to {short(high)} at {place[high]}"


@dataclass(frozen=True)
class BarSeries:
    """The bars of one name, one for each place."""

    name: str
    values: Sequence[float]


@dataclass(frozen=True)
class Bars:
    """Bars over named places, with the titles of both axes.

    With a yardstick, the first of several series is what the others are held against: an outline without a fill.
    """

    places: Sequence[str]
    series: Sequence[BarSeries]
    x: str
    y: str
    yardstick: bool = False

    @property
    def _has_yardstick(self) -> bool:
        return self.yardstick and len(self.series) > 1

    def entries(self) -> Iterator[tuple[str, str]]:
        """Yield the look and the name of each series."""
        for part, each in enumerate(self.series):
            yield legend_box(style_of(part, self._has_yardstick)), each.name

    def picture(self, words: str, width: int, height: int, hints: bool = True) -> Markup:
        """Return the SVG alone."""
        values = [0.0, *(value for each in self.series for value in each.values)]
        slots = CategoryAxis(
            self.places, len(self.series), self.x, Axis(self.y).spanning(values, from_zero=True), width, height
        )
        things = [bar for part, each in enumerate(self.series) for bar in self._bars(each, part, slots, hints)]
        return slots.picture(things, words)

    def _bars(self, each: BarSeries, part: int, slots: CategoryAxis, hints: bool) -> list[str]:
        look, wide, zero = style_of(part, self._has_yardstick), slots.thing, slots.plane.up.at(0.0)
        ends = [(place, slots.start(place, part), slots.plane.up.at(value)) for place, value in enumerate(each.values)]
        return [
            f'<rect class="{look}" x="{start + 0.06 * wide:.1f}" y="{min(zero, end):.1f}" width="{0.88 * wide:.1f}" '
            f'height="{abs(zero - end):.1f}">{self._hint(each, place) if hints else ""}</rect>'
            for place, start, end in ends
        ]

    def _hint(self, each: BarSeries, place: int) -> str:
        return f"<title>{escape(each.name)}, {escape(self.places[place])}: {short(each.values[place])}</title>"

    def spoken(self) -> str:
        """Return the numbers in words."""
        return f"{'; '.join(f'{each.name}: {describe_values(each.values, self.places)}' for each in self.series)}."


SHARES = ("5 %", "25 %", "median", "75 %", "95 %")


@dataclass(frozen=True)
class BoxMark:
    """A box: 5, 25, 50, 75 and 95 % of something."""

    place: str
    name: str
    quantiles: tuple[float, float, float, float, float]

    def hint(self) -> str:
        """Return its numbers for the pointer."""
        words = ", ".join(f"{share} {short(value)}" for share, value in zip(SHARES, self.quantiles, strict=True))
        return f"<title>{escape(self.name)}, {escape(self.place)}: {words}</title>"

    def draw(self, along: Scale, middle: float, thick: float, look: str, hint: str, upright: bool) -> str:
        """Return whiskers from 5 to 95 %, a box around the middle half, and a line at the median.

        What lies beyond the axis ends at its end. An upright box stands at ``middle`` from the left, another one lies
        at ``middle`` from the top.
        """
        low, first, median, third, high = (along.at(value) for value in self.quantiles)
        near, far, edge = min(first, third), max(abs(third - first), 1.0), middle - thick / 2
        if upright:
            whisker, line = f"M{middle:.1f} {low:.1f}V{high:.1f}", f"M{edge:.1f} {median:.1f}h{thick:.1f}"
            box = f'x="{edge:.1f}" y="{near:.1f}" width="{thick:.1f}" height="{far:.1f}"'
        else:
            whisker, line = f"M{low:.1f} {middle:.1f}H{high:.1f}", f"M{median:.1f} {edge:.1f}v{thick:.1f}"
            box = f'x="{near:.1f}" y="{edge:.1f}" width="{far:.1f}" height="{thick:.1f}"'
        stroke = f'<path class="stroke {look.split()[0]}" d="{whisker}"/>'
        return f'<g>{hint}{stroke}<rect class="{look} opaque" {box}/><path class="ink" d="{line}"/></g>'


@dataclass(frozen=True)
class Boxes:
    """Boxes (25 to 75 %) with whiskers (5 to 95 %) and a line at the median, side by side by name.

    ``top`` is where the upright axis ends, if not at the largest value.
    """

    items: Sequence[BoxMark]
    x: str
    y: str
    top: float | None = None

    @cached_property
    def _places(self) -> list[str]:
        return list(dict.fromkeys(box.place for box in self.items))

    @cached_property
    def _names(self) -> list[str]:
        return list(dict.fromkeys(box.name for box in self.items))

    def entries(self) -> Iterator[tuple[str, str]]:
        """Yield the look and the name of each kind of box."""
        for part, name in enumerate(self._names):
            yield legend_box(style_of(part)), name

    def picture(self, words: str, width: int, height: int, hints: bool = True) -> Markup:
        """Return the SVG alone."""
        ends = [0.0, *(box.quantiles[-1] for box in self.items)]
        axis = Axis(self.y, high=self.top).spanning(ends, from_zero=True)
        slots = CategoryAxis(self._places, len(self._names), self.x, axis, width, height)
        return slots.picture([self._box(box, slots, hints) for box in self.items], words)

    def _box(self, box: BoxMark, slots: CategoryAxis, hints: bool) -> str:
        part, wide = self._names.index(box.name), slots.thing
        middle = slots.start(self._places.index(box.place), part) + 0.5 * wide
        hint = box.hint() if hints else ""
        return box.draw(slots.plane.up, middle, 0.8 * wide, style_of(part), hint, upright=True)

    def spoken(self) -> str:
        """Return the medians in words."""
        by_name = {name: [box for box in self.items if box.name == name] for name in self._names}
        medians = [
            f"{name}: {describe_values([box.quantiles[2] for box in boxes], [box.place for box in boxes])}"
            for name, boxes in by_name.items()
        ]
        return f"Medians by {self.x}: {'; '.join(medians)}."


@dataclass(frozen=True)
class RowAxis(Axis):
    """An upright axis of names, the first at the top."""

    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, title: str, names: Sequence[str]) -> RowAxis:
        """Return the axis of some names, one row for each."""
        return cls(title, 0.0, float(len(names)), names=tuple(names))

    def ticks(self, letters: float = math.inf) -> list[tuple[float, str]]:
        """Return the middle of each row and its name."""
        return [(self.row(place), name) for place, name in enumerate(self.names)]

    def row(self, place: int) -> float:
        """Return the middle of a row."""
        return len(self.names) - place - 0.5


def box_rows(boxes: Sequence[BoxMark], number: Axis, rows: str, words: str) -> Markup:
    """Return one box below another on an axis of numbers or dates; ``rows`` is what the names at the side are."""
    names = RowAxis.of(rows, [box.place for box in boxes])
    height = TOP + BOX_ROW * len(boxes) + FOOT
    plane = Plane(number, names, CARD, height)
    drawn = [
        box.draw(plane.across, plane.up.at(names.row(place)), 14.0, "tone-1 half", hint, upright=False)
        for place, box in enumerate(boxes)
        for hint in [f"<title>{escape(box.place)}: median {format_value(box.quantiles[2], number.kind)}</title>"]
    ]
    return plane.picture([*plane.frame(), *drawn], words)


@dataclass(frozen=True)
class ViolinMark:
    """The shape of a distribution: half its width, from 0 to 1, at each value, and where its middle is."""

    name: str
    at: Sequence[float]
    width: Sequence[float]
    middle: float
    tone: int = 0
    """Which colour of the stylesheet; 0 is the muted one."""


@dataclass(frozen=True)
class Violins:
    """Violins one below another; ``rules`` are upright lines with a word: what was printed, or is true."""

    items: Sequence[ViolinMark]
    title: str
    rules: Sequence[tuple[str, float]] = ()
    logarithmic: bool = False

    def entries(self) -> Iterator[tuple[str, str]]:
        """Yield nothing: each violin has its name beside it."""
        yield from ()

    def spoken(self) -> str:
        """Return the middles in words."""
        middles = describe_values([item.middle for item in self.items], [item.name for item in self.items])
        return f"Middles: {middles}{''.join(f'; {word} {short(at)}' for word, at in self.rules)}."

    @property
    def height(self) -> int:
        """The height that the rows need."""
        return TOP + ROW * len(self.items) + FOOT

    def picture(self, words: str, width: int, height: int = 0, hints: bool = True) -> Markup:
        """Return the SVG alone; its height follows from the number of rows."""
        ends = [end for item in self.items for end in (min(item.at), max(item.at), item.middle)]
        ends += [at for _, at in self.rules]
        across = Axis(self.title, logarithmic=self.logarithmic).spanning(ends, from_zero=not self.logarithmic)
        names = RowAxis.of("", [item.name for item in self.items])
        plane = Plane(across, names, width, self.height)
        drawn = [
            *plane.frame(),
            *(_violin(item, names.row(place), plane, hints) for place, item in enumerate(self.items)),
            *(part for rule in self.rules for part in _rule(rule, plane)),
        ]
        return plane.picture(drawn, words)


def _violin(item: ViolinMark, row: float, plane: Plane, hints: bool) -> str:
    y, x, half = plane.up.at(row), plane.across.at(item.middle), 0.46 * ROW
    ends = f"from {short(min(item.at))} to {short(max(item.at))}"
    hint = f"<title>{escape(item.name)}: middle {short(item.middle)}, {ends}</title>" if hints else ""
    look = f"tone-{item.tone}" if item.tone else "yardstick"
    return (
        f'<g>{hint}<path class="{look} half" d="{_outline(item, y, half, plane)}"/>'
        f'<path class="ink" d="M{x:.1f} {y - 0.6 * half:.1f}v{1.2 * half:.1f}"/></g>'
    )


def _outline(item: ViolinMark, y: float, half: float, plane: Plane) -> str:
    """Return the shape, along one side and back on the other; equal values are a thin bar."""
    sides = [(plane.across.at(at), half * share) for at, share in zip(item.at, item.width, strict=True)]
    if len(sides) == 1:
        (x, rise) = sides[0]
        sides = [(x - THIN, rise), (x + THIN, rise)]
    there = "L".join(f"{x:.1f} {y - rise:.1f}" for x, rise in sides)
    back = "L".join(f"{x:.1f} {y + rise:.1f}" for x, rise in reversed(sides))
    return f"M{there}L{back}Z"


def _rule(rule: tuple[str, float], plane: Plane) -> list[str]:
    word, x = rule[0], plane.across.at(rule[1])
    half = plane.letter * text_width(word) / 2
    return [
        f'<path class="rule dash-1" d="M{x:.1f} {TOP - 4}V{plane.height - FOOT}"/>',
        f'<text class="word" x="{min(max(x, half), plane.width - half):.1f}" y="{TOP - 9}">{escape(word)}</text>',
    ]
