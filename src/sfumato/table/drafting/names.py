"""What columns are called in several languages: words for numbers of people, for people, for places and for times."""

from __future__ import annotations

import re
import unicodedata


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NUMBERED = _words("id ids uid guid uuid pid hid sid cid oid nr no nummer number numero matricule mrn serial lfd key pk")
"""Words that end the names of columns that number people or things."""
PEOPLE = _words(
    "patient person customer kunde client user member household subject respondent employee student pid hid"
)
THINGS = _words("utility record account policy transaction order case visit device vehicle company firm")
DIRECT = _words(
    "ssn iban phone telephone telefon telefono tel mobile mobil handy cell fax mail email vorname nachname surname "
    "firstname lastname forename familyname fullname prenom apellido apellidos cognome voornaam achternaam passport "
    "svnr ahv personnummer cpr bsn dni nif cpf curp insurance kennzeichen plate vin imei ip nhs"
)
"""Words for what belongs to one person."""
PERSONAL = _words(
    "vorname nachname surname firstname lastname forename familyname fullname prenom apellido apellidos cognome voornaam "
    "achternaam"
)
"""Words for the names of people, who are many even where a name is common."""
NAMED = _words("name names nom nombre nome naam address adresse anschrift direccion indirizzo street strasse rue calle")
PLACED = _words("zip zipcode plz postcode postleitzahl postal postalcode")
TIMED = _words("time timestamp epoch date ts datum zeit")


def words_of(name: str) -> tuple[str, ...]:
    """Return the words in the name of a column.

    >>> words_of("PatientID"), words_of("Straße-Nr.")
    (('patient', 'id'), ('strasse', 'nr'))
    """
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore").decode()
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", plain)
    return tuple(part.lower() for part in parts)


def has_word(words: tuple[str, ...], known: frozenset[str]) -> bool:
    """Whether a name holds one of some words, alone or as two that belong together.

    >>> has_word(("zip", "code"), PLACED), has_word(("first", "name"), DIRECT), has_word(("utilname",), NAMED)
    (True, True, True)
    """
    joined = "".join(words)
    return bool(known & set(words)) or joined in known or (known is NAMED and joined.endswith("name"))


def numbers_things(words: tuple[str, ...]) -> bool:
    """Whether a name says that the column numbers people or things.

    >>> numbers_things(("kundennummer",)), numbers_things(("utilityid",)), numbers_things(("education", "num"))
    (True, True, False)
    """
    joined = "".join(words)
    ends = bool(words) and (words[-1] in NUMBERED or joined.endswith(("nummer", "nr")))
    return ends or any(joined in (f"{stem}id", f"{stem}no", stem) for stem in (*PEOPLE, *THINGS))


def is_place(name: str) -> bool:
    """Whether a column is called a postcode."""
    return has_word(words_of(name), PLACED)


def is_person(name: str) -> bool:
    """Whether a column is called after people."""
    words = words_of(name)
    return bool(PEOPLE & set(words)) or any("".join(words).startswith(word) for word in PEOPLE)
