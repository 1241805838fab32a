"""Which method is taken when none is named, and the sentence that says why: from the schema and the settings alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.errors import PlanError
from sfumato.schema import Schema

ALL = "all"


@dataclass(frozen=True)
class Choice:
    """A method by name, the sentence that says why it was taken, and its parameters as it wants them."""

    method: str
    reason: str
    settings: Mapping[str, Any]


def choose_method(schema: Schema, settings: Mapping[str, Any]) -> Choice:
    """Return the method for a table: AIM where rows of two or more columns can be made, else counts.

    ``settings`` are the parameters that were given without a method; what they name decides with the schema.
    """
    if "column" in settings:
        return _taken("histogram", "one column was named", settings)
    named = settings.get("columns", ALL)
    if _are_sets(named):
        why = "several sets of columns were named, and noisy counts can be released for each of them"
        return _taken("contingency", why, settings)
    others = {key: value for key, value in settings.items() if key != "columns"}
    columns = schema.releasable if named == ALL else _listed(named)
    if len(columns) == 1:
        why = f"{columns[0]!r} is the only column to release, and synthetic rows need at least two"
        return _taken("histogram", why, {"column": columns[0], **others})
    if named == ALL:
        return _taken("aim", _all_columns(schema), others)
    why = "it makes synthetic rows of the columns that were named; contingency would release noisy counts of them"
    return _taken("aim", why, settings)


def _all_columns(schema: Schema) -> str:
    columns = [schema[name] for name in schema.releasable]
    if not columns:
        raise PlanError(
            f"table {schema.name!r} has no column that may be released: all of them identify people",
            next_step="add columns to the schema, or give roles other than identifier",
        )
    return (
        f"table {schema.name!r} has {len(columns)} columns to release, and aim makes synthetic rows of columns of any "
        "kinds, at one cost for all of them"
    )


def _taken(method: str, why: str, settings: Mapping[str, Any]) -> Choice:
    return Choice(method, f"no method was named, so {method} was taken: {why}", settings)


def _are_sets(named: Any) -> bool:
    return isinstance(named, list | tuple) and any(not isinstance(item, str) for item in named)  # pyright: ignore[reportUnknownVariableType]


def _listed(named: Any) -> Sequence[str]:
    return [named] if isinstance(named, str) else list(named)
