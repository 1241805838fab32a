"""Ranges as parameters of a method: words, pairs and mappings that can be written down, turned into rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.columns import Column
from sfumato.errors import PlanError
from sfumato.synthesizers.pseudo.ranges import Brackets, Radius, Ranges, wider_in_tail

SHAPES = ("write ranges as 'brackets', as a pair (a, b), or as {'radius': [a, b], 'tail': [a, b], 'share': 0.05}, "
          "{'brackets': [edges]} or {'columns': [low factor, high factor]}")  # fmt: skip
KEYS = ({"radius"}, {"radius", "tail", "share"}, {"brackets"}, {"columns"})


def range_problems(settings: Any) -> list[str]:
    """Return what is wrong with the shape of the ranges."""
    if settings is None or settings == "brackets":
        return []
    if isinstance(settings, Mapping):
        keys = set(cast("Mapping[str, Any]", settings))
        return [] if keys in KEYS else [f"ranges with {', '.join(sorted(keys))} are not understood; {SHAPES}"]
    try:
        pair = [float(side) for side in settings]
    except (TypeError, ValueError):
        return [f"ranges {settings!r} are not understood; {SHAPES}"]
    return [] if len(pair) == 2 else [f"a range needs two factors, found {len(pair)}; {SHAPES}"]


def range_columns(settings: Any) -> tuple[str, ...]:
    """Return the columns that hold factors by record, if there are any."""
    return tuple(settings["columns"]) if isinstance(settings, Mapping) and "columns" in settings else ()


def read_ranges(settings: Any, target: Column, values: Mapping[str, NDArray[Any]] | None = None,
                factor: float = 1.0) -> Ranges | None:  # fmt: skip
    """Return the rule; factors by record are read where the values are given. Edges move with the unit."""
    if settings is None:
        return None
    if settings == "brackets":
        return Brackets(_edges(target, factor))
    facts: Mapping[str, Any] = settings if isinstance(settings, Mapping) else {"radius": settings}
    if "brackets" in facts:
        return Brackets([float(edge) / factor for edge in facts["brackets"]])
    if "tail" in facts:
        return wider_in_tail(*_pair(facts["radius"]), *_pair(facts["tail"]), float(facts["share"]))
    if "columns" not in facts:
        return Radius(*_pair(facts["radius"]))
    if values is None:
        return None
    low, high = facts["columns"]
    return Radius(np.asarray(values[low], float), np.asarray(values[high], float))


def _pair(sides: Sequence[Any]) -> tuple[float, float]:
    low, high = sides
    return float(low), float(high)


def _edges(column: Column, factor: float) -> list[float]:
    """Return the public edges of a column's bins."""
    if not column.is_ordered:
        raise PlanError(f"column {column.name!r} holds levels, which have no brackets of numbers",
                        next_step="use a standard without ranges")  # fmt: skip
    edges = [*column.starts.tolist(), float(column.numeric_bounds[1])]
    return [edge / factor for edge in dict.fromkeys(edges)]
