"""Cells in which released and private rows are compared, and the column sets whose marginals are compared.

Two binnings exist, and the name of a metric states which one it uses:

* **q16**: every level is a cell, and so is a missing value. A number or date is cut at the 15 inner 16-quantiles of the
  *released* values; a value that at least 1/16 of the released rows hold is a cell of its own; two open cells lie below
  the smallest and above the largest released value. No released row is in the open cells, and every private row whose
  value the release does not reach is: a column released as one constant, or with its tail cut off, is at a distance
  from the table.
* **bins**: the bins and levels of the schema as they are.

Either depends on the release and the schema alone, never on private rows: what is counted in them moves by at most 1
when a row comes or goes (:mod:`sfumato.metrics.distances`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import FloatArray, IntArray
from sfumato.errors import PlanError
from sfumato.schema import Schema
from sfumato.schema.column import Column

ColumnSet = tuple[str, ...]
Values = Mapping[str, NDArray[Any]]
"""Columns of rows by name: numbers with NaN where missing, levels as codes."""
CELLS = 16
NEAR = 2.0**-20
"""Share of a public range within which two numbers are the same: 32-bit floats and 64-bit ones differ by less."""
MOST_DENSE = 1 << 14
"""Cells of a marginal that are laid out; of larger ones only those in which a released row lies, all others as one."""
MOST_SETS = {1: None, 2: 4000, 3: 100}
"""Marginals of an order that are compared: all columns, and a fixed sample of pairs and of triples beyond these."""
MOST_LISTED = 150
"""Columns above which triples are drawn, not listed and chosen from."""
SAMPLE_SEED = 20240229


@dataclass(frozen=True, eq=False)
class Binning:
    """The cells of one column; the last one is for missing values, whether the schema allows them or not."""

    column: Column
    edges: FloatArray | None
    """Inner edges of the cells of a number or date, of which one on an edge lies above it; None: a cell per level."""

    @classmethod
    def q16(cls, column: Column, released: NDArray[Any]) -> Binning:
        """Cut a column by its released values; a number that was never released has one cell."""
        if not column.is_ordered:
            return cls(column, None)
        known = np.asarray(released, float)
        values, times = np.unique(known[~np.isnan(known)], return_counts=True)
        return cls(column, q16_edges(values, times, nearness(column), column.is_discrete))

    @classmethod
    def q16_of_counts(cls, column: Column, counts: IntArray) -> Binning:
        """Group the schema's bins of a column by released counts, one for each code: cells of bin numbers."""
        if not column.is_ordered:
            return cls(column, None)
        present = np.maximum(counts[: column.present_size], 0)
        places = np.flatnonzero(present)
        return cls(column, q16_edges(places.astype(float), present[places], 0.0, discrete=True))

    @property
    def size(self) -> int:
        """Number of cells, that of missing values among them."""
        return (self.column.present_size if self.edges is None else len(self.edges) + 1) + 1

    def codes(self, values: NDArray[Any]) -> IntArray:
        """Return the cell of each value, by that value alone: numbers as they are, levels as codes, NaN where missing.

        >>> age = Column("age", "integer", bounds=(0, 99))
        >>> Binning(age, np.array([18.0, 65.0])).codes(np.array([3.0, 18, 70, np.nan])).tolist()
        [0, 1, 2, 3]
        """
        points = np.asarray(values, float)
        absent = np.isnan(points)
        known = np.where(absent, 0, points)
        cells = known if self.edges is None else np.searchsorted(self.edges, known, side="right")
        return np.where(absent, self.size - 1, cells).astype(np.int64)

    def of_schema_codes(self) -> IntArray:
        """Return the cell of each code of the schema, for cells of bin numbers."""
        codes = np.arange(self.column.size, dtype=float)
        return self.codes(np.where(codes == self.column.present_size, np.nan, codes))


def q16_edges(values: FloatArray, times: IntArray, near: float = 0.0, discrete: bool = False) -> FloatArray:
    """Return the inner edges of q16 for distinct released values in order and how often each occurs.

    >>> np.searchsorted(q16_edges(np.array([5.0]), np.array([9])), [4.9, 5.0, 5.1], side="right").tolist()
    [0, 1, 2]
    """
    if not len(values):
        return np.zeros(0)
    rows = int(times.sum())
    often = values[CELLS * times >= rows]
    places = np.ceil(np.arange(1, CELLS) / CELLS * (rows - 1)).astype(np.int64)
    quantiles = values[np.searchsorted(np.cumsum(times), places, side="right")]
    below = np.concatenate([quantiles, often, values[:1]]) - near
    ends = np.concatenate([often, values[-1:]])
    return np.unique(np.concatenate([below, ends + 1 if discrete else np.nextafter(ends + near, np.inf)]))


def nearness(column: Column) -> float:
    """Return how far apart two values of a column may lie that are the same value, by public facts."""
    if column.is_discrete:
        return 0.0
    low, high = column.numeric_bounds
    written = 0.0 if column.decimals is None else 0.5 * 10.0**-column.decimals
    return max(NEAR * (high - low), written)


