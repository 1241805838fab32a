"""Strong relations of released rows as cards: a sentence, a picture that fits the two columns, and what noise took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from sfumato.arrays import Array
from sfumato.comparison.columns import chart_edges
from sfumato.report.charts.by_level import Spread, by_level
from sfumato.report.charts.graph import Graph, Pair
from sfumato.report.charts.heat import Side, fits_across, heat
from sfumato.report.charts.ticks import written
from sfumato.report.column_card import MISSING, largest, share
from sfumato.report.released.points import Points, level_words
from sfumato.report.released.relations import CRAMER, RANKS, Found, Relation, cross
from sfumato.report.words.relations import differs, differs_somehow, lost_words, measured_words, rises, together
from sfumato.schema.column import Column

MOST_LEVELS = 10
"""Levels of a column in a picture of two: those with most rows."""
FEWEST_ROWS = 10
"""Rows that a group needs, so that its median says something."""
LEVELS_OF_SPREAD = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class RelationCard:
    """One relation: what it says, what it looks like, and how far it can be trusted."""

    place: str
    names: tuple[str, str]
    sentence: str
    strength: str
    picture: Markup
    kind: str
    """map, boxes or shares: which legend explains it."""
    remark: str


def relation_cards(found: Found, graph: Graph | None, smallest: float | None) -> list[RelationCard]:
    """Return a card for every relation that is shown, strongest first."""
    noise = {} if graph is None else graph.lines
    return [_card(number, found.points, each, noise, graph, smallest) for number, each in enumerate(found.relations, 1)]


def _card(
    number: int,
    points: Points,
    relation: Relation,
    noise: Mapping[Pair, float],
    graph: Graph | None,
    smallest: float | None,
) -> RelationCard:
    shown = shown_relation(points, relation)
    names = points.columns[relation.one].name, points.columns[relation.other].name
    one, other = sorted(names)
    remarks = (
        shown.caption,
        measured_words(noise.get((one, other)), graph is not None),
        lost_words(relation.strength, smallest),
    )
    return RelationCard(
        f"relation-{number}",
        names,
        shown.sentence,
        f"{relation.strength:.4f}",
        shown.picture,
        shown.kind,
        " ".join(remark for remark in remarks if remark),
    )


@dataclass(frozen=True)
class Shown:
    """A relation in words and as a picture."""

    sentence: str
    picture: Markup
    kind: str
    """map, boxes or shares: which legend explains it."""
    caption: str = ""


def shown_relation(points: Points, relation: Relation) -> Shown:
    """Return the sentence and the picture that fit the kinds of two columns."""
    places = relation.one, relation.other
    columns = [points.columns[place] for place in places]
    values = [points.values[place] for place in places]
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


def _two_numbers(columns: Sequence[Column], values: Sequence[Array], value: float) -> Shown:
    """Return a map of two numbers over the range that most rows occupy, and the median along it."""
    known = ~np.isnan(values[0]) & ~np.isnan(values[1])
    down, across = (each[known] for each in values)
    edges = [chart_edges(column, each) for column, each in zip(columns, (down, across), strict=True)]
    table, _, _ = np.histogram2d(down, across, bins=edges)
    sides = [Side(_title(c), edges=tuple(e.tolist()), kind=c.kind) for c, e in zip(columns, edges, strict=True)]
    sentence = rises(columns[0].name, columns[1].name, value)
    words = f"Map of {columns[0].name} against {columns[1].name}: {sentence}."
    line = _medians(down, across, edges[1], (float(edges[0][0]), float(edges[0][-1])))
    return Shown(sentence, heat(table, sides[0], sides[1], words, line=line), "map")


def _medians(values: Array, along: Array, edges: Array, ends: tuple[float, float]) -> list[tuple[float, float]]:
    """Return the median in each cell of the other column that has rows enough."""
    cells = np.searchsorted(edges, along, side="right") - 1
    found: list[tuple[float, float]] = []
    for cell in range(len(edges) - 1):
        inside = values[cells == cell]
        if len(inside) >= FEWEST_ROWS:
            middle = min(max(float(np.median(inside)), ends[0]), ends[1])
            found.append((float(edges[cell] + edges[cell + 1]) / 2, middle))
    return found


def _by_groups(columns: Sequence[Column], values: Sequence[Array], relation: Relation) -> Shown:
    """Return a number by the levels of the other column."""
    (number, group), (numbers, codes) = columns, values
    labels = level_words(group)
    inside = [numbers[(codes == code) & ~np.isnan(numbers)] for code in range(len(labels))]
    kept = [code for code in largest([len(each) for each in inside], MOST_LEVELS) if len(inside[code]) >= FEWEST_ROWS]
    spreads = [Spread(labels[code], _five(inside[code])) for code in kept]
    sentence = _group_sentence(number, group, spreads, relation)
    low, high = _ends(spreads, number)
    words = f"{number.name} for {len(spreads)} levels of {group.name}: {sentence}."
    drawn = by_level(spreads, Side(_title(number), edges=(low, high), kind=number.kind), _title(group), words)
    return Shown(sentence, drawn, "boxes", _left_out(len(kept), len(labels)))


def _left_out(kept: int, levels: int) -> str:
    return f"Drawn are the {kept} largest of {levels} levels." if kept < levels else ""


def _five(values: Array) -> tuple[float, float, float, float, float]:
    low, first, middle, third, high = np.quantile(values, LEVELS_OF_SPREAD).tolist()
    return low, first, middle, third, high


def _ends(spreads: Sequence[Spread], number: Column) -> tuple[float, float]:
    """Return the range that all groups occupy."""
    if not spreads:
        return number.numeric_bounds
    low, high = min(each.values[0] for each in spreads), max(each.values[4] for each in spreads)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _group_sentence(number: Column, group: Column, spreads: Sequence[Spread], relation: Relation) -> str:
    if relation.measure == RANKS:
        return rises(number.name, group.name, relation.value)
    order = sorted(spreads, key=lambda each: each.values[2])
    if len(order) < 2 or order[0].values[2] == order[-1].values[2]:
        return differs_somehow(number.name, group.name, relation.value)
    medians = {each.label: written(each.values[2], number.kind) for each in (order[0], order[-1])}
    return differs(number.name, group.name, medians, relation.value)


def _two_levels(columns: Sequence[Column], values: Sequence[Array], relation: Relation) -> Shown:
    """Return the shares of one column's levels inside each level of the other."""
    labels = [(*level_words(column), MISSING) for column in columns]
    table = cross(*(np.where(np.isnan(v), len(n) - 1, v).astype(np.int64) for v, n in zip(values, labels, strict=True)))
    kept = [largest(table.sum(axis).tolist(), MOST_LEVELS) for axis in (1, 0)]
    kept = [
        [place for place in places if table.sum(axis)[place] > 0] for axis, places in zip((1, 0), kept, strict=True)
    ]
    inside = table / np.maximum(table.sum(1, keepdims=True), 1)
    drawn = inside[np.ix_(*kept)]
    sides = [Side(_title(c), tuple(n[i] for i in k)) for c, n, k in zip(columns, labels, kept, strict=True)]
    sentence = _level_sentence(columns, labels, table, relation)
    words = f"Shares of {columns[1].name} inside each level of {columns[0].name}: {sentence}."
    said = [[f"{100 * each:.0f} %" for each in row] for row in drawn.tolist()]
    picture = heat(drawn, sides[0], sides[1], words, written=said, top=1.0)
    return Shown(sentence, picture, "shares", _left_out(len(kept[0]), int((table.sum(1) > 0).sum())))


def _level_sentence(
    columns: Sequence[Column], labels: Sequence[Sequence[str]], table: Array, relation: Relation
) -> str:
    if relation.measure != CRAMER:
        return rises(columns[0].name, columns[1].name, relation.value)
    expected = np.outer(table.sum(1), table.sum(0)) / max(table.sum(), 1.0)
    excess = (table - expected) / np.sqrt(np.maximum(expected, 1e-9))
    one, other = divmod(int(np.argmax(excess.round(9))), table.shape[1])
    within, overall = table[one, other] / table[one].sum(), table[:, other].sum() / table.sum()
    return together(
        (columns[0].name, labels[0][one]),
        (columns[1].name, labels[1][other]),
        (share(float(within)), share(float(overall))),
        relation.value,
    )
