"""A response of levels: the same noise-aware ridge, from the same features, for the indicators of all levels at once.

A record's level is a vector of indicators, and what the fits leave of it is shortened as one vector. So a record moves
the products of features and residuals by no more than it does with a number, however many levels there are: the noise
of each number is that of a numeric target. True residuals sum to 0 over the levels, so that the mean of the noisy ones
is noise alone and is taken off. Fits are turned into probabilities, from which the released levels are drawn: the
most probable level alone would lose rare levels altogether.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.arrays import Whole
from sfumato.methods.two_stage.kernel import class_residual_steps
from sfumato.methods.two_stage.response import CHUNK, Features, updated
from sfumato.rows.box import Array
from sfumato.rows.tree import project

MOST_CLASSES = 100
"""Levels of a target: each adds the noise of all features."""


@dataclass(frozen=True, eq=False)
class ClassFit:
    """A released response of levels: a column of weights for each."""

    features: Features
    weights: Array
    shares: Array
    """Released share of each level; they sum to 1."""

    @classmethod
    def start(cls, features: Features, noisy: Array) -> ClassFit:
        """Return the fit that knows the noisy counts of the levels alone."""
        counts = project(noisy, max(float(noisy.sum()), 1.0))
        return cls(features, np.zeros((features.count, len(noisy))), counts / counts.sum())

    @property
    def reach(self) -> float:
        """The longest residual that these shares leave: nothing is shortened in the first pass."""
        return float(np.sqrt(1 - 2 * self.shares.min() + self.shares @ self.shares))

    @property
    def moves(self) -> int:
        """Numbers that one pass over the residuals sums."""
        return self.weights.size

    def residuals(self, targets: Array, steps: Whole, reach: float) -> Whole:
        """Return what the fits leave of each record's indicators, shortened to ``reach``, in whole steps."""
        whole = np.empty((len(steps), len(self.shares)), np.int64)
        codes = np.clip(np.rint(targets), 0, len(self.shares) - 1)
        class_residual_steps(codes, steps, self.weights * self.features.step, self.shares, reach, whole)
        return whole

    def stepped(self, moves: Array, noise: float, gram: Array) -> ClassFit:
        """Return the fit after one noise-aware step of every level, without the noise that all levels share."""
        count = len(self.shares)
        table = moves.reshape(self.weights.shape)
        table = table - table.mean(axis=1, keepdims=True)
        left = noise * math.sqrt(1 - 1 / count)
        each = [
            updated(w, move, left, gram, self.features.prior) for w, move in zip(self.weights.T, table.T, strict=True)
        ]
        return ClassFit(self.features, np.column_stack(each), self.shares)

    def probabilities(self, rows: Array) -> Array:
        """Return the fitted probability of every level, one row per record."""
        fitted = np.empty((len(rows), len(self.shares)))
        for start in range(0, len(rows), CHUNK):
            piece = slice(start, start + CHUNK)
            fitted[piece] = self.shares + self.features.steps(rows[piece]) @ (self.weights * self.features.step)
        cut = np.clip(fitted, 0.0, 1.0)
        total = cut.sum(axis=1, keepdims=True)
        return np.where(total > 0, cut / np.where(total > 0, total, 1.0), self.shares)

    def predict(self, rows: Array) -> Array:
        """Return the code of the most probable level."""
        return np.argmax(self.probabilities(rows), axis=1).astype(np.float64)

    def draw(self, rows: Array, generator: np.random.Generator) -> Array:
        """Return codes drawn by the fitted probabilities."""
        upto = np.cumsum(self.probabilities(rows), axis=1)
        drawn = (generator.random((len(rows), 1)) > upto).sum(axis=1)
        return np.minimum(drawn, len(self.shares) - 1).astype(np.float64)
