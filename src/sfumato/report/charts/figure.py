"""A figure: a plane, its marks, a legend and a text alternative, in two widths."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from markupsafe import Markup

from sfumato.report.charts.plane import NARROW, WIDE

FLAT = 0.8
"""Height of the picture for a phone, as a share of the other."""
KEY_WIDTH, KEY_HEIGHT = 34, 14
Entries = Iterable[tuple[str, str]]
"""Entries of a legend: a mark drawn in KEY_WIDTH x KEY_HEIGHT, and its name."""


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
