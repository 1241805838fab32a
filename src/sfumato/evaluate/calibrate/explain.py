"""Explain a calibration in plain words, with advice for targets that no value meets.

Everything follows from the curve that was computed; nothing is computed again.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

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


def explain_value(found: Calibration) -> tuple[str, ...]:
    """Say what the target asks for, and what the choice or the best value gives, in a person's terms."""
    known = CATALOGUE.get(found.metric)
    if known is None or not known.plain:
        return ()
    reached = found.best if found.chosen is None else found.point(found.chosen)
    where, at = f"at {found.parameter} = {reached.value:g}", None if found.proved is None else found.proved.at
    how = "Found" if found.proved is None else "Proved"
    mean = reached.mean if found.proved is None else _outward(reached.mean, "<=")  # a ceiling is never rounded down
    return (
        f"Asked for, {found.target}: {known.in_plain_words(found.bound, at)}",
        f"{how} {where}, {found.metric} {mean:.3g}: {known.in_plain_words(mean, at)}",
    )


def _advice_of(name: str) -> tuple[str, ...]:
    return CATALOGUE[name].advice if name in CATALOGUE else ()


def explain_ceiling(found: Calibration, proved: ProvedCeiling) -> str:
    """Say the largest value by the proved curve, and what the stated pair alone would have allowed."""
    name, which = found.parameter, "" if proved.any_table else f" for table {found.table!r}"
    if found.chosen is None:
        best = found.best
        return (
            f"{found.target} is not kept by any {name} from {best.value:g} up{which}: the curve of {found.method} "
            f"proves {at_most(best.mean, 3)} there."
        )
    delta = f" at delta {at_most(proved.delta, 3)}" if to_fraction(proved.delta) and name != "delta" else ""
    most = "the largest" if found.search == "bisection" else "the largest of the grid"
    return (
        f"{name} = {found.chosen:g}{delta} is {most} at which the proved curve of {found.method} keeps {found.target}"
        f"{which}: it proves {at_most(found.point(found.chosen).mean, 3)}. {_of_pair(found, proved)}"
    ).rstrip()


def _of_pair(found: Calibration, proved: ProvedCeiling) -> str:
    name = found.parameter
    if name != "epsilon":
        return ""
    if proved.by_pair is None:
        return "The stated pair alone would have allowed no epsilon worth its name."
    if proved.by_pair == found.chosen:
        return "The stated pair alone allows as much."
    return f"The stated pair alone would have allowed {name} = {proved.by_pair:g}."


def advice(found: Calibration) -> tuple[str, ...]:
    """Say what is reachable and what to try when no value meets the target; nothing where one does."""
    if found.chosen is not None:
        return ()
    lines = (_reachable(found), _more_runs(found), *_further(found), *_advice_of(found.metric))
    return tuple(line for line in lines if line)


def _reachable(found: Calibration) -> str:
    """Name the nearest target that a tried value would meet; of a ladder only noisy scores are known."""
    if found.charge is not None:
        return "Nothing is kept. What was run is paid for and may be published; another ladder costs again."
    best = min(found.points, key=lambda point: _sign(found) * _worse(found, point))
    bound = _outward(_worse(found, best), found.comparison)
    return f"Reachable here: {found.metric} {found.comparison} {bound:g}, by {found.parameter} = {best.value:g}."


def _more_runs(found: Calibration) -> str:
    """Say when the mean meets the target and only its interval does not."""
    point = found.best
    room = _sign(found) * (found.bound - point.mean)
    if found.charge is not None or point.exact or room <= 0:
        return ""
    half = abs(_worse(found, point) - point.mean)
    runs = math.ceil(point.repeats * (half / room) ** 2)
    many = f"about {max(runs, point.repeats + 1)} runs" if math.isfinite(half) and runs <= MOST_RUNS else "more runs"
    return (
        f"The mean at {found.parameter} = {point.value:g} meets the target, the worse end of its interval does not: "
        f"{many} instead of {point.repeats} may settle it (repeats)."
    )


def _further(found: Calibration) -> list[str]:
    """Say where to look for better values of the parameter, by the shape of the curve."""
    place = found.points.index(found.best)
    name, last = found.parameter, len(found.points) - 1
    if last == 0:
        return [f"Only one value was tried: try a grid of {name}."]
    if 0 < place < last:
        around = f"{found.points[place - 1].value:g} and {found.points[place + 1].value:g}"
        return [f"The best value lies inside what was tried: look between {around}; further out it gets worse."]
    before = found.points[1 if place == 0 else last - 1]
    side = "Smaller" if place == 0 else "Larger"
    gained, missing = abs(found.best.mean - before.mean), abs(found.best.mean - found.bound)
    if gained < FLAT * missing:
        steps = f"from {before.value:g} to {found.best.value:g} gained {gained:.2g}, and {missing:.2g} is missing"
        return [f"{side} values of {name} alone will hardly do: the step {steps}."]
    return [f"{side} values of {name} were not tried, and the curve still improves.", *_followed(found, before)]


def _followed(found: Calibration, before: Point) -> list[str]:
    """Follow the slope of the last two values to the target, where that is not far."""
    best, worse = found.best, _worse(found, found.best)
    if found.comparison != "<=" or min(best.value, before.value, best.mean, before.mean, found.bound) <= 0:
        return []
    slope = math.log(best.mean / before.mean) / math.log(best.value / before.value)
    if abs(slope) < STEEPEST or not math.isfinite(worse):
        return []
    factor = (found.bound / worse) ** (1 / slope)
    if not 1 / FURTHEST <= factor <= FURTHEST:
        return []
    value = _outward(best.value * factor, "<=" if factor > 1 else ">=")
    said = [f"By the slope of the last two values, about {found.parameter} = {value:g} would do: a guess, to be tried."]
    if found.parameter == "epsilon":
        said += [f"{text[:1].upper()}{text[1:]}." for text in warnings(to_fraction(str(value)), Fraction(0))]
    return said


def _sign(found: Calibration) -> int:
    return 1 if found.comparison == "<=" else -1


def _worse(found: Calibration, point: Point) -> float:
    return point.high if found.comparison == "<=" else point.low


def _outward(number: float, comparison: str) -> float:
    """Return a number with two digits that is met where the number itself is.

    >>> _outward(0.0752, "<="), _outward(0.618, ">=")
    (0.076, 0.61)
    """
    return float((at_most if comparison == "<=" else at_least)(number, 2))
