"""Find the parameter values that meet a target, and state the cost of the search."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sfumato.core.method import Method, with_parameter
from sfumato.core.release import LedgerChoice
from sfumato.errors import PlanError
from sfumato.evaluate.calibrate.private_selection import BETA, SCORE_EPSILON, SelectionTerms, select_privately
from sfumato.evaluate.calibrate.result import (
    Calibration,
    Charge,
    Cost,
    Point,
    Prefer,
    choice_of,
    intervals_of,
    is_monotone,
)
from sfumato.evaluate.calibrate.search import (
    GRID,
    MOST_POINTS,
    CalibrationSubject,
    Curve,
    bisect,
    over_grid,
)
from sfumato.evaluate.calibrate.target import Target
from sfumato.evaluate.calibrate.trial import Trial
from sfumato.privacy.exact import Number, at_most, format_fraction, to_fraction
from sfumato.privacy.randomness import Randomness
from sfumato.schema import Schema
from sfumato.table import Table

COSTS = ("pilot", "declared", "private", "public")
RANGE = (0.01, 30.0)
REPEATS = 10
LEVEL = 0.95


def calibrate(
    method: Method,
    target: str | Target,
    table: Table | None = None,
    pilot: Table | None = None,
    *,
    grid: Sequence[float] | None = None,
    bisection: bool | tuple[float, float] = False,
    repeats: int = REPEATS,
    cost: Cost | None = None,
    parameter: str = "epsilon",
    prefer: Prefer | None = None,
    level: float = LEVEL,
    rows: int | None = None,
    seed: int | None = None,
    ledger: LedgerChoice = None,
    score_epsilon: Number = SCORE_EPSILON,
    beta: float = BETA,
    options: Mapping[str, Any] | None = None,
    allow_weak: bool = False,
    schema: Schema | None = None,
) -> Calibration:
    """Find the values of a parameter at which a method meets a target, and say what the search itself costs.

    ``method`` is an instance; its own value of ``parameter`` is replaced. ``target`` is an expression over a metric:
    ``"tvd_2_q16 <= 0.05"``; ``options`` are those of the metric, such as ``{"clusters": 4}``. The values are those of a
    ``grid``, or found by ``bisection`` (true, or a range). At each value the method runs ``repeats`` times, and a value
    meets the target if the worse end of the interval of the mean does; all intervals hold together with probability
    ``level``. By utility the smallest value is chosen, by risk the largest, unless ``prefer`` says.

    ``cost`` says what the search may see. "pilot" (with ``pilot=``): a public or simulated table, nothing private.
    "declared" (with ``table=``): the private table, uncharged; the result says so in words for the guarantee.
    "private": the selection is charged, by the ladder of :mod:`sfumato.evaluate.calibrate.private_selection`;
    candidates are released
    and recorded one by one, and the one that is kept comes with the result. It states the cost of the whole ladder,
    which is refused above epsilon 20 or delta 0.1 unless ``allow_weak`` says that it is wanted.

    Ceilings on risk, ``"advantage <= 0.2"``, ``"hits <= 0.05 at 0.01"`` and ``"success <= 0.2 at 0.1"``, follow from
    the proved curve (:mod:`sfumato.evaluate.calibrate.proved_ceilings`): they take a ``schema`` or a table, of which
    only the schema is read, or for AIM and MST neither. Nothing is run, spent or recorded ("public").
    """
    asked = _CalibrationRequest(
        method=method,
        target=Target.parse(target),
        table=table,
        pilot=pilot,
        grid=grid,
        bisection=bisection,
        repeats=repeats,
        cost=cost,
        parameter=parameter,
        wanted=prefer,
        level=level,
        rows=rows,
        seed=seed,
        options=dict(options or {}),
        terms=SelectionTerms(ledger, score_epsilon, beta, allow_weak),
        schema=schema,
    )
    if asked.target.metric.proved:
        return _proved(asked)
    asked.require_sound()
    return _private_selection(asked) if asked.how == "private" else _simulate(asked)


@dataclass(frozen=True)
class _CalibrationRequest:
    """The question, checked as a whole."""

    method: Method
    target: Target
    table: Table | None
    pilot: Table | None
    grid: Sequence[float] | None
    bisection: bool | tuple[float, float]
    repeats: int
    cost: Cost | None
    parameter: str
    wanted: Prefer | None
    level: float
    rows: int | None
    seed: int | None
    options: dict[str, Any]
    terms: SelectionTerms
    schema: Schema | None = None

    @property
    def how(self) -> Cost:
        """What the search may see: a pilot where one is given, and the private table, declared, otherwise."""
        if self.target.metric.proved:
            return self.cost or "public"
        return self.cost or ("pilot" if self.pilot is not None else "declared")

    @cached_property
    def subject(self) -> CalibrationSubject:
        """What is tried, on the table that is looked at."""
        table, open_ = self._remembered(), self.parameter
        return CalibrationSubject(
            self.method, self.target, table, open_, self.level, self.rows, self.seed, self.options
        )

    def _remembered(self) -> Table:
        """Return the table that is looked at, with a memory for its counts."""
        from sfumato.metrics.rows_view import CachedCounts

        chosen = self.pilot if self.pilot is not None else self.table
        assert chosen is not None  # require_sound refuses a question without a table
        return chosen if isinstance(chosen, CachedCounts) else CachedCounts.of(chosen)

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
        with_parameter(self.method, self.parameter, self.values[0])  # refuses a parameter that the method does not have
        self.target.require(self.method.makes, self.method.name, self.options)
        subject = self.subject
        for value in self.values:
            subject.at(value).plan(subject.table.schema, self.rows, "seeded")
        self.target.metric.require(Trial(subject.table, subject.at(self.values[0]), 0, self.rows, self.options))

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
        if self.terms.ledger and self.how != "private":
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
        if self.terms.ledger:
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


def _proved(asked: _CalibrationRequest) -> Calibration:
    from sfumato.evaluate.calibrate.proved_ceilings import calibrate_ceiling

    asked.require_public()
    table = asked.pilot if asked.pilot is not None else asked.table
    return calibrate_ceiling(
        asked.method,
        asked.target,
        asked.schema if table is None else table.schema,
        parameter=asked.parameter,
        grid=None if asked.grid is None else asked.values,
        within=None if isinstance(asked.bisection, bool) else asked.bisection,
        rows=asked.rows,
    )


def _simulate(asked: _CalibrationRequest) -> Calibration:
    table = asked.subject.table
    table.require_valid()
    curve = Curve(asked.subject, asked.repeats, len(asked.values) if asked.bisection is False else MOST_POINTS)
    if asked.bisection is False:
        over_grid(curve, asked.values)
    else:
        bisect(curve, *asked.values)
    return _result(asked, curve.sorted(), _assumption(asked, table.schema.name), _draft_notes(table))


def _draft_notes(table: Table) -> tuple[str, ...]:
    if table.schema.is_confirmed:
        return ()
    return ("The schema is a draft: no release may use it before it is confirmed.",)


def _private_selection(asked: _CalibrationRequest) -> Calibration:
    selection = select_privately(asked.subject, asked.values, asked.terms)
    words = _charged_assumption(asked, asked.subject.table.schema.name, selection.charge)
    result = _result(asked, selection.points, words, selection.notes)
    more = {"search": "ladder", "charge": selection.charge, "release": selection.release, "prefer": "smallest"}
    return result.model_copy(update=more)


def _result(
    asked: _CalibrationRequest, points: tuple[Point, ...], assumption: str, notes: tuple[str, ...]
) -> Calibration:
    intervals, target = intervals_of(points), asked.target
    return Calibration(
        method=asked.method.name,
        table=asked.subject.table.schema.name,
        parameter=asked.parameter,
        **target.facts(),
        prefer=asked.prefer,
        search="grid" if asked.bisection is False else "bisection",
        points=points,
        intervals=intervals,
        chosen=choice_of(intervals, asked.prefer),
        monotone=is_monotone(points),
        level=asked.level,
        cost=asked.how,
        private_data_used=asked.how != "pilot",
        assumption=assumption,
        randomness=Randomness.of(asked.seed).mode,
        options=asked.options,
        notes=(*notes, *([target.metric.warning] if target.metric.warning else [])),
    )


def _assumption(asked: _CalibrationRequest, name: str) -> str:
    if asked.how == "pilot":
        return (
            f"{asked.parameter} was chosen on a pilot table with the schema {name!r}, which is public or simulated; "
            "the table that is released was not looked at"
        )
    return (
        f"{asked.parameter} was chosen by looking at the private table {name!r} ({asked.target}), and this choice was "
        "not charged: the guarantee is that of a value fixed beforehand, and does not cover what the choice itself "
        "gives away"
    )


def _charged_assumption(asked: _CalibrationRequest, name: str, charge: Charge) -> str:
    delta = f", delta {at_most(charge.delta, 3)}" if to_fraction(charge.delta) else ""
    where = "recorded in the ledger" if charge.recorded else "recorded nowhere, as no ledger was given"
    return (
        f"{asked.parameter} was chosen on the private table {name!r} by a charged selection ({asked.target}): "
        f"{charge.candidates_run} of {charge.candidates} candidate releases with their scores cost epsilon "
        f"{format_fraction(to_fraction(charge.epsilon))}{delta} together, {where}; the guarantee of a kept release "
        f"is that of the whole "
        f"ladder, epsilon {format_fraction(to_fraction(charge.most_epsilon))}"
    )
