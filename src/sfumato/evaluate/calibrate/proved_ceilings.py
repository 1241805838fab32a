"""Largest epsilon that keeps a proved ceiling on attack risk, from public facts alone.

A plan's events have a curve, delta at every epsilon, and the curve bounds what any attacker achieves
(:mod:`sfumato.privacy.accounting.privacy_curve`): his advantage, his hits at a share of false alarms, and the share
of attempts
that succeed where some would by chance. A larger epsilon means less noise and a higher ceiling, so the largest value
that keeps the target is found by halving, rounded down to two digits, and checked again by its own plan.

The same question to the stated pair (epsilon, delta) alone gives far less: one point of the curve is all that it knows.
Both answers stand in the result.

>>> from sfumato.mechanisms.graphical.aim import AIM
>>> found = calibrate_ceiling(AIM(epsilon=1), Target.parse("advantage <= 0.2"))
>>> found.chosen, found.proved.by_pair
(2.9, 0.4)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sfumato.core.method import Method, with_parameter
from sfumato.core.plan import Plan
from sfumato.errors import PlanError
from sfumato.evaluate.calibrate.result import Calibration, Point, ProvedCeiling, Search, intervals_of
from sfumato.evaluate.calibrate.target import Target
from sfumato.privacy.accounting.privacy_curve import PrivacyCurve, privacy_curve
from sfumato.privacy.accounting.strength import MOST_EPSILON, most_certainty_text, odds_factor_text
from sfumato.privacy.exact import at_most, round_up, to_fraction
from sfumato.schema import Column, Schema

SMALLEST, LARGEST = 0.001, float(MOST_EPSILON)
"""Where epsilon is looked for unless a range is given."""
NEAR = 0.002
"""Share of itself to which the largest value is located before it is rounded down."""
DIGITS = 2
SHOWN = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Epsilons that the table and the picture show besides the answers."""
SHARES = (0.1, 0.2, 0.5, 1.0, 1.5)
"""The same for other parameters and narrow ranges, as shares of the choice."""
ANY_TABLE = "any table"
SAME_FOR_ALL = ("aim", "mst")
"""Methods whose curve is the same for every schema: the totals of noise and choices follow from epsilon and delta."""


@dataclass(frozen=True)
class CeilingCurve:
    """A proved ceiling against a parameter of a method; each value is planned once."""

    method: Method
    target: Target
    schema: Schema
    parameter: str
    rows: int | None = None
    plans: dict[float, Plan] = field(default_factory=dict[float, Plan], repr=False)
    points: dict[float, Point] = field(default_factory=dict[float, Point], repr=False)

    def plan(self, value: float) -> Plan:
        """Return the plan at a value; one without a formal guarantee is refused."""
        if value not in self.plans:
            plan = with_parameter(self.method, self.parameter, value).plan(self.schema, self.rows)
            if plan.epsilon is None or not all(event.is_formal for event in plan.events):
                raise PlanError(
                    f"{self.method.name} is an exposure here: without a formal guarantee there is no curve",
                    next_step="choose a method with a guarantee; 'sfumato methods' lists them",
                )
            self.plans[value] = plan
        return self.plans[value]

    def at(self, value: float) -> Point:
        """Return the ceiling that the curve of the plan's events proves."""
        if value not in self.points:
            self.points[value] = self._point(value, ceiling(privacy_curve(self.plan(value).events), self.target))
        return self.points[value]

    def of_pair(self, value: float) -> Point:
        """Return what the stated epsilon and delta of a value alone allow."""
        plan = self.plan(value)
        pair = to_fraction(plan.epsilon or "0"), to_fraction(plan.delta)
        return self._point(value, pair_ceiling(*pair, self.target))

    def _point(self, value: float, bound: float) -> Point:
        return Point.closed_form(value, bound, self.target.is_met(bound))


def ceiling(curve: PrivacyCurve, target: Target) -> float:
    """Return the proved ceiling of a target's metric."""
    if target.metric.name == "advantage":
        return float(curve.advantage)
    assert target.at is not None  # a target without its share is refused when it is read
    return float(curve.hits(target.at) if target.metric.name == "hits" else curve.success(target.at))


def pair_ceiling(epsilon: Fraction, delta: Fraction, target: Target) -> float:
    """Return the ceiling of the worst run with a stated pair."""
    return ceiling(PrivacyCurve.of_pair(round_up(epsilon), round_up(delta)), target)


def calibrate_ceiling(
    method: Method,
    target: Target,
    schema: Schema | None = None,
    *,
    parameter: str = "epsilon",
    grid: Sequence[float] | None = None,
    within: tuple[float, float] | None = None,
    rows: int | None = None,
) -> Calibration:
    """Return the largest value of a parameter at which the proved curve keeps a ceiling on risk.

    ``target`` is "advantage <= 0.2", "hits <= 0.05 at 0.01" or "success <= 0.2 at 0.1". ``schema`` may be left out
    where the curve does not depend on it (AIM, MST). Values are those of a ``grid``, or searched ``within`` a range.
    """
    public = placeholder_schema(method) if schema is None else schema
    curve = CeilingCurve(method, target, public, parameter, rows)
    if grid is not None:
        chosen = max((value for value in grid if curve.at(value).meets), default=None)
        return _result(curve, grid, chosen, schema is None, "grid")
    low, high = within or (SMALLEST, LARGEST)
    chosen = largest(lambda value: curve.at(value).mean, target.bound, low, high)
    return _result(curve, _values_to_show(curve, chosen, low, high), chosen, schema is None, "bisection")


