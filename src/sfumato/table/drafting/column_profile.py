"""Profile columns: type, distinct values, range and uniqueness, from a few aggregate queries.

A CSV file holds texts alone, so a text is asked whether it hides a number or a date. Digits behind a leading zero are
no number: 01067 is a place, and would come back as 1067.

Words in column names and text patterns point to people, places, times or identifiers. The patterns have no backslashes
and do not look ahead: every engine reads them alike.
"""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sfumato.schema.column_checks import LARGEST_WHOLE
from sfumato.table.column_expressions import select_as
from sfumato.table.engines.engine import Answers, Engine, Question, distinct_values, run_aggregates


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ID_WORDS = _words("id ids uid guid uuid pid hid sid cid oid nr no nummer number numero matricule mrn serial lfd key pk")
"""Words that end the names of columns that number people or things."""
PERSON_WORDS = _words(
    "patient person customer kunde client user member household subject respondent employee student pid hid"
)
OBJECT_WORDS = _words("utility record account policy transaction order case visit device vehicle company firm")
DIRECT_IDENTIFIER_WORDS = _words(
    "ssn iban phone telephone telefon telefono tel mobile mobil handy cell fax mail email vorname nachname surname "
    "firstname lastname forename familyname fullname prenom apellido apellidos cognome voornaam achternaam passport "
    "svnr ahv personnummer cpr bsn dni nif cpf curp insurance kennzeichen plate vin imei ip nhs"
)
"""Words for what belongs to one person."""
PERSON_NAME_WORDS = _words(
    "vorname nachname surname firstname lastname forename familyname fullname prenom apellido apellidos cognome "
    "voornaam achternaam"
)
"""Words for the names of people, who are many even where a name is common."""
NAMED = _words("name names nom nombre nome naam address adresse anschrift direccion indirizzo street strasse rue calle")
POSTCODE_WORDS = _words("zip zipcode plz postcode postleitzahl postal postalcode")
TIME_WORDS = _words("time timestamp epoch date ts datum zeit")


def split_name(name: str) -> tuple[str, ...]:
    """Return the words in the name of a column.

    >>> split_name("PatientID"), split_name("Straße-Nr.")
    (('patient', 'id'), ('strasse', 'nr'))
    """
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore").decode()
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", plain)
    return tuple(part.lower() for part in parts)


def has_word(words: tuple[str, ...], known: frozenset[str]) -> bool:
    """Whether a name holds one of some words, alone or as two that belong together.

    >>> (
    ...     has_word(("zip", "code"), POSTCODE_WORDS),
    ...     has_word(("first", "name"), DIRECT_IDENTIFIER_WORDS),
    ...     has_word(("utilname",), NAMED),
    ... )
    (True, True, True)
    """
    joined = "".join(words)
    return bool(known & set(words)) or joined in known or (known is NAMED and joined.endswith("name"))


def is_id_name(words: tuple[str, ...]) -> bool:
    """Whether a name says that the column numbers people or things.

    >>> is_id_name(("kundennummer",)), is_id_name(("utilityid",)), is_id_name(("education", "num"))
    (True, True, False)
    """
    joined = "".join(words)
    ends = bool(words) and (words[-1] in ID_WORDS or joined.endswith(("nummer", "nr")))
    return ends or any(joined in (f"{stem}id", f"{stem}no", stem) for stem in (*PERSON_WORDS, *OBJECT_WORDS))


def is_place(name: str) -> bool:
    """Whether a column is called a postcode."""
    return has_word(split_name(name), POSTCODE_WORDS)


def is_person(name: str) -> bool:
    """Whether a column is called after people."""
    words = split_name(name)
    return bool(PERSON_WORDS & set(words)) or any("".join(words).startswith(word) for word in PERSON_WORDS)


_WORD = "[^0-9a-z ,;:@/_.()-][^0-9 ,;:@/_()]*"
PATTERNS = {
    "leading zero": "^[+-]?0[0-9]+$",
    "blank": "[ ]",
    "mail": "^[^@ ]+@[^@ ]+[.][A-Za-z]{2,}$",
    "iban": "^[A-Z]{2}[0-9]{2}[ ]?[A-Z0-9]{4}[ ]?([A-Z0-9 ]){6,}$",
    "uuid": "^[{]?[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}[}]?$",
    "ssn": "^[0-9]{3}-[0-9]{2}-[0-9]{4}$",
    "phone": "^([+]|00|0|[(])[0-9() /.-]{6,20}[0-9]$",
    "people": f"^{_WORD},? ({_WORD}[.]? )?{_WORD}$",
}
"""Regular expressions by what they recognise."""
PERSONAL_PATTERNS = ("mail", "iban", "uuid", "ssn", "phone", "people")
"""What belongs to one person."""


