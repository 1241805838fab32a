"""The forecast of a plan: expected errors, what will drown, what would help, and a verdict."""

from __future__ import annotations

from sfumato.forecast.advice import advice_of
from sfumato.forecast.facts import Facts, facts_of
from sfumato.forecast.theory import Errors, expected_errors, over_ordered
from sfumato.forecast.verdict import DROWNED, is_overwhelmed, rows_needed, verdict_of, verdict_without_rows
from sfumato.release.forecast import ColumnForecast, Forecast
from sfumato.release.method import Method
from sfumato.release.plan import Plan
from sfumato.schema import Schema

MEASURES = (
    "tvd_1",
    "tvd_2",
    "share_error",
    "mean_error",
    "mean_error_range",
    "median_error_range",
    "smallest_relation",
)


def forecast_of(plan: Plan, schema: Schema, method: Method, rows: int | None) -> Forecast | None:
    """Return what a planned release will be good for; None for methods that no forecast is known of.

    ``rows`` is a public or guessed number of rows of the private table, None where nobody said one.
    """
    facts = facts_of(plan, schema, method)
    if facts is None:
        return None
    if rows is None:
        return _without_rows(plan.method, facts)
    errors = expected_errors(facts, max(rows, 1))
    return Forecast(
        method=plan.method,
        rows=rows,
        tvd_1=errors.tvd_1,
        tvd_2=errors.tvd_2,
        share_error=float(errors.share.mean()),
        mean_error=errors.mean_error,
        mean_error_range=over_ordered(errors.mean_range),
        median_error_range=over_ordered(errors.median_range),
        smallest_relation=errors.smallest_relation,
        columns=_columns(facts, errors),
        rows_needed=rows_needed(facts),
        advice=advice_of(facts, max(rows, 1), plan),
        verdict=verdict_of(facts, max(rows, 1), errors),
        overwhelmed=is_overwhelmed(facts, max(rows, 1), errors),
    )


def _without_rows(method: str, facts: Facts) -> Forecast:
    """Return what can be said where nobody said how many rows there are: how many are needed."""
    needed = rows_needed(facts)
    unknown = dict.fromkeys(MEASURES)
    verdict = verdict_without_rows(needed)
    return Forecast(
        method, None, **unknown, columns=(), rows_needed=needed, advice=(), verdict=verdict, overwhelmed=False
    )


def _columns(facts: Facts, errors: Errors) -> tuple[ColumnForecast, ...]:
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
