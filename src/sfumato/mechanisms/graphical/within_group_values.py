"""Values inside groups: expand groups to fine cells, with within-group and functional dependence.

A model knows groups, and a group may be a whole tail. Were each column to choose its place inside its group on its own,
large values would meet large ones by chance only, and correlations would shrink. So places follow a normal law. Every
group of an ordered column is an interval of the column's own quantiles, hence of z = Phi^-1(quantile), with mean
m = (phi(z_a) - phi(z_b)) / (b - a). For two normal columns with correlation r the pair table of the model has
cov(m_i, m_j) = r Var(m_i) Var(m_j) to first order: that gives every r. The matrix of them, made positive definite, is
the law of z; rows draw from it, each z kept within its group (Gibbs: one column after another, given all others).

What is drawn decides the order of the rows in a group and nothing else: the first gets the lowest of the places that
the group has to give. So the count of every cell is what it would be without coupling, all tables of groups are what
the model drew, and only which row gets which place differs. Everything is computed from the released model: it is free
post-processing, and a model read from its file finds the same numbers again.

A functional dependence asks for more. A model draws the groups of ``score`` and ``text`` together and then a fine cell
of the score, which may belong to another text. Where the group has cells that go with the drawn text, the row takes one
of those, by their shares: then the text keeps its relations to all other columns. What no cell of the group allows is
left to the map. A dependence without a public map takes its map from the model's pair weights
(:mod:`sfumato.constraints.functional_dependence`): the same for all rows that are ever drawn from the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from sfumato.arrays import FloatArray, nearest_correlation
from sfumato.constraints.pair_weights import ColumnPartition, partition_of, plain_value
from sfumato.mechanisms.graphical.domain_compression import Grouping
from sfumato.mechanisms.graphical.junction_tree.junction_tree import Clique
from sfumato.sampling.fine_cells import values_in_fine_cells
from sfumato.sampling.values import Masked, Values, codes_of, evenly_spaced, levels_of
from sfumato.schema import Schema
from sfumato.schema.functional_dependence import DependenceMap, dependence_map

BELOW_ONE = float(np.nextafter(1.0, 0.0))


def positions_in_groups(
    codes: NDArray[Any],
    size: int,
    generator: np.random.Generator,
    rounding: bool = True,
    wanted: FloatArray | None = None,
) -> FloatArray:
    """Return for each row a place in [0, 1) of its group.

    With ``rounding`` the places of a group are evenly spaced from a random start, without it they are independent and
    uniform. Who gets which is decided by ``wanted``, the least getting the lowest, or else by chance.
    """
    rows = len(codes)
    if wanted is None and not rounding:
        return generator.random(rows)
    order = np.argsort(generator.random(rows) if wanted is None else wanted)
    order = order[np.argsort(codes[order].astype(np.min_scalar_type(size)), kind="stable")]
    members = codes[order]
    if rounding:
        positions = evenly_spaced(members, np.bincount(codes, minlength=size), generator)
    else:
        positions = np.sort(members + generator.random(rows)) - members
    places = np.empty(rows)
    places[order] = np.minimum(positions, BELOW_ONE)
    return places


def fine_cells_at(grouping: Grouping, codes: NDArray[Any], places: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
    """Return the fine code at each row's place in its group, and the place in [0, 1) within that fine cell.

    Fine cells fill their group in order, each with its share. Evenly spaced places hence give every cell a count
    within 1 of what its share says.
    """
    shares = grouping.shares[grouping.order]
    groups = grouping.groups[grouping.order]
    ends = np.cumsum(shares)
    # Each group fills the interval from its number to the next; a cumulative sum per group keeps the ends exact.
    ends += groups - (ends - shares)[grouping.first][groups]
    cells = np.clip(np.searchsorted(ends, codes + places, side="right"), *_reach(grouping, shares, codes))
    within = (codes + places - (ends - shares)[cells]) / shares[cells]
    return grouping.order[cells].astype(np.int64), np.clip(within, 0.0, BELOW_ONE)


def _reach(
    grouping: Grouping,
    shares: NDArray[np.float64],
    codes: NDArray[Any],
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first and the last place of each row's group that has a share, so that rounding never leaves it."""
    places = np.flatnonzero(shares > 0)
    groups = grouping.groups[grouping.order][places]
    every = np.arange(grouping.size)
    first = places[np.searchsorted(groups, every)]
    last = places[np.searchsorted(groups, every, side="right") - 1]
    return first[codes], last[codes]


