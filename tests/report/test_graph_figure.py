"""The picture of a fitted graph, and what the page says about a graphical release."""

from __future__ import annotations

import math
import re
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from sfumato import AIM, MST
from sfumato.bundle.document import ReleaseDocument, ReleasedTable
from sfumato.report.cards import edges_of
from sfumato.report.charts.column_graph import LEVEL_LABELS, ColumnGraph, graph_picture, order_on_circle
from sfumato.report.release_page.associations import MOST_DRAWN, column_graph_of, measured_graph
from sfumato.report.release_page.column_cards import NoiseReach
from sfumato.report.texts.numbers import statistics

LINE_HEIGHT = 12
NAME = re.compile(
    r'<text class="word (start|end)"[^>]* transform="translate\(([-\d.]+) ([-\d.]+)\)'
    r'(?: rotate\(([-\d.]+)\))?">([^<]+)<'
)


def ring(size: int) -> ColumnGraph:
    """Columns whose names are shuffled, tied like a ring, with one table of three."""
    names = tuple(f"c{i}" for i in range(size))
    order = sorted(names, key=lambda name: hash_of(name))
    tables = {tuple(sorted(pair)): 10.0 for pair in zip(order, [*order[1:], order[0]], strict=True)}
    return ColumnGraph(names, {**tables, tuple(sorted(order[:3])): 5.0}, ((order[0], order[1]),))


def hash_of(name: str) -> int:
    return int(name[1:]) * 7919 % 101


def paths(graph: ColumnGraph, kind: str) -> list[str]:
    """Return the elements of one kind in the picture of a graph."""
    return re.findall(f'<path class="{kind}"[^>]*>(?:<title>[^<]*</title>)?', str(graph_picture(graph, "words")))


@pytest.mark.parametrize("size", [5, 13, 17, 40])
def test_every_column_is_named_once_and_no_names_overlap(size: int):
    graph = ring(size)
    svg = str(graph_picture(graph, "a ring"))
    width, height = (float(each) for each in re.search(r'viewBox="0 0 (\d+) (\d+)"', svg).groups())
    shown = [(side, float(x), float(y), float(turn or 0), name) for side, x, y, turn, name in NAME.findall(svg)]
    assert sorted(name for *_, name in shown) == sorted(graph.columns)
    assert ({turn for *_, turn, _ in shown} == {0.0}) == (size <= LEVEL_LABELS)
    assert all(-91 <= (turn + 180) % 360 - 180 <= 91 for *_, turn, _ in shown), "no name stands on its head"
    assert all(0 <= x <= width and 0 <= y <= height for _, x, y, *_ in shown)
    for one, other in combinations(shown, 2):
        if one[0] == other[0]:
            apart = abs(one[2] - other[2]) if size <= LEVEL_LABELS else math.dist(one[1:3], other[1:3])
            assert apart >= LINE_HEIGHT


def test_all_pairs_of_forty_columns_stay_a_small_chart():
    names = tuple(f"c{i}" for i in range(40))
    graph = ColumnGraph(names, dict.fromkeys(combinations(names, 2), 3.0))
    few = ColumnGraph(names[:4], dict.fromkeys(combinations(names[:4], 2), 3.0))
    assert len(str(graph_picture(graph, "all pairs"))) < 200_000
    thick = [max(float(width) for width in re.findall(r'stroke-width="([\d.]+)"', line)) for line in paths(few, "tie")]
    assert float(re.findall(r'stroke-width="([\d.]+)"', paths(graph, "tie")[0])[0]) < 0.4 * thick[0]
    assert measured_graph(graph).picture is None, f"more than {MOST_DRAWN} columns are told in words"


def test_lines_join_what_was_measured_together_and_less_noise_is_thicker():
    graph = ColumnGraph(("a", "b", "c", "d"), {("a", "b"): 4.0, ("a", "b", "c"): 3.0, ("c", "d"): 6.0})
    assert graph.lines == pytest.approx({("a", "b"): 2.4, ("a", "c"): 3.0, ("b", "c"): 3.0, ("c", "d"): 6.0})
    found = re.findall(r'stroke-width="([\d.]+)"[^>]*><title>([^:]+):', "".join(paths(graph, "tie")))
    widths = {name: float(width) for width, name in found}
    assert widths["a x b"] > widths["a x c"] == widths["b x c"] > widths["c x d"]
    assert len(paths(graph, "face")) == 1


def test_rules_are_drawn_and_there_only_where_a_rule_is():
    drawn = [paths(ColumnGraph(("a", "b", "c"), {("a", "b"): 1.0}, ruled), "rule") for ruled in ((), (("b", "c"),))]
    assert [len(each) for each in drawn] == [0, 1] and "b, c" in drawn[1][0]


