"""The risk of each cell: the exact probability that the noisy cell looks homogeneous and the reading is right.

A cell with counts n_1..n_K is published with noise; a count survives with probability q(n) and vanishes with r(n).
The attacker reads a value where exactly one count survives. Three views: "conservative" (the surviving value occurs in
the cell), "record" (a random record of the cell has that value), "any" (the cell looks homogeneous at all).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sfumato.arrays import Counts, FloatArray
from sfumato.privacy.noise.distributions import NoiseLaw
from sfumato.risk.homogeneity.cells import View, check_counts, require_view

BLOCK = 1 << 15
"""Cells worked on at once: the working arrays stay in the cache."""
LONGEST_TABLE = 1 << 22


def local(
    counts: ArrayLike, noise: NoiseLaw, view: View = "conservative", threshold: float | None = None
) -> FloatArray:
    """Return the exact risk of every cell; empty cells have risk 0.

    A count survives where it rounds to at least 1; ``threshold`` sets another limit (see
    :mod:`sfumato.privacy.noise.distributions`).

    The recursion S <- S r + P q w, P <- P r needs no division, so that nothing is lost where r underflows.

    >>> from sfumato.privacy.noise.distributions import Geometric
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