def matches_pattern(raw: Any, kind: str) -> Any:
    """Return which texts match a pattern."""
    return raw.re_search(PATTERNS[kind])


COLUMNS_AT_ONCE = 100
"""Columns that one query asks about: engines plan wider ones slowly."""
MOST_LEVELS = 60
"""Texts with more distinct values than this are free text, codes or identifiers, not categories."""
MAX_INTEGER_LEVELS = 8
"""Whole numbers with at most this many distinct values are proposed as categories."""
ALMOST_ALL = 0.9
LEAST_ROWS = 20
"""Rows from which on it means something that hardly a value stands twice."""
FIRST_DAY, LAST_DAY = dt.date.min, dt.date.max
"""Engines know days before and after these; a schema does not."""
SHORTEST_DATE = len("1-1-1")
ISO_LENGTH = len("2024-12-31")
FIRST_WRITTEN_DAY, LAST_WRITTEN_DAY = 18_000_101, 21_991_231
"""Between these a whole number may be a date that is written yyyymmdd."""
SHORTEST_ADDRESS = len("a@b.de")
LEAST_UNIQUENESS = 0.01
"""Texts that repeat more often than this are no addresses of people."""
InferredType = Literal["number", "date", "boolean", "text", "unknown"]


@dataclass
class ColumnProfile:
    """The profile of one column: its type, distinct values and range."""

    name: str
    raw: Any
    """The column as the engine has it."""
    rows: int
    is_near: bool = True
    """Whether DuckDB holds the rows. Elsewhere columns have types, texts are texts, and engines fail on odd ones."""
    reading: InferredType = "unknown"
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
    def is_nearly_unique(self) -> bool:
        """Whether hardly a value stands twice, in enough rows for that to mean something."""
        return self.known >= LEAST_ROWS and self.uniqueness >= ALMOST_ALL

    @property
    def is_whole(self) -> bool:
        """Whether all values are whole numbers, and few enough digits long to be told apart."""
        low, high = self.facts.get("low"), self.facts.get("high")
        if self.reading != "number" or low is None or high is None or self.facts.get("fractions"):
            return False
        return low >= -LARGEST_WHOLE and high <= LARGEST_WHOLE


def profile_columns(engine: Engine, names: Sequence[str]) -> list[ColumnProfile]:
    """Profile all columns by a few aggregate queries."""
    table = engine.table
    rows = engine.aggregate(table.aggregate(rows=table.count())).to_pylist()[0]["rows"]
    parts = (names[start : start + COLUMNS_AT_ONCE] for start in range(0, len(names), COLUMNS_AT_ONCE))
    return [profile for part in parts for profile in _look(engine, part, rows)]


def _look(engine: Engine, names: Sequence[str], rows: int) -> list[ColumnProfile]:
    table = engine.table.select(list(names))
    profiles = [ColumnProfile(name, table[name], rows, engine.streams) for name in names]
    for questions in (_first, _second):
        _ask(engine, table, profiles, questions)
    for one in profiles:
        one.reading = _reading(one)
    described = [one for one in profiles if one.reading != "unknown"]
    # Read once for all questions, or each question would repeat how.
    values = select_as(table, {one.name: _value(one) for one in described}) if described else table
    for questions in (_bounds, _values):
        _ask(engine, values, described, questions)
    return profiles


def _ask(
    engine: Engine,
    table: Any,
    profiles: Sequence[ColumnProfile],
    questions: Callable[[ColumnProfile, Any], Iterable[Question]],
) -> None:
    """Add to each profile the answers to the questions about its column."""
    answers = run_aggregates(engine, table, {one.name: questions(one, table[one.name]) for one in profiles})
    for one in profiles:
        one.facts |= answers.get(one.name, {})


def _value(profile: ColumnProfile) -> Any:
    """Return the column in the type of its reading, null where it holds none."""
    raw, kind = profile.raw, profile.raw.type()
    if profile.reading == "date":
        return raw.try_cast("date") if kind.is_string() else raw
    if profile.reading != "number" or kind.is_integer():
        return raw
    number = raw.try_cast("float64") if kind.is_string() else raw.cast("float64")
    return (number.isnan() | number.isinf()).ifelse(None, number)


