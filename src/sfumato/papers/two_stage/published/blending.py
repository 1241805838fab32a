"""Match each original row to a synthetic row and release a weighted mean of both.

``alpha`` is the weight of the original row. It is given, or the largest one that keeps the interval disclosure (LID) of
the rows as they are released at or below ``max_lid``. Blended rows are a convolution of both distributions and no
mixture: with rows paired at random the spread shrinks, and it is the matching that keeps the marginals. The rows are
shuffled. Heuristic: no differential privacy; alpha, the pairs and all that is measured come from the confidential rows.

How a row and its partner are put together (``how``); values come nearer to the row's own as alpha grows in all three:

* ``additive``: the weighted mean, as published;
* ``multiplicative``: the weighted geometric mean of what lies above ``base``, as of Dandekar and others (2002);
* ``proportion``: a share alpha of the rows is released **as it is**, and of the others the synthetic partner. It alone
  has the density that the paper's theorem speaks of, and it discloses the share alpha outright.

Which synthetic row is blended with which original row, one each, near to each other:

* ``rounds``: every free original row names the nearest free synthetic rows, each synthetic row takes the nearest of
  those who named it, and so on. No row is favoured by its place in the file, and pairs are nearer than greedy ones.
* ``greedy``: as published, row after row takes the nearest synthetic row that is left. The rows are shuffled first:
  in file order the first ones are paired nearly with themselves and the last ones with what remains.
* ``optimal``: the assignment with the least total distance; cubic in the rows.
* ``random``: no nearness at all. The marginals of the blend shrink, but targets that nearness forbids can be met.

Distances are Euclidean, in units of the standard deviations of the original columns unless ``scaled`` is false.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.arrays import FloatArray
from sfumato.errors import PlanError, TableError
from sfumato.papers.two_stage.published.disclosure_bounds import Finish, Mix, blend_for, blended
from sfumato.risk.interval_disclosure import IntervalDisclosure, Tolerance, interval_disclosure

if TYPE_CHECKING:
    from scipy.spatial import KDTree

LABEL = "heuristic: no differential privacy"
Places = NDArray[np.int64]
Matching = Literal["rounds", "greedy", "optimal", "random"]
MATCHINGS: tuple[str, ...] = get_args(Matching)
How = Literal["additive", "multiplicative", "proportion"]
HOWS: tuple[str, ...] = get_args(How)
OPTIMAL_ROWS = 3000
"""Above this the optimal assignment takes minutes and n^2 numbers."""
NEIGHBOURS = 6
"""Candidates per row in one round of matching."""
STALLED = 0.05
"""A round that pairs a smaller share than this of the free rows is the last one."""
BATCH = 16
"""Candidates per row that the greedy rule looks up at once."""


@dataclass(frozen=True, eq=False)
class BlendedRows:
    """Blended rows in their shuffled order. Only ``rows`` would leave the custodian, and without a guarantee."""

    rows: FloatArray
    order: NDArray[np.int64]
    """Original row from which each released row is made: for the custodian's measures, never for release."""
    matched: FloatArray
    """Synthetic row of each original row, in the order of the original."""
    alpha: float
    disclosure: IntervalDisclosure
    """Measured on rows in the order of the original."""
    displacement: FloatArray
    """How far each original row moved: Euclidean, in standard deviations of the original columns."""
    matching: str
    floor: float
    """LID of these pairs at alpha 0, as they would be released: no smaller one can be had with them."""
    label: str = LABEL

    @property
    def lid(self) -> float:
        """Share of rows with a value within the tolerance of their own."""
        return self.disclosure.share

    @property
    def aligned(self) -> FloatArray:
        """The released rows back in the order of the original: for measuring, never for release."""
        rows = np.empty_like(self.rows)
        rows[self.order] = self.rows
        return rows


