"""Values a column can take as written: multiples of a step, decimals, first days of periods.

Synthetic values are drawn among these, not drawn anywhere and rounded: the true values of a bin are of this kind too,
so a mean within a bin is that of values which can stand there. Rounding would move it by half a step.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from sfumato.arrays import BoolArray, FloatArray, IntArray
from sfumato.schema.column import Column, day_number

MONTHS_OF = {"month": 1, "quarter": 3, "year": 12}
MOST_NUMBERED = 2.0**52
"""Multiples beyond this number are not told apart by floating point: such a column is written as it comes."""


class WrittenForm(Protocol):
    """Values in rising order, each with a number."""

    def value(self, number: Any) -> FloatArray:
        """Return the values with the given numbers."""
        ...

    def first(self, least: Any) -> IntArray:
        """Return the number of the smallest value that is not below each given one."""
        ...


@dataclass(frozen=True)
class Multiples:
    """Multiples of a step; ``digits`` decimals tell all of them apart, and are what a text of them reads as."""

    step: float
    digits: int

    def value(self, number: Any) -> FloatArray:
        """Return the multiples, each the floating number nearest to its decimal text."""
        return np.asarray(np.round(np.asarray(number) * self.step, self.digits), float)

    def first(self, least: Any) -> IntArray:
        """Return the number of the smallest multiple that is not below; a guess, and exact steps from there."""
        number = np.ceil(np.asarray(least) / self.step)
        number = number - (self.value(number - 1) >= least)
        return np.asarray(number + (self.value(number) < least), np.int64)


@dataclass(frozen=True, eq=False)
class PeriodStarts:
    """First days of weeks, months, quarters or years, as day numbers."""

    days: FloatArray

    def value(self, number: Any) -> FloatArray:
        """Return the days with the given numbers."""
        return self.days[np.clip(number, 0, len(self.days) - 1)]

    def first(self, least: Any) -> IntArray:
        """Return the number of the first such day that is not before."""
        return np.asarray(np.searchsorted(self.days, least), np.int64)


@dataclass(frozen=True, eq=False)
class WrittenValues:
    """The lattice of a column within its bounds: numbers from ``lowest`` up to, but without, ``beyond``."""

    lattice: WrittenForm
    lowest: int
    beyond: int

    def nearest(self, values: Any) -> FloatArray:
        """Return the nearest value that can be written, within the bounds; the even one of two that are as near."""
        above = np.clip(self.lattice.first(values), self.lowest, self.beyond - 1)
        below = np.maximum(above - 1, self.lowest)
        up, down = self.lattice.value(above) - values, values - self.lattice.value(below)
        return self.lattice.value(np.where((up < down) | ((up == down) & (above % 2 == 0)), above, below))

    def between(self, lows: Any, highs: Any, places: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the value at a place in [0, 1) among those from ``lows`` up to, but without, ``highs``; how many."""
        first = np.maximum(self.lattice.first(lows), self.lowest)
        count = np.maximum(np.minimum(self.lattice.first(highs), self.beyond) - first, 0)
        inside = np.minimum(np.floor(places * count), np.maximum(count - 1, 0)).astype(np.int64)
        return self.lattice.value(np.minimum(first + inside, self.beyond - 1)), count.astype(float)

    def around(self, values: Any) -> list[FloatArray]:
        """Return the values that can be written at and just beside the given ones."""
        here = self.lattice.first(values)
        return [self.lattice.value(np.clip(here + by, self.lowest, self.beyond - 1)) for by in (-1, 0, 1)]

    def draw(self, column: Column, codes: IntArray, places: FloatArray) -> FloatArray:
        """Return the value at a place of the bin of each code; a bin that holds none gives the nearest."""
        ends = np.append(column.starts[1:], np.nextafter(column.numeric_bounds[1], np.inf))
        low, high = column.starts[codes], ends[codes]
        inside, count = self.between(low, high, places)
        anywhere = low + places * (high - low)
        return np.where(count > 0, inside, self.nearest(np.floor(anywhere) if column.is_discrete else anywhere))


def written_form_of(column: Column) -> WrittenValues | None:
    """Return what the schema says about how the values of a column are written; None where any value may stand.

    >>> tenths = written_form_of(Column("rate", "number", bounds=(0.0, 1.0), decimals=1))
    >>> tenths.nearest(np.array([0.04, 0.3000001, 7.0])).tolist() if tenths else None
    [0.0, 0.3, 1.0]
    """
    if not column.is_ordered or (column.step is None and (column.decimals is None or column.is_discrete)):
        return None
    return _within(column.kind, column.step, column.decimals, column.bounds)


@lru_cache(maxsize=1024)
def _within(kind: str, step: Any, decimals: int | None, bounds: Any) -> WrittenValues | None:
    low, high = (day_number(bound) if kind == "date" else float(bound) for bound in bounds)
    lattice = PeriodStarts(_first_days(step, *bounds)) if kind == "date" else _multiples(step, decimals)
    if isinstance(lattice, Multiples) and max(abs(low), abs(high)) / lattice.step > MOST_NUMBERED:
        return None
    lowest, beyond = int(lattice.first(low)), int(lattice.first(np.nextafter(high, np.inf)))
    return WrittenValues(lattice, lowest, beyond) if lowest < beyond else None


def _multiples(step: float | None, decimals: int | None) -> Multiples:
    if step is None:
        return Multiples(10.0 ** -(decimals or 0), decimals or 0)
    return Multiples(float(step), digits_of(step))


def digits_of(number: float) -> int:
    """Return how many decimals a number has as it is written.

    >>> digits_of(0.25), digits_of(500), digits_of(1e-05)
    (2, 0, 5)
    """
    exponent = Decimal(repr(number)).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _first_days(step: str, low: dt.date, high: dt.date) -> FloatArray:
    """Return the first days of all periods that touch the bounds, and of the one after where the calendar has it."""
    if step == "week":
        monday = day_number(low) - low.weekday()
        return np.arange(monday, day_number(high) + 8, 7, dtype=float)
    every = MONTHS_OF[step]
    months = range((low.year * 12 + low.month - 1) // every * every, high.year * 12 + high.month, every)
    return np.array([day_number(dt.date(month // 12, month % 12 + 1, 1)) for month in months], float)


def is_writable(column: Column, values: Any) -> BoolArray:
    """Return which values can be written as the schema says."""
    form = written_form_of(column)
    return np.ones(np.shape(values), bool) if form is None else np.asarray(form.nearest(values) == values)


def as_written(column: Column, values: Any) -> Any:
    """Return the nearest values that can be written, where the schema says how; dates as day numbers."""
    form = written_form_of(column)
    return values if form is None else form.nearest(np.asarray(values, float))
