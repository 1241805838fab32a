"""Stages that sum bounded integer vectors with discrete Gaussian noise, under one (epsilon, delta).

Proof note. In every stage each record becomes one integer vector of public length at most, made from that record and
from public or already released numbers; a vector that came out longer contributes nothing (checked in integers). The
sum over all records gets discrete Gaussian noise. All sigmas exceed 2^16 units, so that the theorem on several vectors
of :mod:`sfumato.privacy.accounting.lattice_gaussian` covers all stages at once: Gaussian DP, mu^2 adds up over the
stages, converted to (epsilon, delta) once. What one record can move in each stage is in the note of its method. QED
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from sfumato.arrays import FloatArray, IntArray
from sfumato.core.plan import Stage
from sfumato.errors import TableError
from sfumato.jit import jit
from sfumato.privacy.accounting.event import EventPart
from sfumato.privacy.accounting.lattice_gaussian import composed_sigmas
from sfumato.privacy.exact import Number
from sfumato.privacy.noise import add_gaussian
from sfumato.privacy.randomness import Randomness

KIND = "lattice-gaussian"
"""The kind of event that the parts make."""
STEPS = 32_766
"""Lattice steps in the largest value or length: even, so that half of ``UNIT`` is whole, and within 16 bits."""
UNIT = STEPS * STEPS
"""Lattice units in the largest product of two of them; a 64-bit sum holds 2^33 of them, 2^29 of seventeen each."""
LENGTH = 1 << 24
"""Lattice units in the length of a vector that is summed by itself, and in one count."""


@jit
def quantise_vector(vector: Any, longest: float, steps: int, whole: Any) -> bool:
    """Shrink a vector to ``longest`` and write it in units of longest / steps, towards 0.

    The length is checked in integers: a vector that came out longer than ``steps``, or holds what is not a number,
    contributes nothing (False).
    """
    square = 0.0
    for j in range(vector.shape[0]):
        square += vector[j] * vector[j]
    if not square < math.inf:
        return False
    scale = steps / max(longest, math.sqrt(square))
    length = 0
    for j in range(vector.shape[0]):
        whole[j] = int(vector[j] * scale)
        length += whole[j] * whole[j]
    return length <= steps * steps


def lattice_parts(
    shares: Mapping[str, float],
    units: Mapping[str, int],
    cells: Mapping[str, int],
    epsilon: Number,
    delta: Number,
) -> tuple[EventPart, ...]:
    """Return what the event records, stage by stage: coordinates, sensitivity in lattice units, scale of the noise.

    ``shares`` are those of mu^2. A stage that is repeated carries its number, as in "steps 2"; ``units`` and ``cells``
    are by the word before it.
    """
    kinds = {stage: stage.split()[0] for stage in shares}
    moved, sizes = [units[kind] for kind in kinds.values()], [cells[kind] for kind in kinds.values()]
    sigmas = composed_sigmas(moved, list(shares.values()), sum(sizes), epsilon, delta)
    return tuple(
        EventPart(stage=stage, cells=size, sensitivity=unit, scale=sigma)
        for stage, size, unit, sigma in zip(shares, sizes, moved, sigmas, strict=True)
    )


def lattice_stage(part: EventPart, share: Fraction | str) -> Stage:
    """Return the stage of a plan that measures one part; its scale is in units of what one record can move."""
    return Stage.of(part, "discrete gaussian, on a lattice", "joint", share, part.scale / part.sensitivity)


def part_of_stage(parts: Sequence[EventPart], stage: str) -> EventPart:
    """Return the part of a stage; one that the plan does not hold is refused."""
    for part in parts:
        if part.stage == stage:
            return part
    raise TableError(f"the plan has no stage {stage!r}", next_step="run the stages of the plan")


def noisy_sums(
    parts: Sequence[EventPart], stage: str, sums: IntArray, randomness: Randomness
) -> tuple[FloatArray, float]:
    """Add a stage's noise to true sums; return them and the scale of the noise, in lattice units."""
    part = part_of_stage(parts, stage)
    return add_gaussian(sums, part.scale, randomness).astype(float), part.scale
