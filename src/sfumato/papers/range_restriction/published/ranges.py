"""Ranges and public brackets that an outsider is assumed to know.

A radius [a x, b x] with known a and b gives x away, so a radius must never be published. Public brackets are the
sound variant: their edges are fixed without looking at the data. As parameters of a method ranges are words, pairs and
mappings that can be written down; the second half of this module turns them into rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.core.custom_objects import CustomObject, is_custom_object
from sfumato.core.parameters import name_problems
from sfumato.errors import PlanError, TableError
from sfumato.mechanisms.pseudo_posterior.column_models import public_edges
from sfumato.papers.range_restriction.families.interface import FloatArray, Kind
from sfumato.papers.range_restriction.published.gammas import SameForAllRecords
from sfumato.privacy.exact import shorten_for_message
from sfumato.schema import Schema
from sfumato.schema.column import Column

SHAPES = (
    "write ranges as 'brackets', as a pair (a, b), or as {'radius': [a, b], 'tail': [a, b], 'share': 0.05}, "
    "{'brackets': [edges]} or {'columns': [low factor, high factor]}, or give a function in Python"
)
KEYS = ({"radius"}, {"radius", "tail", "share"}, {"brackets"}, {"columns"})


class Ranges(Protocol):
    """A rule that gives each value its range."""

    def limits(self, values: FloatArray, kind: Kind) -> tuple[FloatArray, FloatArray]:
        """Return the low and the high end of each value's range; both ends belong to it."""
        ...

    def without(self, index: int) -> Ranges:
        """Return the rule for the same records less one."""
        ...

    def extended(self) -> Ranges:
        """Return the rule for the same records and one more, last."""
        ...

    def describe(self) -> str:
        """Say the rule in a few words."""
        ...


@dataclass(frozen=True, eq=False)
class Radius:
    """Each value's range is [a x, b x]; ``a`` and ``b`` are numbers, or one number per record."""

    a: ArrayLike
    b: ArrayLike

    def __post_init__(self) -> None:
        lower, upper = np.asarray(self.a, float), np.asarray(self.b, float)
        problems: list[str] = []
        if not (np.isfinite(lower).all() and (lower <= 1).all()):
            problems.append(f"a must be finite and at most 1; the largest is {lower.max():g}")
        if not (upper >= 1).all():
            problems.append(f"b must be at least 1; the smallest is {upper.min():g}")
        if problems:
            raise PlanError("the ranges miss the values", problems, "choose a <= 1 <= b")

    def limits(self, values: FloatArray, kind: Kind) -> tuple[FloatArray, FloatArray]:
        """Return [a x, b x]; the two ends change places where x is negative."""
        if kind == "codes":
            raise PlanError("a multiplicative range needs numbers, not codes", next_step="use Brackets")
        for name, side in (("a", np.asarray(self.a, float)), ("b", np.asarray(self.b, float))):
            if side.ndim and side.shape != values.shape:
                raise PlanError(f"{len(values)} numbers needed in {name}, one per record; {side.size} are given")
        with np.errstate(invalid="ignore"):  # an infinite b at x = 0 is caught as a range that misses x
            ends = np.asarray(self.a, float) * values, np.asarray(self.b, float) * values
        return checked_limits(np.minimum(*ends), np.maximum(*ends), values, kind)

    def without(self, index: int) -> Radius:
        """Return the radius with the record's own numbers taken out, where it has any."""
        sides = [np.delete(side, index) if np.ndim(side) else side for side in (self.a, self.b)]
        return Radius(*sides)

    def extended(self) -> Radius:
        """Return the radius for one more record, which gets the widest range of all."""
        lower, upper = np.asarray(self.a, float), np.asarray(self.b, float)
        return Radius(
            np.append(lower, lower.min()) if lower.ndim else self.a,
            np.append(upper, upper.max()) if upper.ndim else self.b,
        )

    def describe(self) -> str:
        """Say the radius, or that it differs by record."""
        if np.ndim(self.a) or np.ndim(self.b):
            return "from a x to b x, with a and b by record"
        return f"from {np.asarray(self.a):g} x to {np.asarray(self.b):g} x"


@dataclass(frozen=True)
class WiderInTail(SameForAllRecords):
    """The largest values, a share of all, have the range [tail_a x, tail_b x]; the others [a x, b x].

    >>> WiderInTail(0.4, 1.8, 0.2, 2.4, 0.01).describe()
    'from 0.4 x to 1.8 x, and from 0.2 x to 2.4 x in the top 1 %'
    """

    a: float
    b: float
    tail_a: float
    tail_b: float
    share: float

    def __post_init__(self) -> None:
        for ends in ((self.a, self.b), (self.tail_a, self.tail_b)):
            Radius(*ends)  # refuses ranges that miss the value
        if not 0 < self.share < 1:
            raise PlanError(f"the share in the tail must lie between 0 and 1; {self.share:g} is given")

    def limits(self, values: FloatArray, kind: Kind) -> tuple[FloatArray, FloatArray]:
        """Return each value's range; who belongs to the tail is read off the values."""
        tail = values > np.quantile(values, 1 - self.share)
        radius = Radius(np.where(tail, self.tail_a, self.a), np.where(tail, self.tail_b, self.b))
        return radius.limits(values, kind)

    def describe(self) -> str:
        """Say both radii."""
        tail = f"from {self.tail_a:g} x to {self.tail_b:g} x in the top {100 * self.share:g} %"
        return f"from {self.a:g} x to {self.b:g} x, and {tail}"


