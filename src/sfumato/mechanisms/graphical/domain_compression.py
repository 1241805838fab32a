"""Domain compression: merge cells into groups by their noisy counts.

Cells that hold little more than noise teach a model nothing and cost noise in every table that has them. Neighbours are
merged where a column has an order, rare levels are pooled where it has none; a missing value stays a level of its own,
for it is not a value. Groups are functions of noisy counts that were paid for, so they are free post-processing; they
never depend on true counts. Those are taken afterwards, of groups that are fixed by then
(:mod:`sfumato.mechanisms.graphical.candidates`).

How a group's rows are spread over its fine cells comes from the same counts. Noisy cells taken at face value would copy
the noise into the rows. So each shape is pulled towards a public one (width for ordered columns, equal shares for
levels) by as much as noise explains what was seen: of a deviation d under noise of variance v the share 1 - v / d^2 is
kept, none if that is negative. That is signal over signal and noise, for the mean of d^2 is the sum of both.

A table of k columns with b groups each costs the noise of b^k cells, so tables want different resolutions: many groups
for a pair that hangs together closely, two for four columns at once. After 2, 4, 8, ... runs the halving is
remembered: each resolution is a union of the finer ones, and a table at any of them is a sum of the finest. Masses
and covariance come from noisy counts that were paid for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import FloatArray, project_counts
from sfumato.errors import PlanError
from sfumato.sampling.fine_cells import cell_widths
from sfumato.schema.column import Column

THRESHOLD = 1.5
"""Groups below this many standard deviations of their noise are merged (measured: 3 is too coarse at small epsilon)."""

HEAVY_SHARE = 1 / 32

HEAVY_SIGMAS = 4.0
"""A cell of this share of the rows, and this far above the noise, is an atom: it stays a group of its own."""
ANY_SHARE_VARIANCE = 1 / 12
"""Variance of a share when every share from 0 to 1 is as likely as another."""


@dataclass(frozen=True, eq=False)
class Grouping:
    """One column's fine codes, merged: ``groups`` says which group a code is in, ``shares`` which part of it."""

    column: Column
    groups: NDArray[np.int32]
    shares: NDArray[np.float64]
    size: int

    def __post_init__(self) -> None:
        problems = _problems(self)
        if problems:
            raise PlanError(f"the groups of column {self.column.name!r} do not fit it", problems)

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """Fine codes, sorted by group."""
        return np.argsort(self.groups, kind="stable")

    @cached_property
    def first(self) -> NDArray[np.intp]:
        """Where each group begins in ``order``."""
        return np.searchsorted(self.groups[self.order], np.arange(self.size))

    @property
    def has_order(self) -> bool:
        """Whether groups are runs of neighbouring cells."""
        return has_order(self.column)


def _problems(grouping: Grouping) -> list[str]:
    """Return what is wrong: groups without a code, shares that do not sum to 1, values merged with missing."""
    size, codes = grouping.size, grouping.column.size
    if grouping.groups.shape != (codes,) or grouping.shares.shape != (codes,):
        return [f"{codes} codes, but {len(grouping.groups)} groups and {len(grouping.shares)} shares are listed"]
    if not np.array_equal(np.unique(grouping.groups), np.arange(size)):
        return [f"groups must be numbered 0 to {size - 1}, each with a code"]
    problems: list[str] = []
    sums = np.bincount(grouping.groups, grouping.shares, size)
    if not (np.all(grouping.shares >= 0) and np.allclose(sums, 1)):
        problems.append("the shares of each group must be at least 0 and sum to 1")
    if grouping.column.missing and np.count_nonzero(grouping.groups == grouping.groups[-1]) > 1:
        problems.append("missing values are merged with values")
    if has_order(grouping.column) and np.any(np.diff(grouping.groups) < 0):
        problems.append("groups of an ordered column must be runs of neighbouring cells")
    return problems


def has_order(column: Column) -> bool:
    """Whether only neighbouring cells may be merged: numbers, dates and ordinals."""
    return column.is_ordered or column.kind == "ordinal"


