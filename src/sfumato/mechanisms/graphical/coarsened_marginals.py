"""Candidate marginals at several resolutions: columns on merged groups.

A pair is offered at its columns' own groups and at about half of them, a larger set at few groups only: its table has
a cell for each combination. The score of a look is its distance from the model less what noise would leave
(:mod:`.pick`), so the private choice decides whether four columns at two groups are worth more than a pair at sixteen.
What resolutions there are follows from noisy one-way tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.graphical.domain_compression import Groups
from sfumato.mechanisms.graphical.junction_tree.graphical_model import GraphicalModel
from sfumato.mechanisms.graphical.junction_tree.junction_tree import Clique
from sfumato.mechanisms.graphical.junction_tree.linear_measurement import Coarsening, GroupSum, coarse_shape

Item = TypeVar("Item")
LARGE_SET_GROUPS = 4
"""Groups of a column, at most, in a set of more than two columns."""
LEAST_PART, COARSER_WEIGHT = 0.4, 0.85
"""A pair is offered at this part of its groups or more, and coarser looks have this part of the weight. Chosen on
Adult, hmeq, california_housing and diamonds together, two seeds each: coarser or more freely offered looks cost Adult's
pairs 4 to 7 %, none at all cost the correlations of the other three."""


class CoarsenedMarginal(NamedTuple):
    """A set of columns, and the number of groups at which its ordered columns are seen: None for the model's own."""

    clique: Clique
    groups: int | None = None


class Resolutions:
    """For each column, by number of groups, which of these each of the model's groups lies in."""

    def __init__(self, sizes: Sequence[int], coarser: Sequence[Mapping[int, Groups]] = ()) -> None:
        self.sizes = tuple(sizes)
        self.coarser = tuple(coarser) or tuple({} for _ in sizes)
        self._pools: dict[CoarsenedMarginal, GroupSum] = {}

    def maps(self, look: CoarsenedMarginal) -> Coarsening:
        """Return the map of each axis of a look; None where all are at the model's groups."""
        if look.groups is None:
            return None
        found = tuple(self.coarser[column].get(look.groups) for column in look.clique)
        return None if all(groups is None for groups in found) else found

    def shape(self, look: CoarsenedMarginal) -> tuple[int, ...]:
        """Return the shape of a look's table."""
        return coarse_shape([self.sizes[column] for column in look.clique], self.maps(look))

    def cells(self, look: CoarsenedMarginal) -> int:
        """Return how many cells a look's table has."""
        return prod(self.shape(look))

    def looks(self, clique: Clique) -> Iterator[CoarsenedMarginal]:
        """Yield every different look at a set of columns, the finest first."""
        levels = sorted({level for column in clique for level in self.coarser[column]}, reverse=True)
        yield CoarsenedMarginal(clique)
        yield from (CoarsenedMarginal(clique, level) for level in levels)

    def finest(self, clique: Clique) -> CoarsenedMarginal:
        """Return the finest look at which a set is counted: few groups where it has more than two columns."""
        wide = len(clique) > 2 and any(self.sizes[c] > LARGE_SET_GROUPS and self.coarser[c] for c in clique)
        return CoarsenedMarginal(clique, LARGE_SET_GROUPS) if wide else CoarsenedMarginal(clique)

    def summed(self, look: CoarsenedMarginal, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a table at the model's groups, summed to those of a look."""
        maps = self.maps(look)
        if maps is None:
            return table
        if look not in self._pools:
            self._pools[look] = GroupSum.of(table.shape, maps)
        return self._pools[look].summed(table)

    def pool(self, finer: CoarsenedMarginal, look: CoarsenedMarginal) -> GroupSum:
        """Return how a finer look's table is summed to a coarser one of the same columns."""
        maps = [_between(inner, outer) for inner, outer in zip(self._all(finer), self._all(look), strict=True)]
        return GroupSum.of(self.shape(finer), tuple(maps))

    def at(self, groups: int | None) -> dict[int, Groups]:
        """Return the map of every column that has one at a number of groups."""
        return {c: maps[groups] for c, maps in enumerate(self.coarser) if groups is not None and groups in maps}

    def _all(self, look: CoarsenedMarginal) -> tuple[Groups | None, ...]:
        return self.maps(look) or (None,) * len(look.clique)


def _between(inner: Groups | None, outer: Groups | None) -> Groups | None:
    """Return the map from the groups of one resolution to those of a coarser one."""
    if outer is None:
        return None
    if inner is None:
        return outer
    found = np.zeros(int(inner.max()) + 1, np.int32)
    found[inner] = outer
    return found


def in_batches(
    items: Iterable[Item], cells: Callable[[Item], int], most_cells: int, most_items: float = math.inf
) -> Iterator[list[Item]]:
    """Yield items in their order, as many at once as have no more cells together; at least one.

    >>> list(in_batches([3, 4, 5, 9], cells=int, most_cells=8))
    [[3, 4], [5], [9]]
    """
    part, held = list[Item](), 0
    for item in items:
        needed = cells(item)
        if part and (held + needed > most_cells or len(part) >= most_items):
            yield part
            part, held = [], 0
        part.append(item)
        held += needed
    if part:
        yield part


def candidate_marginals(
    cliques: Sequence[Clique], resolutions: Resolutions, most_cells: float
) -> list[CoarsenedMarginal]:
    """Return the looks that may be chosen, for every set of columns.

    Pairs are seen at all groups and at about half of them: a coarser look is seldom what is missing, and each one
    offered makes the choice a little more random. Larger sets are seen at few groups, where cells are not too many.
    """
    found: list[CoarsenedMarginal] = []
    for clique in cliques:
        if len(clique) <= 2:
            most = max((resolutions.sizes[column] for column in clique if resolutions.coarser[column]), default=0)
            found += [k for k in resolutions.looks(clique) if k.groups is None or k.groups >= LEAST_PART * most]
        else:
            finest = resolutions.finest(clique).groups
            looks = [k for k in resolutions.looks(clique) if finest is None or (k.groups or np.inf) <= finest]
            found += [look for look in looks if resolutions.cells(look) <= most_cells]
    return found


def candidate_weight(look: CoarsenedMarginal, weight: int) -> int:
    """Return the weight of a look in the choice: a coarser look at a pair must show a little more than the finest."""
    coarser = len(look.clique) <= 2 and look.groups is not None
    return round(weight * COARSER_WEIGHT) if coarser else weight


def model_marginals(
    model: GraphicalModel, looks: Sequence[CoarsenedMarginal], resolutions: Resolutions
) -> dict[CoarsenedMarginal, NDArray[np.float64]]:
    """Return what the model says of every look: pairs are asked for once and summed, larger sets asked for coarsely."""
    exact = {look.clique for look in looks if len(look.clique) <= 2 or resolutions.maps(look) is None}
    tables, found = model.marginals(sorted(exact)), dict[CoarsenedMarginal, NDArray[np.float64]]()
    larger: dict[int | None, list[CoarsenedMarginal]] = {}
    for look in looks:
        if look.clique in exact:
            found[look] = resolutions.summed(look, tables[look.clique])
        else:
            larger.setdefault(look.groups, []).append(look)
    for groups, some in larger.items():
        told = model.coarse_marginals([look.clique for look in some], resolutions.at(groups))
        found |= {look: told[look.clique] for look in some}
    return found
