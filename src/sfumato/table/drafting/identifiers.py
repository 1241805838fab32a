"""Detect identifier columns, and candidates for the column that tells people apart.

Amounts are often nearly unique, too. So a whole number is an identifier only if its column is called so, if it counts
rows, or if it has as many digits as account numbers have, the same in every row.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.table.drafting.column_profile import (
    ALMOST_ALL,
    DIRECT_IDENTIFIER_WORDS,
    MOST_LEVELS,
    NAMED,
    PERSON_NAME_WORDS,
    POSTCODE_WORDS,
    TIME_WORDS,
    ColumnProfile,
    has_word,
    is_id_name,
    is_person,
    split_name,
)
from sfumato.table.engines.engine import Engine

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
class IdentifierReason:
    """Why a column is taken for an identifier, and whether it may number people."""

    why: str
    may_be_person: bool = True


def identifier_reason(profile: ColumnProfile) -> IdentifierReason | None:
    """Return why a column is an identifier, or None where it is none."""
    if not _may_identify(profile):
        return None
    return named_identifier(profile) or (_numbers(profile) if profile.is_whole else _texts(profile))


def named_identifier(profile: ColumnProfile) -> IdentifierReason | None:
    """Return why a column is an identifier where its values or its name say so; uniqueness alone says less."""
    return _by_pattern(profile) or _by_name(profile) if _may_identify(profile) else None


def _may_identify(profile: ColumnProfile) -> bool:
    return profile.distinct > 1 and (profile.reading == "text" or profile.is_whole)


def _by_pattern(profile: ColumnProfile) -> IdentifierReason | None:
    for kind, words in PEOPLE_PATTERNS.items():
        if (profile.facts.get(kind) or 0) >= ALMOST_ALL * profile.known:
            return IdentifierReason(f"its values look like {words}")
    return None


def _repeats_little(profile: ColumnProfile) -> bool:
    """Whether there are so many values that they can be those of people: codes of a few things repeat more often."""
    few_rows_each = profile.known <= MOST_ROWS_EACH * profile.distinct
    return profile.distinct > MOST_LEVELS or (profile.distinct > LEAST_LEVELS and few_rows_each)


def _by_name(profile: ColumnProfile) -> IdentifierReason | None:
    words = split_name(profile.name)
    if _names_people(profile, words):
        return IdentifierReason("its name says that it names people", may_be_person=False)
    if not _repeats_little(profile) or "of" in words:  # number of rooms
        return None
    whole = profile.is_whole
    long = not whole or profile.facts["low"] >= 10 ** (SEVERAL_DIGITS - 1)
    if long and has_word(words, DIRECT_IDENTIFIER_WORDS):
        return IdentifierReason("its name says that it belongs to one person")
    if is_id_name(words):
        return IdentifierReason("its name says that it numbers people or things")
    if not whole and has_word(words, NAMED):
        return IdentifierReason("its name says that it names people or addresses", may_be_person=False)
    if has_word(words, POSTCODE_WORDS):
        return IdentifierReason("a postcode: cut it to its first digits, or list public regions", may_be_person=False)
    return None


def _names_people(profile: ColumnProfile, words: tuple[str, ...]) -> bool:
    """Whether a column holds names of people: common ones repeat as often as codes do."""
    if profile.is_whole or profile.distinct <= LEAST_LEVELS:
        return False
    looks = (profile.facts.get("people") or 0) >= ALMOST_ALL * profile.known
    return has_word(words, PERSON_NAME_WORDS) or (looks and has_word(words, NAMED))


def _numbers(profile: ColumnProfile) -> IdentifierReason | None:
    low, high = int(profile.facts["low"]), int(profile.facts["high"])
    span = high - low + 1
    if profile.uniqueness == 1 and not profile.missing:
        if span == profile.rows and not (YEARS[0] <= low and high <= YEARS[1]):
            return IdentifierReason("every row has its own number, without gaps", may_be_person=False)
        if profile.rows >= MANY_ROWS and span <= 1.2 * profile.rows:
            return IdentifierReason("every row has its own number, with few gaps", may_be_person=False)
    digits = len(str(high))
    if low > 0 and len(str(low)) == digits and _is_time(profile) is False:
        if digits >= MANY_DIGITS and profile.uniqueness >= ALMOST_ALL:
            return IdentifierReason(f"nearly every row has its own number of {digits} digits")
        if digits >= SEVERAL_DIGITS and profile.uniqueness == 1 and profile.rows >= MANY_ROWS and _is_uniform(profile):
            return IdentifierReason(f"every row has its own number of {digits} digits, spread evenly")
    dense = profile.distinct >= DENSE_LEVELS and span <= 1.02 * profile.distinct
    if dense and profile.known <= MOST_ROWS_EACH * profile.distinct and low >= 0 and _is_uniform(profile):
        return IdentifierReason("numbers without gaps, each in a few rows")
    return None


def _is_time(profile: ColumnProfile) -> bool:
    return bool(TIME_WORDS & set(split_name(profile.name)))


def _is_uniform(profile: ColumnProfile) -> bool:
    """Whether numbers spread evenly between the smallest and the largest, as numbers that were given out do."""
    low, high = float(profile.facts["low"]), float(profile.facts["high"])
    width = high - low
    even = abs(profile.facts["mean"] - (low + high) / 2) <= UNIFORM * width
    return even and abs((profile.facts["spread"] or 0) * math.sqrt(12) / width - 1) <= UNIFORM


def _texts(profile: ColumnProfile) -> IdentifierReason | None:
    people = profile.distinct > MOST_LEVELS and (profile.facts.get("people") or 0) >= ALMOST_ALL * profile.known
    if people and profile.uniqueness >= ALMOST_ALL / 2:
        return IdentifierReason("its values look like names of people", may_be_person=False)
    if profile.is_nearly_unique and profile.facts["blanks"] < (1 - ALMOST_ALL) * profile.known:
        return IdentifierReason("nearly every row has its own text without blanks")
    return None


MOST_CANDIDATES = 5
"""Columns that are asked about."""


def person_candidates(profiles: Iterable[ColumnProfile]) -> tuple[ColumnProfile, ...]:
    """Return the identifiers that repeat as those of people do, the likeliest first."""
    repeated = [one for one in profiles if one.known > one.distinct and _may_be_person(one)]
    return tuple(sorted(repeated, key=lambda one: (one.missing, not is_person(one.name)))[:MOST_CANDIDATES])


def _may_be_person(profile: ColumnProfile) -> bool:
    reason = identifier_reason(profile)
    return reason is not None and reason.may_be_person


def person_questions(engine: Engine, candidates: Sequence[ColumnProfile]) -> list[str]:
    """Return the notes that ask whose rows these are, with how many rows one value has as a help."""
    if not candidates:
        return []
    names = ", ".join(one.name for one in candidates)
    verb = "repeats" if len(candidates) == 1 else "repeat"
    asked = (
        f"question: whose row is it? {names} {verb}, so a person may have several rows. Answer in [table]: person = "
        f"{candidates[0].name!r} and rows_per_person, or person = false where each person has one row"
    )
    counts = "; ".join(_help(engine, one) for one in candidates)
    return [asked, f"question: rows of one value (private; choose rows_per_person by what is publicly known): {counts}"]


def _help(engine: Engine, profile: ColumnProfile) -> str:
    counts = _rows_each(engine, profile)
    missing = ", missing in some rows, though every row needs a person" if profile.missing else ""
    return f"{profile.name} {counts['typical']:.3g} on average, {counts['most']:,} at most{missing}"


def _rows_each(engine: Engine, profile: ColumnProfile) -> dict[str, Any]:
    table = engine.table
    known = table.filter(table[profile.name].notnull())
    rows = known.group_by(one=known[profile.name]).aggregate(rows=known.count())
    return engine.aggregate(rows.aggregate(typical=rows.rows.cast("float64").mean(), most=rows.rows.max())).to_pylist()[
        0
    ]