def blend_rows(
    original: ArrayLike,
    synthetic: ArrayLike,
    *,
    tolerance: Tolerance,
    generator: np.random.Generator,
    alpha: float | None = None,
    max_lid: float | None = None,
    matching: str = "rounds",
    finish: Finish | None = None,
    how: str = "additive",
    base: ArrayLike = 0.0,
) -> BlendedRows:
    """Match, blend and shuffle. Give either ``alpha`` or ``max_lid``.

    ``tolerance`` is one number, or one for each column, in the unit of the table. ``base`` is where the multiplicative
    blend has its 0, for all columns or for each: public lower bounds. ``finish`` turns blended rows into
    released ones, by rounding whole columns for example: everything is solved and measured on its result.

    >>> generator = np.random.default_rng(1)
    >>> x, s = generator.random((200, 3)), generator.random((200, 3))
    >>> made = blend_rows(x, s, max_lid=0.2, tolerance=0.001, generator=generator)
    >>> made.lid <= 0.2, 0 < made.alpha < 1, made.label
    (True, True, 'heuristic: no differential privacy')
    """
    _check_choice(alpha, max_lid, how)
    rows = np.asarray(original, np.float64)
    made = np.asarray(synthetic, np.float64)
    # Bad rows or tolerances are refused here, before the matching takes its time.
    interval_disclosure(rows, rows, tolerance)
    matched = made[match(rows, made, matching, generator)]
    put = _mix(how, np.asarray(base, np.float64), generator.random((len(rows), 1)) if how == "proportion" else None)
    if max_lid is not None:
        alpha = blend_for(max_lid, rows, matched, tolerance, finish, put).alpha
    weight = float(alpha or 0.0)
    aligned, bare = (put(rows, matched, each) for each in (weight, 0.0))
    if finish is not None:
        aligned, bare = finish(aligned), finish(bare)
    floor = interval_disclosure(rows, bare, tolerance).share
    order = generator.permutation(len(rows))
    return BlendedRows(
        rows=aligned[order],
        order=order,
        matched=matched,
        alpha=weight,
        floor=floor,
        matching=matching,
        disclosure=interval_disclosure(rows, aligned, tolerance),
        displacement=_displacement(rows, aligned),
    )


def _mix(how: str, base: FloatArray, places: FloatArray | None) -> Mix:
    """Return how rows and partners are put together; ``places`` say for each row at which share it is kept."""
    if how == "multiplicative":
        return partial(multiplied, base)
    return blended if places is None else partial(chosen, places)


def multiplied(base: FloatArray, original: FloatArray, matched: FloatArray, alpha: float) -> FloatArray:
    """Return the weighted geometric mean of what lies above ``base``; what lies below it counts as 0.

    >>> multiplied(np.array(0.0), np.array([[4.0]]), np.array([[9.0]]), 0.5)
    array([[6.]])
    """
    left, right = (np.maximum(rows - base, 0.0) for rows in (original, matched))
    return base + left**alpha * right ** (1 - alpha)


def chosen(places: FloatArray, original: FloatArray, matched: FloatArray, alpha: float) -> FloatArray:
    """Return the rows whose place is below ``alpha`` as they are, and the partners of the others."""
    return np.where(places < alpha, original, matched)


def _check_choice(alpha: float | None, max_lid: float | None, how: str) -> None:
    if how not in HOWS:
        raise PlanError(f"hybrid {how!r} is unknown", next_step=f"use one of {', '.join(HOWS)}")
    if (alpha is None) == (max_lid is None):
        raise PlanError("give either alpha or max_lid, and not both", next_step="use for example max_lid=0.05")
    if alpha is not None and not 0 <= alpha <= 1:
        raise PlanError(
            f"alpha is the weight of the original rows, between 0 and 1, found {alpha!r}",
            next_step="use for example alpha=0.5",
        )


def _displacement(original: FloatArray, released: FloatArray) -> FloatArray:
    spread = original.std(axis=0)
    spread[spread == 0] = 1.0
    return np.linalg.norm((original - released) / spread, axis=1)


def match(
    original: FloatArray, synthetic: FloatArray, matching: str, generator: np.random.Generator, *, scaled: bool = True
) -> Places:
    """Return for each original row the place of its synthetic row; no synthetic row is used twice.

    >>> x = np.array([[0.0], [1.0], [2.0]])
    >>> match(x, x[::-1] + 0.1, "rounds", np.random.default_rng(1))
    array([2, 1, 0])
    """
    _check(original, synthetic, matching)
    if matching == "random":
        return generator.permutation(len(synthetic))[: len(original)]
    spread = original.std(axis=0) if scaled else np.ones(original.shape[1])
    spread[spread == 0] = 1.0
    # Shuffled on both sides, so that ties do not depend on the order of either table.
    rows, places = generator.permutation(len(original)), generator.permutation(len(synthetic))
    rules = {"rounds": _pair_in_rounds, "greedy": _greedy, "optimal": _optimal}
    found = np.empty(len(original), np.int64)
    found[rows] = places[rules[matching](original[rows] / spread, synthetic[places] / spread)]
    return found


