"""The picture of a fitted graph, and what the page says about a graphical release."""

from __future__ import annotations

import math
import re
from itertools import combinations

import pytest
import vl_convert
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from sfumato import AIM, MST
from sfumato.report import charts
from sfumato.report.charts.figures import row_figures
from sfumato.report.charts.graph import LEVEL_LABELS, Graph, arranged, drawing, graph_figure, graph_of
from sfumato.report.document import ReleaseDocument, ReleasedTable
from sfumato.report.facts import statistics

LINE_HEIGHT = 12


def ring(size: int) -> Graph:
    """Columns whose names are shuffled, tied like a ring, with one table of three."""
    names = tuple(f"c{i}" for i in range(size))
    order = sorted(names, key=lambda name: hash_of(name))
    tables = {tuple(sorted(pair)): 10.0 for pair in zip(order, [*order[1:], order[0]], strict=True)}
    return Graph(names, {**tables, tuple(sorted(order[:3])): 5.0}, ((order[0], order[1]),))


def hash_of(name: str) -> int:
    return int(name[1:]) * 7919 % 101


def marks(spec, kind: str) -> list[list[dict]]:
    """Return the rows of every layer of one kind of mark."""
    layers = [layer for layer in spec["layer"] if layer["mark"]["type"] == kind]
    return [spec["datasets"][layer["data"]["name"]] for layer in layers]


@pytest.mark.parametrize("size", [5, 13, 17, 40])
def test_every_column_is_named_once_and_no_names_overlap(size: int):
    graph = ring(size)
    spec = drawing(graph, charts.PAPER)
    svg = vl_convert.vegalite_to_svg(charts.static_spec(spec, spec["width"]))
    shown = re.findall(r"<text[^>]*>([^<]+)</text>", svg)
    assert sorted(shown) == sorted(graph.columns)
    for side in marks(spec, "text"):
        turned = {row["a"] for row in side}
        assert (turned == {0.0}) == (size <= LEVEL_LABELS)
        assert all(-91 <= (angle + 180) % 360 - 180 <= 91 for angle in turned), "no name stands on its head"
        for one, other in combinations(side, 2):
            apart = (
                abs(one["y"] - other["y"])
                if size <= LEVEL_LABELS
                else math.dist(*((r["x"], r["y"]) for r in (one, other)))
            )
            assert apart >= LINE_HEIGHT
        assert all(0 <= row["x"] <= spec["width"] for row in side)


def test_all_pairs_of_forty_columns_stay_a_small_chart():
    names = tuple(f"c{i}" for i in range(40))
    spec = drawing(Graph(names, dict.fromkeys(combinations(names, 2), 3.0)))
    assert len(str(spec)) < 200_000
    assert spec["layer"][0]["mark"]["opacity"] < 0.3


def test_lines_join_what_was_measured_together_and_less_noise_is_thicker():
    graph = Graph(("a", "b", "c", "d"), {("a", "b"): 4.0, ("a", "b", "c"): 3.0, ("c", "d"): 6.0})
    assert graph.lines == pytest.approx({("a", "b"): 2.4, ("a", "c"): 3.0, ("b", "c"): 3.0, ("c", "d"): 6.0})
    faces, lines = marks(drawing(graph), "line")
    widths = {row["n"]: row["w"] for row in lines}
    assert widths["a x b"] > widths["a x c"] == widths["b x c"] > widths["c x d"]
    assert {row["t"] for row in faces} == {0}


def test_rules_are_dashed_and_there_only_where_a_rule_is():
    drawn = [drawing(Graph(("a", "b", "c"), {("a", "b"): 1.0}, ruled)) for ruled in ((), (("b", "c"),))]
    dashes = [[layer["mark"].get("strokeDash") for layer in spec["layer"]] for spec in drawn]
    assert [sum(dash is not None for dash in each) for each in dashes] == [0, 1]


@given(st.integers(2, 12), st.randoms(use_true_random=False))
def test_tied_columns_stand_closer_than_before(size: int, random):
    columns = [f"c{i}" for i in range(size)]
    lines = [pair for pair in combinations(columns, 2) if random.random() < 0.3]
    order = arranged(columns, lines)
    assert sorted(order) == sorted(columns)
    assert way(order, lines) <= way(columns, lines)


def test_a_ring_of_columns_becomes_a_ring():
    graph = Graph(ring(9).columns, {names: 1.0 for names in ring(9).tables if len(names) == 2})
    assert way(arranged(graph.columns, graph.lines), list(graph.lines)) < way(list(graph.columns), list(graph.lines))


