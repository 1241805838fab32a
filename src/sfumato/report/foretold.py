"""The forecast of what was released, at the number of rows that the release tells itself.

It follows from release.json and the schema alone, so that whoever verifies a bundle gets the same. Nothing was compared
with the private table for it.
"""

from __future__ import annotations

from typing import Any

from sfumato.errors import SfumatoError
from sfumato.release.forecast import Forecast
from sfumato.release.foreseen import public_rows
from sfumato.release.method import home_of, method_class
from sfumato.release.plan import Plan
from sfumato.release.release import WRONG_SETTINGS
from sfumato.report.document import ReleaseDocument
from sfumato.schema import Schema


def foretold(document: ReleaseDocument, schema: Schema) -> Forecast | None:
    """Return what to expect of a release; None where no forecast is known of its method."""
    try:
        return _forecast(document, schema)
    except (SfumatoError, *WRONG_SETTINGS):  # a release that is paid for is not lost over a forecast
        return None


def planned_again(document: ReleaseDocument, schema: Schema) -> tuple[Any, Plan]:
    """Return the method of a document and its plan, made anew from public facts."""
    method: Any = method_class(document.method.name)(**document.method.parameters)
    return method, method.plan(schema, document.method.rows, document.randomness.mode)


def _forecast(document: ReleaseDocument, schema: Schema) -> Forecast | None:
    said = document.method
    if not said.formal or home_of(said.name) != f"{said.module}:{said.class_name}":
        return None  # nobody knows what a method of somebody's own will do
    made = document.tables[0].rows if said.makes == "rows" else None
    rows = public_rows(schema.rows, document.statistics, said.rows, made)
    method, plan = planned_again(document, schema)
    return plan.foreseen_by(schema, method, rows).forecast
