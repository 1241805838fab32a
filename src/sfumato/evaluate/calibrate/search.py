"""A calibration request and its curve: a metric over a grid or by bisection, with simulated releases."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.core.method import Method, with_parameter
from sfumato.core.release import LedgerChoice
from sfumato.errors import PlanError
from sfumato.evaluate.calibrate.result import Cost, Point, Prefer
from sfumato.evaluate.calibrate.target import Target
from sfumato.evaluate.calibrate.trial import Trial
from sfumato.metrics.confidence import mean_interval
from sfumato.metrics.rows_view import CachedCounts
from sfumato.privacy.exact import Number
from sfumato.progress import report_progress, silenced
from sfumato.schema import Schema
from sfumato.table import Table

COSTS = ("pilot", "declared", "private", "public")
REPEATS, LEVEL, SCORE_EPSILON, BETA = 10, 0.95, 0.1, 0.05
RANGE = (0.01, 30.0)
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
class CalibrationRequest:
    """What every search tries: a method with one parameter left open, on one table, against one target."""

    method: Method
    target: Target
    table: Table | None = None
    pilot: Table | None = None
    grid: Sequence[float] | None = None
    bisection: bool | tuple[float, float] = False
    repeats: int = REPEATS
    cost: Cost | None = None
    parameter: str = "epsilon"
    wanted: Prefer | None = None
    level: float = LEVEL
    """Probability with which everything that is said about all values holds."""
    rows: int | None = None
    seed: int | None = None
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    """Those of the metric."""
    ledger: LedgerChoice = None
    score_epsilon: Number = SCORE_EPSILON
    """Cost of each noisy score of a charged selection."""
    beta: float = BETA
    """Probability with which the release that is kept may miss the target."""
    allow_weak: bool = False
    schema: Schema | None = None

    @property
    def how(self) -> Cost:
        """What the search may see: a pilot where one is given, and the private table, declared, otherwise."""
        if self.target.metric.proved:
            return self.cost or "public"
        return self.cost or ("pilot" if self.pilot is not None else "declared")

    @cached_property
    def searched(self) -> Table:
        """The table that is looked at, with a memory for its counts."""
        chosen = self.pilot if self.pilot is not None else self.table
        assert chosen is not None  # require_sound refuses a question without a table
        return chosen if isinstance(chosen, CachedCounts) else CachedCounts.of(chosen)

    def at(self, value: float) -> Method:
        """Return the method with a value in the open place."""
        return with_parameter(self.method, self.parameter, value)

    def trial(self, value: float, seed: int = 0, **more: Any) -> Trial:
        """Return one run of the method at a value."""
        return Trial(self.searched, self.at(value), seed, self.rows, self.options, **more)

    @property
    def prefer(self) -> Prefer:
        """Which end of an interval is chosen."""
        return self.wanted or ("smallest" if self.target.metric.kind == "utility" else "largest")

    @property
    def values(self) -> tuple[float, ...]:
        """The values of the grid, or the two ends of the range."""
        if self.bisection is False:
            return tuple(sorted({float(value) for value in (GRID if self.grid is None else self.grid)}))
        return RANGE if self.bisection is True else tuple(self.bisection)

    def require_sound(self) -> None:
        """Refuse a question that makes no sense, with everything that is wrong with it."""
        problems = [*self._table_problems(), *self._search_problems()]
        if problems:
            raise PlanError("this calibration cannot be run", problems, "see 'sfumato calibrate --help'")
        self.at(self.values[0])  # refuses a parameter that the method does not have
        self.target.require(self.method.makes, self.method.name, self.options)
        for value in self.values:
            self.at(value).plan(self.searched.schema, self.rows, "seeded")
        self.target.metric.require(self.trial(self.values[0]))

    def _table_problems(self) -> list[str]:
        problems: list[str] = []
        if (self.table is None) == (self.pilot is None):
            problems.append("give one table: pilot= for a public one, or table= for the private one")
        if self.schema is not None:
            problems.append("schema= is for ceilings on risk (advantage, hits, success); a table has its own")
        if self.how == "public":
            problems.append(f"{self.target.metric.name} is measured on a table, not known from public facts")
        if self.how not in COSTS:
            problems.append(f"unknown cost {self.how!r}; use one of: {', '.join(COSTS)}")
        if self.pilot is not None and self.how != "pilot":
            problems.append(f"a pilot costs nothing: cost={self.how!r} is about table=")
        if self.ledger and self.how != "private":
            problems.append(f"cost={self.how!r} charges nothing, so that a ledger has nothing to record")
        if self.wanted not in (None, "smallest", "largest"):
            problems.append(f"prefer must be 'smallest' or 'largest', found {self.wanted!r}")
        return problems

    def _search_problems(self) -> list[str]:
        problems = _value_problems(self.grid, self.bisection)
        if self.grid is not None and self.bisection:
            problems.append("give a grid or a bisection, not both")
        if self.how == "private" and self.bisection:
            problems.append("a charged selection climbs a grid that is fixed beforehand; bisection is not charged")
        if self.parameter != "epsilon" and self.grid is None and self.bisection in (False, True):
            problems.append(f"the values of {self.parameter!r} must be given: a grid, or a range for bisection")
        if self.how != "private" and (isinstance(self.repeats, bool) or self.repeats < 2):
            problems.append(f"repeats must be at least 2, found {self.repeats!r}: one draw is not a curve")
        if not 0 < self.level < 1:
            problems.append(f"level must lie between 0 and 1, found {self.level!r}")
        if self.seed is not None and (isinstance(self.seed, bool) or self.seed < 0):
            problems.append(f"seed must be a whole number of at least 0, found {self.seed!r}")
        return problems

    def require_public(self) -> None:
        """Refuse what makes no sense for a ceiling that is proved: anything that is about a run."""
        problems = [problem for problem in self._search_problems() if not problem.startswith("repeats")]
        sources = [each for each in (self.schema, self.table, self.pilot) if each is not None]
        if len(sources) > 1:
            problems.append("give one of schema=, table= and pilot=: only the schema is read")
        if self.how != "public":
            problems.append(f"a proved ceiling costs nothing and looks at no table: leave out cost={self.how!r}")
        if self.ledger:
            problems.append("nothing is spent, so that a ledger has nothing to record")
        if self.wanted == "smallest":
            problems.append("prefer='smallest' would be no answer: every smaller value keeps the ceiling as well")
        problems += [f"{self.target.metric.name} takes no option {name!r}" for name in self.options]
        if problems:
            raise PlanError("this calibration cannot be run", problems, "see 'sfumato calibrate --help'")


def _value_problems(grid: Sequence[float] | None, bisection: bool | tuple[float, float]) -> list[str]:
    try:
        ends = [float(value) for value in (() if isinstance(bisection, bool) else bisection)]
        listed = [float(value) for value in grid or ()]
    except (TypeError, ValueError):
        return ["the grid and the range of bisection must be numbers"]
    problems = ["the grid is empty"] if grid is not None and not listed else []
    problems += [f"{v:g} is not a finite number of at least 0" for v in listed if not (0 <= v < math.inf)]
    problems += [f"{v:g} is not a finite number above 0" for v in ends if not (0 < v < math.inf)]
    if ends and (len(ends) != 2 or not ends[0] < ends[-1]):
        problems.append("the range of bisection needs two values, the smaller first")
    return problems


@dataclass
class Curve:
    """Evaluates points: ``repeats`` seeded runs each, with intervals that hold for ``most`` points together.

    Student's t interval of the mean at level 1 - (1 - level) / most (Bonferroni), so that with probability ``level``
    no point is called feasible whose mean misses the target.
    """

    request: CalibrationRequest
    repeats: int
    most: int

    def __post_init__(self) -> None:
        self.entropy = secrets.randbits(64) if self.request.seed is None else self.request.seed
        self.points: dict[float, Point] = {}
        self.memory: dict[str, Any] = {}

    def at(self, value: float) -> Point:
        """Return the point of one value; each is computed once."""
        if value not in self.points:
            self.points[value] = self._computed(value)
        return self.points[value]

    def _computed(self, value: float) -> Point:
        target, first = self.request.target, self._trial(value, 0)
        if target.metric.is_exact(first):
            exact = self._measured(first, 0)
            return Point.closed_form(value, exact, target.is_met(exact))
        trials = [first, *(self._trial(value, index) for index in range(1, self.repeats))]
        return self._summary(value, [self._measured(trial, index) for index, trial in enumerate(trials)])

    def _measured(self, trial: Trial, index: int) -> float:
        """Run and measure once; the trial among many says nothing of its own stages."""
        report_progress("trying values", (len(self.points) + index / self.repeats) / self.most)
        with silenced():
            return self.request.target.metric.measure(trial)

    def _trial(self, value: float, index: int) -> Trial:
        place = int(np.float64(value).view(np.uint64))  # the same value has the same seeds in every search
        seed = int(np.random.SeedSequence([self.entropy, place, index]).generate_state(1, np.uint64)[0])
        return self.request.trial(value, seed, memory=self.memory)

    def _summary(self, value: float, values: Sequence[float]) -> Point:
        target, level = self.request.target, 1 - (1 - self.request.level) / self.most  # all points (Bonferroni)
        interval = mean_interval(values, level)
        low, high, sd = interval.low, interval.high, float(np.std(values, ddof=1))
        meets = target.is_met(target.worst(low, high))
        mean = float(np.mean(values))
        return Point(value=value, mean=mean, low=low, high=high, sd=sd, repeats=len(values), meets=meets)

    def sorted(self) -> tuple[Point, ...]:
        """Return all points in the order of their values."""
        return tuple(self.points[value] for value in sorted(self.points))


def bisect(curve: Curve, low: float, high: float) -> None:
    """Look at a few values, then halve every gap at whose ends the target is met once and missed once.

    So each end of each interval that the first look shows is located to a few per cent; what lies wholly between two
    of the first values is not seen.
    """
    start = [round_to_four_digits(value) for value in np.geomspace(low, high, BRACKETS)]
    for value in start:
        curve.at(value)
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
