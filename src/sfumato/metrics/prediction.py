"""Predictive skill of models trained on synthetic rows and tested on private rows.

**skill_kept**: do models learn from synthetic rows what they learn from real ones? Both are tested on real rows that
none was trained on. Without a holdout the table is cut into three parts: models are trained on the first, on the second
(the yardstick: a second real sample) and on as many synthetic rows, and all are tested on the third; the parts take
turns where the table is small. With a holdout all are tested on that. The synthetic rows may have seen the test rows
where there is no holdout: a release that copies rows looks too good.

A level is judged by the area under the curve (each level against the others; guessing has 0.5), a number by the part
of the variance of its ranks that is explained (guessing has 0). Skill is the way from guessing to perfect, from 0 to 1,
and **skill_kept** is the skill after training on synthetic rows, summed over all targets, over that of real rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.arrays import FloatArray, IntArray
from sfumato.errors import PlanError
from sfumato.metrics.auc import roc_auc_one_vs_rest
from sfumato.metrics.comparison_layout import BinnedRows, ComparisonLayout
from sfumato.metrics.confidence import jackknife_half_width
from sfumato.metrics.detection import MOST_ROWS, fill_missing_for_trees
from sfumato.metrics.second_sample import GROUPS, NORMAL, random_groups, size_at_distance
from sfumato.progress import report_progress

MOST_TARGETS = 12
"""Columns that are predicted, unless one is named: those with the role 'target', then others at even steps."""
MOST_CLASSES = 6
"""Levels of a target that are told apart, the commonest; all others are one."""
SMALL = 6000
"""A table with fewer rows takes turns."""
FEWEST_ROWS = 60
"""Rows of the table below which nothing is predicted."""
LEAST_SKILL = 0.02
"""Mean skill of real rows below which nothing can be learned from the table."""
FRACTIONS = (4, 16, 64)
"""Parts of the real training rows with which the learning curve is drawn."""
TREES = {"n_estimators": 20, "min_samples_leaf": 5, "max_features": 0.5}


@dataclass(frozen=True, eq=False)
class PredictiveSkill:
    """The share of skill that is kept, its intervals, every target, and how many real rows would teach as much."""

    value: float
    width: float
    spread: float
    """Half the width of the interval of 95 % of what a second real sample keeps, around 1."""
    targets: Mapping[str, Mapping[str, float]]
    equivalent: float


@dataclass(frozen=True, eq=False)
class _Task:
    """One target: its inputs and what is predicted, on every side in the same terms."""

    layout: ComparisonLayout
    place: int
    classes: FloatArray | None
    """Codes of the commonest levels; None for a number."""
    known: FloatArray
    """The true values of a number in order."""

    @property
    def guess(self) -> float:
        return 0.0 if self.classes is None else 0.5

    def inputs(self, points: FloatArray) -> FloatArray:
        """Return all other columns."""
        return np.delete(fill_missing_for_trees(self.layout, points), self.place, axis=1)

    def goal(self, points: FloatArray) -> FloatArray:
        """Return what is predicted: the rank among true values, or the number of a class, the last for all others."""
        values = points[:, self.place]
        if self.classes is None:
            return np.searchsorted(self.known, values) / len(self.known)
        order = np.argsort(self.classes)
        places = np.clip(np.searchsorted(self.classes[order], values), 0, len(order) - 1)
        return np.where(self.classes[order][places] == values, order[places], len(order)).astype(float)


def targets_of(layout: ComparisonLayout, target: str | None) -> tuple[str, ...]:
    """Return the columns to predict, by public facts alone."""
    if target is not None:
        if target not in layout.names:
            raise PlanError(f"{target!r} cannot be predicted", next_step=f"name one of: {', '.join(layout.names)}")
        return (target,)
    first = [name for name in layout.schema.targets if name in layout.names]
    others = [name for name in layout.names if name not in first]
    free = max(0, MOST_TARGETS - len(first))
    steps = np.unique(np.linspace(0, len(others) - 1, min(free, len(others))).round().astype(int)) if others else []
    return (*first[:MOST_TARGETS], *(others[step] for step in steps))


def skill_kept(
    layout: ComparisonLayout,
    true: BinnedRows,
    synthetic: BinnedRows,
    holdout: BinnedRows | None,
    target: str | None,
    seed: int,
) -> PredictiveSkill | None:
    """Measure the share of skill kept; None where rows or columns are too few, or even real rows teach nothing."""
    names = targets_of(layout, target)
    if len(layout.names) < 2 or len(true) < FEWEST_ROWS:
        return None
    turns = list(_train_test_splits(true, synthetic, holdout, seed))
    scores, guesses = dict[str, list[dict[str, FloatArray]]](), dict[str, float]()
    for number, name in enumerate(names):
        report_progress("predicting columns", number / len(names))
        task = _prediction_task(layout, true, layout.names.index(name))
        if task is not None:
            scores[name], guesses[name] = [_scored(task, turn, seed) for turn in turns], task.guess
    return _summed(scores, guesses, len(turns[0]["first"])) if scores else None


def _train_test_splits(
    true: BinnedRows, synthetic: BinnedRows, holdout: BinnedRows | None, seed: int
) -> Iterator[dict[str, FloatArray]]:
    """Yield which rows are trained on and tested on, all of the same size."""
    generator = np.random.default_rng(seed)
    order = generator.permutation(len(true))
    parts = list(np.array_split(order, 2 if holdout is not None else 3))
    size = min(MOST_ROWS, len(synthetic), *(len(part) for part in parts))
    rows = synthetic.points[generator.permutation(len(synthetic))[:size]]
    for turn in range(3 if holdout is None and len(true) < SMALL else 1):
        first, second, *rest = parts[turn:] + parts[:turn]
        test = true.points[rest[0]] if holdout is None else holdout.points
        yield {
            "first": true.points[first[:size]],
            "second": true.points[second[:size]],
            "synthetic": rows,
            "test": test[:MOST_ROWS],
        }


def _prediction_task(layout: ComparisonLayout, true: BinnedRows, place: int) -> _Task | None:
    """Return how a column is predicted; None where all its values are one."""
    values = true.points[:, place]
    known = np.sort(values[~np.isnan(values)])
    levels, counts = np.unique(known, return_counts=True)
    if len(levels) < 2:
        return None
    classes = None if layout.columns[place].is_ordered else levels[np.argsort(-counts, kind="stable")][:MOST_CLASSES]
    return _Task(layout, place, classes, known)


def _scored(task: _Task, turn: Mapping[str, FloatArray], seed: int) -> dict[str, FloatArray]:
    """Return the skill of each training set: over all test rows, and with each group of them left out."""
    test = _complete(task, turn["test"])
    groups = random_groups(len(test), seed)
    sets = {f"1/{part}": turn["first"][: max(len(turn["first"]) // part, 2)] for part in FRACTIONS}
    small = {name: _skills(task, _complete(task, rows), test, groups, seed, 0) for name, rows in sets.items()}
    whole = {name: turn[name] for name in ("first", "second", "synthetic")}
    return small | {name: _skills(task, _complete(task, rows), test, groups, seed) for name, rows in whole.items()}


def _complete(task: _Task, points: FloatArray) -> FloatArray:
    return points[~np.isnan(points[:, task.place])]


def _skills(
    task: _Task, train: FloatArray, test: FloatArray, groups: IntArray, seed: int, apart: int = GROUPS
) -> FloatArray:
    """Return the skill over all test rows, then with each of some groups left out."""
    goal, truth = task.goal(train), task.goal(test)
    if len(train) < 2 or len(np.unique(goal)) < 2 or len(test) < GROUPS:
        return np.zeros(apart + 1)
    model = _model(task, seed).fit(task.inputs(train), goal)
    if task.classes is None:
        predicted = model.predict(task.inputs(test))
        losses = np.column_stack([(truth - predicted) ** 2, (truth - truth.mean()) ** 2])
        return np.array([1 - np.divide(*losses[kept].sum(0)) for kept in _kept(groups, apart)])
    shares, levels = model.predict_proba(task.inputs(test)), model.classes_
    areas = [roc_auc_one_vs_rest(shares[kept], levels, truth[kept]) for kept in _kept(groups, apart)]
    return 2 * np.array(areas) - 1


def _kept(groups: IntArray, apart: int) -> Iterator[Any]:
    """Yield which test rows are looked at: all, then all but each group."""
    yield np.ones(len(groups), bool)
    for group in range(apart):
        yield groups != group


def _model(task: _Task, seed: int) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    kind: Any = ExtraTreesRegressor if task.classes is None else ExtraTreesClassifier
    return kind(random_state=seed, **TREES)


def _summed(
    scores: Mapping[str, list[dict[str, FloatArray]]], guesses: Mapping[str, float], size: int
) -> PredictiveSkill | None:
    """Return the share of skill that is kept over all targets and turns; skill below guessing counts as none."""
    means = {
        name: {key: np.mean([turn[key] for turn in turns], axis=0) for key in turns[0]}
        for name, turns in scores.items()
    }
    totals = {
        key: np.sum([np.maximum(each[key], 0) for each in means.values()], axis=0) for key in next(iter(means.values()))
    }
    real = (totals["first"] + totals["second"]) / 2
    if real[0] < LEAST_SKILL * len(means):
        return None
    kept, second = (totals[key] / np.maximum(real, LEAST_SKILL) for key in ("synthetic", "second"))
    gaps = [[each["second"][0] - each["first"][0] for each in turns] for turns in scores.values()]
    training = NORMAL * float(np.sqrt((np.array(gaps) ** 2).sum(0).mean()) / real[0] / np.sqrt(2))
    sizes = [1.0, *(size / part for part in reversed(FRACTIONS)), float(size)]
    curve = [0.0, *(float(totals[f"1/{part}"][0]) for part in reversed(FRACTIONS)), float(real[0])]
    return PredictiveSkill(
        float(kept[0]),
        float(np.hypot(jackknife_half_width(kept[1:]), training)),
        float(np.hypot(jackknife_half_width(second[1:]), training * np.sqrt(2))),
        {name: _target(each, guesses[name]) for name, each in means.items()},
        size_at_distance(-float(totals["synthetic"][0]), np.array(sizes), -np.array(curve)),
    )


def _target(skills: Mapping[str, FloatArray], guess: float) -> dict[str, float]:
    """Return what a target's models reach, as area under the curve or explained variance, beside guessing."""
    reached = {"synthetic": skills["synthetic"][0], "true": (skills["first"][0] + skills["second"][0]) / 2}
    return {name: float(guess + (1 - guess) * skill) for name, skill in reached.items()} | {"guess": guess}