def placeholder_schema(method: Method) -> Schema:
    """Return a small public schema in the place of one that was not given, where the curve does not depend on it."""
    named = [getattr(method, name, None) for name in ("columns", "target")]
    workload = getattr(method, "workload", "")
    if method.name not in SAME_FOR_ALL or any(named) or not isinstance(workload, str):
        raise PlanError(
            f"what {method.name} proves depends on the table's public facts, and no schema was given",
            next_step="give the schema (--schema S.toml; in Python schema=...); no data are needed",
        )
    return Schema(ANY_TABLE, tuple(Column(name, "category", values=("no", "yes")) for name in ("first", "second")))


def largest(ceilings: Callable[[float], float], bound: float, low: float, high: float) -> float | None:
    """Return the largest value whose ceiling keeps a bound, rounded down to two digits; ceilings grow with the value.

    A root of the logarithms is looked for: both ends first, then by secants and halving. What is returned was computed.

    >>> largest(lambda value: value / 2, 0.2027, 0.001, 20), largest(lambda value: 1.0, 0.5, 1, 2)
    (0.4, None)
    """
    from scipy.optimize import brentq

    if ceilings(high) <= bound:
        return high
    if ceilings(low) > bound:
        return None

    def excess(place: float) -> float:
        return math.log(ceilings(math.exp(place))) - math.log(bound)

    place: Any = brentq(excess, math.log(low), math.log(high), xtol=NEAR)
    root = math.exp(place)
    candidates = (*(readable(root * (1 + step)) for step in (2 * NEAR, 0, -0.05, -0.1)), low)
    return next(value for value in candidates if low <= value <= high and ceilings(value) <= bound)


def readable(value: float, digits: int = DIGITS) -> float:
    """Return a value rounded down to so many digits.

    >>> readable(2.9487), readable(0.04054), readable(17.9), readable(0.00015)
    (2.9, 0.04, 17.0, 0.00015)
    """
    step = Fraction(10) ** (math.floor(math.log10(value)) - digits + 1)
    return float(math.floor(to_fraction(value) / step) * step)


def _values_to_show(curve: CeilingCurve, chosen: float | None, low: float, high: float) -> Sequence[float]:
    """Return the values that a reader wants to see: the answers of curve and pair, and round ones around them."""
    wide = curve.parameter == "epsilon" and low < 1 < high
    around = SHOWN if wide else tuple(readable(share * (chosen or high)) for share in SHARES)
    ends = (low, high) if chosen is None else (chosen, allowed_by_pair(curve, chosen))
    return [value for value in (*around, *ends) if value is not None and low <= value <= high]


def allowed_by_pair(curve: CeilingCurve, chosen: float | None) -> float | None:
    """Return the largest epsilon that a stated pair alone would have allowed, at the delta of the choice."""
    if chosen is None or curve.parameter != "epsilon":
        return None
    delta = to_fraction(curve.plan(chosen).delta)
    return largest(
        lambda value: pair_ceiling(to_fraction(value), delta, curve.target), curve.target.bound, SMALLEST, LARGEST
    )


def _result(
    curve: CeilingCurve, values: Sequence[float], chosen: float | None, any_table: bool, search: Search
) -> Calibration:
    points = tuple(curve.at(value) for value in sorted(set(values)))
    target, plan = curve.target, curve.plan(points[0].value if chosen is None else chosen)
    proved = ProvedCeiling(
        at=target.at,
        delta=plan.delta,
        unit=plan.unit,
        by_pair=allowed_by_pair(curve, chosen),
        pair=tuple(curve.of_pair(point.value) for point in points),
        any_table=any_table,
    )
    return Calibration(
        method=curve.method.name,
        table=curve.schema.name,
        parameter=curve.parameter,
        **target.facts(),
        prefer="largest",
        search=search,
        points=points,
        intervals=intervals_of(points),
        chosen=chosen,
        monotone=True,
        level=1.0,
        cost="public",
        private_data_used=False,
        assumption=f"{curve.parameter} was chosen from public facts alone, by what is proved ({target}); no table was "
        "looked at",
        proved=proved,
        notes=() if chosen is None else (*protected_unit_text(plan), *tail_text(plan)),
    )


def protected_unit_text(plan: Plan) -> tuple[str, ...]:
    """Say who the people are that the ceiling speaks of."""
    if plan.unit != "row":
        return (f"Protected is one {plan.unit}.",)
    return ("Protected is one row: people with several rows are protected less, unless the schema names the person.",)


def tail_text(plan: Plan) -> tuple[str, ...]:
    """Say what the ceiling does not bound: single unlucky outputs, for which epsilon stands alone."""
    epsilon, delta = to_fraction(plan.epsilon or "0"), to_fraction(plan.delta)
    sure = f", up to an additional probability of {at_most(delta, 3)}"
    return (
        "The ceiling is an average over the noise. What one unlucky outcome may show is bounded by epsilon alone: "
        f"anything is at most {odds_factor_text(epsilon)} times as likely with the {_noun(plan)} as without"
        f"{sure if delta else f', so that even odds become at most {most_certainty_text(epsilon, delta)}'}.",
    )


def _noun(plan: Plan) -> str:
    return plan.unit.partition(" (")[0]
