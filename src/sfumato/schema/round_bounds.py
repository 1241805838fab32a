"""Suggest rounder bounds in place of drafted ones, which are values from private rows.

A suggestion is made from the drafted bounds alone, with room on both sides. It is computed from the rows like them:
only a person knows what is public.
"""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

from sfumato.schema.column import Column

ROOM = 0.25
"""Part of a range that is added to it before it is rounded outward."""
ROUND = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
"""First digits of a bound that somebody would choose."""
LONG_YEARS = 8
"""Ranges of dates of more years than this are rounded to decades."""
MOST_VALUES = 5


def describe_drafted_fact(column: Column, fact: str) -> str:
    """Describe one drafted fact and suggest a rounder one.

    >>> describe_drafted_fact(Column("age", "integer", bounds=(18, 90)), "bounds")
    'bounds 18 to 90 as drafted; rounder, but computed from the rows too: 0 to 120'
    """
    if fact == "bounds" and fact in column.file_facts:
        return f"bounds {_spelled(column.bounds or (0, 0))} as the file tells them; are they public?"
    if fact == "bounds":
        drafted, suggested = (_spelled(bounds) for bounds in (column.bounds or (0, 0), rounder_bounds(column)))
        better = (
            "round already: who says so?"
            if suggested == drafted
            else f"rounder, but computed from the rows too: {suggested}"
        )
        return f"bounds {drafted} as drafted; {better}"
    listed: tuple[Any, ...] = getattr(column, fact) or ()
    shown = ", ".join(str(value) for value in listed[:MOST_VALUES])
    more = f", ... ({len(listed)} in all)" if len(listed) > MOST_VALUES else ""
    question = "is that the whole public list?" if fact == "values" else "are they public?"
    origin = "as the file tells them" if fact in column.file_facts else "as drafted"
    return f"{fact} {shown}{more} {origin}; {question}"


def _spelled(bounds: tuple[Any, Any]) -> str:
    """Return bounds in words; a whole number needs no point.

    >>> _spelled((0.0, 2.5))
    '0 to 2.5'
    """
    low, high = (int(end) if isinstance(end, float) and end.is_integer() else end for end in bounds)
    return f"{low} to {high}"


def rounder_bounds(column: Column) -> tuple[Any, Any]:
    """Return rounder bounds that hold the drafted ones.

    >>> rounder_bounds(Column("year", "integer", bounds=(1987, 2019)))
    (1970, 2030)
    >>> rounder_bounds(Column("moved", "date", bounds=(dt.date(1961, 3, 4), dt.date(2024, 6, 28))))
    (datetime.date(1960, 1, 1), datetime.date(2029, 12, 31))
    """
    low, high = column.bounds or (0, 0)
    if isinstance(low, dt.date) and isinstance(high, dt.date):
        return _dates(low, high)
    below, above = _numbers(float(low), float(high))  # pyright: ignore[reportArgumentType]
    return (int(below), int(above)) if column.kind == "integer" else (below, above)


def _dates(low: dt.date, high: dt.date) -> tuple[dt.date, dt.date]:
    step = 10 if high.year - low.year > LONG_YEARS else 1
    first, last = low.year // step * step, high.year // step * step + step - 1
    return dt.date(max(first, 1), 1, 1), dt.date(min(last, 9999), 12, 31)


def _numbers(low: float, high: float) -> tuple[float, float]:
    if low > high / 2 > 0 or high < low / 2 < 0:  # far from 0: years, temperatures
        return _around(low, high)
    return -_next_round(-low) if low < 0 else 0.0, _next_round(high) if high > 0 else 0.0 if low < 0 else 1.0


def _around(low: float, high: float) -> tuple[float, float]:
    width = high - low or abs(high)
    step = 10.0 ** math.floor(math.log10(width))
    room = ROOM * width
    return math.floor((low - room) / step) * step, math.ceil((high + room) / step) * step


def _next_round(size: float) -> float:
    wanted = (1 + ROOM) * size
    unit = 10.0 ** math.floor(math.log10(wanted)) if wanted > 0 else 1.0
    rounded = next((digits * unit for digits in ROUND if digits * unit >= wanted * (1 - 1e-12)), 10 * unit)
    return math.ceil(rounded) if rounded >= 1 else float(f"{rounded:.3g}")
