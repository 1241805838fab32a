"""What is worst: columns, pairs and subgroups that lie clearly further away than a second real sample would."""

from __future__ import annotations

from typing import NamedTuple

from sfumato.comparison.result import Comparison
from sfumato.report.column_card import share
from sfumato.report.compared.columns import told_distance
from sfumato.report.compared.measures import nearness
from sfumato.report.released.columns import place_of


class Worst(NamedTuple):
    """One of the worst: what it is, where its card stands (if it has one), and how far off."""

    what: str
    place: str
    told: str
    nearness: str


def worst_columns(comparison: Comparison) -> list[Worst]:
    """Return the worst columns; each has a card."""
    found = {column.name: (place_of(i), column) for i, column in enumerate(comparison.columns, 1)}
    chosen = [found[name] for name in comparison.worst_columns if name in found]
    return [_worst(column.name, place, column.tvd, column.yardstick) for place, column in chosen]


def worst_relations(comparison: Comparison) -> list[Worst]:
    """Return the worst pairs; each has a card among the relations, if the comparison kept it."""
    places = {pair.names: (f"pair-{i}", pair) for i, pair in enumerate(comparison.pairs, 1)}
    rows: list[Worst] = []
    for names in comparison.worst_pairs:
        place, pair = places.get(names, ("", None))
        words = " and ".join(names)
        rows.append(Worst(words, "", "", "") if pair is None else _worst(words, place, pair.tvd, pair.yardstick))
    return rows


def worst_groups(comparison: Comparison) -> list[Worst]:
    """Return the worst subgroups, and the column in which they differ most."""
    return [
        _worst(
            f"{group.column} = {group.level} ({share(group.share)} of the rows): its {group.target}",
            "",
            group.tvd,
            group.yardstick,
        )
        for group in comparison.worst_subgroups
    ]


def _worst(what: str, place: str, tvd: float, yardstick: float) -> Worst:
    return Worst(what, place, f"distance {told_distance(tvd, yardstick)}", nearness(tvd, yardstick)[0])
