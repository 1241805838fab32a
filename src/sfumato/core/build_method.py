"""Build a method from name=value settings, or choose the default one for a schema."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sfumato.core.method import WRONG_SETTINGS, Method, method_class
from sfumato.core.plan import Plan
from sfumato.core.registry import AS_PUBLISHED, PUBLISHED_FORMS
from sfumato.core.release import Release
from sfumato.errors import PlanError
from sfumato.schema import Schema

ALL = "all"


@dataclass(frozen=True)
class MethodChoice:
    """A method by name, the sentence that says why it was taken, and its parameters as it wants them."""

    method: str
    reason: str
    settings: Mapping[str, Any]


def default_method(schema: Schema, settings: Mapping[str, Any]) -> MethodChoice:
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


def _taken(method: str, why: str, settings: Mapping[str, Any]) -> MethodChoice:
    return MethodChoice(method, f"no method was named, so {method} was taken: {why}", settings)


def _are_sets(named: Any) -> bool:
    return isinstance(named, list | tuple) and any(not isinstance(item, str) for item in named)  # pyright: ignore[reportUnknownVariableType]


def _listed(named: Any) -> Sequence[str]:
    return [named] if isinstance(named, str) else list(named)


NUMBERS = ("epsilon", "delta")
LISTS = ("columns", "pairs", "shares", "predictors", "positions", "inputs", "default")
ONE_OR_LISTS = ("brackets", "column", "target", "ranges", "workload")
"""Parameters that are a list only where commas say so."""
SETS = ("pairs", "workload")
"""Parameters that are a list of column sets; one set may be written alone."""


def registered_name(method: str | None, as_published: bool) -> str | None:
    """Return the name under which a method is registered: with ``--as-published``, that of what its paper printed."""
    if not as_published:
        return method
    printed = [name.removesuffix(AS_PUBLISHED) for name in PUBLISHED_FORMS]
    next_step = f"use --as-published with one of: {', '.join(printed) or 'none, at present'}; otherwise leave it out"
    if method is None:
        raise PlanError("--as-published was given without a method", next_step=next_step)
    method_class(method)  # refuses what is no method at all
    if method not in printed:
        raise PlanError(f"{method} has no form as published: it is itself what is released", next_step=next_step)
    return method + AS_PUBLISHED


def build_method(name: str, settings: Sequence[str], epsilon: str | None, delta: str | None) -> Method:
    """Return the method that the command line describes; all wrong settings are reported at once."""
    return _build(name, parse_settings(settings), epsilon, delta)


def method_from_settings(
    method: str | None,
    schema: Schema,
    settings: Sequence[str],
    epsilon: str | None,
    delta: str | None,
    as_published: bool = False,
) -> tuple[Method, str | None]:
    """Return the method that was named, or the one to take where none was, with the sentence that says why."""
    name = registered_name(method, as_published)
    if name is not None:
        return build_method(name, settings, epsilon, delta), None
    choice = default_method(schema, parse_settings(settings))
    try:
        return _build(choice.method, choice.settings, epsilon, delta), choice.reason
    except PlanError as error:
        step = f"{error.next_step}; {choice.method} was taken because no --method was given"
        raise PlanError(error.headline, error.problems, step) from error


def _build(name: str, settings: Mapping[str, Any], epsilon: str | None, delta: str | None) -> Method:
    cls = method_class(name)
    fields = {f.name: f for f in dataclasses.fields(cls)}  # pyright: ignore[reportArgumentType]
    budget = {key: value for key, value in (("epsilon", epsilon), ("delta", delta)) if value is not None}
    values = {**settings, **budget}
    problems = [f"{name} has no parameter {key!r}; it has {', '.join(fields)}" for key in values if key not in fields]
    problems += [
        f"{name} needs {key}: {_how_to_give(key)}"
        for key, parameter in fields.items()
        if parameter.default is dataclasses.MISSING and key not in values
    ]
    if problems:
        raise PlanError(f"cannot build the method {name!r}", problems, f"see 'sfumato methods {name}'")
    try:
        return cls(**{key: _shape(fields[key], value) for key, value in values.items()})
    except WRONG_SETTINGS as error:
        given_words = ", ".join(f"{key}={value!r}" for key, value in values.items())
        raise PlanError(
            f"cannot build the method {name!r} from {given_words}",
            [f"{type(error).__name__}: {error}"],
            f"compare the settings with 'sfumato methods {name}'",
        ) from error


def _how_to_give(key: str) -> str:
    if key == "epsilon":
        return "add --epsilon 1 (the most that this release may cost; less is more private, and there is no default)"
    return f"add --{key} 1e-6" if key in NUMBERS else f"add --set {key}=..."


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """Read ``name=value`` pairs; a name given several times collects a list.

    >>> parse_settings(["columns=age,sex", "columns=age"])
    {'columns': [['age', 'sex'], ['age']]}
    """
    collected: dict[str, list[Any]] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise PlanError(f"--set {setting!r} is not of the form name=value", next_step="write --set columns=age,sex")
        collected.setdefault(key.strip(), []).append(_read_value(key.strip(), value.strip()))
    return {key: values[0] if len(values) == 1 else values for key, values in collected.items()}


def _read_value(key: str, value: str) -> Any:
    if value[:1] in "[{" and value:
        try:
            return json.loads(value)
        except (ValueError, RecursionError) as error:
            raise PlanError(
                f"--set {key}: {value!r} is not valid JSON", next_step='write [["age"], ["age", "sex"]]'
            ) from error
    if (key in LISTS and value not in ("all", "none")) or (key in ONE_OR_LISTS and "," in value):
        return [part.strip() for part in value.split(",")]
    return {"true": True, "false": False}.get(value.lower(), value)


def _shape(parameter: Any, value: Any) -> Any:
    """Give a value the shape that the parameter wants: whole numbers as such, one flat set as a list of sets."""
    if parameter.name in SETS and isinstance(value, list | dict):
        return _as_sets(cast("list[Any] | dict[str, Any]", value))
    if isinstance(value, str) and str(parameter.type) == "bool":
        headline = f"{parameter.name} must be true or false, found {value!r}"
        raise PlanError(headline, next_step=f"write --set {parameter.name}=true")
    if isinstance(value, str) and str(parameter.type).startswith("int"):
        try:
            return int(value)
        except ValueError as error:
            headline = f"{parameter.name} must be a whole number, found {value!r}"
            raise PlanError(headline, next_step=f"write --set {parameter.name}=5") from error
    return value


def _as_sets(value: list[Any] | dict[str, Any]) -> list[Any]:
    """Return a list of column sets, from one flat set, from sets of which some are single names, or with weights.

    >>> _as_sets({"age, sex": 2, "income": 1})
    [[['age', 'sex'], 2], [['income'], 1]]
    """
    if isinstance(value, dict):  # JSON has no lists as keys
        return [[[part.strip() for part in key.split(",")], weight] for key, weight in value.items()]
    if all(isinstance(item, str) for item in value):
        return [value]
    return [[item] if isinstance(item, str) else item for item in value]


def with_reason(plan: Plan, reason: str | None) -> Plan:
    """Return the plan with the sentence that says why its method was taken, where nobody named one."""
    return plan if reason is None else plan.model_copy(update={"notes": (reason, *plan.notes)})


def release_with_reason(release: Release, reason: str | None) -> Release:
    """Return the release with the sentence that says why its method was taken, where nobody named one."""
    if reason is None:
        return release
    return dataclasses.replace(release, plan=with_reason(release.plan, reason), notes=(reason, *release.notes))