def way(order: list[str], lines) -> int:
    steps = [abs(order.index(a) - order.index(b)) for a, b in lines]
    return sum(min(step, len(order) - step) for step in steps)


@pytest.fixture(scope="module")
def made(frame, schema) -> sfumato.Release:
    return sfumato.release(sfumato.read(frame, schema), AIM(epsilon=2, workload="2-way"), rows=600)


def document_of(made: sfumato.Release) -> ReleaseDocument:
    data = made.tables[("synthetic",)]
    listed = ReleasedTable(columns=data.column_names, kind="rows", rows=data.num_rows, parquet="d", csv="d")
    return ReleaseDocument.from_release(made, tables=[listed])


def test_the_graph_of_a_release_is_the_one_that_was_measured(made):
    document = document_of(made)
    graph = graph_of(document, made.schema)
    assert graph is not None
    measured = [tuple(names) for names in made.statistics["measured_tables"] if len(names) > 1]
    assert list(graph.tables) == measured
    assert set(graph.ruled) == {("interviewed", "moved_in"), ("children", "persons"), ("hours", "status")}
    figure = graph_figure(document, made.schema)[0]
    assert len(figure.rows) == len(measured)
    assert figure.whole
    assert any("Dashed" in note for note in figure.notes)


def test_noise_of_repeated_tables_is_averaged(made):
    noise = made.statistics["noise_of_tables"]
    assert len(noise) == len(made.statistics["measured_tables"])
    precision = sum(sigma**-2 for sigma in made.statistics["noise_of_rounds"])
    assert sum(sigma**-2 for sigma in noise) == pytest.approx(precision, rel=1e-3)


def test_mst_is_a_tree_and_other_methods_have_no_graph(frame, schema):
    table = sfumato.read(frame, schema)
    names = ["age", "sex", "region", "status"]
    tree = graph_of(document_of(sfumato.release(table, MST(epsilon=2, columns=names), rows=50)), schema)
    assert tree is not None
    assert len(tree.lines) == 3
    assert (
        graph_figure(ReleaseDocument.from_release(sfumato.release(table, sfumato.Histogram("age", 1.0))), schema) == []
    )


def test_statistics_are_told_in_words(made):
    facts = {fact.name: fact for fact in statistics(document_of(made))}
    mended = facts["Synthetic rows mended to keep each rule"].value
    assert "children < persons: " in mended
    assert " x " in facts["Which tables these were"].value
    assert "age: " in facts["Cells of each column in the model"].value
    assert re.fullmatch(r"[\d.]+( down to [\d.]+)?", facts["Noise of a count, from round to round"].value)
    assert not [fact for fact in facts.values() if fact.value.startswith(("[", "{")) or "noise of tables" in fact.name]


def test_a_column_in_layers_has_words_instead_of_bands(made):
    schema, document = made.schema, document_of(made)
    data = made.tables[("synthetic",)]
    counts = sfumato.read(data, schema).marginals([("region",), ("income",)])
    notes = {figure.title: figure.notes[0] for figure in row_figures(document, schema, counts)}
    widths = {name: float(re.findall(r"± ([\d.,]+)", note)[0].replace(",", "")) for name, note in notes.items()}
    block, flat = (next(stage for stage in document.stages if stage.name == n) for n in ("income: blocks", "region"))
    assert widths["income"] == pytest.approx(widths["region"] * block.scale / flat.scale, rel=0.02)
    assert "The lines show" in notes["region"] and "The lines show" not in notes["income"]
    assert "neighbouring bars together" in notes["income"]


def test_bands_grow_where_several_measured_cells_make_one_drawn_cell(made):
    """The document of a method that counts a column on a finer grid than the schema's."""
    document = document_of(made)
    stages = [
        stage if stage.name != "region" else stage.model_copy(update={"cells": 4 * stage.cells})
        for stage in document.stages
    ]
    finer = document.model_copy(update={"stages": tuple(stages)})
    counts = sfumato.read(made.tables[("synthetic",)], made.schema).marginals([("region",)])
    bands = [
        float(re.findall(r"± ([\d.,]+)", row_figures(d, made.schema, counts)[0].notes[0])[0].replace(",", ""))
        for d in (document, finer)
    ]
    assert bands[1] == pytest.approx(2 * bands[0], rel=0.02)
