"""Histograms of numbers and dates: released bars, true outline, band of the noise.

Bars that stay inside the strip may be noise alone. The ends of a range where nothing stands out are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from markupsafe import Markup, escape

from sfumato.arrays import FloatArray
from sfumato.formatting import format_number
from sfumato.report.cards import share
from sfumato.report.charts.axis import Scale, bin_labels, ticks
from sfumato.report.charts.svg import LETTER, svg

WIDTH, HEIGHT, SIDE, TOP, FLOOR = 340, 150, 8, 18, 122
MOST_BARS, MOST_EQUAL = 48, 110
"""Bars of a picture: of cells that are cut anew, and of cells that are equally wide already."""
BEYOND = 0.001
"""Ends of a distribution are left out of the picture where no side has more than this share of its rows."""
SPIKE = 3.0
"""A bar so many times as high as the next one is cut, and its height is written beside it."""
LEAST_NEXT = 0.004
GAP = 0.7
ABOVE = 10.0
"""Where words stand above all bars."""
LINE = 12.0
"""Words so far below others do not touch them."""


class ValueRange(NamedTuple):
    """From where to where words reach across the picture."""

    low: float
    high: float

    def meets(self, other: ValueRange) -> bool:
        """Whether both touch, with a letter between them."""
        return self.low < other.high + LETTER and other.low < self.high + LETTER


@dataclass(frozen=True)
class HistogramBins:
    """Amounts in cells of a real axis: shares or counts, of one side or of two."""

    edges: FloatArray
    released: FloatArray
    true: FloatArray | None = None
    noise: FloatArray | None = None
    """How far 95 % of the noise reaches in each cell."""
    shape: FloatArray | None = None
    """What the noisy amounts say together: a smooth curve."""
    counts: bool = False
    """Whether amounts are counts, not shares."""

    @property
    def total(self) -> float:
        """What the amounts add up to, on the side where they are more."""
        sides = [self.released.clip(0)] + ([] if self.true is None else [self.true])
        return max(float(side.sum()) for side in sides) or 1.0

    def occupied(self) -> HistogramBins:
        """Return the cells without the ends that hold next to nothing; of noisy counts, nothing but noise."""
        low, high = self._empty_end(slice(None)), len(self.released) - self._empty_end(slice(None, None, -1))
        if high <= low:
            return self
        cut = {
            name: None if side is None else side[low:high]
            for name, side in (("true", self.true), ("noise", self.noise), ("shape", self.shape))
        }
        return replace(self, edges=self.edges[low : high + 1], released=self.released[low:high], **cut)

    def _empty_end(self, way: slice) -> int:
        """Return how many cells at one end are empty: their sum is small, and none of them stands out from noise."""
        released = self.released[way]
        noise = np.zeros(len(released)) if self.noise is None else self.noise[way]
        least = BEYOND * self.total
        full = np.cumsum(released) > least + np.sqrt(np.cumsum(noise**2))
        if self.true is not None:
            full |= np.cumsum(self.true[way]) > least
        return int(np.argmax(full)) if full.any() else 0

    def even(self) -> HistogramBins:
        """Return cells of equal width, so that heights compare: what a cell holds is spread evenly over it."""
        widths = np.diff(self.edges)
        if len(widths) <= MOST_EQUAL and widths.min() > 0.999 * widths.max():
            return self
        grid = np.linspace(self.edges[0], self.edges[-1], min(MOST_BARS, 3 * len(widths)) + 1)
        return replace(
            self,
            edges=grid,
            released=rebin(self.edges, self.released, grid),
            true=None if self.true is None else rebin(self.edges, self.true, grid),
            shape=None if self.shape is None else rebin(self.edges, self.shape, grid),
            noise=None if self.noise is None else rebin_noise(self.edges, self.noise, grid),
        )

    def in_words(self, amount: float) -> str:
        """Return an amount in words."""
        return format_number(round(amount)) if self.counts else share(amount)


def rebin(edges: FloatArray, amounts: FloatArray, grid: FloatArray) -> FloatArray:
    """Return the amounts in another grid; a cell without width falls whole into one place."""
    points = np.flatnonzero(np.diff(edges) <= 0)
    flat = np.where(np.diff(edges) > 0, amounts, 0.0)
    steps = np.concatenate([[0.0], np.cumsum(flat)])
    keep = np.append(np.diff(edges) > 0, True)
    cells = np.diff(np.interp(grid, edges[keep], steps[keep]))
    for point in points:
        cells[min(int(np.searchsorted(grid, edges[point], "right")) - 1, len(cells) - 1)] += amounts[point]
    return cells


def rebin_noise(edges: FloatArray, noise: FloatArray, grid: FloatArray) -> FloatArray:
    """Return the noise in another grid: that of several cells adds up by squares, a part of a cell has a part of it.

    >>> rebin_noise(np.arange(5.0), np.full(4, 3.0), np.array([0.0, 4.0])).tolist()
    [6.0]
    """
    cells = np.diff(np.interp(grid, edges, np.arange(len(edges))))
    square = rebin(edges, noise**2, grid)
    return np.where(cells >= 1, np.sqrt(square), np.sqrt(square * cells))


def histogram(cells: HistogramBins, kind: str, words: str) -> Markup:
    """Return the picture of a distribution; ``kind`` is that of the schema's column."""
    drawn = (cells.occupied() if cells.counts or cells.noise is None else cells).even()
    top, spike = _ceiling(drawn)
    low, width = float(drawn.edges[0]), float(drawn.edges[-1] - drawn.edges[0]) or 1.0
    scale, up = Scale(low, low + width, SIDE, WIDTH - SIDE), Scale(0.0, top, FLOOR, TOP)
    across = [scale.at(float(edge)) for edge in drawn.edges]
    above = None if spike is None else _spike_words(drawn, spike, (across[spike] + across[spike + 1]) / 2)
    parts = [
        *_levels(drawn, up, None if above is None else above[1]),
        *_bars(drawn, across, up, kind),
        f'<path class="line" d="M{SIDE} {FLOOR}H{WIDTH - SIDE}"/>',
        *_strip(drawn, across, up),
        *_curve(drawn, across, up),
        *([] if drawn.true is None else [f'<path class="true" d="{_steps(across, drawn.true, up)}"/>']),
        *(_tick(word, scale.at(place)) for place, word in ticks(low, low + width, kind)),
    ]
    if above is not None:
        parts.append(above[0])
    return svg(WIDTH, HEIGHT, parts, words)