@dataclass(frozen=True)
class Brackets(SameForAllRecords):
    """Public brackets: each holds its left edge but not its right one; the last holds both.

    >>> import numpy as np
    >>> [side.tolist() for side in Brackets([0, 10, 100]).limits(np.array([3.0, 10.0, 100.0]), "continuous")]
    [[0.0, 10.0, 10.0], [10.0, 100.0, 100.0]]
    """

    edges: Sequence[float]

    def __post_init__(self) -> None:
        edges = np.asarray(self.edges, float)
        if edges.ndim != 1 or len(edges) < 2 or np.isnan(edges).any() or not (np.diff(edges) > 0).all():
            raise PlanError("brackets need at least two edges, each above the one before", [f"given: {self.edges}"])
        object.__setattr__(self, "edges", tuple(edges.tolist()))

    def limits(self, values: FloatArray, kind: Kind) -> tuple[FloatArray, FloatArray]:
        """Return the bracket that holds each value; for counts and codes, its first and last whole number."""
        edges = np.asarray(self.edges)
        outside = (values < edges[0]) | (values > edges[-1])
        if outside.any():
            problem = f"{int(outside.sum())} of {len(values)} values lie outside {edges[0]:g} to {edges[-1]:g}"
            raise TableError("the ranges miss the values", [problem], "give brackets that cover every possible value")
        place = np.minimum(np.searchsorted(edges, values, side="right") - 1, len(edges) - 2)
        low, high = edges[place], edges[place + 1]
        if kind != "continuous":
            last = place == len(edges) - 2
            low, high = np.ceil(low), np.where(last, np.floor(high), np.ceil(high) - 1)
        return checked_limits(low, high, values, kind)

    def extended(self) -> Brackets:
        """Return the same brackets, opened at both ends so that they hold any new value."""
        return replace(self, edges=(-np.inf, *self.edges[1:-1], np.inf))

    def describe(self) -> str:
        """Say how many brackets there are."""
        return f"{len(self.edges) - 1} public brackets from {self.edges[0]:g} to {self.edges[-1]:g}"


@dataclass(frozen=True, eq=False)
class RangesByFunction(SameForAllRecords):
    """A function of the custodian's own: from all values to the low and the high end of each range."""

    function: CustomObject

    def limits(self, values: FloatArray, kind: Kind) -> tuple[FloatArray, FloatArray]:
        """Ask the function, and refuse ranges that miss their values."""
        found = self.function.call(values)
        sides = [np.asarray(side, float) for side in (found if isinstance(found, list | tuple) else ())]
        if len(sides) != 2 or any(side.shape != values.shape for side in sides):
            problem = f"it must return two arrays of {len(values)} numbers, the low and the high end of each range"
            raise TableError(f"the function {self.function.name!r} gives no ranges", [problem], "mend it")
        return checked_limits(sides[0], sides[1], values, kind)

    def describe(self) -> str:
        """Say whose rule it is."""
        return f"by the custodian's own function {self.function.name!r}"


def checked_limits(low: FloatArray, high: FloatArray, values: FloatArray, kind: Kind) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the ranges, or refuse ranges that miss their value or have no width."""
    missed = ~((low <= values) & (values <= high))
    flat = (low >= high) & ~missed if kind == "continuous" else np.zeros(len(values), bool)
    problems: list[str] = []
    if missed.any():
        problems.append(f"{int(missed.sum())} of {len(values)} values lie outside their own range")
    if flat.any():
        problems.append(f"{int(flat.sum())} ranges have no width, for example that of the value {values[flat][0]:g}")
    if problems:
        raise TableError("the ranges miss the values", problems, "use a <= 1 <= b with a < b, or public brackets")
    return low, high


def range_problems(settings: Any) -> list[str]:
    """Return what is wrong with the ranges as far as no column need be known."""
    if settings is None or settings == "brackets" or is_custom_object(settings) or isinstance(settings, CustomObject):
        return []
    wrong = [f"ranges {shorten_for_message(settings)} are not understood; {SHAPES}"]
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
    if is_custom_object(settings) or isinstance(settings, CustomObject):
        return  # what an own function gives is asked of the rows
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
        return Brackets([edge / factor for edge in public_edges(target)])
    if isinstance(settings, CustomObject):
        return RangesByFunction(settings)
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
        return WiderInTail(*_pair(facts["radius"]), *_pair(facts["tail"]), float(facts["share"]))
    return Radius(*_pair(facts["radius"]))


def _pair(sides: Sequence[Any]) -> tuple[float, float]:
    low, high = sides
    return float(low), float(high)


def _listed(items: Any) -> list[Any]:
    return [items] if isinstance(items, str) else list(items)
