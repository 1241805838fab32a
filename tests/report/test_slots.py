"""Bars and boxes side by side: where they stand, what they say, and names that have room."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from sfumato.report.charts.axis import Axis
from sfumato.report.charts.category_marks import Bars, BarSeries, Boxes, BoxMark, CategoryAxis
from sfumato.report.charts.plane import NARROW, WIDE, figure_html
from sfumato.report.charts.svg import LETTER, text_width

NAMES = ("SH", "Random", "RanWeibull", "RanCauchy", "SH, as printed")


def rects(drawn: str) -> list[dict[str, str]]:
    return [each.attrib for each in ElementTree.fromstring(drawn).iter("rect")]


def test_bars_grow_from_zero_both_ways():
    drawn = Bars(("a", "b"), (BarSeries("x", (2.0, -1.0)),), "place", "gain").picture("w", NARROW, 240)
    up, down = ((float(bar["y"]), float(bar["height"])) for bar in rects(drawn))
    assert up[0] + up[1] == pytest.approx(down[0], abs=0.11) and up[1] == pytest.approx(2 * down[1], abs=0.11)


def test_series_are_told_apart_without_colour_and_a_yardstick_is_hollow():
    series = [BarSeries(name, (1.0, 2.0)) for name in ("printed", "ours", "other", "last")]
    bars = Bars(("a", "b"), series, "", "", yardstick=True)
    looks = [re.sub(r"tone-\d ", "", mark) for mark, _ in bars.entries()]
    assert len(set(looks)) == 4 and "hollow" in looks[0]
    alone = Bars(("a", "b"), series[:1], "", "", yardstick=True)
    assert "hollow" not in alone.picture("w", NARROW, 200) and "legend" not in figure_html(alone, "w", 200, True)


def test_bars_say_their_numbers_and_hide_no_markup():
    bars = Bars(("<b>", "c"), (BarSeries("<i>", (1.0, 2.0)),), "<x>", "<y>")
    drawn = bars.picture(f"w {bars.spoken()}", NARROW, 200)
    assert "&lt;i&gt;: &lt;b&gt; 1, c 2." in drawn and "<i>" not in drawn
    ElementTree.fromstring(drawn)


@pytest.mark.parametrize("width", [NARROW, WIDE])
@pytest.mark.parametrize("names", [NAMES, [str(n) for n in range(1, 31)], ["1", "2-5", "6-10", "11-20"], NAMES * 4])
def test_names_do_not_touch(width: int, names: tuple[str, ...]):
    slots = CategoryAxis(names, 1, "title", Axis("y", 0.0, 1.0), width, 260)
    words = [
        (float(text.attrib["y"]), float(text.attrib["x"]), (text.text or "").replace("…", "."))
        for text in ElementTree.fromstring(slots.picture([], "w")).iter("text")
        if text.get("class") == "word" and text.text
    ]
    letter = LETTER * (12 / 11 if width == WIDE else 1)
    for (y, x, word), (below, after, following) in pairwise(sorted(words)):
        if y == below:
            assert after - x >= letter * (text_width(word) + text_width(following)) / 2
    assert all(x + letter * text_width(word) / 2 <= width + 1 for _, x, word in words)


def test_boxes_stand_between_their_quantiles_and_end_with_the_axis():
    items = [BoxMark("1", "Laplace", (0.0, 0.1, 0.2, 0.3, 0.4)), BoxMark("1", "Gaussian", (0.1, 0.2, 0.3, 0.4, 0.9))]
    boxes = Boxes(items, "epsilon", "distance", top=0.5)
    first, second = (
        (float(bar["y"]), float(bar["y"]) + float(bar["height"])) for bar in rects(boxes.picture("w", NARROW, 240))
    )
    assert first[0] - second[0] == pytest.approx(first[1] - second[1], abs=0.21) and first[0] > second[0]
    assert boxes.spoken() == "Medians by epsilon: Laplace: 1 0.2; Gaussian: 1 0.3."
    assert "95 % 0.9" in boxes.picture("w", NARROW, 240)
