"""Entropy of counts, and how much one record can change it.

The entropy of released counts is free post-processing. Releasing an entropy by itself needs its sensitivity: exact
where a closed form or a short search is proved, otherwise the tightest proved bound, and the answer says which.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import PlanError

Adjacency = Literal["replace", "add-remove"]
LONGEST_SEARCH = 2000
"""Records up to which orders between 1 and infinity are searched exactly under replace (quadratic in n)."""


def shannon(counts: ArrayLike) -> float:
    """Return the Shannon entropy in bits of non-negative counts; 0 for an empty table.

    >>> shannon([1, 1, 1, 1])
    2.0
    """
    shares = _shares(counts)
    return float(-(shares * np.log2(shares)).sum()) + 0.0


def renyi(counts: ArrayLike, order: float) -> float:
    """Return the Renyi entropy in bits; order 0 is log2 of the support, 1 Shannon, infinity the min-entropy.

    >>> renyi([1, 1, 1, 1], 2)
    2.0
    """
    _refuse_order(order)
    shares = _shares(counts)
    if shares.size == 0:
        return 0.0
    if order == 1:
        return shannon(counts)
    if math.isinf(order):
        return float(-np.log2(shares.max())) + 0.0
    return float(np.log2((shares**order).sum()) / (1 - order)) + 0.0


def _shares(counts: ArrayLike) -> NDArray[np.float64]:
    weights = np.asarray(counts, dtype=float).ravel()
    if weights.size and (not np.isfinite(weights).all() or weights.min() < 0):
        raise PlanError(
            "entropy needs counts of 0 or more", next_step="clamp noisy counts at 0 first: np.maximum(counts, 0)"
        )
    weights = weights[weights > 0]
    return weights / weights.sum() if weights.size else weights


def _refuse_order(order: float) -> None:
    if math.isnan(order) or order < 0:
        raise PlanError(f"the order must be 0 or more, found {order!r}", next_step="use 1 for Shannon, 2, or math.inf")


class Sensitivity(float):
    """How much one record can change an entropy, in bits; ``exact`` says whether some pair of tables attains it."""

    exact: bool

    @classmethod
    def of(cls, value: float, exact: bool) -> Sensitivity:
        """Return the number with its standing."""
        made = cls(value)
        made.exact = exact
        return made


def sensitivity(n: int, cells: int, order: float = 1.0, adjacency: Adjacency = "replace") -> Sensitivity:
    """Return the largest change of the entropy over tables of ``n`` records in ``cells`` cells.

    Under "replace" one of n records moves; under "add-remove" a table of n records gains one. There n is private, so
    calibrate with a public lower bound on n.

    >>> round(sensitivity(1000, 30), 9), sensitivity(1000, 30).exact
    (0.011407758, True)
    """
    _refuse_order(order)
    if n < 1 or cells < 1 or n != int(n) or cells != int(cells):
        raise PlanError(f"n and cells must be whole numbers of at least 1, found {n!r} and {cells!r}",
                        next_step="give the public number of records and of cells")  # fmt: skip
    if adjacency not in ("replace", "add-remove"):
        raise PlanError(f"unknown adjacency {adjacency!r}", next_step="use 'replace' or 'add-remove'")
    if cells == 1 or (n == 1 and adjacency == "replace"):
        return Sensitivity.of(0.0, True)
    if order <= 1:
        return Sensitivity.of(_pair_entropy(n if adjacency == "replace" else n + 1, order), True)
    if adjacency == "add-remove":
        return Sensitivity.of(_added_record(n, cells, order), True)
    if math.isinf(order):
        return Sensitivity.of(math.log2(1 + 1 / math.ceil(n / cells)), True)
    if n <= LONGEST_SEARCH:
        return Sensitivity.of(_moved_record(n, cells, order), True)
    return Sensitivity.of(_bound_above_one(n, cells, order), False)


def _pair_entropy(total: int, order: float) -> float:
    """Entropy of (1, total - 1): for orders up to 1 opening an empty cell next to a full one is the largest change."""
    return renyi([1, total - 1], order)


def _balanced_power(records: NDArray[np.int64], cells: int, order: float) -> NDArray[np.float64]:
    """Return the smallest sum of count**order when records are spread over cells; infinite where they cannot be."""
    if cells == 0:
        return np.where(records == 0, 0.0, np.inf)
    low, more = np.divmod(records, cells)
    return more * (low + 1.0) ** order + (cells - more) * low.astype(float) ** order


def _moved_record(n: int, cells: int, order: float) -> float:
    """Search all (receiver, donor) counts: for given two the change is largest when the rest is balanced."""
    best = 0.0
    for receiver in range(n):
        donor = np.arange(1, n - receiver + 1)
        rest = _balanced_power(n - receiver - donor, cells - 2, order)
        before = rest + float(receiver) ** order + donor.astype(float) ** order
        after = rest + float(receiver + 1) ** order + (donor - 1.0) ** order
        with np.errstate(invalid="ignore"):
            change = np.abs(np.log2(after / before))
        best = max(best, float(np.nanmax(np.where(np.isfinite(rest), change, 0.0))))
    return best / (order - 1)


def _added_record(n: int, cells: int, order: float) -> float:
    """Search the cell that gains the record: extremes have the rest balanced or in one cell."""
    if math.isinf(order):
        most = math.ceil(n / cells)
        return max(math.log2((n + 1) / n), math.log2((most + 1) * n / (most * (n + 1))))
    gains = np.arange(n + 1)
    rest = n - gains
    changes: list[float] = []
    for others in (_balanced_power(rest, cells - 1, order), rest.astype(float) ** order):
        before = others + gains.astype(float) ** order
        after = others + (gains + 1.0) ** order
        change = np.log2(after / before) + order * math.log2(n / (n + 1))
        changes.append(float(np.abs(change).max()))
    return max(changes) / (order - 1)


def _bound_above_one(n: int, cells: int, order: float) -> float:
    """Return the tightest proved bound for orders between 1 and infinity; never more than log2 of the cells."""
    largest = math.log2(min(cells, n))
    argument = 1 - order * min(cells, n) ** (1 - 1 / order) / n
    bounds = [largest] + ([-math.log2(argument) / (order - 1)] if argument > 0 else [])
    if order == 2:
        bounds.append(math.log2(1 + min((math.sqrt(cells) + 1) / n, 2 / (2 * math.sqrt(n) - 1))))
    return min(bounds)


def published_bound(n: int) -> float:
    """Return the Shannon bound as printed (REAEDP, equation 4): valid, but about twice the exact value."""
    return (2 + 1 / math.log(2) + 2 * math.log2(n)) / n


def published_renyi_bound(n: int, order: float) -> float:
    """Return the Renyi bound as printed (REAEDP, equations 15 to 17): false for orders below 1 and beyond a few cells.

    A diagnostic for comparison only; never calibrate noise with it.
    """
    if order == 1 or order < 0 or math.isnan(order):
        raise PlanError(
            f"the printed bound has no value at order {order!r}", next_step="use sensitivity(n, cells, order)"
        )
    constant = 2 / math.log(2) if math.isinf(order) else 2 * order / (abs(1 - order) * math.log(2))
    return constant / n


def continuity_bound(tv: float, cells: int) -> float:
    """Return the most by which Shannon entropy can differ at a total variation distance (Fannes and Audenaert)."""
    if not 0 <= tv <= 1 or cells < 1:
        raise PlanError(
            f"tv must lie in [0, 1] and cells be at least 1, found {tv!r}, {cells!r}", next_step="check both"
        )
    distance = min(tv, 1 - 1 / cells)
    if distance == 0 or cells == 1:
        return 0.0
    return distance * math.log2(cells - 1) + shannon([distance, 1 - distance])
