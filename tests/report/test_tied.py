"""Columns on a circle with lines of their own between them."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from sfumato.report.charts.column_graph import ColumnGraph, Edge, association_graph, graph_picture

TIES = {("a", "b"): Edge(2.5, "<much>"), ("b", "c"): Edge(0.8, "little", dashed=True)}


def test_each_tie_has_its_thickness_its_dashes_and_its_words():
    drawn = ElementTree.fromstring(association_graph(("a", "b", "c", "d"), TIES, "w"))
    paths = [path for path in drawn.iter("path") if path.get("class", "").startswith("tie")]
    assert [(path.get("class"), path.get("stroke-width")) for path in paths] == [
        ("tie", "2.50"),
        ("tie dashed", "0.80"),
    ]
    assert [path.find("title").text for path in paths] == ["a x b: <much>", "b x c: little"]
    assert sorted(word.text for word in drawn.iter("text")) == ["a", "b", "c", "d"]


def test_lines_of_measured_tables_are_ties_too():
    drawn = str(graph_picture(ColumnGraph(("a", "b", "c"), {("a", "b"): 1.0, ("b", "c"): 4.0}), "w"))
    assert re.findall(r'class="tie" stroke-width="([\d.]+)"', drawn) == ["5.00", "1.85"]
    assert "a x b: noise of a count 1</title>" in drawn
