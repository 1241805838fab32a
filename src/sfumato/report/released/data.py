"""The data of a release: from released tables alone, and true counts in the custodian's copy.

A picture is an addition to a release that is paid for: where one cannot be drawn, the page says so and goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfumato.comparison.relations import STRONG
from sfumato.report.column_card import ColumnCard
from sfumato.report.document import ReleaseDocument, released_schema
from sfumato.report.foretold import foretold
from sfumato.report.released.columns import row_cards
from sfumato.report.released.count_maps import is_drawn, map_card
from sfumato.report.released.counts import count_card, count_tables
from sfumato.report.released.measured import graph_of, measured_together
from sfumato.report.released.points import Points
from sfumato.report.released.relation_cards import RelationCard, relation_cards
from sfumato.report.released.relations import Found, relations_of
from sfumato.report.words.data import count_words, row_words
from sfumato.report.words.relations import STRENGTH, found_words, read_words
from sfumato.rows.smooth.layers import LAYER_WORDS
from sfumato.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

ColumnSet = tuple[str, ...]
Tables = Mapping[ColumnSet, "pa.Table"]
MOST_TABLES = 60
"""Count tables that are drawn."""
EMPTY: dict[str, Any] = {
    "cards": [],
    "maps": [],
    "figures": [],
    "relations": [],
    "measured": None,
    "data_words": (),
    "relation_words": (),
    "orders": [("place", "as in the table"), ("name", "by name")],
    "keys": {},
}


def data_shown(document: ReleaseDocument, schema: Schema, tables: Tables, truth: Any = None) -> dict[str, Any]:
    """Return what released_data.html.j2 shows; ``truth`` are true counts or values, in the custodian's copy alone."""
    shown = {"rows": _rows_shown, "counts": _counts_shown, "values": _values_shown}[document.method.makes]
    return EMPTY | shown(document, schema, tables, truth)


def drawn_sets(document: ReleaseDocument, schema: Schema, tables: Tables) -> list[ColumnSet]:
    """Return the column sets of which the custodian's copy needs true counts."""
    return list(tables) if document.method.makes == "counts" else [(schema.releasable[0],)]


def _rows_shown(document: ReleaseDocument, schema: Schema, tables: Tables, truth: Any) -> dict[str, Any]:
    rows = next(iter(tables.values()))
    points = Points.of(released_schema(schema, rows.column_names), rows)
    graph = graph_of(document, schema)
    found = relations_of(points)
    forecast = foretold(document, schema)
    relations = relation_cards(found, graph, None if forecast is None else forecast.smallest_relation)
    cards = _with_relations(row_cards(document, points), found, relations)
    return {
        "cards": cards,
        "relations": relations,
        "relation_words": _told(found, points.size),
        "measured": measured_together(graph),
        "data_words": row_words(points.size, len(cards), _layered(document), document.guarantee.formal),
        "orders": _orders(cards, relations),
        "keys": _keys(cards),
    }


def _layered(document: ReleaseDocument) -> bool:
    return any(stage.name.endswith(f": {LAYER_WORDS[0]}") for stage in document.stages)


def _told(found: Found, rows: int) -> tuple[str, ...]:
    """Say how many relations there are, and what they were measured on."""
    if not found.pairs:
        return ()
    return (
        found_words(len(found.relations), found.strong, found.pairs, STRONG),
        f"{read_words(found.points.size, rows, found.left_out)} {STRENGTH if found.relations else ''}".strip(),
    )


def _with_relations(cards: Sequence[ColumnCard], found: Found, relations: Sequence[RelationCard]) -> list[ColumnCard]:
    """Return the cards of columns, each with a link to its strongest relation."""
    best: dict[int, tuple[str, str, str]] = {}
    for relation, card in zip(found.relations, relations, strict=True):
        for place, other in ((relation.one, relation.other), (relation.other, relation.one)):
            words = f"Strongest relation: {found.points.columns[other].name} ({relation.value:.2f})"
            best.setdefault(place, (words, card.place, f"{relation.strength:.4f}"))
    return [
        replace(
            card,
            links=((best[place][0], best[place][1]),) if place in best else (),
            orders={**card.orders, "related": best[place][2] if place in best else "0"},
        )
        for place, card in enumerate(cards)
    ]


def _orders(cards: Sequence[ColumnCard], relations: Sequence[RelationCard]) -> list[tuple[str, str]]:
    found = list(EMPTY["orders"])
    if any(card.missing and card.missing.made_length for card in cards):
        found.append(("missing", "most missing first"))
    return [*found, ("related", "strongest relation first")] if relations else found


def _keys(cards: Sequence[ColumnCard]) -> dict[str, bool]:
    """Return which marks occur on the cards: the legend explains those and no others."""
    pictures = [str(card.picture) for card in cards if card.picture]
    bars = [bar for card in cards for bar in card.bars]
    return {
        "strip": any('class="noise"' in picture for picture in pictures),
        "whisker": any(bar.noise for bar in bars),
        "shape": any('class="shape"' in picture for picture in pictures),
        "true": any(card.two_sided for card in cards) or any('class="true"' in picture for picture in pictures),
        "missing": any(card.missing for card in cards),
    }


def _counts_shown(document: ReleaseDocument, schema: Schema, tables: Tables, truth: Any) -> dict[str, Any]:
    made = count_tables(document, schema, tables, truth)
    maps = [table for table in made if len(table.columns) > 1 and is_drawn(table)]
    singles = [table for table in made if len(table.columns) == 1]
    large = [table for table in made if len(table.columns) > 1 and not is_drawn(table)]
    summed = [table.summed(axis) for table in large for axis in range(len(table.columns))]
    cards = [count_card(i, table) for i, table in enumerate([*singles, *summed], 1)]
    return {
        "cards": cards,
        "maps": [map_card(i, table) for i, table in enumerate(maps[:MOST_TABLES], 1)],
        "data_words": count_words(len(made), max(len(maps) - MOST_TABLES, 0)),
        "keys": _keys(cards),
    }


def _values_shown(document: ReleaseDocument, schema: Schema, tables: Tables, truth: Any) -> dict[str, Any]:
    from sfumato.report.released.curves import value_figures

    return {"figures": value_figures(tables, truth)}
