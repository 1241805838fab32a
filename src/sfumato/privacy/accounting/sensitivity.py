"""Sensitivities of all released statistics under add-remove and replace adjacency.

A neighbouring change is one of two. Add-remove: the record of one person comes or goes (up to k records, where a
person may hold k rows). Replace: one record becomes another while their number stays, so one goes and one comes. Every
function has its proof in a line; S is the measured sum over all records, |.| the norm that the function names.
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Amount = TypeVar("Amount", int, float)


def changed_cells(adjacency: str) -> int:
    """Return how many cells of a contingency table one change moves, each by the rows that a person may hold at most.

    Proof: each record lies in one cell; a record that comes or goes moves its own, a replaced one an old and a new.
    """
    return 2 if adjacency == "replace" else 1


def histogram_l1(adjacency: str, rows_per_person: int = 1) -> int:
    """Return the L1 sensitivity of the counts of one contingency table.

    Proof: a record moves one count by 1; k of them come or go, or k go and k come: k or 2k steps of 1.
    """
    return changed_cells(adjacency) * rows_per_person


def histogram_l2_squared(adjacency: str, rows_per_person: int = 1, tables: int = 1) -> int:
    """Return the square of the L2 sensitivity of the counts of one contingency table, or of several together.

    Proof: k records move a table most where they share a cell: k^2, and k^2 twice where they go from one cell to
    another; tables are coordinates of one vector, so that squares add up.
    """
    return tables * changed_cells(adjacency) * rows_per_person**2


def turned_pair_l1(most: int) -> int:
    """Return the L1 sensitivity of (x + y, x - y), each rounded down, where x and y move by at most ``most`` steps.

    Proof: |x + y| + |x - y| = 2 max(|x|, |y|) <= 2 ``most``, half of what x and y cost apart for the same noise in
    each. Floors move by at most ceil(|.|), and ceil(p) + ceil(q) <= p + q + 1 where p + q is at most a whole number.
    """
    return 2 * most + 1


def misplaced_records(rows_per_person: int = 1) -> int:
    """Return by how much the number of records in the wrong place moves, for fixed released shares q.

    Proof (:mod:`sfumato.metrics.distances`): u = (1/2) |n q - c|_1; a record that comes or goes moves n q -
    c by
    q - e_i, a replaced one by e_i - e_j, each of half length at most 1; k records by k. A mean over tables moves no
    more.
    """
    return rows_per_person


def exclusive_value_counts(rows_per_person: int = 1) -> NDArray[np.int64]:
    """Return the counts that a value can have which only one of two neighbours holds: 1 to k.

    Proof: only the rows of the person who comes or goes, or the one replaced row, can hold it; all its own values
    together have k rows at most.
    """
    return np.arange(1, rows_per_person + 1)


def vector_sum_sensitivity(adjacency: str, longest: Amount, rows_per_person: int = 1) -> Amount:
    """Return the sensitivity of a sum of vectors that are no longer than ``longest``, in the norm that bounds them.

    Proof: the triangle inequality: k vectors come or go, or k go and k come.
    """
    return changed_cells(adjacency) * rows_per_person * longest


def curve_sum_sensitivity(adjacency: str, longest: int, with_count: int, touched: int | None) -> int:
    """Return the sensitivity of a sum of curves that are made from the rows of a table, with their count.

    Every curve is no longer than ``longest``, and ``with_count`` where its entry in the count is joined; the rows of
    one person touch so many curves, or none but the person's own (None). Proof: a person's own curve comes or goes.
    Otherwise each touched curve changes, by 2 ``longest`` at most, or comes or goes. A replaced row leaves one curve
    and joins another: both change, and the number of curves is public.
    """
    if adjacency == "replace":
        return 4 * longest
    return with_count if touched is None else touched * max(2 * longest, with_count)


def nonobtuse_sum_l2_squared(adjacency: str, longest_squared: Amount) -> Amount:
    """Return the squared L2 sensitivity of a sum of vectors of which no two form an obtuse angle.

    Counts are such vectors, and products xx', since <xx', yy'> = (x'y)^2.
    Proof: |u - v|^2 = |u|^2 + |v|^2 - 2 <u, v> <= |u|^2 + |v|^2; one record alone moves |u|^2.
    """
    return changed_cells(adjacency) * longest_squared


def mean_sensitivity(adjacency: str, longest: float, records: int) -> float:
    """Return by how much the mean of ``records`` vectors of length at most b moves: b is ``longest``.

    Proof: replace: |u - v| / n <= 2b / n. A record x added to n: |(S + x) / (n + 1) - S / n| = |x - S / n| / (n + 1),
    and the mean S / n is no longer than b: at most 2b / (n + 1).
    """
    return 2 * longest / (records if adjacency == "replace" else records + 1)


def moments_l1_quarters(adjacency: str, columns: int, pairs: int) -> int:
    """Return four times the L1 sensitivity of the sums of (1, a_j, a_j^2 - 1/2, a_j a_k) over records in [-1, 1].

    Proof: add-remove: 1 + (|a| + |a^2 - 1/2| <= 3/2) for each column + 1 for each pair. Replace leaves the count out:
    |a - b| (1 + |a + b|) <= d (3 - d) <= 9/4 with d = |a - b|, and 2 for each pair.
    """
    return 9 * columns + 8 * pairs if adjacency == "replace" else 4 + 6 * columns + 4 * pairs


def moments_l2_squared_quarters(adjacency: str, columns: int, pairs: int = 0) -> int:
    """Return four times the square of the L2 sensitivity of the same sums.

    Proof: add-remove: 1 + (a^2 + (a^2 - 1/2)^2 = a^4 + 1/4 <= 5/4) for each column + 1 for each pair. Replace leaves
    the count out: (a - b)^2 (1 + (a + b)^2) <= d^2 (1 + (2 - d)^2) <= 4 for each column, and 2^2 for each pair.
    """
    return 16 * (columns + pairs) if adjacency == "replace" else 4 + 5 * columns + 4 * pairs


def value_moments_l1(low: int, high: int, unit: int, known: int) -> int:
    """Return by how much (a, a^2, a u_1 .. a u_known) moves in L1, in units squared, when a alone moves in [low, high].

    All are whole numbers of the lattice: ``unit`` stands for 1, |low|, |high| and |u_j| are at most ``unit``, and a
    times 1 counts ``unit`` a. Proof: with d = |a - b| and M = max(|low|, |high|), |a + b| = 2 max(|a|, |b|) - d <=
    2M - d, so the move is at most d (c + 2M - d), c = (1 + known) unit. It rises up to d = M + c/2; d <= high - low.
    """
    c, most = (1 + known) * unit, max(abs(low), abs(high))
    step = min(high - low, most + c // 2)
    return step * (c + 2 * most - step)


def value_moments_l2_squared(low: int, high: int, unit: int, known: int) -> int:
    """Return the squared L2 length of the same move.

    Proof: it is at most d^2 (C + (2M - d)^2) with C = (1 + known) unit^2 >= M^2. Its slope is 2d times
    C + (2M - d) (2M - 2d) >= C - M^2 / 2 > 0, so the largest d = high - low is the worst.
    """
    step, most = high - low, max(abs(low), abs(high))
    return step**2 * ((1 + known) * unit**2 + (2 * most - step) ** 2)


def ceil_sqrt(square: int) -> int:
    """Return the square root of a squared sensitivity, rounded up to a whole number of lattice units."""
    return math.isqrt(square - 1) + 1 if square > 0 else 0
