"""Forecast a planned release: expected metrics, rows needed and changes that would help."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

from sfumato.core.forecast import ColumnForecast, Forecast, ForecastAdvice
from sfumato.core.method import Method
from sfumato.core.plan import Plan
from sfumato.evaluate.forecast.noise_facts import NoiseFacts, noise_facts
from sfumato.evaluate.verdict import (
    DROWNED,
    is_drowned_in_noise,
    rows_needed,
    verdict_of_forecast,
    verdict_without_rows,
)
from sfumato.metrics.expected_errors import ExpectedMetrics, expected_metrics, over_ordered
from sfumato.privacy.exact import format_fraction, to_fraction
from sfumato.schema import Schema

MOST_EPSILON = 10.0

"""No larger epsilon is advised: it would promise too little."""

WORTH = 0.9

"""An error must fall to this share of it at least, or the advice is not given."""

KEPT_PART, MORE_ROWS, MORE_EPSILON = 3, 4, 2

"""Advice asks what a third of the columns, four times the rows, twice the epsilon would bring."""

MEASURES: dict[str, Callable[[ExpectedMetrics], float | None]] = {
    "tvd_2_q16": lambda errors: errors.tvd_2_q16,
    "tvd_1_q16": lambda errors: errors.tvd_1_q16,
    "smallest_relation": lambda errors: errors.smallest_relation,
    "mean_error_sd": lambda errors: errors.mean_error_sd,
}

"""What an advice is measured by: the first that falls by enough."""


def improvements(facts: NoiseFacts, rows: float, plan: Plan) -> tuple[ForecastAdvice, ...]:
    """Return what would lower the errors, the largest gain first."""
    now = expected_metrics(facts, rows)
    changes = (*_fewer_columns(facts, now), *_larger_epsilon(facts, plan), *_narrower_bounds(facts))
    tried = [(words, expected_metrics(changed, rows)) for words, changed in changes]
    tried.append((f"{MORE_ROWS} times as many rows", expected_metrics(facts, MORE_ROWS * rows)))
    gains = (_gain(words, now, then) for words, then in tried)
    return tuple(sorted((each for each in gains if each is not None), key=lambda each: each.then / each.now))


def _gain(words: str, now: ExpectedMetrics, then: ExpectedMetrics) -> ForecastAdvice | None:
    """Return the advice with the first measure that it lowers by enough; None where it lowers none."""
    for name, measure in MEASURES.items():
        before, after = measure(now), measure(then)
        if before is not None and after is not None and after <= WORTH * before:
            return ForecastAdvice(words, name, before, after)
    return None


def _fewer_columns(facts: NoiseFacts, now: ExpectedMetrics) -> Iterator[tuple[str, NoiseFacts]]:
    columns, drowned = len(facts.columns), int((now.tvd >= DROWNED).sum())
    if facts.plain or columns <= KEPT_PART:
        return
    kept = math.ceil(columns / KEPT_PART)
    yield f"the {kept} columns that matter most, instead of {columns}", facts.keeping(kept)
    if 0 < drowned < columns - kept:
        left = columns - drowned
        yield f"leave out the {drowned} column{'s' if drowned > 1 else ''} that will drown", facts.keeping(left)


def _larger_epsilon(facts: NoiseFacts, plan: Plan) -> Iterator[tuple[str, NoiseFacts]]:
    epsilon, delta = to_fraction(plan.epsilon or 0), float(to_fraction(plan.delta))
    if 0 < MORE_EPSILON * epsilon <= MOST_EPSILON:
        larger = MORE_EPSILON * epsilon
        ratio = noise_strength(float(epsilon), delta) / noise_strength(float(larger), delta)
        yield f"epsilon {format_fraction(larger)} instead of {format_fraction(epsilon)}", facts.quieter(ratio)


def noise_strength(epsilon: float, delta: float) -> float:
    """Return what noise is inversely proportional to: epsilon where delta is 0, else the root of rho.

    rho + 2 sqrt(rho ln(1 / delta)) = epsilon (Bun and Steinke 2016) is not what the accountants use, which is tighter;
    ratios of two epsilons are within a few percent of theirs, and take no time.

    >>> (
    ...     noise_strength(2.0, 0.0) / noise_strength(1.0, 0.0),
    ...     round(noise_strength(2.0, 1e-9) / noise_strength(1.0, 1e-9), 2),
    ... )
    (2.0, 1.98)
    """
    if not delta:
        return epsilon
    logarithm = -math.log(delta)
    return math.sqrt(logarithm + epsilon) - math.sqrt(logarithm)


def _narrower_bounds(facts: NoiseFacts) -> Iterator[tuple[str, NoiseFacts]]:
    if not facts.plain and any(column.ordered for column in facts.columns):
        yield "public bounds half as wide, where they are generous", replace(facts, width=facts.width / 2)


FORECAST_MEASURES = (
    "tvd_1_q16",
    "tvd_2_q16",
    "share_error",
    "mean_error_sd",
    "mean_error_range",
    "median_error_range",
    "smallest_relation",
)


def forecast(plan: Plan, schema: Schema, method: Method, rows: int | None) -> Forecast | None:
    """Return what a planned release will be good for; None for methods that no forecast is known of.

    ``rows`` is a public or guessed number of rows of the private table, None where nobody said one.
    """
    facts = noise_facts(plan, schema, method)
    if facts is None:
        return None
    if rows is None:
        return _forecast_without_rows(plan.method, facts)
    errors = expected_metrics(facts, max(rows, 1))
    return Forecast(
        method=plan.method,
        rows=rows,
        tvd_1_q16=errors.tvd_1_q16,
        tvd_2_q16=errors.tvd_2_q16,
        share_error=float(errors.share.mean()),
        mean_error_sd=errors.mean_error_sd,
        mean_error_range=over_ordered(errors.mean_range),
        median_error_range=over_ordered(errors.median_range),
        smallest_relation=errors.smallest_relation,
        columns=_columns(facts, errors),
        rows_needed=rows_needed(facts),
        advice=improvements(facts, max(rows, 1), plan),
        verdict=verdict_of_forecast(facts, max(rows, 1), errors),
        overwhelmed=is_drowned_in_noise(facts, max(rows, 1), errors),
    )


def _forecast_without_rows(method: str, facts: NoiseFacts) -> Forecast:
    """Return what can be said where nobody said how many rows there are: how many are needed."""
    needed = rows_needed(facts)
    unknown = dict.fromkeys(FORECAST_MEASURES)
    verdict = verdict_without_rows(needed)
    return Forecast(
        method, None, **unknown, columns=(), rows_needed=needed, advice=(), verdict=verdict, overwhelmed=False
    )


def _columns(facts: NoiseFacts, errors: ExpectedMetrics) -> tuple[ColumnForecast, ...]:
    return tuple(
        ColumnForecast(
            column.name,
            float(errors.share[place]),
            float(errors.tvd[place]),
            *(float(error[place]) for error in (errors.mean, errors.mean_range, errors.median_range) if column.ordered),
            drowned=bool(errors.tvd[place] >= DROWNED),
        )
        for place, column in enumerate(facts.columns)
    )
