"""Ranges as parameters of a method: words, pairs and mappings that can be written down, turned into rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PlanError
from sfumato.methods.pseudo_posterior.published.ranges import Brackets, Radius, Ranges, wider_in_tail
from sfumato.privacy.exact import in_short
from sfumato.release.parameters import name_problems
from sfumato.schema import Schema
from sfumato.schema.column import Column

SHAPES = (
    "write ranges as 'brackets', as a pair (a, b), or as {'radius': [a, b], 'tail': [a, b], 'share': 0.05}, "
    "{'brackets': [edges]} or {'columns': [low factor, high factor]}"
)
KEYS = ({"radius"}, {"radius", "tail", "share"}, {"brackets"}, {"columns"})


def range_problems(settings: Any) -> list[str]:
    """Return what is wrong with the ranges as far as no column need be known."""
    if settings is None or settings == "brackets":
        return []
    wrong = [f"ranges {in_short(settings)} are not understood; {SHAPES}"]
    if isinstance(settings, Mapping):
        keys = set(cast("Mapping[str, Any]", settings))
        if keys not in KEYS:
            return [f"ranges with {', '.join(sorted(map(str, keys)))} are not understood; {SHAPES}"]
        if "columns" in keys:
            named = name_problems(settings["columns"], "columns of ranges")
            return named or ([] if len(_listed(settings["columns"])) == 2 else wrong)
    elif not isinstance(settings, Sequence) or isinstance(settings, str):
        return wrong
    elif len(_listed(settings)) != 2:
        return [f"a range needs two factors, found {len(_listed(settings))}; {SHAPES}"]
    try:
        _rule(settings, 1.0)
    except PlanError as error:
        return [f"{error.headline}: {'; '.join(error.problems)}"]
    except (TypeError, ValueError, OverflowError):
        return wrong
    return []


def refuse_ranges(settings: Any, schema: Schema, target: str) -> None:
    """Refuse ranges that can miss a value which the public facts allow; the rest is asked of the rows."""
    column = schema[target]
    rule = read_ranges(settings, column)
    problems: list[str] = []
    if isinstance(rule, Brackets) and settings != "brackets":
        low, high = (float(b) for b in column.numeric_bounds) if column.is_ordered else (0.0, column.size - 1.0)
        if not (rule.edges[0] <= low and high <= rule.edges[-1]):
            problems.append(f"the brackets miss values from {low:g} to {high:g}, which the schema allows")
    if settings is not None and not isinstance(rule, Brackets) and not column.is_ordered:
        problems.append(f"column {target!r} holds levels, and a range of factors needs numbers")
    problems += [p for i, name in enumerate(range_columns(settings)) for p in _factor_problems(schema[name], i)]
    if problems:
        raise PlanError(f"the ranges do not fit table {schema.name!r}", problems, SHAPES)


def _factor_problems(column: Column, side: int) -> list[str]:
    """Return why a column cannot hold factors by record: the lower ones are at most 1, the upper ones at least 1."""
    if not column.is_ordered or column.missing:
        return [f"column {column.name!r} must hold a number in every row to be a factor of ranges"]
    low, high = column.numeric_bounds
    fits = high <= 1 if side == 0 else low >= 1
    wanted = "at most 1" if side == 0 else "at least 1"
    return [] if fits else [f"the bounds of column {column.name!r} must allow factors of {wanted} only"]


def range_columns(settings: Any) -> tuple[str, ...]:
    """Return the columns that hold factors by record, if there are any."""
    return tuple(settings["columns"]) if isinstance(settings, Mapping) and "columns" in settings else ()


def read_ranges(
    settings: Any, target: Column, values: Mapping[str, NDArray[Any]] | None = None, factor: float = 1.0
) -> Ranges | None:
    """Return the rule; factors by record are read where the values are given. Edges move with the unit."""
    if settings is None:
        return None
    if settings == "brackets":
        return Brackets(_edges(target, factor))
    if not range_columns(settings):
        return _rule(settings, factor)
    if values is None:
        return None
    low, high = settings["columns"]
    return Radius(np.asarray(values[low], float), np.asarray(values[high], float))


def _rule(settings: Any, factor: float) -> Ranges:
    facts: Mapping[str, Any] = settings if isinstance(settings, Mapping) else {"radius": settings}
    if "brackets" in facts:
        return Brackets([float(edge) / factor for edge in facts["brackets"]])
    if "tail" in facts:
        return wider_in_tail(*_pair(facts["radius"]), *_pair(facts["tail"]), float(facts["share"]))
    return Radius(*_pair(facts["radius"]))


def _pair(sides: Sequence[Any]) -> tuple[float, float]:
    low, high = sides
    return float(low), float(high)


def _listed(items: Any) -> list[Any]:
    return [items] if isinstance(items, str) else list(items)


def _edges(column: Column, factor: float) -> list[float]:
    """Return the public edges of a column's bins."""
    if not column.is_ordered:
        raise PlanError(
            f"column {column.name!r} holds levels, which have no brackets of numbers",
            next_step="use a standard without ranges",
        )
    edges = [*column.starts.tolist(), float(column.numeric_bounds[1])]
    return [edge / factor for edge in dict.fromkeys(edges)]