def values_in_groups(
    groupings: Sequence[Grouping],
    codes: NDArray[Any],
    generator: np.random.Generator,
    rounding: bool = True,
    places: Mapping[int, FloatArray] | None = None,
) -> Values:
    """Return synthetic values by column name, from group codes: one row each, one column per grouping.

    ``places`` says where in their groups rows lie, by the number of the column; the other columns draw that here.
    """
    known, values = places or {}, Values()
    for number, (grouping, column) in enumerate(zip(groupings, codes.T, strict=True)):
        inside = known[number] if number in known else positions_in_groups(column, grouping.size, generator, rounding)
        fine, within = fine_cells_at(grouping, column, inside)
        values[grouping.column.name] = values_in_fine_cells(grouping.column, fine, within)
    return values


MOST = 0.99
"""Correlations are kept below 1, so that no column is a function of another."""
LEAST = 0.15
"""A column joins if one of its correlations is at least this (measured: with .05 nothing is gained)."""
LEAST_EIGENVALUE = 0.02
"""Pairs were fitted apart, so that their matrix need not be positive definite: this makes it so (measured: .01 costs
correlations, .05 costs pairs, both a little)."""
LEAST_WEIGHT = 0.02
"""Columns of smaller weight do not enter a conditional mean: cost grows with the neighbours, not with the columns."""
SWEEPS = 3
"""How often each column is drawn. The first time brings scores near each other, so places can wait for the second.

Measured: the third time still helps where tails are wide, a fourth adds very little."""
FAR = 1e-7
"""A group of less conditional probability than this is not explained by the others: its place is drawn freely."""
DECIMALS = 6
"""Correlations are rounded, so that the last bits of a sum do not decide rows."""
OUTERMOST = 8.0
"""Normal scores end here: the quantile 1e-15."""


class HasMarginals(Protocol):
    """A model that knows expected counts."""

    def marginal(self, columns: Sequence[int]) -> FloatArray:
        """Return expected counts of a set of columns."""
        ...

    def marginals(self, wanted: Sequence[Clique]) -> Mapping[Clique, FloatArray]:
        """Return expected counts of many sets of columns."""
        ...


@dataclass(frozen=True, eq=False)
class GroupQuantiles:
    """The groups of an ordered column as intervals of its quantiles; missing values may lie anywhere."""

    low: FloatArray
    high: FloatArray
    present: int
    """Groups of values; a last one of missing values may follow."""

    @classmethod
    def of(cls, grouping: Grouping, counts: FloatArray) -> GroupQuantiles:
        """Return the intervals by the model's counts of groups."""
        missing = grouping.column.missing
        present = grouping.size - int(missing)
        ends = np.append(0.0, np.cumsum(np.maximum(counts[:present], 0.0)))
        ends = ends / ends[-1] if ends[-1] > 0 else np.linspace(0, 1, present + 1)
        low, high = (np.append(ends[:-1], 0.0), np.append(ends[1:], 1.0)) if missing else (ends[:-1], ends[1:])
        return cls(low, high, present)

    @property
    def means(self) -> FloatArray:
        """Mean normal score of each group of values; of an empty one its place."""
        low, high = self.low[: self.present], self.high[: self.present]
        mass = high - low
        lost = _density(ndtri(low)) - _density(ndtri(high))
        return np.divide(lost, mass, out=self.scores(np.arange(self.present), 0.5), where=mass > 0)

    def scores(self, codes: NDArray[Any], places: FloatArray | float) -> FloatArray:
        """Return the normal score of each row's place in its group."""
        low = self.low[codes]
        return np.clip(ndtri(low + places * (self.high[codes] - low)), -OUTERMOST, OUTERMOST)

    def drawn(self, codes: NDArray[Any], mean: FloatArray, deviation: float, uniform: FloatArray) -> FloatArray:
        """Return normal scores with the given means, each within its row's group."""
        first = ndtr((ndtri(self.low)[codes] - mean) / deviation)
        chance = ndtr((ndtri(self.high)[codes] - mean) / deviation) - first
        scores = np.clip(mean + deviation * ndtri(first + uniform * chance), -OUTERMOST, OUTERMOST)
        far = np.flatnonzero(~(chance >= FAR))
        scores[far] = self.scores(codes[far], uniform[far])
        return scores


@dataclass(frozen=True, eq=False)
class ConditionalScore:
    """One column's score given the others: their weights in its mean, and its deviation from that."""

    column: int
    quantiles: GroupQuantiles
    weights: Mapping[int, float]
    deviation: float


