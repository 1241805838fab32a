"""Blends of original and matched rows up to a target of interval disclosure, and the bounds as the paper prints them.

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
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sfumato.arrays import FloatArray
from sfumato.errors import RiskError
from sfumato.formatting import percent_fixed
from sfumato.privacy.exact import percent_at_most
from sfumato.risk.interval_disclosure import Tolerance, check_rows, check_tolerances, interval_disclosure

Finish = Callable[[FloatArray], FloatArray]
"""Turns blended rows into released ones, such as by rounding whole columns."""
Mix = Callable[[FloatArray, FloatArray, float], FloatArray]
"""Puts original rows and their partners together by the weight of the original ones, as ``blended`` does."""


@dataclass(frozen=True)
class Blend:
    """The largest weight of the original rows that keeps LID at or below a target, and the LID that it has."""

    alpha: float
    share: float
    floor: float
    """LID of these pairs at alpha 0: no target below it can be met."""


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
    left, right = check_rows(original, matched, True)
    limits = check_tolerances(tolerance, left.shape[1])
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
    alpha = _bisect(lambda tried: share(tried) <= allowed)
    return Blend(alpha, share(alpha), floor)


def _as_they_are(rows: FloatArray) -> FloatArray:
    return rows


def _bisect(holds: Callable[[float], bool]) -> float:
    """Return the largest number below 1 for which ``holds``, true at 0 and false at 1, with one step between."""
    low, high = 0.0, 1.0
    while high - low > np.spacing(0.5):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def blended(original: FloatArray, matched: FloatArray, alpha: float) -> FloatArray:
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


def _infeasible(max_lid: float, floor: float) -> RiskError:
    return RiskError(
        f"no blend has LID of at most {percent_fixed(max_lid, 2)}",
        [
            f"these pairs have {percent_fixed(floor, 2)} at alpha 0 already, where no original value is mixed in: that "
            "is the floor"
        ],
        f"ask for at least {percent_at_most(floor)}, take a smaller tolerance, or pair rows at random "
        "(matching='random')",
    )


def _check_target(max_lid: float) -> None:
    if not 0 <= max_lid <= 1:
        raise RiskError(f"max_lid must be a share between 0 and 1, found {max_lid!r}", next_step="use 0.05 for 5 %")


def _check_bound(columns: int, tolerance: float, width: float) -> None:
    check_tolerances(tolerance, 1)
    if columns < 1 or not width > 0:
        raise RiskError(f"columns and width must be above 0, found {columns} and {width}", next_step="use columns=3")