def compress_column(
    column: Column,
    noisy: NDArray[Any],
    sigma: float,
    total: float,
    threshold: float = THRESHOLD,
    most_groups: int | None = None,
) -> Grouping:
    """Merge the cells of a column by its noisy one-way counts, and shape the inside of each group by them.

    Without ``most_groups`` only groups below ``threshold`` standard deviations of their noise are merged. With it the
    bins of a column of numbers or dates become at most that many groups, of about equal noisy mass (adaptive bins);
    listed levels are what readers ask for by name, so it does not touch them. ``total`` is the noisy number of rows.
    The missing level is never merged and not counted in ``most_groups``.
    """
    _refuse(column, noisy, sigma, threshold, most_groups)
    present = noisy[: column.present_size].astype(np.float64)
    if has_order(column):
        most = most_groups if column.is_ordered else None
        groups = merge_neighbours(present, sigma, total, threshold, most)
    else:
        groups = pool_rare(present, sigma, threshold)
    shares = shares_of(column, present, groups, sigma)
    if column.missing:
        groups, shares = np.append(groups, groups.max() + 1), np.append(shares, 1.0)
    return Grouping(column, groups.astype(np.int32), shares, int(groups.max()) + 1)


def identity_grouping(column: Column) -> Grouping:
    """Return every code as a group of its own."""
    return Grouping(column, np.arange(column.size, dtype=np.int32), np.ones(column.size), column.size)


def sum_to_groups(counts: NDArray[Any], groupings: Sequence[Grouping]) -> NDArray[Any]:
    """Return counts over groups from counts over fine codes; one grouping per axis."""
    for axis, grouping in enumerate(groupings):
        counts = np.add.reduceat(counts.take(grouping.order, axis=axis), grouping.first, axis=axis)
    return counts


def _refuse(column: Column, noisy: NDArray[Any], sigma: float, threshold: float, most: int | None) -> None:
    checks = [
        (noisy.shape == (column.size,), f"{column.size} codes need as many counts, not {noisy.shape}"),
        (np.isfinite(sigma) and sigma >= 0, f"sigma is {sigma}: it must be a number of at least 0"),
        (np.isfinite(threshold) and threshold >= 0, f"threshold is {threshold}: it must be a number of at least 0"),
        (most is None or most >= 1, f"most_groups is {most}: it must be at least 1"),
    ]
    problems = [problem for holds, problem in checks if not holds]
    if problems:
        raise PlanError(f"column {column.name!r} cannot be grouped", problems, "correct these settings")


def shares_of(column: Column, present: FloatArray, groups: NDArray[Any], sigma: float) -> FloatArray:
    """Return each cell's share of its group, pulled towards a public shape by as much as noise explains."""
    shares = np.ones(len(present))
    widths = cell_widths(column) if column.is_ordered else np.ones(len(present))
    for group in np.flatnonzero(np.bincount(groups) > 1):
        here = np.flatnonzero(groups == group)
        if has_order(column):
            shares[here] = ordered_shares(present[here], widths[here], sigma)
        else:
            shares[here] = level_shares(present[here], sigma)
    return shares


def pool_rare(noisy: NDArray[np.float64], sigma: float, threshold: float) -> NDArray[np.int64]:
    """Pool the levels below the threshold into one last group; a pool that is still below takes the smallest level in.

    The pool is judged by the noise of one level, not by its own: pair tables will be noised by group, so a pool of
    thousands of levels is as well seen there as any other group, and must not swallow levels that stand on their own.
    """
    kept = noisy >= threshold * sigma
    if not kept.all() and kept.any() and noisy[~kept].sum() < threshold * sigma:
        kept[np.argmin(np.where(kept, noisy, np.inf))] = False
    return np.where(kept, np.cumsum(kept) - 1, kept.sum())


