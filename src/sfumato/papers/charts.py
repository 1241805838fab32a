"""Charts of a reproduction: what was printed is a yardstick, and what was computed is held against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sfumato.report.charts import Axis, Line, Lines, Rule


@dataclass(frozen=True)
class Axes:
    """The two axes of lines: their titles, where the upright one begins (0 or below unless said) and where it ends."""

    x: str = "epsilon"
    y: str = "risk"
    top: float | None = 1.0
    bottom: float | None = None
    logarithmic: bool = True


RISK = Axes()
"""Risk against epsilon, from 0 to 1."""


def curves(
    items: Sequence[Line],
    axes: Axes = RISK,
    *,
    printed_first: bool = True,
    rules: Sequence[tuple[str, float]] = (),
) -> Lines:
    """Return lines, mostly against an axis of equal factors; the first name is a yardstick where it was printed.

    ``rules`` are horizontal lines with a word: floors, ceilings, targets. Faint lines stand behind their namesakes.
    """
    first = items[0].name if items and printed_first else None
    drawn = sorted((replace(item, yardstick=item.name == first) for item in items), key=lambda item: not item.faint)
    x = Axis(axes.x, logarithmic=axes.logarithmic)
    zero = 0.0 if min((height for item in items for height in item.y), default=0.0) >= 0 else None
    y = Axis(axes.y, low=zero if axes.bottom is None else axes.bottom, high=axes.top)
    return Lines(drawn, x, y, tuple(Rule(word, at) for word, at in rules))
