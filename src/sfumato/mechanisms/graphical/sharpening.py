"""Sharpening: cut groups of a column where a measured pair breaks inside them.

Groups come from one-way counts, which do not know where a relation breaks. So beside the candidate marginals each round
offers every measured pair (c, d) for sharpening in its ordered column c. For an edge t between two cells of one group
of c, the table of two rows (the group left and right of t) by the groups of d has

    gain(t) = |left - model's left| + |right - model's right| - what noise would leave in these cells,

in L1 distances, where the model spreads a group over its cells by the released shares. The score of sharpening is the
sum over the groups of c of the best gain less a handicap (so that many edges do not win by their number), where that is
positive. If it is selected, each group of c is cut at most once: its edge is drawn by exponential weights on gain less
handicap, against no cut with weight 0. The model's groups are cut there, and the pair is measured at the cut groups.

Proof note. A row lies in one group of c, and for each t in one cell of left or right. If one person moves the counts of
group g by s_g in L1, each of its gains moves by at most s_g, and the s_g sum to at most S, the L1 sensitivity of a
histogram. max(0, max of gains) moves by no more, so the score of sharpening has the sensitivity of a marginal's score
and is selected among them at e^2 / 8. The draws of all groups are one selection of a vector: given the counts they are
independent, the log ratio of group g has a range of at most e s_g / S, and these sum to at most e. So the vector of
cuts is one e-bounded-range selection and costs e^2 / 8. Shares, handicaps, the model and the edges that are offered
follow from noisy answers and public numbers. A cut model is the old one written at finer groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import FloatArray
from sfumato.mechanisms.graphical.domain_compression import Grouping, Groups, has_order
from sfumato.mechanisms.graphical.exponential_mechanism import UNITS, expected_noise_l1, selection_rate
from sfumato.mechanisms.graphical.junction_tree.graphical_model import GraphicalModel
from sfumato.mechanisms.graphical.junction_tree.junction_tree import Clique
from sfumato.mechanisms.graphical.junction_tree.linear_measurement import LinearMeasurement, StructuralZeros

LEAST_SIGMAS = 2.0
"""Both sides of a cut hold at least this many standard deviations of the noise to come, by the noisy counts."""
MOST_FINE_CELLS = 3_000_000
"""Cells of all cliques together at the cells where groups may be cut: they are counted in one pass."""
LEAST_SHARE = 1e-9
Gains = Mapping[int, tuple[NDArray[np.int64], NDArray[np.int64]]]
"""For each group that may be cut: the edges, as numbers of cells, and the gain of each in units of a score."""


class Sharpening(NamedTuple):
    """A measured pair, and which of its two columns has its groups cut."""

    pair: Clique
    axis: int

    @property
    def column(self) -> int:
        """The column whose groups are cut."""
        return self.pair[self.axis]


@dataclass(frozen=True)
class CuttableGroups:
    """Groupings of all columns with the cells at which groups may be cut, and the true counts of pairs at these cells.

    Nothing of the counts leaves but through noise and selections.
    """

    groupings: tuple[Grouping, ...]
    """The groups of the model, as they are cut so far."""
    starts: tuple[NDArray[np.int64] | None, ...] = field(repr=False)
    """For each column the first code of every cell; None for columns whose groups are never cut."""
    noisy_counts: tuple[FloatArray, ...] = field(repr=False)
    """For each column the released counts of its codes."""
    counts: Mapping[Clique, NDArray[np.int64]] = field(repr=False)
    """True counts of cliques: columns that may be cut in cells, others in groups."""
    one_way: Callable[[int, Grouping], LinearMeasurement] = field(repr=False)
    """Sums the released counts of a column to other groups."""
    structural_zeros: Callable[[Sequence[Grouping]], Sequence[StructuralZeros]] = field(repr=False)

    def offered(self, measured: Sequence[Clique]) -> list[Sharpening]:
        """Return which measured pairs may be sharpened, and in which column."""
        pairs = [pair for pair in dict.fromkeys(measured) if len(pair) == 2 and pair in self.counts]
        every = [Sharpening(pair, axis) for pair in pairs for axis in (0, 1)]
        return [each for each in every if self.starts[each.column] is not None]

    def group_counts(self, clique: Clique) -> NDArray[np.int64]:
        """Return the true counts of a clique at the groups of the model."""
        counts = self.counts[clique]
        for axis, column in enumerate(clique):
            if self.starts[column] is not None:
                counts = np.add.reduceat(counts, self._first_cells(column), axis=axis)
        return counts

    def gains(self, model: GraphicalModel, sharpening: Sharpening, sigma: float, stddev: float) -> Gains:
        """Return the edges of each group of the column and what cutting there would explain.

        ``sigma`` is the noise of the measurement to come, ``stddev`` that of the pair so far.
        """
        column, other = sharpening.column, sharpening.pair[1 - sharpening.axis]
        counts, expected = self.counts[sharpening.pair], model.marginal(sharpening.pair)
        if sharpening.axis == 1:
            counts, expected = counts.T, expected.T
        if self.starts[other] is not None:
            counts = np.add.reduceat(counts, self._first_cells(other), axis=1)
        cells, shares = self._cells_of(column)
        spread = expected[cells] * shares[:, None]
        difference = counts * UNITS - np.rint(spread * UNITS).astype(np.int64)
        below = np.cumsum(np.pad(difference, ((1, 0), (0, 0))), axis=0)
        noise = round(UNITS * sum(expected_noise_l1(s, counts.shape[1]) for s in (sigma, max(sigma, stddev))))
        gains: dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
        for group, (first, last, edges) in enumerate(self._edges(column, sigma)):
            if len(edges):
                left, right = below[edges] - below[first], below[last] - below[edges]
                gains[group] = edges, np.abs(left).sum(axis=1) + np.abs(right).sum(axis=1) - noise
        return gains

    def cut(self, column: int, edges: Sequence[int]) -> CuttableGroups:
        """Return the groups with those of a column cut at some of its cells."""
        starts = self.starts[column]
        assert starts is not None, "only columns that are offered are cut"
        groupings = list(self.groupings)
        groupings[column] = cut_grouping(self.groupings[column], starts[np.array(edges, np.int64)])
        return replace(self, groupings=tuple(groupings))

    def _first_cells(self, column: int) -> NDArray[np.intp]:
        """Return the cell with which each group of a column begins."""
        return np.searchsorted(self._starts(column), self.groupings[column].first)

    def _starts(self, column: int) -> NDArray[np.int64]:
        starts = self.starts[column]
        return np.arange(self.groupings[column].size) if starts is None else starts

    def _cells_of(self, column: int) -> tuple[Groups, FloatArray]:
        """Return the group of each cell of a column, and its share of the group."""
        grouping, starts = self.groupings[column], self._starts(column)
        return grouping.groups[starts], np.add.reduceat(grouping.shares, starts)

    def _edges(self, column: int, sigma: float) -> list[tuple[int, int, NDArray[np.int64]]]:
        """Return for each group its cells, from and to, and the cells that may begin a second half."""
        starts = self._starts(column)
        mass = np.append(0.0, np.cumsum(np.add.reduceat(np.maximum(self.noisy_counts[column], 0.0), starts)))
        firsts = self._first_cells(column)
        every: list[tuple[int, int, NDArray[np.int64]]] = []
        for first, last in zip(firsts, np.append(firsts[1:], len(starts)), strict=True):
            edges = np.arange(first + 1, last)
            least = np.minimum(mass[edges] - mass[first], mass[last] - mass[edges])
            every.append((int(first), int(last), edges[least >= LEAST_SIGMAS * sigma]))
        return every


def handicap(edges: int, rate: Fraction) -> int:
    """Return by how much a cut must beat no cut, so that many edges do not win by their number."""
    return round(math.log(2 * edges) / float(rate))


def sharpening_score(gains: Gains, strength: Fraction, sensitivity: int) -> int:
    """Return the score of sharpening: the sum over groups of the best gain less its handicap, where positive."""
    rate = selection_rate(strength, sensitivity, 1)
    return sum(max(0, int(scores.max()) - handicap(len(edges), rate)) for edges, scores in gains.values())


def cut_places(grouping: Grouping, most: int) -> NDArray[np.int64] | None:
    """Return the codes that begin a cell: those of groups, and of others evenly, about ``most`` in all.

    None where groups are not runs of neighbouring codes, or hold one code each.
    """
    if not has_order(grouping.column) or grouping.size == grouping.column.size:
        return None
    codes = grouping.column.size
    evenly = np.arange(codes) if codes <= most else np.linspace(0, codes, most, endpoint=False).astype(np.int64)
    return np.union1d(grouping.first, evenly).astype(np.int64)


def cut_grouping(grouping: Grouping, codes: NDArray[np.int64]) -> Grouping:
    """Return a grouping whose groups also begin at some codes; shares stay, each as a part of its new group."""
    starts = np.union1d(grouping.first, codes)
    groups = (np.searchsorted(starts, np.arange(grouping.column.size), side="right") - 1).astype(np.int32)
    sums, cells = np.bincount(groups, grouping.shares, len(starts)), np.bincount(groups, minlength=len(starts))
    known = sums[groups] > 0
    shares = np.where(known, grouping.shares / np.where(known, sums[groups], 1.0), 1.0 / cells[groups])
    return Grouping(grouping.column, groups, shares, len(starts))


def cut_measurements(
    measurements: Sequence[LinearMeasurement], column: int, old_groups: Groups
) -> list[LinearMeasurement]:
    """Return measurements of a model whose groups of a column were cut: earlier answers are sums over new groups."""

    def finer(each: LinearMeasurement) -> LinearMeasurement:
        query = list(each.query or (None,) * len(each.clique))
        axis = each.clique.index(column)
        inner = query[axis]
        query[axis] = old_groups if inner is None else inner[old_groups].astype(np.int32)
        return replace(each, query=tuple(query))

    return [finer(each) if column in each.clique else each for each in measurements]


def cut_model(model: GraphicalModel, column: int, old_groups: Groups, parts: FloatArray) -> GraphicalModel:
    """Return the same distribution at finer groups; ``parts`` is the share of each new group in its old one."""
    sizes = tuple(len(old_groups) if c == column else size for c, size in enumerate(model.sizes))
    potentials, logs = list(model.potentials), np.log(np.maximum(parts, LEAST_SHARE))
    holding = [number for number, clique in enumerate(model.cliques) if column in clique]
    for number in holding:
        clique = model.cliques[number]
        potentials[number] = potentials[number].take(old_groups, axis=clique.index(column))
        if number == holding[0]:
            potentials[number] = potentials[number] + logs.reshape([-1 if c == column else 1 for c in clique])
    return replace(model, sizes=sizes, potentials=tuple(potentials))
