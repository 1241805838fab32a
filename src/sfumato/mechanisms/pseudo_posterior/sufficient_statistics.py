"""Private regression from noisy sufficient statistics, in one pass.

Mechanism. The q columns a_1 .. a_q (the predictors, then y) are clipped to public bounds and scaled to [-1, 1]. A
record contributes t = (1, a_j, a_j^2 - 1/2, a_j a_k for j < k). The sum of all t gets noise; the Gram matrix of (1, a),
with its eigenvalues floored at two standard deviations of the noise, then stands for the true one in the usual
posterior of a regression (prior 1 / s^2). All of that, and any number of draws from it, is post-processing.

Proof note. Each a_j is rounded to a whole number A_j of 2^-15, |A_j| <= 2^15, by itself; in units of 2^-30 all entries
of t are then whole: 2^30, 2^15 A_j, A_j^2 - 2^29, A_j A_k. They are summed as 64-bit integers, exactly, and the noise
is the discrete Laplace or Gaussian of :mod:`sfumato.privacy`. One record moves, in units of 2^30 (P = q (q - 1) / 2):

- add-remove, L1: 1 + 3q/2 + P, since |a| + |a^2 - 1/2| <= 3/2 (5 for one predictor);
- add-remove, L2 squared: 1 + 5q/4 + P, since a^2 + (a^2 - 1/2)^2 = a^4 + 1/4 (9/2 for one predictor);
- replace, where n is public and its entry left out, L1: 9q/4 + 2P, since |a - b| (1 + |a + b|) <= 9/4, with equality at
  (1, -1/2): for given d = |a - b| it is at most d (3 - d); L2 squared: 4q + 4P, since (a - b)^2 (1 + (a + b)^2)
  <= d^2 (1 + (2 - d)^2) <= 4.

Where the predictors are public (``known_predictors``), neighbours differ in the target of one row and in nothing
else. Sums without y are then equal on both sides and stay exact; noise goes to y, y^2 - 1/2 and the y a_j alone. With
``brackets``, public edges of the target, neighbours differ in WHERE WITHIN ITS BRACKET one target lies. Clipping,
logarithm, scaling and rounding are monotone, so that a bracket becomes a run [L, H] of whole numbers (widened by one
unit at both ends, because a machine's logarithm is monotone but for its last digit), and the sums move by at most what
``value_moments_l1`` and ``value_moments_l2_squared`` say of the worst run; without brackets the run is the whole range.
Which bracket holds a target is the same on both sides: it is used as if public and NOT protected.

The posterior is not aware of the noise: it understates the uncertainty of the parameters where n epsilon is small.
Public: bounds of all columns, epsilon, delta, adjacency, n under replace, and predictors and brackets where stated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.arrays import FloatArray, raise_eigenvalues
from sfumato.errors import PlanError
from sfumato.mechanisms.pseudo_posterior.clipped_posterior import Adjacency, Interval, RegressionDraw, Scale
from sfumato.privacy.accounting.event import EventPart
from sfumato.privacy.accounting.lattice_gaussian import lattice_sigma
from sfumato.privacy.accounting.sensitivity import (
    ceil_sqrt,
    moments_l1_quarters,
    moments_l2_squared_quarters,
    value_moments_l1,
    value_moments_l2_squared,
)
from sfumato.privacy.exact import Number, to_fraction, to_positive_fraction
from sfumato.privacy.noise import add_gaussian, add_laplace_scale, laplace_scale
from sfumato.privacy.randomness import Randomness

Batch = tuple[ArrayLike, ArrayLike | None]
STEPS = 1 << 15
UNIT = STEPS * STEPS
"""Lattice units in the number 1; a 64-bit sum holds 2^33 records."""
CHUNK = 1 << 16
FLOOR = 2.0
"""Eigenvalues are floored at so many standard deviations of the noise."""
SMALLEST_SQUARE = 1e-100
"""A chi-square draw below this is taken for it: a spread must be finite."""
FINEST = 1e-10
"""... and at this part of the largest, so that the matrix can be inverted however little noise there is."""


@dataclass(frozen=True, kw_only=True)
class NoisyStatistics:
    """The noisy sufficient statistics of a normal or lognormal regression within public bounds.

    ``delta`` asks for Gaussian noise, else it is Laplace. ``rows`` is the public number of records under replace.
    ``known_predictors`` protects the target of a row alone; ``brackets``, besides, only where within its bracket it is.

    >>> NoisyStatistics(target=(1, 100), predictors=((0, 9),), epsilon=1).part.sensitivity == 5 * 2**30
    True
    >>> from dataclasses import replace
    >>> whole = NoisyStatistics(target=(0, 8), scale="normal", epsilon=1, adjacency="replace", rows=9)
    >>> halves = replace(whole, known_predictors=True, brackets=(0, 4, 8))
    >>> whole.part.sensitivity / 2**30, round(halves.part.sensitivity / 2**30, 3)
    (2.25, 2.0)
    """

    target: Interval
    predictors: Sequence[Interval] = ()
    scale: Scale = "lognormal"
    epsilon: Number
    delta: Number = 0
    adjacency: Adjacency = "add-remove"
    rows: int | None = None
    known_predictors: bool = False
    brackets: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        problems = [
            f"{name}: bounds must be finite, low below high, found {tuple(side)}"
            for name, side in (("target", self.target), *((f"predictor {j}", s) for j, s in enumerate(self.predictors)))
            if not (math.isfinite(side[0]) and math.isfinite(side[1]) and side[0] < side[1])
        ]
        if self.scale not in ("normal", "lognormal"):
            problems.append(f"unknown scale {self.scale!r}: normal or lognormal")
        if self.scale == "lognormal" and not self.target[0] > 0:
            problems.append(f"a lognormal target needs bounds above 0, found {self.target[0]}")
        if self.adjacency not in ("add-remove", "replace"):
            problems.append(f"unknown adjacency {self.adjacency!r}")
        if self.adjacency == "replace" and not (self.rows and self.rows > 0):
            problems.append("under replace the number of rows is public: state it")
        if not 0 <= to_fraction(self.delta, "delta") < 1:
            problems.append(f"delta must lie between 0 and 1, found {self.delta}")
        if self.known_predictors and self.adjacency != "replace":
            problems.append("public predictors show who is in the table: the adjacency is replace")
        if self.brackets is not None:
            problems += self._bracket_problems(self.brackets)
        if problems:
            raise PlanError("cannot plan noisy statistics", problems, "give public bounds and a budget")
        to_positive_fraction(self.epsilon)

    @property
    def columns(self) -> int:
        """The q of the proof: predictors and target."""
        return len(self.predictors) + 1

    def _bracket_problems(self, edges: Sequence[float]) -> list[str]:
        rising = len(edges) > 1 and all(a < b for a, b in pairwise(edges))
        covers = rising and edges[0] <= self.target[0] and self.target[1] <= edges[-1]
        problems = [] if self.known_predictors else ["brackets need known_predictors: only a target may differ"]
        return problems + ([] if covers else [f"brackets must rise and cover {self.target}, found {edges}"])

    @property
    def part(self) -> EventPart:
        """What the event records: entries, their sensitivity in lattice units, and the scale of the noise."""
        entries = int(self.noisy_entries.sum())
        if to_fraction(self.delta, "delta") == 0:
            units = self._units(1)
            scale = laplace_scale(self.epsilon, units)
        else:
            units = self._units(2)
            scale = lattice_sigma(units, entries, self.epsilon, self.delta)
        return EventPart(stage="sufficient statistics", cells=entries, sensitivity=units, scale=scale)

    def _units(self, norm: int) -> int:
        """Return the L1 or the L2 sensitivity in lattice units, the latter rounded up."""
        q = self.columns
        if self.known_predictors and norm == 1:
            return max(1, *(value_moments_l1(*run, STEPS, q - 1) for run in self.runs))
        if self.known_predictors:
            return max(1, ceil_sqrt(max(value_moments_l2_squared(*run, STEPS, q - 1) for run in self.runs)))
        if norm == 1:
            return moments_l1_quarters(self.adjacency, q, q * (q - 1) // 2) * UNIT // 4
        return math.isqrt(moments_l2_squared_quarters(self.adjacency, q, q * (q - 1) // 2) * UNIT * UNIT // 4) + 1

    @property
    def runs(self) -> list[tuple[int, int]]:
        """The whole numbers from L to H that the target of a row may move in: one run for each bracket.

        Each has a unit to spare at both ends, for a logarithm that the machine rounds the other way.
        """
        edges = self._whole_target(self.brackets or self.target)
        return [(max(int(low) - 1, -STEPS), min(int(high) + 1, STEPS)) for low, high in pairwise(edges)]

    def _whole_target(self, values: ArrayLike) -> FloatArray:
        """Return targets as whole numbers of the lattice; monotone, so that a bracket becomes a run."""
        low, high = self._sides[-1]
        clipped = np.clip(np.asarray(values, dtype=float).ravel(), *self.target)
        y = np.log(clipped) if self.scale == "lognormal" else clipped
        return np.rint(STEPS * np.clip((y - (low + high) / 2) / ((high - low) / 2), -1, 1))

    @property
    def noisy_entries(self) -> NDArray[np.bool_]:
        """Which of the sums one neighbouring change can move; the others are public."""
        q = self.columns
        _, second = np.triu_indices(q, 1)
        place = np.concatenate([[-1], np.arange(q), np.arange(q), second])  # the later column that enters each sum
        least = q - 1 if self.known_predictors else 0 if self.adjacency == "replace" else -1
        return place >= least

    @property
    def _sides(self) -> list[Interval]:
        low, high = self.target
        if self.scale == "lognormal":
            low, high = math.log(low), math.log(high)
        return [*((float(a), float(b)) for a, b in self.predictors), (low, high)]

    def quantise(self, target: ArrayLike, predictors: ArrayLike | None = None) -> NDArray[np.int64]:
        """Return each record's contribution in lattice units; a record with a missing value contributes nothing."""
        y = self._whole_target(target)
        if self.known_predictors:  # the sums of public predictors must not say which target is there
            y = np.where(np.isnan(y), -STEPS, y)
        design = np.empty((len(y), 0)) if predictors is None else np.asarray(predictors, dtype=float)
        raw = design.reshape(len(y), len(self.predictors))
        low, high = np.array(self._sides[:-1]).reshape(-1, 2).T
        scaled = np.rint(STEPS * np.clip((raw - (low + high) / 2) / ((high - low) / 2), -1, 1))
        scaled = np.column_stack([scaled, y])
        known = np.isfinite(scaled.sum(axis=1))  # what is not a number makes the sum so; nothing else can
        return _contributions(np.where(known[:, None], scaled, 0).astype(np.int64), known)

    def total(self, batches: Iterable[Batch]) -> NDArray[np.int64]:
        """Return the true integer sum over all batches of (target, predictors): it may not leave without noise."""
        q = self.columns
        sums = np.zeros(1 + 2 * q + q * (q - 1) // 2, np.int64)
        for target, predictors in batches:
            values = np.asarray(target, dtype=float).ravel()
            design = None if predictors is None else np.asarray(predictors, dtype=float).reshape(len(values), q - 1)
            for start in range(0, len(values), CHUNK):
                piece = slice(start, start + CHUNK)
                sums += self.quantise(values[piece], None if design is None else design[piece]).sum(axis=0)
        return sums

    def measure(self, total: NDArray[np.int64], randomness: Randomness) -> ReleasedMoments:
        """Add the noise of ``part`` to a true sum; under replace the number of records is the public one."""
        part, noisy = self.part, self.noisy_entries
        laplace = to_fraction(self.delta, "delta") == 0
        add = add_laplace_scale if laplace else add_gaussian
        sums = total / UNIT
        sums[noisy] = add(total[noisy], part.scale, randomness) / UNIT
        if self.adjacency == "replace":
            sums[0] = float(self.rows or 0)
        deviation = part.scale / UNIT * (math.sqrt(2) if laplace else 1.0)
        return ReleasedMoments(sums, deviation, tuple(self._sides), self.scale)

    def release(self, batches: Iterable[Batch], randomness: Randomness) -> ReleasedMoments:
        """Return the noisy statistics of a table, at the cost of (epsilon, delta)."""
        return self.measure(self.total(batches), randomness)


def _contributions(whole: NDArray[np.int64], known: NDArray[np.bool_]) -> NDArray[np.int64]:
    first, second = np.triu_indices(whole.shape[1], 1)
    squares = np.where(known[:, None], whole * whole - UNIT // 2, 0)
    count = np.where(known, UNIT, 0)
    return np.column_stack([count, whole * STEPS, squares, whole[:, first] * whole[:, second]])


@dataclass(frozen=True, eq=False)
class ReleasedMoments:
    """Released statistics: everything made from them is post-processing."""

    sums: FloatArray
    """Count, then sums of a_j, a_j^2 - 1/2 and a_j a_k, as real numbers."""
    deviation: float
    """Standard deviation of the noise on each entry."""
    sides: tuple[Interval, ...]
    scale: Scale

    @property
    def rows(self) -> float:
        """The noisy number of records, at least one more than a regression of this size needs."""
        return max(float(self.sums[0]), len(self.sides) + 1.0)

    @cached_property
    def gram(self) -> FloatArray:
        """The Gram matrix of (1, predictors, y) in scaled units, with its eigenvalues floored."""
        q = len(self.sides)
        gram = np.empty((q + 1, q + 1))
        gram[0, 0] = self.rows
        gram[0, 1:] = gram[1:, 0] = self.sums[1 : q + 1]
        gram[1:, 1:][np.diag_indices(q)] = self.sums[q + 1 : 2 * q + 1] + self.rows / 2
        first, second = np.triu_indices(q, 1)
        gram[1 + first, 1 + second] = gram[1 + second, 1 + first] = self.sums[2 * q + 1 :]
        return raise_eigenvalues(gram, FLOOR * self.deviation, FINEST)

    def draw(self, generator: np.random.Generator) -> RegressionDraw:
        """Return one draw of the parameters; further ones cost nothing more."""
        gram, k = self.gram, len(self.sides)
        inverse = np.linalg.inv(gram[:k, :k])
        fit = inverse @ gram[:k, k]
        rest = max(float(gram[k, k] - gram[:k, k] @ fit), np.finfo(float).tiny)
        spread = math.sqrt(rest / max(float(generator.chisquare(max(self.rows - k, 1.0))), SMALLEST_SQUARE))
        scaled = fit + spread * (np.linalg.cholesky(inverse) @ generator.standard_normal(k))
        return self._in_units(scaled, spread)

    def _in_units(self, scaled: FloatArray, spread: float) -> RegressionDraw:
        *predictors, (low, high) = self.sides
        half = (high - low) / 2
        slopes = [
            half * float(b) / ((top - bottom) / 2) for b, (bottom, top) in zip(scaled[1:], predictors, strict=True)
        ]
        centres = tuple((bottom + top) / 2 for bottom, top in predictors)
        mean = (low + high) / 2 + half * float(scaled[0])
        return RegressionDraw((mean, *slopes), half * spread, centres, self.scale)
