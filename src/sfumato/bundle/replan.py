"""Plan a released method again from its public document, with the forecast for that plan.

It follows from release.json and the schema alone, so that whoever verifies a bundle gets the same. Nothing was compared
with the private table for it.
"""

from __future__ import annotations

from typing import Any

from sfumato.bundle.document import ReleaseDocument
from sfumato.core.forecast import Forecast
from sfumato.core.forecast_checks import public_row_count
from sfumato.core.method import method_class, registered_home
from sfumato.core.plan import Plan
from sfumato.core.release import WRONG_SETTINGS
from sfumato.errors import SfumatoError
from sfumato.schema import Schema


def replanned_forecast(document: ReleaseDocument, schema: Schema) -> Forecast | None:
    """Return what to expect of a release; None where no forecast is known of its method."""
    try:
        return _forecast(document, schema)
    except (SfumatoError, *WRONG_SETTINGS):  # a release that is paid for is not lost over a forecast
        return None


def replan(document: ReleaseDocument, schema: Schema) -> tuple[Any, Plan]:
    """Return the method of a document and its plan, made anew from public facts."""
    method: Any = method_class(document.method.name)(**document.method.parameters)
    return method, method.plan(schema, document.method.rows, document.randomness.mode)


def _forecast(document: ReleaseDocument, schema: Schema) -> Forecast | None:
    said = document.method
    if not said.formal or registered_home(said.name) != f"{said.module}:{said.class_name}":
        return None  # nobody knows what a method of somebody's own will do
    made = document.tables[0].rows if said.makes == "rows" else None
    rows = public_row_count(schema.rows, document.statistics, said.rows, made)
    method, plan = replan(document, schema)
    return plan.foreseen_by(schema, method, rows).forecast
