"""Bars side by side: one series or several over the same places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from sfumato.report.charts.plane import Axis
from sfumato.report.charts.slots import Slots, box_key, look_of, said
from sfumato.report.charts.ticks import short


@dataclass(frozen=True)
class Heights:
    """The bars of one name, one for each place."""

    name: str
    values: Sequence[float]


@dataclass(frozen=True)
class Bars:
    """Bars over named places, with the titles of both axes.

    With a yardstick, the first of several series is what the others are held against: an outline without a fill.
    """

    places: Sequence[str]
    series: Sequence[Heights]
    x: str
    y: str
    yardstick: bool = False

    @property
    def _has_yardstick(self) -> bool:
        return self.yardstick and len(self.series) > 1

    def entries(self) -> Iterator[tuple[str, str]]:
        """Yield the look and the name of each series."""
        for part, each in enumerate(self.series):
            yield box_key(look_of(part, self._has_yardstick)), each.name

    def picture(self, words: str, width: int, height: int, hints: bool = True) -> Markup:
        """Return the SVG alone."""
        values = [0.0, *(value for each in self.series for value in each.values)]
        slots = Slots(
            self.places, len(self.series), self.x, Axis(self.y).spanning(values, from_zero=True), width, height
        )
        things = [bar for part, each in enumerate(self.series) for bar in self._bars(each, part, slots, hints)]
        return slots.picture(things, words)

    def _bars(self, each: Heights, part: int, slots: Slots, hints: bool) -> list[str]:
        look, wide, zero = look_of(part, self._has_yardstick), slots.thing, slots.plane.up.at(0.0)
        ends = [(place, slots.start(place, part), slots.plane.up.at(value)) for place, value in enumerate(each.values)]
        return [
            f'<rect class="{look}" x="{start + 0.06 * wide:.1f}" y="{min(zero, end):.1f}" width="{0.88 * wide:.1f}" '
            f'height="{abs(zero - end):.1f}">{self._hint(each, place) if hints else ""}</rect>'
            for place, start, end in ends
        ]

    def _hint(self, each: Heights, place: int) -> str:
        return f"<title>{escape(each.name)}, {escape(self.places[place])}: {short(each.values[place])}</title>"

    def spoken(self) -> str:
        """Return the numbers in words."""
        return f"{'; '.join(f'{each.name}: {said(each.values, self.places)}' for each in self.series)}."
