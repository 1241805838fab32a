"""Candidate marginals at several resolutions: columns on merged groups.

A pair is offered at its columns' own groups and at about half of them, a larger set at few groups only: its table has
a cell for each combination. The score of a marginal is its distance from the model less what noise would leave
(:mod:`~sfumato.mechanisms.graphical.exponential_mechanism`), so the private selection decides whether four columns at
two groups are worth more than a pair at sixteen. What resolutions there are follows from noisy one-way marginals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.graphical.domain_compression import Groups
from sfumato.mechanisms.graphical.junction_tree.graphical_model import GraphicalModel
from sfumato.mechanisms.graphical.junction_tree.junction_tree import Clique
from sfumato.mechanisms.graphical.junction_tree.linear_measurement import GroupSum, Query, coarse_shape

Item = TypeVar("Item")
LARGE_SET_GROUPS = 4
"""Groups of a column, at most, in a set of more than two columns."""
LEAST_PART, COARSER_WEIGHT = 0.4, 0.85
"""A pair is offered at this part of its groups or more, and coarser marginals have this part of the weight. Chosen on
Adult, hmeq, california_housing and diamonds together, two seeds each: coarser or more freely offered marginals cost
Adult's pairs 4 to 7 %, none at all cost the correlations of the other three."""


class CoarsenedMarginal(NamedTuple):
    """A set of columns, and the number of groups at which its ordered columns are seen: None for the model's own."""

    clique: Clique
    groups: int | None = None


