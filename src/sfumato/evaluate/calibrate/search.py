"""Evaluate a metric over a parameter grid or by bisection, with simulated releases."""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.core.method import Method, with_parameter
from sfumato.evaluate.calibrate.result import Point
from sfumato.evaluate.calibrate.target import Target
from sfumato.evaluate.calibrate.trial import Trial
from sfumato.metrics.confidence import mean_interval
from sfumato.progress import report_progress, silenced
from sfumato.table import Table

GRID = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Values that are tried unless a grid is given."""
BRACKETS = 5
"""Values of the first look of a bisection."""
TOLERANCE = 0.05
"""Relative width to which bisection locates where the target begins to be met."""
MOST_HALVINGS = 7
MOST_POINTS = BRACKETS + 2 * MOST_HALVINGS
"""Points of one bisection: the first look, and room for two ends of intervals. The level is for all of them."""


@dataclass(frozen=True)
class CalibrationSubject:
    """What every search tries: a method with one parameter left open, on one table, against one target."""

    method: Method
    target: Target
    table: Table
    parameter: str = "epsilon"
    level: float = 0.95
    """Probability with which everything that is said about all values holds."""
    rows: int | None = None
    seed: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Those of the metric."""

    def at(self, value: float) -> Method:
        """Return the method with a value in the open place."""
        return with_parameter(self.method, self.parameter, value)


@dataclass
class Curve:
    """Evaluates points: ``repeats`` seeded runs each, with intervals that hold for ``most`` points together.

    Student's t interval of the mean at level 1 - (1 - level) / most (Bonferroni), so that with probability ``level``
    no point is called feasible whose mean misses the target.
    """

    subject: CalibrationSubject
    repeats: int
    most: int

    def __post_init__(self) -> None:
        self.entropy = secrets.randbits(64) if self.subject.seed is None else self.subject.seed
        self.points: dict[float, Point] = {}
        self.memory: dict[str, Any] = {}

    def at(self, value: float) -> Point:
        """Return the point of one value; each is computed once."""
        if value not in self.points:
            self.points[value] = self._computed(value)
        return self.points[value]

    def _computed(self, value: float) -> Point:
        method, metric = self.subject.at(value), self.subject.target.metric
        first = self._trial(method, value, 0)
        if metric.is_exact(first):
            value_measured = self._measured(first, 0)
            return Point(
                value=value,
                mean=value_measured,
                low=value_measured,
                high=value_measured,
                sd=0.0,
                repeats=1,
                exact=True,
                meets=self.subject.target.is_met(value_measured),
            )
        trials = [first, *(self._trial(method, value, index) for index in range(1, self.repeats))]
        return self._summary(value, [self._measured(trial, index) for index, trial in enumerate(trials)])

    def _measured(self, trial: Trial, index: int) -> float:
        """Run and measure once; the trial among many says nothing of its own stages."""
        report_progress("trying values", (len(self.points) + index / self.repeats) / self.most)
        with silenced():
            return self.subject.target.metric.measure(trial)

    def _trial(self, method: Method, value: float, index: int) -> Trial:
        place = int(np.float64(value).view(np.uint64))  # the same value has the same seeds in every search
        seed = int(np.random.SeedSequence([self.entropy, place, index]).generate_state(1, np.uint64)[0])
        on = self.subject
        return Trial(on.table, method, seed, on.rows, on.options, memory=self.memory)

    def _summary(self, value: float, values: Sequence[float]) -> Point:
        mean, sd = float(np.mean(values)), float(np.std(values, ddof=1))
        target = self.subject.target
        interval = mean_interval(values, 1 - (1 - self.subject.level) / self.most)  # all points together (Bonferroni)
        return Point(
            value=value,
            mean=mean,
            low=interval.low,
            high=interval.high,
            sd=sd,
            repeats=len(values),
            meets=target.is_met(target.worst(interval.low, interval.high)),
        )

    def sorted(self) -> tuple[Point, ...]:
        """Return all points in the order of their values."""
        return tuple(self.points[value] for value in sorted(self.points))


def over_grid(curve: Curve, values: Sequence[float]) -> None:
    """Compute every value of a grid."""
    for value in values:
        curve.at(value)


def bisect(curve: Curve, low: float, high: float) -> None:
    """Look at a few values, then halve every gap at whose ends the target is met once and missed once.

    So each end of each interval that the first look shows is located to a few per cent; what lies wholly between two
    of the first values is not seen.
    """
    start = [round_to_four_digits(value) for value in np.geomspace(low, high, BRACKETS)]
    over_grid(curve, start)
    for below, above in pairwise(start):
        _halve(curve, below, above)


def _halve(curve: Curve, below: float, above: float) -> None:
    for _ in range(MOST_HALVINGS):
        met = curve.at(below).meets
        if met == curve.at(above).meets or above / below <= 1 + TOLERANCE or len(curve.points) >= MOST_POINTS:
            return
        middle = round_to_four_digits(math.sqrt(below * above))
        if not below < middle < above:
            return
        below, above = (middle, above) if curve.at(middle).meets == met else (below, middle)


def round_to_four_digits(value: float) -> float:
    """Return a value with four digits: epsilons that can be said aloud."""
    return float(f"{value:.4g}")
