"""Sensitivity of Shannon and Renyi entropy: exact where a closed form or a short search is proved.

Otherwise the tightest proved bound, and the answer says which.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.entropy.values import check_order, renyi
from sfumato.errors import PlanError

Adjacency = Literal["replace", "add-remove"]
LONGEST_SEARCH = 2000
"""Records up to which orders between 1 and infinity are searched exactly under replace (quadratic in n)."""


class EntropySensitivity(float):
    """How much one record can change an entropy, in bits; ``exact`` says whether some pair of tables attains it."""

    exact: bool

    @classmethod
    def of(cls, value: float, exact: bool) -> EntropySensitivity:
        """Return the number with its standing."""
        number = cls(value)
        number.exact = exact
        return number


def sensitivity(n: int, cells: int, order: float = 1.0, adjacency: Adjacency = "replace") -> EntropySensitivity:
    """Return the largest change of the entropy over tables of ``n`` records in ``cells`` cells.

    Under "replace" one of n records moves; under "add-remove" a table of n records gains one. There n is private, so
    calibrate with a public lower bound on n.

    >>> round(sensitivity(1000, 30), 9), sensitivity(1000, 30).exact
    (0.011407758, True)
    """
    check_order(order)
    if n < 1 or cells < 1 or n != int(n) or cells != int(cells):
        raise PlanError(
            f"n and cells must be whole numbers of at least 1, found {n!r} and {cells!r}",
            next_step="give the public number of records and of cells",
        )
    if adjacency not in ("replace", "add-remove"):
        raise PlanError(f"unknown adjacency {adjacency!r}", next_step="use 'replace' or 'add-remove'")
    if cells == 1 or (n == 1 and adjacency == "replace"):
        return EntropySensitivity.of(0.0, True)
    if order <= 1:
        return EntropySensitivity.of(_pair_entropy(n if adjacency == "replace" else n + 1, order), True)
    if adjacency == "add-remove":
        return EntropySensitivity.of(_added_record(n, cells, order), True)
    if math.isinf(order):
        return EntropySensitivity.of(math.log2(1 + 1 / math.ceil(n / cells)), True)
    if n <= LONGEST_SEARCH:
        return EntropySensitivity.of(_moved_record(n, cells, order), True)
    return EntropySensitivity.of(_bound_above_one(n, cells, order), False)


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
