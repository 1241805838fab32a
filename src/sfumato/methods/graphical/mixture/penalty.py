"""How strongly a mixture is drawn towards independence: a threshold from the noise, and a share of it by thinning.

Near independence the information of a component is half its squared distance from the one-way shares, in the metric
1 / p. A new direction then lowers the error only if the forces of the tables, taken in that metric, have an eigenvalue
above the penalty. Pure noise has eigenvalues up to the ``noise_threshold``: at that penalty noise teaches nothing.
Strong structure is then drawn too far towards independence, so a share of the threshold is better. Which share depends
on the signal. It is found on the noisy tables alone: each is split in two with independent noise, a quick fit to the
one is judged by the other, and the share moves up or down as long as that helps. All of it is post-processing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.methods.graphical.mixture.fit import FitSettings, descend
from sfumato.methods.graphical.mixture.layout import without_views
from sfumato.methods.graphical.mixture.objective import half_squares
from sfumato.methods.graphical.mixture.targets import Array, Targets, targets_of, thinned
from sfumato.methods.graphical.mixture.wide import products
from sfumato.methods.graphical.tree.model import NoisyTable, Support

PLACES = 9
"""Shares of the threshold that may be tried: from all of it to a sixteenth, each a root of a half times the last."""
FIRST_TRIED = 3
DENSE_LEVELS = 600
"""Up to this many levels all eigenvalues are computed; beyond, only the two at the edges."""
RATIO = 0.5
"""Thinning: the fit sees 1.25 times the variance of the noise, the judge 5 times."""


@dataclass(frozen=True)
class Search:
    """All that a quick fit needs beside the tables."""

    sizes: tuple[int, ...]
    total: float
    supports: tuple[Support, ...] = field(repr=False)
    settings: FitSettings


def noise_threshold(targets: Targets, generator: np.random.Generator) -> float:
    """Return the edge of the eigenvalues of the forces that noise alone would exert, for one simulated draw of it."""
    reference, layout, seen = targets.reference, targets.layout, targets.seen_reference
    spread = np.sqrt(_pair_weights(targets) * np.outer(seen, seen))
    draw = np.triu(generator.standard_normal(spread.shape), 1)
    # Noise in a coarse cell pushes all its levels alike: in the metric, each by the root of its share of the cell.
    inside = targets.views.sums * np.sqrt(reference) / np.sqrt(seen[layout.levels :, None])
    forces = without_views(without_views(spread * (draw + draw.T), inside).T, inside).T
    # Shares of a column sum to one: directions along its root shares do not exist.
    fixed = layout.members.T * np.sqrt(reference)[:, None]
    forces = forces - fixed @ (fixed.T @ forces)
    forces = forces - (forces @ fixed) @ fixed.T
    return _edge((forces + forces.T) / 2)


def _pair_weights(targets: Targets) -> NDArray[np.float64]:
    """Return the precision of each pair of levels; a wide table speaks of pairs through its other columns' shares."""
    layout, own = targets.views.seen, targets.layout.levels
    weights = np.zeros((layout.levels, layout.levels))
    weights[:own, :own] = targets.pairs.weight
    for places, block in targets.wide.items():
        parts = [targets.seen_reference[layout.block(place)] for place in places]
        for i in range(len(places)):
            for j in range(i + 1, len(places)):
                others = tuple(axis for axis in range(len(places)) if axis not in (i, j))
                squares = _outer(
                    [parts[axis] ** 2 if axis in others else np.ones(len(parts[axis])) for axis in range(len(places))]
                )
                found = (block.weight * squares).sum(axis=others)
                rows, columns = layout.block(places[i]), layout.block(places[j])
                weights[rows, columns] += found
                weights[columns, rows] += found.T
    return weights


def _outer(parts: list[Array]) -> Array:
    return products([part[:, None] for part in parts]).reshape([len(part) for part in parts])


def _edge(forces: NDArray[np.float64]) -> float:
    """Return the mean size of the largest and the smallest eigenvalue: for noise both follow the same law."""
    if len(forces) <= DENSE_LEVELS:
        found: Any = np.linalg.eigvalsh(forces)
    else:
        from scipy.sparse import linalg

        # The stubs take whole tolerances only.
        eigsh: Any = linalg.eigsh
        found = eigsh(forces, k=2, which="BE", tol=1e-2, v0=np.ones(len(forces)), return_eigenvectors=False)
    return float(found.max() - found.min()) / 2


def chosen_share(tables: Sequence[NoisyTable], search: Search, generator: np.random.Generator) -> float:
    """Return the share of the threshold whose quick fit to one half of the split errs least against the other."""
    first, second = thinned(tables, RATIO, generator)
    targets = targets_of(search.sizes, first, search.supports, search.total)
    judge = targets_of(search.sizes, second, (), search.total)
    threshold = noise_threshold(targets, generator)
    seed = int(generator.integers(2**63))

    def error(place: int) -> float:
        fresh = np.random.default_rng(seed)
        found = descend(targets, _share(place) * threshold, fresh, search.settings)
        return half_squares(judge, found.levels, found.weights)

    return _share(_lowest(error, PLACES, FIRST_TRIED))


def _share(place: float) -> float:
    return 2.0 ** (-place / 2)


def _lowest(error: Callable[[int], float], count: int, place: int) -> float:
    """Walk downhill from a place, one step at a time, then settle at the lowest point of the parabola there."""
    known = {place: error(place)}
    for move in (1, -1):
        start = place
        while 0 <= place + move < count:
            known[place + move] = error(place + move)
            if known[place + move] >= known[place]:
                break
            place += move
        if place != start:
            break
    return place + _vertex(known.get(place - 1), known[place], known.get(place + 1))


def _vertex(before: float | None, here: float, after: float | None) -> float:
    """Return where the parabola through three errors is lowest, within half a step; 0 at an end of the scale."""
    if before is None or after is None or before + after <= 2 * here:
        return 0.0
    return 0.5 * (before - after) / (before - 2 * here + after)