class Resolutions:
    """For each column, by number of groups, which of these each of the model's groups lies in."""

    def __init__(
        self,
        sizes: Sequence[int],
        coarser: Sequence[Mapping[int, Groups]] = (),
        before: Sequence[Groups | None] = (),
        recounted: Collection[Clique] = (),
    ) -> None:
        self.sizes = tuple(sizes)
        self.coarser = tuple(coarser) or tuple({} for _ in sizes)
        self.before = tuple(before) or (None,) * len(self.sizes)
        """For a column whose groups were cut, in which group before all cuts each of them lies."""
        self.recounted = recounted
        """Cliques that are counted at the groups as they are cut; others stay at those before all cuts."""
        self._pools: dict[CoarsenedMarginal, GroupSum] = {}

    def cut(self, column: int, old_groups: Groups, recounted: Collection[Clique]) -> Resolutions:
        """Return the resolutions after groups of a column were cut; ``old_groups`` says which group each came from."""

        def cut(groups: Groups | None) -> Groups:
            return old_groups if groups is None else groups[old_groups]

        coarser, sizes, before = list(self.coarser), list(self.sizes), list(self.before)
        coarser[column] = {level: cut(groups) for level, groups in self.coarser[column].items()}
        sizes[column], before[column] = len(old_groups), cut(self.before[column])
        return Resolutions(sizes, coarser, before, recounted)

    def query(self, marginal: CoarsenedMarginal) -> Query:
        """Return the map of each axis of a marginal; None where all are at the model's groups."""
        maps = tuple(self._axis_map(marginal, column) for column in marginal.clique)
        return None if all(groups is None for groups in maps) else maps

    def _axis_map(self, marginal: CoarsenedMarginal, column: int) -> Groups | None:
        if marginal.groups is None and marginal.clique in self.recounted:
            return None
        coarse = None if marginal.groups is None else self.coarser[column].get(marginal.groups)
        return self.before[column] if coarse is None else coarse

    def shape(self, marginal: CoarsenedMarginal) -> tuple[int, ...]:
        """Return the shape of a marginal's table."""
        return coarse_shape([self.sizes[column] for column in marginal.clique], self.query(marginal))

    def cells(self, marginal: CoarsenedMarginal) -> int:
        """Return how many cells a marginal's table has."""
        return prod(self.shape(marginal))

    def resolutions_of(self, clique: Clique) -> Iterator[CoarsenedMarginal]:
        """Yield every different marginal at a set of columns, the finest first."""
        levels = sorted({level for column in clique for level in self.coarser[column]}, reverse=True)
        yield CoarsenedMarginal(clique)
        yield from (CoarsenedMarginal(clique, level) for level in levels)

    def finest(self, clique: Clique) -> CoarsenedMarginal:
        """Return the finest marginal at which a set is counted: few groups where it has more than two columns."""
        wide = len(clique) > 2 and any(self.sizes[c] > LARGE_SET_GROUPS and self.coarser[c] for c in clique)
        return CoarsenedMarginal(clique, LARGE_SET_GROUPS) if wide else CoarsenedMarginal(clique)

    def summed(self, marginal: CoarsenedMarginal, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a table at the model's groups, summed to those of a marginal."""
        maps = self.query(marginal)
        if maps is None:
            return table
        if marginal not in self._pools:
            self._pools[marginal] = GroupSum.of(table.shape, maps)
        return self._pools[marginal].summed(table)

    def pool(self, finer: CoarsenedMarginal, marginal: CoarsenedMarginal) -> GroupSum:
        """Return how a finer marginal's table is summed to a coarser one of the same columns."""
        maps = [_between(inner, outer) for inner, outer in zip(self._all(finer), self._all(marginal), strict=True)]
        return GroupSum.of(self.shape(finer), tuple(maps))

    def at(self, groups: int | None) -> dict[int, Groups]:
        """Return the map of every column that has one at a number of groups."""
        maps = [self.coarser[c].get(groups, before) if groups else before for c, before in enumerate(self.before)]
        return {column: each for column, each in enumerate(maps) if each is not None}

    def _all(self, marginal: CoarsenedMarginal) -> tuple[Groups | None, ...]:
        return self.query(marginal) or (None,) * len(marginal.clique)


def _between(inner: Groups | None, outer: Groups | None) -> Groups | None:
    """Return the map from the groups of one resolution to those of a coarser one."""
    if outer is None:
        return None
    if inner is None:
        return outer
    coarser = np.zeros(int(inner.max()) + 1, np.int32)
    coarser[inner] = outer
    return coarser


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
    """Return the marginals that may be chosen, for every set of columns.

    Pairs are seen at all groups and at about half of them: a coarser marginal is seldom what is missing, and each one
    offered makes the choice a little more random. Larger sets are seen at few groups, where cells are not too many.
    """
    offered: list[CoarsenedMarginal] = []
    for clique in cliques:
        every = resolutions.resolutions_of(clique)
        if len(clique) <= 2:
            most = max((resolutions.sizes[column] for column in clique if resolutions.coarser[column]), default=0)
            offered += [each for each in every if each.groups is None or each.groups >= LEAST_PART * most]
        else:
            finest = resolutions.finest(clique).groups
            coarse = [each for each in every if finest is None or (each.groups or np.inf) <= finest]
            offered += [each for each in coarse if resolutions.cells(each) <= most_cells]
    return offered


def candidate_weight(marginal: CoarsenedMarginal, weight: int) -> int:
    """Return the weight of a marginal in a selection: a coarser pair must show a little more than the finest."""
    coarser = len(marginal.clique) <= 2 and marginal.groups is not None
    return round(weight * COARSER_WEIGHT) if coarser else weight


def model_marginals(
    model: GraphicalModel, marginals: Sequence[CoarsenedMarginal], resolutions: Resolutions
) -> dict[CoarsenedMarginal, NDArray[np.float64]]:
    """Return the model's marginals: pairs are asked for once and summed, larger sets asked for coarsely."""
    exact = {each.clique for each in marginals if len(each.clique) <= 2 or resolutions.query(each) is None}
    tables, expected = model.marginals(sorted(exact)), dict[CoarsenedMarginal, NDArray[np.float64]]()
    larger: dict[int | None, list[CoarsenedMarginal]] = {}
    for marginal in marginals:
        if marginal.clique in exact:
            expected[marginal] = resolutions.summed(marginal, tables[marginal.clique])
        else:
            larger.setdefault(marginal.groups, []).append(marginal)
    for groups, some in larger.items():
        coarse = model.coarse_marginals([marginal.clique for marginal in some], resolutions.at(groups))
        expected |= {marginal: coarse[marginal.clique] for marginal in some}
    return expected