def _check(original: FloatArray, synthetic: FloatArray, matching: str) -> None:
    if matching not in MATCHINGS:
        raise PlanError(f"matching {matching!r} is unknown", next_step=f"use one of {', '.join(MATCHINGS)}")
    if original.ndim != 2 or synthetic.ndim != 2 or original.shape[1] != synthetic.shape[1]:
        raise TableError(f"shapes {original.shape} and {synthetic.shape} do not fit", next_step="give the same columns")
    if not (np.isfinite(original).all() and np.isfinite(synthetic).all()):
        raise TableError("rows with missing or infinite values cannot be matched", next_step="fill or drop them")
    if len(synthetic) < len(original):
        raise PlanError(
            f"{len(original):,} rows need as many synthetic ones, found {len(synthetic):,}",
            next_step="make at least as many synthetic rows as there are original ones",
        )
    if matching == "optimal" and len(synthetic) > OPTIMAL_ROWS:
        raise PlanError(
            f"the optimal assignment of {len(synthetic):,} rows is too slow: it stops at {OPTIMAL_ROWS:,}",
            next_step="use matching='rounds', which is nearly as near",
        )


def _optimal(left: FloatArray, right: FloatArray) -> Places:
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    return np.asarray(linear_sum_assignment(cdist(left, right))[1], np.int64)


def _pair_in_rounds(left: FloatArray, right: FloatArray) -> Places:
    """Pair in rounds while they get on; what is left over is split in halves."""
    from scipy.spatial import KDTree

    found = np.full(len(left), -1, np.int64)
    free, rest = np.arange(len(left)), np.arange(len(right))
    while len(free):
        width = min(NEIGHBOURS, len(rest))
        distance, near = KDTree(right[rest], balanced_tree=False, compact_nodes=False).query(left[free], k=width)
        pairs = _one_round(distance.reshape(-1, width), near.reshape(-1, width), len(rest))
        paired = pairs >= 0
        found[free[paired]] = rest[pairs[paired]]
        rest = np.delete(rest, pairs[paired])
        stalled = paired.mean() < STALLED
        free = free[~paired]
        if stalled and len(free):
            # Many equal rows, or synthetic rows far outside: each round would pair only a few of them.
            found[free] = rest[_halves(left[free], right[rest])]
            break
    return found


def _one_round(distance: FloatArray, near: Places, places: int) -> Places:
    """Let each row name its candidates, nearest first; a place goes to the nearest row that names it at that turn."""
    found = np.full(len(near), -1, np.int64)
    taken = np.zeros(places, bool)
    turn = np.zeros(len(near), np.int64)
    active = np.arange(len(near))
    while len(active):
        named = near[active, turn[active]]
        length = distance[active, turn[active]]
        order = np.lexsort((length, named))
        first = order[np.r_[True, np.diff(named[order]) != 0]]
        won = first[~taken[named[first]]]
        found[active[won]] = named[won]
        taken[named[won]] = True
        losers = np.delete(active, won)
        turn[losers] += 1
        active = losers[turn[losers] < near.shape[1]]
    return found


def _halves(left: FloatArray, right: FloatArray) -> Places:
    """Pair by cutting both sets at their medians along the same axis, again and again, down to single rows.

    Linear in the rows but for a logarithm, whatever the ties. Spare synthetic rows are dropped at random: the callers
    shuffle.
    """
    found = np.empty(len(left), np.int64)
    stack = [(np.arange(len(left)), np.arange(len(left)))]
    while stack:
        rows, places = stack.pop()
        if len(rows) == 1:
            found[rows] = places
            continue
        axis = int(np.argmax(np.ptp(left[rows], axis=0) + np.ptp(right[places], axis=0)))
        rows = rows[np.argsort(left[rows, axis], kind="stable")]
        places = places[np.argsort(right[places, axis], kind="stable")]
        half = len(rows) // 2
        stack += [(rows[:half], places[:half]), (rows[half:], places[half:])]
    return found


def _greedy(left: FloatArray, right: FloatArray) -> Places:
    """Give each row in turn the nearest free place, with a tree that is built anew when half of it is taken."""
    from scipy.spatial import KDTree

    found = np.empty(len(left), np.int64)
    rest, start = np.arange(len(right)), 0
    while start < len(left):
        stop = min(start + max(len(rest) // 2, 1), len(left))
        tree = KDTree(right[rest])
        taken = np.zeros(len(rest), bool)
        found[start:stop] = rest[_greedy_run(tree, left[start:stop], taken)]
        rest, start = rest[~taken], stop
    return found


def _greedy_run(tree: KDTree, rows: FloatArray, taken: NDArray[np.bool_]) -> Places:
    """Serve these rows from one tree; ``taken`` is marked on the way."""
    width = min(BATCH, len(taken))
    near = np.asarray(tree.query(rows, k=width)[1], np.int64).reshape(len(rows), width)
    chosen = np.empty(len(rows), np.int64)
    for i, candidates in enumerate(near):
        free = candidates[~taken[candidates]]
        reach = width
        while not len(free):
            reach = min(4 * reach, len(taken))
            candidates = np.atleast_1d(tree.query(rows[i], k=reach)[1])
            free = candidates[~taken[candidates]]
        chosen[i] = free[0]
        taken[free[0]] = True
    return chosen
