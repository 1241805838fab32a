"""Detection of synthetic rows by a classifier: pMSE ratio of a linear model, and AUC of boosted trees.

**pMSE ratio** (Snoke and others 2018). A linear model with main effects, squares and some products is fitted to the
question "is this row synthetic?". With N rows and k coefficients beside the intercept the part of the variance that it
explains is k / (N - 1) on average when both sides come from one population, whatever that is: labels are then
exchangeable. The ratio is what it explains over that number: 1 by chance, 0 where both sides are the same rows.

**AUC**. Boosted trees are trained on one half of the rows and asked about the other. 0.5 is chance, 1 is certainty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.arrays import BoolArray, FloatArray, IntArray
from sfumato.metrics.auc import roc_auc
from sfumato.metrics.comparison_layout import BinnedRows, ComparisonLayout
from sfumato.metrics.confidence import jackknife_half_width
from sfumato.metrics.second_sample import GROUPS, NORMAL, random_groups
from sfumato.progress import report_progress

MOST_ROWS = 5000
"""Rows of each side that models look at."""
MOST_PRODUCTS = 150
RARE = 0.01
"""A level with a smaller share has no coefficient of its own."""
FURTHEST = 4.0
"""Standard deviations at which a number is clipped."""
TREES: dict[str, Any] = {"max_iter": 60, "max_leaf_nodes": 15, "early_stopping": False}


@dataclass(frozen=True)
class DetectionScore:
    """How well synthetic rows are told from real ones, with half the width of an interval, and what chance gives."""

    value: float
    width: float
    chance: float
    spread: float
    """Half the width of an interval of 95 % of what chance gives."""


def sample_rows(side: BinnedRows, seed: int) -> BinnedRows:
    """Return at most so many rows; of two sides of one length the same places, so that equal rows stay equal."""
    return side[np.random.default_rng(seed).permutation(len(side))[:MOST_ROWS]]


def pmse_ratio(layout: ComparisonLayout, true: BinnedRows, synthetic: BinnedRows, seed: int) -> DetectionScore:
    """Return the ratio for both sides."""
    sides = [sample_rows(side, seed) for side in (true, synthetic)]
    label = np.repeat([0.0, 1.0], [len(side) for side in sides])
    groups = np.concatenate([random_groups(len(side), seed) for side in sides])
    matrix = model_matrix(layout, np.concatenate([side.points for side in sides]), len(sides[0]), seed)
    value, rank = _ratio(matrix, label)
    left_out = np.array([_ratio(matrix[groups != each], label[groups != each])[0] for each in range(GROUPS)])
    return DetectionScore(value, jackknife_half_width(left_out), 1.0, NORMAL * float(np.sqrt(2 / max(rank, 1))))


def _ratio(matrix: FloatArray, label: FloatArray) -> tuple[float, int]:
    """Return the explained part of the variance over what chance explains, and the number of coefficients."""
    centred, goal = matrix - matrix.mean(0), label - label.mean()
    values, vectors = np.linalg.eigh(centred.T @ centred)
    kept = values > 1e-9 * max(float(values.max(initial=0)), 1e-300)
    parts = (vectors[:, kept].T @ (centred.T @ goal)) ** 2 / values[kept]
    explained, rank = float(parts.sum() / (goal @ goal)), int(kept.sum())
    return explained * (len(label) - 1) / max(rank, 1), rank


def model_matrix(layout: ComparisonLayout, points: FloatArray, real: int, seed: int) -> FloatArray:
    """Return numbers with their squares, indicators of levels and of missing values, and products of some of them."""
    main, owner = list[FloatArray](), list[int]()
    for place, column in enumerate(layout.columns):
        terms = _number(points[:, place], real) if column.is_ordered else _levels(points[:, place])
        main += terms
        owner += [place] * len(terms)
    if not main:  # every value of every column is the same
        return np.zeros((len(points), 1))
    generator = np.random.default_rng(seed)
    pairs = {tuple(sorted(generator.integers(len(main), size=2).tolist())) for _ in range(4 * MOST_PRODUCTS)}
    products = [(one, other) for one, other in sorted(pairs) if owner[one] != owner[other]]
    chosen = generator.permutation(len(products))[:MOST_PRODUCTS]
    return np.column_stack([*main, *(main[products[i][0]] * main[products[i][1]] for i in chosen)])


def _number(values: FloatArray, real: int) -> list[FloatArray]:
    absent = np.isnan(values)
    known = values[:real][~absent[:real]]
    middle, spread = (float(known.mean()), float(known.std()) or 1.0) if len(known) else (0.0, 1.0)
    scaled = np.where(absent, 0, np.clip((values - middle) / spread, -FURTHEST, FURTHEST))
    return [scaled, scaled**2, *([absent.astype(float)] if absent.any() else [])]


def _levels(codes: FloatArray) -> list[FloatArray]:
    """Return indicators of the levels that are not rare, but for the commonest; missing is a level."""
    known = np.where(np.isnan(codes), -1, codes)
    levels, counts = np.unique(known, return_counts=True)
    common = levels[np.argsort(-counts)][1:]
    return [(known == level).astype(float) for level in common if (known == level).mean() >= RARE]


def fill_missing_for_trees(layout: ComparisonLayout, points: FloatArray) -> FloatArray:
    """Return rows for trees: a missing value as a number below all others, so that it can be told apart."""
    below = [2 * c.numeric_bounds[0] - c.numeric_bounds[1] - 1 if c.is_ordered else -1.0 for c in layout.columns]
    return np.where(np.isnan(points), below, points)


def detection_auc(layout: ComparisonLayout, true: BinnedRows, synthetic: BinnedRows, seed: int) -> DetectionScore:
    """Return the area under the curve of boosted trees that were asked about rows that they were not trained on."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    sides = [sample_rows(side, seed) for side in (true, synthetic)]
    label = np.repeat([0, 1], [len(side) for side in sides])
    points = fill_missing_for_trees(layout, np.concatenate([side.points for side in sides]))
    fold = np.concatenate([random_groups(len(side), seed, 2) for side in sides])
    score = np.empty(len(label))
    for half in (0, 1):
        report_progress("telling synthetic rows from real ones", half / 2)
        model = HistGradientBoostingClassifier(random_state=seed, **TREES)
        with threadpool_limits(1):  # threads that wait for each other on a busy machine take minutes
            model.fit(points[fold != half], label[fold != half])
            score[fold == half] = model.predict_proba(points[fold == half])[:, 1]
    groups = np.concatenate([random_groups(len(side), seed + 1) for side in sides])
    left_out = np.array([_auc(score, label, fold, groups != each) for each in range(GROUPS)])
    sizes = [len(side) for side in sides]
    chance = NORMAL * float(np.sqrt((sum(sizes) + 1) / (12 * sizes[0] * sizes[1])))
    return DetectionScore(
        _auc(score, label, fold, np.ones(len(label), bool)), jackknife_half_width(left_out), 0.5, chance
    )


def _auc(score: FloatArray, label: IntArray, fold: IntArray, kept: BoolArray) -> float:
    """Return the mean over both halves: scores of two models are not on one scale."""
    halves = [kept & (fold == half) for half in (0, 1)]
    return float(np.mean([roc_auc(score[half & (label == 1)], score[half & (label == 0)]) for half in halves]))
