"""Explain a calibration in plain words, with advice for targets that no value meets.

Everything follows from the curve that was computed; nothing is computed again.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.formatting import capitalize_first
from sfumato.metrics.catalogue import CATALOGUE
from sfumato.privacy.accounting.strength import warnings
from sfumato.privacy.exact import at_least, at_most, to_fraction

if TYPE_CHECKING:
    from sfumato.evaluate.calibrate.result import Calibration, Point, ProvedCeiling

FLAT = 0.1
"""A last step that gained less than this share of what is missing is called flat."""
STEEPEST, FURTHEST = 0.3, 10.0
"""A slope below the first is not followed, nor any slope further than the second, as a factor of the last value."""
MOST_RUNS = 1000


def explain_value(result: Calibration) -> tuple[str, ...]:
    """Say what the target asks for, and what the choice or the best value gives, in a person's terms."""
    known = CATALOGUE.get(result.metric)
    if known is None or not known.plain:
        return ()
    reached = result.best if result.chosen is None else result.point(result.chosen)
    where, at = (
        f"at {result.parameter} = {reached.value:g}",
        None if result.proved is None else result.proved.at,
    )
    how = "Found" if result.proved is None else "Proved"
    mean = reached.mean if result.proved is None else _outward(reached.mean, "<=")  # a ceiling is never rounded down
    return (
        f"Asked for, {result.target}: {known.in_plain_words(result.bound, at)}",
        f"{how} {where}, {result.metric} {mean:.3g}: {known.in_plain_words(mean, at)}",
    )


def _advice_of(name: str) -> tuple[str, ...]:
    return CATALOGUE[name].advice if name in CATALOGUE else ()


def explain_ceiling(result: Calibration, proved: ProvedCeiling) -> str:
    """Say the largest value by the proved curve, and what the stated pair alone would have allowed."""
    name, which = result.parameter, "" if proved.any_table else f" for table {result.table!r}"
    if result.chosen is None:
        best = result.best
        return (
            f"{result.target} is not kept by any {name} from {best.value:g} up{which}: the curve of {result.method} "
            f"proves {at_most(best.mean, 3)} there."
        )
    delta = f" at delta {at_most(proved.delta, 3)}" if to_fraction(proved.delta) and name != "delta" else ""
    most = "the largest" if result.search == "bisection" else "the largest of the grid"
    return (
        f"{name} = {result.chosen:g}{delta} is {most} at which the proved curve of {result.method} keeps "
        f"{result.target}{which}: it proves {at_most(result.point(result.chosen).mean, 3)}. {_of_pair(result, proved)}"
    ).rstrip()


def _of_pair(result: Calibration, proved: ProvedCeiling) -> str:
    name = result.parameter
    if name != "epsilon":
        return ""
    if proved.by_pair is None:
        return "The stated pair alone would have allowed no epsilon worth its name."
    if proved.by_pair == result.chosen:
        return "The stated pair alone allows as much."
    return f"The stated pair alone would have allowed {name} = {proved.by_pair:g}."


def advice(result: Calibration) -> tuple[str, ...]:
    """Say what is reachable and what to try when no value meets the target; nothing where one does."""
    if result.chosen is not None:
        return ()
    lines = (_reachable(result), _more_runs(result), *_further(result), *_advice_of(result.metric))
    return tuple(line for line in lines if line)


def _reachable(result: Calibration) -> str:
    """Name the nearest target that a tried value would meet; of a ladder only noisy scores are known."""
    if result.charge is not None:
        return "Nothing is kept. What was run is paid for and may be published; another ladder costs again."
    best = min(result.points, key=lambda point: _sign(result) * _worse(result, point))
    bound = _outward(_worse(result, best), result.comparison)
    return f"Reachable here: {result.metric} {result.comparison} {bound:g}, by {result.parameter} = {best.value:g}."


def _more_runs(result: Calibration) -> str:
    """Say when the mean meets the target and only its interval does not."""
    point = result.best
    room = _sign(result) * (result.bound - point.mean)
    if result.charge is not None or point.exact or room <= 0:
        return ""
    half = abs(_worse(result, point) - point.mean)
    runs = math.ceil(point.repeats * (half / room) ** 2)
    many = f"about {max(runs, point.repeats + 1)} runs" if math.isfinite(half) and runs <= MOST_RUNS else "more runs"
    return (
        f"The mean at {result.parameter} = {point.value:g} meets the target, the worse end of its interval does not: "
        f"{many} instead of {point.repeats} may settle it (repeats)."
    )


def _further(result: Calibration) -> list[str]:
    """Say where to look for better values of the parameter, by the shape of the curve."""
    place = result.points.index(result.best)
    name, last = result.parameter, len(result.points) - 1
    if last == 0:
        return [f"Only one value was tried: try a grid of {name}."]
    if 0 < place < last:
        around = f"{result.points[place - 1].value:g} and {result.points[place + 1].value:g}"
        return [f"The best value lies inside what was tried: look between {around}; further out it gets worse."]
    before = result.points[1 if place == 0 else last - 1]
    side = "Smaller" if place == 0 else "Larger"
    gained, missing = abs(result.best.mean - before.mean), abs(result.best.mean - result.bound)
    if gained < FLAT * missing:
        steps = f"from {before.value:g} to {result.best.value:g} gained {gained:.2g}, and {missing:.2g} is missing"
        return [f"{side} values of {name} alone will hardly do: the step {steps}."]
    return [f"{side} values of {name} were not tried, and the curve still improves.", *_followed(result, before)]


def _followed(result: Calibration, before: Point) -> list[str]:
    """Follow the slope of the last two values to the target, where that is not far."""
    best, worse = result.best, _worse(result, result.best)
    if result.comparison != "<=" or min(best.value, before.value, best.mean, before.mean, result.bound) <= 0:
        return []
    slope = math.log(best.mean / before.mean) / math.log(best.value / before.value)
    if abs(slope) < STEEPEST or not math.isfinite(worse):
        return []
    factor = (result.bound / worse) ** (1 / slope)
    if not 1 / FURTHEST <= factor <= FURTHEST:
        return []
    value = _outward(best.value * factor, "<=" if factor > 1 else ">=")
    said = [
        f"By the slope of the last two values, about {result.parameter} = {value:g} would do: a guess, to be tried."
    ]
    if result.parameter == "epsilon":
        said += [f"{capitalize_first(text)}." for text in warnings(to_fraction(str(value)), Fraction(0))]
    return said


def _sign(result: Calibration) -> int:
    return 1 if result.comparison == "<=" else -1


def _worse(result: Calibration, point: Point) -> float:
    return point.high if result.comparison == "<=" else point.low


def _outward(number: float, comparison: str) -> float:
    """Return a number with two digits that is met where the number itself is.

    >>> _outward(0.0752, "<="), _outward(0.618, ">=")
    (0.076, 0.61)
    """
    return float((at_most if comparison == "<=" else at_least)(number, 2))