def _ceiling(cells: HistogramBins) -> tuple[float, int | None]:
    """Return the amount at the top of the picture, and the one bar that is cut there, if any."""
    heights = cells.released.clip(0) if cells.true is None else np.maximum(cells.true, cells.released)
    order = np.argsort(-heights, kind="stable")
    largest = float(heights[order[0]]) or 1.0
    following = float(heights[order[1]]) if len(order) > 1 else 0.0
    if following >= LEAST_NEXT * cells.total and largest > SPIKE * following:
        return 1.4 * following, int(order[0])
    noise = 0.0 if cells.noise is None else 1.05 * float(cells.noise.max())
    return max(largest, noise), None


def _levels(cells: HistogramBins, up: Scale, taken: ValueRange | None) -> list[str]:
    """Return a line at one round height, with its amount at the end where bars are lower: how high the bars are.

    ``taken`` is where words stand above all bars already: words that would cover them go to the other end, or the
    line goes down to the next round height.
    """
    places = [place for place, _ in ticks(0.0, up.high if cells.counts else 100 * up.high) if place > 0]
    for place in reversed(places):
        height = up.at(place if cells.counts else place / 100)
        for words, side, y in _level_words(cells, up, place, height):
            if taken is None or y >= ABOVE + LINE or not _span(words, side).meets(taken):
                x = SIDE if side == "start" else WIDTH - SIDE
                return [
                    f'<path class="grid" d="M{SIDE} {height:.1f}H{WIDTH - SIDE}"/>',
                    f'<text class="word {side}" x="{x}" y="{y:.1f}">{words}</text>',
                ]
    return []


