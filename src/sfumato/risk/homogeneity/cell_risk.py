"""Exact risk of each cell (one surviving combination of sensitive values, read off correctly), and the attack itself.

A cell with counts n_1..n_K is published with noise; a count survives with probability q(n) and vanishes with r(n).
The attacker reads a value where exactly one count survives. Three views: "conservative" (the surviving value occurs in
the cell), "record" (a random record of the cell has that value), "any" (the cell looks homogeneous at all).

**Several sensitive columns**, definitions 5 and 6 of the paper. The cross table of the identifiers and of q sensitive
attributes is published with noise. A cell is homogeneous in an attribute when all its surviving counts agree in it;
*complete* when that holds for every attribute, *partial* when it holds for some, *heterogeneous* when it holds for
none. For a set J of attributes let H_J be "homogeneous in every attribute of J": then all surviving counts agree in the
combination of values of J. The counts of one combination vanish together with probability R = the product of their
r(n), and one of them survives with 1 - R. So H_J is "exactly one combination of J survives", with the same O(K) sum as
for one attribute. The events H_J are intersections of the H_j, and so are the events "and the reading is right for a
random record". Inclusion and exclusion over the 2^q - 1 sets gives "at least one":

    P(some) = sum over J of (-1)^(|J| + 1) P(H_J),   partial = some - complete.

Every one of these is the probability of an event about independent counts, so the inverse search applies as it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from sfumato.arrays import Counts, FloatArray
from sfumato.errors import RiskError
from sfumato.metrics.confidence import wilson_interval
from sfumato.privacy.noise_distributions import NoiseLaw
from sfumato.risk.homogeneity.cells import Cells, View, check_counts, project, require_view

BLOCK = 1 << 15
"""Cells worked on at once: the working arrays stay in the cache."""
LONGEST_TABLE = 1 << 22
MOST_ATTRIBUTES = 6


def local(
    counts: ArrayLike, noise: NoiseLaw, view: View = "conservative", threshold: float | None = None
) -> FloatArray:
    """Return the exact risk of every cell; empty cells have risk 0.

    A count survives where it rounds to at least 1; ``threshold`` sets another limit (see
    :mod:`sfumato.privacy.noise_distributions`).

    The recursion S <- S r + P q w, P <- P r needs no division, so that nothing is lost where r underflows.

    >>> from sfumato.privacy.noise_distributions import Geometric
    >>> local([[1, 0]], Geometric(1.0)).round(4).tolist()
    [0.5344]
    """
    require_view(view)
    array = check_counts(counts, narrow=True)
    largest = int(array.max(initial=0))
    risk = np.empty(len(array))
    for start in range(0, len(array), BLOCK):
        block = array[start : start + BLOCK]
        risk[start : start + BLOCK] = single_survivor(
            block, *_survival_probabilities(largest, block, noise, threshold), view
        )
    return risk


def _survival_probabilities(
    largest: int, block: Counts, noise: NoiseLaw, threshold: float | None
) -> tuple[FloatArray, FloatArray]:
    """Return q and r of a block by table look-up, or directly where the counts are too large for a table."""
    if largest >= LONGEST_TABLE:
        return noise.survival(block, threshold), noise.vanishing(block, threshold)
    tables = _tables(noise, largest, threshold)
    return tables[0][block], tables[1][block]


_cache: dict[tuple[NoiseLaw, int, float | None], tuple[FloatArray, FloatArray]] = {}


def _tables(noise: NoiseLaw, largest: int, threshold: float | None) -> tuple[FloatArray, FloatArray]:
    key = (noise, largest, threshold)
    if key not in _cache:
        _cache.clear()
        whole = np.arange(largest + 1)
        _cache[key] = noise.survival(whole, threshold), noise.vanishing(whole, threshold)
    return _cache[key]


def single_survivor(block: Counts, survive: FloatArray, vanish: FloatArray, view: View) -> FloatArray:
    """Return the chance that exactly one value of each cell survives, weighted by the view."""
    totals = block.sum(axis=1)
    some = np.zeros(len(block))
    none = np.ones(len(block))
    for k in range(block.shape[1]):
        gain = none * survive[:, k]
        if view == "conservative":
            gain *= block[:, k] > 0
        elif view == "record":
            gain *= block[:, k] / np.maximum(totals, 1)
        some = some * vanish[:, k] + gain
        none = none * vanish[:, k]
    return np.where(totals > 0, some, 0.0)


@dataclass(frozen=True)
class SeveralRisk:
    """The risk of each cell: of each attribute alone, of all together, and of at least one."""

    each: tuple[FloatArray, ...]
    complete: FloatArray
    some: FloatArray

    @property
    def partial(self) -> FloatArray:
        """The chance that some attributes are read, but not all."""
        return self.some - self.complete


def several(counts: ArrayLike | Cells, noise: NoiseLaw, view: View = "record") -> SeveralRisk:
    """Return the exact risk of every cell; ``counts`` has cells on its first axis and an attribute on each other one.

    View ``record``: the values that are read are those of a random record of the cell. View ``any``: values are read,
    right or wrong. The conservative view has no "at least one" of this form and is refused: take it attribute by
    attribute, with :func:`local`.

    >>> from sfumato.privacy.noise_distributions import Geometric
    >>> found = several([[[3, 0], [0, 0]], [[2, 1], [0, 0]]], Geometric(2.0))
    >>> found.complete.round(3).tolist(), found.some.round(3).tolist()
    ([0.682, 0.064], [0.867, 0.783])
    """
    require_view(view)
    if view == "conservative":
        raise RiskError("several attributes have the views record and any", next_step="use view='record'")
    array = _joint(counts)
    attributes = range(array.ndim - 1)
    survive, vanish = noise.survival(array), noise.vanishing(array)
    risk = {
        chosen: _agreeing(array, survive, vanish, chosen, view)
        for size in range(1, array.ndim)
        for chosen in combinations(attributes, size)
    }
    some = sum(((-1) ** (len(chosen) + 1) * value for chosen, value in risk.items()), np.zeros(len(array)))
    return SeveralRisk(tuple(risk[j,] for j in attributes), risk[tuple(attributes)], np.clip(some, 0.0, 1.0))


def _agreeing(
    array: Counts, survive: FloatArray, vanish: FloatArray, chosen: tuple[int, ...], view: View
) -> FloatArray:
    """Return the chance that exactly one combination of the chosen attributes survives."""
    others = tuple(axis + 1 for axis in range(array.ndim - 1) if axis not in chosen)
    gone = vanish.prod(axis=others).reshape(len(array), -1)
    stays = 1 - gone if others else survive.reshape(len(array), -1)
    return single_survivor(project(array, chosen), stays, gone, view)


def _joint(counts: ArrayLike | Cells) -> Counts:
    array = np.asarray(counts.counts if isinstance(counts, Cells) else counts)
    problems: list[str] = []
    if array.ndim < 3:
        problems.append(f"found {array.ndim} dimensions; one for the cells and one for each of two attributes or more")
    if array.ndim - 1 > MOST_ATTRIBUTES:
        problems.append(f"found {array.ndim - 1} attributes; {MOST_ATTRIBUTES} are the most")
    if array.dtype.kind not in "iu" or (array.size and array.min() < 0):
        problems.append("counts must be whole numbers of 0 or more")
    if any(length < 2 for length in array.shape[1:]):
        problems.append("an attribute has fewer than two values")
    if problems:
        raise RiskError("these are not counts of several attributes", problems, "take them from Cells.of(table)")
    return array.astype(np.int64, copy=False)


@dataclass(frozen=True)
class AttackRate:
    """A measured rate over non-empty cells with its 95 % interval."""

    rate: float
    low: float
    high: float


@dataclass(frozen=True)
class HomogeneityRates:
    """What the attack achieved: readings that look certain, those that are right, and the baseline."""

    cells: int
    any: AttackRate
    conservative: AttackRate
    record: AttackRate
    ppv: float
    """Share of readings that are right for a random record of the cell."""
    baseline: float
    """Share of records that always naming the overall majority value gets right."""
    success: FloatArray
    """Per cell: the share of its records that the reading gets right (0 where nothing is read)."""


def attack(original_counts: ArrayLike, released_counts: ArrayLike) -> HomogeneityRates:
    """Run the attack: where exactly one released count is at least 1, the attacker reads that value.

    ``released_counts`` may be noisy counts or the counts of a synthetic table, in the order of the original cells.
    """
    from sfumato.risk.homogeneity.cells import check_counts

    original = check_counts(original_counts)
    released = np.asarray(getattr(released_counts, "counts", released_counts))
    if released.shape != original.shape or released.dtype.kind not in "iu":
        raise RiskError(
            f"released counts must be whole numbers of shape {original.shape}, found {released.dtype} {released.shape}",
            next_step="align the released table with the original cells: cells.aligned(Cells.of(released_table))",
        )
    occupied = original.sum(axis=1) > 0
    if not occupied.any():
        raise RiskError("every cell is empty", next_step="give at least one cell with a record in it")
    return _measure(original[occupied], released[occupied])


def _measure(original: np.ndarray, released: np.ndarray) -> HomogeneityRates:
    survivors = released >= 1
    read = survivors.sum(axis=1) == 1
    named = np.argmax(survivors, axis=1)
    held = original[np.arange(len(original)), named]
    success = np.where(read, held / original.sum(axis=1), 0.0)
    return HomogeneityRates(
        cells=len(original),
        any=_rate(read.astype(float)),
        conservative=_rate((read & (held > 0)).astype(float)),
        record=_rate(success),
        ppv=float(success.sum() / read.sum()) if read.any() else math.nan,
        baseline=float(original.sum(axis=0).max() / original.sum()),
        success=success,
    )


def _rate(values: FloatArray) -> AttackRate:
    """Return the mean with Wilson's interval; for values between 0 and 1 that is conservative."""
    mean = float(values.mean())
    interval = wilson_interval(mean, len(values))
    return AttackRate(mean, interval.low, interval.high)