@dataclass(frozen=True, eq=False)
class WithinGroupDependence:
    """The columns whose places are drawn together, by their numbers; none where nothing depends on anything."""

    links: tuple[ConditionalScore, ...] = field(default=(), repr=False)

    @property
    def columns(self) -> tuple[int, ...]:
        """Numbers of the coupled columns."""
        return tuple(link.column for link in self.links)

    def places(
        self, codes: NDArray[Any], generator: np.random.Generator, rounding: bool = True
    ) -> dict[int, FloatArray]:
        """Return for each coupled column the place in [0, 1) of every row within its group."""
        rows, places = len(codes), dict[int, FloatArray]()
        groups = {link.column: np.ascontiguousarray(codes[:, link.column]) for link in self.links}
        scores = {
            link.column: link.quantiles.scores(groups[link.column], generator.random(rows)) for link in self.links
        }
        for sweep in range(SWEEPS):
            for link in self.links:
                here = groups[link.column]
                mean = sum((weight * scores[other] for other, weight in link.weights.items()), np.zeros(rows))
                scores[link.column] = link.quantiles.drawn(here, mean, link.deviation, generator.random(rows))
                if sweep:
                    wanted, size = scores[link.column], len(link.quantiles.low)
                    places[link.column] = positions_in_groups(here, size, generator, rounding, wanted)
                    scores[link.column] = link.quantiles.scores(here, places[link.column])
        return places


def within_group_dependence(groupings: Sequence[Grouping], model: HasMarginals) -> WithinGroupDependence:
    """Return how the places of numbers and dates hang together, by the model's own tables."""
    ordered = [number for number, grouping in enumerate(groupings) if grouping.column.is_ordered]
    counts = model.marginals([(number,) for number in ordered])
    quantiles = {number: GroupQuantiles.of(groupings[number], counts[number,]) for number in ordered}
    matrix = _correlations(quantiles, model)
    joined = np.flatnonzero((np.abs(matrix) >= LEAST).sum(axis=1) > 1)
    names = [ordered[place] for place in joined]
    return WithinGroupDependence(_links(names, quantiles, matrix[np.ix_(joined, joined)]))


def _correlations(quantiles: Mapping[int, GroupQuantiles], model: HasMarginals) -> FloatArray:
    """Return the matrix of normal correlations that the pair tables speak of."""
    numbers = list(quantiles)
    means = [part.means for part in quantiles.values()]
    matrix = np.eye(len(numbers))
    for i, first in enumerate(numbers):
        tables = model.marginals([(first, second) for second in numbers[i + 1 :]])
        for j, table in enumerate(tables.values(), start=i + 1):
            matrix[i, j] = matrix[j, i] = correlation(table, means[i], means[j])
    return matrix


def correlation(table: FloatArray, first: FloatArray, second: FloatArray) -> float:
    """Return the correlation of two normal columns from a pair table and the mean scores of its groups.

    Groups of missing values come last, without a mean; they are left out. A column that is all in one group has none.

    >>> correlation(np.array([[4.0, 1.0], [1.0, 4.0]]), np.array([-0.8, 0.8]), np.array([-0.8, 0.8]))
    0.9375
    """
    counts = np.maximum(table[: len(first), : len(second)], 0.0)
    shares = counts / (counts.sum() or 1.0)
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    left, right = first - rows @ first, second - columns @ second
    spread = float(rows @ left**2) * float(columns @ right**2)
    return float(np.clip(np.round(left @ shares @ right / spread, DECIMALS), -MOST, MOST)) if spread > FAR else 0.0


def _links(
    names: Sequence[int], quantiles: Mapping[int, GroupQuantiles], matrix: FloatArray
) -> tuple[ConditionalScore, ...]:
    """Return every column given all others, which the inverse of the matrix says at once."""
    if not names:
        return ()
    inverse = np.linalg.inv(nearest_correlation(matrix, LEAST_EIGENVALUE))
    links: list[ConditionalScore] = []
    for place, name in enumerate(names):
        weights = -inverse[place] / inverse[place, place]
        others = {names[i]: float(w) for i, w in enumerate(weights) if i != place and abs(w) >= LEAST_WEIGHT}
        links.append(ConditionalScore(name, quantiles[name], others, float(inverse[place, place] ** -0.5)))
    return tuple(links)


def _density(scores: FloatArray) -> FloatArray:
    return np.exp(-(scores**2) / 2) / np.sqrt(2 * np.pi)


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