def merge_neighbours(
    noisy: NDArray[np.float64],
    sigma: float,
    total: float,
    threshold: float,
    most: int | None,
) -> NDArray[np.int64]:
    """Merge neighbours, the lightest pair first, until every group stands above its noise and there are few enough.

    A sum of two groups that pass passes too, so the second aim never undoes the first. Atoms stay alone, and a light
    run between two atoms stays a group of its own, unless only joining atoms brings the number down.
    """
    heavy = noisy >= max(total * (HEAVY_SHARE if most is None else 1 / most), HEAVY_SIGMAS * sigma)
    sums, cells = noisy.copy(), np.ones(len(noisy))
    while len(sums) > 1:
        pair = _next_pair(sums, sums < threshold * sigma * np.sqrt(cells), heavy, most is not None and len(sums) > most)
        if pair is None:
            break
        sums[pair] += sums[pair + 1]
        cells[pair] += cells[pair + 1]
        heavy[pair] |= heavy[pair + 1]
        sums, cells, heavy = np.delete(sums, pair + 1), np.delete(cells, pair + 1), np.delete(heavy, pair + 1)
    return np.repeat(np.arange(len(cells)), cells.astype(np.int64))


def _next_pair(
    sums: NDArray[np.float64],
    weak: NDArray[np.bool_],
    heavy: NDArray[np.bool_],
    too_many: bool,
) -> int | None:
    """Return the pair to merge next by its left member, or None when all is well."""
    pairs = sums[:-1] + sums[1:]
    light = ~(heavy[:-1] | heavy[1:])
    for wanted in (light & (weak[:-1] | weak[1:]), light & too_many, np.full(len(pairs), too_many)):
        if wanted.any():
            return int(np.argmin(np.where(wanted, pairs, np.inf)))
    return None


def kept_signal(squared: float, variance: float) -> float:
    """Return which share of a deviation is signal: none below the noise, nearly all far above it.

    >>> kept_signal(squared=100.0, variance=10.0)
    0.9
    """
    return max(0.0, 1 - variance / squared) if squared > 0 else 0.0


def ordered_shares(noisy: FloatArray, widths: FloatArray, sigma: float) -> FloatArray:
    """Return the shares of neighbouring cells, halved again and again.

    Every halving splits a mass between left and right: by least squares from the noisy counts, then pulled towards the
    split by widths. Coarse halves sum many cells, so a tail that falls off is seen long before any of its cells is.
    """
    return _ShareHalving(np.append(0.0, np.cumsum(noisy)), np.append(0.0, np.cumsum(widths)), sigma).shares()


class _ShareHalving:
    """Prefix sums of noisy counts and of widths, and the masses that follow from them."""

    def __init__(self, counts: FloatArray, widths: FloatArray, sigma: float) -> None:
        self.counts = counts
        self.widths = widths
        self.variance = sigma**2
        self.masses = np.zeros(len(counts) - 1)

    def shares(self) -> FloatArray:
        total = float(self.counts[-1])
        if total <= 0:
            return np.diff(self.widths) / self.widths[-1]
        self._spread(0, len(self.masses), total)
        return self.masses / self.masses.sum()

    def _spread(self, first: int, last: int, mass: float) -> None:
        if last - first == 1:
            self.masses[first] = mass
            return
        middle = (first + last) // 2
        left = self._left_mass(first, middle, last, mass)
        self._spread(first, middle, left)
        self._spread(middle, last, mass - left)

    def _left_mass(self, first: int, middle: int, last: int, mass: float) -> float:
        counts, widths = self.counts, self.widths
        part = (middle - first) / (last - first)
        by_width = mass * float((widths[middle] - widths[first]) / (widths[last] - widths[first]))
        # What the two halves sum to beyond the mass is noise; each cell bears an equal part of it.
        measured = float(counts[middle] - counts[first]) + part * (mass - float(counts[last] - counts[first]))
        deviation = measured - by_width
        variance = self.variance * part * (last - middle)
        kept = min(kept_signal(deviation**2, variance), _kept_share(mass, variance))
        return min(max(by_width + kept * deviation, 0.0), mass)


def _kept_share(mass: float, variance: float) -> float:
    """Return how far a share of a mass can be trusted, when any share was as likely as another before.

    A mass below its noise says nothing about its halves: the split by widths is then the best guess.
    """
    spread = ANY_SHARE_VARIANCE * mass**2
    return spread / (spread + variance) if spread + variance > 0 else 0.0


