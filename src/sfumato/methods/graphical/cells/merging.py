"""Which cells are merged, from noisy counts alone: neighbours in ordered columns, rare levels in the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

HEAVY_SHARE = 1 / 32
HEAVY_SIGMAS = 4.0
"""A cell of this share of the rows, and this far above the noise, is an atom: it stays a group of its own."""


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