def _first(profile: ColumnProfile, raw: Any) -> Iterator[Question]:
    kind = raw.type()
    if not _is_readable(kind):
        return
    yield "known", (raw.isnan().ifelse(None, raw) if kind.is_floating() else raw).count()
    if kind.is_string():
        yield "distinct", distinct_values(raw)
        yield "longest", raw.length().max()
        yield "zeros", matches_pattern(raw, "leading zero").sum()
    if kind.is_string() and profile.is_near:
        yield "not numbers", (raw.notnull() & raw.try_cast("float64").isnull()).sum()


def _second(profile: ColumnProfile, raw: Any) -> Iterator[Question]:
    """Yield what only some texts are asked, because it costs more."""
    if not raw.type().is_string():
        return
    if 0 < profile.distinct <= 2:
        yield "not flags", (~raw.lower().isin(["true", "false"])).sum()
    if profile.facts.get("not numbers") and profile.facts["longest"] >= SHORTEST_DATE:
        yield "not dates", (raw.notnull() & raw.try_cast("date").isnull()).sum()


def _is_readable(kind: Any) -> bool:
    moments = kind.is_date() or kind.is_timestamp()
    return kind.is_string() or kind.is_numeric() or kind.is_boolean() or moments


def _reading(profile: ColumnProfile) -> InferredType:
    kind = profile.raw.type()
    if kind.is_boolean():
        return "boolean"
    if kind.is_date() or kind.is_timestamp():
        return "date"
    if kind.is_numeric():
        return "number"
    return _text_reading(profile.facts) if kind.is_string() else "unknown"


def _text_reading(facts: Answers) -> InferredType:
    if not facts["distinct"]:
        return "text"
    if facts.get("not flags") == 0:
        return "boolean"
    if facts.get("not numbers") == 0:
        return "text" if facts["zeros"] else "number"
    return "date" if facts.get("not dates") == 0 else "text"


def _bounds(profile: ColumnProfile, value: Any) -> Iterator[Question]:
    if profile.reading == "number":
        # Clipped first, because engines floor into 64-bit integers.
        near = value.clip(-LARGEST_WHOLE, LARGEST_WHOLE)
        yield "known", value.count()
        yield "low", value.min()
        yield "high", value.max()
        if value.type().is_floating():
            yield "fractions", (near != near.floor()).sum()
        yield "distinct", distinct_values(value)
    if profile.reading == "date":
        day = value.cast("date")
        inside = (day >= FIRST_DAY) & (day <= LAST_DAY)
        days = inside.ifelse(day, None)
        yield "low", days.min()
        yield "high", days.max()
        yield "beyond", (~inside).sum()
        if value.type().is_timestamp():
            yield "times", (value.hour() + value.minute() + value.second() > 0).sum()
    if profile.reading == "text" and (profile.distinct > MOST_LEVELS or profile.is_nearly_unique):
        yield "length", value.length().cast("float64").mean()
        yield "blanks", matches_pattern(value, "blank").sum()


def _may_tell_people(profile: ColumnProfile) -> bool:
    return profile.uniqueness > LEAST_UNIQUENESS or has_word(split_name(profile.name), NAMED)


def _values(profile: ColumnProfile, value: Any) -> Iterator[Question]:
    if profile.reading == "text":
        if 0 < profile.distinct <= MOST_LEVELS:
            yield "values", value.collect(distinct=True)
        if (profile.facts.get("longest") or 0) >= SHORTEST_ADDRESS and _may_tell_people(profile):
            yield from ((kind, matches_pattern(value, kind).sum()) for kind in PERSONAL_PATTERNS)
    if profile.is_whole:
        low, high = profile.facts["low"], profile.facts["high"]
        if profile.distinct <= MOST_LEVELS:
            yield "values", value.collect(distinct=True)
        else:
            yield "mean", value.cast("float64").mean()
            yield "spread", value.cast("float64").std()
        if low >= FIRST_WRITTEN_DAY and high <= LAST_WRITTEN_DAY and profile.distinct > 2:
            month, day = (value / 100).floor() % 100, value % 100
            yield "no days", ((month < 1) | (month > 12) | (day < 1) | (day > 31)).sum()
