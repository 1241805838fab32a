"""Distances between released and true marginals, in records: exact fractions of whole counts.

For one table with true counts c (sum n) and released counts r (negative ones as 0, sum R; all ones where nothing is
left) let q = r / R be the released shares. Both distances here count *records in the wrong place*:

    total variation   u = (1/2) sum over cells |n q - c|         u / n is the total-variation distance
    distribution      u = max over cells |n Q - C|, Q and C cumulated   u / n is the largest difference of the ECDFs

Sensitivity in records, for a fixed release q. One more record in cell i turns c into c + e_i and n into n + 1, so that
n q - c moves by q - e_i: half of its L1 length is 1 - q_i <= 1, and no cumulated sum of it exceeds 1. So u moves by at
most 1; replacing a record moves c by e_i - e_j and leaves n, and again u moves by at most 1. A person with k rows moves
u by at most k. A mean or a maximum of such numbers over tables moves by no more. The distance u / n has no such bound
under add-remove, where n is private: this is why records are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import IntArray
from sfumato.errors import PlanError
from sfumato.schema import Schema

ColumnSet = tuple[str, ...]
MOST_SETS = 60
"""Marginals of one order that are compared; where there are more, a fixed sample of them."""
MOST_CELLS = 1_000_000
"""Marginals with more cells are left out."""
SAMPLE_SEED = 20240229
SAFE = 2**62
"""Products of counts up to here fit into 64 bits."""


class MarginalPair(NamedTuple):
    """One marginal: released counts (none negative) and true ones, in the shape of the cells."""

    names: ColumnSet
    released: IntArray
    true: IntArray


Misplaced = Callable[[MarginalPair], Fraction]


def misplaced_tvd(one: MarginalPair) -> Fraction:
    """Return how many records would have to move: n times the total-variation distance.

    >>> misplaced_tvd(MarginalPair(("a",), np.array([3, 1]), np.array([2, 2])))
    Fraction(1, 1)
    """
    difference, total = _scaled_difference(one)
    return Fraction(int(np.abs(difference).sum()), 2 * total)


def misplaced_records_ecdf(one: MarginalPair) -> Fraction:
    """Return n times the largest difference of the two distribution functions over the codes of one column.

    >>> misplaced_records_ecdf(MarginalPair(("a",), np.array([2, 0, 2]), np.array([0, 4, 0])))
    Fraction(2, 1)
    """
    difference, total = _scaled_difference(one)
    return Fraction(int(np.abs(np.cumsum(difference)).max()), total)


def _scaled_difference(one: MarginalPair) -> tuple[NDArray[Any], int]:
    """Return R (n q - c) in whole numbers, and R."""
    released = one.released if one.released.sum() > 0 else np.ones_like(one.released)
    total, records = int(released.sum()), int(one.true.sum())
    kind: Any = np.int64 if total * max(records, 1) < SAFE else object
    return (records * released.astype(kind) - total * one.true.astype(kind)).ravel(), total


def column_sets(available: Sequence[ColumnSet], schema: Schema, order: int) -> tuple[ColumnSet, ...]:
    """Return the marginals of one order that lie inside released tables, by public facts alone."""
    found = dict.fromkeys(names for table in available for names in combinations(table, order))
    fitting = [names for names in found if int(np.prod([float(size) for size in schema.shape(names)])) <= MOST_CELLS]
    if len(fitting) <= MOST_SETS:
        return tuple(fitting)
    places = np.random.default_rng(SAMPLE_SEED).choice(len(fitting), MOST_SETS, replace=False)
    return tuple(fitting[place] for place in sorted(places))


def released_columns(tables: Mapping[ColumnSet, Any], makes: str, schema: Schema) -> tuple[ColumnSet, ...]:
    """Return the column sets that a release shows together: its count tables, or all columns of its rows."""
    if makes == "counts":
        return tuple(tables)
    rows = next(iter(tables.values()))
    return (tuple(name for name in schema.names if name in rows.column_names and not schema[name].is_open),)


def released_marginals(
    tables: Mapping[ColumnSet, Any],
    makes: str,
    schema: Schema,
    sets: Sequence[ColumnSet],
) -> dict[ColumnSet, IntArray]:
    """Return the released counts of these column sets, negative ones as 0."""
    if makes == "counts":
        return {names: _from_counts(tables, schema, names) for names in sets}
    from sfumato.metrics.rows_view import read_codes

    columns = tuple(dict.fromkeys(name for names in sets for name in names))
    codes = read_codes(next(iter(tables.values())), schema, columns)
    place = {name: i for i, name in enumerate(columns)}
    return {names: _from_codes(codes[:, [place[name] for name in names]], schema.shape(names)) for names in sets}


def _from_codes(codes: IntArray, shape: tuple[int, ...]) -> IntArray:
    flat = np.ravel_multi_index(tuple(codes.T), shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)


def _from_counts(tables: Mapping[ColumnSet, Any], schema: Schema, names: ColumnSet) -> IntArray:
    """Return a marginal of the smallest released table that holds it."""
    holding = [key for key in tables if set(names) <= set(key)]
    if not holding:
        raise PlanError(f"no released table holds {' x '.join(names)}", next_step="name columns that are released")
    chosen = min(holding, key=lambda key: int(np.prod(schema.shape(key))))
    table = tables[chosen]
    counts = table.column(table.num_columns - 1).to_numpy().reshape(schema.shape(chosen))
    others = tuple(i for i, name in enumerate(chosen) if name not in names)
    kept = [name for name in chosen if name in names]
    summed = np.maximum(counts, 0).sum(axis=others) if others else np.maximum(counts, 0)
    return summed.transpose([kept.index(name) for name in names])


def entropy_gap(one: MarginalPair) -> float:
    """Return the absolute difference of the Shannon entropies of released and true counts, in bits."""
    from sfumato.entropy.values import shannon

    return abs(shannon(one.released.ravel()) - shannon(one.true.ravel()))
