"""Heatmaps of two-way marginals, with real axes for numbers and dates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from markupsafe import Markup, escape

from sfumato.arrays import FloatArray
from sfumato.report.charts.axis import Scale, ticks
from sfumato.report.charts.svg import svg, text_width, truncate

WIDTH, RIGHT, TITLE, FOOT = 400, 10, 20, 40
LETTER = 7.2
"""Width of a letter here: type is a little larger than in small pictures."""
TALL = 230
LEVEL = 26
LONGEST = 18
LIKELY_BROAD = 270
"""Width that is left for the cells beside usual labels."""
SHADES = 8
MOST_WRITTEN = 144
"""Cells of a map whose values are written into them, where they have room."""
NARROWEST, TURN = 13, 45
"""Cells so broad have room for a name that is turned by so many degrees."""
PALE = 0.45
"""Strongest shade under words, which must stay legible."""


@dataclass(frozen=True)
class HeatmapAxis:
    """One axis: labels of levels, or edges of cells of numbers and dates."""

    name: str
    labels: tuple[str, ...] = ()
    edges: tuple[float, ...] = ()
    kind: str = "number"
    row: float = LEVEL
    """Height of a level."""

    @property
    def size(self) -> int:
        """How many cells it has."""
        return len(self.labels) or len(self.edges) - 1

    @property
    def rises(self) -> bool:
        """Whether it is drawn upward."""
        return bool(self.edges)


@dataclass(frozen=True)
class _HeatmapFrame:
    """Where the cells stand in the picture."""

    left: float
    high: float
    foot: float

    @classmethod
    def of(cls, down: HeatmapAxis, across: HeatmapAxis) -> _HeatmapFrame:
        left = _room(down)
        step = (WIDTH - RIGHT - left) / across.size
        longest = max(map(text_width, across.labels), default=0)
        turned = not across.rises and longest * LETTER > step - 4 and step >= NARROWEST
        extra = LETTER * min(longest, LONGEST) * math.sin(math.radians(TURN)) - 8 if turned else 0.0
        return cls(left, _tall(down), FOOT + extra)

    @property
    def broad(self) -> float:
        return WIDTH - RIGHT - self.left

    def across(self, side: HeatmapAxis) -> Scale:
        """Return where numbers or dates stand from left to right."""
        return Scale(side.edges[0], side.edges[-1], self.left, WIDTH - RIGHT)

    def up(self, side: HeatmapAxis) -> Scale:
        """Return where numbers or dates stand from the floor to the top."""
        return Scale(side.edges[0], side.edges[-1], TITLE + self.high, TITLE)


def fits_across(numbers: bool, labels: Sequence[str]) -> bool:
    """Whether an axis has room for its words below a map, without turning them.

    >>> fits_across(False, ("yes", "no")), fits_across(False, ("a rather long name",) * 5), fits_across(True, ())
    (True, False, True)
    """
    return numbers or max(map(text_width, labels), default=0) * LETTER <= LIKELY_BROAD / max(len(labels), 1) - 4


def heatmap(
    amounts: FloatArray,
    down: HeatmapAxis,
    across: HeatmapAxis,
    words: str,
    *,
    top: float | None = None,
    written: Sequence[Sequence[str]] | None = None,
    line: Sequence[tuple[float, float]] = (),
) -> Markup:
    """Return a map of amounts, one row for each cell of ``down``; ``top`` is the amount at full colour.

    ``written`` stands in the cells where it has room, and ``line`` joins places of both axes: a trend.
    """
    frame = _HeatmapFrame.of(down, across)
    upward = amounts[::-1] if down.rises else amounts
    has_words = written is not None and upward.size <= MOST_WRITTEN and _fits(written, frame, across.size)
    strongest = PALE if has_words else 1.0
    levels = np.ceil(SHADES * np.sqrt(upward.clip(0) / (top or float(upward.max(initial=0.0)) or 1.0)))
    scale = f"translate({frame.left:.1f} {TITLE}) scale({frame.broad / across.size:.4f} {frame.high / down.size:.4f})"
    runs = [
        f'<path fill-opacity="{strongest * n / SHADES:.3g}" d="{path}"/>' for n, path in _runs(levels.clip(0, SHADES))
    ]
    drawn = [
        f'<rect class="ground" x="{frame.left:.1f}" y="{TITLE}" width="{frame.broad:.1f}" height="{frame.high:.1f}"/>',
        f'<g class="shade" transform="{scale}">{"".join(runs)}</g>',
        *(_cells(written, frame, down, across) if has_words and written is not None else ()),
        *_trend(line, frame, down, across),
        *_down_words(down, frame),
        *_across_words(across, frame),
    ]
    return svg(WIDTH, math.ceil(TITLE + frame.high + frame.foot), drawn, words, "map")


def _room(side: HeatmapAxis) -> float:
    """Return the room that the words of an axis take at the left."""
    words = [word for _, word in ticks(side.edges[0], side.edges[-1], side.kind)] if side.rises else side.labels
    return min(LONGEST, max(map(text_width, words), default=1)) * LETTER + 10


def _tall(side: HeatmapAxis) -> float:
    return TALL if side.rises else min(max(side.row * side.size, 60.0), 2.0 * TALL)


def _fits(written: Sequence[Sequence[str]], frame: _HeatmapFrame, cells: int) -> bool:
    return max((text_width(word) for row in written for word in row), default=0) * LETTER <= frame.broad / cells - 2


def _cells(written: Sequence[Sequence[str]], frame: _HeatmapFrame, down: HeatmapAxis, across: HeatmapAxis) -> list[str]:
    step, rise = frame.broad / across.size, frame.high / down.size
    rows = written[::-1] if down.rises else written
    return [
        f'<text class="word cell" x="{frame.left + (i + 0.5) * step:.1f}" y="{TITLE + (j + 0.5) * rise + 4:.1f}">'
        f"{escape(word)}</text>"
        for j, row in enumerate(rows)
        for i, word in enumerate(row)
        if word
    ]


def _trend(
    line: Sequence[tuple[float, float]], frame: _HeatmapFrame, down: HeatmapAxis, across: HeatmapAxis
) -> list[str]:
    if len(line) < 2:
        return []
    right, up = frame.across(across), frame.up(down)
    points = [f"{right.at(x):.1f} {up.at(y):.1f}" for x, y in line]
    return [f'<path class="trend" d="M{"L".join(points)}"/>']


def _runs(levels: FloatArray) -> list[tuple[int, str]]:
    """Return one path for each shade: neighbours of a row that share it are one rectangle."""
    paths: dict[int, list[str]] = {}
    for y, row in enumerate(levels.astype(int).tolist()):
        starts = [0, *(x for x in range(1, len(row)) if row[x] != row[x - 1]), len(row)]
        for start, end in pairwise(starts):
            if row[start]:
                paths.setdefault(row[start], []).append(f"M{start} {y}h{end - start}v1h-{end - start}z")
    return [(level, "".join(paths[level])) for level in sorted(paths)]


def _down_words(side: HeatmapAxis, frame: _HeatmapFrame) -> list[str]:
    """Return the words at the left: ticks of numbers, or as many levels as have room; the name stands above."""
    x = frame.left - 6
    if side.rises:
        up = frame.up(side)
        places = [(up.at(value) - TITLE, word) for value, word in ticks(up.low, up.high, side.kind)]
    else:
        step = frame.high / side.size
        every = max(1, math.ceil(14 / step))
        places = [((i + 0.5) * step, side.labels[i]) for i in range(0, side.size, every)]
    title = f'<text class="word start name" x="0" y="13">{truncate(side.name, 52)}</text>'
    return [
        title,
        *(
            f'<text class="word end" x="{x:.1f}" y="{TITLE + min(max(y, 6.0), frame.high - 2) + 4:.1f}">'
            f"{truncate(word, LONGEST)}</text>"
            for y, word in places
        ),
    ]


def _across_words(side: HeatmapAxis, frame: _HeatmapFrame) -> list[str]:
    """Return the words below: ticks of numbers, all levels where they have room, or the first and the last."""
    y = TITLE + frame.high
    title = (
        f'<text class="word name" x="{frame.left + frame.broad / 2:.1f}" y="{y + frame.foot - 5:.1f}">'
        f"{truncate(side.name, int(frame.broad / LETTER))}</text>"
    )
    return [title, *(_ticks(frame.across(side), side.kind, y) if side.rises else _level_words(side, frame, y))]


def _ticks(across: Scale, kind: str, y: float) -> list[str]:
    """Return the ticks of a real axis below a picture; words at its ends stay inside."""
    drawn: list[str] = []
    for value, word in ticks(across.low, across.high, kind):
        x = across.at(value)
        inside = min(x, WIDTH - LETTER * len(word) / 2)
        drawn.append(f'<path class="line" d="M{x:.1f} {y:.1f}v4"/>')
        drawn.append(f'<text class="word" x="{inside:.1f}" y="{y + 18:.1f}">{escape(word)}</text>')
    return drawn


def _level_words(side: HeatmapAxis, frame: _HeatmapFrame, y: float) -> list[str]:
    step = frame.broad / side.size
    if max(map(text_width, side.labels)) * LETTER <= step - 4:
        middles = [(frame.left + (place + 0.5) * step, label) for place, label in enumerate(side.labels)]
        return [f'<text class="word" x="{x:.1f}" y="{y + 18:.1f}">{escape(label)}</text>' for x, label in middles]
    if step >= NARROWEST:
        return [
            f'<text class="word end" transform="translate({frame.left + (place + 0.7) * step:.1f} {y + 12:.1f}) '
            f'rotate(-{TURN})">{truncate(label, LONGEST)}</text>'
            for place, label in enumerate(side.labels)
        ]
    most = int(frame.broad / LETTER / 2) - 1
    ends = (("start", frame.left, side.labels[0]), ("end", WIDTH - RIGHT, side.labels[-1]))
    return [
        f'<text class="word {kind}" x="{x:.1f}" y="{y + 18:.1f}">{truncate(label, most)}</text>'
        for kind, x, label in ends
    ]
