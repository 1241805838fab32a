"""Features of the private response: principal directions of public random waves, found on synthetic rows.

All of this is post-processing of the private inputs and costs nothing. The private step then sums few, well-scaled
numbers a record instead of the square of hundreds: phi(x) = (x / sqrt(d), random Fourier features of length scale
sqrt(d)) at the standardised inputs is projected on its top directions, whitened, weighted by om = (l / l_1)^(1/4) for
eigenvalues l, shrunk to norm R = 1.3 sqrt(sum om^2), and a constant R/2 is appended: norm R1 = sqrt(1.25) R.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.methods.two_stage.private.inputs import Marginals
from sfumato.methods.two_stage.private.kernel import STEPS, feature_steps
from sfumato.rows.box import Array

WAVES = 400
NORM = 1.3
CHUNK = 1 << 13
PUBLIC_SEED = 20_160
"""The random waves are public: the same in every release."""
SMALLEST_SPREAD = 1e-3
"""Of a column, as a share of the width of its bounds."""
SKEWED = 1.0
"""Synthetic skewness from which a column enters by its normal scores. California at epsilon 1: relative error .319 by
scores, .332 without; on columns that are not skewed scores are worse."""


@dataclass(frozen=True, eq=False)
class Encoding:
    """Inputs as points: numbers standardised by synthetic rows, levels one-hot with variance 1 for all together."""

    marginals: Marginals
    categorical: tuple[int, ...]
    skewed: tuple[int, ...]
    """Columns that enter by their normal scores."""
    mean: Array
    factor: Array

    @classmethod
    def of(cls, marginals: Marginals, categorical: tuple[int, ...], synthetic: Array) -> Encoding:
        """Return the encoding by means, spreads and skewness of synthetic rows."""
        numeric = (j for j in range(len(marginals.axes)) if j not in categorical)
        skewed = tuple(j for j in numeric if abs(_skewness(synthetic[:, j])) > SKEWED)
        raw = cls(marginals, categorical, skewed, np.zeros(1), np.ones(1))
        blocks = raw.blocks(synthetic)
        widths = [
            1.0 if j in (*categorical, *skewed) else axis.high - axis.low for j, axis in enumerate(marginals.axes)
        ]
        spreads = [
            max(math.sqrt(float(block.var(axis=0).sum())), SMALLEST_SPREAD * width)
            for block, width in zip(blocks, widths, strict=True)
        ]
        factor = np.repeat(1 / np.array(spreads), [block.shape[1] for block in blocks])
        return cls(marginals, categorical, skewed, np.hstack(blocks).mean(axis=0), factor)

    def blocks(self, rows: Array) -> list[Array]:
        """Return what each column gives before it is standardised."""
        blocks: list[Array] = []
        scores = self.marginals.scores(rows) if self.skewed else rows
        for j, axis in enumerate(self.marginals.axes):
            inside = np.clip(rows[:, j], axis.low, axis.high)
            if j in self.categorical:
                blocks.append((np.rint(inside)[:, None] == np.arange(axis.low, axis.high + 1)).astype(np.float64))
            else:
                blocks.append((scores[:, j] if j in self.skewed else inside)[:, None])
        return blocks

    def points(self, rows: Array) -> Array:
        """Return rows as points."""
        return np.ascontiguousarray((np.hstack(self.blocks(rows)) - self.mean) * self.factor)


def _skewness(column: Array) -> float:
    spread = float(column.std())
    return float(((column - column.mean()) ** 3).mean()) / spread**3 if spread > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Features:
    """Whitened principal features of the inputs, as whole steps of one record or as real numbers."""

    encoding: Encoding
    frequencies: Array
    phases: Array
    directions: Array
    offset: Array
    norm: float
    """R: the norm to which the features are shrunk before the constant."""
    prior: Array
    """Prior variance of each weight, up to one factor."""

    @classmethod
    def of(cls, marginals: Marginals, categorical: tuple[int, ...], synthetic: Array, rank: int) -> Features:
        """Return the features whose principal directions are those of synthetic rows."""
        encoding = Encoding.of(marginals, categorical, synthetic)
        points = encoding.points(synthetic)
        columns, (frequencies, phases) = len(marginals.axes), _waves(points.shape[1], len(marginals.axes))
        heights = np.cos(points @ frequencies + phases) * math.sqrt(2 / WAVES)
        raw = np.hstack([points / math.sqrt(columns), heights])
        values, vectors = _principal(raw, rank)
        weights = (values / values[0]) ** 0.25
        directions = vectors * (weights / np.sqrt(values))
        offset = raw.mean(axis=0) @ directions
        directions[: points.shape[1]] /= math.sqrt(columns)
        directions[points.shape[1] :] *= math.sqrt(2 / WAVES)
        norm = NORM * math.sqrt(float((weights**2).sum()))
        prior = np.append(values / weights**2, values[0] * 4 / norm**2)
        return cls(encoding, frequencies, phases, np.ascontiguousarray(directions), offset, norm, prior)

    @property
    def longest(self) -> float:
        """R1: no record's features are longer."""
        return self.norm * math.sqrt(1.25)

    @property
    def count(self) -> int:
        """Number of features, with the constant."""
        return len(self.offset) + 1

    def steps(self, rows: Array) -> NDArray[np.int64]:
        """Return the features of each row in whole steps of ``longest`` / STEPS."""
        points = self.encoding.points(rows)
        whole = np.empty((len(rows), self.count), np.int64)
        feature_steps(points, self.frequencies, self.phases, self.directions, self.offset, self.norm, whole)
        return whole

    @property
    def step(self) -> float:
        """One lattice step in real units."""
        return self.longest / STEPS

    def gram(self, rows: Array) -> Array:
        """Return the mean product of features over rows: of synthetic rows, what the true one is shrunk to."""
        total = np.zeros((self.count, self.count))
        for start in range(0, len(rows), CHUNK):
            values = self.steps(rows[start : start + CHUNK]) * self.step
            total += values.T @ values
        return total / len(rows)


def _waves(inputs: int, columns: int) -> tuple[Array, Array]:
    """Return frequencies and phases of public random waves of length scale sqrt(d)."""
    generator = np.random.default_rng(PUBLIC_SEED)
    frequencies = generator.standard_normal((inputs, WAVES)) / math.sqrt(columns)
    return frequencies, generator.uniform(0, 2 * math.pi, WAVES)


def _principal(raw: Array, rank: int) -> tuple[Array, Array]:
    """Return the top eigenvalues, floored, and eigenvectors of the covariance of raw features."""
    values, vectors = cast(tuple[Any, Any], np.linalg.eigh(np.cov(raw.T)))
    top = np.argsort(values)[::-1][:rank]
    floored = np.maximum(values[top], max(values[top[0]] * 1e-8, 1e-12))
    return floored, vectors[:, top]
