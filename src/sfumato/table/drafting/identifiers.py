"""Telling identifiers from measurements: by how values are spread, how they are written, and what a column is called.

Amounts are often nearly unique, too. So a whole number is an identifier only if its column is called so, if it counts
rows, or if it has as many digits as account numbers have, the same in every row.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass

from sfumato.table.drafting.readings import MOST_LEVELS, Seen

NUMBERED = frozenset(
    "id ids uid guid uuid pid hid sid cid oid nr no nummer number numero num matricule mrn nhs serial lfd key pk".split()
)
"""Words in the names of columns that number people or things."""
COUNTED = frozenset("patient person customer client user member household subject respondent employee student".split())
THINGS = frozenset("utility record account policy transaction order case visit device vehicle company firm".split())
DIRECT = frozenset(
    """ssn iban phone telephone telefon telefono tel mobile mobil handy cell fax mail email vorname nachname surname
    firstname lastname forename familyname fullname prenom apellido apellidos cognome naam voornaam achternaam passport
    passnummer svnr sozialversicherungsnummer versicherungsnummer versichertennummer ahv personnummer cpr bsn dni nif
    cpf curp insurance kennzeichen plate vin imei ip""".split()
)
"""Words for what belongs to one person."""
NAMED = frozenset("name names nom nombre nome address adresse anschrift direccion indirizzo street strasse".split())
PLACED = frozenset("zip zipcode plz postcode postleitzahl postal postalcode".split())
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
ALMOST_ALL = 0.9
MANY_DIGITS, SEVERAL_DIGITS = 8, 6
LEAST_ROWS = 20
"""Rows from which on it means something that no text stands twice."""
DENSE_LEVELS = 150
"""Numbers without gaps: ages have fewer values than this."""
YEARS = (1700, 2200)
UNIFORM = 0.15


@dataclass(frozen=True)
class Identified:
    """Why a column is taken for an identifier, and whether it may number people."""

    why: str
    may_be_person: bool = True


def words_of(name: str) -> tuple[str, ...]:
    """Return the words in the name of a column.

    >>> words_of("PatientID"), words_of("Straße-Nr.")
    (('patient', 'id'), ('strasse', 'nr'))
    """
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore").decode()
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", plain)
    return tuple(part.lower() for part in parts)


def identified(seen: Seen) -> Identified | None:
    """Return why a column is an identifier, or None where it is none."""
    if seen.distinct < 2 or seen.reading not in ("text", "number") or (seen.reading == "number" and not seen.is_whole):
        return None
    return _by_pattern(seen) or _by_name(seen) or (_numbers(seen) if seen.is_whole else _texts(seen))


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
    if not _repeats_little(seen) or "of" in words:
        return None
    whole = seen.is_whole
    long = not whole or seen.facts["low"] >= 10 ** (SEVERAL_DIGITS - 1)
    if long and _names(words, DIRECT):
        return Identified("its name says that it belongs to one person")
    if _numbers_things(words):
        return Identified("its name says that it numbers people or things")
    if not whole and _names(words, NAMED):
        return Identified("its name says that it names people or addresses", may_be_person=False)
    if _names(words, PLACED):
        return Identified("a postcode: cut it to its first digits, or list public regions", may_be_person=False)
    return None


def is_place(name: str) -> bool:
    """Whether a column is called a postcode."""
    return _names(words_of(name), PLACED)


def _names(words: tuple[str, ...], known: frozenset[str]) -> bool:
    joined = "".join(words)
    return bool(known & set(words)) or joined in known or (known is NAMED and joined.endswith("name"))


def _numbers_things(words: tuple[str, ...]) -> bool:
    if words[:1] and words[-1] in NUMBERED and words != ("num",) and words[-1] != "num":
        return True
    joined = "".join(words)
    stems = (*COUNTED, *THINGS)
    return joined.endswith(("nummer", "kundennr")) or any(joined in (f"{s}id", f"{s}nr", f"{s}no", s) for s in stems)


def _numbers(seen: Seen) -> Identified | None:
    low, high = int(seen.facts["low"]), int(seen.facts["high"])
    span = high - low + 1
    if seen.uniqueness == 1 and not seen.missing:
        if span == seen.rows and not (YEARS[0] <= low and high <= YEARS[1]):
            return Identified("every row has its own number, without gaps", may_be_person=False)
        if seen.rows >= LEAST_ROWS * 5 and span <= 1.2 * seen.rows:
            return Identified("every row has its own number, with few gaps", may_be_person=False)
    digits = len(str(high))
    if low > 0 and len(str(low)) == digits and _is_time(seen) is False:
        if digits >= MANY_DIGITS and seen.uniqueness >= ALMOST_ALL:
            return Identified(f"nearly every row has its own number of {digits} digits")
        if digits >= SEVERAL_DIGITS and seen.uniqueness == 1 and seen.rows >= LEAST_ROWS * 5 and _is_uniform(seen):
            return Identified(f"every row has its own number of {digits} digits, spread evenly")
    dense = seen.distinct >= DENSE_LEVELS and span <= 1.02 * seen.distinct
    if dense and seen.known <= MOST_ROWS_EACH * seen.distinct and low >= 0 and _is_uniform(seen):
        return Identified("numbers without gaps, each in a few rows")
    return None


def _is_time(seen: Seen) -> bool:
    return bool(set(words_of(seen.name)) & {"time", "timestamp", "epoch", "date", "ts", "datum", "zeit"})


def _is_uniform(seen: Seen) -> bool:
    """Whether numbers spread evenly between the smallest and the largest, as numbers that were given out do."""
    low, high = float(seen.facts["low"]), float(seen.facts["high"])
    width = high - low
    even = abs(seen.facts["mean"] - (low + high) / 2) <= UNIFORM * width
    return even and abs((seen.facts["spread"] or 0) * math.sqrt(12) / width - 1) <= UNIFORM


def _texts(seen: Seen) -> Identified | None:
    if seen.uniqueness < ALMOST_ALL / 2 or seen.known < LEAST_ROWS:
        return None
    many = seen.distinct > MOST_LEVELS
    if many and (seen.facts.get("people") or 0) >= ALMOST_ALL * seen.known:
        return Identified("its values look like names of people", may_be_person=False)
    if seen.facts["zeros"] and seen.uniqueness >= ALMOST_ALL:
        return Identified("nearly every row has its own digits, some behind a leading zero")
    if many and seen.uniqueness >= ALMOST_ALL and (seen.facts.get("blanks") or 0) < (1 - ALMOST_ALL) * seen.known:
        return Identified("nearly every row has its own text without blanks")
    return None
