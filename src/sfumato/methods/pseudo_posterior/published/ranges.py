"""Which values an outsider is taken to know already: a range around, or a public bracket that holds, each value.

A radius [a x, b x] with known a and b gives x away, so a radius must never be published. Public brackets are the
sound variant: their edges are fixed without looking at the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from sfumato.errors import PlanError, TableError
from sfumato.methods.pseudo_posterior.families.interface import Array, Kind


class Ranges(Protocol):
    """A rule that gives each value its range."""

    def limits(self, values: Array, kind: Kind) -> tuple[Array, Array]:
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

    def limits(self, values: Array, kind: Kind) -> tuple[Array, Array]:
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
class WiderInTail:
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

    def limits(self, values: Array, kind: Kind) -> tuple[Array, Array]:
        """Return each value's range; who belongs to the tail is read off the values."""
        tail = values > np.quantile(values, 1 - self.share)
        radius = Radius(np.where(tail, self.tail_a, self.a), np.where(tail, self.tail_b, self.b))
        return radius.limits(values, kind)

    def without(self, index: int) -> WiderInTail:
        """Return the same rule: the tail is found anew."""
        return self

    def extended(self) -> WiderInTail:
        """Return the same rule: the tail is found anew."""
        return self

    def describe(self) -> str:
        """Say both radii."""
        tail = f"from {self.tail_a:g} x to {self.tail_b:g} x in the top {100 * self.share:g} %"
        return f"from {self.a:g} x to {self.b:g} x, and {tail}"


def wider_in_tail(a: float, b: float, tail_a: float, tail_b: float, share: float) -> WiderInTail:
    """Return the rule that gives the largest values, a share of all, a wider range.

    >>> wider_in_tail(0.4, 1.8, 0.2, 2.4, 0.01).describe()
    'from 0.4 x to 1.8 x, and from 0.2 x to 2.4 x in the top 1 %'
    """
    return WiderInTail(a, b, tail_a, tail_b, share)


@dataclass(frozen=True)
class Brackets:
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

    def limits(self, values: Array, kind: Kind) -> tuple[Array, Array]:
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

    def without(self, index: int) -> Brackets:
        """Return the same brackets: they do not depend on the records."""
        return self

    def extended(self) -> Brackets:
        """Return the same brackets, opened at both ends so that they hold any new value."""
        return replace(self, edges=(-np.inf, *self.edges[1:-1], np.inf))

    def describe(self) -> str:
        """Say how many brackets there are."""
        return f"{len(self.edges) - 1} public brackets from {self.edges[0]:g} to {self.edges[-1]:g}"


def checked_limits(low: Array, high: Array, values: Array, kind: Kind) -> tuple[Array, Array]:
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
