"""Patterns of texts: what people, places and accounts are written like.

Written without backslashes and without looking ahead: every engine reads these alike.
"""

from __future__ import annotations

from typing import Any

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
PERSONAL = ("mail", "iban", "uuid", "ssn", "phone", "people")
"""What belongs to one person."""


def matches(raw: Any, kind: str) -> Any:
    """Return which texts match a pattern."""
    return raw.re_search(PATTERNS[kind])
