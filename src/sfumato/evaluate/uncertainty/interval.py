"""Intervals from reruns of a mechanism, widened to their measured coverage.

With m and s the mean and the standard deviation of T(rerun) - T(released), the expected error is sqrt(m^2 + s^2), and
the interval T +- c t sqrt(m^2 + s^2) with the quantile t of Student's law and a factor c that was measured. Deviations
of spreads are reckoned on the logarithm and those of correlations by Fisher's z, where they are alike on both sides.

**Attenuation.** What a release takes from a relation is put back into the interval of a correlation.
Reruns start from rows in which a relation is weakened already, so they cannot see what was lost. The forecast knows it
from public facts: of a correlation c about c / (1 + (s / c)^2) is left, where s is the smallest relation that is seen
(:mod:`sfumato.metrics.expected_errors`). So the end of an interval that lies further from 0 is moved to the
correlation of
which that would be left; the nearer end stays, and an interval that holds 0 is moved at both ends. Where no relation is
seen at all (s = 1) any correlation may lie behind, and the interval says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.evaluate.uncertainty.result import Estimate
from sfumato.formatting import percent_fixed
from sfumato.metrics.confidence import student_quantile
from sfumato.metrics.expected_errors import NO_RELATION_VISIBLE, undo_attenuation

LARGEST_CORRELATION = 1 - 1e-12
LARGEST_LOGARITHM = 700.0


ALONE, RELATED = 1.3, 2.0
"""Factors on the intervals of what is read off one column, and of what rests on a relation of two. Reruns start from
rows in which something is lost already, so they see a part of the error only. The factors bring 95 % intervals to about
95 % on tables that are not those of the reported coverage (docs/performance.md)."""
MEASURED_WIDENING = {"share": 1.0, **dict.fromkeys(("mean", "median", "quantile", "sd", "own"), ALONE)}
"""By sort; every other one rests on a relation. Of a correlation, what was lost is put back where a forecast knows it
(:func:`restored_interval`), and the smaller factor does."""
LEVEL_MEASURED = 0.95
COVERAGE = {"correlation": 0.89, "coefficient": 0.91}
"""Share of 95 % intervals that held the number of the table in the benchmark, where it is below that; of correlations
without what a forecast puts back."""
UNDERCOVERED = ("correlation", "coefficient", "auc")
WEAKENED = (
    "relations between columns come out weaker than they are, by an amount that these intervals do not show: read "
    "such a number ({kinds}) as the least that there is"
)
RESTORED = (
    "the interval of a correlation includes what the release may have taken from it: of a relation of {smallest:.2g} "
    "about half is left, of weaker ones less"
)
NONE_SEEN = "the noise of this release hides every relation: any correlation may lie behind what is seen"
COVERAGE_NOTE = "on tables where we could look, 95 % intervals of a {kind} held the true number in {share} of cases"
OF_YOUR_OWN = (
    "how often intervals of your own statistic hold is not known; where it rests on a relation between columns they "
    "are too narrow"
)


class Transformation(NamedTuple):
    """Where deviations are reckoned, the way back, and the bounds that no interval crosses."""

    there: Callable[[float], float]
    back: Callable[[float], float]
    low: float = -math.inf
    high: float = math.inf


def _same(x: float) -> float:
    return x


def _exp(x: float) -> float:
    return math.exp(min(x, LARGEST_LOGARITHM))


PLAIN = Transformation(_same, _same)
POSITIVE = Transformation(_same, _same, 0.0)
SCALES = {
    "share": Transformation(_same, _same, 0.0, 1.0),
    "auc": Transformation(_same, _same, 0.0, 1.0),
    "sd": Transformation(math.log, _exp, 0.0),
    "group sd": Transformation(math.log, _exp, 0.0),
    "correlation": Transformation(
        lambda x: math.atanh(min(max(x, -LARGEST_CORRELATION), LARGEST_CORRELATION)), math.tanh, -1.0, 1.0
    ),
}


class RerunInterval(NamedTuple):
    """What reruns tell about one number."""

    error: float
    low: float
    high: float


def rerun_interval(
    kind: str,
    value: float,
    reruns: Sequence[float],
    level: float,
    samples: Sequence[float] = (),
    least: float = 0.0,
    smallest: float | None = None,
) -> RerunInterval:
    """Return the expected error and the interval of one number.

    ``samples`` are its values in redrawn rows; ``least`` is an error that is known beforehand, and below which none is
    taken to lie; ``smallest`` is the smallest relation that the release shows, where a
    forecast knows it: what may be lost of a correlation is then put back.

    >>> rerun_interval("mean", 10.0, [9.0, 11.0, 9.0, 11.0], 0.95).error
    1.1547005383792515
    """
    made = np.array([each for each in reruns if not math.isnan(each)])
    drawn = np.array([each for each in samples if not math.isnan(each)])
    if math.isnan(value) or len(made) < 2:
        return RerunInterval(math.nan, math.nan, math.nan)
    scale = _scale(kind, min(value, *made, *drawn))
    moved = np.array([scale.there(each) for each in made]) - scale.there(value)
    redrawn = np.array([scale.there(each) for each in drawn])
    back = smallest if kind == "correlation" else None
    wide = MEASURED_WIDENING.get(kind, RELATED) if back is None else ALONE
    reach = wide * student_quantile(level, len(made)) * _error(moved, redrawn, least)
    low, high = (scale.back(scale.there(value) + sign * reach) for sign in (-1, 1))
    low, high = max(low, scale.low), min(high, scale.high)
    return RerunInterval(
        _error(made - value, drawn, least), *((low, high) if back is None else restored_interval(low, high, back))
    )


def _scale(kind: str, least: float) -> Transformation:
    """Return where deviations are reckoned; a spread of 0 has no logarithm."""
    if kind in ("sd", "group sd") and least <= 0:
        return POSITIVE
    return SCALES.get(kind, PLAIN)


def within(spread: RerunInterval, low: float, high: float) -> RerunInterval:
    """Return the interval inside public bounds."""
    return RerunInterval(spread.error, min(max(spread.low, low), high), max(min(spread.high, high), low))


def _error(moved: FloatArray, drawn: FloatArray, least: float) -> float:
    chance = float(np.var(drawn, ddof=1)) if len(drawn) > 1 else 0.0
    return math.sqrt(max(float(np.mean(moved)) ** 2 + float(np.var(moved, ddof=1)), least**2) + chance)


def restored_interval(low: float, high: float, smallest: float) -> tuple[float, float]:
    """Return the ends of the interval of a correlation with what may have been lost.

    >>> tuple(round(end, 3) for end in restored_interval(0.1, 0.2, 0.4))
    (0.1, 0.4)
    """
    if smallest >= NO_RELATION_VISIBLE:
        return -1.0, 1.0
    return low if low > 0 else -undo_attenuation(-low, smallest), high if high < 0 else undo_attenuation(high, smallest)


def measured_coverage(kind: str, smallest: float | None) -> float | None:
    """Return how often intervals of this sort held the true number of the table, where that is below nominal."""
    return None if kind == "correlation" and smallest is not None else COVERAGE.get(kind)


def notes_of(estimates: Iterable[Estimate], smallest: float | None) -> list[str]:
    """Return what must be said of intervals that cannot see everything."""
    kinds = dict.fromkeys(each.kind for each in estimates)
    measured = dict.fromkeys((each.kind, each.coverage) for each in estimates if each.coverage is not None)
    held = [COVERAGE_NOTE.format(kind=kind, share=percent_fixed(share, 0)) for kind, share in measured]
    unseen = [kind for kind in kinds if kind in UNDERCOVERED and (kind != "correlation" or smallest is None)]
    weak = [WEAKENED.format(kinds=", ".join(unseen))] if unseen else []
    if "correlation" in kinds and smallest is not None:
        weak.append(NONE_SEEN if smallest >= NO_RELATION_VISIBLE else RESTORED.format(smallest=smallest))
    return [*weak, *held, *([OF_YOUR_OWN] if "own" in kinds else [])]
