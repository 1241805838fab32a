"""The strongest associations of released rows, measured on the released rows alone."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from sfumato.metrics.association import STRONG, Association, AssociationRows, evenly_spaced, has_association
from sfumato.metrics.rows_view import RowsView

MOST_SHOWN, FEWEST_SHOWN = 60, 4
"""Associations that a page shows, the strongest first; the second also where none is strong."""
WEAKEST = 0.1


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
