"""Noise-aware ridge regression of numeric or categorical targets on random Fourier features.

Features are principal directions of public random waves, found on synthetic rows: post-processing of the private
inputs. The private step then sums few, well-scaled numbers a record instead of the square of hundreds: phi(x) =
(x / sqrt(d), random Fourier features of length scale sqrt(d)) at the standardised inputs is projected on its top
directions, whitened, weighted by om = (l / l_1)^(1/4) for eigenvalues l, shrunk to norm R = 1.3 sqrt(sum om^2), and a
constant R/2 is appended: norm R1 = sqrt(1.25) R.

The ridge comes from a noisy Gram matrix and two noisy passes over residuals. The functions that see records return sums
of whole numbers (:mod:`.compiled_loops`); all others see released numbers only.

A record's level is a vector of indicators, and what the fits leave of it is shortened as one vector. So a record moves
the products of features and residuals by no more than it does with a number, however many levels there are: the noise
of each number is that of a numeric target. True residuals sum to 0 over the levels, so that the mean of the noisy ones
is noise alone and is taken off. Fits are turned into probabilities, from which the released levels are drawn: the
most probable level alone would lose rare levels altogether.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import IntArray, project_counts, raise_eigenvalues
from sfumato.mechanisms.lattice_sums import STEPS, UNIT
from sfumato.mechanisms.two_stage.compiled_loops import class_residual_steps, feature_steps, residual_steps
from sfumato.mechanisms.two_stage.gaussian_copula import InputMarginals
from sfumato.sampling.public_box import FloatArray

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
class InputEncoding:
    """Inputs as points: numbers standardised by synthetic rows, levels one-hot with variance 1 for all together."""

    marginals: InputMarginals
    categorical: tuple[int, ...]
    skewed: tuple[int, ...]
    """Columns that enter by their normal scores."""
    mean: FloatArray
    factor: FloatArray

    @classmethod
    def of(cls, marginals: InputMarginals, categorical: tuple[int, ...], synthetic: FloatArray) -> InputEncoding:
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

    def blocks(self, rows: FloatArray) -> list[FloatArray]:
        """Return what each column gives before it is standardised."""
        blocks: list[FloatArray] = []
        scores = self.marginals.scores(rows) if self.skewed else rows
        for j, axis in enumerate(self.marginals.axes):
            inside = np.clip(rows[:, j], axis.low, axis.high)
            if j in self.categorical:
                blocks.append((np.rint(inside)[:, None] == np.arange(axis.low, axis.high + 1)).astype(np.float64))
            else:
                blocks.append((scores[:, j] if j in self.skewed else inside)[:, None])
        return blocks

    def points(self, rows: FloatArray) -> FloatArray:
        """Return rows as points."""
        return np.ascontiguousarray((np.hstack(self.blocks(rows)) - self.mean) * self.factor)


def _skewness(column: FloatArray) -> float:
    spread = float(column.std())
    return float(((column - column.mean()) ** 3).mean()) / spread**3 if spread > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Features:
    """Whitened principal features of the inputs, as whole steps of one record or as real numbers."""

    encoding: InputEncoding
    frequencies: FloatArray
    phases: FloatArray
    directions: FloatArray
    offset: FloatArray
    norm: float
    """R: the norm to which the features are shrunk before the constant."""
    prior: FloatArray
    """Prior variance of each weight, up to one factor."""

    @classmethod
    def of(cls, marginals: InputMarginals, categorical: tuple[int, ...], synthetic: FloatArray, rank: int) -> Features:
        """Return the features whose principal directions are those of synthetic rows."""
        encoding = InputEncoding.of(marginals, categorical, synthetic)
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

    def steps(self, rows: FloatArray) -> NDArray[np.int64]:
        """Return the features of each row in whole steps of ``longest`` / STEPS."""
        points = self.encoding.points(rows)
        whole = np.empty((len(rows), self.count), np.int64)
        feature_steps(points, self.frequencies, self.phases, self.directions, self.offset, self.norm, whole)
        return whole

    @property
    def step(self) -> float:
        """One lattice step in real units."""
        return self.longest / STEPS

    def weighted(self, rows: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the features of each row times one or several columns of weights."""
        starts = range(0, max(len(rows), 1), CHUNK)
        return np.concatenate([self.steps(rows[start : start + CHUNK]) @ (weights * self.step) for start in starts])

    def gram(self, rows: FloatArray) -> FloatArray:
        """Return the mean product of features over rows: of synthetic rows, what the true one is shrunk to."""
        total = np.zeros((self.count, self.count))
        for start in range(0, len(rows), CHUNK):
            values = self.steps(rows[start : start + CHUNK]) * self.step
            total += values.T @ values
        return total / len(rows)


