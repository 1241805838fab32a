"""How the values of each column read: as numbers, dates, true and false, one of a few levels, or as texts.

A CSV file holds texts alone, so a text is asked whether it hides a number or a date. Digits behind a leading zero are
no number: 01067 is a place, and would come back as 1067.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sfumato.schema.column_checks import LARGEST_WHOLE
from sfumato.table.drafting.asking import Answers, Measure, ask, distinct_values
from sfumato.table.drafting.patterns import matches
from sfumato.table.engine import Engine

MOST_LEVELS = 60
"""Texts with more distinct values than this are free text, codes or identifiers, not categories."""
FEW_INTEGERS = 8
"""Whole numbers with at most this many distinct values are proposed as categories."""
FIRST_DAY, LAST_DAY = dt.date.min, dt.date.max
"""Engines know days before and after these; a schema does not."""
ISO_LENGTH = len("2024-12-31")
FIRST_WRITTEN_DAY, LAST_WRITTEN_DAY = 18_000_101, 21_991_231
"""Between these a whole number may be a date that is written yyyymmdd."""

Reading = Literal["number", "date", "boolean", "text", "unknown"]


@dataclass
class Seen:
    """What was seen of one column."""

    name: str
    raw: Any
    rows: int
    reading: Reading = "unknown"
    facts: Answers = field(default_factory=dict[str, Any])

    @property
    def known(self) -> int:
        """Rows in which there is a value."""
        return self.facts.get("known") or 0

    @property
    def distinct(self) -> int:
        """Different values."""
        return self.facts.get("distinct") or 0

    @property
    def missing(self) -> bool:
        """Whether some rows have no value."""
        return self.known < self.rows

    @property
    def uniqueness(self) -> float:
        """Different values per value: 1 where no value stands twice."""
        return self.distinct / self.known if self.known else 0.0

    @property
    def is_whole(self) -> bool:
        """Whether all values are whole numbers, and few enough digits long to be told apart."""
        low, high = self.facts.get("low"), self.facts.get("high")
        if self.reading != "number" or low is None or self.facts["fractions"]:
            return False
        return low >= -LARGEST_WHOLE and high <= LARGEST_WHOLE

    @property
    def value(self) -> Any:
        """The column in the type of its reading, null where it holds none."""
        raw, kind = self.raw, self.raw.type()
        if self.reading == "date":
            return raw.try_cast("date") if kind.is_string() else raw.cast("date")
        if self.reading != "number" or kind.is_integer():
            return raw
        number = raw.try_cast("float64") if kind.is_string() else raw.cast("float64")
        return (number.isnan() | number.isinf()).ifelse(None, number)


def look(engine: Engine, names: Sequence[str]) -> list[Seen]:
    """Return how all columns read, and what can be asked of each reading."""
    table = engine.table
    rows = engine.aggregate(table.aggregate(rows=table.count())).to_pylist()[0]["rows"]
    seen = [Seen(name, table[name], rows) for name in names]
    for question in (_first, _bounds, _values):
        answers = ask(engine, (measure for one in seen for measure in question(one)))
        for one in seen:
            one.facts |= answers.get(one.name, {})
            if question is _first:
                one.reading = _reading(one)
    return seen


def _first(seen: Seen) -> Iterator[Measure]:
    name, raw, kind = seen.name, seen.raw, seen.raw.type()
    if not (kind.is_string() or kind.is_numeric() or kind.is_boolean() or kind.is_temporal()):
        return
    value = raw.isnan().ifelse(None, raw) if kind.is_floating() else raw
    yield (name, "known"), value.count()
    if kind.is_string():
        yield (name, "distinct"), distinct_values(raw)
        yield (name, "longest"), raw.length().max()
        yield (name, "not flags"), (~raw.lower().isin(["true", "false"])).sum()
        yield (name, "zeros"), matches(raw, "leading zero").sum()
        yield (name, "not numbers"), (raw.notnull() & raw.try_cast("float64").isnull()).sum()
        yield (name, "not dates"), (raw.notnull() & raw.try_cast("date").isnull()).sum()


def _reading(seen: Seen) -> Reading:
    kind = seen.raw.type()
    if kind.is_boolean():
        return "boolean"
    if kind.is_date() or kind.is_timestamp():
        return "date"
    if kind.is_numeric():
        return "number"
    return _text_reading(seen.facts) if kind.is_string() else "unknown"


def _text_reading(facts: Answers) -> Reading:
    if not facts["distinct"]:
        return "text"
    if facts["distinct"] <= 2 and not facts["not flags"]:
        return "boolean"
    if not facts["not numbers"]:
        return "text" if facts["zeros"] else "number"
    return "date" if not facts["not dates"] else "text"


def _bounds(seen: Seen) -> Iterator[Measure]:
    name, value = seen.name, seen.value
    if seen.reading == "number":
        # Clipped first, because engines floor into 64-bit integers.
        near = value.clip(-LARGEST_WHOLE, LARGEST_WHOLE)
        whole = near.floor() if value.type().is_floating() else near
        yield (name, "known"), value.count()
        yield (name, "low"), value.min()
        yield (name, "high"), value.max()
        yield (name, "fractions"), (near != whole).sum()
        yield (name, "distinct"), distinct_values(value)
        yield (name, "mean"), near.cast("float64").mean()
        yield (name, "spread"), near.cast("float64").std()
    if seen.reading == "date":
        inside = (value >= FIRST_DAY) & (value <= LAST_DAY)
        days = inside.ifelse(value, None)
        yield (name, "low"), days.min()
        yield (name, "high"), days.max()
        yield (name, "beyond"), (~inside).sum()
        if seen.raw.type().is_timestamp():
            yield (name, "times"), (seen.raw.hour() + seen.raw.minute() + seen.raw.second() > 0).sum()
    if seen.reading == "text" and MOST_LEVELS < seen.distinct:
        yield (name, "length"), seen.raw.length().mean()
        yield (name, "blanks"), matches(seen.raw, "blank").sum()


def _values(seen: Seen) -> Iterator[Measure]:
    name, value = seen.name, seen.value
    if seen.reading == "text":
        if 0 < seen.distinct <= MOST_LEVELS:
            yield (name, "values"), value.collect(distinct=True)
        if seen.distinct > 1:
            yield from (((name, kind), matches(seen.raw, kind).sum()) for kind in ("mail", "iban", "uuid", "ssn"))
            yield from (((name, kind), matches(seen.raw, kind).sum()) for kind in ("phone", "people"))
    if seen.is_whole:
        low, high = seen.facts["low"], seen.facts["high"]
        if seen.distinct <= MOST_LEVELS:
            yield (name, "values"), value.collect(distinct=True)
        if low >= FIRST_WRITTEN_DAY and high <= LAST_WRITTEN_DAY and seen.distinct > 2:
            month, day = (value / 100).floor() % 100, value % 100
            yield (name, "no days"), ((month < 1) | (month > 12) | (day < 1) | (day > 31)).sum()
