"""Curves as SVG: every point where it belongs, every word with room, every line told apart without its colour."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.report.charts.axis import Axis
from sfumato.report.charts.marks import LineMark, Lines, RuleMark
from sfumato.report.charts.plane import NARROW, WIDE, Plane
from sfumato.report.charts.svg import LETTER

EPSILON, SHARE = Axis("epsilon (log scale)", logarithmic=True), Axis("risk", percent=True)
FEW = (0.1, 1.0, 10.0)


def pictures(drawn: str) -> list[ElementTree.Element]:
    """The SVG elements of a chart, its legend apart."""
    whole = ElementTree.fromstring(str(drawn))
    return [svg for svg in whole.iter("svg") if svg.get("class") != "key"]


def test_a_chart_is_drawn_for_both_widths_and_has_words():
    drawn = Lines([LineMark("a", FEW, (0.1, 0.5, 0.9))], EPSILON, SHARE).html('Risk grows to "90 %" <at 10>.')
    assert [svg.get("class") for svg in pictures(drawn)] == ["broad", "slender"]
    assert all(svg.get("aria-label") == 'Risk grows to "90 %" <at 10>.' for svg in pictures(drawn))
    alone = Lines([LineMark("a", FEW, (0.1, 0.5, 0.9))], EPSILON, SHARE).html("w", narrow=True)
    assert [svg.get("class") for svg in pictures(alone)] == ["slender"] and "legend" not in alone


def test_points_stand_where_the_axes_say():
    plane = Plane(Axis("x", 0, 10), Axis("y", 0, 1), NARROW, 200)
    drawn = Lines([LineMark("a", (0, 10), (0, 1))], plane.x, plane.y).picture("w", NARROW, 200)
    path = re.search(r'class="stroke tone-1" d="([^"]*)"', drawn)
    assert path is not None
    assert path[1] == f"M{plane.left:.1f} {plane.up.start:.1f}L{plane.across.end:.1f} {plane.up.end:.1f}"


def test_no_two_lines_look_alike_even_without_colour():
    names = [LineMark(f"line {n}", FEW, (0.1, 0.2, 0.3)) for n in range(7)]
    yardsticks = [LineMark(f"yardstick {n}", FEW, (0.2, 0.2, 0.2), yardstick=True) for n in range(2)]
    chart = Lines([*names, *yardsticks], EPSILON, SHARE, [RuleMark("floor", 0.1), RuleMark("target", 0.2, goal=True)])
    keys = [re.sub(r" tone-\d", "", key) for key, _ in chart.entries()]
    assert len(set(keys)) == len(keys) == 11


def test_intervals_are_whiskers_of_few_points_and_a_band_of_many():
    few = LineMark("a", FEW, (0.3, 0.5, 0.5), (0.2, 0.4, 0.5), (0.4, 0.6, 0.5))
    drawn = Lines([few], EPSILON, SHARE).html("w", narrow=True)
    whiskers = re.search(r'class="stroke tone-1 slight" d="([^"]*)"', drawn)
    assert whiskers is not None and whiskers[1].count("M") == 2 and "area" not in drawn
    many = range(1, 31)
    band = LineMark("a", many, [0.5] * 30, [0.4] * 30, [0.6] * 30)
    assert 'class="area tone-1"' in Lines([band], EPSILON, SHARE).html("w")


def test_whiskers_of_several_lines_stand_apart():
    items = [LineMark(name, (1.0,), (0.5,), (0.4,), (0.6,)) for name in "ab"]
    drawn = Lines(items, Axis("x", 0, 2), SHARE).html("w", narrow=True)
    first, second = (float(at) for at in re.findall(r'class="spot tone-\d" transform="translate\((\S+) ', drawn)[-2:])
    assert second - first == pytest.approx(5, abs=0.11)


def test_a_missing_point_breaks_the_line():
    drawn = Lines([LineMark("a", (1, 2, 3, 4), (0.1, math.nan, 0.3, 0.4))], Axis("x"), SHARE).html("w", narrow=True)
    path = re.search(r'class="stroke tone-1" d="([^"]*)"', drawn)
    assert path is not None and path[1].count("M") == 2 and "nan" not in drawn


def test_nothing_to_draw_is_said():
    assert "no point was computed" in Lines([LineMark("a", (), ())], EPSILON, SHARE).html("w")


def test_names_are_escaped():
    bad = "<script>alert(1)</script>"
    items = [LineMark(bad, FEW, (0, 0.5, 1)), LineMark("b", FEW, (0, 0, 0))]
    drawn = Lines(items, Axis(bad), Axis(bad), [RuleMark(bad, 1)]).html(bad)
    assert "<script" not in drawn and drawn.count("&lt;script") > 6


def test_marked_and_shaded_are_in_the_legend():
    chosen = RuleMark("chosen: 1", 1.0)
    line = LineMark("a", FEW, (0, 0.5, 1))
    shown = Lines([line], EPSILON, SHARE, shaded=[(0, 1)], shade_words=("meets", ""), marked=chosen)
    drawn = shown.html("w")
    legend = drawn[: drawn.index("</ul>")]
    assert "meets" in legend and "chosen: 1" in legend
    assert drawn.count('class="ring"') == 3


ENDS = st.floats(1e-4, 1e4).flatmap(lambda low: st.tuples(st.just(low), st.floats(low * 1.01, low * 1e5)))


@given(ends=ENDS, logarithmic=st.booleans(), percent=st.booleans(), width=st.sampled_from((NARROW, WIDE)))
@settings(max_examples=60, deadline=None)
def test_words_of_axes_neither_touch_nor_leave_the_picture(ends, logarithmic, percent, width):
    x, y = Axis("x", *ends, logarithmic=logarithmic), Axis("y", *ends, percent=percent)
    plane = Plane(x, y, width, 240)
    svg = ElementTree.fromstring(f"<svg>{''.join(plane.frame())}</svg>")
    below = [(float(t.get("x", 0)), t.text or "") for t in svg.iter("text") if t.get("y") == str(240 - 42 + 18)]
    boxes = [(at - len(word) * LETTER / 2, at + len(word) * LETTER / 2) for at, word in below]
    assert len(boxes) >= 1 and boxes[0][0] >= 0 and boxes[-1][1] <= width
    assert all(a[1] <= b[0] for a, b in pairwise(boxes))
    beside = [t for t in svg.iter("text") if t.get("class") == "word end"]
    assert all(float(t.get("x", 0)) >= len(t.text or "") * LETTER for t in beside)


@pytest.mark.parametrize(
    ("axis", "words"),
    [
        (Axis("e", 0.01, 10, logarithmic=True), ["0.01", "0.03", "0.1", "0.3", "1", "3", "10"]),
        (Axis("e", 2, 2.5, logarithmic=True), ["2", "2.5"]),
        (Axis("p", 0, 0.5, percent=True), ["0%", "10%", "20%", "30%", "40%", "50%"]),
        (Axis("t", 0.5, 8, logarithmic=True, places=(0.5, 1, 8)), ["0.5", "1", "8"]),
    ],
)
def test_ticks(axis, words):
    assert [word for _, word in axis.ticks(40)] == words


def test_points_that_are_not_joined_have_marks_and_whiskers_alone():
    points = LineMark("points", FEW, (0.1, 0.5, 0.9), (0.0, 0.4, 0.8), (0.2, 0.6, 1.0), joined=False)
    drawing = Lines([LineMark("line", FEW, (0.2, 0.4, 0.6)), points], EPSILON, SHARE)
    drawn = drawing.picture("w", NARROW, 200)
    assert 'class="stroke tone-1"' in drawn and 'class="stroke tone-2"' not in drawn
    assert drawn.count('class="spot tone-2"') == 3 and 'class="stroke tone-2 slight"' in drawn
    (joined, _), (apart, _) = drawing.entries()
    assert 'class="stroke' in joined and 'class="stroke' not in apart and "spot" in apart
