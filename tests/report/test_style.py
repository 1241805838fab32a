"""The stylesheet: one for all pages, with colours that can be told apart in light, in dark and in grey."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest

STYLE = Path(__file__).parents[2] / "src" / "sfumato" / "report" / "templates" / "style.css"
WORDS, MARKS = 4.5, 3.0
"""Contrast that words need, and that lines and marks need (WCAG 2.1, AA)."""
GROUNDS = ("page", "card", "soft")
LIGHT, DARK = "light", "dark"


def schemes() -> dict[str, dict[str, str]]:
    light, dark = re.findall(r":root \{(.*?)\}", STYLE.read_text(encoding="utf-8"), re.DOTALL)[:2]
    return {
        name: dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", block))
        for name, block in ((LIGHT, light), (DARK, dark))
    }


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_measured_as_the_standard_says():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("scheme", [LIGHT, DARK])
def test_words_and_marks_stand_out_on_every_ground(scheme):
    colours = schemes()[scheme]
    words = [(name, ground, WORDS) for name in ("ink", "muted", "accent", "truth") for ground in GROUNDS]
    words += [("danger-ink", "danger", WORDS), ("warning-ink", "warning", WORDS)]
    marks = [name for name in colours if name.startswith("series-")] + ["good", "part", "bad", "accent", "truth"]
    pairs = [*words, *((name, ground, MARKS) for name in marks for ground in ("page", "card"))]
    weak = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in pairs}
    assert {pair: found for pair, found in weak.items() if found < pair[2]} == {}


@pytest.mark.parametrize("scheme", [LIGHT, DARK])
def test_what_stands_side_by_side_is_told_apart(scheme):
    """Bars of the budget differ in lightness, not in hue alone; lines have dashes, which are tested with them."""
    colours = schemes()[scheme]
    assert contrast(colours["accent"], colours["accent-soft"]) > 2
    series = [value for name, value in colours.items() if name.startswith("series-")]
    assert len(series) == 5 and all(one != other for one, other in combinations(series, 2))


def test_dark_names_every_colour_of_light_and_no_rule_has_a_colour_of_its_own():
    both = schemes()
    assert set(both[LIGHT]) == set(both[DARK]) and len(both[LIGHT]) > 15
    text = STYLE.read_text(encoding="utf-8")
    rules = re.sub(r"@page\b.*?\n\}", "", re.sub(r":root \{.*?\}", "", text, flags=re.DOTALL), flags=re.DOTALL)
    stray = [line for line in rules.splitlines() if re.search(r"#[0-9a-fA-F]{3,8}\b(?!.*\{)|rgba?\(", line)]
    assert stray == []


def test_every_variable_that_is_used_is_defined():
    text = STYLE.read_text(encoding="utf-8")
    used = set(re.findall(r"var\(--([a-z0-9-]+)", text))
    assert used <= set(re.findall(r"--([a-z0-9-]+):", text))
    assert text.count("{") == text.count("}")
