"""A number by the levels of another column: for each level where the middle half and nine tenths of its rows lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from sfumato.report.charts.drawing import picture, shortened, wide
from sfumato.report.charts.heat import LETTER, LONGEST, RIGHT, TITLE, WIDTH, Side, across_ticks
from sfumato.report.charts.scale import Scale
from sfumato.report.charts.ticks import written

ROW, FOOT = 24, 40


@dataclass(frozen=True)
class Spread:
    """One level: 5, 25, 50, 75 and 95 per cent of its rows lie below these values."""

    label: str
    values: tuple[float, float, float, float, float]


def by_level(spreads: Sequence[Spread], number: Side, levels: str, words: str) -> Markup:
    """Return a line from 5 to 95 per cent, a box around the middle half and a mark at the median of each level."""
    left = min(LONGEST, max((wide(each.label) for each in spreads), default=1)) * LETTER + 12
    scale = Scale(number.edges[0], number.edges[-1], left, WIDTH - RIGHT)
    floor = TITLE + ROW * len(spreads) + 4
    drawn = [
        f'<text class="word start name" x="0" y="13">{shortened(levels, 52)}</text>',
        f'<path class="line" d="M{left:.1f} {floor}H{WIDTH - RIGHT}"/>',
        *(_row(each, scale, TITLE + ROW * (place + 0.5), left, number.kind) for place, each in enumerate(spreads)),
        *across_ticks(number, left, WIDTH - RIGHT - left, floor),
        f'<text class="word name" x="{(left + WIDTH - RIGHT) / 2:.1f}" y="{floor + 35:.1f}">'
        f"{shortened(number.name, int((WIDTH - RIGHT - left) / LETTER))}</text>",
    ]
    return picture(WIDTH, floor + FOOT, drawn, words, "map")


def _row(each: Spread, scale: Scale, y: float, left: float, kind: str) -> str:
    low, first, middle, third, high = (scale.at(value) for value in each.values)
    title = f"<title>{escape(each.label)}: median {written(each.values[2], kind)}</title>"
    return (
        f'<text class="word end" x="{left - 6:.1f}" y="{y + 4:.1f}">{shortened(each.label, LONGEST)}</text>'
        f'<path class="axis" d="M{low:.1f} {y:.1f}H{high:.1f}"/>'
        f'<rect class="box" x="{first:.1f}" y="{y - 7:.1f}" width="{max(third - first, 1.0):.1f}" height="14">'
        f'{title}</rect><path class="middle" d="M{middle:.1f} {y - 9:.1f}v18"/>'
    )
