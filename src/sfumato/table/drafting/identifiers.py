"""Telling identifiers from measurements: by how values are spread, how they are written, and what a column is called.

Amounts are often nearly unique, too. So a whole number is an identifier only if its column is called so, if it counts
rows, or if it has as many digits as account numbers have, the same in every row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sfumato.table.drafting.names import DIRECT, NAMED, PERSONAL, PLACED, TIMED, has_word, numbers_things, words_of
from sfumato.table.drafting.readings import ALMOST_ALL, MOST_LEVELS, Seen

PEOPLE_PATTERNS = {
    "mail": "e-mail addresses",
    "iban": "account numbers (IBAN)",
    "uuid": "UUIDs",
    "ssn": "social security numbers",
    "phone": "phone numbers",
}
MOST_ROWS_EACH = 20
"""Rows that one person has on average, at most; what repeats more often is a code."""
LEAST_LEVELS = 10
MANY_DIGITS, SEVERAL_DIGITS = 8, 6
MANY_ROWS = 100
"""Rows from which on numbers without gaps are no measurements."""
DENSE_LEVELS = 150
"""Numbers without gaps: ages have fewer values than this."""
YEARS = (1700, 2200)
UNIFORM = 0.15


@dataclass(frozen=True)
class Identified:
    """Why a column is taken for an identifier, and whether it may number people."""

    why: str
    may_be_person: bool = True


def identified(seen: Seen) -> Identified | None:
    """Return why a column is an identifier, or None where it is none."""
    if not _may_identify(seen):
        return None
    return called_identifier(seen) or (_numbers(seen) if seen.is_whole else _texts(seen))


def called_identifier(seen: Seen) -> Identified | None:
    """Return why a column is an identifier where its values or its name say so; uniqueness alone says less."""
    return _by_pattern(seen) or _by_name(seen) if _may_identify(seen) else None


def _may_identify(seen: Seen) -> bool:
    return seen.distinct > 1 and (seen.reading == "text" or seen.is_whole)


def _by_pattern(seen: Seen) -> Identified | None:
    for kind, words in PEOPLE_PATTERNS.items():
        if (seen.facts.get(kind) or 0) >= ALMOST_ALL * seen.known:
            return Identified(f"its values look like {words}")
    return None


def _repeats_little(seen: Seen) -> bool:
    """Whether there are so many values that they can be those of people: codes of a few things repeat more often."""
    few_rows_each = seen.known <= MOST_ROWS_EACH * seen.distinct
    return seen.distinct > MOST_LEVELS or (seen.distinct > LEAST_LEVELS and few_rows_each)


def _by_name(seen: Seen) -> Identified | None:
    words = words_of(seen.name)
    if _names_people(seen, words):
        return Identified("its name says that it names people", may_be_person=False)
    if not _repeats_little(seen) or "of" in words:  # number of rooms
        return None
    whole = seen.is_whole
    long = not whole or seen.facts["low"] >= 10 ** (SEVERAL_DIGITS - 1)
    if long and has_word(words, DIRECT):
        return Identified("its name says that it belongs to one person")
    if numbers_things(words):
        return Identified("its name says that it numbers people or things")
    if not whole and has_word(words, NAMED):
        return Identified("its name says that it names people or addresses", may_be_person=False)
    if has_word(words, PLACED):
        return Identified("a postcode: cut it to its first digits, or list public regions", may_be_person=False)
    return None


def _names_people(seen: Seen, words: tuple[str, ...]) -> bool:
    """Whether a column holds names of people: common ones repeat as often as codes do."""
    if seen.is_whole or seen.distinct <= LEAST_LEVELS:
        return False
    looks = (seen.facts.get("people") or 0) >= ALMOST_ALL * seen.known
    return has_word(words, PERSONAL) or (looks and has_word(words, NAMED))


def _numbers(seen: Seen) -> Identified | None:
    low, high = int(seen.facts["low"]), int(seen.facts["high"])
    span = high - low + 1
    if seen.uniqueness == 1 and not seen.missing:
        if span == seen.rows and not (YEARS[0] <= low and high <= YEARS[1]):
            return Identified("every row has its own number, without gaps", may_be_person=False)
        if seen.rows >= MANY_ROWS and span <= 1.2 * seen.rows:
            return Identified("every row has its own number, with few gaps", may_be_person=False)
    digits = len(str(high))
    if low > 0 and len(str(low)) == digits and _is_time(seen) is False:
        if digits >= MANY_DIGITS and seen.uniqueness >= ALMOST_ALL:
            return Identified(f"nearly every row has its own number of {digits} digits")
        if digits >= SEVERAL_DIGITS and seen.uniqueness == 1 and seen.rows >= MANY_ROWS and _is_uniform(seen):
            return Identified(f"every row has its own number of {digits} digits, spread evenly")
    dense = seen.distinct >= DENSE_LEVELS and span <= 1.02 * seen.distinct
    if dense and seen.known <= MOST_ROWS_EACH * seen.distinct and low >= 0 and _is_uniform(seen):
        return Identified("numbers without gaps, each in a few rows")
    return None


def _is_time(seen: Seen) -> bool:
    return bool(TIMED & set(words_of(seen.name)))


def _is_uniform(seen: Seen) -> bool:
    """Whether numbers spread evenly between the smallest and the largest, as numbers that were given out do."""
    low, high = float(seen.facts["low"]), float(seen.facts["high"])
    width = high - low
    even = abs(seen.facts["mean"] - (low + high) / 2) <= UNIFORM * width
    return even and abs((seen.facts["spread"] or 0) * math.sqrt(12) / width - 1) <= UNIFORM


def _texts(seen: Seen) -> Identified | None:
    people = seen.distinct > MOST_LEVELS and (seen.facts.get("people") or 0) >= ALMOST_ALL * seen.known
    if people and seen.uniqueness >= ALMOST_ALL / 2:
        return Identified("its values look like names of people", may_be_person=False)
    if seen.is_nearly_unique and seen.facts["blanks"] < (1 - ALMOST_ALL) * seen.known:
        return Identified("nearly every row has its own text without blanks")
    return None
