"""Functional dependences in the model: pair weights, and values that agree with a map.

A model draws the groups of ``score`` and ``text`` together and then a fine cell of the score, which may belong to
another text. Where the group has cells that go with the drawn text, the row takes one of those, by their shares: then
the text keeps its relations to all other columns. What no cell of the group allows is left to the map.

A dependence without a public map takes its map from here (:mod:`sfumato.constraints.functional_dependence`): the
same for all rows that are ever drawn from the model, for nothing but the model's own numbers goes in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import FloatArray
from sfumato.constraints.pair_weights import ColumnPartition, partition_of, plain_value
from sfumato.mechanisms.graphical.domain_compression import Grouping
from sfumato.mechanisms.graphical.within_group_values import values_in_fine_cells
from sfumato.sampling.values import Masked, Values, codes_of, levels_of
from sfumato.schema import Schema
from sfumato.schema.functional_dependence import DependenceMap, dependence_map


def move_within_groups(
    bound: Schema, groupings: Sequence[Grouping], codes: NDArray[Any], values: Values, generator: np.random.Generator
) -> Values:
    """Return the rows with values of determining columns moved inside their groups; ``codes`` are rows of groups."""
    places = {grouping.column.name: place for place, grouping in enumerate(groupings)}
    moved = dict(values)
    for rule in bound.rules:
        if rule.dependence is None or rule.map is None or not set(rule.columns) <= set(places):
            continue
        source, target = (places[name] for name in rule.columns)
        lookup = dependence_map(rule.map, *(bound[name] for name in rule.columns))
        wanted = codes[:, source].astype(np.int64) * groupings[target].size + codes[:, target]
        moved[rule.columns[0]] = _moved(
            groupings[source], _cells_by_pair(groupings[source], groupings[target], lookup), wanted, moved, generator
        )
    return moved


def _cells_by_pair(source: Grouping, target: Grouping, lookup: DependenceMap) -> NDArray[np.int64]:
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
    fresh, gone = values_in_fine_cells(source.column, cells, generator.random(len(cells)))
    data, missing = data.copy(), missing.copy()
    data[rows], missing[rows] = fresh, gone
    return data, missing


class HasMarginals(Protocol):
    """What is asked of a model."""

    def marginal(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """Return expected counts of a set of columns."""
        ...


@dataclass(frozen=True)
class ModelPairWeights:
    """The groups of a model as places, and its pair tables as weights."""

    groupings: Sequence[Grouping]
    model: HasMarginals
    noise: float = 0.0
    """Standard deviation of the noise of a measured count."""

    def cut(self, name: str) -> ColumnPartition:
        """Return the groups of a column; each stands for its middle cell by mass, or for its commonest level."""
        grouping = self.groupings[self._number(name)]
        column, middle = grouping.column, _middle_codes(grouping)
        values, missing = values_in_fine_cells(column, np.arange(column.size), np.full(column.size, 0.5))
        plain = [plain_value(column, value, bool(none)) for value, none in zip(values, missing, strict=True)]
        heads = [plain[code] for code in middle]
        if not grouping.has_order:
            return partition_of(column, grouping.groups, heads)
        cut = partition_of(column, grouping.groups, heads, grouping.shares)
        inner = tuple(tuple(plain[code] for code in np.flatnonzero(grouping.groups == g)) for g in range(grouping.size))
        return replace(cut, inner=inner)

    def weights(self, source: str, target: str) -> FloatArray:
        """Return the expected counts of two columns."""
        return np.maximum(self.model.marginal([self._number(source), self._number(target)]), 0.0)

    def _number(self, name: str) -> int:
        return next(n for n, grouping in enumerate(self.groupings) if grouping.column.name == name)


def _middle_codes(grouping: Grouping) -> NDArray[np.int64]:
    """Return the fine code for which each group stands."""
    codes = np.zeros(grouping.size, np.int64)
    for group in range(grouping.size):
        inside = np.flatnonzero(grouping.groups == group)
        shares = grouping.shares[inside]
        middle = np.searchsorted(np.cumsum(shares), shares.sum() / 2) if grouping.has_order else shares.argmax()
        codes[group] = inside[min(int(middle), len(inside) - 1)]
    return codes
