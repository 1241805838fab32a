"""The other models of the paper: Nadaraya-Watson with a Gaussian kernel, AdaBoost and random forest.

The bandwidth is chosen by leave-one-out for every target together. Distances are shifted by the nearest row's, so that
far from all rows the answer tends to the nearest row's target and not to 0 / 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from sfumato.errors import PlanError
from sfumato.methods.two_stage.published.kernels import Array, blocks
from sfumato.methods.two_stage.published.krr import Box, Standard

# From 2^-8 to 2 in units of the input ranges, by factors of the square root of 2: halving h^2 squares the weights.
BANDWIDTHS = tuple(2.0 ** (1 - step / 2) for step in range(19))
QUERY_ROWS = 1000
ANCHOR_ROWS = 20_000


class Model(Protocol):
    """What every second stage returns."""

    def predict(self, inputs: Array) -> Array:
        """Return one column per target."""
        ...


@dataclass(frozen=True, eq=False)
class NadarayaWatson:
    """Weighted means of the targets of all rows, weights falling with the scaled distance."""

    box: Box
    anchors: Array
    targets: Array
    bandwidth: float

    def predict(self, inputs: Array) -> Array:
        """Return one column per target, in blocks of rows."""
        answer = np.empty((len(inputs), self.targets.shape[1]))
        for block in blocks(len(inputs), max(1, (1 << 22) // len(self.anchors))):
            square = _squares(self.box.scaled(inputs[block]), self.anchors)
            weights = np.exp(-(square - square.min(axis=1, keepdims=True)) / (2 * self.bandwidth**2))
            answer[block] = weights @ self.targets / weights.sum(axis=1, keepdims=True)
        return answer


def fit_nadaraya_watson(
    inputs: Array,
    targets: Array,
    generator: np.random.Generator,
    bandwidth: float | None = None,
    anchor_rows: int = ANCHOR_ROWS,
) -> tuple[NadarayaWatson, dict[str, Any]]:
    """Keep the rows (a sample of them above ``anchor_rows``) and choose the bandwidth by leave-one-out."""
    if bandwidth is not None and not (np.isfinite(bandwidth) and bandwidth > 0):
        raise PlanError(f"bandwidth must be positive, not {bandwidth}", next_step="leave it out to have it chosen")
    box = Box.of(inputs)
    kept = generator.permutation(len(inputs))[:anchor_rows]
    anchors, values = box.scaled(inputs[kept]), targets[kept]
    errors = _leave_one_out(anchors, Standard.of(values).forward(values))
    best = int(np.argmin(errors))
    model = NadarayaWatson(box, anchors, values, bandwidth or BANDWIDTHS[best])
    return model, {
        "method": "all rows" if len(kept) == len(inputs) else f"{len(kept)} rows",
        "bandwidth": model.bandwidth,
        "bandwidth_by": "given" if bandwidth else "leave-one-out",
        "relative_cv_error": None if bandwidth else float(errors[best]),
    }


def _leave_one_out(anchors: Array, values: Array) -> Array:
    """Return the error of every bandwidth at the first rows, each predicted from all others."""
    queries, errors = min(QUERY_ROWS, len(anchors)), np.zeros(len(BANDWIDTHS))
    for block in blocks(queries, 200):
        square = _squares(anchors[block], anchors)
        square[np.arange(len(square)), np.arange(block.start, block.stop)] = np.inf
        weights = np.exp(-(square - square.min(axis=1, keepdims=True)) / (2 * BANDWIDTHS[0] ** 2))
        for step in range(len(BANDWIDTHS)):
            predicted = weights @ values / weights.sum(axis=1, keepdims=True)
            errors[step] += np.sum((predicted - values[block]) ** 2)
            weights *= weights
    return errors / (queries * values.shape[1])


def _squares(left: Array, right: Array) -> Array:
    """Return squared distances."""
    square = (left * left).sum(axis=1)[:, None] + (right * right).sum(axis=1) - 2 * left @ right.T
    return np.maximum(square, 0.0, out=square)


@dataclass(frozen=True, eq=False)
class Trees:
    """One or several fitted scikit-learn models, side by side."""

    fitted: tuple[Any, ...]

    def predict(self, inputs: Array) -> Array:
        """Return one column per target."""
        return np.column_stack([model.predict(inputs) for model in self.fitted])


def fit_forest(
    inputs: Array, targets: Array, generator: np.random.Generator, depth: int = 10, trees: int = 100
) -> tuple[Trees, dict[str, Any]]:
    """Fit a random forest; all targets share its trees."""
    from sklearn.ensemble import RandomForestRegressor

    model = RandomForestRegressor(trees, max_depth=depth, n_jobs=-1, random_state=_seed(generator))
    fitted = model.fit(inputs, targets if targets.shape[1] > 1 else targets[:, 0])
    return Trees((fitted,)), {"method": "random forest", "depth": depth, "trees": trees}


def fit_adaboost(
    inputs: Array, targets: Array, generator: np.random.Generator, depth: int = 7, trees: int = 60
) -> tuple[Trees, dict[str, Any]]:
    """Fit AdaBoost on regression trees, one model per target."""
    from sklearn.ensemble import AdaBoostRegressor
    from sklearn.tree import DecisionTreeRegressor

    base = DecisionTreeRegressor(max_depth=depth)
    fitted = tuple(
        AdaBoostRegressor(base, n_estimators=trees, random_state=_seed(generator)).fit(inputs, column)
        for column in targets.T
    )
    return Trees(fitted), {"method": "AdaBoost", "depth": depth, "trees": trees}


def _seed(generator: np.random.Generator) -> int:
    """Draw a seed for scikit-learn."""
    return int(generator.integers(2**31 - 1))