@given(st.integers(2, 12), st.randoms(use_true_random=False))
def test_tied_columns_stand_closer_than_before(size: int, random):
    columns = [f"c{i}" for i in range(size)]
    lines = [pair for pair in combinations(columns, 2) if random.random() < 0.3]
    order = order_on_circle(columns, lines)
    assert sorted(order) == sorted(columns)
    assert way(order, lines) <= way(columns, lines)


def test_a_ring_of_columns_becomes_a_ring():
    graph = ColumnGraph(ring(9).columns, {names: 1.0 for names in ring(9).tables if len(names) == 2})
    assert way(order_on_circle(graph.columns, graph.lines), list(graph.lines)) < way(
        list(graph.columns), list(graph.lines)
    )


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
    graph = column_graph_of(document, made.schema)
    assert graph is not None
    measured = [tuple(names) for names in made.statistics["measured_tables"] if len(names) > 1]
    assert list(graph.tables) == measured
    assert set(graph.ruled) == {("interviewed", "moved_in"), ("children", "persons"), ("hours", "status")}
    found = measured_graph(graph)
    assert found is not None and len(found.tables.rows) == len(measured)
    assert found.picture is not None and any("Dashed" in words for words in found.key)


def test_noise_of_repeated_tables_is_averaged(made):
    noise = made.statistics["noise_of_tables"]
    assert len(noise) == len(made.statistics["measured_tables"])
    precision = sum(sigma**-2 for sigma in made.statistics["noise_of_rounds"])
    assert sum(sigma**-2 for sigma in noise) == pytest.approx(precision, rel=1e-3)


def test_mst_is_a_tree_and_other_methods_have_no_graph(frame, schema):
    table = sfumato.read(frame, schema)
    names = ["age", "sex", "region", "status"]
    tree = column_graph_of(document_of(sfumato.release(table, MST(epsilon=2, columns=names), rows=50)), schema)
    assert tree is not None
    assert len(tree.lines) == 3
    plain = ReleaseDocument.from_release(sfumato.release(table, sfumato.Histogram("age", 1.0)))
    assert column_graph_of(plain, schema) is None and measured_graph(None) is None


def test_statistics_are_told_in_words(made):
    facts = {fact.name: fact for fact in statistics(document_of(made))}
    mended = facts["Synthetic rows mended to keep each rule"].value
    assert "children < persons: " in mended
    assert " x " in facts["Which tables these were"].value
    assert "age: " in facts["Cells of each column in the model"].value
    assert re.fullmatch(r"[\d.]+( down to [\d.]+)?", facts["Noise of a count, from round to round"].value)
    assert not [fact for fact in facts.values() if fact.value.startswith(("[", "{")) or "noise of tables" in fact.name]


def test_a_column_in_layers_has_the_noise_of_its_blocks_and_cells(made):
    """A bar as wide as a block has a block's noise; the narrower of blocks and cells counts."""
    document, column = document_of(made), made.schema["income"]
    noise = NoiseReach(document, round(made.statistics["noisy_total"]))
    block = next(stage for stage in document.stages if stage.name == "income: blocks")
    low, high = edges_of(column)[[0, -1]]
    blocks = np.linspace(low, high, block.cells - int(column.missing) + 1)
    found = noise.of_bars(column, blocks)
    assert found is not None and (found <= 1.96 * block.scale * 1.01).all() and (found > 0).all()
    half = noise.of_bars(column, np.linspace(low, high, 2 * (len(blocks) - 1) + 1))
    assert (half < found.repeat(2)).all()


def test_noise_grows_where_several_measured_cells_make_one_bar(made):
    """The document of a method that counts a column on a finer grid than the schema's."""
    document, column = document_of(made), made.schema["age"]
    edges = edges_of(column)
    flat = next(stage for stage in document.stages if stage.name.startswith("age"))
    plain = flat.model_copy(update={"name": "age", "cells": len(edges) - 1 + int(column.missing)})
    parts = tuple(part.model_copy(update={"stage": "age"}) for part in document.events[0].parts[:1])
    event = document.events[0].model_copy(update={"parts": parts})
    finer = plain.model_copy(update={"cells": 4 * (len(edges) - 1) + int(column.missing)})
    bands = [
        NoiseReach(document.model_copy(update={"stages": (stage,), "events": (event,)}), 600).of_bars(column, edges)
        for stage in (plain, finer)
    ]
    assert bands[1] == pytest.approx(2 * bands[0])
