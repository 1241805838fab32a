"""The data section of a report: column cards, marginals, curves and associations.

A picture is an addition to a release that is paid for: where one cannot be drawn, the page says so and goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfumato.bundle.description import replanned_forecast
from sfumato.bundle.document import ReleaseDocument, Tables, released_schema
from sfumato.formatting import counted
from sfumato.mechanisms.hierarchical_histogram import LAYER_WORDS
from sfumato.metrics.association import STRONG
from sfumato.metrics.rows_view import read_rows_view
from sfumato.report.cards import ColumnCard
from sfumato.report.release_page.association_cards import (
    AssociationCard,
    column_graph_of,
    measured_graph,
    relation_cards,
)
from sfumato.report.release_page.column_cards import column_cards
from sfumato.report.release_page.marginal_cards import marginal_card, released_marginals
from sfumato.report.release_page.marginal_maps import is_small_enough, map_card
from sfumato.report.release_page.relations import Associations, strongest_associations
from sfumato.report.texts import Texts
from sfumato.report.texts.associations import found_words, read_words
from sfumato.schema import Schema

if TYPE_CHECKING:
    pass

say = Texts("release")


def row_summary(rows: int, columns: int, layered: bool, formal: bool) -> tuple[str, ...]:
    """Say what is drawn of released rows.

    >>> row_summary(1, 2, False, False)
    ('Shares of 1 released row in 2 columns.',)
    """
    shares = say("data.shares", rows=counted(rows, "released row"), columns=counted(columns, "column"))
    return (shares, *[say("data.layered")] * layered, *[say("data.chance")] * formal)


def marginal_summary(tables: int, left_out: int) -> tuple[str, ...]:
    """Say what is drawn of count tables.

    >>> marginal_summary(1, 0)
    ('The counts of 1 released table. Counts below 0 are drawn like 0; the tables of values hold the numbers.',)
    """
    more = f" {say('data.more_tables', tables=counted(left_out, 'more table'))}" if left_out else ""
    return (f"{say('data.counts', tables=counted(tables, 'released table'))}{more}",)


ColumnSet = tuple[str, ...]


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


def data_section(document: ReleaseDocument, schema: Schema, tables: Tables, truth: Any = None) -> dict[str, Any]:
    """Return what released_data.html.j2 shows; ``truth`` are true counts or values, in the custodian's copy alone."""
    shown = {"rows": _rows_shown, "counts": _counts_shown, "values": _values_shown}[document.method.makes]
    return EMPTY | shown(document, schema, tables, truth)


def marginals_for_true_counts(document: ReleaseDocument, schema: Schema, tables: Tables) -> list[ColumnSet]:
    """Return the column sets of which the custodian's copy needs true counts."""
    return list(tables) if document.method.makes == "counts" else [(schema.releasable[0],)]


def _rows_shown(document: ReleaseDocument, schema: Schema, tables: Tables, truth: Any) -> dict[str, Any]:
    rows = next(iter(tables.values()))
    points = read_rows_view(rows, released_schema(schema, rows.column_names), rows.column_names)
    graph = column_graph_of(document, schema)
    associations = strongest_associations(points)
    forecast = replanned_forecast(document, schema)
    relations = relation_cards(associations, graph, None if forecast is None else forecast.smallest_relation)
    cards = _with_relations(column_cards(document, points), associations, relations)
    return {
        "cards": cards,
        "relations": relations,
        "relation_words": _association_text(associations, len(points)),
        "measured": measured_graph(graph),
        "data_words": row_summary(len(points), len(cards), _layered(document), document.guarantee.formal),
        "orders": _orders(cards, relations),
        "keys": _keys(cards),
    }


def _layered(document: ReleaseDocument) -> bool:
    return any(stage.name.endswith(f": {LAYER_WORDS[0]}") for stage in document.stages)


def _association_text(associations: Associations, rows: int) -> tuple[str, ...]:
    """Say how many relations there are, and what they were measured on."""
    if not associations.pairs:
        return ()
    basis = read_words(len(associations.points), rows, associations.left_out)
    basis = f"{basis} {say('associations.strength')}" if associations.relations else basis
    return found_words(len(associations.relations), associations.strong, associations.pairs, STRONG), basis


def _with_relations(
    cards: Sequence[ColumnCard], associations: Associations, relations: Sequence[AssociationCard]
) -> list[ColumnCard]:
    """Return the cards of columns, each with a link to its strongest relation."""
    best: dict[int, tuple[str, str, str]] = {}
    for relation, card in zip(associations.relations, relations, strict=True):
        for place, other in ((relation.one, relation.other), (relation.other, relation.one)):
            words = f"Strongest relation: {associations.points.columns[other].name} ({relation.value:.2f})"
            best.setdefault(place, (words, card.place, f"{relation.strength:.4f}"))
    return [
        replace(
            card,
            links=((best[place][0], best[place][1]),) if place in best else (),
            orders={**card.orders, "related": best[place][2] if place in best else "0"},
        )
        for place, card in enumerate(cards)
    ]


def _orders(cards: Sequence[ColumnCard], relations: Sequence[AssociationCard]) -> list[tuple[str, str]]:
    orders = list(EMPTY["orders"])
    if any(card.missing and card.missing.released_length for card in cards):
        orders.append(("missing", "most missing first"))
    return [*orders, ("related", "strongest relation first")] if relations else orders


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
    marginals = released_marginals(document, schema, tables, truth)
    maps = [table for table in marginals if len(table.columns) > 1 and is_small_enough(table)]
    singles = [table for table in marginals if len(table.columns) == 1]
    large = [table for table in marginals if len(table.columns) > 1 and not is_small_enough(table)]
    summed = [table.summed(axis) for table in large for axis in range(len(table.columns))]
    cards = [marginal_card(i, table) for i, table in enumerate([*singles, *summed], 1)]
    return {
        "cards": cards,
        "maps": [map_card(i, table) for i, table in enumerate(maps[:MOST_TABLES], 1)],
        "data_words": marginal_summary(len(marginals), max(len(maps) - MOST_TABLES, 0)),
        "keys": _keys(cards),
    }


def _values_shown(document: ReleaseDocument, schema: Schema, tables: Tables, truth: Any) -> dict[str, Any]:
    from sfumato.report.release_page.curves import value_figures

    return {"figures": value_figures(tables, truth)}
