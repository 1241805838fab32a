"""Rows whose values inside a group contradict a map: another value of the same group may go with what was drawn.

A model draws the groups of ``score`` and ``text`` together and then a fine cell of the score, which may belong to
another text. Where the group has cells that go with the drawn text, the row takes one of those, by their shares: then
the text keeps its relations to all other columns. What no cell of the group allows is left to the map.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.methods.graphical.cells.expand import fine_values
from sfumato.methods.graphical.cells.groups import Grouping
from sfumato.rows.values import Masked, Values, codes_of, levels_of
from sfumato.schema import Schema
from sfumato.schema.determines import Lookup, lookup_of


def settled(
    bound: Schema, groupings: Sequence[Grouping], codes: NDArray[Any], values: Values, generator: np.random.Generator
) -> Values:
    """Return the rows with values of determining columns moved inside their groups; ``codes`` are rows of groups."""
    places = {grouping.column.name: place for place, grouping in enumerate(groupings)}
    moved = dict(values)
    for rule in bound.rules:
        if rule.dependence is None or rule.map is None or not set(rule.columns) <= set(places):
            continue
        source, target = (places[name] for name in rule.columns)
        lookup = lookup_of(rule.map, *(bound[name] for name in rule.columns))
        wanted = codes[:, source].astype(np.int64) * groupings[target].size + codes[:, target]
        moved[rule.columns[0]] = _moved(
            groupings[source], _cells_by_pair(groupings[source], groupings[target], lookup), wanted, moved, generator
        )
    return moved


def _cells_by_pair(source: Grouping, target: Grouping, lookup: Lookup) -> NDArray[np.int64]:
    """Return for each fine cell of the source the pair of its group and of the target's group, as one number."""
    column = source.column
    firsts = column.starts if column.is_ordered else levels_of(column)
    missing = np.arange(column.size) == column.present_size
    image = lookup.of(np.append(firsts, firsts[:1])[: column.size], missing)
    return source.groups.astype(np.int64) * target.size + target.groups[codes_of(target.column, *image)]


def _moved(
    source: Grouping,
    pairs: NDArray[np.int64],
    wanted: NDArray[np.int64],
    values: Values,
    generator: np.random.Generator,
) -> Masked:
    """Return the source with rows in the wrong pair of groups moved to cells of the right one, where it has any."""
    data, missing = values[source.column.name]
    order = np.argsort(pairs, kind="stable")
    upto = np.concatenate([[0.0], np.cumsum(source.shares[order])])
    wrong = np.flatnonzero(pairs[codes_of(source.column, data, missing)] != wanted)
    first, last = (np.searchsorted(pairs[order], wanted[wrong], side=side) for side in ("left", "right"))
    room = upto[last] - upto[first] > 0
    rows, first, last = wrong[room], first[room], last[room]
    sought = upto[first] + generator.random(len(rows)) * (upto[last] - upto[first])
    cells = order[np.clip(np.searchsorted(upto, sought, side="right") - 1, first, last - 1)].astype(np.int64)
    fresh, gone = fine_values(source.column, cells, generator.random(len(cells)))
    data, missing = data.copy(), missing.copy()
    data[rows], missing[rows] = fresh, gone
    return data, missing