def _waves(inputs: int, columns: int) -> tuple[FloatArray, FloatArray]:
    """Return frequencies and phases of public random waves of length scale sqrt(d)."""
    generator = np.random.default_rng(PUBLIC_SEED)
    frequencies = generator.standard_normal((inputs, WAVES)) / math.sqrt(columns)
    return frequencies, generator.uniform(0, 2 * math.pi, WAVES)


def _principal(raw: FloatArray, rank: int) -> tuple[FloatArray, FloatArray]:
    """Return the top eigenvalues, floored, and eigenvectors of the covariance of raw features."""
    values, vectors = cast(tuple[Any, Any], np.linalg.eigh(np.cov(raw.T)))
    top = np.argsort(values)[::-1][:rank]
    floored = np.maximum(values[top], max(values[top[0]] * 1e-8, 1e-12))
    return floored, vectors[:, top]


ACROSS, ALONG = 17, 12
"""Weights of the products of two features and of squares. ALONG / ACROSS is just below 1 / sqrt(2), so that one record
moves the weighted triangle by sqrt(289 / 2) |phi|^2 in every direction: products get half of the noise variance that a
plain triangle would give them."""

TAIL = 0.005

REACH = 3.0
"""Residuals of the second pass are clipped at so many noisy root mean squares."""


@dataclass(frozen=True, eq=False)
class NumericResponse:
    """A released response: middle + weights on the features."""

    features: Features
    weights: FloatArray
    middle: float
    low: float
    high: float

    def predict(self, rows: FloatArray) -> FloatArray:
        """Return the fitted target of each row, inside the bounds."""
        return np.clip(self.middle + self.features.weighted(rows, self.weights), self.low, self.high)

    @property
    def moves(self) -> int:
        """Numbers that one pass over the residuals sums."""
        return self.features.count

    def residuals(self, targets: FloatArray, steps: IntArray, reach: float) -> IntArray:
        """Return what the fit leaves of each target, clipped to ``reach``, in whole steps."""
        whole = np.empty(len(steps), np.int64)
        inside = np.clip(targets, self.low, self.high)
        residual_steps(inside, steps, self.weights * self.features.step, self.middle, reach, whole)
        return whole

    def stepped(self, moves: FloatArray, noise: float, gram: FloatArray) -> NumericResponse:
        """Return the fit after one noise-aware step."""
        weights = ridge_update(self.weights, moves, noise, gram, self.features.prior)
        return NumericResponse(self.features, weights, self.middle, self.low, self.high)

    def draw(self, rows: FloatArray, generator: np.random.Generator) -> FloatArray:
        """Return the fitted targets: they have no noise of their own."""
        return self.predict(rows)


def triangle_weights(count: int) -> IntArray:
    """Return the weight of each entry of an upper triangle, row by row."""
    rows, columns = np.triu_indices(count)
    return np.where(rows == columns, ALONG, ACROSS).astype(np.int64)


def sum_gram(steps: IntArray) -> IntArray:
    """Return the weighted upper triangle of the products of features; exact, see ``sum_scores``."""
    real = steps.astype(np.float64)
    triangle = (real.T @ real)[np.triu_indices(steps.shape[1])].astype(np.int64)
    return triangle * triangle_weights(steps.shape[1])


def sum_residual_products(steps: IntArray, left: IntArray) -> IntArray:
    """Return the products of features and residuals, summed; exact, see ``sum_scores``."""
    return (steps.T.astype(np.float64) @ left.astype(np.float64)).astype(np.int64).ravel()


def target_range(noisy: FloatArray, edges: FloatArray) -> tuple[float, float]:
    """Return the mean of a noisy histogram, and how far its outer half per cent lie from it."""
    shares = project_counts(noisy)
    shares = shares / shares.sum()
    middle = float(shares @ (edges[1:] + edges[:-1])) / 2
    upto = np.concatenate([[0.0], np.cumsum(shares)])
    low, high = np.interp([TAIL, 1 - TAIL], upto, edges)
    return middle, max(float(high) - middle, middle - float(low), float(edges[1] - edges[0]) / 2)


def shrunk_gram(noisy: FloatArray, sigma: float, features: Features, total: float, synthetic: FloatArray) -> FloatArray:
    """Return the noisy Gram matrix, shrunk to that of synthetic rows by how much of the gap is noise."""
    count = features.count
    weights = triangle_weights(count)
    unit = features.longest**2 / (UNIT * total)
    triangle, noise = noisy / weights * unit, sigma / weights * unit
    rows, columns = np.triu_indices(count)
    twice = np.where(rows == columns, 1.0, 2.0)
    gap = triangle - synthetic[rows, columns]
    kept = max(0.0, 1 - float(twice @ noise**2) / max(float(twice @ gap**2), 1e-300))
    matrix = np.zeros((count, count))
    matrix[rows, columns] = matrix[columns, rows] = kept * gap
    return raise_eigenvalues(synthetic + matrix, 0.0)


