"""Rows of measures beside their yardsticks, each with a small interval plot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from sfumato.evaluate.compare.result import Comparison, MetricWithYardstick
from sfumato.formatting import format_number, percent_fixed
from sfumato.metrics.catalogue import METRICS
from sfumato.report.charts.interval_plots import interval_plot

NEAR, FAR = 2.0, 5.0
"""Up to so many times the distance of a second real sample is called near; above the second, far."""
FAR_FROM_NONE = 0.1
"""A distance that is far where a second real sample has none."""
CHANCE = {"detection_auc": 0.75}
"""Measures whose best value is not 0, so that ratios say nothing: from here on, far."""
MOST_KEPT = 0.75
"""Of what a second real sample reaches: below it, far."""


class MeasureRow(NamedTuple):
    """One measure beside its yardstick."""

    name: str
    title: str
    words: str
    value: str
    interval: str
    yardstick: str
    yardstick_interval: str
    standing: str
    nearness: str
    chart: Markup


def measure_rows(comparison: Comparison) -> list[MeasureRow]:
    """Return every measure, in the order of the comparison."""
    return [_measure_row(measure) for measure in comparison.measures.values()]


def _measure_row(measure: MetricWithYardstick) -> MeasureRow:
    synthetic = (measure.low, measure.value, measure.high)
    true = (measure.yardstick_low, measure.yardstick, measure.yardstick_high)
    title = title_of(measure.name)
    words = (
        f"{title}: synthetic {digits(measure.value)}, interval {_span(measure.low, measure.high)}; second real sample "
        f"{digits(measure.yardstick)}, interval {_span(measure.yardstick_low, measure.yardstick_high)}."
    )
    return MeasureRow(
        measure.name,
        title,
        capital(measure.words),
        digits(measure.value),
        _span(measure.low, measure.high),
        digits(measure.yardstick),
        _span(measure.yardstick_low, measure.yardstick_high),
        *_standing(measure),
        interval_plot(synthetic, true, axis_ends((*synthetic, *true), from_zero=not measure.larger_is_better), words),
    )


def _standing(measure: MetricWithYardstick) -> tuple[str, str]:
    """Say how a measure stands beside its yardstick, and the word for its colour."""
    if measure.as_good:
        return "as good as a second real sample", "near"
    if not math.isfinite(measure.value / (measure.yardstick or 1.0)):
        return "could not be measured", "middling"
    if measure.larger_is_better:
        kept = measure.value / measure.yardstick if measure.yardstick > 0 else 0.0
        return (
            f"{percent_fixed(max(kept, 0), 0)} of a second real sample",
            "middling" if kept >= MOST_KEPT else "far",
        )
    if measure.name in CHANCE:
        return "told apart better than a second real sample", "middling" if measure.value < CHANCE[
            measure.name
        ] else "far"
    word, _ = nearness(measure.value, measure.yardstick)
    return _beside(measure.value, measure.yardstick), "far" if word == "far" else "middling"


def _beside(value: float, yardstick: float) -> str:
    return f"{_times(value, yardstick)} a second real sample" if yardstick > 0 else "worse than a second real sample"


def title_of(name: str) -> str:
    """Return the name of a measure for people.

    >>> title_of("tvd_2_q16"), title_of("new_error")
    ('Pairs of columns', 'New error')
    """
    return capital(METRICS[name].label if name in METRICS else name.replace("_", " "))


def capital(words: str) -> str:
    """Return words with a capital letter in front; all others stay as they are."""
    return f"{words[:1].upper()}{words[1:]}"


def axis_ends(values: Sequence[float], from_zero: bool) -> tuple[float, float]:
    """Return the ends of an axis that holds all values."""
    known = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = min(known), max(known)
    if from_zero and low >= 0:
        return 0.0, 1.05 * high or 1.0
    room = 0.08 * (high - low) or 0.05
    return low - room, high + room


def digits(value: float) -> str:
    """Return a measure in three digits, or "none" where nothing could be measured.

    >>> digits(0.04567), digits(1234.5), digits(float("nan"))
    ('0.0457', '1,234', 'none')
    """
    if not math.isfinite(value):
        return "none" if math.isnan(value) else "unbounded"
    return "0" if abs(value) < 5e-7 else format_number(value) if abs(value) >= 1e-4 else f"{value:.2g}"


def _span(low: float, high: float) -> str:
    return f"{digits(low)} to {digits(high)}"


def _times(value: float, yardstick: float) -> str:
    ratio = value / yardstick
    return f"{ratio:,.0f} times" if ratio >= 10 else f"{ratio:.1f} times"


def nearness(tvd: float, yardstick: float) -> tuple[str, str]:
    """Return a word for the style and a sentence: how far beside a second real sample.

    >>> nearness(0.03, 0.02), nearness(0.3, 0.02)
    (('near', '1.5 times a second real sample'), ('far', '15 times a second real sample'))
    """
    if not yardstick > 0:
        word = "near" if tvd < 1e-9 else "far" if tvd > FAR_FROM_NONE else "middling"
        return word, "none in the cells that are counted" if tvd < 1e-9 else "a second real sample: 0"
    if tvd <= 1.05 * yardstick:
        return "near", "as near as a second real sample"
    word = "near" if tvd <= NEAR * yardstick else "far" if tvd > FAR * yardstick else "middling"
    return word, _beside(tvd, yardstick)