def level_shares(noisy: FloatArray, sigma: float) -> FloatArray:
    """Return the shares of levels without order: projected to counts of at least 0, then blended with equal shares.

    The deviation of all levels together has one variance less than there are levels, because their sum is given.
    """
    count = len(noisy)
    total = float(noisy.sum())
    equal = np.full(count, 1 / count)
    if total <= 0:
        return equal
    kept = kept_signal(float(((noisy - total / count) ** 2).sum()), (count - 1) * sigma**2)
    projected = project_counts(noisy, total)
    return kept * projected / projected.sum() + (1 - kept) * equal


Groups = NDArray[np.int32]


@dataclass(frozen=True)
class NestedGroups:
    """The group of each cell at the finest resolution, and the group of each finest group at the coarser ones."""

    groups: Groups
    coarser: Mapping[int, Groups]
    """By number of groups (2, 4, ...): which of them each finest group lies in."""

    @property
    def size(self) -> int:
        """Groups at the finest resolution."""
        return int(self.groups.max()) + 1

    def with_missing(self) -> NestedGroups:
        """Return the same with one cell more, the missing level: a group of its own at every resolution."""
        last = {level: np.append(coarse, coarse.max() + 1).astype(np.int32) for level, coarse in self.coarser.items()}
        return NestedGroups(np.append(self.groups, self.size).astype(np.int32), last)


def nested_groups(masses: FloatArray, covariance: FloatArray, most: int, threshold: float) -> NestedGroups:
    """Halve runs of cells until there are ``most``, or no run has two halves that stand above their noise.

    A half must have at least ``threshold`` standard deviations of its noise. A cell too heavy to be halved stays a
    run of its own, so that an atom ends up alone.
    """
    halving = _MassHalving(np.maximum(masses, 0.0), covariance, threshold)
    cuts, cuts_by_level = [0], dict[int, list[int]]()
    open_runs = {(0, len(masses))}
    while len(cuts) < most and open_runs:
        run = max(open_runs, key=lambda ends: (halving.mass(*ends), ends))
        open_runs.remove(run)
        middle = halving.middle(*run)
        if middle is None:
            continue
        cuts.append(middle)
        open_runs |= {(run[0], middle), (middle, run[1])}
        if len(cuts) & (len(cuts) - 1) == 0:
            cuts_by_level[len(cuts)] = sorted(cuts)
    finest = sorted(cuts)
    groups = np.searchsorted(finest, np.arange(len(masses)), side="right") - 1
    coarser = {
        level: (np.searchsorted(coarse, finest, side="right") - 1).astype(np.int32)
        for level, coarse in cuts_by_level.items()
        if level < len(finest)
    }
    return NestedGroups(groups.astype(np.int32), coarser)


class _MassHalving:
    """Masses of runs and the noise in them, from sums up to each cell."""

    def __init__(self, masses: FloatArray, covariance: FloatArray, threshold: float) -> None:
        self._ends = np.append(0.0, np.cumsum(masses))
        self._covariance, self._threshold = covariance, threshold

    @cached_property
    def _squares(self) -> FloatArray:
        return np.pad(self._covariance.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))

    def mass(self, first: int, last: int) -> float:
        """Return the mass of a run."""
        return float(self._ends[last] - self._ends[first])

    def middle(self, first: int, last: int) -> int | None:
        """Return the cell that begins the second half: as even as can be, both halves above their noise."""
        edges = np.arange(first + 1, last)
        left, right = self._ends[edges] - self._ends[first], self._ends[last] - self._ends[edges]
        fit = (left > self._noise(first, edges)) & (right > self._noise(edges, last))
        if not fit.any():
            return None
        return int(edges[np.argmin(np.where(fit, np.abs(left - right), np.inf))])

    def _noise(self, first: Any, last: Any) -> FloatArray:
        squares = self._squares
        variance = squares[last, last] - squares[first, last] - squares[last, first] + squares[first, first]
        return self._threshold * np.sqrt(np.maximum(variance, 0.0))
