"""Location-based interval disclosure (LID): how many rows keep a value within a tolerance of their own.

A row is disclosed if at least one of its released values is within the tolerance of its original one (Definition 1 of
the two-stage paper). The measure has limits that are printed with it:

* it needs row i of the release to come from row i of the original. The verbatim table with its rows dealt anew has a
  small LID. With ``aligned=False`` each original row is compared with the released row that is nearest to it instead,
  which is what an attacker who holds the record can do;
* it says nothing about linkage: ``row_linkage`` measures that;
* everything here is computed from confidential rows without noise: it is for the custodian and guarantees nothing.

The bound that the paper prints (equation 10) is for rows paired at random. Where each row is paired with the nearest
synthetic one, as its algorithm does, the measured LID is 4 to 200 times larger, so ``blend_for`` computes the blend
from the pairs themselves, as they are released: rounded where a column is whole.

>>> x, s = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[0.1], [1.2], [2.4], [3.8]])
>>> chosen = blend_for(0.25, x, s, tolerance=0.05)
>>> round(chosen.alpha, 6), chosen.share
(0.75, 0.25)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.arrays import Array
from sfumato.errors import RiskError
from sfumato.privacy.exact import at_most, exact

Tolerance = float | Sequence[float] | Array
Finish = Callable[[Array], Array]
"""Turns blended rows into released ones, such as by rounding whole columns."""
Mix = Callable[[Array, Array, float], Array]
"""Puts original rows and their partners together by the weight of the original ones, as ``blended`` does."""
TOPS = (1, 10)


@dataclass(frozen=True, eq=False)
class IntervalDisclosure:
    """Share of rows with at least one value within the tolerance, and what it was measured with."""

    share: float
    by_column: Array
    """Share of rows whose value in this column is within the tolerance."""
    tolerance: Array
    """One for each column."""
    aligned: bool
    """Whether row i was compared with row i, or with the released row nearest to it."""
    disclosed: NDArray[np.bool_]
    """For each original row whether it is disclosed."""

    def __float__(self) -> float:
        return self.share


@dataclass(frozen=True)
class Blend:
    """The largest weight of the original rows that keeps LID at or below a target, and the LID that it has."""

    alpha: float
    share: float
    floor: float
    """LID of these pairs at alpha 0: no target below it can be met."""


def interval_disclosure(
    original: ArrayLike, released: ArrayLike, tolerance: Tolerance, aligned: bool = True
) -> IntervalDisclosure:
    """Measure LID. ``tolerance`` is one number, or one for each column, in the unit of the table.

    >>> x = np.array([[0.0, 5.0], [1.0, 6.0]])
    >>> interval_disclosure(x, x + [[0.5, 0.01], [0.5, 0.5]], tolerance=0.1).share
    0.5
    """
    left, right = _checked(original, released, aligned)
    limits = _tolerances(tolerance, left.shape[1])
    if not aligned:
        right = right[_nearest(left, right, 1)[:, 0]]
    within = np.abs(left - right) <= limits
    disclosed = np.asarray(within.any(axis=1), np.bool_)
    return IntervalDisclosure(float(disclosed.mean()), within.mean(axis=0), limits, aligned, disclosed)


def row_linkage(original: ArrayLike, released: ArrayLike, tops: Sequence[int] = TOPS) -> dict[int, float]:
    """Return for each ``top`` the share of rows whose own released row is among the ``top`` nearest to them.

    Row i of ``released`` must be the one made from row i of ``original``: undo the shuffling first. Columns are in
    units of the original standard deviation. Guessing links ``top / rows``.

    >>> x = np.arange(20.0)[:, None]
    >>> row_linkage(x, x + 0.1), row_linkage(x, x + 0.9)
    ({1: 1.0, 10: 1.0}, {1: 0.05, 10: 1.0})
    """
    left, right = _checked(original, released, True)
    if not tops or min(tops) < 1:
        raise RiskError(f"each top must be at least 1, found {tuple(tops)}", next_step="use for example tops=(1, 10)")
    deepest = min(max(tops), len(left))
    own = _nearest(left, right, deepest) == np.arange(len(left))[:, None]
    return {top: float(own[:, :top].any(axis=1).mean()) for top in tops}


def nearness_auc(members: Array, others: Array) -> float:
    """Return the chance that a member's distance to a release is smaller than another person's; ties count half.

    >>> nearness_auc(np.array([0.1, 0.2]), np.array([0.2, 0.9]))
    0.875
    """
    from scipy.stats import rankdata

    ranks, count = rankdata(-np.concatenate([members, others])), len(members)
    return float((ranks[:count].sum() - count * (count + 1) / 2) / (count * len(others)))


def blend_for(
    max_lid: float,
    original: ArrayLike,
    matched: ArrayLike,
    tolerance: Tolerance,
    finish: Finish | None = None,
    mix: Mix | None = None,
) -> Blend:
    """Return the largest alpha for which rows ``finish(alpha x + (1 - alpha) s)`` have LID of at most ``max_lid``.

    ``mix`` may stand in the place of the weighted mean; with it, too, values must come nearer as alpha grows.

    ``finish`` rounds rows into their domain, or does nothing unless given. It must leave original rows as they are and
    keep the order of the values of a column, as rounding and clipping do. Then a released value only comes nearer to
    its own as alpha grows, and LID is a step function that only rises. Halving finds the step at which it exceeds the
    target, down to neighbouring numbers: the answer is exact. It depends on the confidential rows.

    Without ``finish`` the step lies at ``1 - 1 / m_(k+1)``, where m is the smallest distance of a row in units of the
    tolerance, sorted, and k the number of rows that may be disclosed.

    >>> ages, partners = np.array([[30.0], [40.0], [50.0]]), np.array([[31.0], [44.0], [60.0]])
    >>> round(blend_for(0.4, ages, partners, 0.1, finish=np.rint).alpha, 6)
    0.875
    """
    left, right = _checked(original, matched, True)
    limits = _tolerances(tolerance, left.shape[1])
    _check_target(max_lid)
    release, put = finish or _as_they_are, mix or blended

    def share(alpha: float) -> float:
        return interval_disclosure(left, release(put(left, right, alpha)), limits).share

    allowed = math.floor(max_lid * len(left) * (1 + 1e-12)) / len(left)
    floor = share(0.0)
    if share(1.0) <= allowed:
        return Blend(1.0, share(1.0), floor)
    if floor > allowed:
        raise _infeasible(max_lid, floor)
    alpha = _largest(lambda tried: share(tried) <= allowed)
    return Blend(alpha, share(alpha), floor)


def _as_they_are(rows: Array) -> Array:
    return rows


def _largest(holds: Callable[[float], bool]) -> float:
    """Return the largest number below 1 for which ``holds``, true at 0 and false at 1, with one step between."""
    low, high = 0.0, 1.0
    while high - low > np.spacing(0.5):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def blended(original: Array, matched: Array, alpha: float) -> Array:
    """Return ``alpha`` times the original rows plus the rest of the matched ones."""
    return alpha * original + (1 - alpha) * matched


def published_bound(alpha: float, columns: int, tolerance: float, width: float = 1.0) -> float:
    """Return the paper's bound (10) on the expected LID, at most 1. It holds for random pairs, not for matched ones.

    >>> round(published_bound(0.5, 3, 0.001), 6)
    0.011952
    """
    _check_bound(columns, tolerance, width)
    if not 0 <= alpha <= 1:
        raise RiskError(f"alpha must lie between 0 and 1, found {alpha!r}", next_step="use for example alpha=0.5")
    hit = 1.0 if alpha == 1 else min(2 * tolerance / (width * (1 - alpha)), 1.0)
    return 1 - (1 - hit) ** columns


def corrected_inverse(max_lid: float, columns: int, tolerance: float, width: float = 1.0) -> float:
    """Return the alpha at which the published bound equals ``max_lid``: below 0 where no alpha reaches it.

    It inherits the bound's fault: on matched rows it asks for 5 % and gets 19 to 98 %. Use ``blend_for``.

    >>> round(corrected_inverse(0.05, 3, 0.001), 4)
    0.882
    """
    _check_bound(columns, tolerance, width)
    _check_target(max_lid)
    if max_lid == 0:
        return -math.inf
    hit = 1 - (1 - max_lid) ** (1 / columns)
    return 1 - 2 * tolerance / (width * hit)


def printed_inverse(max_lid: float, columns: int, tolerance: float) -> float:
    """Return the alpha of the formula as printed in algorithm 1. Erratum: its exponent makes it larger than 1.

    >>> round(printed_inverse(0.05, 3, 0.001), 3)
    1.012
    """
    _check_bound(columns, tolerance, 1.0)
    _check_target(max_lid)
    if max_lid in (0, 1):
        raise RiskError("the printed formula has no value at 0 or 1", next_step="use for example max_lid=0.05")
    return 1 - 2 * tolerance / (1 - (1 - max_lid) ** -columns)


def _nearest(left: Array, right: Array, count: int) -> NDArray[np.int64]:
    """Return for each left row the ``count`` nearest right rows, in units of the left standard deviation."""
    from scipy.spatial import KDTree

    spread = left.std(axis=0)
    spread[spread == 0] = 1.0
    found = KDTree(right / spread).query(left / spread, k=count)[1]
    return np.asarray(found, np.int64).reshape(len(left), count)


def _infeasible(max_lid: float, floor: float) -> RiskError:
    least = at_most(100 * exact(floor), 3)
    return RiskError(
        f"no blend has LID of at most {max_lid:.2%}",
        [f"these pairs have {floor:.2%} at alpha 0 already, where no original value is mixed in: that is the floor"],
        f"ask for at least {least} %, take a smaller tolerance, or pair rows at random (matching='random')",
    )


def _checked(original: ArrayLike, released: ArrayLike, aligned: bool) -> tuple[Array, Array]:
    """Return both tables as rows of finite numbers with the same columns, and the same rows where aligned."""
    pair = [np.asarray(rows, np.float64) for rows in (original, released)]
    pair = [rows[:, None] if rows.ndim == 1 else rows for rows in pair]
    problems: list[str] = []
    for name, rows in zip(("original", "released"), pair, strict=True):
        if rows.ndim != 2 or not rows.size:
            problems.append(f"{name}: must be rows and columns of numbers, found shape {rows.shape}")
        elif not np.isfinite(rows).all():
            problems.append(f"{name}: {int((~np.isfinite(rows)).sum()):,} values are missing or infinite")
    same = pair[0].shape == pair[1].shape if aligned else pair[0].shape[1:] == pair[1].shape[1:]
    if not problems and not same:
        problems.append(f"shapes {pair[0].shape} and {pair[1].shape} do not fit")
    if problems:
        raise RiskError("the rows cannot be compared", problems, "give complete numeric rows, one released row each")
    return pair[0], pair[1]


def _tolerances(tolerance: Tolerance, columns: int) -> Array:
    limits = np.asarray(tolerance, np.float64)
    if limits.shape not in ((), (columns,)) or not (np.isfinite(limits) & (limits > 0)).all():
        raise RiskError(
            f"tolerance must be a number above 0, or one for each of {columns} columns, found {tolerance!r}",
            next_step="give the distance within which a value counts as disclosed, for example tolerance=0.001",
        )
    return np.broadcast_to(limits, (columns,)).copy()


def _check_target(max_lid: float) -> None:
    if not 0 <= max_lid <= 1:
        raise RiskError(f"max_lid must be a share between 0 and 1, found {max_lid!r}", next_step="use 0.05 for 5 %")


def _check_bound(columns: int, tolerance: float, width: float) -> None:
    _tolerances(tolerance, 1)
    if columns < 1 or not width > 0:
        raise RiskError(f"columns and width must be above 0, found {columns} and {width}", next_step="use columns=3")
