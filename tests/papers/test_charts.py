"""Charts of reproductions draw what was computed: a point at each value, straight lines between, words beside rules."""

from __future__ import annotations

import json
from pathlib import Path

import sfumato
from sfumato.papers.charts import Axes, Line, lines
from sfumato.report.charts import MOST_DOTS

AXES = Axes("alpha", "gain", top=1.0, logarithmic=False)


def chart(count: int, rules=()) -> dict:
    places = [i / count for i in range(count)]
    return lines([Line("a", places, places)], AXES, first_is_muted=False, rules=rules)


def drawn(count: int, rules=()) -> list[dict]:
    return chart(count, rules)["layer"]


def marks(layers: list[dict]) -> list[str]:
    return [layer["mark"]["type"] for layer in layers]


def test_few_values_have_a_point_each_and_straight_lines_between():
    layers = drawn(5)
    assert marks(layers) == ["line", "point"]
    assert all("interpolate" not in layer["mark"] for layer in layers)


def test_a_long_line_has_no_points():
    assert drawn(5)[1]["transform"] == [{"filter": "datum.few"}]
    few, many = (json.dumps(chart(count)) for count in (MOST_DOTS, MOST_DOTS + 1))
    assert '"few": true' in few and '"few": true' not in many


def test_the_word_of_a_rule_stands_clear_of_the_axis():
    layers = drawn(5, (("no gain", 0.0), ("all", 1.0)))
    low, high = (layer["mark"] for layer in layers if layer["mark"]["type"] == "text")
    assert (low["baseline"], high["baseline"]) == ("bottom", "top") and low["dy"] < 0 < high["dy"]


def test_no_chart_of_the_package_draws_a_curve_through_values():
    """The picture of a model's dependences is the one exception: its arcs stand for pairs, not for numbers."""
    root = Path(sfumato.__file__).parent
    curved = {
        path.name
        for path in root.rglob("*.py")
        if any(f'interpolate="{way}"' in path.read_text(encoding="utf-8") for way in ("monotone", "basis", "cardinal"))
    }
    assert curved == set(), json.dumps(sorted(curved))
