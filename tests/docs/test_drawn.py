"""Pictures of the documentation: files that need nothing else, and scripts that can still make them."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from xml.etree import ElementTree

import drawn
import pytest
from markupsafe import Markup

from sfumato.report.charts.marks import Axis, LineMark, Lines, RuleMark

DOCS = Path(__file__).resolve().parents[2] / "docs"
SVG = "{http://www.w3.org/2000/svg}"
OURS = sorted(path.name for path in drawn.IMAGES.glob("*.svg") if "<style>" in path.read_text(encoding="utf-8"))
SCRIPTS = sorted(path.stem for path in DOCS.glob("picture_*.py"))


def curve(name: str = "a & b", rules: tuple[RuleMark, ...] = ()) -> Lines:
    return Lines([LineMark("printed", (1, 2), (0.1, 0.3), yardstick=True), LineMark(name, (1, 2), (0, 1))], X, Y, rules)


X, Y = Axis("epsilon"), Axis("risk")


def test_scripts_that_make_pictures_can_be_loaded_and_all_are_run_together():
    together = vars(importlib.import_module("make_pictures"))
    assert SCRIPTS and all(callable(together[name].main) for name in SCRIPTS)


@pytest.mark.parametrize("name", OURS)
def test_a_picture_needs_nothing_else(name):
    text = (drawn.IMAGES / name).read_text(encoding="utf-8")
    whole = ElementTree.fromstring(text)
    assert whole.find(f"{SVG}title").text and whole.get("role") == "img"
    assert "var(" not in text and "<script" not in text and "href" not in text
    used = {each for names in re.findall(r'class="([^"]*)"', text) for each in names.split()}
    styled = set(re.findall(r"\.([a-z][a-z0-9-]*)", whole.find(f"{SVG}style").text))
    unstyled = {"slender", "broad", "graph", "cell"}
    assert used <= styled | unstyled, used - styled


def test_all_pictures_are_drawn_by_us():
    others = {"layers.svg", "overview.svg", "way-of-a-release.svg"}
    assert len(OURS) >= 19 and {path.name for path in drawn.IMAGES.glob("*.svg")} - set(OURS) == others


def test_panels_stand_side_by_side_below_one_legend():
    rules = (RuleMark("target", 0.5, goal=True),)
    text = drawn.sheet("words <here>", [drawn.Panel(curve(), "one"), drawn.Panel(curve(rules=rules), "two")])
    whole = ElementTree.fromstring(text)
    assert whole.find(f"{SVG}title").text == "words <here>"
    assert [word.text for word in whole.iter(f"{SVG}text") if word.get("class") == "entry"] == [
        "printed",
        "a & b",
        "target",
    ]
    first, second = whole.findall(f"{SVG}svg")
    end = float(first.get("x")) + float(first.get("width"))
    assert end < float(second.get("x")) and first.get("y") == second.get("y")
    assert float(second.get("x")) + float(second.get("width")) <= float(whole.get("width")) - drawn.PAD
    assert float(second.get("y")) + float(second.get("height")) <= float(whole.get("height"))


def test_a_long_legend_and_a_long_title_take_more_lines():
    long = [drawn.Panel(curve(), "a title that is far too long for a third of a picture"), *[drawn.Panel(curve())] * 2]
    marks = [("<path/>", f"an entry with the number {n}") for n in range(7)]
    whole = ElementTree.fromstring(drawn.sheet("w", long, legend=marks))
    heads = [word for word in whole.iter(f"{SVG}text") if word.get("class") == "head"]
    assert len(heads) == 3 and len({word.get("y") for word in heads}) == 3
    places = [tuple(map(int, re.findall(r"\d+", group.get("transform")))) for group in whole.findall(f"{SVG}g")]
    assert len(set(places)) == 7 and len({y for _, y in places}) == 4
    assert all(x + 41 + drawn.LETTER * 26 <= drawn.PAD + drawn.WIDTH for x, _ in places)
    assert max(y for _, y in places) < min(int(word.get("y")) for word in heads) - 12


def test_what_has_a_size_stands_in_the_middle_and_keeps_it():
    picture = Markup(
        '<svg class="graph" viewBox="0 0 100 50" role="img" aria-label="w"><path class="tie" d="M0 0"/></svg>'
    )
    whole = ElementTree.fromstring(drawn.sheet("w", [drawn.Panel(picture)]))
    inner = whole.find(f"{SVG}svg")
    assert (inner.get("width"), inner.get("height")) == ("100", "50")
    assert float(inner.get("x")) + 50 == float(whole.get("width")) / 2
    style = whole.find(f"{SVG}style").text
    assert "svg .tie {" in style and ".bar" not in style and "max-width" not in style
