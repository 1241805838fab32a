"""Compiled loops that turn records into bounded integer vectors.

No loop uses fast arithmetic or mixes two records, so that what a record contributes depends on that record and on
public or already released numbers alone: not on its place in a batch, as the rows of a matrix product may. Lengths are
checked in integers, so that the bounds hold whatever the floating-point arithmetic did.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.jit import jit
from sfumato.mechanisms.lattice_sums import STEPS, quantise_vector


@jit
def _write_steps(vector: Any, longest: float, whole: Any) -> None:
    """Write a vector as whole steps, shrunk to ``longest``; one that does not fit is written as 0."""
    if not quantise_vector(vector, longest, STEPS, whole):
        whole[:] = 0


@jit
def quantise_vectors(vectors: Any, longest: float, whole: Any) -> None:
    """Write each row as whole steps, shrunk to ``longest``."""
    for i in range(vectors.shape[0]):
        _write_steps(vectors[i], longest, whole[i])


@jit
def _project(point: Any, frequencies: Any, phases: Any, directions: Any, offset: Any, angles: Any, out: Any) -> None:
    """Write the projections of (x / sqrt(d), random waves at x) on the directions, less their mean."""
    inputs, waves = frequencies.shape
    for f in range(waves):
        angles[f] = phases[f]
    for j in range(inputs):
        for f in range(waves):
            angles[f] += point[j] * frequencies[j, f]
    out[: offset.shape[0]] = -offset
    for j in range(inputs):
        for k in range(offset.shape[0]):
            out[k] += point[j] * directions[j, k]
    for f in range(waves):
        height = math.cos(angles[f])
        for k in range(offset.shape[0]):
            out[k] += height * directions[inputs + f, k]


@jit
def feature_steps(
    points: Any, frequencies: Any, phases: Any, directions: Any, offset: Any, longest: float, whole: Any
) -> None:
    """Write the features of every point as whole steps: projections shrunk to ``longest``, then a constant half of it.

    The unit is sqrt(1.25) longest / STEPS, which is what the whole vector is shrunk to.
    """
    rank = offset.shape[0]
    angles, out = np.empty(frequencies.shape[1]), np.empty(rank + 1)
    for i in range(points.shape[0]):
        _project(points[i], frequencies, phases, directions, offset, angles, out)
        square = 0.0
        for k in range(rank):
            square += out[k] * out[k]
        shrink = min(1.0, longest / math.sqrt(square)) if square > 0 else 1.0
        for k in range(rank):
            out[k] *= shrink
        out[rank] = longest / 2
        _write_steps(out, longest * math.sqrt(1.25), whole[i])


@jit
def class_residual_steps(codes: Any, steps: Any, weights: Any, shares: Any, reach: float, whole: Any) -> None:
    """Write how far the indicators of each record's level lie from their fits, as one vector shrunk to ``reach``.

    The fit of a level is its share plus the weighted steps of the record's own features.
    """
    levels = shares.shape[0]
    gap = np.empty(levels)
    for i in range(steps.shape[0]):
        for c in range(levels):
            fit = shares[c]
            for k in range(weights.shape[0]):
                fit += weights[k, c] * steps[i, k]
            gap[c] = (1.0 if codes[i] == c else 0.0) - fit
        _write_steps(gap, reach, whole[i])


@jit
def residual_steps(targets: Any, steps: Any, weights: Any, middle: float, reach: float, whole: Any) -> None:
    """Write how far each target lies from its fit, clipped to ``reach``, in units of reach / STEPS.

    The fit is ``middle`` plus the weighted steps of the record's own features.
    """
    for i in range(steps.shape[0]):
        fit = middle
        for k in range(weights.shape[0]):
            fit += weights[k] * steps[i, k]
        gap = (targets[i] - fit) / reach
        whole[i] = np.int64(np.rint(STEPS * min(1.0, max(-1.0, gap)))) if gap == gap else 0
