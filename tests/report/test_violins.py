"""Violins: names beside them, shapes between their ends, upright lines with words that stay inside."""

from __future__ import annotations

import re

from sfumato.report.charts.category_marks import ViolinMark, Violins
from sfumato.report.charts.plane import NARROW

ITEMS = (
    ViolinMark("(0.4, 1.8) trunc", (1.0, 2.0, 3.0), (0.2, 1.0, 0.1), 2.0, 2),
    ViolinMark("equal", (2.5,), (0.3,), 2.5),
)


def test_each_violin_has_its_name_its_colour_and_its_middle():
    violins = Violins(ITEMS, "epsilon", rules=(("data", 3.9),))
    drawn = violins.picture("w", NARROW)
    assert re.findall(r'class="(tone-2|yardstick) half"', drawn) == ["tone-2", "yardstick"]
    assert ">(0.4, 1.8) trunc</text>" in drawn and "<title>equal: middle 2.5, from 2.5 to 2.5</title>" in drawn
    assert violins.spoken() == "Middles: (0.4, 1.8) trunc 2, equal 2.5; data 3.9."
    assert list(violins.entries()) == []


def test_a_shape_is_widest_where_its_density_is_and_equal_values_are_a_bar():
    outlines = re.findall(r'half" d="M([^"]*)Z"', Violins(ITEMS, "y").picture("w", NARROW))
    shape, bar = ([tuple(map(float, point.split())) for point in outline.split("L")] for outline in outlines)
    assert min(shape, key=lambda point: point[1])[0] == shape[1][0] and len(shape) == 6
    assert len(bar) == 4 and bar[1][0] - bar[0][0] == 6


def test_an_axis_of_equal_factors_keeps_the_ends_inside():
    items = (ViolinMark("a", (1e2, 1e4, 1e6), (0.1, 1.0, 0.1), 1e4),)
    drawn = Violins(items, "cycles", logarithmic=True).picture("w", NARROW)
    (outline,) = re.findall(r'half" d="M([^"]*)Z"', drawn)
    across = [float(point.split()[0]) for point in outline.split("L")][:3]
    assert round(across[1] - across[0], 1) == round(across[2] - across[1], 1)
