"""The strongest associations of released rows, their cards, and the graph of columns measured together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from markupsafe import Markup

from sfumato.arrays import FloatArray
from sfumato.bundle.document import ReleaseDocument
from sfumato.evaluate.compare.columns import chart_edges
from sfumato.formatting import counted, percent_fixed
from sfumato.metrics.association import (
    CRAMER,
    RANKS,
    STRONG,
    Association,
    AssociationRows,
    contingency_counts,
    evenly_spaced,
    has_association,
)
from sfumato.metrics.rows_view import RowsView
from sfumato.report.cards import MISSING, TableBlock, largest_indices, level_words, share
from sfumato.report.charts.axis import Axis, format_value
from sfumato.report.charts.category_marks import BoxMark, box_rows
from sfumato.report.charts.column_graph import ColumnGraph, graph_picture
from sfumato.report.charts.heatmap import HeatmapAxis, fits_across, heatmap
from sfumato.report.texts.associations import (
    attenuation_text,
    differs_somehow,
    group_sentence,
    level_sentence,
    measured_words,
    tied_words,
    trend_sentence,
)
from sfumato.schema import Schema
from sfumato.schema.column import Column

MOST_SHOWN, FEWEST_SHOWN = 60, 4
"""Associations that a page shows, the strongest first; the second also where none is strong."""
WEAKEST = 0.1
FEWEST_DRAWN, MOST_DRAWN = 3, 30
"""Tied columns of a graph that is drawn: two say nothing, and a ring of eighty cannot be read."""
MOST_VALUES = 60
KEY = "A line joins columns that were measured together: the thicker, the less noise."
FACE = "A shaded face is a table of three columns or more."
RULE = "Dashed lines are rules of the schema, which every row keeps."
MOST_LEVELS = 10
"""Levels of a column in a picture of two: those with most rows."""
FEWEST_ROWS = 10
"""Rows that a group needs, so that its median says something."""
LEVELS_OF_SPREAD = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Associations:
    """The associations that are shown, and what they were measured on."""

    relations: tuple[Association, ...]
    pairs: int
    strong: int
    points: RowsView
    left_out: tuple[str, ...]


def strongest_associations(points: RowsView) -> Associations:
    """Measure all pairs of columns and return the strongest."""
    places = [place for place, column in enumerate(points.columns) if has_association(column)]
    pairs = list(combinations(places, 2))
    few = points[evenly_spaced(len(points), len(pairs))]
    measured = AssociationRows.of(few.columns, few.points).measure(pairs) if len(few) else []
    ordered = sorted(measured, key=lambda each: (-round(each.strength, 6), each.one, each.other))
    strong = [each for each in ordered if each.strength >= STRONG]
    shown = strong[:MOST_SHOWN] or [each for each in ordered[:FEWEST_SHOWN] if each.strength >= WEAKEST]
    left_out = tuple(column.name for place, column in enumerate(points.columns) if place not in set(places))
    return Associations(tuple(shown), len(pairs), len(strong), few, left_out)


@dataclass(frozen=True)
class MeasuredGraph:
    """The section of a page: sentences, a picture or none, and the measured tables."""

    sentences: tuple[str, ...]
    picture: Markup | None
    key: tuple[str, ...]
    tables: TableBlock


def measured_graph(graph: ColumnGraph | None) -> MeasuredGraph | None:
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
    return MeasuredGraph(
        tuple(sentences),
        graph_picture(tied, words) if worth else None,
        (KEY, *((FACE,) if any(len(names) > 2 for names in graph.tables) else ()), *((RULE,) if graph.ruled else ())),
        TableBlock.of_numbers(("table", "noise of a count (standard deviation)"), rows, len(lines) - len(rows)),
    )


def column_graph_of(document: ReleaseDocument, schema: Schema) -> ColumnGraph | None:
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
    return ColumnGraph(columns, tables, tuple(dict.fromkeys(ruled)))


@dataclass(frozen=True)
class AssociationFigure:
    """A relation in words and as a picture."""

    sentence: str
    picture: Markup
    kind: str
    """map, boxes or shares: which legend explains it."""
    remark: str = ""


@dataclass(frozen=True)
class AssociationCard:
    """One relation: what it says, what it looks like, and how far it can be trusted."""

    place: str
    names: tuple[str, str]
    figure: AssociationFigure
    remark: str


def relation_cards(found: Associations, graph: ColumnGraph | None, smallest: float | None) -> list[AssociationCard]:
    """Return a card for every relation that is shown, strongest first."""
    noise = {} if graph is None else graph.lines
    cards: list[AssociationCard] = []
    for number, relation in enumerate(found.relations, 1):
        one, other = (found.points.columns[place].name for place in (relation.one, relation.other))
        figure = association_figure(found.points, relation)
        measured = measured_words(noise.get((min(one, other), max(one, other))), graph is not None)
        remarks = (figure.remark, measured, attenuation_text(relation.strength, smallest))
        cards.append(AssociationCard(f"relation-{number}", (one, other), figure, " ".join(filter(None, remarks))))
    return cards


def association_figure(points: RowsView, relation: Association) -> AssociationFigure:
    """Return the sentence and the picture that fit the kinds of two columns."""
    places = relation.one, relation.other
    columns = [points.columns[place] for place in places]
    values = [points.points[:, place] for place in places]
    numbers = [column.is_ordered for column in columns]
    if all(numbers):
        way = slice(None, None, -1) if columns[0].kind == "date" else slice(None)  # time runs across
        return _two_numbers(columns[way], values[way], relation.value)
    if any(numbers):
        way = slice(None) if numbers[0] else slice(None, None, -1)
        return _by_groups(columns[way], values[way], relation)
    fits = [fits_across(False, level_words(column)) for column in columns]
    way = slice(None, None, -1) if fits[0] and not fits[1] else slice(None)
    return _two_levels(columns[way], values[way], relation)


def _title(column: Column) -> str:
    return f"{column.name} ({column.unit})" if column.unit else column.name


def _two_numbers(columns: Sequence[Column], values: Sequence[FloatArray], value: float) -> AssociationFigure:
    """Return a map of two numbers over the range that most rows occupy, and the median along it."""
    known = ~np.isnan(values[0]) & ~np.isnan(values[1])
    down, across = (each[known] for each in values)
    edges = [chart_edges(column, each) for column, each in zip(columns, (down, across), strict=True)]
    table, _, _ = np.histogram2d(down, across, bins=edges)
    sides = [HeatmapAxis(_title(c), edges=tuple(e.tolist()), kind=c.kind) for c, e in zip(columns, edges, strict=True)]
    sentence = trend_sentence(columns[0].name, columns[1].name, value)
    words = f"Map of {columns[0].name} against {columns[1].name}: {sentence}."
    line = _medians(down, across, edges[1], (float(edges[0][0]), float(edges[0][-1])))
    return AssociationFigure(sentence, heatmap(table, sides[0], sides[1], words, line=line), "map")


def _medians(
    values: FloatArray, along: FloatArray, edges: FloatArray, ends: tuple[float, float]
) -> list[tuple[float, float]]:
    """Return the median in each cell of the other column that has rows enough."""
    cells = np.searchsorted(edges, along, side="right") - 1
    found: list[tuple[float, float]] = []
    for cell in range(len(edges) - 1):
        inside = values[cells == cell]
        if len(inside) >= FEWEST_ROWS:
            middle = min(max(float(np.median(inside)), ends[0]), ends[1])
            found.append((float(edges[cell] + edges[cell + 1]) / 2, middle))
    return found


def _by_groups(columns: Sequence[Column], values: Sequence[FloatArray], relation: Association) -> AssociationFigure:
    """Return a number by the levels of the other column."""
    (number, group), (numbers, codes) = columns, values
    labels = level_words(group)
    inside = [numbers[(codes == code) & ~np.isnan(numbers)] for code in range(len(labels))]
    kept = [
        code
        for code in largest_indices([len(each) for each in inside], MOST_LEVELS)
        if len(inside[code]) >= FEWEST_ROWS
    ]
    spreads = [BoxMark(labels[code], "", _five(inside[code])) for code in kept]
    sentence = _group_sentence(number, group, spreads, relation)
    low, high = _ends(spreads, number)
    words = f"{number.name} for {len(spreads)} levels of {group.name}: {sentence}."
    drawn = box_rows(spreads, Axis(_title(number), low, high, kind=number.kind), _title(group), words)
    return AssociationFigure(sentence, drawn, "boxes", _left_out(len(kept), len(labels)))


def _left_out(kept: int, levels: int) -> str:
    return f"Drawn are the {kept} largest of {levels} levels." if kept < levels else ""


def _five(values: FloatArray) -> tuple[float, float, float, float, float]:
    low, first, middle, third, high = np.quantile(values, LEVELS_OF_SPREAD).tolist()
    return low, first, middle, third, high


def _ends(spreads: Sequence[BoxMark], number: Column) -> tuple[float, float]:
    """Return the range that all groups occupy."""
    if not spreads:
        return number.numeric_bounds
    low, high = min(each.quantiles[0] for each in spreads), max(each.quantiles[4] for each in spreads)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _group_sentence(number: Column, group: Column, spreads: Sequence[BoxMark], relation: Association) -> str:
    if relation.measure == RANKS:
        return trend_sentence(number.name, group.name, relation.value)
    order = sorted(spreads, key=lambda each: each.quantiles[2])
    if len(order) < 2 or order[0].quantiles[2] == order[-1].quantiles[2]:
        return differs_somehow(number.name, group.name, relation.value)
    medians = {each.place: format_value(each.quantiles[2], number.kind) for each in (order[0], order[-1])}
    return group_sentence(number.name, group.name, medians, relation.value)


def _two_levels(columns: Sequence[Column], values: Sequence[FloatArray], relation: Association) -> AssociationFigure:
    """Return the shares of one column's levels inside each level of the other."""
    labels = [(*level_words(column), MISSING) for column in columns]
    table = contingency_counts(
        *(np.where(np.isnan(v), len(n) - 1, v).astype(np.int64) for v, n in zip(values, labels, strict=True))
    )
    kept = [largest_indices(table.sum(axis).tolist(), MOST_LEVELS) for axis in (1, 0)]
    kept = [
        [place for place in places if table.sum(axis)[place] > 0] for axis, places in zip((1, 0), kept, strict=True)
    ]
    inside = table / np.maximum(table.sum(1, keepdims=True), 1)
    drawn = inside[np.ix_(*kept)]
    sides = [HeatmapAxis(_title(c), tuple(n[i] for i in k)) for c, n, k in zip(columns, labels, kept, strict=True)]
    sentence = _level_sentence(columns, labels, table, relation)
    words = f"Shares of {columns[1].name} inside each level of {columns[0].name}: {sentence}."
    said = [[percent_fixed(each, 0) for each in row] for row in drawn.tolist()]
    picture = heatmap(drawn, sides[0], sides[1], words, written=said, top=1.0)
    return AssociationFigure(sentence, picture, "shares", _left_out(len(kept[0]), int((table.sum(1) > 0).sum())))


def _level_sentence(
    columns: Sequence[Column], labels: Sequence[Sequence[str]], table: FloatArray, relation: Association
) -> str:
    if relation.measure != CRAMER:
        return trend_sentence(columns[0].name, columns[1].name, relation.value)
    expected = np.outer(table.sum(1), table.sum(0)) / max(table.sum(), 1.0)
    excess = (table - expected) / np.sqrt(np.maximum(expected, 1e-9))
    one, other = divmod(int(np.argmax(excess.round(9))), table.shape[1])
    within, overall = table[one, other] / table[one].sum(), table[:, other].sum() / table.sum()
    return level_sentence(
        (columns[0].name, labels[0][one]),
        (columns[1].name, labels[1][other]),
        (share(float(within)), share(float(overall))),
        relation.value,
    )
