"""Note or stop a release in which noise will dominate the rows.

Whether there is a bundle is seen by its readers. So the stop goes by a number of rows that is public, guessed or
bought, never by the true one; where nobody gave a number, the release goes on and the plan's own sentence says from how
many rows on it is of use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.core.forecast import Forecast
from sfumato.core.plan import Plan
from sfumato.errors import OverwhelmedError

if TYPE_CHECKING:
    from sfumato.core.release import Release

NOTE = "the noise is comparable to the rows: single columns are blurred, and relations lost"


def with_noise_note(plan: Plan) -> Plan:
    """Return a plan that says so where it is public that noise will drown the rows; it is a note, and stops nobody."""
    if not plan.expects_rows or plan.forecast is None or not plan.forecast.overwhelmed:
        return plan
    return plan.model_copy(update={"notes": (*plan.notes, NOTE)})


def refuse_if_noise_dominates(plan: Plan, rows: int | None = None) -> None:
    """Stop where noise will drown so many rows: those of the plan, which are public or guessed, unless given here."""
    judged = plan.forecast if rows is None else plan.forecast_for(rows)
    if judged is not None and judged.overwhelmed and (rows is not None or plan.expects_rows):
        raise OverwhelmedError(
            f"the noise of this release is comparable to the rows of table {plan.table!r}: single columns would be "
            "blurred, and relations lost. No release was made or charged",
            (plan.forecast or judged).sentences(),
            "do what would help, or wait for more rows; to take it all the same, say --anyway (anyway=True)",
        )


def unjudged(plan: Plan) -> bool:
    """Whether nobody gave a number of rows, by which a release that noise would drown could be refused."""
    return plan.forecast is not None and not plan.expects_rows


def forecast_of_release(release: Release) -> Forecast | None:
    """Return the forecast of a release, with the number of rows that it tells itself."""
    rows = public_row_count(release.schema.rows, release.statistics, release.plan.rows, _synthetic_rows(release))
    return release.plan.forecast_for(rows)


def public_row_count(stated: int | None, statistics: Any, asked: int | None, synthetic: int | None) -> int | None:
    """Return about how many private rows there are as far as a release tells: stated, noisy, or as many as it made.

    >>> public_row_count(None, {"noisy_total": 998.6}, 5000, 5000), public_row_count(None, {}, None, 1010)
    (999, 1010)
    """
    if stated is not None:
        return stated
    if "noisy_total" in statistics:
        return max(round(statistics["noisy_total"]), 1)
    return synthetic if asked is None else None


def _synthetic_rows(release: Release) -> int | None:
    return next(iter(release.tables.values())).num_rows if release.method.makes == "rows" else None
