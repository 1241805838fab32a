"""Words in column names and text patterns that point to people, places, times or identifiers.

Written without backslashes and without looking ahead: every engine reads these alike.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any


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
