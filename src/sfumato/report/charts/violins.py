"""Violins, one below another: the shape of a distribution over an axis that all share, and a line at each middle."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from sfumato.report.charts.drawing import picture, wide
from sfumato.report.charts.plane import BROAD, FOOT, TOP, Axis, Plane
from sfumato.report.charts.slots import said
from sfumato.report.charts.ticks import short

ROW = 32
THIN = 3.0
"""Half of the width of equal values: a thin bar."""


@dataclass(frozen=True)
class Violin:
    """The shape of a distribution: half its width, from 0 to 1, at each value, and where its middle is."""

    name: str
    at: Sequence[float]
    width: Sequence[float]
    middle: float
    tone: int = 0
    """Which colour of the stylesheet; 0 is the muted one."""


@dataclass(frozen=True)
class _Names(Axis):
    """An upright axis of names, the first at the top."""

    names: tuple[str, ...] = ()

    def ticks(self, letters: float = math.inf) -> list[tuple[float, str]]:
        """Return the middle of each row and its name."""
        return [(len(self.names) - place - 0.5, name) for place, name in enumerate(self.names)]


@dataclass(frozen=True)
class Violins:
    """Violins one below another; ``rules`` are upright lines with a word: what was printed, or is true."""

    items: Sequence[Violin]
    title: str
    rules: Sequence[tuple[str, float]] = ()
    logarithmic: bool = False

    def entries(self) -> Iterator[tuple[str, str]]:
        """Yield nothing: each violin has its name beside it."""
        yield from ()

    def spoken(self) -> str:
        """Return the middles in words."""
        middles = said([item.middle for item in self.items], [item.name for item in self.items])
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
        names = tuple(item.name for item in self.items)
        plane = Plane(across, _Names("", 0.0, float(len(names)), names=names), width, self.height)
        drawn = [
            *plane.frame(),
            *(_violin(item, len(names) - place - 0.5, plane, hints) for place, item in enumerate(self.items)),
            *(part for rule in self.rules for part in _rule(rule, plane)),
        ]
        return picture(width, self.height, drawn, words, "broad" if width >= BROAD else "slender")


def _violin(item: Violin, row: float, plane: Plane, hints: bool) -> str:
    y, x, half = plane.up.at(row), plane.across.at(item.middle), 0.46 * ROW
    told = f"middle {short(item.middle)}, from {short(min(item.at))} to {short(max(item.at))}"
    hint = f"<title>{escape(item.name)}: {told}</title>" if hints else ""
    look = f"tone-{item.tone}" if item.tone else "yardstick"
    return (
        f'<g>{hint}<path class="{look} half" d="{_outline(item, y, half, plane)}"/>'
        f'<path class="ink" d="M{x:.1f} {y - 0.6 * half:.1f}v{1.2 * half:.1f}"/></g>'
    )


def _outline(item: Violin, y: float, half: float, plane: Plane) -> str:
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
    half = plane.letter * wide(word) / 2
    return [
        f'<path class="rule dash-1" d="M{x:.1f} {TOP - 4}V{plane.height - FOOT}"/>',
        f'<text class="word" x="{min(max(x, half), plane.width - half):.1f}" y="{TOP - 9}">{escape(word)}</text>',
    ]