@dataclass(frozen=True, eq=False)
class Marginal:
    """Counts of some rows over a set of columns, and how other rows are counted in the same cells.

    Of a large marginal the cells without a row here are one: the total variation distance to it stays what it is.
    """

    sizes: tuple[int, ...]
    counts: IntArray
    occupied: IntArray | None = None
    """Joint codes of the cells with rows, in order, where the marginal is large; all others are its last cell."""

    @classmethod
    def of(cls, codes: Sequence[IntArray], sizes: Sequence[int]) -> Marginal:
        """Count rows by the cells of each column."""
        joint = joint_codes(codes, sizes)
        if math.prod(sizes) <= MOST_DENSE:
            return cls(tuple(sizes), np.bincount(joint, minlength=math.prod(sizes)))
        occupied, counts = np.unique(joint, return_counts=True)
        return cls(tuple(sizes), np.append(counts, 0), occupied)

    def count(self, codes: Sequence[IntArray]) -> IntArray:
        """Return the counts of other rows in the same cells."""
        joint = joint_codes(codes, self.sizes)
        if self.occupied is not None:
            if not len(self.occupied):
                return np.array([len(joint)])
            places = np.minimum(np.searchsorted(self.occupied, joint), len(self.occupied) - 1)
            joint = np.where(self.occupied[places] == joint, places, len(self.occupied))
        return np.bincount(joint, minlength=len(self.counts))


def joint_codes(codes: Sequence[IntArray], sizes: Sequence[int]) -> IntArray:
    """Return the cell of each row in the marginal of some columns.

    >>> joint_codes([np.array([0, 1]), np.array([2, 0])], [2, 3]).tolist()
    [2, 3]
    """
    joint = codes[0]
    for code, size in zip(codes[1:], sizes[1:], strict=True):
        joint = joint * size + code
    return joint


@dataclass(frozen=True, eq=False)
class ReleasedMarginals:
    """The released side of a comparison in q16: what private rows are counted against, batch by batch."""

    binnings: Mapping[str, Binning]
    marginals: Mapping[ColumnSet, Marginal]

    @classmethod
    def q16(cls, schema: Schema, released: Values, sets: Sequence[ColumnSet]) -> ReleasedMarginals:
        """Cut the columns of some sets by their released values, and count the released rows."""
        names = dict.fromkeys(name for each in sets for name in each)
        binnings = {name: Binning.q16(schema[name], released[name]) for name in names}
        codes = {name: binning.codes(released[name]) for name, binning in binnings.items()}
        marginals = {
            each: Marginal.of([codes[name] for name in each], [binnings[name].size for name in each]) for each in sets
        }
        return cls(binnings, marginals)

    def count(self, values: Values) -> dict[ColumnSet, IntArray]:
        """Return how many of some private rows lie in each cell."""
        codes = {name: binning.codes(values[name]) for name, binning in self.binnings.items()}
        return {names: marginal.count([codes[name] for name in names]) for names, marginal in self.marginals.items()}

    def empty_counts(self) -> dict[ColumnSet, IntArray]:
        """Return counts of no rows."""
        return {names: np.zeros_like(marginal.counts) for names, marginal in self.marginals.items()}


def column_sets(available: Sequence[ColumnSet], order: int) -> tuple[ColumnSet, ...]:
    """Return the sets of an order that lie inside columns released together; of very many a sample fixed by them.

    >>> column_sets([("a", "b", "c")], 2)
    (('a', 'b'), ('a', 'c'), ('b', 'c'))
    """
    most, generator = MOST_SETS[order], np.random.default_rng(SAMPLE_SEED)
    if most is not None and order > 2 and len(available) == 1 and len(available[0]) > MOST_LISTED:
        names = available[0]
        drawn = {tuple(sorted(generator.choice(len(names), order, replace=False).tolist())) for _ in range(most)}
        return tuple(tuple(names[place] for place in places) for places in sorted(drawn))
    unique: dict[frozenset[str], ColumnSet] = {}
    for names in (names for table in available for names in combinations(table, order)):
        unique.setdefault(frozenset(names), names)
    listed = list(unique.values())
    if most is None or len(listed) <= most:
        return tuple(listed)
    return tuple(listed[place] for place in sorted(generator.choice(len(listed), most, replace=False)))


def released_columns(tables: Mapping[ColumnSet, Any], makes: str, schema: Schema) -> tuple[ColumnSet, ...]:
    """Return the column sets that a release shows together: its count tables, or all columns of its rows."""
    if makes == "counts":
        return tuple(tables)
    rows = next(iter(tables.values()))
    return (tuple(name for name in schema.names if name in rows.column_names and not schema[name].is_open),)


def released_counts(tables: Mapping[ColumnSet, Any], schema: Schema, names: ColumnSet) -> IntArray:
    """Return a marginal of the smallest released count table that holds it, in schema bins; negative counts as 0."""
    holding = [key for key in tables if set(names) <= set(key)]
    if not holding:
        raise PlanError(f"no released table holds {' x '.join(names)}", next_step="name columns that are released")
    chosen = min(holding, key=lambda key: math.prod(schema.shape(key)))
    table = tables[chosen]
    counts = np.maximum(table.column(table.num_columns - 1).to_numpy().reshape(schema.shape(chosen)), 0)
    others = tuple(i for i, name in enumerate(chosen) if name not in names)
    kept = [name for name in chosen if name in names]
    summed = counts.sum(axis=others) if others else counts
    return summed.transpose([kept.index(name) for name in names])


def grouped_counts(counts: IntArray, binnings: Sequence[Binning]) -> IntArray:
    """Return a marginal in schema bins as one in the cells of bin numbers, axis by axis."""
    for axis, binning in enumerate(binnings):
        grouped = np.zeros((binning.size, *np.delete(counts.shape, axis)), np.int64)
        np.add.at(grouped, binning.of_schema_codes(), np.moveaxis(counts, axis, 0))
        counts = np.moveaxis(grouped, 0, axis)
    return counts
