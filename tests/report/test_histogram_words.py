"""Words above the bars of a distribution never cover each other, wherever the bar stands that is cut."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from sfumato.report.charts.histogram import HistogramBins, histogram
from sfumato.report.charts.svg import LETTER

WORD = re.compile(r'<text class="word ?(\w*)" x="([\d.]+)" y="([\d.]+)">([^<]*)<')


def boxes(drawn: str) -> list[tuple[str, float, float, float]]:
    """Return each word with its ends and its height."""
    found = []
    for side, x, y, words in WORD.findall(drawn):
        wide = LETTER * len(words)
        low = float(x) - {"start": 0.0, "end": wide, "": wide / 2}[side]
        found.append((words, low, low + wide, float(y)))
    return found


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("two_sides", [False, True])
@pytest.mark.parametrize("bars", [6, 20, 48])
def test_no_word_lies_on_another(bars, two_sides, counts):
    random, cut = np.random.default_rng(bars), 0
    for place in range(bars):
        amounts = random.random(bars) ** random.integers(1, 6) + 0.01
        amounts[place] = 40 * amounts.max()
        made = np.round(1e4 * amounts) if counts else amounts / amounts.sum()
        true = made * 1.01 if two_sides else None
        drawn = str(
            histogram(HistogramBins(np.arange(bars + 1.0), made, true=true, counts=counts), "number", "a column")
        )
        cut += "cut: " in drawn
        for (one, low, high, y), (other, left, right, at) in itertools.combinations(boxes(drawn), 2):
            assert abs(y - at) >= 11 or high <= left or right <= low, (place, one, other)
    assert cut > bars // 2, "most pictures have a bar that is cut: else nothing was tried"
