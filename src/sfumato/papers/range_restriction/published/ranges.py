"""Ranges, public brackets and shares of records that an outsider is assumed to know.

A radius [a x, b x] with known a and b gives x away, so a radius must never be published. Public brackets are the
sound variant: their edges are fixed without looking at the data. As parameters of a method ranges are words, pairs and
mappings that can be written down; this module turns them into rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.core.custom_objects import CustomObject, is_custom_object
from sfumato.core.parameters import name_problems
from sfumato.errors import PlanError, TableError
from sfumato.mechanisms.pseudo_posterior.column_models import public_edges
from sfumato.papers.range_restriction.families.interface import FloatArray, Kind
from sfumato.privacy.exact import shorten_for_message
from sfumato.schema import Schema
from sfumato.schema.column import Column

SHAPES = (
    "write ranges as 'brackets', as a pair (a, b), or as {'radius': [a, b], 'tail': [a, b], 'share': 0.05}, "
    "{'brackets': [edges]} or {'columns': [low factor, high factor]}, or give a function in Python"
)
KEYS = ({"radius"}, {"radius", "tail", "share"}, {"brackets"}, {"columns"})


class SameForAllRecords:
    """A rule that is found anew from the values, so that it stays the same when a record leaves or joins."""

    def without(self, index: int) -> Self:
        """Return the rule for the same records less one."""
        return self

    def extended(self) -> Self:
        """Return the rule for the same records and one more, last."""
        return self


class Ranges(SameForAllRecords):
    """A rule that gives each value its range."""

    def limits(self, values: FloatArray, kind: Kind) -> tuple[FloatArray, FloatArray]:
        """Return the low and the high end of each value's range; both ends belong to it."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Radius(Ranges):
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


@dataclass(frozen=True)
class WiderInTail(Ranges):
    """The largest values, a share of all, have the range [tail_a x, tail_b x]; the others [a x, b x]."""

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


@dataclass(frozen=True)
class Brackets(Ranges):
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


@dataclass(frozen=True, eq=False)
class RangesByFunction(Ranges):
    """A function of the custodian's own: from all values to the low and the high end of each range."""

    function: CustomObject

    def limits(self, values: FloatArray, kind: Kind) -> tuple[FloatArray, FloatArray]:
        """Ask the function, and refuse ranges that miss their values."""
        found = self.function.call(values)
        sides = [np.asarray(side, float) for side in (found if isinstance(found, list | tuple) else ())]
        if len(sides) != 2 or any(side.shape != values.shape for side in sides):
            problem = f"it must return two arrays of {len(values)} numbers, the low and the high end of each range"
            raise TableError(f"the function {self.function.name!r} gives no ranges", [problem], "correct it")
        return checked_limits(sides[0], sides[1], values, kind)


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


class Gammas(SameForAllRecords):
    """A rule that gives each record its gamma, the share of it that an outsider is assumed to know (eq. 20 and 21).

    The paper writes p^(alpha*) = p^((1 - gamma) alpha) p^gamma: record i is weighted by alpha_i in what is sensitive
    and enters in full with its share gamma_i, so that alpha* = gamma + (1 - gamma) alpha, and only
    (1 - gamma_i) alpha_i f_i is counted. Its averaged standard is gamma_i = lambda_i; here gamma is a column of the
    table, or a function in Python. Nothing is proved about it: gamma reads the private rows like everything else in the
    published form.
    """

    def of(self, values: FloatArray) -> FloatArray:
        """Return the gamma of each record, from 0 to 1."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class GammasByRecord(Gammas):
    """One number for each record, as a column of the table holds them."""

    numbers: FloatArray

    def of(self, values: FloatArray) -> FloatArray:
        """Return the numbers, or refuse them."""
        return checked_gammas(self.numbers, len(values))

    def without(self, index: int) -> GammasByRecord:
        """Return the numbers less one."""
        return GammasByRecord(np.delete(self.numbers, index))

    def extended(self) -> GammasByRecord:
        """Return the numbers and one more: the largest of all, which lets the new record say most."""
        return GammasByRecord(np.append(self.numbers, self.numbers.max(initial=0.0)))


@dataclass(frozen=True, eq=False)
class GammasByFunction(Gammas):
    """A function of all values of the target, found anew for every table."""

    function: CustomObject

    def of(self, values: FloatArray) -> FloatArray:
        """Ask the function, and refuse what is no gamma."""
        return checked_gammas(np.asarray(self.function.call(values), float), len(values))


def checked_gammas(numbers: FloatArray, records: int) -> FloatArray:
    """Return gammas, or refuse them: one for each record, from 0 to 1."""
    problems: list[str] = []
    if numbers.shape != (records,):
        problems.append(f"{records} numbers needed, one for each record; the shape given is {numbers.shape}")
    elif wrong := int((~((numbers >= 0) & (numbers <= 1))).sum()):
        problems.append(f"{wrong} of {records} numbers do not lie between 0 and 1")
    if problems:
        raise TableError("gamma does not fit the records", problems, "give one number from 0 to 1 for each record")
    return numbers


def gamma_problems(gamma: Any) -> list[str]:
    """Return what is wrong with gamma as far as no column need be known."""
    if gamma is None or isinstance(gamma, str | CustomObject):
        return []
    return [
        "gamma must name a column or be a function of the target's values: numbers by record would be written into "
        "the public files"
    ]


def gamma_column(gamma: Any) -> tuple[str, ...]:
    """Return the column that holds gamma, if one does."""
    return (gamma,) if isinstance(gamma, str) and not is_custom_object(gamma) else ()


def gamma_column_problems(gamma: Any, schema: Schema) -> list[str]:
    """Return why a column cannot hold gamma."""
    problems: list[str] = []
    for name in gamma_column(gamma):
        column = schema[name]
        if not column.is_ordered or column.missing:
            problems.append(f"column {name!r} must hold a number in every row to be gamma")
        elif not (column.numeric_bounds[0] >= 0 and column.numeric_bounds[1] <= 1):
            problems.append(f"the bounds of column {name!r} must lie between 0 and 1 to be gamma")
    return problems


def read_gammas(gamma: Any, values: Mapping[str, NDArray[Any]]) -> Gammas | None:
    """Return the rule, with the numbers of a column read."""
    if gamma is None:
        return None
    if isinstance(gamma, CustomObject):
        return GammasByFunction(gamma)
    return GammasByRecord(np.asarray(values[gamma], float))
