"""Boxes side by side: where half of the values lie, where nine tenths do, and the median."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from markupsafe import Markup, escape

from sfumato.report.charts.plane import Axis
from sfumato.report.charts.slots import Slots, box_key, look_of, said
from sfumato.report.charts.ticks import short

SHARES = ("5 %", "25 %", "median", "75 %", "95 %")


@dataclass(frozen=True)
class Box:
    """A box: 5, 25, 50, 75 and 95 % of something."""

    place: str
    name: str
    quantiles: tuple[float, float, float, float, float]


@dataclass(frozen=True)
class Boxes:
    """Boxes (25 to 75 %) with whiskers (5 to 95 %) and a line at the median, side by side by name.

    ``top`` is where the upright axis ends, if not at the largest value.
    """

    items: Sequence[Box]
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
            yield box_key(look_of(part)), name

    def picture(self, words: str, width: int, height: int, hints: bool = True) -> Markup:
        """Return the SVG alone."""
        ends = [0.0, *(box.quantiles[-1] for box in self.items)]
        axis = Axis(self.y, high=self.top).spanning(ends, from_zero=True)
        slots = Slots(self._places, len(self._names), self.x, axis, width, height)
        return slots.picture([self._box(box, slots, hints) for box in self.items], words)

    def _box(self, box: Box, slots: Slots, hints: bool) -> str:
        """Return one box with its numbers for the pointer; what lies above the axis ends at its end."""
        part, wide = self._names.index(box.name), slots.thing
        start = slots.start(self._places.index(box.place), part) + 0.1 * wide
        ends = [slots.plane.up.at(value) for value in box.quantiles]
        look = look_of(part)
        return (
            f'<g>{_hint(box) if hints else ""}<path class="stroke {look.split()[0]}" '
            f'd="M{start + 0.4 * wide:.1f} {ends[0]:.1f}V{ends[4]:.1f}"/>'
            f'<rect class="{look} opaque" x="{start:.1f}" y="{ends[3]:.1f}" width="{0.8 * wide:.1f}" '
            f'height="{ends[1] - ends[3]:.1f}"/><path class="ink" d="M{start:.1f} {ends[2]:.1f}h{0.8 * wide:.1f}"/></g>'
        )

    def spoken(self) -> str:
        """Return the medians in words."""
        by_name = {name: [box for box in self.items if box.name == name] for name in self._names}
        medians = [
            f"{name}: {said([box.quantiles[2] for box in found], [box.place for box in found])}"
            for name, found in by_name.items()
        ]
        return f"Medians by {self.x}: {'; '.join(medians)}."


def _hint(box: Box) -> str:
    told = ", ".join(f"{share} {short(value)}" for share, value in zip(SHARES, box.quantiles, strict=True))
    return f"<title>{escape(box.name)}, {escape(box.place)}: {told}</title>"
