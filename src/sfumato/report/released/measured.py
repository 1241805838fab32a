"""What a model measured together: in words for many columns, and as a graph where that says something."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from markupsafe import Markup

from sfumato.report.charts.graph import Graph, graph_picture
from sfumato.report.column_card import Grid
from sfumato.report.document import ReleaseDocument
from sfumato.report.words.numbers import counted
from sfumato.report.words.relations import tied_words
from sfumato.schema import Schema

FEWEST_DRAWN, MOST_DRAWN = 3, 30
"""Tied columns of a graph that is drawn: two say nothing, and a ring of eighty cannot be read."""
MOST_VALUES = 60
KEY = "A line joins columns that were measured together: the thicker, the less noise."
FACE = "A shaded face is a table of three columns or more."
RULE = "Dashed lines are rules of the schema, which every row keeps."


@dataclass(frozen=True)
class Measured:
    """The section of a page: sentences, a picture or none, and the measured tables."""

    sentences: tuple[str, ...]
    picture: Markup | None
    key: tuple[str, ...]
    tables: Grid


def measured_together(graph: Graph | None) -> Measured | None:
    """Return what was measured together, for releases that tell it."""
    if graph is None or len(graph.columns) < 2:
        return None
    tied = graph.tied()
    sentences = tied_words(graph.columns, graph.beside, len(graph.tables))
    worth = FEWEST_DRAWN <= len(tied.columns) <= MOST_DRAWN
    words = (
        f"Graph of {len(tied.columns)} columns and {counted(len(tied.lines), 'line')} between those measured together."
    )
    lines = sorted(graph.tables.items(), key=lambda item: (-len(item[0]), item[1], item[0]))
    rows = tuple((" x ".join(names), f"{noise:.3g}") for names, noise in lines[:MOST_VALUES])
    return Measured(
        tuple(sentences),
        graph_picture(tied, words) if worth else None,
        (KEY, *((FACE,) if any(len(names) > 2 for names in graph.tables) else ()), *((RULE,) if graph.ruled else ())),
        Grid(("table", "noise of a count (standard deviation)"), rows, len(lines) - len(rows)),
    )


def graph_of(document: ReleaseDocument, schema: Schema) -> Graph | None:
    """Return the graph of a release that measured tables in rounds, or None."""
    measured, noise = (document.statistics.get(key) for key in ("measured_tables", "noise_of_tables"))
    if not measured or not noise:
        return None
    columns = document.tables[0].columns
    tables = {tuple(names): float(sigma) for names, sigma in zip(measured, noise, strict=True) if len(names) > 1}
    ruled = [
        pair
        for rule in schema.rules
        if set(rule.columns) <= set(columns)
        for pair in combinations(sorted(set(rule.columns)), 2)
    ]
    return Graph(columns, tables, tuple(dict.fromkeys(ruled)))
