"""Format numbers, percentages, counts and lists of names for sentences and tables."""

from __future__ import annotations

from collections.abc import Sequence

MOST_NAMED = 14
"""Names in one sentence; a page lists the others elsewhere."""
VOWELS = "aeiou"


def format_number(number: float) -> str:
    """Return a number for people: whole ones with thousands separators, others with three digits.

    >>> format_number(5_000_000), format_number(0.12345)
    ('5,000,000', '0.123')
    """
    return f"{number:,.0f}" if float(number).is_integer() or abs(number) >= 1000 else f"{number:.3g}"


def short_number(number: float) -> str:
    """Return a number with two digits that matter, and never as a power of ten.

    >>> short_number(0.01234), short_number(123.4), short_number(0.00000123), short_number(0.0), short_number(99.6)
    ('0.012', '120', '0.0000012', '0', '100')
    """
    rounded = float(f"{number:.2g}")
    return f"{rounded:,.9f}".rstrip("0").rstrip(".")


def percent(share: float) -> str:
    """Return a share in per cent with two digits that matter.

    >>> percent(0.0123), percent(1.0), percent(0.0000002)
    ('1.2 %', '100 %', '0.00002 %')
    """
    return f"{short_number(100 * share)} %"


def counted(number: int, word: str) -> str:
    """Return so many of something.

    >>> counted(1, "row"), counted(5_000_000, "row"), counted(2, "copy"), counted(0, "day")
    ('1 row', '5,000,000 rows', '2 copies', '0 days')
    """
    several = f"{word[:-1]}ies" if word.endswith("y") and word[-2] not in VOWELS else f"{word}s"
    return f"{format_number(number)} {word if number == 1 else several}"


def capitalize_first(words: str) -> str:
    """Return words with a capital letter in front; all others stay as they are.

    >>> capitalize_first("of AIM")
    'Of AIM'
    """
    return f"{words[:1].upper()}{words[1:]}"


def list_names(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """Return names as a sentence has them, and of many the first ones.

    >>> list_names(["a"]), list_names(["a", "b", "c"]), list_names(["a", "b", "c", "d"], most=2)
    ('a', 'a, b and c', 'a, b and 2 more')
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} and {format_number(len(names) - most)} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
