"""What follows from a forecast: a note, a stop before anything is spent, and the same forecast of what was released.

Where no number of rows is public or said, :func:`refuse_overwhelmed` looks at the number of rows of the table itself,
as the other checks of a table look at its values: before the spend, for the custodian's eyes, and nothing of it is
written anywhere. Its message tells from how many rows on a release is of use, not how many there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.errors import OverwhelmedError
from sfumato.release.forecast import Forecast
from sfumato.release.plan import Plan

if TYPE_CHECKING:
    from sfumato.release.release import Release
    from sfumato.table import Table

NOTE = "the noise is comparable to the rows: single columns are blurred, and relations lost"


def noted(made: Plan) -> Plan:
    """Return a plan that says so where it is public that noise will drown the rows; it is a note, and stops nobody."""
    if not made.expects_rows or made.forecast is None or not made.forecast.overwhelmed:
        return made
    return made.model_copy(update={"notes": (*made.notes, NOTE)})


def refuse_overwhelmed(made: Plan, table: Table) -> None:
    """Stop where noise will drown the rows, by the number that is public or was said, or else by the table's own."""
    forecast = made.forecast
    if forecast is None:
        return
    table.require_valid()  # whatever does not fit is told first
    judged = forecast if made.expects_rows else made.forecast_for(table.count_rows())
    if judged is not None and judged.overwhelmed:
        raise OverwhelmedError(
            f"the noise of this release is comparable to the rows of table {made.table!r}: single columns would be "
            "blurred, and relations lost. No release was made or charged",
            forecast.sentences(),
            "do what would help, or wait for more rows; to take it all the same, say --anyway (anyway=True)",
        )


def released_forecast(made: Release) -> Forecast | None:
    """Return the forecast of a release, with the number of rows that it tells itself."""
    rows = public_rows(made.schema.rows, made.statistics, made.plan.rows, _made_rows(made))
    return made.plan.forecast_for(rows)


def public_rows(stated: int | None, statistics: Any, asked: int | None, made: int | None) -> int | None:
    """Return about how many private rows there are as far as a release tells: stated, noisy, or as many as it made.

    >>> public_rows(None, {"noisy_total": 998.6}, 5000, 5000), public_rows(None, {}, None, 1010)
    (999, 1010)
    """
    if stated is not None:
        return stated
    if "noisy_total" in statistics:
        return max(round(statistics["noisy_total"]), 1)
    return made if asked is None else None


def _made_rows(made: Release) -> int | None:
    return next(iter(made.tables.values())).num_rows if made.method.makes == "rows" else None