def ridge_update(
    weights: FloatArray, moves: FloatArray, noise: float, gram: FloatArray, prior: FloatArray
) -> FloatArray:
    """Return weights after one noise-aware step.

    ``moves`` = gram (true - weights) + N(0, noise^2 I). With true - weights ~ N(0, v diag(prior)), v by the marginal
    likelihood of ``moves``, the step is the posterior mean. The error of the noisy ``gram`` is not in this: counting
    it in full made three of the measured cases worse and was left out.
    """
    spread = (gram * prior) @ gram
    values, vectors = cast(tuple[Any, Any], np.linalg.eigh(spread))
    values, along = np.maximum(values, 0.0), vectors.T @ moves
    factor = _likeliest(values, along**2, noise**2)
    return weights + factor * prior * (gram @ (vectors @ (along / (factor * values + noise**2))))


def _likeliest(values: FloatArray, squares: FloatArray, noise: float) -> float:
    """Return the factor v at which squares ~ (v values + noise) chi^2_1 are likeliest, on a grid of factors."""
    grid = (noise / max(float(values.max()), 1e-300)) * np.logspace(-3, 10, 131)
    total = grid[:, None] * values + noise
    return float(grid[int(np.argmin((np.log(total) + squares / total).sum(axis=1)))])


def next_clipping_bound(noisy: float, sigma: float, reach: float, total: float) -> float:
    """Return where the second pass clips: three noisy root mean squares, at least one noise deviation of them."""
    square = max(noisy, sigma) / (UNIT * total)
    return reach * min(1.0, REACH * float(np.sqrt(square)))


def real_moves(noisy: FloatArray, features: Features, reach: float, total: float) -> FloatArray:
    """Return noisy sums of products of features and residuals as a mean in real units."""
    return noisy * (features.step * reach / (STEPS * total))


MOST_CLASSES = 100
"""Levels of a target: each adds the noise of all features."""


@dataclass(frozen=True, eq=False)
class CategoricalResponse:
    """A released response of levels: a column of weights for each."""

    features: Features
    weights: FloatArray
    shares: FloatArray
    """Released share of each level; they sum to 1."""

    @classmethod
    def start(cls, features: Features, noisy: FloatArray) -> CategoricalResponse:
        """Return the fit that knows the noisy counts of the levels alone."""
        counts = project_counts(noisy)
        return cls(features, np.zeros((features.count, len(noisy))), counts / counts.sum())

    @property
    def reach(self) -> float:
        """The longest residual that these shares leave: nothing is shortened in the first pass."""
        return float(np.sqrt(1 - 2 * self.shares.min() + self.shares @ self.shares))

    @property
    def moves(self) -> int:
        """Numbers that one pass over the residuals sums."""
        return self.weights.size

    def residuals(self, targets: FloatArray, steps: IntArray, reach: float) -> IntArray:
        """Return what the fits leave of each record's indicators, shortened to ``reach``, in whole steps."""
        whole = np.empty((len(steps), len(self.shares)), np.int64)
        codes = np.clip(np.rint(targets), 0, len(self.shares) - 1)
        class_residual_steps(codes, steps, self.weights * self.features.step, self.shares, reach, whole)
        return whole

    def stepped(self, moves: FloatArray, noise: float, gram: FloatArray) -> CategoricalResponse:
        """Return the fit after one noise-aware step of every level, without the noise that all levels share."""
        count = len(self.shares)
        table = moves.reshape(self.weights.shape)
        table = table - table.mean(axis=1, keepdims=True)
        left = noise * math.sqrt(1 - 1 / count)
        each = [
            ridge_update(w, move, left, gram, self.features.prior)
            for w, move in zip(self.weights.T, table.T, strict=True)
        ]
        return CategoricalResponse(self.features, np.column_stack(each), self.shares)

    def probabilities(self, rows: FloatArray) -> FloatArray:
        """Return the fitted probability of every level, one row per record."""
        cut = np.clip(self.shares + self.features.weighted(rows, self.weights), 0.0, 1.0)
        total = cut.sum(axis=1, keepdims=True)
        return np.where(total > 0, cut / np.where(total > 0, total, 1.0), self.shares)

    def predict(self, rows: FloatArray) -> FloatArray:
        """Return the code of the most probable level."""
        return np.argmax(self.probabilities(rows), axis=1).astype(np.float64)

    def draw(self, rows: FloatArray, generator: np.random.Generator) -> FloatArray:
        """Return codes drawn by the fitted probabilities."""
        upto = np.cumsum(self.probabilities(rows), axis=1)
        drawn = (generator.random((len(rows), 1)) > upto).sum(axis=1)
        return np.minimum(drawn, len(self.shares) - 1).astype(np.float64)
