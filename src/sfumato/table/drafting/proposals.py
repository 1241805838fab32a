"""From what was seen of a column to the column of a draft, with a note where a person should look."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from typing import Any

from sfumato.errors import SchemaError
from sfumato.schema.column import Column
from sfumato.table.drafting.identifiers import identified
from sfumato.table.drafting.names import is_place
from sfumato.table.drafting.readings import FEW_INTEGERS, ISO_LENGTH, MOST_LEVELS, Seen
from sfumato.table.drafting.written import Hint

MOST_YEARLY_EDGES = 40
FEWEST_YEARS = 3
"""Calendar years from which on a date is cut by years: one or two of them are cut by months."""
NEARLY_ALL = 0.95
"""Share of missing values from which on a person should look."""
MOSTLY = 0.8
"""Share of a column's texts that an option must explain before the texts are called by what they hide."""
LONG_TEXT = 40
"""Characters of a text that is more than a name, on average."""

Drafted = tuple[Column | None, str]


def proposed(seen: Seen, hint: Hint | None = None) -> Drafted:
    """Return a column, or None, and a note: why there is none, or what to look at.

    A hint says which option would read the texts of the column; until it is said, they are texts.
    """
    if hint and _hides_numbers(seen, hint):
        return None, f"left out: {seen.name} ({hint.sentence})"
    found = identified(seen)
    if found:
        return _column(
            seen, f"identifier: {seen.name} ({found.why}; never released)", kind="category", role="identifier"
        )
    column, note = _by_reading(seen)
    return (column, look_at(seen.name, *_odd(seen), *([hint.sentence] if hint else []))) if column else (None, note)


def _hides_numbers(seen: Seen, hint: Hint) -> bool:
    """Whether a hint explains why texts are no numbers or dates; a few levels stay a category all the same."""
    numbers = seen.known - seen.facts.get("not numbers", seen.known)
    return seen.distinct > MOST_LEVELS and hint.explained + numbers >= MOSTLY * hint.texts


def look_at(name: str, *words: str) -> str:
    """Return the note that asks to look at a column, or none.

    >>> look_at("age", "98 % missing"), look_at("age")
    ('look at: age (98 % missing)', '')
    """
    return f"look at: {name} ({'; '.join(words)})" if words else ""


def _by_reading(seen: Seen) -> Drafted:
    match seen.reading:
        case "unknown":
            return None, f"left out: {seen.name} (values of type {seen.raw.type()} are not supported)"
        case "boolean":
            return _column(seen, kind="boolean")
        case "date":
            return _dates(seen)
        case "number":
            return _numbers(seen)
        case "text":
            return _texts(seen)


def _column(seen: Seen, note: str = "", **facts: Any) -> Drafted:
    """Return a column; where its facts cannot stand in a schema, say which."""
    try:
        return Column(seen.name, missing=seen.missing, **facts), note
    except SchemaError as error:
        return None, f"left out: {seen.name} ({'; '.join(problem.split(': ', 1)[-1] for problem in error.problems)})"


def _texts(seen: Seen) -> Drafted:
    if not seen.distinct:
        return None, f"left out: {seen.name} (no values)"
    if seen.distinct <= MOST_LEVELS and not seen.is_nearly_unique:
        return _column(seen, kind="category", values=tuple(sorted(seen.facts["values"])))
    return None, f"left out: {seen.name} ({seen.distinct:,} distinct texts: {_many_texts(seen)})"


def _many_texts(seen: Seen) -> str:
    if seen.facts["zeros"] and not seen.facts.get("not numbers"):
        return "codes with leading zeros; cut them to fewer, or list the public ones"
    if seen.facts["blanks"] > seen.known / 2 and (seen.uniqueness > 0.5 or seen.facts["length"] > LONG_TEXT):
        return "free text"
    return f"each in {seen.known / seen.distinct:.3g} rows on average; if they are a public list, write it into values"


def _numbers(seen: Seen) -> Drafted:
    if seen.facts["low"] is None:
        return None, f"left out: {seen.name} (no finite values)"
    if not seen.is_whole:
        return _column(seen, kind="number", bounds=_rounded_out(float(seen.facts["low"]), float(seen.facts["high"])))
    if seen.facts.get("no days") == 0:
        return None, f"left out: {seen.name} (whole numbers that look like dates: --date-format '%Y%m%d')"
    low, high = int(seen.facts["low"]), int(seen.facts["high"])
    if _are_codes(seen, low, high):
        return _column(seen, kind="category", values=tuple(sorted(int(value) for value in seen.facts["values"])))
    return _column(seen, kind="integer", bounds=(low, high))


def _are_codes(seen: Seen, low: int, high: int) -> bool:
    """Whether whole numbers look like codes: one or two values, a few with gaps between them, or postcodes."""
    few = seen.distinct <= FEW_INTEGERS and high - low >= seen.distinct
    return seen.distinct <= 2 or few or (seen.distinct <= MOST_LEVELS and is_place(seen.name))


def _dates(seen: Seen) -> Drafted:
    facts = seen.facts
    if facts["low"] is None:
        return None, f"left out: {seen.name} (no dates of the years 1 to 9999)"
    low, high = (v.date() if isinstance(v, dt.datetime) else v for v in (facts["low"], facts["high"]))
    first, last = dt.date(low.year, 1, 1), dt.date(high.year, 12, 31)
    years = range(low.year, high.year + 1)
    months = range(1, 13) if len(years) < FEWEST_YEARS else (1,)
    cells = [dt.date(year, month, 1) for year in years for month in months]
    edges = (*cells, last) if len(years) <= MOST_YEARLY_EDGES else None
    return _column(seen, kind="date", bounds=(first, last), edges=edges)


def _odd(seen: Seen) -> Iterator[str]:
    """Yield what a person should look at in a column that is described."""
    facts = seen.facts
    if facts.get("beyond"):
        yield f"{facts['beyond']:,} dates before the year 1 or after 9999 do not fit"
    if facts.get("times") or (seen.reading == "date" and (facts.get("longest") or 0) > ISO_LENGTH):
        yield "times of day are not kept: dates remain"
    if seen.distinct == 1 and seen.reading != "boolean":
        yield "one value in all rows; kept so that the released table has the column"
    if seen.known <= (1 - NEARLY_ALL) * seen.rows:
        yield f"missing in {1 - seen.known / seen.rows:.1%} of the rows"
    if facts.get("zeros"):
        yield "digits with leading zeros are texts, so that the zeros stay"


def _rounded_out(low: float, high: float) -> tuple[float, float]:
    """Widen bounds to round numbers: less is learned from the rows, and a person sees at once what to correct."""
    span = min(max(high - low, abs(high), 1e-300), 1e308)
    step = 10.0 ** math.floor(math.log10(span))
    bounds = math.floor(low / step) * step, math.ceil(high / step) * step
    return bounds if bounds[0] < bounds[1] else (bounds[0], bounds[0] + step)
