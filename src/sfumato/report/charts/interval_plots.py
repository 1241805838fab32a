"""Small plots of two values with intervals, for rows of a table.

Each sets two sides in one picture. Synthetic is filled, true is a line or a diamond, so that nobody needs the colours
to tell them apart. Colours come from the page's stylesheet by class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from markupsafe import Markup

from sfumato.report.charts.axis import Axis, Scale
from sfumato.report.charts.plane import NARROW, Plane
from sfumato.report.charts.svg import diamond, dot, svg

WIDTH, SIDE = 230, 8


def axis_ends(values: Sequence[float], from_zero: bool) -> tuple[float, float]:
    """Return the ends of an axis that holds all values."""
    known = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = min(known), max(known)
    if from_zero and low >= 0:
        return 0.0, 1.05 * high or 1.0
    room = 0.08 * (high - low) or 0.05
    return low - room, high + room


def interval_plot(
    released: Sequence[float],
    true: Sequence[float],
    ends: tuple[float, float],
    words: str,
    others: Sequence[float] = (),
) -> Markup:
    """Return two values with their intervals, (low, value, high) each, one above the other on the same axis.

    Short upright lines stand at ``others``.
    """
    across = _across(ends)
    places = [[across(value) for value in side] for side in (released, true)]
    drawn = [
        f'<path class="axis" d="M{SIDE} 30H{WIDTH - SIDE}"/>',
        *(f'<path class="axis" d="M{across(value):.1f} 3v34"/>' for value in others),
        _whisker("dot", places[0], 13),
        dot(places[0][1], 13),
        _whisker("mark", places[1], 30),
        diamond(places[1][1], 30),
    ]
    return svg(WIDTH, 42, drawn, words, "slim")


def _across(ends: tuple[float, float]) -> Callable[[float], float]:
    """Return where a value stands; what is not known stands at the left end."""
    scale = Scale(*ends, SIDE, WIDTH - SIDE)
    return lambda value: scale.at(value if math.isfinite(value) and ends[1] > ends[0] else ends[0])


def _whisker(kind: str, places: Sequence[float], y: int) -> str:
    return f'<path class="{kind} whisker" d="M{places[0]:.1f} {y}H{places[2]:.1f}"/>'


def dumbbell_plot(
    true: float, released: float, ends: tuple[float, float], words: str, others: Sequence[float] = ()
) -> Markup:
    """Return a true and a synthetic value on one line, joined; short upright lines stand at ``others`` and at 0."""
    across = _across(ends)
    first, second = across(true), across(released)
    zero = [0.0] if ends[0] < 0 < ends[1] else []
    drawn = [
        f'<path class="axis" d="M{SIDE} 13H{WIDTH - SIDE}"/>',
        *(f'<path class="axis" d="M{across(value):.1f} 3v20"/>' for value in (*zero, *others)),
        f'<path class="join" d="M{first:.1f} 13H{second:.1f}"/>',
        dot(second, 13),
        diamond(first, 13),
    ]
    return svg(WIDTH, 26, drawn, words, "slim")


def scatter(points: Sequence[tuple[str, float, float]], words: str) -> Markup:
    """Return named pairs of a true and a synthetic value, both from -1 to 1: on the diagonal they agree."""
    lowest = min((min(true, released) for _, true, released in points), default=0.0)
    low = 0.0 if lowest >= 0 else -0.5 if lowest >= -0.5 else -1.0
    true, synthetic = (Axis(title, low, 1.0, places=(-1.0, -0.5, 0.0, 0.5, 1.0)) for title in ("true", "synthetic"))
    plane = Plane(true, synthetic, NARROW, NARROW)
    (left, floor), (right, top) = ((plane.across.at(end), plane.up.at(end)) for end in (low, 1.0))
    drawn = [
        *plane.frame(),
        f'<path class="axis" d="M{left:.1f} {plane.up.at(0):.1f}H{right:.1f}"/>',
        f'<path class="diagonal" d="M{left:.1f} {floor:.1f}L{right:.1f} {top:.1f}"/>',
        *(
            dot(plane.across.at(true), plane.up.at(released), f"{name}: true {true:.2f}, synthetic {released:.2f}")
            for name, true, released in points
        ),
    ]
    return plane.picture(drawn, words)
