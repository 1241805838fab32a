"""A number by the levels of another column: for each level where the middle half and nine tenths of its rows lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from sfumato.report.charts.axis import Scale, format_value
from sfumato.report.charts.heatmap import LETTER, LONGEST, RIGHT, TITLE, WIDTH, HeatmapAxis, across_ticks
from sfumato.report.charts.svg import svg, text_width, truncate

LEVEL_ROW, FOOT = 24, 40


@dataclass(frozen=True)
class LevelSpread:
    """One level: 5, 25, 50, 75 and 95 per cent of its rows lie below these values."""

    label: str
    values: tuple[float, float, float, float, float]


def box_figure(spreads: Sequence[LevelSpread], number: HeatmapAxis, levels: str, words: str) -> Markup:
    """Return a line from 5 to 95 per cent, a box around the middle half and a mark at the median of each level."""
    left = min(LONGEST, max((text_width(each.label) for each in spreads), default=1)) * LETTER + 12
    scale = Scale(number.edges[0], number.edges[-1], left, WIDTH - RIGHT)
    floor = TITLE + LEVEL_ROW * len(spreads) + 4
    drawn = [
        f'<text class="word start name" x="0" y="13">{truncate(levels, 52)}</text>',
        f'<path class="line" d="M{left:.1f} {floor}H{WIDTH - RIGHT}"/>',
        *(
            _row(each, scale, TITLE + LEVEL_ROW * (place + 0.5), left, number.kind)
            for place, each in enumerate(spreads)
        ),
        *across_ticks(number, left, WIDTH - RIGHT - left, floor),
        f'<text class="word name" x="{(left + WIDTH - RIGHT) / 2:.1f}" y="{floor + 35:.1f}">'
        f"{truncate(number.name, int((WIDTH - RIGHT - left) / LETTER))}</text>",
    ]
    return svg(WIDTH, floor + FOOT, drawn, words, "map")


def _row(each: LevelSpread, scale: Scale, y: float, left: float, kind: str) -> str:
    low, first, middle, third, high = (scale.at(value) for value in each.values)
    title = f"<title>{escape(each.label)}: median {format_value(each.values[2], kind)}</title>"
    return (
        f'<text class="word end" x="{left - 6:.1f}" y="{y + 4:.1f}">{truncate(each.label, LONGEST)}</text>'
        f'<path class="axis" d="M{low:.1f} {y:.1f}H{high:.1f}"/>'
        f'<rect class="box" x="{first:.1f}" y="{y - 7:.1f}" width="{max(third - first, 1.0):.1f}" height="14">'
        f'{title}</rect><path class="middle" d="M{middle:.1f} {y - 9:.1f}v18"/>'
    )