def _level_words(cells: HistogramBins, up: Scale, place: float, height: float) -> Iterator[tuple[str, str, float]]:
    """Give the words of a height with the end and the place where they may stand, the better end first."""
    words = format_number(place) if cells.counts else f"{place:g} %"
    near = max(1, math.ceil(len(words) * LETTER * len(cells.released) / (WIDTH - 2 * SIDE)))
    heights = cells.released if cells.true is None else np.maximum(cells.released, cells.true)
    ends = (float(heights[:near].max()), "start"), (float(heights[-near:].max()), "end")
    for highest, side in sorted(ends, key=lambda end: end[0]):
        y = height - 4
        if up.at(highest) < y:  # bars stand behind the words: they go above all bars
            yield f"line: {words}", side, ABOVE
        else:
            yield words, side, y


def _span(words: str, side: str) -> ValueRange:
    wide = LETTER * len(words)
    return ValueRange(SIDE, SIDE + wide) if side == "start" else ValueRange(WIDTH - SIDE - wide, WIDTH - SIDE)


def _bars(cells: HistogramBins, across: Sequence[float], up: Scale, kind: str) -> list[str]:
    """Return a bar for each cell, with its amount for the pointer."""
    wide = GAP if len(cells.released) <= MOST_BARS // 2 else GAP / 2
    bars: list[str] = []
    labels = bin_labels(cells.edges.tolist(), kind)
    for i, (words, amount) in enumerate(zip(labels, cells.released.tolist(), strict=True)):
        height = FLOOR - up.at(amount)
        if height < 0.05:
            continue
        left, right = across[i] + wide / 2, across[i + 1] - wide / 2
        other = "" if cells.true is None else f", true {cells.in_words(float(cells.true[i]))}"
        title = f"<title>{escape(words)}: {cells.in_words(amount)}{other}</title>"
        bars.append(f'<path class="bar" d="M{left:.1f} {FLOOR}v-{height:.1f}H{right:.1f}V{FLOOR}Z">{title}</path>')
    return bars


def _strip(cells: HistogramBins, across: Sequence[float], up: Scale) -> list[str]:
    if cells.noise is None or not cells.noise.any():
        return []
    return [f'<path class="noise" d="{_steps(across, cells.noise, up)}Z"/>']


def _curve(cells: HistogramBins, across: Sequence[float], up: Scale) -> list[str]:
    if cells.shape is None:
        return []
    middles = [(one + other) / 2 for one, other in pairwise(across)]
    points = [f"{x:.1f} {up.at(float(y)):.1f}" for x, y in zip(middles, cells.shape, strict=True)]
    return [f'<path class="shape" d="M{"L".join(points)}"/>']


def _steps(across: Sequence[float], amounts: FloatArray, up: Scale) -> str:
    """Return the outline of a histogram from floor to floor; equal neighbours share a line."""
    parts, before = [f"M{across[0]:.1f} {FLOOR}"], ""
    for i, amount in enumerate(amounts.tolist()):
        height = f"V{up.at(amount):.1f}"
        if height != before:
            parts.append(f"H{across[i]:.1f}{height}" if i else height)
        before = height
    return f"{''.join(parts)}H{across[-1]:.1f}V{FLOOR}"


def _spike_words(cells: HistogramBins, spike: int, place: float) -> tuple[str, ValueRange]:
    """Return how high the bar is that is cut, and from where to where these words reach."""
    released = cells.in_words(float(cells.released[spike]))
    words = f"cut: {released}"
    if cells.true is not None:
        words = f"cut: true {cells.in_words(float(cells.true[spike]))}, here {released}"
    half = LETTER * len(words) / 2
    middle = min(max(place, half), WIDTH - half)
    text = f'<text class="word" x="{middle:.1f}" y="{ABOVE:g}">{escape(words)}</text>'
    return text, ValueRange(middle - half, middle + half)


def _tick(word: str, place: float) -> str:
    half = LETTER * len(word) / 2 + 1
    text = f'<text class="word" x="{min(max(place, half), WIDTH - half):.1f}" y="{FLOOR + 18}">{escape(word)}</text>'
    return f'<path class="line" d="M{place:.1f} {FLOOR}v4"/>{text}'
