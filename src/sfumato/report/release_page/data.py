"""The data section of a report: column cards, marginals, curves and associations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from sfumato.bundle.description import replanned_forecast
from sfumato.bundle.document import ReleaseDocument, Tables, released_schema
from sfumato.formatting import counted, format_number
from sfumato.mechanisms.hierarchical_histogram import LAYER_WORDS
from sfumato.metrics.association import STRONG
from sfumato.metrics.rows_view import read_rows_view
from sfumato.report.cards import ColumnCard, TableBlock
from sfumato.report.charts.marks import Axis, LineMark, Lines
from sfumato.report.release_page.associations import (
    AssociationCard,
    Associations,
    column_graph_of,
    measured_graph,
    relation_cards,
    strongest_associations,
)
from sfumato.report.release_page.column_cards import column_cards
from sfumato.report.release_page.marginals import is_small_enough, map_card, marginal_card, released_marginals
from sfumato.report.texts import Texts
from sfumato.report.texts.associations import found_words, read_words
from sfumato.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

say = Texts("release")
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
SPREAD = "noise_sd"
BAND = 1.96
MOST_VALUES = 150
MOVES = "The band holds 95 % of the noise at each point; the noise of neighbouring points moves together."


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
    return {"figures": value_figures(tables, truth)}


@dataclass(frozen=True)
class CurveFigure:
    """A curve or a number with its noise, and the values behind it."""

    place: str
    name: str
    notes: tuple[str, ...]
    number: str
    """A single number in large type; empty for a curve."""
    picture: Markup | None
    values: TableBlock


def value_figures(
    tables: Mapping[ColumnSet, pa.Table], truth: Mapping[ColumnSet, pa.Table] | None = None
) -> list[CurveFigure]:
    """Return a figure for every released table of numbers."""
    return [
        (_curve if _is_curve(table) else _number)(f"value-{i}", table, None if truth is None else truth[names])
        for i, (names, table) in enumerate(tables.items(), 1)
    ]


def _is_curve(table: pa.Table) -> bool:
    """Whether a table is a curve: place, value, spread of the noise, and more than one line."""
    return table.num_rows > 1 and table.num_columns == 3 and table.column_names[2] == SPREAD


def _curve(place: str, table: pa.Table, truth: pa.Table | None) -> CurveFigure:
    along, value, _ = table.column_names
    x, y, sd = (column.to_pylist() for column in table.columns)
    true = None if truth is None else truth.column(1).to_pylist()
    low, high = ([b + way * BAND * s for b, s in zip(y, sd, strict=True)] for way in (-1, 1))
    items = [LineMark("released", x, y, low, high, note="with 95 % of its noise")]
    if true is not None:
        items.append(LineMark("true (confidential)", x, true, dashed=True))
    title = f"{value} by {along}".replace("_", " ")
    words = (
        f"Curve of the released {value} against {along}: {format_number(len(x))} points from {y[0]:.4g} to "
        f"{y[-1]:.4g}, lowest "
        f"{min(y):.4g}, highest {max(y):.4g}; 95 % of the noise within ± {BAND * max(sd):.3g}."
    )
    picture = Lines(items, Axis(along), Axis(value)).html(words)
    return CurveFigure(place, title, (MOVES,), "", picture, _lines(table, true))


def _lines(table: pa.Table, true: list[float] | None) -> TableBlock:
    along, value, _ = table.column_names
    rows = [
        (format_number(x), f"{y:.6g}", f"± {BAND * sd:.3g}", *(() if true is None else (f"{true[i]:.6g}",)))
        for i, (x, y, sd) in enumerate(zip(*(column.to_pylist() for column in table.columns), strict=True))
    ]
    header = (along, f"released {value}", "95 % of the noise", *(() if true is None else (f"true {value}",)))
    return TableBlock.of_numbers(header, tuple(rows[:MOST_VALUES]), max(len(rows) - MOST_VALUES, 0))


def _number(place: str, table: pa.Table, truth: pa.Table | None) -> CurveFigure:
    """Return a single number in large type with its noise, or several as a table."""
    names = table.column_names
    at = names.index(SPREAD) - 1 if SPREAD in names else len(names) - 1
    true = None if truth is None else truth.column(at).to_pylist()
    rows = [
        (*map(_plain, line.values()), *(() if true is None else (_plain(true[i]),)))
        for i, line in enumerate(table.to_pylist())
    ]
    header = (*(name.replace("_", " ") for name in names), *(() if true is None else ("true (confidential)",)))
    notes: list[str] = []
    if len(rows) == 1 and SPREAD in names:
        notes.append(f"The noise has a standard deviation of {table.column(SPREAD)[0].as_py():.3g}.")
    if len(rows) == 1 and true is not None:
        notes.append(f"Without noise it is {_plain(true[0])}: confidential.")
    number = rows[0][at] if len(rows) == 1 else ""
    return CurveFigure(
        place, names[at].replace("_", " "), tuple(notes), number, None, TableBlock.of_numbers(header, tuple(rows))
    )


def _plain(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
