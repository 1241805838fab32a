"""Small plots of two values with intervals, for rows of a table.

Each sets two sides in one picture. Synthetic is filled, true is a line or a diamond, so that nobody needs the colours
to tell them apart. Colours come from the page's stylesheet by class.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup, escape

from sfumato.report.charts.svg import diamond, dot, svg

SIDE = 8


def interval_plot(
    made: Sequence[float], true: Sequence[float], ends: tuple[float, float], words: str, others: Sequence[float] = ()
) -> Markup:
    """Return two values with their intervals, (low, value, high) each, one above the other on the same axis.

    Short upright lines stand at ``others``.
    """
    places = [[_between(value, ends, 230) for value in side] for side in (made, true)]
    drawn = [
        f'<path class="axis" d="M{SIDE} 30H222"/>',
        *(f'<path class="axis" d="M{_between(value, ends, 230):.1f} 3v34"/>' for value in others),
        _whisker("dot", places[0], 13),
        dot(places[0][1], 13),
        _whisker("mark", places[1], 30),
        diamond(places[1][1], 30),
    ]
    return svg(230, 42, drawn, words, "slim")


def _whisker(kind: str, places: Sequence[float], y: int) -> str:
    return f'<path class="{kind} whisker" d="M{places[0]:.1f} {y}H{places[2]:.1f}"/>'


def _between(value: float, ends: tuple[float, float], width: int) -> float:
    low, high = ends
    share = (value - low) / (high - low) if high > low and math.isfinite(value) else 0.0
    return SIDE + (width - 2 * SIDE) * min(max(share, 0.0), 1.0)


def dumbbell_plot(
    true: float, made: float, ends: tuple[float, float], words: str, others: Sequence[float] = ()
) -> Markup:
    """Return a true and a synthetic value on one line, joined; short upright lines stand at ``others`` and at 0."""
    first, second = (_between(value, ends, 230) for value in (true, made))
    zero = [0.0] if ends[0] < 0 < ends[1] else []
    drawn = [
        f'<path class="axis" d="M{SIDE} 13H222"/>',
        *(f'<path class="axis" d="M{_between(value, ends, 230):.1f} 3v20"/>' for value in (*zero, *others)),
        f'<path class="join" d="M{first:.1f} 13H{second:.1f}"/>',
        dot(second, 13),
        diamond(first, 13),
    ]
    return svg(230, 26, drawn, words, "slim")


def scatter(points: Sequence[tuple[str, float, float]], words: str) -> Markup:
    """Return named pairs of a true and a synthetic value, both from -1 to 1: on the diagonal they agree."""
    lowest = min((min(true, made) for _, true, made in points), default=0.0)
    low = 0.0 if lowest >= 0 else -0.5 if lowest >= -0.5 else -1.0
    size, foot = 300, 26

    def across(value: float) -> float:
        return foot + (size - foot - 6) * (min(max(value, low), 1.0) - low) / (1.0 - low)

    def up(value: float) -> float:
        return size - across(value)

    marks = [mark for mark in (-1.0, -0.5, 0.0, 0.5, 1.0) if mark >= low]
    drawn = [
        f'<path class="line" d="M{across(low):g} {up(low):g}V{up(1):g}M{across(low):g} {up(low):g}H{across(1):g}"/>',
        f'<path class="axis" d="M{across(low):g} {up(0):g}H{across(1):g}"/>',
        f'<path class="diagonal" d="M{across(low):g} {up(low):g}L{across(1):g} {up(1):g}"/>',
        *(f'<text class="word" x="{across(m):.1f}" y="{size - foot + 16}">{m:g}</text>' for m in marks),
        *(f'<text class="word end" x="{foot - 5}" y="{up(m) + 4:.1f}">{m:g}</text>' for m in marks),
        f'<text class="word" x="{across((1 + low) / 2):.1f}" y="{size + 10}">true</text>',
        f'<text class="word start" x="{foot + 5}" y="{up(1) + 4:.1f}">synthetic</text>',
        *(
            f'<circle class="dot" cx="{across(true):.1f}" cy="{up(made):.1f}" r="4"><title>{escape(name)}: '
            f"true {true:.2f}, synthetic {made:.2f}</title></circle>"
            for name, true, made in points
        ),
    ]
    return svg(size, size + 14, drawn, words)
